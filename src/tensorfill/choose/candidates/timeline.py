"""Interpolation and smoothing along a time axis of several modes: the end of a day and the start of the next are
neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search, dense_table, dims_of, from_table
from tensorfill.choose.candidates.interpolate import Along, Interpolation, Smoother
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts, look
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled


@CANDIDATES.register("timeline")
@dataclass(frozen=True)
class Timeline(Candidate):
    """The data as one row per series, filled along time."""

    assumes = "neighbours in time are alike, across the ends of days"

    modes: tuple[int, ...] = ()
    way: type[Along] = Interpolation
    dims: str = ""

    def knows_unseen(self, mode: int) -> bool:
        return mode in self.modes

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        if len(given.time) < 2:
            return "no time axis of several modes was named"
        return Interpolation.can(facts, given) if not facts.ordered else True

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        for way in (Interpolation, Smoother):
            yield cls(given.time, way, dims_of(facts, given.time))

    @property
    def label(self) -> str:
        return f"{self.way.name} along {self.dims}"

    def cost(self, facts: Facts) -> float:
        return self.way(1).cost(facts)

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        flat = flattened(obs, self.modes)
        done = self.way(1).fit(flat, look(flat), run)
        return replace(done, answer=Filled(from_table(done.answer.full(), obs.shape, self.modes)))


def flattened(obs: Observations, modes: tuple[int, ...]) -> Observations:
    """The observations as a matrix, series x moments."""
    table = dense_table(obs.dense(dtype=np.float64), modes)
    return Observations.from_dense(table.reshape(-1, math.prod(obs.shape[n] for n in modes)))
