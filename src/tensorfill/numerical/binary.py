"""Numerical priors for yes/no data, proportions and counts out of n.

Design: all are exponential families, so grad = 0 where mean(x) = t. Three links for Bernoulli: the
probability itself, the odds (a nonnegative model), the logit (a signed model). t may lie between: a
proportion is a value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tensorfill.numerical.base import PRIORS, UNIT, Array, Interval, NumericalPrior, parameter
from tensorfill.numerical.discrete import OFF_THE_END, _Odds
from tensorfill.numerical.extend import Extended


def softplus(x: Array) -> Array:
    """ln(1 + e^x), finite for every x.

    ln(1 + e) and not log1p: three times faster, and as exact beside the other terms of a sum.
    """
    e = np.abs(x)
    np.negative(e, out=e)
    np.exp(e, out=e)
    e += 1
    np.log(e, out=e)
    e += np.maximum(x, 0)
    return e


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), finite for every x."""
    p = np.minimum(x, 0)
    np.exp(p, out=p)
    e = np.abs(x)
    np.negative(e, out=e)
    np.exp(e, out=e)
    e += 1
    p /= e
    return p


def logit(p: float) -> float:
    """ln of the odds, finite at 0 and 1 too."""
    p = min(max(p, OFF_THE_END), 1 - OFF_THE_END)
    return math.log(p / (1 - p))


class _YesNo(NumericalPrior):
    """What the three Bernoulli priors share; each has its own `mean`, the probability."""

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return (rng.random(x.shape) < self.mean(x)).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        return (q > 1 - self.mean(x)).astype(x.dtype)


@PRIORS.register("bernoulli")
@dataclass(frozen=True)
class Bernoulli(_YesNo, Extended):
    """Yes/no data or proportions, with a model of the probability.

    Distribution: t ~ Bernoulli(x).
    Link: identity.
    Loss: ln 1/(1 - x) - t ln x/(1 - x) (nothing dropped for t = 0 or 1); Section 4.2 of the paper.
    Domain: 0 <= t <= 1, 0 < x < 1; continued beyond x = floor and 1 - floor.
    Mean: x.
    """

    t_domain = UNIT
    x_domain = Interval(0.0, 1.0, low_inclusive=False, high_inclusive=False)

    def _nll(self, t: Array, z: Array) -> Array:
        rest = np.log(1 - z)
        odds = np.log(z)
        odds -= rest
        odds *= t
        rest += odds
        return np.negative(rest, out=rest)  # -ln(1 - z) - t ln(z / (1 - z)), Section 4.2

    def _grad(self, t: Array, z: Array) -> Array:
        slope = z - t
        slope /= z - z * z
        return slope

    def _curv(self, t: Array, z: Array) -> Array:
        return t / (z * z) + (1 - t) / (1 - z) ** 2

    def _split(self, t: Array, z: Array) -> tuple[Array, Array]:
        return (1 - t) / (1 - z), t / z

    def mean(self, x: Array) -> Array:
        return np.clip(x, 0, 1)

    def start(self, mean: float) -> float:
        return self._start(mean)


@PRIORS.register("bernoulli-odds")
@dataclass(frozen=True)
class BernoulliOdds(_YesNo, _Odds):
    """Yes/no data or proportions, with a nonnegative model.

    Distribution: t ~ Bernoulli(x / (1 + x)).
    Link: odds x of t = 1.
    Loss: ln(1 + x) - t ln x (nothing dropped for t = 0 or 1).
    Domain: 0 <= t <= 1, x >= 0; continued below x = floor.
    Mean: x / (1 + x).
    """

    t_domain = UNIT

    def _weight(self, t: Array) -> Array | float:
        return 1.0

    def mean(self, x: Array) -> Array:
        odds = np.maximum(x, 0)
        return odds / (1 + odds)

    def start(self, mean: float) -> float:
        return self._start(math.exp(logit(mean)))


@dataclass(frozen=True)
class _Logit(NumericalPrior):
    """n ln(1 + e^x) - t x, with n = `_n`."""

    canonical = True

    @property
    def _n(self) -> int:
        return 1

    def nll(self, t: Array, x: Array) -> Array:
        value = softplus(x)
        value *= self._n
        value -= t * x
        return value

    def grad(self, t: Array, x: Array) -> Array:
        slope = self.mean(x)
        slope -= t
        return slope

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        value = softplus(x)
        slope = x - value  # ln of the probability, <= 0: its exponential cannot overflow
        np.exp(slope, out=slope)
        slope *= self._n
        slope -= t
        value *= self._n
        value -= t * x
        return value, slope

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative, n p (1 - p)."""
        e = np.abs(x)
        np.negative(e, out=e)
        np.exp(e, out=e)
        p = e / (1 + e) ** 2  # not p (1 - p), which is 0 too early
        p *= self._n
        return p

    def mean(self, x: Array) -> Array:
        p = sigmoid(x)
        p *= self._n
        return p

    def start(self, mean: float) -> float:
        return logit(mean / self._n)


@PRIORS.register("bernoulli-logit")
@dataclass(frozen=True)
class BernoulliLogit(_YesNo, _Logit):
    """Yes/no data or proportions, with a signed model.

    Distribution: t ~ Bernoulli(1 / (1 + e^-x)).
    Link: logit, x = ln of the odds.
    Loss: ln(1 + e^x) - t x (nothing dropped for t = 0 or 1).
    Domain: 0 <= t <= 1, x real.
    Mean: 1 / (1 + e^-x).
    """

    t_domain = UNIT


@PRIORS.register("binomial")
@dataclass(frozen=True)
class Binomial(_Logit):
    """Counts out of n: answers, ratings 0..n, pixels of n + 1 grey levels.

    Distribution: t ~ Binomial(n, 1 / (1 + e^-x)).
    Link: logit, x = ln of the odds: the model may be any real number.
    Loss: n ln(1 + e^x) - t x (binomial coefficient dropped).
    Domain: 0 <= t <= n, x real.
    Mean: n / (1 + e^-x).
    """

    n: int = parameter(1, "count")

    @property
    def _n(self) -> int:
        return self.n

    @property
    def t_domain(self) -> Interval:
        return Interval(0.0, float(self.n))

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return rng.binomial(self.n, sigmoid(x)).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        from scipy.stats import binom

        return binom.ppf(q, self.n, sigmoid(x)).astype(x.dtype)
