"""Interpolation along an ordered mode: on the line between the known neighbours, or by a smoother that knows noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search, dense_table, from_table, watch
from tensorfill.choose.candidates.means import means_table
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.gaps import split_like_gaps
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


@dataclass(frozen=True)
class Along(Candidate):
    """What the two have in common: a mode along which neighbours tell something."""

    mode: int = 0
    dim: str = ""

    def knows_unseen(self, mode: int) -> bool:
        return mode == self.mode  # a slice along it lies between others

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        if facts.size > LARGEST:
            return "the tensor is too large to hold every entry"
        return True if facts.ordered else "no mode has neighbours that are alike"

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        for n in sorted(facts.ordered, key=lambda n: facts.modes[n].rough):
            yield cls(n, facts.modes[n].dim)

    @property
    def label(self) -> str:
        return f"{self.name} along {self.dim}"


@CANDIDATES.register("interpolation")
@dataclass(frozen=True)
class Interpolation(Along):
    """Straight lines between known neighbours along one mode, level beyond the ends."""

    assumes = "neighbours along one mode are alike, and hardly noisy"

    def cost(self, facts: Facts) -> float:
        return 5e-4 + 5e-8 * facts.size

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        X = along_lines(dense_table(obs.dense(dtype=np.float64), (self.mode,)), obs.position(self.mode))
        never = np.isnan(X)
        if never.any():
            X[never] = means_table(obs, facts, run, (self.mode,))[never]
        return Fitted(Filled(from_table(X, obs.shape, (self.mode,))))


def along_lines(X: Array, where: Array) -> Array:
    """Rows of X (k, L) with NaN on the line between the known neighbours, level beyond the ends; rows of NaN stay. The
    columns lie at `where`, (L,).
    """
    known = ~np.isnan(X)
    at = np.arange(X.shape[1])
    before = np.maximum.accumulate(np.where(known, at, -1), axis=1)
    after = np.flip(np.minimum.accumulate(np.flip(np.where(known, at, X.shape[1]), 1), axis=1), 1)
    left = np.where(before >= 0, before, after)
    right = np.where(after < X.shape[1], after, before)
    left, right = np.clip(left, 0, X.shape[1] - 1), np.clip(right, 0, X.shape[1] - 1)
    a, b = np.take_along_axis(X, left, 1), np.take_along_axis(X, right, 1)
    gap = where[right] - where[left]
    share = np.where(gap > 0, (where - where[left]) / np.where(gap > 0, gap, 1.0), 0.0)
    return a + share * (b - a)


@CANDIDATES.register("smoother")
@dataclass(frozen=True)
class Smoother(Along):
    """What the per-mode means leave, as series that wander, return to zero, and are seen through noise."""

    assumes = "what the means leave changes slowly along one mode, with noise of a size of its own"

    def cost(self, facts: Facts) -> float:
        fits = 2 * len(NOISE) * len(RETURN) + 1
        return 4e-3 + fits * (3e-8 * facts.size + 1e-5 * facts.shape[self.mode])

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        look = watch(run)
        X = dense_table(obs.dense(dtype=np.float64), (self.mode,))
        known = ~np.isnan(X)
        means = means_table(obs, facts, run, (self.mode,))
        rest, _ = split_like_gaps(obs, SHARE, np.random.default_rng([run.seed, 3]))  # across a run, other weights hold
        kept = dense_table(rest.mask, (self.mode,))
        aside = known & ~kept
        T = np.where(known, X, 0.0)
        scale = _spread(T, known)
        tie = 1.0 / np.diff(obs.position(self.mode))  # what is twice as far may wander by twice the variance
        best, least = (means, 0.0, np.inf), np.inf
        for base in (means, own_level(T, kept, means)):
            for noise in NOISE:
                for back in RETURN:
                    look()
                    found = base + wander(np.where(kept, T - base, 0.0), kept, noise, back, tie)
                    error = float(np.mean(((found - T) / scale)[aside] ** 2)) if aside.any() else np.inf
                    if error < least:
                        best, least = (base, noise, back), error
        base, noise, back = best
        if noise == 0.0:
            return Fitted(Filled(from_table(means, obs.shape, (self.mode,))))
        if base is not means:
            base = own_level(T, known, means)
        filled = base + wander(np.where(known, T - base, 0.0), known, noise, back, tie)
        return Fitted(Filled(from_table(filled, obs.shape, (self.mode,))), settings={"noise": noise, "return": back})


def _spread(T: Array, known: Array) -> Array:
    """Standard deviation of the known entries of each row, (k, 1); 1 where there is none."""
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = T.sum(axis=1, keepdims=True, where=known) / count
    spread = np.sqrt(((T - mean) ** 2).sum(axis=1, keepdims=True, where=known) / count)
    return np.where(spread > 0, spread, 1.0)


def own_level(T: Array, known: Array, means: Array) -> Array:
    """The mean of each row's own known entries where it has some, else `means`: (k, L)."""
    count = known.sum(axis=1, keepdims=True)
    own = T.sum(axis=1, keepdims=True, where=known) / np.maximum(count, 1)
    return np.where(count > 0, own, means)


def wander(T: Array, known: Array, noise: float, back: float, tie: Array) -> Array:
    """Rows of T (k, L) smoothed: argmin sum over known (x - t)^2 / noise + sum tie_j (x_j+1 - x_j)^2 + back sum x_j^2.

    One tridiagonal system per row, all rows at once: elimination forwards, substitution backwards.
    """
    L = T.shape[1]
    weight = known.T / noise  # (L, k)
    diagonal = weight + back
    diagonal[:-1] += tie[:, None]
    diagonal[1:] += tie[:, None]
    right = weight * T.T
    for j in range(1, L):
        diagonal[j] -= tie[j - 1] ** 2 / diagonal[j - 1]
        right[j] += tie[j - 1] * right[j - 1] / diagonal[j - 1]
    right[-1] /= diagonal[-1]
    for j in range(L - 2, -1, -1):
        right[j] = (right[j] + tie[j] * right[j + 1]) / diagonal[j]
    return right.T
