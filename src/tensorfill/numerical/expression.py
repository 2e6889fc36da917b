"""A loss written as text, such as "x - t*log(x)", turned into NumPy functions of it and of its derivatives.

Design: the text may come out of a saved file, so it is never evaluated. Python's parser reads it, and only the nodes
listed here are rebuilt with SymPy, which differentiates and writes NumPy code.
"""

from __future__ import annotations

import ast
import ctypes
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfill.numerical.base import Array
from tensorfill.numerical.binary import sigmoid, softplus
from tensorfill.registry import did_you_mean

FUNCTIONS = [
    "log",
    "log1p",
    "exp",
    "sqrt",
    "abs",
    "min",
    "max",
    "sin",
    "cos",
    "tanh",
    "cosh",
    "atan",
    "softplus",
    "expit",
]  # softplus(x) = ln(1 + e^x) and expit(x) = 1 / (1 + e^-x), both safe for large x


LARGEST, DEEPEST = 2000, 40  # letters, and operations inside each other, of a formula
LONGEST = 8.0  # seconds to differentiate it: the losses of the literature take a tenth of a second


def compile_expression(text: str, orders: int = 2) -> list[Callable[[Array, Array], Array]]:
    """Functions of (t, x): the expression itself and its first `orders` derivatives in x.

    They keep float32. The list is shorter for a loss with a kink, such as |x - t|: its second derivative, 0 wherever
    it exists, would mislead a Newton-like step.
    """
    try:
        import sympy
    except ImportError as err:
        msg = "A loss given as text needs SymPy. Install it (pip install sympy), or give a NumPy function."
        raise ImportError(msg) from err
    tree = _parsed(text)
    found: list[Callable[[Array, Array], Array]] = []

    def differentiate() -> None:
        t, x = sympy.symbols("t x", real=True)
        names = _vocabulary(sympy)
        names.update(t=t, x=x, pi=sympy.pi)
        formula = sympy.sympify(_build(tree, names, text, sympy))
        if formula.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I):
            msg = f"A formula must be real and finite; {_short(text)} divides by 0, or has a root or logarithm of none."
            raise ValueError(msg)
        modules: list[Any] = [{"softplus": softplus, "expit": sigmoid}, "numpy"]
        while len(found) <= orders and not formula.has(sympy.DiracDelta):
            found.append(_spread(sympy.lambdify((t, x), formula, modules=modules, cse=True)))
            formula = sympy.diff(formula, x)

    try:
        within(LONGEST, differentiate)
    except TimeoutError as err:
        msg = (
            f"A formula must be differentiated within {LONGEST:g} s; this one takes longer: {_short(text)}. "
            "Write it more simply, or give a NumPy function."
        )
        raise ValueError(msg) from err
    except (TypeError, AttributeError, RecursionError, ArithmeticError, NotImplementedError) as err:  # SymPy's own
        msg = f"A formula must be real, and its functions must have their arguments; got {_short(text)} ({err})."
        raise ValueError(msg) from err
    return found


def _parsed(text: str) -> ast.expr:
    """The expression as Python's parser reads it, if it is of a size that can be differentiated."""
    try:
        tree = ast.parse(text[: LARGEST + 1].strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
        msg = f"A formula must be an expression in t and x, such as 'x - t*log(x)'; got {_short(text)}."
        if len(text) <= LARGEST:
            raise ValueError(msg) from err
    if len(text) > LARGEST or _depth(tree) > DEEPEST:
        msg = f"A formula must have at most {LARGEST} letters, {DEEPEST} deep; got {len(text)}: {_short(text)}."
        raise ValueError(msg)
    return tree


def _depth(tree: ast.AST) -> int:
    """How many operations and functions lie inside each other; those of a sum or a product lie side by side."""
    level, depth = [tree], 0
    while level:
        depth += 1
        inner: list[ast.AST] = []
        for node in level:
            own = list(ast.iter_child_nodes(node))
            while isinstance(node, ast.BinOp) and isinstance(node.left, ast.BinOp) and _alike(node.op, node.left.op):
                node = node.left
                own = [child for child in own if child is not node] + list(ast.iter_child_nodes(node))
            inner += own
        level = inner
    return depth


def _alike(one: ast.operator, two: ast.operator) -> bool:
    """Both of sums, or both of products?"""
    sums, products = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
    return any(isinstance(one, kind) and isinstance(two, kind) for kind in (sums, products))


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def within(seconds: float, work: Callable[[], None]) -> None:
    """Run the work in a thread of its own; if it takes longer, the thread is stopped and TimeoutError raised."""
    raised: list[BaseException] = []

    def do() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        stop = ctypes.pythonapi.PyThreadState_SetAsyncExc  # at its next line; SymPy is nothing but Python
        stop(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
        raise TimeoutError
    if raised:
        raise raised[0]


def _spread(function: Callable[[Array, Array], Any]) -> Callable[[Array, Array], Array]:
    """The function, answering with an array even where the formula is a constant."""
    return lambda t, x: np.broadcast_to(function(t, x), x.shape)


def _vocabulary(sympy: Any) -> dict[str, Any]:
    """SymPy's functions by the names of FUNCTIONS."""

    class expit(sympy.Function):
        def fdiff(self, argindex: int = 1) -> Any:
            return expit(self.args[0]) * expit(-self.args[0])

    class softplus(sympy.Function):
        def fdiff(self, argindex: int = 1) -> Any:
            return expit(self.args[0])

    own = {
        "log1p": lambda u: sympy.log(1 + u),
        "abs": sympy.Abs,
        "min": sympy.Min,
        "max": sympy.Max,
        "expit": expit,
        "softplus": softplus,
    }
    return {name: own.get(name) or getattr(sympy, name) for name in FUNCTIONS}


def _build(node: ast.AST, names: dict[str, Any], text: str, sympy: Any) -> Any:
    """The SymPy expression of a parsed node; anything unknown is refused."""

    def part(inner: ast.AST) -> Any:
        return _build(inner, names, text, sympy)

    match node:
        case ast.Constant(value=bool() | complex()):
            pass
        case ast.Constant(value=int() as number) if abs(number) < 10**6:
            return sympy.Integer(number)
        case ast.Constant(value=int() | float() as number):
            return sympy.Float(number)
        case ast.Name(id=name) if name in ("t", "x", "pi"):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -part(inner)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return part(inner)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return part(left) + part(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return part(left) - part(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return part(left) * part(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return part(left) / part(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(part(left), part(right), text, sympy)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return names[name](*(part(a) for a in args))
    word = ast.unparse(node)
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else word
    msg = (
        f"A formula may contain t, x, pi, numbers, + - * / ** and {', '.join(FUNCTIONS)}; "
        f"got {word!r} in {text!r}.{did_you_mean(name, [*FUNCTIONS, 't', 'x', 'pi'])}"
    )
    raise ValueError(msg)


def _power(base: Any, power: Any, text: str, sympy: Any) -> Any:
    """The power; of two numbers in floating point, since exact ones (9**9**9**9) never end."""
    if not (base.is_number and power.is_number):
        return base**power
    try:
        return sympy.Float(math.pow(float(base), float(power)))
    except (OverflowError, ValueError, TypeError) as err:
        msg = f"A formula may contain numbers up to 1e308; {text!r} has a power that is none."
        raise ValueError(msg) from err


def as_entries(values: Any, like: Array) -> Array:
    """Answers of a user's function as a new array of the shape and dtype of `like`."""
    answer = np.asarray(values)
    if answer.shape != like.shape:
        msg = f"A loss must answer entry by entry, with shape {like.shape} here; it gave {answer.shape}."
        raise ValueError(msg)
    return np.array(answer, dtype=like.dtype)
