"""Per-mode means: an effect per slice of every mode, added or multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search, dense_table
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

Array = NDArray[Any]

SWEEPS = 12  # of the multiplied means; they hardly move after ten


@CANDIDATES.register("means")
@dataclass(frozen=True)
class Means(Candidate):
    """Main effects, backfitted: those of few entries are drawn to the overall mean."""

    assumes = "every entry is the sum (or the product) of one number per slice of every mode"
    weighs = True
    tells_unseen = True
    takes = frozenset({"prior", "smooth", "ridge", "tv", "solver", "passes"})  # what must be better than they are

    multiplied: bool = False
    standardise: int | None = None  # a mode whose slices are centred and scaled

    @classmethod
    def first(cls, facts: Facts, given: Given) -> int:
        return 3

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
        return 1e-3 + 2e-7 * facts.observed * len(facts.shape)

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        if self.standardise is not None:
            units = Units.of_slices(obs, self.standardise)
            fitted = replace(self, standardise=None).fit(units.take_out(obs), facts, run)
            return replace(fitted, answer=InUnits(fitted.answer, units))
        if self.multiplied:
            prior = PRIORS.make("poisson" if facts.numbers == "counts" else "gamma")
            return Fitted(Factors(CP(fill_unseen(obs, proportional(obs), facts.smooth)), prior))
        problem = Problem(obs, rank=obs.ndim, quiet=True, dtype=np.float64)
        factors = initial_factors(problem, "means", np.random.default_rng(0), noise=0.0)
        return Fitted(Factors(CP(fill_unseen(obs, factors, facts.smooth)), problem.prior), problem=problem)


def means_table(obs: Observations, facts: Facts, run: Run, columns: Sequence[int]) -> Array:
    """The per-mode means as a matrix with the modes `columns` along its columns."""
    return dense_table(Means(standardise=facts.uneven).fit(obs, facts, run).answer.full(), columns)


def proportional(obs: Observations) -> list[Array]:
    """The level times a factor per slice of every mode, (I_n, 1) each: those that give every slice its observed sum,
    found one mode after the other. Factors are drawn to 1 as a gamma prior of their own spread would have it, the more
    the noisier the entries are and the fewer a slice has.
    """
    t = obs.values.astype(np.float64)
    w = np.ones_like(t) if obs.weights is None else obs.weights
    level = float(np.average(t, weights=w)) or 1.0
    factors = [np.ones(length) for length in obs.shape]
    x = np.full(obs.nnz, level)
    for _ in range(SWEEPS):
        for n, length in enumerate(obs.shape):
            i = obs.indices[:, n]
            noise = max(float(np.average((t - x) ** 2 / np.maximum(x, 1e-9 * level), weights=w)), 1e-9 * level)
            x /= factors[n][i]
            have, expected = np.bincount(i, w * t, length), np.bincount(i, w * x, length)
            seen = expected > 0
            ratio = have[seen] / expected[seen]
            spread = max(float(np.mean((ratio - 1) ** 2 - noise / expected[seen])), 1e-6)
            prior = noise / spread
            factors[n] = np.maximum(have + prior, 1e-9 * prior) / (expected + prior)
            x *= factors[n][i]
    size = level ** (1 / obs.ndim)
    return [size * f[:, None] for f in factors]
