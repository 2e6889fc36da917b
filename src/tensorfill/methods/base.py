"""Methods: everything that fills gaps, `complete(T, method="halrtc")`.

A method is a frozen dataclass of settings. `fit(obs, run)` returns a Completion. Methods that compete in `auto` also
say whether they suit the data, which of their variants are worth trying, and about how long a fit takes. Methods that
iterate on dense arrays (the classical baselines) derive from `ArrayMethod` in `methods/arrays.py`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from tensorfill.blocks import Partitions
from tensorfill.data.facts import Facts, compute_facts
from tensorfill.data.memory import PER_KNOWN
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.io.checkpoint import Checkpoint
from tensorfill.methods.checks import check_whole
from tensorfill.registry import Registry, Settings
from tensorfill.result.completion import Completion
from tensorfill.result.packing import Answer
from tensorfill.result.record import History, Status
from tensorfill.solvers.base import OutOfTime as OutOfTime
from tensorfill.solvers.base import Procedure, deadline
from tensorfill.solvers.loop import Callback, Outcome, Stopping
from tensorfill.solvers.loop import run as run_loop

METHODS: Registry[Method] = Registry("method")
# yields variants, is sent the mean validation loss of each
Variants = Generator["Method", float, None]
UP = 1e-9  # seconds that are left of a run whose time is up: a limit must be > 0


class Unsuited(Exception):
    """The data are not as the method assumes, as a closer look showed; says why."""


def unlimited() -> None:
    """A deadline that never comes; see `Run.deadline`."""


@dataclass(frozen=True)
class Run(Settings):
    """How to run a method: what does not change its answer on a given seed, save by stopping early.

    Attributes
    ----------
    seed : of everything random
    callback : called as callback(state, history) after every iteration; the run stops where it returns True
    checkpoint : a file to save the run to as it goes
    resume : go on from the checkpoint
    max_iter : stop after so many iterations
    seconds : stop after so many seconds
    facts : of the data, where they are known already
    memo : what several fits to the same data share
    """

    seed: int = 0
    callback: Callback | None = None
    checkpoint: str | PathLike[str] | None = None
    resume: bool = False
    max_iter: int | None = None
    seconds: float | None = None
    facts: Facts | None = field(default=None, repr=False)  # of all data, where they were computed already
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # what fits to the same data share

    def __post_init__(self) -> None:
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

    def facts_of(self, obs: Observations) -> Facts:
        """The facts that came with the run, or those of `obs`."""
        return compute_facts(obs) if self.facts is None else self.facts

    def deadline(self) -> Callable[[], None]:
        """Return a function that raises OutOfTime once the time is up, for fits without a loop of the solvers."""
        end = np.inf if self.seconds is None else time.monotonic() + self.seconds

        def check() -> None:
            if time.monotonic() > end:
                raise OutOfTime

        return check

    def in_time(self) -> AbstractContextManager[None]:
        """Context in which `check_time` of the solvers raises OutOfTime once the time of this run is up."""
        return deadline(np.inf if self.seconds is None else time.monotonic() + self.seconds)

    def drive(
        self, procedure: Procedure, stopping: Stopping, rng: np.random.Generator, fingerprint: str | None = None
    ) -> Outcome:
        """Iterate until something says stop; saved in the checkpoint where a fingerprint says which run it is."""
        saved = None if fingerprint is None else self.checkpoint
        return run_loop(
            procedure,
            stopping=stopping,
            rng=rng,
            callback=self.callback,
            checkpoint=saved,
            resume=self.resume,
            fingerprint=fingerprint or "",
        )

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
    competes: ClassVar[bool] = False  # does `auto` try it?
    uses_weights: ClassVar[bool] = False  # does it make use of weights of entries?
    uses_features: ClassVar[bool] = False  # does it make use of features of slices?
    fills_unseen: ClassVar[bool] = False  # does it predict slices without any entry sensibly?
    fills_one_series: ClassVar[bool] = False  # or must it be folded by its period, to have a second mode?
    fits_blocks: ClassVar[bool] = False  # can it be fitted to observations in blocks, see `fit_blocks`?
    averages: ClassVar[bool] = False  # is its answer a mean of draws? Another variant of it adds little to that
    takes: ClassVar[frozenset[str]] = frozenset()  # settings of `auto` under which it may compete

    def refuses(self, obs: Observations) -> str | None:
        """Why these data cannot be completed by this method, without a full stop; None if they can."""
        return None

    def check(self, obs: Observations) -> None:
        """Raise a sentence if this method cannot complete these data."""
        if obs.weights is not None and not self.uses_weights:
            msg = f'method {self.name!r} has no weights; got some. Use method="auto", or leave them out.'
            raise ValueError(msg)
        why = self.refuses(obs)
        if why is not None:
            msg = f"method {self.name!r} cannot complete this tensor: {why}."
            raise ValueError(msg)

    def memory(self, obs: Observations) -> float:
        """Bytes that completing these data takes, about. Measured with tracemalloc on tensors of 10^5 to 10^7 entries,
        0.2 to 60 % of them known: what grows with the known entries, with the slices, and with all entries.
        """
        everywhere = 30.0 * obs.size if obs.size <= DENSE_LIMIT else 0.0  # larger ones are answered by `at`
        return everywhere + PER_KNOWN * obs.nnz + 1300.0 * sum(obs.shape)

    def fit(self, obs: Observations, run: Run) -> Completion:
        """Fill the gaps."""
        raise NotImplementedError

    def fit_blocks(self, parts: Partitions, run: Run) -> Completion:
        """Fill the gaps of observations that are in blocks; for methods with `fits_blocks`."""
        raise NotImplementedError

    def completion(self, obs: Observations, run: Run, answer: Answer, **more: Any) -> Completion:
        """Return the result of a run of this method; `more` are further fields of a Completion."""
        settings = {"seed": run.seed, **more.pop("settings", {})}
        found = {"status": Status.FINISHED, "history": History(), **more}
        return Completion(obs, self.name, answer=answer, settings=settings, **found)

    # --- what a contest asks ------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The name, with what sets this variant apart."""
        return self.name

    def suits(self, facts: Facts) -> str | None:
        """Why these data are nothing for this method, without a full stop; None if they may be."""
        return None

    def variants(self, facts: Facts) -> Variants:
        """Yield variants, likeliest first; the validation loss of each is sent back. Settings that were given stay."""
        yield self

    def initial_variants(self, facts: Facts) -> int:
        """How many variants are so different that each is tried before one can speak of the method."""
        return 1

    def cost(self, facts: Facts) -> float:
        """About how many seconds one fit takes on one core."""
        raise NotImplementedError

    def shorter(self, facts: Facts, seconds: float) -> Method:
        """Return a variant for trials that takes about `seconds` at most, where there is one; else itself."""
        return self

    def knows_unseen(self, mode: int) -> bool:
        """Does it predict slices along `mode` without any entry sensibly?"""
        return self.fills_unseen

    def settings(self) -> dict[str, Any]:
        """The method's parameters, JSON-able."""
        return dataclasses.asdict(self)
