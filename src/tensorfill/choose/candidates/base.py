"""Candidates: ways to fill these gaps, tried on held-out entries.

A candidate is a frozen dataclass: one variant of one family. The class says in words what it assumes (`assumes`),
whether it can run on these facts (`can`), and yields its variants in the order in which they are worth trying
(`search`). An instance says about how long a fit takes (`cost`) and fits (`fit`). It never sees held-out entries, nor
another candidate. `@CANDIDATES.register("its-name")` puts it into the contest and into the test grid.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.problem import Problem
from tensorfill.registry import Registry
from tensorfill.result.answer import Answer
from tensorfill.result.record import History, Status

Array = NDArray[Any]

CANDIDATES: Registry[Candidate] = Registry("candidate")

# yields variants, is sent the mean loss of each on held-out entries
Search = Generator["Candidate", float, None]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit gave: an answer, and how it came about."""

    answer: Answer
    status: Status = Status.FINISHED
    history: History = field(default_factory=History)
    problem: Problem | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    error: float = np.nan  # root mean square on known entries it did not see, where it set some aside for a purpose


class Late(Exception):
    """The time of a fit is up, and it has nothing to show for it."""


class Unsuited(Exception):
    """The data are not as the candidate assumes, as a look at them showed; says why."""


def watch(run: Run) -> Callable[[], None]:
    """To be called now and then by a fit that has no loop of the solvers: Late, once the time is up."""
    end = np.inf if run.seconds is None else time.monotonic() + run.seconds

    def look() -> None:
        if time.monotonic() > end:
            raise Late

    return look


def never() -> None:
    """A watch without a limit."""


@dataclass(frozen=True)
class Candidate:
    """One variant of one family."""

    name: ClassVar[str]
    assumes: ClassVar[str]  # what the data must be like, in words
    takes: ClassVar[frozenset[str]] = frozenset()  # what of `Given` it can make use of; if given more, it may not run
    weighs: ClassVar[bool] = False  # does it know weights of entries?
    tells_unseen: ClassVar[bool] = False  # does it say something sensible of slices without any entry?
    averages: ClassVar[bool] = False  # is its answer a mean of draws? Another variant of it adds little to that

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        """True, or a sentence (without a full stop) saying why it cannot run on these data."""
        return True

    @classmethod
    def first(cls, facts: Facts, given: Given) -> int:
        """How many variants are so different that each must be tried before one can speak of the family."""
        return 1

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        """The variants, likeliest first; the loss of each is sent back, for those that depend on it."""
        yield cls()

    @property
    def label(self) -> str:
        """The name, with what sets this variant apart."""
        return self.name

    def knows_unseen(self, mode: int) -> bool:
        """Does it say something sensible of slices along `mode` without any entry?"""
        return self.tells_unseen

    def cost(self, facts: Facts) -> float:
        """About how many seconds one fit takes on one core."""
        raise NotImplementedError

    def shorter(self, facts: Facts, seconds: float) -> Candidate:
        """A variant that takes about `seconds` at most, for the contest alone, where there is one; else itself."""
        return self

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        """The answer from these observations."""
        raise NotImplementedError


def refused(cls: type[Candidate], facts: Facts, given: Given) -> str | None:
    """Why this family may not run on what was given; None if it may."""
    if not given.allows(cls.name):
        return "not among the candidates asked for"
    for name in ("prior", "form", "rank", "smooth", "ridge", "tv", "solver", "passes"):
        none = name in ("tv", "passes") and getattr(given, name) == 0  # asked for none, which it has
        if getattr(given, name) is not None and not none and name not in cls.takes:
            return f"it has no {'model' if name == 'form' else name}, which was given"
    if facts.weighted and not cls.weighs:
        return "it has no weights, which were given"
    able = cls.can(facts, given)
    return able if isinstance(able, str) else None if able else "it cannot run on these data"


def dense_table(T: Array, columns: Sequence[int]) -> Array:
    """A tensor as a matrix with the modes `columns` along its columns, (others, columns)."""
    rows = [n for n in range(T.ndim) if n not in columns]
    count = int(np.prod([T.shape[n] for n in columns]))
    return T.transpose([*rows, *columns]).reshape(-1, count)


def from_table(X: Array, shape: Sequence[int], columns: Sequence[int]) -> Array:
    """The way back from `dense_table`: full shape."""
    order = [*(n for n in range(len(shape)) if n not in columns), *columns]
    return np.ascontiguousarray(X.reshape([shape[n] for n in order]).transpose(np.argsort(order)))


def tables(facts: Facts) -> list[tuple[int, ...]]:
    """Ways to read the tensor as a table: each mode as its columns, and all others; the fewest columns first."""
    modes = range(len(facts.shape))
    ways = {(n,) for n in modes} | {tuple(m for m in modes if m != n) for n in modes}
    return sorted(ways, key=lambda way: (np.prod([facts.shape[n] for n in way]), way))


def dims_of(facts: Facts, columns: Sequence[int]) -> str:
    """`hour`, or `day x hour`."""
    return " x ".join(facts.modes[n].dim for n in columns)


def within_reach(X: Array, obs: Observations, facts: Facts) -> Array:
    """X, full shape, nowhere further outside of what its slice was seen to be than that is wide. In a table whose
    columns have units of their own, one row with a huge number in one of them throws others off by thousands of
    spreads, and held-out entries seldom meet that row.
    """
    mode = facts.uneven or 0
    i = np.zeros(obs.nnz, dtype=np.intp) if facts.uneven is None else obs.indices[:, mode]
    low, high = np.full(obs.shape[mode], np.inf), np.full(obs.shape[mode], -np.inf)
    np.minimum.at(low, i, obs.values)
    np.maximum.at(high, i, obs.values)
    seen = low <= high  # slices without an entry are limited by what all are
    low, high = np.where(seen, low, low[seen].min()), np.where(seen, high, high[seen].max())
    along = [-1 if n == mode else 1 for n in range(X.ndim)]
    width = high - low
    return np.clip(X, (low - width).reshape(along), (high + width).reshape(along))
