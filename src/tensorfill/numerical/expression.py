"""A loss written as text, such as "x - t*log(x)", turned into NumPy functions of it and of its derivatives.

Design: the text may come out of a saved file, so it is never evaluated. Python's parser reads it, and the nodes listed
here become a program for a stack; what is made of numbers alone is computed at once, in floating point. Derivatives are
carried along with every value (forward differentiation), so that they take a fixed number of operations for each node.
"""

from __future__ import annotations

import ast
import math
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

# (f, f', f'') of one argument u; the derivatives are given u and f(u).
# softplus(x) = ln(1 + e^x) and expit(x) = 1 / (1 + e^-x), both safe for large x
ONE: dict[str, tuple[Callable[..., Any], ...]] = {
    "log": (np.log, lambda u, f: 1 / u, lambda u, f: -1 / (u * u)),
    "log1p": (np.log1p, lambda u, f: 1 / (1 + u), lambda u, f: -1 / (1 + u) ** 2),
    "exp": (np.exp, lambda u, f: f, lambda u, f: f),
    "sqrt": (np.sqrt, lambda u, f: 0.5 / f, lambda u, f: -0.25 / (u * f)),
    "abs": (np.abs, lambda u, f: np.sign(u), lambda u, f: 0 * u),
    "sin": (np.sin, lambda u, f: np.cos(u), lambda u, f: -f),
    "cos": (np.cos, lambda u, f: -np.sin(u), lambda u, f: -f),
    "tanh": (np.tanh, lambda u, f: 1 - f * f, lambda u, f: -2 * f * (1 - f * f)),
    "cosh": (np.cosh, lambda u, f: np.sinh(u), lambda u, f: f),
    "atan": (np.arctan, lambda u, f: 1 / (1 + u * u), lambda u, f: -2 * u / (1 + u * u) ** 2),
    "softplus": (softplus, lambda u, f: sigmoid(u), lambda u, f: sigmoid(u) * sigmoid(-u)),
    "expit": (sigmoid, lambda u, f: f * sigmoid(-u), lambda u, f: f * sigmoid(-u) * (sigmoid(-u) - f)),
}
FUNCTIONS = [*ONE, "min", "max"]
KINKS = ("abs", "min", "max")  # their second derivative, 0 wherever it exists, would mislead a Newton-like step

Jet = tuple[Any, Any, Any]  # a value and its first two derivatives in x; None for one that is 0 everywhere
Program = list[Any]  # in the order of a stack: numbers, "t", "x", and (name, number of arguments)


def compile_expression(text: str, orders: int = 2) -> list[Callable[[Array, Array], Array]]:
    """Functions of (t, x): the expression itself and its first `orders` derivatives in x.

    They keep float32. The list is shorter for a loss with a kink, such as |x - t|.
    """
    program, kink = _record(text)
    return [partial(_evaluate, program, order) for order in range(min(orders, 1 if kink else 2) + 1)]


def _evaluate(program: Program, order: int, t: Array, x: Array) -> Array:
    """The derivative of that order; an array even where it is a constant."""
    if x.size <= BLOCK:
        found = _run(program, order, t, x)[order]
        return np.broadcast_to(0.0 if found is None else found, x.shape)
    flat_t, flat_x = np.broadcast_to(t, x.shape).ravel(), x.ravel()
    parts = [_evaluate(program, order, flat_t[k : k + BLOCK], flat_x[k : k + BLOCK]) for k in range(0, x.size, BLOCK)]
    return np.concatenate(parts).reshape(x.shape)


def _run(program: Program, order: int, t: Array, x: Array) -> Jet:
    """The value of a program and its derivatives, as far as `order`."""
    one = np.ones_like(x)
    stack: list[Jet] = []
    for step in program:
        if isinstance(step, tuple):
            name, count = step
            args = stack[-count:]
            del stack[-count:]
            stack.append(_of_one(name, order, *args) if count == 1 else _of_two(name, order, *args))
        else:
            stack.append((x, one, None) if step == "x" else (t if step == "t" else step, None, None))
    return stack[0]


def _of_one(name: str, order: int, u: Jet) -> Jet:
    """A function of one argument: the chain rule."""
    value, slope, bend = ONE[name]
    f = value(u[0])
    if order == 0 or u[1] is None:
        return f, None, None
    first = slope(u[0], f)
    return f, first * u[1], None if order == 1 else _sum(bend(u[0], f) * u[1] * u[1], _product(first, u[2]))


def _of_two(name: str, order: int, u: Jet, v: Jet) -> Jet:
    """An operation on two arguments."""
    if name == "**":
        return _power(order, u, v)
    f = OPERATIONS[name](u[0], v[0])
    if order == 0 or (u[1] is None and v[1] is None):
        return f, None, None
    if name in ("+", "-"):
        sign = 1.0 if name == "+" else -1.0
        return f, _sum(u[1], _product(sign, v[1])), _sum(u[2], _product(sign, v[2]))
    if name == "*":
        twice = _product(2.0, _product(u[1], v[1]))
        first = _sum(_product(u[1], v[0]), _product(u[0], v[1]))
        return f, first, _sum(_sum(_product(u[2], v[0]), twice), _product(u[0], v[2]))
    if name == "/":
        first = _sum(u[1], _product(-f, v[1])) / v[0]
        second = _sum(u[2], _product(-1.0, _sum(_product(2 * first, v[1]), _product(f, v[2]))))
        return f, first, None if second is None else second / v[0]
    share = np.heaviside(u[0] - v[0] if name == "max" else v[0] - u[0], 0.5)  # 1 where u is the one
    return f, _sum(_product(share, u[1]), _product(1 - share, v[1])), None


def _power(order: int, u: Jet, v: Jet) -> Jet:
    base, p = u[0], v[0]
    f = base**p
    if order == 0 or (u[1] is None and v[1] is None):
        return f, None, None
    if v[1] is None:
        if isinstance(p, float) and p in (0.0, 1.0):  # base^(p - 2) may be infinite
            return (f, None, None) if p == 0 else u
        slope, bend = p * base ** (p - 1), p * (p - 1) * base ** (p - 2)
        return f, slope * u[1], _sum(bend * u[1] * u[1], _product(slope, u[2]))
    # ln f = v ln u, and s its derivative
    log, ratio = np.log(base), _product(1 / base, u[1])
    log = float(log) if isinstance(base, float) else log  # a number of NumPy's would turn float32 into float64
    s = _sum(v[1] * log, _product(p, ratio))
    bent = _sum(_product(log, v[2]), _product(2.0, _product(v[1], ratio)))
    if ratio is not None:
        bent = _sum(bent, p * _sum(_product(1 / base, u[2]), -ratio * ratio))
    return f, f * s, _sum(f * s * s, _product(f, bent))


def _sum(a: Any, b: Any) -> Any:
    return a if b is None else b if a is None else a + b


def _product(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a * b


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


def _record(text: str) -> tuple[Program, bool]:
    """(the program of a formula, whether it has a kink in x); anything unknown is refused."""
    program: Program = []
    moves: list[bool] = []  # of all that lies on the stack: does it depend on x?
    kink = False
    for node in _postorder(_parse(text), text):
        for step in _steps(node):
            if not isinstance(step, tuple):
                program.append(step)
                moves.append(step == "x")
                continue
            name, count = step
            depends = any(moves[-count:])
            moves[-count:] = [depends]
            kink = kink or (depends and name in KINKS)
            if name == "/" and program[-1] == 0.0:
                raise ValueError(_not_finite(text))
            if all(isinstance(part, float) for part in program[-count:]):
                with np.errstate(all="ignore"):
                    found = (ONE[name][0] if count == 1 else OPERATIONS[name])(*np.array(program[-count:])[:, None])
                program[-count:] = [float(found[0])]
            else:
                program.append(step)
        if isinstance(program[-1], float) and not math.isfinite(program[-1]):
            raise ValueError(_not_finite(text))
    return program, kink


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
