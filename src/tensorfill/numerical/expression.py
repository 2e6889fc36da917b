"""A loss written as text, such as "x - t*log(x)", turned into NumPy functions of it and of its derivative.

Design: the text may come out of a saved file, so it is never evaluated. Python's parser reads it, and the nodes listed
here become a program for a stack; what is made of numbers alone is computed at once, in floating point. The derivative
is carried along with every value (forward differentiation), so that it takes a few operations for each node.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tensorfill.numerical.base import Array
from tensorfill.numerical.binary import sigmoid, softplus
from tensorfill.registry import did_you_mean

LARGEST = 2000  # letters of a formula
LIMIT = sys.float_info.max
BLOCK = 2**15  # entries at a time: what is between two operations stays in the cache, and is little
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}

# (f, f') of one argument u; the derivative is given u and f(u).
# softplus(x) = ln(1 + e^x) and expit(x) = 1 / (1 + e^-x), both safe for large x
ONE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "log": (np.log, lambda u, f: 1 / u),
    "log1p": (np.log1p, lambda u, f: 1 / (1 + u)),
    "exp": (np.exp, lambda u, f: f),
    "sqrt": (np.sqrt, lambda u, f: 0.5 / f),
    "abs": (np.abs, lambda u, f: np.sign(u)),
    "sin": (np.sin, lambda u, f: np.cos(u)),
    "cos": (np.cos, lambda u, f: -np.sin(u)),
    "tanh": (np.tanh, lambda u, f: 1 - f * f),
    "cosh": (np.cosh, lambda u, f: np.sinh(u)),
    "atan": (np.arctan, lambda u, f: 1 / (1 + u * u)),
    "softplus": (softplus, lambda u, f: sigmoid(u)),
    "expit": (sigmoid, lambda u, f: f * sigmoid(-u)),
}
FUNCTIONS = [*ONE, "min", "max"]

Dual = tuple[Any, Any]  # a value and its derivative in x, None for one that is 0 everywhere
Program = list[Any]  # in the order of a stack: numbers, "t", "x", and (name, number of arguments)


def compile_expression(text: str) -> list[Callable[[Array, Array], Array]]:
    """Functions of (t, x): the expression itself and its derivative in x. They keep float32."""
    program = _record(text)
    return [partial(_evaluate, program, order) for order in (0, 1)]


def _evaluate(program: Program, order: int, t: Array, x: Array) -> Array:
    """The value (order 0) or the derivative (1); an array even where it is a constant."""
    if x.size <= BLOCK:
        found = _run(program, t, x, np.ones_like(x) if order else None)[order]
        return np.broadcast_to(0.0 if found is None else found, x.shape)
    flat_t, flat_x = np.broadcast_to(t, x.shape).ravel(), x.ravel()
    parts = [_evaluate(program, order, flat_t[k : k + BLOCK], flat_x[k : k + BLOCK]) for k in range(0, x.size, BLOCK)]
    return np.concatenate(parts).reshape(x.shape)


def _run(program: Program, t: Array, x: Array, slope: Array | None) -> Dual:
    """The value of a program and its derivative, where x has this one."""
    stack: list[Dual] = []
    for step in program:
        if isinstance(step, tuple):
            name, count = step
            args = stack[-count:]
            del stack[-count:]
            stack.append(_of_one(name, *args) if count == 1 else _of_two(name, *args))
        else:
            stack.append((x, slope) if step == "x" else (t if step == "t" else step, None))
    return stack[0]


def _of_one(name: str, u: Dual) -> Dual:
    """A function of one argument: the chain rule."""
    value, slope = ONE[name]
    f = value(u[0])
    return f, None if u[1] is None else slope(u[0], f) * u[1]


def _of_two(name: str, u: Dual, v: Dual) -> Dual:
    """An operation on two arguments."""
    f = OPERATIONS[name](u[0], v[0])
    if u[1] is None and v[1] is None:
        return f, None
    if name in ("+", "-"):
        return f, _sum(u[1], _product(1.0 if name == "+" else -1.0, v[1]))
    if name == "*":
        return f, _sum(_product(u[1], v[0]), _product(u[0], v[1]))
    if name == "/":
        return f, _sum(u[1], _product(-f, v[1])) / v[0]
    if name == "**":
        return f, _power_slope(u, v, f)
    share = np.heaviside(u[0] - v[0] if name == "max" else v[0] - u[0], 0.5)  # 1 where u is the one
    return f, _sum(_product(share, u[1]), _product(1 - share, v[1]))


def _power_slope(u: Dual, v: Dual, f: Any) -> Any:
    base, p = u[0], v[0]
    if v[1] is None:
        if isinstance(p, float) and p in (0.0, 1.0):  # base^(p - 1) may be infinite
            return None if p == 0 else u[1]
        return p * base ** (p - 1) * u[1]
    # ln f = v ln u
    log = float(np.log(base)) if isinstance(base, float) else np.log(base)  # NumPy's turns float32 into float64
    return f * _sum(v[1] * log, _product(p, _product(1 / base, u[1])))


def _sum(a: Any, b: Any) -> Any:
    return a if b is None else b if a is None else a + b


def _product(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a * b


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": operator.pow,  # which is quick for squares, as np.power is not
    "min": np.minimum,
    "max": np.maximum,
}


def _record(text: str) -> Program:
    """The program of a formula; anything unknown is refused."""
    program: Program = []
    for node in _postorder(_parse(text), text):
        for step in _steps(node):
            program.append(step)
            if not isinstance(step, tuple):
                continue
            name, count = step
            args = program[-count - 1 : -1]
            if name == "/" and args[-1] == 0.0:
                raise ValueError(_not_finite(text))
            if all(isinstance(part, float) for part in args):
                with np.errstate(all="ignore"):
                    found = (ONE[name][0] if count == 1 else OPERATIONS[name])(*np.array(args)[:, None])
                program[-count - 1 :] = [float(found[0])]
        if isinstance(program[-1], float) and not math.isfinite(program[-1]):
            raise ValueError(_not_finite(text))
    return program


def _not_finite(text: str) -> str:
    return (
        f"A formula must be real and finite, and may contain numbers up to 1e308; {_short(text)} has a part that is "
        "none: a division by 0, a root or logarithm of nothing, or a power too large."
    )


def _steps(node: ast.expr) -> list[Any]:
    """What a node adds to the program after its parts."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return [math.inf if number > LIMIT else float(number)]
        case ast.Name(id=name):
            return [math.pi if name == "pi" else name]
        case ast.UnaryOp(op=ast.USub()):
            return [-1.0, ("*", 2)]
        case ast.BinOp(op=op):
            return [(SIGNS[type(op)], 2)]
        case ast.Call(func=ast.Name(id=name), args=args):
            return [(name, 1)] if name in ONE else [(name, 2)] * (len(args) - 1)
    return []  # a plus sign


def _parse(text: str) -> ast.expr:
    """The expression as Python's parser reads it."""
    if len(text) > LARGEST:
        msg = f"A formula must have at most {LARGEST} letters; got {len(text)}: {_short(text)}."
        raise ValueError(msg)
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
        msg = f"A formula must be an expression in t and x, such as 'x - t*log(x)'; got {_short(text)}."
        raise ValueError(msg) from err


def _postorder(tree: ast.expr, text: str) -> list[ast.expr]:
    """All nodes, each after its parts. Without recursion: sums may be long."""
    found, todo = [], [tree]
    while todo:
        node = todo.pop()
        found.append(node)
        todo += _parts(node, text)
    return found[::-1]


def _parts(node: ast.expr, text: str) -> list[ast.expr]:
    """What a node is made of; refuses nodes that no formula has."""
    match node:
        case ast.Constant(value=bool() | complex()):
            pass
        case ast.Constant(value=int() | float()) | ast.Name(id="t" | "x" | "pi"):
            return []
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            return [inner]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
            return [left, right]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            if len(args) == 1 or (args and name not in ONE):
                return args
            msg = f"A formula must give each function its argument; got {name} with {len(args)} in {_short(text)}."
            raise ValueError(msg)
    word = ast.get_source_segment(text.strip(), node) or ""
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else word
    msg = (
        f"A formula may contain t, x, pi, numbers, + - * / ** and {', '.join(FUNCTIONS)}; "
        f"got {_short(word)} in {_short(text)}.{did_you_mean(name, [*FUNCTIONS, 't', 'x', 'pi'])}"
    )
    raise ValueError(msg)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def as_entries(values: Any, like: Array) -> Array:
    """Answers of a user's function as a new array of the shape and dtype of `like`."""
    answer = np.asarray(values)
    if answer.shape != like.shape:
        msg = f"A loss must answer entry by entry, with shape {like.shape} here; it gave {answer.shape}."
        raise ValueError(msg)
    return np.array(answer, dtype=like.dtype)
