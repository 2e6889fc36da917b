"""Numerical priors for counts with no zeros, or with more of them than Poisson has."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from tensorfill.numerical.base import NONNEGATIVE, POSITIVE, PRIORS, Array, Interval, parameter
from tensorfill.numerical.extend import Extended

SMALL = 0.1  # below it, differences of nearly equal numbers are replaced by their series


def _truncated_rate(mean: float) -> float:
    """The rate whose zero-truncated Poisson mean is `mean` > 1: rate / (1 - e^-rate) = mean."""
    from scipy.special import lambertw

    if mean < 1 + 1e-6:  # the series of the inverse: Lambert's function has a branch point there
        return 2 * max(mean - 1, 0.0)
    return float(mean + lambertw(-mean * math.exp(-mean)).real)


@PRIORS.register("zero-truncated-poisson")
@dataclass(frozen=True)
class ZeroTruncatedPoisson(Extended):
    """Counts that are never 0: sizes of groups, nights of a stay, items of an order.

    Distribution: t ~ Poisson(x), given t >= 1.
    Link: x is the rate before the zeros are left out.
    Loss: ln(e^x - 1) - t ln x (ln t! dropped).
    Domain: t >= 1, x > 0; continued below x = floor.
    Mean: x / (1 - e^-x).
    """

    majoriser = (1.0, 1.0)  # the slope of ln((e^x - 1) / x) is concave and > 0 at 0: it grows by less than x does

    t_domain = Interval(low=1.0)
    x_domain = POSITIVE

    def _nll(self, t: Array, z: Array) -> Array:
        return z + np.log(-np.expm1(-z) / z) - (t - 1) * np.log(z)

    def _grad(self, t: Array, z: Array) -> Array:
        positive, negative = self._split(t, z)
        return positive - negative

    def _curv(self, t: Array, z: Array) -> Array:
        near = np.minimum(z, SMALL)
        far = np.maximum(z, SMALL)
        e = np.exp(-far)
        bent = np.where(z < SMALL, 1 / 12 - near**2 / 240 + near**4 / 6048, 1 / far**2 - e / (1 - e) ** 2)
        return bent + (t - 1) / (z * z)

    def _split(self, t: Array, z: Array) -> tuple[Array, Array]:
        near = np.minimum(z, SMALL)
        far = np.maximum(z, SMALL)
        slope = np.where(z < SMALL, 0.5 + near / 12 - near**3 / 720, -1 / np.expm1(-far) - 1 / far)
        return slope, (t - 1) / z

    def mean(self, x: Array) -> Array:
        z = np.maximum(x, np.finfo(x.dtype).tiny)
        return z / -np.expm1(-z)

    def start(self, mean: float) -> float:
        return self._start(_truncated_rate(mean))

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        # The first of the events within time x, given that there is one; the others come after it.
        z = np.maximum(x, 0).astype(np.float64)
        first = -np.log1p(rng.random(x.shape) * np.expm1(-z))
        return (1 + rng.poisson(np.maximum(z - first, 0))).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        from scipy.stats import poisson

        z = np.maximum(x, 0).astype(np.float64)
        return np.maximum(poisson.ppf(np.exp(-z) - q * np.expm1(-z), z), 1).astype(x.dtype)

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """The floor at a thousandth of a typical count."""
        return dataclasses.replace(self, floor=1e-3 * max(1.0, float(np.median(t))))


@PRIORS.register("zero-inflated-poisson")
@dataclass(frozen=True)
class ZeroInflatedPoisson(Extended):
    """Counts with more zeros than Poisson has: visits, claims, catches, species. Not convex.

    Distribution: t = 0 with probability pi, else t ~ Poisson(x).
    Link: x is the rate of those that are counted at all.
    Loss: -ln(pi + (1 - pi) e^-x) for t = 0, x - t ln x otherwise (ln t! and ln(1 - pi) dropped).
    Domain: t >= 0, x >= 0; continued below x = floor.
    Mean: (1 - pi) x.
    """

    majoriser = (0.0, 1.0)  # as Poisson's: the loss of a zero is concave in x

    t_domain = NONNEGATIVE
    x_domain = NONNEGATIVE

    pi: float = parameter(0.3, "share")

    def _counted(self, z: Array) -> Array:
        """The probability that a zero is one of the Poisson distribution: its derivative is the loss's at t = 0."""
        e = np.exp(-z)
        e *= 1 - self.pi
        return e / (e + self.pi)

    def _nll(self, t: Array, z: Array) -> Array:
        zero = -np.log(self.pi + (1 - self.pi) * np.exp(-z))
        return np.where(t == 0, zero, z - t * np.log(z))

    def _grad(self, t: Array, z: Array) -> Array:
        return np.where(t == 0, self._counted(z), 1 - t / z)

    def _curv(self, t: Array, z: Array) -> Array:
        s = self._counted(z)
        return np.where(t == 0, s * (s - 1), t / (z * z))

    def _split(self, t: Array, z: Array) -> tuple[Array, Array]:
        return np.where(t == 0, self._counted(z), 1), t / z

    def mean(self, x: Array) -> Array:
        return (1 - self.pi) * np.maximum(x, 0)

    def start(self, mean: float) -> float:
        return self._start(mean / (1 - self.pi))

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        counted = rng.random(x.shape) >= self.pi
        return (counted * rng.poisson(np.maximum(x, 0))).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        from scipy.stats import poisson

        return poisson.ppf(max(q - self.pi, 0.0) / (1 - self.pi), np.maximum(x, 0)).clip(0).astype(x.dtype)

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """pi where the zeros are as many as expected: at the model values x or, without any, at the one rate that the
        counts above 0 have together.
        """
        made = super().fitted(t, x, weights)
        zeros = float(np.average(t == 0, weights=weights))
        if x is None:
            above = t > 0
            if not above.any():
                return made
            mean = float(np.average(t[above], weights=None if weights is None else weights[above]))
            empty = math.exp(-_truncated_rate(mean))
        else:
            empty = float(np.average(np.exp(-np.maximum(x, 0)), weights=weights))
        least = 0.5 / (len(t) + 1)
        pi = (zeros - empty) / max(1 - empty, least)
        return dataclasses.replace(made, pi=min(max(pi, least), 1 - least))
