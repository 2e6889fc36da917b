"""Rows of factors regressed on features of their slices, in a sweep of the Gibbs sampler."""

from __future__ import annotations

import math

import numpy as np

from tensorfill.kernels._augment import Hyper
from tensorfill.kernels._chain import Chain, Structure
from tensorfill.kernels._numba import FASTMATH, inner
from tensorfill.kernels.base import Array
from tensorfill.kernels.compiled import compiled

jit = compiled(nogil=True, fastmath=FASTMATH, no_cpython_wrapper=True)


@inner
def by_features(structure: Structure, chain: Chain, n: int, i: int, column: int) -> float:
    """What the features of row i of the stack say about a column, in the unit of its middle."""
    total = 0.0
    for p in range(structure.width[n]):
        total += structure.features[i, p] * chain.slope[n, p, column]
    return total


@inner
def rows_by_features(structure: Structure, chain: Chain, n: int) -> Array:
    """Where the features put the rows of mode n, (I_n, K); no rows where they have none."""
    C, R, begin, columns = chain.F.shape[1], len(chain.size), structure.first[n], structure.columns[n]
    out = np.empty((structure.first[n + 1] - begin if structure.width[n] > 0 else 0, structure.free[n]))
    for c in range(out.shape[1]):
        size = chain.size[columns[c] - C + R] if n == structure.sequence[0] and columns[c] >= C - R else 1.0
        for i in range(len(out)):
            out[i, c] = size * by_features(structure, chain, n, begin + i, columns[c])
    return out


@inner
def put_back(around: Array, mean: Array, A: Array) -> None:
    """Add where features put the rows to their means and draws, all (rows, K)."""
    for i in range(len(around)):
        for c in range(around.shape[1]):
            mean[i, c] += around[i, c]
            A[i, c] += around[i, c]


@inner
def take_out(G: Array, around: Array, pull: Array) -> None:
    """Subtract G_i around_i from pull_i, (rows, K): then the way from `around` is drawn. Only the lower triangles of G
    count.
    """
    for i in range(len(around)):
        for r in range(around.shape[1]):
            pull[i, r] -= G[i, r, r] * around[i, r]
            for s in range(r):
                pull[i, r] -= G[i, r, s] * around[i, s]
                pull[i, s] -= G[i, r, s] * around[i, r]


@jit
def draw_slopes(structure: Structure, hyper: Hyper, chain: Chain, n: int, rng: np.random.Generator) -> None:
    """The slopes of every free column of mode n on the features of its rows, given these rows, and their precision.

    Features are orthogonal: so each slope has a draw of its own. The standard deviation of the slopes of a column has a
    half-Cauchy prior, as that of a main effect: features that say nothing about it may be as good as absent.
    """
    C, R, begin, width = chain.F.shape[1], len(chain.size), structure.first[n], structure.width[n]
    for c in range(structure.free[n]):
        column = structure.columns[n, c]
        size = chain.size[column - C + R] if n == structure.sequence[0] and column >= C - R else 1.0
        ridge, stiff, squares = chain.ridge[n, column], chain.stiff[n, column], 0.0
        for p in range(width):
            total = 0.0
            for i in range(begin, structure.first[n + 1]):
                total += structure.features[i, p] * chain.F[i, column]
            precision = ridge * structure.energy[n, p] + stiff
            slope = ridge * total / size / precision + rng.standard_normal() / math.sqrt(precision)
            chain.slope[n, p, column] = slope
            squares += slope**2
        rate = rng.standard_gamma(2 * hyper.effect_shape) / (hyper.effect_rate + stiff)
        chain.stiff[n, column] = rng.standard_gamma(hyper.effect_shape + 0.5 * width) / (rate + 0.5 * squares)


@jit
def no_slopes(structure: Structure, hyper: Hyper, chain: Chain, n: int, rng: np.random.Generator) -> None:
    """Stand in for `draw_slopes` where no mode has features: it need not be compiled."""
