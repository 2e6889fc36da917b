"""The one loop, for solvers and baselines alike: clock, history, stopping, NaN guard, best so far, checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np

from tensorfill.io.checkpoint import Checkpoint
from tensorfill.registry import Settings
from tensorfill.result.record import History, Row, Status
from tensorfill.solvers.base import OutOfTime, Procedure, State, deadline, time_for_search
from tensorfill.solvers.checkpoint import Memory, load, save

# (state, history) -> True to stop. Called after every iteration, also after the start (iteration 0).
Callback = Callable[[State, History], bool | None]

SOON = 1.0  # seconds to the first checkpoint
# The time between two checkpoints is multiplied by DEAR times the seconds that writing one takes, by RARE at most.
DEAR, RARE = 2.0, 60.0
LATE, LATEST = 0.05, 0.5  # an iteration may end later than a time limit by this share of it plus so many seconds
# Ends after which a resumed run goes on; after any other it is over.
RESUMABLE = (Status.TIME, Status.ITERATIONS)


@dataclass(frozen=True)
class Stopping(Settings):
    """When to stop.

    Attributes
    ----------
    max_iter : limit on iterations
    tol : stop when the objective's relative change stays below this for `steady` iterations; 0 = never
    patience : with held-out entries, stop after this many iterations without a better held-out error
    seconds : limit on time
    """

    max_iter: int = 1000
    tol: float = 1e-6
    steady: int = 3
    patience: int = 30
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, low in (("max_iter", 0), ("tol", 0), ("steady", 1), ("patience", 1)):
            if not getattr(self, name) >= low:
                msg = f"{name} must be >= {low}; got {getattr(self, name)}."
                raise ValueError(msg)
        if self.seconds is not None and not self.seconds > 0:
            msg = f"seconds must be > 0, or None for no limit; got {self.seconds}."
            raise ValueError(msg)


@dataclass(frozen=True)
class Outcome:
    """The state to use, why the run stopped, and how it went."""

    state: State
    status: Status
    history: History
    best_iteration: int


def run(
    procedure: Procedure,
    *,
    stopping: Stopping | None = None,
    rng: np.random.Generator,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
    fingerprint: str = "",
    checkpoint_seconds: float = 10.0,
) -> Outcome:
    """Drive `procedure` until something says stop.

    With `checkpoint`, the run is saved there soon, then at most every `checkpoint_seconds`, and at its end; with
    `resume`, a run found there goes on from its last saved iteration, and ends with the same bits as one never
    interrupted. `fingerprint` names the problem and the settings: a checkpoint of another run is refused.
    """
    stopping = stopping or Stopping()
    place = None if checkpoint is None else Checkpoint.at(checkpoint, resume=resume)
    memory = load(place, fingerprint, rng) if place and resume else None
    began = time.monotonic() - (memory.seconds if memory else 0.0)
    status = memory.status if memory else None
    due = time.monotonic() + min(SOON, checkpoint_seconds)
    ended = status  # kept, as a callback or Ctrl-C may change `status`; a resume must know how the run itself ended
    try:
        if memory is None:
            with time_for_search(stopping.seconds):
                memory = _first(procedure, rng, began)
            status = _tell(callback, memory)
        while status is None:
            ended, memory = _iterate(procedure, memory, stopping, rng, began)
            status = _tell(callback, memory) or ended
            if place and status is None and time.monotonic() >= due:
                took = save(place, replace(memory, seconds=time.monotonic() - began), fingerprint, rng)
                due = time.monotonic() + checkpoint_seconds * max(1.0, min(DEAR * took, RARE))
    except KeyboardInterrupt:
        if memory is None:
            raise
        status = Status.INTERRUPTED
        rng.bit_generator.state = memory.drawn  # a step cut short has drawn numbers that must be drawn again
    except Exception:  # a cluster is gone, a disk is full: save what there is, to be resumed
        if place and memory is not None:
            rng.bit_generator.state = memory.drawn
            save(place, replace(memory, seconds=time.monotonic() - began, status=None), fingerprint, rng)
        raise
    memory = replace(memory, seconds=time.monotonic() - began, status=None if ended in RESUMABLE else ended)
    if place:
        save(place, memory, fingerprint, rng)
    best = memory.best if memory.best is not None else memory.state
    return Outcome(best, status, History(memory.rows), memory.best_iteration)


def _first(procedure: Procedure, rng: np.random.Generator, began: float) -> Memory:
    state = procedure.init(rng)
    score = procedure.score(state)
    best = state if np.isfinite(score) else None
    rows = (Row(0, time.monotonic() - began, state.value, score),)
    best_score = score if best is not None else np.inf
    return Memory(state, rows, best, best_score, drawn=rng.bit_generator.state)


def _tell(callback: Callback | None, memory: Memory) -> Status | None:
    return Status.CALLBACK if callback is not None and callback(memory.state, History(memory.rows)) else None


def _iterate(
    procedure: Procedure, memory: Memory, stopping: Stopping, rng: np.random.Generator, began: float
) -> tuple[Status | None, Memory]:
    """One iteration, then every reason to stop, most urgent first."""
    k = memory.iteration
    if k >= stopping.max_iter:
        return Status.ITERATIONS, memory
    try:
        with deadline(np.inf if stopping.seconds is None else began + (1 + LATE) * stopping.seconds + LATEST):
            state = procedure.step(memory.state, rng)
    except OutOfTime:
        rng.bit_generator.state = memory.drawn
        return Status.TIME, memory
    if not _finite(state, memory.state):
        return Status.NONFINITE, memory  # the state before this step stands
    k += 1
    score = procedure.score(state)
    previous = memory.state
    memory = replace(
        memory.advance(state, Row(k, time.monotonic() - began, state.value, score)), drawn=rng.bit_generator.state
    )
    status = procedure.done(state, previous) or memory.steady_enough(stopping.tol, stopping.steady)
    if status is None and memory.best is not None and k - memory.best_iteration >= stopping.patience:
        status = Status.HELD_OUT
    if status is None and stopping.seconds is not None and _late(memory.rows, began, stopping.seconds):
        status = Status.TIME
    if status is None and k >= stopping.max_iter:
        status = Status.ITERATIONS
    return status, memory


def _late(rows: Sequence[Row], began: float, seconds: float) -> bool:
    """Is the time up, or would one more iteration, as long as the last, end too late after the limit?"""
    now = time.monotonic() - began
    return now >= seconds or 2 * now - rows[-2].seconds > (1 + LATE) * seconds + LATEST


def _finite(state: State, previous: State) -> bool:
    """Are all numbers finite? A procedure without an objective reports NaN from the start, and may go on doing so."""
    if np.isfinite(previous.value) and not np.isfinite(state.value):
        return False
    return all(np.isfinite(a).all() for a in state.arrays.values())
