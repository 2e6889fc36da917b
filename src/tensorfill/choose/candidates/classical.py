"""Registered methods as candidates, where they are cheap: what the literature would take."""

from __future__ import annotations

from dataclasses import dataclass

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search, within_reach
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import METHODS, Run
from tensorfill.result.answer import Filled

# seconds per iteration: a start, per entry, and per entry and length of the shortest side of its matrices; measured
# on 30 x 30 x 100 to 145 x 145 x 60. And iterations to the method's own end.
COSTS = {"t-ctv": (1e-3, 1e-7, 1.6e-9, 80), "lrtc-tnn": (9e-4, 5e-8, 7e-10, 80), "halrtc": (4e-4, 3e-8, 3e-10, 150)}


@CANDIDATES.register("classical")
@dataclass(frozen=True)
class Classical(Candidate):
    """A method of the literature with its authors' settings."""

    assumes = "low rank of the unfolded matrices, or of the transformed slices"

    method: str = "halrtc"
    standardise: int | None = None  # a mode whose slices are centred and scaled

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        return True if facts.dense else "the tensor is too large to hold every entry"

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        units = [None] if facts.uneven is None or facts.numbers not in ("reals", "amounts") else [facts.uneven, None]
        for name in sorted(COSTS, key=lambda name: cls(name).cost(facts)):
            for mode in units:  # these methods know one unit for all entries
                yield cls(name, mode)

    @property
    def label(self) -> str:
        return self.method if self.standardise is None else f"{self.method}, slices standardised"

    def cost(self, facts: Facts) -> float:
        start, entry, side, iterations = COSTS[self.method]
        widest = max(min(length, facts.size / length) for length in facts.shape)  # side of the largest matrix
        return iterations * (start + facts.size * (entry + side * widest))

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        units = None if self.standardise is None else Units.of_slices(obs, self.standardise)
        done = METHODS[self.method]().complete(obs if units is None else units.take_out(obs), run)
        X = done.answer.full() if units is None else units.put_back(done.answer.full())
        return Fitted(Filled(within_reach(X, obs, facts)), done.status, done.history, settings=done.settings)
