"""Likelihoods of the Gibbs sampler: what makes x conditionally normal given the data.

`augment` draws the likelihood's own parameters and latent variables given x, and answers the working data: z ~
N(x, 1 / w) entry by entry. All in the standardised unit: t (after its transform) = level + scale * x + noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.numerical import polyagamma

Array = NDArray[Any]
Numbers = dict[str, Any]

NOISE = (1.0, 0.1)  # Gamma prior of the noise precision: shape and rate
DISPERSION = (math.log(10.0), 1.0)  # prior of the dispersion: mean and spread of its logarithm
STRIDES = (0.02, 0.1, 0.5)  # standard deviations of the Metropolis steps of its logarithm
EXPONENT = 50.0  # largest exponent of a mean, so that it stays finite


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Base: y (nnz,) the data in the unit of x, weights (nnz,) or None."""

    y: Array
    weights: Array | None = None

    def start(self, x: Array, rng: np.random.Generator) -> Numbers:
        """The first parameters, JSON-able."""
        return {}

    def augment(self, x: Array, numbers: Numbers, rng: np.random.Generator) -> tuple[Numbers, Array, Array]:
        """(parameters, z (nnz,), w (nnz,))."""
        raise NotImplementedError

    def nll(self, x: Array, numbers: Mapping[str, Any]) -> float:
        """Minus log likelihood, terms without x and parameters dropped."""
        raise NotImplementedError

    def parameters(self, numbers: Mapping[str, Any]) -> list[float]:
        """What a kept draw remembers: [spread or dispersion]."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class NormalNoise(Likelihood):
    """y = x + noise / sqrt(weight), its precision drawn."""

    def start(self, x: Array, rng: np.random.Generator) -> Numbers:
        return {"noise": 1.0}

    def augment(self, x: Array, numbers: Numbers, rng: np.random.Generator) -> tuple[Numbers, Array, Array]:
        noise = _precision(self._squares(x), len(x), rng)
        w = np.full(len(x), noise) if self.weights is None else noise * self.weights
        return numbers | {"noise": noise}, self.y, w

    def nll(self, x: Array, numbers: Mapping[str, Any]) -> float:
        noise = numbers["noise"]
        return 0.5 * (noise * self._squares(x) - len(x) * float(np.log(noise)))

    def parameters(self, numbers: Mapping[str, Any]) -> list[float]:
        return [numbers["noise"] ** -0.5]

    def _squares(self, x: Array) -> float:
        off = self.y - x
        return float(off @ off if self.weights is None else (self.weights * off) @ off)


@dataclass(frozen=True, eq=False)
class StudentNoise(NormalNoise):
    """As NormalNoise with `degrees` of freedom: every entry has a precision of its own, drawn."""

    degrees: float = 4.0

    def augment(self, x: Array, numbers: Numbers, rng: np.random.Generator) -> tuple[Numbers, Array, Array]:
        off = (self.y - x) ** 2 * (1.0 if self.weights is None else self.weights)
        own = rng.standard_gamma(0.5 * (self.degrees + 1), len(x))
        own /= 0.5 * (self.degrees + numbers["noise"] * off)
        noise = _precision(float(own @ off), len(x), rng)
        w = noise * own if self.weights is None else noise * own * self.weights
        return numbers | {"noise": noise}, self.y, w

    def nll(self, x: Array, numbers: Mapping[str, Any]) -> float:
        noise, nu = numbers["noise"], self.degrees
        off = (self.y - x) ** 2 * (1.0 if self.weights is None else self.weights)
        return float(0.5 * (nu + 1) * np.log1p(noise * off / nu).sum() - 0.5 * len(x) * np.log(noise))


@dataclass(frozen=True, eq=False)
class Logit(Likelihood):
    """y ~ Binomial(trials, logit level + x), by Polya-Gamma variables. Proportions count as parts of a yes."""

    trials: int = 1
    level: float = 0.0

    def augment(self, x: Array, numbers: Numbers, rng: np.random.Generator) -> tuple[Numbers, Array, Array]:
        weights = np.ones(len(x)) if self.weights is None else self.weights
        omega = polyagamma.sample(self.trials * weights, x + self.level, rng)
        return numbers, weights * (self.y - 0.5 * self.trials) / omega - self.level, omega

    def nll(self, x: Array, numbers: Mapping[str, Any]) -> float:
        value = x + self.level
        loss = self.trials * np.logaddexp(0, value) - self.y * value
        return float(loss.sum() if self.weights is None else loss @ self.weights)

    def parameters(self, numbers: Mapping[str, Any]) -> list[float]:
        return [1.0]


@dataclass(frozen=True, eq=False)
class NegativeBinomialCounts(Likelihood):
    """Counts y of mean e^(level + x) and variance mean + mean^2 / dispersion, the dispersion drawn.

    The dispersion moves by Metropolis steps with the mean held; then Polya-Gamma variables make x normal.
    """

    level: float = 0.0

    def start(self, x: Array, rng: np.random.Generator) -> Numbers:
        return {"dispersion": 5.0}

    def augment(self, x: Array, numbers: Numbers, rng: np.random.Generator) -> tuple[Numbers, Array, Array]:
        mean = np.exp(np.minimum(x + self.level, EXPONENT))
        r = self._dispersion(mean, float(numbers["dispersion"]), rng)
        weights = 1.0 if self.weights is None else self.weights
        shift = self.level - math.log(r)
        omega = polyagamma.sample(weights * (self.y + r), x + shift, rng)
        return numbers | {"dispersion": r}, weights * (0.5 * (self.y - r)) / omega - shift, omega

    def nll(self, x: Array, numbers: Mapping[str, Any]) -> float:
        return -self._log_likelihood(np.exp(np.minimum(x + self.level, EXPONENT)), float(numbers["dispersion"])) - (
            float((self.y * x).sum() if self.weights is None else (self.weights * self.y) @ x)
        )

    def parameters(self, numbers: Mapping[str, Any]) -> list[float]:
        return [numbers["dispersion"]]

    def _dispersion(self, mean: Array, r: float, rng: np.random.Generator) -> float:
        now = self._log_likelihood(mean, r) + _log_normal(r)
        for step in STRIDES:
            new = r * math.exp(step * rng.standard_normal())
            then = self._log_likelihood(mean, new) + _log_normal(new)
            if math.log(rng.random() + 1e-300) < then - now:
                r, now = new, then
        return r

    def _log_likelihood(self, mean: Array, r: float) -> float:
        """Without y ln(mean) and what does not depend on r."""
        from scipy.special import gammaln  # slow to import

        values, counts = self._histogram
        each = (self.y + r) * np.log(r + mean)
        total = float(each.sum() if self.weights is None else each @ self.weights)
        return float(counts @ (gammaln(values + r) - gammaln(r) + r * math.log(r))) - total

    @cached_property
    def _histogram(self) -> tuple[Array, Array]:
        """Different counts and how often (with which weight) each occurs."""
        values, place = np.unique(self.y, return_inverse=True)
        return values, np.bincount(place, weights=self.weights).astype(float)


def _precision(squares: float, count: int, rng: np.random.Generator) -> float:
    shape, rate = NOISE
    return float(rng.standard_gamma(shape + 0.5 * count) / (rate + 0.5 * squares))


def _log_normal(r: float) -> float:
    """Prior of the dispersion, as a density of its logarithm."""
    middle, spread = DISPERSION
    return -0.5 * ((math.log(r) - middle) / spread) ** 2
