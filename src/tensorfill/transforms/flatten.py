"""Flatten a time axis of several modes: the end of a day and the start of the next are neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts, compute_facts
from tensorfill.data.observations import Observations
from tensorfill.data.unfolding import refold_modes, unfold_modes
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.packing import Answer
from tensorfill.transforms.base import Transform


@dataclass(frozen=True)
class Flattened(Transform):
    """Fit the data as a table, series x moments: `modes`, from the outer to the inner, become one time axis."""

    modes: tuple[int, ...] = ()
    dims: str = ""

    @property
    def words(self) -> str:
        """Which modes are one."""
        return f"{self.dims} as one axis"

    def apply(self, obs: Observations) -> tuple[Observations, Observations]:
        table = unfold_modes(obs.dense(dtype=np.float64), self.modes)
        return Observations.from_dense(table.reshape(-1, math.prod(obs.shape[n] for n in self.modes))), obs

    def invert(self, answer: Answer, state: Observations) -> Answer:
        return Filled(refold_modes(answer.full(), state.shape, self.modes))

    def fit(self, obs: Observations, run: Run) -> Completion:
        flat, _ = self.apply(obs)
        done = self.method.fit(flat, replace(run, facts=compute_facts(flat)))  # neighbours in time are others now
        return replace(done, observations=obs, answer=self.invert(done.answer, obs))

    def facts_after(self, facts: Facts) -> Facts:
        length = math.prod(facts.shape[n] for n in self.modes)
        inner = facts.modes[self.modes[-1]]
        modes = (replace(inner, length=facts.size // length), replace(inner, length=length))
        return replace(facts, shape=(facts.size // length, length), modes=modes)

    def knows_unseen(self, mode: int) -> bool:
        return mode in self.modes
