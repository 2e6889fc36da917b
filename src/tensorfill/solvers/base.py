"""Solvers: how the objective goes down.

Design: settings are frozen, state is returned, the loop is written once (loop.py). A solver gives `init` and `step`;
`step` never changes the state it is given, so an interrupted step costs nothing and every state can be kept,
compared, checkpointed. `refuses` says before the first iteration, in words, what a solver cannot do.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ClassVar, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from tensorfill.partitioned import Partitioned
from tensorfill.problem import Problem
from tensorfill.registry import Registry, Settings
from tensorfill.result.record import Status
from tensorfill.typing import Array

SEARCH = 0.25  # share of a time limit for a search before the first iteration, such as that for a step size
_searched: ContextVar[float] = ContextVar("searched", default=math.inf)


@contextmanager
def time_for_search(seconds: float | None) -> Iterator[None]:
    """Context in which the first state of a run with this time limit is made; `search_time_is_up` asks about it."""
    token = _searched.set(math.inf if seconds is None else time.monotonic() + SEARCH * seconds)
    try:
        yield
    finally:
        _searched.reset(token)


def search_time_is_up() -> bool:
    """Is the time for a search before the first iteration up? Never, where there is no time limit."""
    return time.monotonic() >= _searched.get()


class OutOfTime(Exception):
    """The time limit of the run has passed in the middle of a step, or of a fit that has nothing to show for it."""


_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


@contextmanager
def deadline(moment: float) -> Iterator[None]:
    """Context in which `check_time` raises OutOfTime after this moment of the monotonic clock."""
    token = _deadline.set(moment)
    try:
        yield
    finally:
        _deadline.reset(token)


def check_time() -> None:
    """To be called between the parts of a long step: raise OutOfTime if the run is late already."""
    if time.monotonic() > _deadline.get():
        raise OutOfTime


T = TypeVar("T")


def made_once(make: Callable[[Any], T]) -> Callable[[Any], T]:
    """Decorator: what a function makes of a problem, kept for as long as the problem is there."""
    made: WeakKeyDictionary[Any, T] = WeakKeyDictionary()

    @wraps(make)
    def find(problem: Any) -> T:
        if problem not in made:
            made[problem] = make(problem)
        return made[problem]

    return find


@dataclass(frozen=True)
class State:
    """Where a run is: named arrays, JSON-able numbers, and the objective. Never changed in place."""

    arrays: Mapping[str, Array]
    numbers: Mapping[str, Any] = field(default_factory=dict)
    value: float = np.nan

    @property
    def factors(self) -> list[Array]:
        """A factor model's factors, as they are packed."""
        return self.numbered("A")

    def numbered(self, name: str) -> list[Array]:
        """The arrays name0, name1, ..."""
        names = itertools.takewhile(self.arrays.__contains__, (f"{name}{n}" for n in itertools.count()))
        return [self.arrays[each] for each in names]


def pack(factors: Sequence[Array], **others: Array | Sequence[Array]) -> dict[str, Array]:
    """State arrays: the factors as A0, A1, ..., and the others by their names, numbered where they are lists."""
    out: dict[str, Array] = {}
    for name, given in {"A": factors, **others}.items():
        out |= {name: given} if isinstance(given, np.ndarray) else {f"{name}{n}": a for n, a in enumerate(given)}
    return out


class Procedure(Protocol):
    """What the loop drives: a solver tied to a problem, or a baseline tied to its data."""

    def init(self, rng: np.random.Generator) -> State:
        """The first state."""

    def step(self, state: State, rng: np.random.Generator) -> State:
        """The next state; the given one stays as it is."""

    def score(self, state: State) -> float:
        """Error on held-out entries (lower is better), NaN when nothing is held out."""

    def done(self, state: State, previous: State | None) -> Status | None:
        """A reason of its own to stop after this step, or None."""


SOLVERS: Registry[Solver] = Registry("solver")


@dataclass(frozen=True)
class Solver(Settings):
    """Base of all solvers over a `Problem`."""

    name: ClassVar[str]
    monotone: ClassVar[bool] = False  # does every step keep or lower the objective?
    settles: ClassVar[bool] = True  # does an objective that no longer changes mean that it has converged?
    only_cp: ClassVar[bool] = False  # is it for CP models alone?
    in_blocks: ClassVar[bool] = False  # does it take observations in blocks?

    def refuses(self, problem: Problem) -> str | None:
        """Why this solver cannot solve the problem, as a sentence without its full stop; None if it can. Subclasses
        override it; callers use `refused`.
        """
        return None

    def refused(self, problem: Problem) -> str | None:
        """As `refuses`, after the checks that all solvers share."""
        if isinstance(problem, Partitioned) and not self.in_blocks:
            return "it needs all observations in memory, and these lie in blocks"
        if self.only_cp and problem.model != "cp":
            return f"it solves for the rows of CP factors, and this is a {problem.model} model"
        return self.refuses(problem)

    def check(self, problem: Problem) -> None:
        """Raise before the first iteration if this solver cannot solve this problem, naming those that can."""
        why = self.refused(problem)
        if why is None:
            return
        able = [name for name, cls in SOLVERS.items() if cls is not type(self) and cls().refused(problem) is None]
        would = f"These would: {', '.join(able)}." if able else "No other solver would."
        msg = f"solver {self.name!r} cannot solve this problem: {why}. {would}"
        raise ValueError(msg)

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        """The first state, from starting factors."""
        return State(pack(factors), {"k": 0}, problem.value(factors))

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        """The next state."""
        raise NotImplementedError

    def done(self, state: State, previous: State | None) -> Status | None:
        """A reason of the solver's own to stop, or None."""
        return None
