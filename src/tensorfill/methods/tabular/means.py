"""Per-mode means: an effect per slice of every mode, added or multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.blocks import Partitions
from tensorfill.blocks.effects import main_effects
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.data.unfolding import unfold_modes
from tensorfill.methods.base import METHODS, Method, Run, Variants
from tensorfill.models.cp import CP
from tensorfill.models.init import initial_factors
from tensorfill.models.unseen import fill_unseen
from tensorfill.numerical.base import PRIORS
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors
from tensorfill.result.completion import Completion
from tensorfill.transforms import Standardised
from tensorfill.typing import Array

SWEEPS = 12  # of the multiplied means; they hardly move after ten


@METHODS.register("means")
@dataclass(frozen=True)
class Means(Method):
    """Main effects, backfitted: those of few entries are shrunk to the overall mean.

    Parameters
    ----------
    multiplied : is an entry the product of its effects rather than their sum? For counts and amounts
    """

    reference = "two-way analysis of variance; Tukey: Exploratory Data Analysis, 1977"
    assumes = "every entry is the sum (or the product) of one number per slice of every mode"
    use_when = "a yardstick: whatever is not better is not worth its time"
    competes = True
    uses_weights = True
    fills_unseen = True
    fits_blocks = True
    takes = frozenset({"prior", "smooth", "ridge", "tv", "solver", "passes"})  # what must be better than they are

    multiplied: bool = False

    def initial_variants(self, facts: Facts) -> int:
        return 3

    def variants(self, facts: Facts) -> Variants:
        if facts.uneven is not None:
            yield Standardised(self, facts.uneven)
        yield self
        if facts.numbers in ("counts", "amounts") and not facts.in_blocks:
            yield Means(multiplied=True)

    @property
    def label(self) -> str:
        return "means, multiplied" if self.multiplied else "means"

    def cost(self, facts: Facts) -> float:
        return 1e-3 + 2e-7 * facts.observed * len(facts.shape)

    def fit(self, obs: Observations, run: Run) -> Completion:
        facts = run.facts_of(obs)
        if self.multiplied:
            prior = PRIORS.make("poisson" if facts.numbers == "counts" else "gamma")
            obs.check_domain(prior.t_domain, "means, multiplied")
            return self.completion(obs, run, Factors(CP(fill_unseen(obs, proportional(obs), facts.smooth)), prior))
        problem = Problem(obs, rank=obs.ndim, quiet=True, dtype=np.float64)
        factors = initial_factors(problem, "means", np.random.default_rng(0), noise=0.0)
        answer = Factors(CP(fill_unseen(obs, factors, facts.smooth)), problem.prior)
        return self.completion(obs, run, answer, problem=problem, settings={"multiplied": False})

    def fit_blocks(self, parts: Partitions, run: Run) -> Completion:
        if self.multiplied:
            msg = "multiplied means need all observations in memory, and these are in blocks; leave multiplied out."
            raise ValueError(msg)
        level, effects = main_effects(parts)
        factors = [np.ones((length, len(parts.shape))) for length in parts.shape]
        for n, effect in enumerate(effects):
            factors[n][:, n] = effect + (level if n == 0 else 0.0)
        return self.completion(replace(parts.sample, blocks=parts), run, Factors(CP(factors), PRIORS.make("normal")))


def means_table(obs: Observations, run: Run, columns: Sequence[int]) -> Array:
    """Return the per-mode means as a matrix with the modes `columns` along its columns."""
    mode = run.facts_of(obs).uneven
    means = Means() if mode is None else Standardised(Means(), mode)
    return unfold_modes(means.fit(obs, run).answer.full(), columns)


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
