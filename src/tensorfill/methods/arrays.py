"""Methods on dense arrays: a classical baseline gives `start`, `step`, `answer` and `done`; the rest is here."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Method, Run, Variants
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.solvers.loop import Stopping
from tensorfill.transforms import Clipped, Standardised
from tensorfill.typing import Array


@dataclass(frozen=True, eq=False)
class Dense:
    """What an array method works on: T (zero off the mask), O (True = observed), both full shape; T is scaled."""

    T: Array
    O: NDArray[np.bool_]  # noqa: E741  the letter of the literature

    @property
    def share(self) -> float:
        return float(self.O.mean())

    @cached_property
    def indices(self) -> NDArray[np.intp]:
        """Coordinates of the observed entries in C order, (nnz, N)."""
        return np.argwhere(self.O)


@dataclass(frozen=True)
class ArrayMethod(Method):
    """A method on dense arrays: give `start`, `step`, `answer`, and `done` for its own stopping rule.

    `peak` is the value that the largest observed magnitude is scaled to before the method sees the data (1 or 255, as
    its authors assume); None leaves the data as they are. `level` is subtracted before that, and added to the answer.
    """

    peak: ClassVar[float | None] = 1.0
    # seconds per iteration: a start, per entry, per entry and length of the shortest side of its matrices; measured on
    # 30 x 30 x 100 to 145 x 145 x 60. And iterations to the method's own end.
    costs: ClassVar[tuple[float, float, float, int]]
    room: ClassVar[float] = 270.0  # bytes of memory for each entry of the tensor: arrays of its size, by tracemalloc

    def memory(self, obs: Observations) -> float:
        return self.room * obs.size

    def limit(self) -> int:
        """The method's own limit on iterations."""
        return int(getattr(self, "max_iter", 500))

    def level(self, obs: Observations) -> float:
        """The value that counts as zero for this method."""
        return 0.0

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        """The first state."""
        raise NotImplementedError

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        """One iteration; never changes `state` or `data` in place."""
        raise NotImplementedError

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        """The method's own stopping rule; None to go on."""
        return None

    def answer(self, data: Dense, state: State) -> Array:
        """The completed tensor in the scaled units, full shape. Observed entries are pasted by the caller."""
        return state.arrays["X"]

    def fit(self, obs: Observations, run: Run) -> Completion:
        began = time.monotonic()
        self.check(obs)
        level = self.level(obs)
        T = obs.dense(fill=level, dtype=np.float64) - level
        largest = float(np.abs(T).max())
        scale = largest / self.peak if self.peak and largest > 0 else 1.0
        data = Dense(T / scale, obs.mask)
        most = self.limit() if run.max_iter is None else run.max_iter
        stopping = Stopping(max_iter=most, tol=0.0, seconds=run.rest(began).seconds)
        fingerprint = f"{self!r} {obs.digest()} seed {run.seed}"
        outcome = run.drive(_ArrayProcedure(self, data), stopping, np.random.default_rng(run.seed), fingerprint)
        estimate = self.answer(data, outcome.state) * scale + level
        return self.completion(
            obs, run, Filled(estimate), status=outcome.status, history=outcome.history, settings=self.settings()
        )

    # --- what a contest asks, of those that compete -------------------------------------------------------------

    def suits(self, facts: Facts) -> str | None:
        return None if facts.dense else "the tensor is too large to hold every entry"

    def variants(self, facts: Facts) -> Variants:
        """These methods know one unit for all entries: where slices differ, also with each of them standardised."""
        if facts.uneven is not None and facts.numbers in ("reals", "amounts"):
            yield Clipped(Standardised(self, facts.uneven))
        yield Clipped(self)

    def cost(self, facts: Facts) -> float:
        start, entry, side, iterations = self.costs
        widest = max(min(length, facts.size / length) for length in facts.shape)  # side of the largest matrix
        return iterations * (start + facts.size * (entry + side * widest))


@dataclass(frozen=True, eq=False)
class _ArrayProcedure:
    """An array method tied to its data: what the loop drives."""

    method: ArrayMethod
    data: Dense

    def init(self, rng: np.random.Generator) -> State:
        return self.method.start(self.data, rng)

    def step(self, state: State, rng: np.random.Generator) -> State:
        return self.method.step(self.data, state, rng)

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return self.method.done(self.data, state, previous)
