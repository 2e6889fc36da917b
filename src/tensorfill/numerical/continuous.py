"""Numerical priors for real numbers of either sign.

Design: x is the centre of a symmetric distribution, so the mean (for Student's t with nu <= 1: the median)
is x itself, and every loss is a function of the residual x - t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tensorfill.numerical.base import PRIORS, Array, NumericalPrior, parameter


class _Centred(NumericalPrior):
    """x is the centre; subclasses give the quantiles of the residual t - x, and what of the scatter is noise."""

    location = True

    def mean(self, x: Array) -> Array:
        return x.copy()

    def start(self, mean: float) -> float:
        return mean

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return x + self._residual(rng.random(x.shape)).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        return x + self._residual(np.asarray(q, dtype=float)).astype(x.dtype)

    def _residual(self, q: Array) -> Array:
        """Quantiles of t - x, in float64."""
        raise NotImplementedError


class _Robust(_Centred):
    """Centred, with outliers: its scale is learned from the middle half of the data."""

    noise: ClassVar[float]  # what is noise to it before there is a model, as a share of how the data vary

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """The scale of the residuals; without a model a share of the data's own."""
        r = t.astype(np.float64) if x is None else t.astype(np.float64) - x
        middle = float(np.subtract(*np.quantile(r, (0.75, 0.25)))) / 1.349  # of a normal distribution: its sigma
        scale = (middle or float(r.std())) * (self.noise if x is None else 1.0)
        return replace(self, **{"scale": scale}) if scale > 0 else self


@PRIORS.register("normal")
@dataclass(frozen=True)
class Normal(_Centred):
    """Real numbers with even noise: least squares.

    Distribution: t ~ Normal(x, sigma^2).
    Link: identity.
    Loss: (t - x)^2 / (2 sigma^2) (ln sigma dropped).
    Domain: t real, x real.
    Mean: x.
    """

    majoriser = (1.0, 0.0)
    canonical = True

    sigma: float = parameter(1.0)

    def nll(self, t: Array, x: Array) -> Array:
        r = x - t
        r *= r  # (t - x)^2, Section 4.1
        r *= 0.5 / self.sigma**2
        return r

    def grad(self, t: Array, x: Array) -> Array:
        r = x - t
        if self.sigma != 1:
            r *= 1 / self.sigma**2
        return r

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        slope = self.grad(t, x)
        value = slope * slope
        value *= 0.5 * self.sigma**2
        return value, slope

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative, 1 / sigma^2."""
        return np.full_like(x, 1 / self.sigma**2)

    def split(self, t: Array, x: Array) -> tuple[Array, Array]:
        """Parts >= 0 with grad = positive - negative, for x >= 0."""
        # A negative t counts with the positive part: both parts are then >= 0 for every t.
        negative = np.maximum(t, 0)
        positive = x + (negative - t)
        scale = 1 / self.sigma**2
        return positive * scale, negative * scale

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """sigma as the standard deviation of the residuals; without a model, of the data."""
        r = t.astype(np.float64) if x is None else t.astype(np.float64) - x
        sigma = float(r.std() if x is None else np.sqrt(np.average(r * r, weights=weights)))
        return replace(self, sigma=sigma) if sigma > 0 else self

    def _residual(self, q: Array) -> Array:
        from scipy.special import ndtri

        return self.sigma * ndtri(q)


@PRIORS.register("laplace")
@dataclass(frozen=True)
class Laplace(_Centred):
    """Real numbers with outliers: least absolute deviations, the median.

    Distribution: t ~ Laplace(x, scale).
    Link: identity.
    Loss: |t - x| / scale (ln 2 scale dropped); at the kink t = x the derivative is taken as 0, a subgradient.
    Domain: t real, x real.
    Mean: x.
    """

    # No curv: it is 0 wherever it exists, which would mislead a Newton-like step.
    scale: float = parameter(1.0)

    def nll(self, t: Array, x: Array) -> Array:
        return np.abs(x - t) * (1 / self.scale)

    def grad(self, t: Array, x: Array) -> Array:
        return np.sign(x - t) * (1 / self.scale)

    def _residual(self, q: Array) -> Array:
        u = q - 0.5
        return -self.scale * np.sign(u) * np.log1p(-2 * np.abs(u))


@PRIORS.register("huber")
@dataclass(frozen=True)
class Huber(_Robust):
    """Real numbers, mostly with even noise, some with outliers.

    Distribution: (t - x) / scale has density ~ exp(-loss): Normal(0, 1) in the middle, tails of Laplace(0, 1/delta).
    Link: identity.
    Loss: r^2 / 2 for |r| <= delta, delta |r| - delta^2 / 2 beyond, r = (t - x) / scale (the normalising constant
    dropped).
    Domain: t real, x real.
    Mean: x.
    """

    noise = 0.05

    delta: float = parameter(1.0)
    scale: float = parameter(1.0)

    def nll(self, t: Array, x: Array) -> Array:
        return self.nll_and_grad(t, x)[0]

    def grad(self, t: Array, x: Array) -> Array:
        return np.clip((x - t) * (1 / self.scale), -self.delta, self.delta) * (1 / self.scale)

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        r = x - t
        r *= 1 / self.scale
        slope = np.clip(r, -self.delta, self.delta)
        r -= 0.5 * slope
        r *= slope  # both formulas at once
        return r, slope * (1 / self.scale)

    def curv(self, t: Array, x: Array) -> Array:
        """1 / scale^2 in the middle, 0 in the tails."""
        return (np.abs(x - t) <= self.delta * self.scale).astype(x.dtype) / self.scale**2

    def _residual(self, q: Array) -> Array:
        from scipy.special import ndtr, ndtri

        d = self.delta
        root = math.sqrt(2 * math.pi)
        tail = math.exp(-d * d / 2) / d  # area under one tail, the middle's being root (2 Phi(d) - 1)
        area = root * (1 - 2 * float(ndtr(-d))) + 2 * tail
        below = np.minimum(q, 1 - q) * area  # by symmetry: area beyond the quantile on its side
        with np.errstate(divide="ignore"):
            outer = d / 2 - np.log(below * d) / d
        inner = -ndtri(np.clip(ndtr(-d) + (below - tail) / root, 1e-300, 0.5))
        return self.scale * np.sign(q - 0.5) * np.where(below < tail, outer, inner)


@PRIORS.register("student-t")
@dataclass(frozen=True)
class StudentT(_Robust):
    """Real numbers with gross outliers: the pull of an outlier fades. Not convex.

    Distribution: (t - x) / scale ~ Student's t with nu degrees of freedom.
    Link: identity.
    Loss: (nu + 1)/2 ln(1 + r^2 / (nu scale^2)), r = t - x (the normalising constant dropped).
    Domain: t real, x real.
    Mean: x (for nu <= 1 there is no mean, and x is the median).
    """

    noise = 0.2

    nu: float = parameter(4.0)
    scale: float = parameter(1.0)

    def nll(self, t: Array, x: Array) -> Array:
        r = x - t
        r *= 1 / (self.scale * math.sqrt(self.nu))
        r *= r
        r += 1
        np.log(r, out=r)
        r *= 0.5 * (self.nu + 1)
        return r

    def grad(self, t: Array, x: Array) -> Array:
        r = x - t
        weight = r * r
        weight += self.nu * self.scale**2
        r /= weight
        r *= self.nu + 1
        return r

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative; negative in the tails."""
        square = (x - t) ** 2
        width = self.nu * self.scale**2
        return (self.nu + 1) * (width - square) / (width + square) ** 2

    def _residual(self, q: Array) -> Array:
        from scipy.special import stdtrit

        return self.scale * stdtrit(self.nu, q)
