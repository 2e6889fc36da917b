"""Numerical priors for counts.

Design: all are exponential families, so grad = 0 where mean(x) = t. Counts are whole in theory; the losses
take any t >= 0 (scaled counts, averages), and zero is a value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tensorfill.numerical.base import NONNEGATIVE, PRIORS, Array, NumericalPrior, parameter
from tensorfill.numerical.extend import Extended

OFF_THE_END = 1e-6  # nearest a starting mean comes to the end of its range, where the link would be infinite


class _PoissonDraws(NumericalPrior):
    """What the two Poisson priors share; each has its own `mean`."""

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return rng.poisson(self.mean(x)).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        from scipy.stats import poisson

        return poisson.ppf(q, self.mean(x)).astype(x.dtype)


@PRIORS.register("poisson")
@dataclass(frozen=True)
class Poisson(_PoissonDraws, Extended):
    """Counts, and pictures.

    Distribution: t ~ Poisson(x).
    Link: identity.
    Loss: x - t ln x (ln t! dropped), Eq. 14 of the paper.
    Domain: t >= 0, x >= 0; continued below x = floor.
    Mean: x.
    """

    majoriser = (0.0, 1.0)  # Lee and Seung

    t_domain = NONNEGATIVE
    x_domain = NONNEGATIVE

    def _nll(self, t: Array, z: Array) -> Array:
        value = np.log(z)
        value *= t
        return np.subtract(z, value, out=value)  # z - t ln z, Eq. 14

    def _grad(self, t: Array, z: Array) -> Array:
        slope = t / z
        return np.subtract(1, slope, out=slope)  # (z - t) / z, Eq. 16 (ycalc)

    def _curv(self, t: Array, z: Array) -> Array:
        return t / (z * z)

    def _split(self, t: Array, z: Array) -> tuple[Array, Array]:
        return np.ones_like(z), t / z

    def mean(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def start(self, mean: float) -> float:
        return self._start(mean)


@PRIORS.register("poisson-log")
@dataclass(frozen=True)
class PoissonLog(_PoissonDraws):
    """Counts, with a model of their logarithm.

    Distribution: t ~ Poisson(e^x).
    Link: log.
    Loss: e^x - t x (ln t! dropped); above x = 30 (means over 1e13) e^x goes on as its tangent.
    Domain: t >= 0, x real.
    Mean: e^x.
    """

    canonical = True
    t_domain = NONNEGATIVE

    def nll(self, t: Array, x: Array) -> Array:
        z = np.minimum(x, 30)
        return (x - z + 1) * np.exp(z) - t * x  # the tangent e^30 (1 + x - 30); below 30 just e^x

    def grad(self, t: Array, x: Array) -> Array:
        return self.mean(x) - t

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        z = np.minimum(x, 30)
        rate = np.exp(z)
        return (x - z + 1) * rate - t * x, rate - t

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative, e^x; 0 along the tangent."""
        return np.where(x < 30, self.mean(x), 0)

    def mean(self, x: Array) -> Array:
        return np.exp(np.minimum(x, 30))

    def start(self, mean: float) -> float:
        return math.log(max(mean, OFF_THE_END))


@dataclass(frozen=True)
class _Odds(Extended):
    """Losses w ln(1 + x) - t ln x, with w = r + t unless `_weight` says otherwise."""

    majoriser = (0.0, 1.0)  # ln(1 + x) is concave: its tangent lies above it

    t_domain = NONNEGATIVE
    x_domain = NONNEGATIVE

    @property
    def _r(self) -> float:
        return 1.0

    def _weight(self, t: Array) -> Array | float:
        """Factor of ln(1 + x)."""
        return t + self._r

    def _nll(self, t: Array, z: Array) -> Array:
        value = np.log(z + 1)
        value *= self._weight(t)
        pull = np.log(z)
        pull *= t
        return np.subtract(value, pull, out=value)

    def _grad(self, t: Array, z: Array) -> Array:
        slope = self._weight(t) / (z + 1)
        slope -= t / z
        return slope

    def _curv(self, t: Array, z: Array) -> Array:
        return t / (z * z) - self._weight(t) / (z + 1) ** 2

    def _split(self, t: Array, z: Array) -> tuple[Array, Array]:
        return self._weight(t) / (z + 1), t / z

    def mean(self, x: Array) -> Array:
        return self._r * np.maximum(x, 0)

    def start(self, mean: float) -> float:
        return self._start(mean / self._r)

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return rng.negative_binomial(self._r, 1 / (1 + np.maximum(x, 0))).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        from scipy.stats import nbinom

        return nbinom.ppf(q, self._r, 1 / (1 + np.maximum(x, 0))).astype(x.dtype)


@PRIORS.register("negative-binomial")
@dataclass(frozen=True)
class NegativeBinomial(_Odds):
    """Counts that scatter more than Poisson's: variance = mean + mean^2 / r.

    Distribution: t ~ NegativeBinomial(r, success 1/(1 + x)): t failures before the r-th success.
    Link: odds x of failure (Hong, Kolda, Duersch 2020).
    Loss: (r + t) ln(1 + x) - t ln x (binomial coefficient dropped).
    Domain: t >= 0, x >= 0; continued below x = floor.
    Mean: r x.
    """

    r: float = parameter(1.0)

    @property
    def _r(self) -> float:
        return self.r


@PRIORS.register("geometric")
@dataclass(frozen=True)
class Geometric(_Odds):
    """Counts that fall off by a constant factor: waiting times in steps.

    Distribution: t ~ Geometric(success 1/(1 + x)), t = 0, 1, 2, ... failures before the first success.
    Link: odds x of failure.
    Loss: (1 + t) ln(1 + x) - t ln x (nothing dropped).
    Domain: t >= 0, x >= 0; continued below x = floor.
    Mean: x.
    """
