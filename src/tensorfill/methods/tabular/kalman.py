"""Series that wander together: one model for what neighbours in time know and what the other series know.

With z_j (k,) the standardised series at position j and C (k, k) their correlations, x_1 ~ N(0, C), and x_j+1 is a_j x_j
plus sqrt(1 - a_j^2) times a draw from N(0, C), where a_j is `memory` to the power of the distance; z = x + noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.holdout import split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.data.unfolding import refold_modes, unfold_modes
from tensorfill.methods.base import METHODS, Run, Variants, unlimited
from tensorfill.methods.tabular.gaussian import em_cost
from tensorfill.methods.tabular.interpolation import AlongMode
from tensorfill.methods.tabular.smoother import SHARE
from tensorfill.methods.tabular.table import standardise
from tensorfill.models.normal import Normal
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.typing import Array

MOST_SERIES = 60  # a step along the mode takes time as their number cubed
# What entries set aside choose from: the variance of the noise in parts of that of a series, and how much of itself a
# series keeps from one step to the next.
NOISE = (1e-5, 1e-3, 0.03, 0.3)
MEMORY = (0.7, 0.9, 0.97, 0.99, 0.998)
SPLITS = 2  # ways to set entries aside: one has few gaps
SHRINK = 0.03  # of the correlations towards none: 0.01 to 0.1 do alike on the tuned half of `bench choose`
BLOCK = 2**22  # numbers in the matrices of as many choices as are solved for at once


@METHODS.register("kalman")
@dataclass(frozen=True)
class Kalman(AlongMode):
    """A multivariate AR(1) state-space model of series along one mode (Kalman smoother).

    Parameters
    ----------
    steps : are correlations those of the steps of the series rather than of the series themselves?
    """

    reference = "Shumway, Stoffer: An approach to time series smoothing and forecasting using the EM algorithm, 1982"
    assumes = "neighbours along one mode are alike, and series along it move together"
    use_when = "a few sensors over time, gaps in some of them while others are known"

    steps: bool = False

    def suits(self, facts: Facts) -> str | None:
        return super().suits(facts) or (None if _lines(facts) else f"not 2 to {MOST_SERIES} series")

    def variants(self, facts: Facts) -> Variants:
        for n in sorted(_lines(facts), key=lambda n: facts.modes[n].rough):
            for steps in (False, True):
                yield replace(self, mode=n, dim=facts.modes[n].dim, steps=steps)

    @property
    def label(self) -> str:
        return f"{super().label}, by steps" if self.steps else super().label

    def cost(self, facts: Facts) -> float:
        length = self.length(facts)
        count, choices = facts.size // length, SPLITS * len(NOISE) * len(MEMORY)
        return 3 * em_cost(length, count, facts.share) + length * (1.2e-4 + choices * (6e-6 + 1.2e-9 * count**3))

    def fit(self, obs: Observations, run: Run) -> Completion:
        check_time, mode = run.deadline(), self.axis(obs, run)
        X = unfold_modes(obs.dense(dtype=np.float64), (mode,)).T
        where = obs.position(mode)
        apart = np.diff(where) / np.median(np.diff(where))
        noise, memory = (grid.ravel() for grid in np.meshgrid(NOISE, MEMORY))
        errors = np.zeros(len(noise))
        for k in range(SPLITS):
            rest, _ = split_like_gaps(obs, SHARE, np.random.default_rng([run.seed, 3, k]))
            kept = unfold_modes(rest.mask, (mode,)).T
            errors += self._errors(X, kept, noise, memory, apart, check_time)
        best = slice(int(np.argmin(errors)), int(np.argmin(errors)) + 1)
        Z, level, scale = standardise(X)
        filled = wander_together(
            Z, correlations(Z, self.steps, check_time), noise[best], memory[best], apart, check_time
        )[0]
        settings = {"noise": float(noise[best][0]), "memory": float(memory[best][0])}
        answer = Filled(refold_modes((filled * scale + level).T, obs.shape, (mode,)))
        return self.completion(obs, run, answer, settings=settings)

    def _errors(
        self, X: Array, kept: Array, noise: Array, memory: Array, apart: Array, check_time: Callable[[], None]
    ) -> Array:
        """Sum of squares at the entries of X (L, k) that are known and not kept, for each pair: (g,)."""
        Z, level, scale = standardise(np.where(kept, X, np.nan))
        aside = ~np.isnan(X) & ~kept
        found = wander_together(Z, correlations(Z, self.steps, check_time), noise, memory, apart, check_time)
        errors: Array = ((found[:, aside] - ((X - level) / scale)[aside]) ** 2).sum(axis=1)
        return errors


def _lines(facts: Facts) -> list[int]:
    """The ordered modes along which there are a few series."""
    return [n for n in facts.ordered if 2 <= facts.size // facts.shape[n] <= MOST_SERIES]


def correlations(Z: Array, steps: bool, check_time: Callable[[], None] = unlimited) -> Array:
    """Of the columns of Z (L, k), or of their steps where any is known: (k, k)."""
    moves = np.diff(Z, axis=0)
    X = Z if not steps or np.isnan(moves).all() else standardise(moves)[0]
    S = Normal.standard(X.shape[1]).fit(X, SHRINK, check_time).S
    size = np.sqrt(np.diag(S))
    return S / size / size[:, None]


def wander_together(
    Z: Array, C: Array, noise: Array, memory: Array, apart: Array, check_time: Callable[[], None] = unlimited
) -> Array:
    """The posterior mean of x at every place of Z (L, k), NaN = missing, for each of g pairs of noise and memory:
    (g, L, k). The positions are `apart`, (L - 1,).
    """
    size = max(1, BLOCK // (len(Z) * len(C) ** 2))
    parts = [slice(start, start + size) for start in range(0, len(noise), size)]
    return np.concatenate([_solve(Z, np.linalg.inv(C), noise[s], memory[s], apart, check_time) for s in parts])


def _solve(Z: Array, K: Array, noise: Array, memory: Array, apart: Array, check_time: Callable[[], None]) -> Array:
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
        check_time()
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
