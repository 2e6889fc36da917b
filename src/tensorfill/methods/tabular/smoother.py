"""Series along an ordered mode, smoothed: each wanders, or its slope does, and is seen through noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.facts import Facts
from tensorfill.data.holdout import split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.data.unfolding import refold_modes, unfold_modes
from tensorfill.methods.base import METHODS, Run, Variants
from tensorfill.methods.tabular.interpolation import AlongMode, periods
from tensorfill.methods.tabular.means import means_table
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.typing import Array

# for the smoother, all relative to the variance of one step of the series: noise of one entry, and how strongly a
# series is drawn back to its mean. Held-out entries decide, on a coarse grid: errors are flat around their minimum.
NOISE = (0.01, 0.3, 3.0, 30.0)
RETURN = (1e-4, 0.02, 0.3)
# the same where it is the slope that changes by such steps; it returns to zero over about 1 / sqrt(TENSION) steps, so
# that a series neither swings far out inside a long gap nor runs away beyond its ends
NOISE_OF_BENDS = (0.01, 3.0, 1e3, 3e5)
TENSION = (1e-5, 1e-3, 0.1)
FIRM = 1e-9  # a return that only makes the system solvable
SHARE, SPLITS = 0.15, 3  # held out inside the candidate to choose among these, and in how many ways: one has few gaps
# Held-out entries of all series that count beside those of one when its own noise and return are chosen. Errors of the
# smoothers alone, on the tuned half of `bench choose`, two draws, over those with one choice for all series: 0.995 with
# 300, 0.996 with 100, 1.03 with 30; and a smooth series among rough ones is followed closely.
OWN = 200
BLOCK = 2**22  # numbers in the tables of as many choices as are solved for at once

# What series wander about, (k, L), given observations, and from them the values and which are known, (k, L) each.
Base = Callable[[Observations, Array, Array], Array]


@METHODS.register("smoother")
@dataclass(frozen=True)
class Smoother(AlongMode):
    """A local level with noise for each series (Kalman smoother), of what the per-mode means leave.

    Parameters
    ----------
    curved : does the slope wander rather than the series itself? (Smoothing splines rather than local levels)
    """

    reference = "Harvey: Forecasting, Structural Time Series Models and the Kalman Filter, 1989"
    assumes = "what the means leave changes slowly along one mode, with noise of a size of its own"
    use_when = "noisy series over time, each by itself"

    curved: bool = False

    def initial_variants(self, facts: Facts) -> int:
        return 2 + periods(facts)

    def along(self, mode: int, facts: Facts) -> Variants:
        for curved in (False, True):
            yield replace(self, mode=mode, dim=facts.modes[mode].dim, curved=curved)

    @property
    def label(self) -> str:
        return f"{super().label}, curved" if self.curved else super().label

    def cost(self, facts: Facts) -> float:
        return 0.008 + 6.5e-6 * facts.size + (8e-5 if self.curved else 4e-5) * self.length(facts)

    def fit(self, obs: Observations, run: Run) -> Completion:
        run = replace(run, facts=run.facts_of(obs))  # looked up once, for every part of the data
        mode = self.axis(obs, run)

        def means(some: Observations, T: Array, known: Array) -> Array:
            return means_table(some, run, (mode,))

        def levels(some: Observations, T: Array, known: Array) -> Array:
            return own_level(T, known, means(some, T, known))

        filled, settings = smooth_series(obs, mode, [means, levels], run, curved=self.curved)
        return self.completion(obs, run, filled, settings=settings)


def smooth_series(
    obs: Observations, mode: int, bases: Sequence[Base], run: Run, *, curved: bool = False
) -> tuple[Filled, dict[str, Any]]:
    """Return the fill of series along `mode`, and the settings chosen for it.

    Series wander about one of the `bases`, or their slope does; which base, and how much they wander, is decided by
    entries set aside as the gaps lie: across a run other weights hold than across one step.
    """
    move, grid = (bend, (NOISE_OF_BENDS, TENSION)) if curved else (wander, (NOISE, RETURN))
    check_time = run.deadline()
    X = unfold_modes(obs.dense(dtype=np.float64), (mode,))
    known = ~np.isnan(X)
    T = np.where(known, X, 0.0)
    scale = _spread(T, known)
    apart = np.diff(obs.position(mode))
    pairs = np.array(list(product(*grid)))  # (g, 2)
    tries = []  # (base, what of T is kept, both (k, L)) of every split and base
    for split in range(SPLITS):
        check_time()
        left, _ = split_like_gaps(obs, SHARE, np.random.default_rng([run.seed, 3, split]))
        kept = unfold_modes(left.mask, (mode,))
        for make in bases:
            check_time()
            tries.append((make(left, np.where(kept, T, 0.0), kept), kept))
    errors = np.zeros((len(tries), len(pairs), len(T)))  # of each series
    held = np.sum([known & ~kept for _, kept in tries[:: len(bases)]], axis=(0, 2))
    jobs = np.indices(errors.shape[:2]).reshape(2, -1)
    for t, g in zip(*(np.array_split(j, min(len(j), -(-len(j) * T.size // BLOCK))) for j in jobs), strict=True):
        check_time()
        base, kept = (np.concatenate(tables) for tables in zip(*(tries[k] for k in t), strict=True))
        full = np.tile(T, (len(t), 1))
        noises, returns = np.repeat(pairs[g].T, len(T), axis=1)
        found = base + move(np.where(kept, full - base, 0.0), kept, noises, returns, apart)
        off = np.where(np.tile(known, (len(t), 1)) & ~kept, found - full, 0.0) / np.tile(scale, (len(t), 1))
        errors[t, g] = (off**2).reshape(len(t), len(T), -1).sum(axis=2)
    chosen, pair = np.divmod(best_per_series(errors.reshape(SPLITS, -1, len(T)).sum(axis=0), held), len(pairs))
    noise, back = pairs[pair].T
    base = np.stack([make(obs, T, known) for make in bases])[chosen, np.arange(len(T))]
    filled = base + move(np.where(known, T - base, 0.0), known, noise, back, apart)
    settings = {"noise": np.unique(noise).tolist(), "tension" if curved else "return": np.unique(back).tolist()}
    return Filled(refold_modes(filled, obs.shape, (mode,))), settings


def best_per_series(squares: Array, held: Array) -> NDArray[np.intp]:
    """The best choice for each series, (k,), by the sums of squares of its held-out entries, (choices, k), of which it
    has so many, (k,). As likelihoods of numbers of unknown variance, of it and of OWN entries of all series together:
    a series with few entries follows the others.
    """
    least = np.finfo(np.float64).tiny
    alone = held * np.log(squares / np.maximum(held, 1) + least)
    together = np.log(squares.sum(axis=1) / max(held.sum(), 1) + least)
    return np.asarray(np.argmin(alone + OWN * together[:, None], axis=0))


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


def wander(T: Array, known: Array, noise: float | Array, back: float | Array, apart: Array) -> Array:
    """Rows of T (k, L) smoothed: argmin sum over known (x - t)^2 / noise + sum (x_j+1 - x_j)^2 / apart_j + back sum x^2
    `apart` (L - 1,) are the distances of neighbours: over twice the distance a row may wander by twice the variance.

    One tridiagonal system per row, all in one whose rows are not coupled. `noise` and `back` are numbers, or one for
    each row, (k,).
    """
    tie, weight = 1.0 / apart, known / np.reshape(noise, (-1, 1))
    bands = np.zeros((2, *T.shape))  # above the diagonal, and the diagonal
    bands[0, :, 1:] = -tie
    bands[1] = weight + np.reshape(back, (-1, 1))
    bands[1, :, :-1] += tie
    bands[1, :, 1:] += tie
    flat = bands.reshape(2, -1), (weight * T).ravel()
    from scipy.linalg import solveh_banded  # where it is used, so that help stays quick

    solved: Array = solveh_banded(*flat, overwrite_ab=True, overwrite_b=True, check_finite=False)
    return solved.reshape(T.shape)


def bend(T: Array, known: Array, noise: float | Array, tension: float | Array, apart: Array) -> Array:
    """As `wander`, with the squares of changes of slope (second divided differences) and `tension` times those of steps
    in place of those of steps. With hardly any of noise and tension, nearly cubic splines through the known entries.

    One system of five diagonals per row, all rows at once. `noise` and `tension` are numbers, or one for each row.
    """
    L, tie = T.shape[1], 1.0 / apart[:, None] * tension
    weight = known.T / noise  # (L, k)
    # slope_j = (x_j+1 - x_j) / apart_j; its change at each inner place, by the distance over which it changes
    D = np.zeros((L - 2, 3))
    D[:, 0], D[:, 2] = 1 / apart[:-1], 1 / apart[1:]
    D[:, 1] = -D[:, 0] - D[:, 2]
    D /= np.sqrt(0.5 * (apart[:-1] + apart[1:]))[:, None]
    own, next_one, second = np.zeros(L), np.zeros(L - 1), D[:, 0] * D[:, 2]  # the diagonals of D'D
    for k in range(3):
        own[k : L - 2 + k] += D[:, k] ** 2
    for k in range(2):
        next_one[k : L - 2 + k] += D[:, k] * D[:, k + 1]
    diagonal = weight + FIRM + own[:, None]
    diagonal[:-1] += tie
    diagonal[1:] += tie
    beside = np.broadcast_to(next_one[:, None] - tie, (L - 1, len(T))).copy()
    right = weight * T.T
    for j in range(L - 1):  # the row of j out of those of j + 1 and j + 2
        share = beside[j] / diagonal[j]
        diagonal[j + 1] -= share * beside[j]
        right[j + 1] -= share * right[j]
        if j < L - 2:
            beside[j + 1] -= share * second[j]
            share = second[j] / diagonal[j]
            diagonal[j + 2] -= share * second[j]
            right[j + 2] -= share * right[j]
    right[-1] /= diagonal[-1]
    for j in range(L - 2, -1, -1):
        right[j] -= beside[j] * right[j + 1]
        if j < L - 2:
            right[j] -= second[j] * right[j + 2]
        right[j] /= diagonal[j]
    return right.T
