"""Interpolation along an ordered mode: on the line between the known neighbours, or by a smoother that knows noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search, dense_table, from_table
from tensorfill.choose.candidates.means import Means
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled

Array = NDArray[Any]

# for the smoother, all relative to the variance of one step of the series: noise of one entry, and how strongly a
# series is drawn back to its mean. Held-out entries decide, on a coarse grid: errors are flat around their minimum.
NOISE = (0.01, 0.3, 3.0, 30.0)
RETURN = (1e-4, 0.02, 0.3)
SHARE = 0.15  # held out inside the candidate to choose among these
LARGEST = 2**24  # entries


class Along(Candidate):
    """What the two have in common: a mode along which neighbours tell something."""

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        if facts.size > LARGEST:
            return "the tensor is too large to hold every entry"
        return True if facts.ordered else "no mode has neighbours that are alike"


@CANDIDATES.register("interpolation")
@dataclass(frozen=True)
class Interpolation(Along):
    """Straight lines between known neighbours along one mode, level beyond the ends."""

    assumes = "neighbours along one mode are alike, and hardly noisy"

    mode: int = 0
    dim: str = ""

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        for n in sorted(facts.ordered, key=lambda n: facts.modes[n].rough):
            yield cls(n, facts.modes[n].dim)

    @property
    def label(self) -> str:
        return f"interpolation along {self.dim}"

    def cost(self, facts: Facts) -> float:
        return 2e-3 + 1e-7 * facts.size

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        X = along_lines(dense_table(obs, self.mode))
        never = np.isnan(X)
        if never.any():
            X[never] = dense_means(obs, facts, run, self.mode)[never]
        return Fitted(Filled(from_table(X, obs.shape, self.mode)))


def dense_means(obs: Observations, facts: Facts, run: Run, mode: int) -> Array:
    """The per-mode means as a matrix with `mode` along its columns."""
    X = Means().fit(obs, facts, run).answer.full()
    return np.moveaxis(X, mode, -1).reshape(-1, obs.shape[mode])


def along_lines(X: Array) -> Array:
    """Rows of X (k, L) with NaN on the line between the known neighbours, level beyond the ends; rows of NaN stay."""
    known = ~np.isnan(X)
    at = np.arange(X.shape[1])
    before = np.maximum.accumulate(np.where(known, at, -1), axis=1)
    after = np.flip(np.minimum.accumulate(np.flip(np.where(known, at, X.shape[1]), 1), axis=1), 1)
    left = np.where(before >= 0, before, after)
    right = np.where(after < X.shape[1], after, before)
    left, right = np.clip(left, 0, X.shape[1] - 1), np.clip(right, 0, X.shape[1] - 1)
    a, b = np.take_along_axis(X, left, 1), np.take_along_axis(X, right, 1)
    gap = right - left
    share = np.where(gap > 0, (at - left) / np.maximum(gap, 1), 0.0)
    return a + share * (b - a)


@CANDIDATES.register("smoother")
@dataclass(frozen=True)
class Smoother(Along):
    """What the per-mode means leave, as series that wander, return to zero, and are seen through noise."""

    assumes = "what the means leave changes slowly along one mode, with noise of a size of its own"

    mode: int = 0
    dim: str = ""

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        for n in sorted(facts.ordered, key=lambda n: facts.modes[n].rough):
            yield cls(n, facts.modes[n].dim)

    @property
    def label(self) -> str:
        return f"smoother along {self.dim}"

    def cost(self, facts: Facts) -> float:
        fits = len(NOISE) * len(RETURN) + 1
        return 5e-3 + fits * (6e-8 * facts.size + 2e-5 * facts.shape[self.mode])

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        means = dense_means(obs, facts, run, self.mode)
        rest = dense_table(obs, self.mode) - means
        known = ~np.isnan(rest)
        T = np.where(known, rest, 0.0)
        aside = known & (np.random.default_rng([run.seed, 3]).random(rest.shape) < SHARE)
        steps = np.diff(np.where(known, rest, np.nan), axis=1)
        variance = float(np.nanmean(steps**2)) if np.isfinite(steps).any() else 0.0
        if not variance > 0 or not aside.any():
            return Fitted(Filled(from_table(means, obs.shape, self.mode)))
        kept = known & ~aside
        tried = [(noise, back) for noise in NOISE for back in RETURN]
        errors = [float(np.mean((wander(T, kept, *pair)[aside] - T[aside]) ** 2)) for pair in tried]
        noise, back = tried[int(np.argmin(errors))]
        X = means + wander(T, known, noise, back)
        settings = {"noise": noise, "return": back}
        return Fitted(Filled(from_table(X, obs.shape, self.mode)), settings=settings)


def wander(T: Array, known: Array, noise: float, back: float) -> Array:
    """Rows of T (k, L) smoothed: argmin sum over known (x - t)^2 / noise + sum (x_j+1 - x_j)^2 + back sum x_j^2.

    One tridiagonal system per row, all rows at once: elimination forwards, substitution backwards.
    """
    L = T.shape[1]
    weight = known.T / noise  # (L, k)
    diagonal = weight + back + 2.0
    diagonal[0] -= 1.0
    diagonal[-1] -= 1.0
    right = weight * T.T
    for j in range(1, L):
        diagonal[j] -= 1.0 / diagonal[j - 1]
        right[j] += right[j - 1] / diagonal[j - 1]
    right[-1] /= diagonal[-1]
    for j in range(L - 2, -1, -1):
        right[j] = (right[j] + right[j + 1]) / diagonal[j]
    return right.T
