"""Methods: ready-made recipes a user names, `complete(T, method="halrtc")`.

Design: a method is a frozen dataclass of settings. `complete(obs, run)` returns a Completion. Methods that iterate on
dense arrays (the classical baselines) derive from `ArrayMethod` and give `start`, `step` and `answer`; scaling, the
loop, the pasting of observed entries and placeholder invariance are written once, here.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.checkpoint import Checkpoint
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.methods.checks import check_whole
from tensorfill.registry import Registry, Settings
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.solvers.loop import Callback, Stopping
from tensorfill.solvers.loop import run as run_loop

Array = NDArray[Any]

METHODS: Registry[Method] = Registry("method")
UP = 1e-9  # seconds that are left of a run whose time is up: a limit must be > 0


@dataclass(frozen=True)
class Run(Settings):
    """How to run a method: what does not change its answer on a given seed, save by stopping early."""

    seed: int = 0
    callback: Callback | None = None
    checkpoint: str | PathLike[str] | None = None
    resume: bool = False
    max_iter: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.max_iter is not None:
            check_whole(self, 0, "max_iter")
        if self.seconds is not None and not self.seconds > 0:
            msg = f"seconds must be > 0, or None for no limit; got {self.seconds}."
            raise ValueError(msg)
        if self.resume and self.checkpoint is None:
            msg = "resume goes on from a checkpoint; name its file: checkpoint=..."
            raise ValueError(msg)
        if self.checkpoint is not None:  # opened once, so that all parts of the run share one file
            object.__setattr__(self, "checkpoint", Checkpoint.at(self.checkpoint, resume=self.resume))

    def rest(self, began: float) -> Run:
        """The run for what remains of it, if it `began` then by the monotonic clock; its time may be up, but not 0."""
        return self if self.seconds is None else replace(self, seconds=max(began + self.seconds - time.monotonic(), UP))

    @property
    def late(self) -> bool:
        """Is the time up?"""
        return self.seconds is not None and self.seconds <= UP

    def section(self, name: str) -> Checkpoint | None:
        """The part of the checkpoint that belongs to a part of this run."""
        return None if self.checkpoint is None else Checkpoint.at(self.checkpoint).part(name)

    def tell(self, name: str, error: float, share: float) -> None:
        """Report the progress of a contest to a callback that has a method `tried`: the candidate's name, its error in
        spreads of the data (NaN while it is being tried), and the share of the time for trials that is used up.
        """
        listens = getattr(self.callback, "tried", None)
        if listens is not None:
            listens(name, error, share)


@dataclass(frozen=True)
class Method(Settings):
    """Base of all methods. The class variables are what `tensorfill list methods` and docs/methods.md show."""

    name: ClassVar[str]
    reference: ClassVar[str]  # authors, title or venue, year
    assumes: ClassVar[str]  # what the data must be like, one line
    use_when: ClassVar[str]  # when to pick it, one line
    learns_smooth: ClassVar[bool] = False  # then `smooth` lists modes; else it is {mode: weight}

    def refuses(self, obs: Observations) -> str | None:
        """Why these data cannot be completed by this method, without a full stop; None if they can."""
        return None

    def check(self, obs: Observations) -> None:
        """Raise a sentence if this method cannot complete these data."""
        why = self.refuses(obs)
        if why is not None:
            msg = f"method {self.name!r} cannot complete this tensor: {why}."
            raise ValueError(msg)

    def memory(self, obs: Observations) -> float:
        """Bytes that completing these data takes, about. Measured with tracemalloc on tensors of 10^5 to 10^7 entries,
        0.2 to 60 % of them known: what grows with the known entries, with the slices, and with all entries.
        """
        everywhere = 30.0 * obs.size if obs.size <= DENSE_LIMIT else 0.0  # larger ones are answered by `at`
        return everywhere + 500.0 * obs.nnz + 1300.0 * sum(obs.shape)

    def complete(self, obs: Observations, run: Run) -> Completion:
        """Fill the gaps."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """The method's parameters, JSON-able."""
        return dataclasses.asdict(self)


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
        raise NotImplementedError

    def check(self, obs: Observations) -> None:
        if obs.weights is not None:
            msg = f'method {self.name!r} has no weights; got some. Use method="auto", or leave them out.'
            raise ValueError(msg)
        super().check(obs)

    def complete(self, obs: Observations, run: Run) -> Completion:
        self.check(obs)
        level = self.level(obs)
        T = obs.dense(fill=level, dtype=np.float64) - level
        largest = float(np.abs(T).max())
        scale = largest / self.peak if self.peak and largest > 0 else 1.0
        data = Dense(T / scale, obs.mask)
        stopping = Stopping(
            max_iter=self.limit() if run.max_iter is None else run.max_iter, tol=0.0, seconds=run.seconds
        )
        outcome = run_loop(
            _ArrayProcedure(self, data),
            stopping=stopping,
            rng=np.random.default_rng(run.seed),
            callback=run.callback,
            checkpoint=run.checkpoint,
            resume=run.resume,
            fingerprint=f"{self!r} {obs.digest()} seed {run.seed}",
        )
        estimate = self.answer(data, outcome.state) * scale + level
        return Completion(
            observations=obs,
            method=self.name,
            status=outcome.status,
            history=outcome.history,
            settings={"seed": run.seed, **self.settings()},
            answer=Filled(estimate),
        )


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
