"""Numerical prior for proportions that are measured, not counted."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from tensorfill.numerical.base import PRIORS, UNIT, Array, NumericalPrior, parameter
from tensorfill.numerical.binary import logit, sigmoid, softplus


@PRIORS.register("beta")
@dataclass(frozen=True)
class Beta(NumericalPrior):
    """Proportions between 0 and 1: shares, rates, coverage, fractions of a whole.

    Distribution: t ~ Beta(m phi, (1 - m) phi) with m = 1 / (1 + e^-x); its variance is m (1 - m) / (1 + phi).
    Link: logit, x = ln of the odds of the mean.
    Loss: ln B(m phi, (1 - m) phi) - m phi ln t - (1 - m) phi ln(1 - t), B the beta function (ln t (1 - t) dropped).
    Data closer to 0 or 1 than `squeeze` count as lying there: at the very end no finite x would be best.
    Domain: 0 <= t <= 1, x real.
    Mean: 1 / (1 + e^-x).
    """

    t_domain = UNIT

    phi: float = parameter(10.0)
    squeeze: float = parameter(1e-6, "margin")

    def _logs(self, t: Array) -> tuple[Array, Array]:
        """ln t and ln(1 - t), neither less than ln squeeze."""
        return np.log(np.maximum(t, self.squeeze)), np.log(np.maximum(1 - t, self.squeeze))

    def _parts(self, x: Array) -> tuple[Array, Array]:
        """m and 1 - m, each to full precision."""
        return sigmoid(x), sigmoid(-x)

    def nll(self, t: Array, x: Array) -> Array:
        from scipy.special import betaln

        m, rest = self._parts(x)
        m *= self.phi
        rest *= self.phi
        log_t, log_rest = self._logs(t)
        # B(a, b) = B(1 + a, 1 + b) (phi + 1) phi / (a b), whose logarithm is finite where a or b vanishes
        value: Array = betaln(1 + m, 1 + rest)
        value += softplus(x)
        value += softplus(-x)
        value += math.log1p(self.phi) - math.log(self.phi)
        return value - m * log_t - rest * log_rest

    def grad(self, t: Array, x: Array) -> Array:
        from scipy.special import digamma

        m, rest = self._parts(x)
        a, b = self.phi * m, self.phi * rest
        log_t, log_rest = self._logs(t)
        slope: Array = rest * (a * digamma(1 + a) - 1) - m * (b * digamma(1 + b) - 1)  # a psi(a) = a psi(1 + a) - 1
        return slope - a * rest * (log_t - log_rest)

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative; negative far from data near an end."""
        from scipy.special import zeta

        m, rest = self._parts(x)
        a, b = self.phi * m, self.phi * rest
        # zeta(2, .) is the derivative of digamma, and a^2 psi'(a) = a^2 psi'(1 + a) + 1
        bent = rest**2 * (a * a * zeta(2, 1 + a) + 1) + m**2 * (b * b * zeta(2, 1 + b) + 1)
        return (bent + (rest - m) * self.grad(t, x)).astype(x.dtype)

    def mean(self, x: Array) -> Array:
        return sigmoid(x)

    def start(self, mean: float) -> float:
        return logit(mean)

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return rng.beta(*self._shapes(x)).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        from scipy.special import betaincinv

        return betaincinv(*self._shapes(x), q).astype(x.dtype)

    def _shapes(self, x: Array) -> tuple[Array, Array]:
        """m phi and (1 - m) phi in float64, above 0."""
        m, rest = (np.maximum(self.phi * part, np.finfo(np.float64).tiny) for part in self._parts(x.astype(np.float64)))
        return m, rest

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """phi by the variance about the means of the model, or about their own; with data at 0 or 1 the squeeze is half
        an observation's share, as Smithson and Verkuilen (2006) have it.
        """
        mean = np.average(t, weights=weights) if x is None else self.mean(x)
        noise = float(np.average((t - mean) ** 2, weights=weights))
        most = float(np.average(mean * (1 - mean) * np.ones(len(t)), weights=weights))
        least = 0.5 / (len(t) + 1)
        phi = most / noise - 1 if noise > 0 and most > 0 else self.phi
        squeeze = least if bool(((t <= 0) | (t >= 1)).any()) else self.squeeze
        return dataclasses.replace(self, phi=max(phi, least), squeeze=squeeze)
