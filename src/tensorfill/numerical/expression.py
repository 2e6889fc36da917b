"""A loss written as text, such as "x - t*log(x)", turned into NumPy functions of it and of its derivatives.

Design: the text may come out of a saved file, so it is never evaluated. Python's parser reads it, and the nodes listed
here become operations on a tape, each once, those on numbers alone computed at once in floating point. The derivative
of a tape is more of the same tape. What a formula costs is the number of its operations, which has a limit.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorfill.numerical.base import Array
from tensorfill.numerical.binary import sigmoid, softplus
from tensorfill.registry import did_you_mean

# softplus(x) = ln(1 + e^x) and expit(x) = 1 / (1 + e^-x), both safe for large x
ONE = ("log", "log1p", "exp", "sqrt", "abs", "sin", "cos", "tanh", "cosh", "atan", "softplus", "expit")
FUNCTIONS = [*ONE, "min", "max"]
LARGEST = 2000  # letters of a formula
MOST = 2000  # operations of a formula and its derivatives together: the losses of the literature take under 50
BLOCK = 2**15  # entries at a time: what is between two operations stays in the cache, and is little
KINKS = ("sign", "step")  # what differentiating abs, min and max leaves; the derivative of these is 0 almost everywhere

OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "log": np.log,
    "log1p": np.log1p,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
    "atan": np.arctan,
    "softplus": lambda u: softplus(np.atleast_1d(u)),
    "expit": lambda u: sigmoid(np.atleast_1d(u)),
    "sign": np.sign,
    "step": lambda u, v: np.heaviside(np.subtract(u, v), 0.5),
}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def compile_expression(text: str, orders: int = 2) -> list[Callable[[Array, Array], Array]]:
    """Functions of (t, x): the expression itself and its first `orders` derivatives in x.

    They keep float32. The list is shorter for a loss with a kink, such as |x - t|: its second derivative, 0 wherever
    it exists, would mislead a Newton-like step.
    """
    tape = Tape(text)
    root = _record(tape, _parse(text))
    found = [tape.function(root)]
    while len(found) <= orders and not tape.has_kink(root):
        root = tape.differentiate(root)
        found.append(tape.function(root))
    return found


@dataclass
class Tape:
    """Operations in an order in which they can be done: `nodes[k]` is a number, "t", "x", or a name and former places.

    Equal operations have one place. Operations on numbers are done when recorded.
    """

    text: str
    nodes: list[Any] = field(default_factory=list)
    places: dict[Any, int] = field(default_factory=dict)

    def put(self, node: Any) -> int:
        """The place of this node."""
        if node not in self.places:
            if len(self.nodes) >= MOST:
                msg = (
                    f"A formula must take at most {MOST} operations with its derivatives; {_short(self.text)} takes "
                    "more. Write it more simply, or give a NumPy function."
                )
                raise ValueError(msg)
            self.places[node] = len(self.nodes)
            self.nodes.append(node)
        return self.places[node]

    def number(self, k: int) -> float | None:
        """The number at place k; None if it is not one."""
        return self.nodes[k] if isinstance(self.nodes[k], float) else None

    def add(self, name: str, *parts: int | float) -> int:
        """The place of an operation on places; numbers may be given as floats."""
        args = [self.put(part) if isinstance(part, float) else part for part in parts]
        numbers = [self.number(a) for a in args]
        known = [n for n in numbers if n is not None]
        if len(known) == len(args):
            with np.errstate(all="ignore"):
                value = float(np.ravel(OPERATIONS[name](*known))[0])
            if not math.isfinite(value):
                msg = (
                    f"A formula must be real and finite, and may contain numbers up to 1e308; {_short(self.text)} has "
                    "a part that is none: a division by 0, a root or logarithm of nothing, or a power too large."
                )
                raise ValueError(msg)
            return self.put(value)
        return self._shorter(name, args, numbers)

    def _shorter(self, name: str, args: list[int], numbers: list[float | None]) -> int:
        """The operation, or what it comes to: a sum with 0, a product with 0 or 1, a first power."""
        match name, numbers:
            case ("+", [0.0, _]) | ("*", [1.0, _]):
                return args[1]
            case ("+", [_, 0.0]) | ("-", [_, 0.0]) | ("*", [_, 1.0]) | ("/", [_, 1.0]) | ("**", [_, 1.0]):
                return args[0]
            case ("*", [0.0, _]) | ("*", [_, 0.0]) | ("/", [0.0, _]):
                return self.put(0.0)
            case ("**", [_, 0.0]):
                return self.put(1.0)
            case ("**", [_, 2.0]):
                return self.put(("*", args[0], args[0]))
            case ("/", [_, 0.0]):
                return self.add("/", 1.0, 0.0)  # refused there
        return self.put((name, *args))

    def reached(self, root: int) -> list[int]:
        """The places that `root` needs, in order."""
        needed = {root}
        for k in range(root, -1, -1):
            if k in needed and isinstance(self.nodes[k], tuple):
                needed.update(self.nodes[k][1:])
        return sorted(needed)

    def has_kink(self, root: int) -> bool:
        """Does differentiating what is at `root` need the derivative of a jump?"""
        return any(isinstance(self.nodes[k], tuple) and self.nodes[k][0] in KINKS for k in self.reached(root))

    def differentiate(self, root: int) -> int:
        """The place of the derivative in x of what is at `root`."""
        slopes: dict[int, int] = {}
        for k in self.reached(root):
            node = self.nodes[k]
            if isinstance(node, tuple):
                slopes[k] = self._slope(k, node[0], node[1:], [slopes[a] for a in node[1:]])
            else:
                slopes[k] = self.put(1.0 if node == "x" else 0.0)
        return slopes[root]

    def _slope(self, k: int, name: str, args: tuple[int, ...], inner: list[int]) -> int:
        """The place of the derivative of the operation at k, given those of its arguments."""
        add = self.add
        if all(self.number(slope) == 0.0 for slope in inner):
            return self.put(0.0)
        match name:
            case "+" | "-":
                return add(name, *inner)
            case "*":
                return add("+", add("*", inner[0], args[1]), add("*", args[0], inner[1]))
            case "/":
                return add("/", add("-", inner[0], add("*", k, inner[1])), args[1])
            case "**":
                rise = add("*", args[1], add("**", args[0], add("-", args[1], 1.0)))
                grown = 0.0 if self.number(inner[1]) == 0.0 else add("*", add("*", k, add("log", args[0])), inner[1])
                return add("+", add("*", rise, inner[0]), grown)
            case "max" | "min":
                first, second = (0, 1) if name == "max" else (1, 0)
                above = add("step", *args)  # 1 where the first argument is the larger
                return add("+", inner[second], add("*", add("-", inner[first], inner[second]), above))
        return add("*", self._outer(k, name, args[0]), inner[0])

    def _outer(self, k: int, name: str, u: int) -> int:
        """The place of the derivative of the function at k in its argument, at place u."""
        add = self.add
        rules: dict[str, Callable[[], int]] = {
            "log": lambda: add("/", 1.0, u),
            "log1p": lambda: add("/", 1.0, add("+", 1.0, u)),
            "exp": lambda: k,
            "sqrt": lambda: add("/", 0.5, k),
            "abs": lambda: add("sign", u),
            "sin": lambda: add("cos", u),
            "cos": lambda: add("-", 0.0, add("sin", u)),
            "tanh": lambda: add("-", 1.0, add("*", k, k)),
            "cosh": lambda: add("sinh", u),
            "sinh": lambda: add("cosh", u),
            "atan": lambda: add("/", 1.0, add("+", 1.0, add("*", u, u))),
            "softplus": lambda: add("expit", u),
            "expit": lambda: add("*", k, add("expit", add("-", 0.0, u))),
        }
        return rules[name]()

    def function(self, root: int) -> Callable[[Array, Array], Array]:
        """What is at `root` as a function of (t, x); it answers with an array even where it is a constant."""
        places = self.reached(root)
        nodes = [self.nodes[k] for k in places]
        last: dict[int, int] = {}  # the place of the last operation that needs a value
        for k, node in zip(places, nodes, strict=True):
            last.update(dict.fromkeys(node[1:] if isinstance(node, tuple) else (), k))
        steps = list(zip(places, nodes, strict=True))

        def evaluate(t: Array, x: Array) -> Array:
            values: dict[int, Any] = {}
            for k, node in steps:
                if isinstance(node, tuple):
                    values[k] = OPERATIONS[node[0]](*(values[a] for a in node[1:]))
                    for a in set(node[1:]):
                        if last[a] == k:
                            del values[a]
                else:
                    values[k] = t if node == "t" else x if node == "x" else node
            return np.broadcast_to(values[root], x.shape)

        def by_blocks(t: Array, x: Array) -> Array:
            if x.size <= BLOCK:
                return evaluate(t, x)
            flat_t, flat_x = np.broadcast_to(t, x.shape).ravel(), x.ravel()
            starts = range(0, x.size, BLOCK)
            parts = [evaluate(flat_t[k : k + BLOCK], flat_x[k : k + BLOCK]) for k in starts]
            return np.concatenate(parts).reshape(x.shape)

        return by_blocks


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


def _record(tape: Tape, tree: ast.expr) -> int:
    """The place of a parsed expression; anything unknown is refused. Without recursion: sums may be long."""
    places: dict[ast.AST, int] = {}
    todo: list[ast.expr] = [tree]
    while todo:
        node = todo[-1]
        parts = _parts(node, tape.text)
        waiting = [part for part in parts if part not in places]
        if waiting:
            todo += waiting
            continue
        places[todo.pop()] = _record_node(tape, node, [places[part] for part in parts])
    return places[tree]


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


def _record_node(tape: Tape, node: ast.expr, parts: list[int]) -> int:
    """The place of a node whose parts are on the tape."""
    match node:
        case ast.Constant(value=int() | float() as number):
            try:
                return tape.add("+", float(number), 0.0)
            except OverflowError as err:
                msg = f"A formula may contain numbers up to 1e308; got a larger one in {_short(tape.text)}."
                raise ValueError(msg) from err
        case ast.Name(id=name):
            return tape.put(math.pi if name == "pi" else name)
        case ast.UnaryOp(op=op):
            return tape.add("-", 0.0, *parts) if isinstance(op, ast.USub) else parts[0]
        case ast.BinOp(op=op):
            return tape.add(SIGNS[type(op)], *parts)
        case ast.Call(func=ast.Name(id=name)):
            place = tape.add(name, parts[0]) if name in ONE else parts[0]
            for part in parts[1:]:
                place = tape.add(name, place, part)
            return place
    raise AssertionError(node)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def as_entries(values: Any, like: Array) -> Array:
    """Answers of a user's function as a new array of the shape and dtype of `like`."""
    answer = np.asarray(values)
    if answer.shape != like.shape:
        msg = f"A loss must answer entry by entry, with shape {like.shape} here; it gave {answer.shape}."
        raise ValueError(msg)
    return np.array(answer, dtype=like.dtype)
