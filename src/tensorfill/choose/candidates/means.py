"""Per-mode means: an effect per slice of every mode, added or multiplied."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import Run
from tensorfill.models.cp import CP
from tensorfill.models.init import initial_factors
from tensorfill.models.unseen import fill_unseen
from tensorfill.numerical.base import PRIORS
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors, InUnits


@CANDIDATES.register("means")
@dataclass(frozen=True)
class Means(Candidate):
    """Main effects, backfitted: those of few entries are drawn to the overall mean."""

    assumes = "every entry is the sum (or the product) of one number per slice of every mode"
    weighs = True
    takes = frozenset({"prior", "smooth", "ridge", "tv", "solver", "passes"})  # what must be better than they are
    first = 3

    multiplied: bool = False
    standardise: int | None = None  # a mode whose slices are centred and scaled

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        if facts.uneven is not None:
            yield cls(standardise=facts.uneven)
        yield cls()
        if facts.numbers in ("counts", "amounts"):
            yield cls(multiplied=True)

    @property
    def label(self) -> str:
        if self.standardise is not None:
            return "means, slices standardised"
        return "means, multiplied" if self.multiplied else "means"

    def cost(self, facts: Facts) -> float:
        return 1e-3 + 4e-7 * facts.observed * len(facts.shape)

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        if self.standardise is not None:
            units = Units.of_slices(obs, self.standardise)
            fitted = replace(self, standardise=None).fit(units.take_out(obs), facts, run)
            return replace(fitted, answer=InUnits(fitted.answer, units))
        prior = PRIORS.make("poisson" if self.multiplied and facts.numbers == "counts" else "normal")
        if self.multiplied and facts.numbers == "amounts":
            prior = PRIORS.make("gamma")
        problem = Problem(obs, rank=1 if self.multiplied else obs.ndim, prior=prior, quiet=True, dtype=np.float64)
        factors = initial_factors(problem, "means", np.random.default_rng(0), noise=0.0)
        factors = fill_unseen(obs, factors, facts.smooth)
        return Fitted(Factors(CP(factors), prior), problem=problem)
