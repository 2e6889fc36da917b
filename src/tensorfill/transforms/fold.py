"""Fold a time axis by its period: hours become days x hours of the day."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.result.packing import Answer
from tensorfill.result.transformed import Refolded
from tensorfill.transforms.base import Transform
from tensorfill.typing import Array


@dataclass(frozen=True)
class Folded(Transform):
    """Fit the data with index i along `mode` as (i // period, i % period): one mode more."""

    mode: int = 0
    period: int = 1
    dim: str = ""

    @property
    def words(self) -> str:
        """Which axis, and by what."""
        return f"{self.dim or self.mode} folded by {self.period}"

    def apply(self, obs: Observations) -> tuple[Observations, Array]:
        n, dim = self.mode, obs.dims[self.mode]
        dims = (*obs.dims[:n], f"{dim} // {self.period}", f"{dim} % {self.period}", *obs.dims[n + 1 :])
        codes = np.column_stack(np.divmod(np.arange(obs.shape[n]), self.period))
        indices = np.column_stack([obs.indices[:, :n], codes[obs.indices[:, n]], obs.indices[:, n + 1 :]])
        shape = self._shape(obs.shape)
        return replace(obs, shape=shape, indices=indices, dims=dims, source=None, positions=None), codes

    def invert(self, answer: Answer, state: Array) -> Answer:
        return Refolded(answer, self.mode, state)

    def facts_after(self, facts: Facts) -> Facts:
        n, own = self.mode, facts.modes[self.mode]
        turns = replace(own, length=-(-own.length // self.period), period=None)
        place = replace(own, length=self.period, seen=min(own.seen, self.period), period=None)
        modes = (*facts.modes[:n], turns, place, *facts.modes[n + 1 :])
        return replace(facts, shape=self._shape(facts.shape), modes=modes)

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[: self.mode], -(-shape[self.mode] // self.period), self.period, *shape[self.mode + 1 :])
