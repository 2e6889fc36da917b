"""Numbers between two ends: the normal distribution cut off on both sides, and what it shares with ordered levels.

Design: everything is a function of an interval (a, b) of the standard normal, mirrored so that a + b >= 0: then a is
its likelier end, and probabilities are taken relative to the density there, which never vanishes. Work is done in
float64 whatever the dtype of the entries, because far out in a tail digits cancel.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tensorfill.numerical.base import PRIORS, Array, Interval, NumericalPrior, parameter
from tensorfill.numerical.discrete import OFF_THE_END

SERIES_FROM = 40.0  # a beyond which the mean and variance above a come from their series: both ways have 9 digits there
NARROWEST = 1e-12  # sigma in parts of the range: below, squares of distances between the ends lose all digits
DENSITY = 1 / math.sqrt(2 * math.pi)


def normal_between(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """(L, p, q) of the interval a < b of the standard normal, a + b >= 0, float64.

    With Z its probability, L = ln Z + max(a, 0)^2 / 2, p = density(a) / Z, q = density(b) / Z: finite however far out.
    """
    from scipy.special import erfcx, ndtr

    root = math.sqrt(0.5)
    fall = np.exp(-0.5 * (b - a) * (a + b))  # density(b) / density(a)
    out = np.maximum(a, 0)
    tail = 0.5 * (erfcx(root * out) - fall * erfcx(root * b))  # Z e^(a^2 / 2), for a >= 0
    inner = np.minimum(a, 0)
    Z = np.where(a > 0, tail, ndtr(-inner) - ndtr(-b))
    p = DENSITY * np.exp(-0.5 * inner * inner) / Z
    return np.log(Z), p, fall * p


def truncated_quantile(q: Array, a: Array, b: Array) -> Array:
    """The q-quantile of the standard normal cut off at a and b (infinite: not cut off), float64."""
    from scipy.special import log_ndtr, ndtri_exp

    mirror = a + b < 0
    low, high = np.where(mirror, -b, a), np.where(mirror, -a, b)
    q = np.where(mirror, 1 - q, q)
    with np.errstate(divide="ignore", invalid="ignore"):  # q = 1 without an upper end, where the answer is clipped
        top = log_ndtr(-low)
        share = -np.expm1(log_ndtr(-high) - top)
        z = np.clip(-ndtri_exp(top + np.log1p(-q * share)), low, high)
    return np.where(mirror, -z, z)


@PRIORS.register("truncated-normal")
@dataclass(frozen=True)
class TruncatedNormal(NumericalPrior):
    """Real numbers between two ends: percentages, marks out of 100, angles.

    Distribution: t ~ Normal(x, sigma^2), given low <= t <= high.
    Link: x is the centre before the ends cut off; beyond them it brings the mean ever closer to an end.
    Loss: (t - x)^2 / (2 sigma^2) + ln P(low <= Normal(x, sigma^2) <= high) (ln sigma dropped). Data closer to an end
    than the share `squeeze` of the range count as lying there: at the very end no finite x would be best.
    Domain: low <= t <= high, x real.
    Mean: x + sigma (p - q), p and q the densities at the ends over the probability between them.
    """

    canonical = True

    low: float = parameter(0.0, "real")
    high: float = parameter(1.0, "real")
    sigma: float = parameter(0.25)
    squeeze: float = parameter(1e-6, "margin")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            msg = f"low must be less than high for TruncatedNormal; got {self.low!r} and {self.high!r}."
            raise ValueError(msg)
        if self.sigma < NARROWEST * (self.high - self.low):
            msg = (
                f"sigma must be at least {NARROWEST:g} of the range, {self.high - self.low:g}, for TruncatedNormal; "
                f"got {self.sigma!r}. Narrower distributions do not feel the ends: use Normal."
            )
            raise ValueError(msg)
        if self.sigma > self.high - self.low:
            msg = (
                f"sigma must be at most the range, {self.high - self.low:g}, for TruncatedNormal; got {self.sigma!r}. "
                "Wider distributions are even between the ends."
            )
            raise ValueError(msg)

    @property
    def t_domain(self) -> Interval:
        return Interval(self.low, self.high)

    def _ends(self, x: Array) -> tuple[Array, Array, Array]:
        """(a, b, side): the nearer and the further end from x in units of sigma, outwards; side is 1 if near low."""
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        off = x.astype(np.float64) - middle
        a = (np.abs(off) - half) / self.sigma
        return a, a + 2 * half / self.sigma, np.where(off > 0, -1.0, 1.0)

    def _from_end(self, t: Array, side: Array) -> Array:
        """How far data lie inside the end that x is nearer to, in units of sigma."""
        margin = self.squeeze * (self.high - self.low)
        inside = np.clip(t.astype(np.float64), self.low + margin, self.high - margin)
        return np.where(side > 0, inside - self.low, self.high - inside) / self.sigma

    def nll(self, t: Array, x: Array) -> Array:
        a, b, side = self._ends(x)
        s = self._from_end(t, side)
        value = 0.5 * (s + np.minimum(a, 0)) ** 2 + np.maximum(a, 0) * s + normal_between(a, b)[0]
        return value.astype(x.dtype)

    def grad(self, t: Array, x: Array) -> Array:
        a, b, side = self._ends(x)
        return (side * (_mean_above(a, b) - self._from_end(t, side)) / self.sigma).astype(x.dtype)

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative, Var[t] / sigma^4."""
        a, b, _ = self._ends(x)
        near = np.minimum(a, SERIES_FROM)
        _, p, q = normal_between(near, near + (b - a))
        var = 1 + near * p - (near + (b - a)) * q - (p - q) ** 2
        u = np.maximum(a, SERIES_FROM) ** -2.0
        series = u * (1 - u * (6 - u * (50 - u * (518 - 6354 * u))))
        return (np.where(a > SERIES_FROM, series, np.maximum(var, 0)) / self.sigma**2).astype(x.dtype)

    def mean(self, x: Array) -> Array:
        a, b, side = self._ends(x)
        inside = self.sigma * _mean_above(a, b)
        return np.where(side > 0, self.low + inside, self.high - inside).astype(x.dtype)

    def start(self, mean: float) -> float:
        from scipy.optimize import brentq

        width = (self.high - self.low) / self.sigma
        share = min(max((mean - self.low) / (self.high - self.low), OFF_THE_END), 1 - OFF_THE_END)
        s = min(share, 1 - share) * width
        if share == 0.5:
            return 0.5 * (self.low + self.high)

        # Above a > 0 the mean is less than 1 / a: there the search can begin.
        def miss(a: float) -> float:
            return float(_mean_above(np.array([a]), np.array([a + width]))[0]) - s

        a = brentq(miss, -0.5 * width, 1 / s, xtol=1e-12, rtol=1e-12)
        return float(self.low - self.sigma * a if share < 0.5 else self.high + self.sigma * a)

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return self._quantile(x, rng.random(x.shape))

    def quantile(self, x: Array, q: float) -> Array:
        return self._quantile(x, np.full(x.shape, q))

    def _quantile(self, x: Array, q: Array) -> Array:
        wide = x.astype(np.float64)
        z = truncated_quantile(q, (self.low - wide) / self.sigma, (self.high - wide) / self.sigma)
        return np.clip(wide + self.sigma * z, self.low, self.high).astype(x.dtype)

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """Ends and squeeze from the data, and how far they lie from the mean of the model, or from their own."""
        low, high = float(t.min()), float(t.max())
        if not low < high:
            return self
        if x is None:
            made = dataclasses.replace(self, **_natural_ends(low, high), sigma=1e-3 * (high - low))
            mean: Any = np.average(t, weights=weights)
        else:
            made, mean = self, self.mean(x)
        sigma = float(np.sqrt(np.average((t - mean) ** 2, weights=weights)))
        sigma = min(max(sigma, 1e-3 * (high - low)), made.high - made.low)
        at_an_end = bool(((t <= made.low) | (t >= made.high)).any())
        squeeze = 0.5 / (len(t) + 1) if at_an_end else made.squeeze
        return dataclasses.replace(made, sigma=sigma, squeeze=squeeze)


def _natural_ends(low: float, high: float) -> dict[str, float]:
    """0..1 and 0..100 for numbers that look like proportions or percentages, else the range of the data."""
    if low >= 0:
        for end in (1.0, 100.0):
            if end / 10 < high <= end:
                return {"low": 0.0, "high": end}
    return {"low": low, "high": high}


def _mean_above(a: Array, b: Array) -> Array:
    """Mean of z - a for z standard normal between a and b, a + b >= 0."""
    near = np.minimum(a, SERIES_FROM)
    _, p, q = normal_between(near, near + (b - a))
    u = np.maximum(a, SERIES_FROM) ** -2.0
    series = np.sqrt(u) * (1 - u * (2 - u * (10 - u * (74 - 706 * u))))
    return np.where(a > SERIES_FROM, series, np.maximum(p - q - near, 0))
