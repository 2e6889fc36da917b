"""Fits of a contest that begin before their turn, beside others. They are taken in the order of the contest, so that
its answer is the same, to the bit, for any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.methods.base import Method, Run
from tensorfill.result.completion import Completion
from tensorfill.solvers.threads import side_by_side, workers

WORTH = 100_000  # entries from which on fits take long enough to run beside others

Task = tuple[Method, Observations, Run]


@dataclass(eq=False)
class Stop:
    """A callback that ends what nobody waits for any more."""

    asked: bool = False

    def __call__(self, state: Any, history: Any) -> bool:
        return self.asked


@dataclass(eq=False)
class Ahead:
    """Fits under way, in the order in which they will be asked for."""

    stop: Stop = field(default_factory=Stop)
    names: list[tuple[str, int]] = field(default_factory=list)
    results: Iterator[Completion | Exception | None] = field(default_factory=lambda: iter(()))
    done: dict[tuple[str, int], Completion | Exception | None] = field(default_factory=dict)

    def begin(self, tasks: Sequence[Task], *, here: int = 0) -> None:
        """Start these fits, if they are worth it, beside so many `here`. With a time limit or a checkpoint, order and
        clock matter: then each waits for its turn.
        """
        self.end()
        waits = any(obs.size < WORTH or run.seconds is not None or run.checkpoint is not None for _, obs, run in tasks)
        if waits or not tasks or len(tasks) + here < 2 or workers() == 1:
            return
        self.stop = Stop()
        self.names = [_name(method, obs) for method, obs, _ in tasks]
        self.results = side_by_side(_fit, [(*task, self.stop) for task in tasks])

    def fit(self, method: Method, obs: Observations, run: Run) -> Completion:
        """The fit of this method to these observations, if it has begun, else a new one."""
        found = self.take(method, obs)
        return method.fit(obs, run) if found is None else found

    def take(self, method: Method, obs: Observations) -> Completion | None:
        """What the fit has given, or raise what it did; None if it has not begun."""
        name = _name(method, obs)
        while name in self.names:
            self.done[self.names.pop(0)] = next(self.results)
        found = self.done.pop(name, None)
        if isinstance(found, Exception):
            raise found
        return found

    def end(self) -> None:
        """Wait until nothing is under way."""
        self.stop.asked = True
        for _ in self.results:
            pass
        self.names, self.done = [], {}


def _name(method: Method, obs: Observations) -> tuple[str, int]:
    return repr(method), id(obs)


def _fit(method: Method, obs: Observations, run: Run, stop: Stop) -> Completion | Exception | None:
    """What the fit gives, or raises; None if nobody waits for it any more."""
    if stop.asked:
        return None
    try:
        with np.errstate(all="ignore"):
            return method.fit(obs, replace(run, callback=stop))
    except Exception as error:
        return error
