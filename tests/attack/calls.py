"""Odd arguments: every call ends in an answer (finite, observed entries untouched) or in a sentence."""

from __future__ import annotations

import dataclasses
import inspect
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import tensorfill as tfl
from attack.arena import Wrong
from tensorfill.api import settings_of
from tensorfill.data.memory import limit_memory
from tensorfill.methods import METHODS

NAN = float("nan")


def _data(rng: np.random.Generator) -> list[tuple[str, Any]]:
    """Tensors fine and odd; missing entries are NaN or masked."""
    T = np.outer(rng.uniform(1, 2, 8), rng.uniform(1, 2, 6))[..., None] * rng.uniform(1, 2, 3)
    T[rng.random(T.shape) < 0.3] = NAN
    M = np.where(np.isnan(T[..., 0]), NAN, np.rint(5 * T[..., 0]))
    return [
        ("tensor", T),
        ("counts", M),
        ("tiny", T * 1e-300),
        ("huge", T * 1e300),
        ("float32", T.astype(np.float32)),
        ("float16", T.astype(np.float16)),
        ("longdouble", T.astype(np.longdouble)),
        ("big endian", T.astype(">f8")),
        ("constant", np.where(np.isnan(T), NAN, 3.0)),
        ("zero", np.where(np.isnan(T), NAN, 0.0)),
        ("negative", -T),
        ("one known", np.where(np.arange(12).reshape(3, 4) == 5, 2.0, NAN)),
        ("two known", np.where(np.arange(12).reshape(3, 4) % 7 == 5, 2.0, NAN)),
        ("all missing", np.full((3, 4), NAN)),
        ("none missing", np.ones((3, 4))),
        ("empty", np.zeros((0, 4))),
        ("scalar", 3.0),
        ("zero-dimensional", np.array(NAN)),
        ("vector", np.array([1.0, NAN, 3.0, 4.0, 5.0, NAN])),
        ("one by one", np.array([[NAN]])),
        ("infinite", np.where(np.isnan(T), np.inf, T)),
        ("outlier", np.where(np.arange(T.size).reshape(T.shape) == 7, 1e30, T)),
        ("six modes", np.where(rng.random((2, 3, 2, 2, 2, 3)) < 0.3, NAN, rng.normal(size=(2, 3, 2, 2, 2, 3)))),
        ("long and thin", np.where(rng.random((200, 1)) < 0.5, NAN, rng.normal(size=(200, 1)))),
        ("complex", T + 1j),
        ("text", np.array([["a", "b"], ["c", "d"]])),
        ("objects", np.array([[1, None], [2.5, "x"]], dtype=object)),
        ("dates", np.array([["2020-01-01", "NaT"]], dtype="datetime64[D]")),
        ("booleans", np.ma.masked_array(M > 8, np.isnan(M))),
        ("masked integers", np.ma.masked_array(np.nan_to_num(M).astype(np.int16), np.isnan(M))),
        ("large integers", np.ma.masked_array(np.full((3, 4), 2**62 + 1), np.eye(3, 4, dtype=bool))),
        ("lists", [[1.0, NAN], [2.0, 3.0], [4.0, 5.0]]),
        ("ragged", [[1.0, 2.0], [3.0]]),
        ("nothing", None),
        ("dictionary", {"a": 1}),
        ("word", "no such file"),
    ]


ODD = [None, True, -1, 0, 1, 2, 3.5, 1e308, -1e308, NAN, np.inf, "", "a", "poisson", b"x", [], [1], (0.5, 0.5), {}]
ODD += [
    {0: 1.0},
    {"hour": 1.0},
    {0: -1.0},
    {9: 1.0},
    {0: NAN},
    {0: "a"},
    np.arange(3),
    np.array([[1.0]]),
    object(),
    len,
]
ODD += [2**70, -(2**70), 1j, set(), range(3), np.float32(2), np.int8(3), "normal", "lbfgsb", "auto", "means", ["means"]]
NAMES = ["prior", "rank", "smooth", "method", "effort", "error_bars", "seed", "dims", "weights", "solver", "candidates"]
NAMES += [
    "held_out",
    "max_iter",
    "seconds",
    "callback",
    "resume",
    "mask",
    "ridge",
    "tv",
    "alpha",
    "rho",
    "tol",
    "passes",
]
NAMES += ["starts", "draws", "burn", "keep", "transform", "chains", "threads", "epsilon", "center", "beta", "misspelt"]


class Cases:
    """Case k calls one of `CALLS` with data, a method and settings drawn by k."""

    budget = 64 * 2**20  # bytes that a call may take

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.methods = [m for m in METHODS if not m.startswith("auto")] + ["auto"]
        for method in self.methods:  # compiles what is compiled on first use
            with suppress(ValueError):  # some are not for such data
                tfl.complete(_data(np.random.default_rng(0))[0][1], method=method, max_iter=2, seconds=2.0)

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        what, data = (pool := _data(rng))[int(rng.integers(len(pool)))]
        if rng.random() < 0.5:
            what, data = pool[int(rng.integers(6))]  # often fine ones, so that settings get their turn
        call = CALLS[int(rng.choice(len(CALLS), p=SHARES))]
        method = self.methods[int(rng.integers(len(self.methods)))]
        names = NAMES if rng.random() < 0.5 else sorted(settings_of(METHODS[method]))  # what it knows, or anything
        several = min(len(names), int(rng.integers(0, 3)))
        settings = {str(n): ODD[int(rng.integers(len(ODD)))] for n in rng.choice(names, several, False)}
        words = f"{call.__name__}({what}, {method}, {settings!r})"[:160]
        return f"#{k} {words}", lambda: self.use(call, data, method, settings, rng)

    def use(self, call: Callable[..., None], *given: Any) -> None:
        with limit_memory(self.budget):
            call(*given)


def complete(data: Any, method: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    given = {"method": method, "max_iter": 3, **settings}
    given.setdefault("seconds", 2.0)
    if given.get("callback") is len:  # what it raises is its own
        del given["callback"]
    check(tfl.complete(data, **given), data)


def check(done: tfl.Completion, data: Any) -> None:
    """The promises of an answer."""
    answer = np.ma.getdata(np.asarray(done.completed))
    if answer.dtype.kind == "f" and not np.isfinite(answer).all():
        raise Wrong("an answer that is not finite")
    if isinstance(data, np.ndarray) and not isinstance(data, np.ma.MaskedArray) and data.dtype.kind == "f":
        known = done.observations.mask.reshape(answer.shape)  # a series is a table of one column
        if not np.array_equal(answer[known], np.asarray(data)[known].astype(answer.dtype)):
            raise Wrong("observed entries changed")
    str(done), repr(done), done.status.sentence


def observe(data: Any, method: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    mask = ODD[int(rng.integers(len(ODD)))] if rng.random() < 0.5 else None
    tfl.observe(data, mask, **{k: v for k, v in settings.items() if k in ("weights", "dims")})


def coordinates(data: Any, method: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    pool: list[Any] = [
        *ODD,
        rng.integers(-1, 4, (5, 2)),
        rng.integers(0, 4, (5, 2)),
        rng.random(5),
        (4, 4),
        (2**40, 2**40),
    ]
    tfl.Observations.from_coo(*(pool[int(rng.integers(len(pool)))] for _ in range(3)))


def problem(data: Any, method: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    obs = tfl.observe(data)
    pick = [ODD[int(i)] for i in rng.integers(len(ODD), size=4)]
    p = tfl.Problem(obs, rank=pick[0] if rng.random() < 0.5 else 2, prior=pick[1] if rng.random() < 0.5 else "normal")
    solver = list(tfl.SOLVERS)[int(rng.integers(len(tfl.SOLVERS)))]
    done = tfl.solve(p, solver, stopping=tfl.Stopping(max_iter=2), **({"init": pick[2]} if rng.random() < 0.3 else {}))
    check(done, None)


def pieces(data: Any, method: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    """Priors, smoothness and solvers made with odd numbers, put together."""

    def one(registry: Any) -> Any:
        cls = registry[list(registry)[int(rng.integers(len(registry)))]]
        known = [f.name for f in dataclasses.fields(cls) if f.init]
        return cls(**{name: ODD[int(rng.integers(len(ODD)))] for name in known if rng.random() < 0.5})

    prior = one(tfl.PRIORS) if rng.random() < 0.5 else "normal"
    inner = {int(rng.integers(2)): one(tfl.INTERELEMENT)} if rng.random() < 0.5 else {}
    solver = one(tfl.SOLVERS) if rng.random() < 0.5 else "lbfgsb"
    p = tfl.Problem(tfl.observe(data), rank=2, prior=prior, interelement=inner)
    check(tfl.solve(p, solver, stopping=tfl.Stopping(max_iter=2, seconds=2.0)), None)


def impute(data: Any, method: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    from tensorfill.sklearn import TensorImputer

    known = inspect.signature(TensorImputer).parameters
    given = {"max_iter": 2, **{name: value for name, value in settings.items() if name in known}}
    try:
        filled = np.asarray(TensorImputer(**given).fit_transform(data))
    except (TypeError, ValueError) as error:
        if "/sklearn/utils/" in traceback.extract_tb(error.__traceback__)[-1].filename:
            return  # its own checks, in its own words
        raise
    if filled.dtype.kind == "f" and not np.isfinite(filled).all():
        raise Wrong("an answer that is not finite")


def read_result(data: Any, method: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    T = _data(np.random.default_rng(0))[0][1]
    done = tfl.complete(T, method="halrtc", max_iter=1)
    odd = ODD[int(rng.integers(len(ODD)))]
    uses: list[Callable[[Any], Any]] = [
        done.at,
        lambda x: done.at([x, x, x]),
        lambda x: done.sample(x),
        lambda x: done.save(x) if not isinstance(x, str | bytes | int) else None,
        lambda x: tfl.Completion.load(x) if not isinstance(x, int) else None,
        lambda x: done.history[x],
        lambda x: done.top(x, mode=1, at=[[0, 0]]),
        lambda x: done.top(2, mode=x, at=[[0, 0]]),
        lambda x: done.top(2, mode=1, at=x),
        lambda x: done.top(2, mode=1, at=[[0, 0]], new=x),
    ]
    uses[int(rng.integers(len(uses)))](odd)


def formula(data: Any, method: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    words = [
        "x",
        "t",
        "+",
        "-",
        "*",
        "/",
        "**",
        "(",
        ")",
        "log(",
        "exp(",
        "abs(",
        "max(",
        ",",
        "2",
        "0",
        "0.5",
        "sqrt(",
    ]
    text = "".join(words[int(i)] for i in rng.integers(len(words), size=int(rng.integers(1, 9))))
    tfl.Custom(text)


CALLS = [complete, observe, coordinates, problem, pieces, impute, read_result, formula]
SHARES = [0.42, 0.1, 0.1, 0.1, 0.1, 0.06, 0.08, 0.04]
