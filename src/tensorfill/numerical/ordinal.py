"""Numerical prior for ordered levels: marks, stars, stages, answers from "never" to "always"."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

import numpy as np

from tensorfill.numerical.base import PRIORS, Array, Interval, NumericalPrior, parameter
from tensorfill.numerical.discrete import OFF_THE_END
from tensorfill.numerical.truncated import normal_between

FAR = 1e100  # beyond the outer cuts: far enough that nothing is there, near enough that its square is a number


@PRIORS.register("ordinal")
@dataclass(frozen=True)
class Ordinal(NumericalPrior):
    """Ordered levels (stars, stages, answers on a scale), whose distances are learned.

    Distribution: t = first + the number of cuts below x + e, e ~ Normal(0, 1): the ordered probit model.
    Link: probit; the model is a hidden quantity that the cuts divide into levels.
    Loss: -ln [Phi(c_k+1 - x) - Phi(c_k - x)] for the k-th level (nothing dropped).
    Domain: whole numbers first .. first + number of cuts, x real.
    Mean: first + sum_k Phi(x - c_k).
    """

    cuts: tuple[float, ...] = (-1.0, 0.0, 1.0)
    first: int = parameter(0, "whole")

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            cuts = np.array(self.cuts, dtype=np.float64)
            good = cuts.ndim == 1 and cuts.size > 0 and bool(np.isfinite(cuts).all() and (np.diff(cuts) > 0).all())
        except (TypeError, ValueError):
            good = False
        if not good:
            msg = f"cuts must be one or more rising numbers for Ordinal; got {self.cuts!r}."
            raise ValueError(msg)
        object.__setattr__(self, "cuts", tuple(cuts.tolist()))

    @property
    def t_domain(self) -> Interval:
        return Interval(float(self.first), float(self.first + len(self.cuts)), whole=True)

    def _ends(self, t: Array, x: Array) -> tuple[Array, Array, Array]:
        """(a, b, side) of the level's interval around x, mirrored where side is -1, so that a + b >= 0."""
        cuts = np.array([-FAR, *self.cuts, FAR])
        k = np.clip(np.rint(t) - self.first, 0, len(self.cuts)).astype(np.intp)
        low, high = cuts[k] - x, cuts[k + 1] - x
        mirror = low + high < 0
        return np.where(mirror, -high, low), np.where(mirror, -low, high), np.where(mirror, -1.0, 1.0)

    def nll(self, t: Array, x: Array) -> Array:
        a, b, _ = self._ends(t, x)
        return (0.5 * np.maximum(a, 0) ** 2 - normal_between(a, b)[0]).astype(x.dtype)

    def grad(self, t: Array, x: Array) -> Array:
        a, b, side = self._ends(t, x)
        _, p, q = normal_between(a, b)
        return (side * (q - p)).astype(x.dtype)

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        a, b, side = self._ends(t, x)
        L, p, q = normal_between(a, b)
        value = 0.5 * np.maximum(a, 0) ** 2 - L
        return value.astype(x.dtype), (side * (q - p)).astype(x.dtype)

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative: 1 less the variance of x + e given the level; between 0 and 1."""
        a, b, _ = self._ends(t, x)
        _, p, q = normal_between(a, b)
        return np.clip((p - q) ** 2 + b * q - a * p, 0, 1).astype(x.dtype)

    def mean(self, x: Array) -> Array:
        from scipy.special import ndtr

        total = np.full(x.shape, float(self.first))
        for cut in self.cuts:
            total += ndtr(x - cut)
        return total.astype(x.dtype)

    def probabilities(self, x: Array) -> Array:
        """Of every level at the model values x: (..., levels), float64."""
        from scipy.special import ndtr

        below = ndtr(np.array([-np.inf, *self.cuts, np.inf]) - np.asarray(x, dtype=np.float64)[..., None])
        return np.diff(below, axis=-1)

    def start(self, mean: float) -> float:
        from scipy.optimize import brentq

        top = len(self.cuts)
        goal = min(max(mean - self.first, OFF_THE_END * top), top - OFF_THE_END * top)
        reach = 6.0  # Phi(-6) is less than OFF_THE_END
        ends = (self.cuts[0] - reach, self.cuts[-1] + reach)
        return float(brentq(lambda x: float(self.mean(np.array([x]))[0]) - self.first - goal, *ends, xtol=1e-12))

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return self._level(x + rng.standard_normal(x.shape)).astype(x.dtype)

    def quantile(self, x: Array, q: float) -> Array:
        from scipy.special import ndtri

        return self._level(x + float(ndtri(q))).astype(x.dtype)

    def _level(self, hidden: Array) -> Array:
        return self.first + np.searchsorted(self.cuts, hidden, side="left")

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """Find the cuts under which the data are likeliest, at the model values x. Without any, the levels go from the
        least to the largest datum, and the cuts are those of x = 0, with half an observation more in every level.
        """
        from scipy.optimize import minimize
        from scipy.special import ndtri

        first, last = (int(np.rint(end)) for end in (t.min(), t.max()))
        if x is None:
            counts = 0.5 + np.bincount(np.rint(t).astype(np.intp) - first, weights=weights, minlength=last - first + 1)
            if len(counts) == 1:
                return dataclasses.replace(self, first=first)
            return dataclasses.replace(self, first=first, cuts=tuple(ndtri(np.cumsum(counts)[:-1] / counts.sum())))
        w = np.ones(len(t)) if weights is None else weights
        x = np.asarray(x, dtype=np.float64)

        def loss(free: Array) -> tuple[float, Array]:
            """In the first cut and the logarithms of the steps to the others, which keep them in order."""
            steps = np.exp(free[1:])
            trial = dataclasses.replace(self, cuts=tuple(free[0] + np.concatenate([[0.0], np.cumsum(steps)])))
            a, b, side = trial._ends(t, x)
            L, p, q = normal_between(a, b)
            k = np.rint(t).astype(np.intp) - self.first
            low, high = np.where(side > 0, p, q), np.where(side > 0, q, p)  # densities at the level's two cuts, over Z
            n = len(self.cuts)
            slope = np.bincount(k, w * low, n + 1)[1:] - np.bincount(k, w * high, n + 1)[:-1]
            after = np.cumsum(slope[::-1])[::-1]  # a step moves all cuts after it
            value = np.sum(w * (0.5 * np.maximum(a, 0) ** 2 - L))
            return float(value), np.concatenate([after[:1], after[1:] * steps])

        begin = np.concatenate([self.cuts[:1], np.log(np.diff(self.cuts))])
        found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=[(-30, 30)] + [(-12, 4)] * (len(begin) - 1))
        cuts = found.x[0] + np.concatenate([[0.0], np.cumsum(np.exp(found.x[1:]))])
        return dataclasses.replace(self, cuts=tuple(cuts))
