"""Series that wander together: one model for what neighbours in time know and what the other series know.

With z_j (k,) the standardised series at position j and C (k, k) their correlations, x_1 ~ N(0, C), and x_j+1 is a_j x_j
plus sqrt(1 - a_j^2) times a draw from N(0, C), where a_j is `memory` to the power of the distance; z = x + noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import CANDIDATES, Fitted, Search, dense_table, from_table, never, watch
from tensorfill.choose.candidates.columns import em_cost, expectation_maximisation, standardised
from tensorfill.choose.candidates.interpolate import SHARE, Along
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.holdout import split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled

Array = NDArray[Any]

MOST_SERIES = 60  # a step along the mode takes time as their number cubed
# What entries set aside choose from: the variance of the noise in parts of that of a series, and how much of itself a
# series keeps from one step to the next.
NOISE = (1e-5, 1e-3, 0.03, 0.3)
MEMORY = (0.7, 0.9, 0.97, 0.99, 0.998)
SPLITS = 2  # ways to set entries aside: one has few gaps
SHRINK = 0.03  # of the correlations towards none: 0.01 to 0.1 do alike on the tuned half of `bench choose`
BLOCK = 2**22  # numbers in the matrices of as many choices as are solved for at once


@CANDIDATES.register("together")
@dataclass(frozen=True)
class Together(Along):
    """Series that wander along one mode, return to their means, are seen through noise, and move with one another."""

    assumes = "neighbours along one mode are alike, and series along it move together"

    steps: bool = False  # is C the correlation of their steps rather than of themselves?

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        able = super().can(facts, given)
        return able if able is not True or _lines(facts) else f"it is no set of 2 to {MOST_SERIES} series"

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        for n in sorted(_lines(facts), key=lambda n: facts.modes[n].rough):
            yield cls(n, facts.modes[n].dim)
            yield cls(n, facts.modes[n].dim, steps=True)

    @property
    def label(self) -> str:
        return f"{super().label}, by steps" if self.steps else super().label

    def cost(self, facts: Facts) -> float:
        length = facts.shape[self.mode]
        count, choices = facts.size // length, SPLITS * len(NOISE) * len(MEMORY)
        return 3 * em_cost(length, count, facts.share) + length * (1.2e-4 + choices * (6e-6 + 1.2e-9 * count**3))

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        look = watch(run)
        X = dense_table(obs.dense(dtype=np.float64), (self.mode,)).T
        where = obs.position(self.mode)
        apart = np.diff(where) / np.median(np.diff(where))
        noise, memory = (grid.ravel() for grid in np.meshgrid(NOISE, MEMORY))
        errors = np.zeros(len(noise))
        for k in range(SPLITS):
            rest, _ = split_like_gaps(obs, SHARE, np.random.default_rng([run.seed, 3, k]))
            kept = dense_table(rest.mask, (self.mode,)).T
            errors += self._errors(X, kept, noise, memory, apart, look)
        best = slice(int(np.argmin(errors)), int(np.argmin(errors)) + 1)
        Z, level, scale = standardised(X)
        filled = wander_together(Z, correlations(Z, self.steps, look), noise[best], memory[best], apart, look)[0]
        settings = {"noise": float(noise[best][0]), "memory": float(memory[best][0])}
        return Fitted(Filled(from_table((filled * scale + level).T, obs.shape, (self.mode,))), settings=settings)

    def _errors(
        self, X: Array, kept: Array, noise: Array, memory: Array, apart: Array, look: Callable[[], None]
    ) -> Array:
        """Sum of squares at the entries of X (L, k) that are known and not kept, for each pair: (g,)."""
        Z, level, scale = standardised(np.where(kept, X, np.nan))
        aside = ~np.isnan(X) & ~kept
        found = wander_together(Z, correlations(Z, self.steps, look), noise, memory, apart, look)
        errors: Array = ((found[:, aside] - ((X - level) / scale)[aside]) ** 2).sum(axis=1)
        return errors


def _lines(facts: Facts) -> list[int]:
    """The ordered modes along which there are a few series."""
    return [n for n in facts.ordered if 2 <= facts.size // facts.shape[n] <= MOST_SERIES]


def correlations(Z: Array, steps: bool, look: Callable[[], None] = never) -> Array:
    """Of the columns of Z (L, k), or of their steps where any is known: (k, k)."""
    moves = np.diff(Z, axis=0)
    _, S = expectation_maximisation(Z if not steps or np.isnan(moves).all() else standardised(moves)[0], SHRINK, look)
    size = np.sqrt(np.diag(S))
    return S / size / size[:, None]


def wander_together(
    Z: Array, C: Array, noise: Array, memory: Array, apart: Array, look: Callable[[], None] = never
) -> Array:
    """The posterior mean of x at every place of Z (L, k), NaN = missing, for each of g pairs of noise and memory:
    (g, L, k). The positions are `apart`, (L - 1,).
    """
    size = max(1, BLOCK // (len(Z) * len(C) ** 2))
    parts = [slice(start, start + size) for start in range(0, len(noise), size)]
    return np.concatenate([_solve(Z, np.linalg.inv(C), noise[s], memory[s], apart, look) for s in parts])


def _solve(Z: Array, K: Array, noise: Array, memory: Array, apart: Array, look: Callable[[], None]) -> Array:
    """A block tridiagonal system: K = C^-1 times `own` plus what is known, / noise, on its diagonal, -K times `tie`
    beside it. Elimination forwards, substitution backwards, all g pairs at once.
    """
    L, k = Z.shape
    known, at = ~np.isnan(Z), np.arange(k)
    a = memory[:, None] ** apart
    new = np.maximum(1 - a**2, 1e-9)  # variance of a step
    own, tie = np.ones((len(noise), L)), (a / new)[:, :, None, None]
    own[:, 1:] = 1 / new
    own[:, :-1] += a**2 / new
    right = np.moveaxis(np.where(known, Z, 0.0) / noise[:, None, None], 1, 0)[..., None].copy()  # (L, g, k, 1)
    inverse = np.empty((L, len(noise), k, k))
    for j in range(L):
        look()
        D = own[:, j, None, None] * K
        D[:, at, at] += known[j] / noise[:, None]
        if j:
            passed = tie[:, j - 1] * (K @ inverse[j - 1])
            D -= tie[:, j - 1] * (passed @ K)
            right[j] += passed @ right[j - 1]
        inverse[j] = np.linalg.inv(D)
    x = inverse[-1] @ right[-1]
    out = [x]
    for j in range(L - 2, -1, -1):
        x = inverse[j] @ (right[j] + tie[:, j] * (K @ x))
        out.append(x)
    return np.stack(out[::-1], axis=1)[..., 0]
