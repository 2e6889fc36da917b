"""Numerical priors for positive real numbers.

Design: x is a scale of the data (the mean, or a multiple of it), and the noise grows with it. All losses
contain ln x or a power of x and go on below x = floor as `Extended` says. Zero is a value wherever its loss
is finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tensorfill.numerical.base import NONNEGATIVE, POSITIVE, PRIORS, Array, parameter
from tensorfill.numerical.extend import Extended

WIDEST = 37.0  # sigma of a lognormal number: the mean of wider ones is beyond all numbers


class _Scaled(Extended):
    """x is a scale: t / x has one distribution for all x. Subclasses give its mean and its quantiles."""

    x_domain = POSITIVE

    @property
    def _unit_mean(self) -> float:
        """E[t / x]."""
        return 1.0

    def _unit(self, q: Array) -> Array:
        """Quantiles of t / x, in float64."""
        raise NotImplementedError

    def mean(self, x: Array) -> Array:
        return self._unit_mean * np.maximum(x, 0)

    def start(self, mean: float) -> float:
        return self._start(mean / self._unit_mean)

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return np.maximum(x, 0) * self._unit(rng.random(x.shape)).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        return np.maximum(x, 0) * self._unit(np.asarray(q, dtype=float)).astype(x.dtype)


@PRIORS.register("gamma")
@dataclass(frozen=True)
class Gamma(_Scaled):
    """Positive numbers whose noise is proportional to them: waiting times, rainfall, power.

    Distribution: t ~ Gamma(shape k, scale x); its standard deviation is the mean / sqrt(k).
    Link: x is the scale.
    Loss: t / (k x) + ln x, the paper's: -ln p divided by k ((k - 1) ln t and ln Gamma(k) dropped).
    Domain: t >= 0, x > 0; continued below x = floor.
    Mean: k x.
    """

    majoriser = (0.0, 2.0)

    t_domain = NONNEGATIVE

    k: float = parameter(1.0)

    def _nll(self, t: Array, z: Array) -> Array:
        return t / z * (1 / self.k) + np.log(z)  # t / (k z) + ln z, Section 4.2

    def _grad(self, t: Array, z: Array) -> Array:
        return (1 - t / z * (1 / self.k)) / z

    def _nll_and_grad(self, t: Array, z: Array) -> tuple[Array, Array]:
        ratio = t / z
        ratio *= 1 / self.k
        slope = (1 - ratio) / z
        ratio += np.log(z)
        return ratio, slope

    def _curv(self, t: Array, z: Array) -> Array:
        return ((2 / self.k) * t / z - 1) / (z * z)

    def _split(self, t: Array, z: Array) -> tuple[Array, Array]:
        positive = 1 / z
        return positive, t * positive * positive / self.k

    @property
    def _unit_mean(self) -> float:
        return self.k

    def _unit(self, q: Array) -> Array:
        from scipy.special import gammaincinv

        return gammaincinv(self.k, q)


@PRIORS.register("exponential")
@dataclass(frozen=True)
class Exponential(Gamma):
    """Positive numbers that fall off by a constant rate: Gamma with k = 1.

    Distribution: t ~ Exponential(mean x).
    Link: identity.
    Loss: t / x + ln x (nothing dropped).
    Domain: t >= 0, x > 0; continued below x = floor.
    Mean: x.
    """

    k: float = field(default=1.0, init=False, repr=False)


@PRIORS.register("rayleigh")
@dataclass(frozen=True)
class Rayleigh(_Scaled):
    """Lengths of plane vectors: wind speeds, magnitudes of radar or resonance images.

    Distribution: t ~ Rayleigh(x sqrt(2/pi)).
    Link: identity.
    Loss: 2 ln x + (pi/4) (t/x)^2 (ln t and constants dropped).
    Domain: t >= 0, x > 0; continued below x = floor.
    Mean: x. (One datum t alone is likeliest at x = t sqrt(pi)/2, below t.)
    """

    majoriser = (0.0, 3.0)

    t_domain = NONNEGATIVE

    def _nll(self, t: Array, z: Array) -> Array:
        return 2 * np.log(z) + (0.25 * math.pi) * (t / z) ** 2

    def _grad(self, t: Array, z: Array) -> Array:
        return (2 - (0.5 * math.pi) * (t / z) ** 2) / z

    def _nll_and_grad(self, t: Array, z: Array) -> tuple[Array, Array]:
        ratio = (0.25 * math.pi) * (t / z) ** 2
        return 2 * np.log(z) + ratio, 2 * (1 - ratio) / z

    def _curv(self, t: Array, z: Array) -> Array:
        return (1.5 * math.pi * (t / z) ** 2 - 2) / (z * z)

    def _split(self, t: Array, z: Array) -> tuple[Array, Array]:
        return 2 / z, (0.5 * math.pi) * (t / z) ** 2 / z

    def _unit(self, q: Array) -> Array:
        return np.sqrt(-4 / math.pi * np.log1p(-q))


@PRIORS.register("lognormal")
@dataclass(frozen=True)
class LogNormal(_Scaled):
    """Positive numbers whose logarithm has even noise: prices, concentrations, sizes.

    Distribution: ln t ~ Normal(ln x, sigma^2).
    Link: x is the median.
    Loss: (ln t - ln x)^2 / (2 sigma^2) (ln t and ln sigma dropped).
    Domain: t > 0, x > 0; continued below x = floor.
    Mean: x exp(sigma^2 / 2).
    """

    t_domain = POSITIVE

    sigma: float = parameter(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sigma > WIDEST:
            msg = f"sigma must be at most {WIDEST:g}, so that the mean is a number, for LogNormal; got {self.sigma:g}."
            raise ValueError(msg)

    def _nll(self, t: Array, z: Array) -> Array:
        return self._log_ratio(t, z) ** 2 * (0.5 / self.sigma**2)

    def _grad(self, t: Array, z: Array) -> Array:
        return self._log_ratio(t, z) / z * (1 / self.sigma**2)

    def _curv(self, t: Array, z: Array) -> Array:
        return (1 - self._log_ratio(t, z)) / (self.sigma * z) ** 2

    @staticmethod
    def _log_ratio(t: Array, z: Array) -> Array:
        return np.log(z) - np.log(t)  # the quotient could overflow

    @property
    def _unit_mean(self) -> float:
        return math.exp(self.sigma**2 / 2)

    def _unit(self, q: Array) -> Array:
        from scipy.special import ndtri

        return np.exp(self.sigma * ndtri(q))


@PRIORS.register("beta-divergence")
@dataclass(frozen=True)
class BetaDivergence(Extended):
    """Between least squares (beta = 2), Poisson (1) and Gamma (0): the noise grows as x^(1 - beta/2).

    Distribution: Tweedie's of variance x^(2 - beta); none exists for 1 < beta < 2 (a quasi-likelihood).
    `sample` and `quantile` use the Gamma distribution of the same mean and variance for every beta.
    Link: identity.
    Loss: (x^beta - 1) / beta - t (x^(beta - 1) - 1) / (beta - 1); a quotient is ln x where its power is 0.
    Domain: t >= 0, x > 0; continued below x = floor.
    Mean: x.
    """

    @property
    def majoriser(self) -> tuple[float, float]:
        """Fevotte and Idier 2011: x^(beta-1) is convex above beta = 1, t x^(beta-2) below beta = 2."""
        return max(self.beta - 1.0, 0.0), max(2.0 - self.beta, 0.0)

    t_domain = NONNEGATIVE
    x_domain = POSITIVE

    beta: float = parameter(0.5, "real")

    def _nll(self, t: Array, z: Array) -> Array:
        b = self.beta
        first = np.log(z) if b == 0 else (z**b - 1) / b
        return first - t * (np.log(z) if b == 1 else (z ** (b - 1) - 1) / (b - 1))

    def _grad(self, t: Array, z: Array) -> Array:
        return (1 - t / z) * z ** (self.beta - 1)

    def _curv(self, t: Array, z: Array) -> Array:
        b = self.beta
        return z ** (b - 2) * ((b - 1) - (b - 2) * t / z)

    def _split(self, t: Array, z: Array) -> tuple[Array, Array]:
        power = z ** (self.beta - 1)
        return power, power * t / z

    def mean(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def start(self, mean: float) -> float:
        return self._start(mean)

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        m = np.maximum(x, self.floor).astype(float)
        return rng.gamma(m**self.beta, m ** (1 - self.beta)).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        from scipy.special import gammaincinv

        m = np.maximum(x, self.floor).astype(float)
        return (gammaincinv(m**self.beta, q) * m ** (1 - self.beta)).astype(x.dtype)
