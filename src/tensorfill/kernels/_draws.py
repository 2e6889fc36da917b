"""Draws of one mode in a sweep of the Gibbs sampler: rows, precisions of columns, sizes of components, and
slopes of the rows on features of their slices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfill.kernels._augment import Hyper
from tensorfill.kernels._chain import Chain, Places, Slopes, Structure
from tensorfill.kernels._gibbs import SLAB, shares
from tensorfill.kernels._numba import addressed
from tensorfill.kernels.base import Array

SMALLEST = 1e-8  # a size is never closer to zero, for it is divided by


@addressed
def draw_mode(
    systems: Any,
    tied: Any,
    ring: Any,
    structure: Structure,
    places: Places,
    chain: Chain,
    n: int,
    z: Array,
    w: Array,
    means: Array,
    j: int,
    Q: Array,
    q: Array,
    rng: np.random.Generator,
) -> None:
    """The rows (I_n, K) of mode n over its free columns, given all else; their mean, too, into means[j] (I_n, C) unless
    j < 0. Q (C, C) and q (C,) become the normal equations of a multiplier of each column.
    """
    F, mode, columns, R = chain.F, structure.modes[n], structure.columns[n], len(chain.size)
    (rows, C), begin, length, K = F.shape, mode.begin, mode.end - mode.begin, mode.free
    others, order, starts = places.others[n], places.order[n], places.starts[begin + n : mode.end + n + 1]
    free, fixed, alone = np.empty((rows, K)), np.empty((rows, C - K)), True
    ridge, rho, middle, unit = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for i in range(rows):
        for c in range(K):
            free[i, c] = F[i, columns[c]]
        for c in range(K, C):
            fixed[i, c - K] = F[i, columns[c]]
    for c in range(K):
        unit[c] = chain.size[columns[c] - C + R] if mode.sized and columns[c] >= C - R else 1.0
        ridge[c] = chain.ridge[n, columns[c]] / unit[c] ** 2
        rho[c] = ridge[c] * chain.ratio[n, columns[c]]
        middle[c] = chain.middle[n, columns[c]] * unit[c]
        alone = alone and rho[c] == 0
        for r in range(K):
            Q[c, r], q[c] = 0, 0
    slab = max(1, min(length, SLAB // K**2)) if alone else length
    for start in range(0, length, slab):
        m = min(slab, length - start)
        G, h, used, pull = np.empty((m, K, K)), np.empty((m, K)), np.empty((m, K, K)), np.empty((m, K))
        normals, mean, A = np.empty((m, K)), np.empty((m, K)), np.empty((m, K))
        systems(free, fixed, others, order, starts[start : start + m + 1], z, w, G, h)
        for i in range(m):
            for r in range(K):
                normals[i, r] = rng.standard_normal()
                lean = chain.lean[begin + start + i, columns[r]] if mode.features > 0 else 0.0  # without ties
                pull[i, r] = h[i, r] + ridge[r] * unit[r] * lean
                for s in range(r + 1):
                    used[i, r, s] = G[i, r, s]
        if mode.ring and not alone:
            ring(tied, free, begin, used, pull, ridge, rho, middle, normals, mean, A, rng)
        else:
            tied(used, pull, ridge, rho, middle, normals, mean, A)
        shares(G, h, A, Q, q)
        for i in range(m):
            for c in range(K):
                F[begin + start + i, columns[c]] = A[i, c]
                if j >= 0:
                    means[j, start + i, columns[c]] = mean[i, c]


@addressed
def draw_ring(
    tied: Any,
    before: Array,
    begin: int,
    G: Array,
    h: Array,
    ridge: Array,
    rho: Array,
    middle: Array,
    normals: Array,
    mean: Array,
    A: Array,
    rng: np.random.Generator,
) -> None:
    """The rows of a ring, `before` (sum of I_n, K) from `begin` on: the first given its two neighbours, all others, a
    chain tied to it, and then one step for all rows together, which the ties to the first would hold in place. G and h
    are used up; ridge, rho and middle (K,).
    """
    length, K = A.shape
    total, pull, whole, none = np.zeros((1, K, K)), np.zeros((1, K)), G.copy(), np.zeros(K)
    for i in range(length):
        for r in range(K):
            pull[0, r] += h[i, r] + ridge[r] * middle[r]
            total[0, r, r] += ridge[r]
            for s in range(r + 1):
                total[0, r, s] += G[i, r, s]
    for r in range(K):
        G[0, r, r] += 2 * rho[r]
        h[0, r] += rho[r] * (before[begin + 1, r] + before[begin + length - 1, r])
    tied(G[:1], h[:1], ridge, none, middle, normals[:1], mean[:1], A[:1])
    for end in (1, length - 1):
        for r in range(K):
            G[end, r, r] += rho[r]
            h[end, r] += rho[r] * A[0, r]
    tied(G[1:], h[1:], ridge, rho, middle, normals[1:], mean[1:], A[1:])
    for i in range(length):
        for r in range(K):
            pull[0, r] -= ridge[r] * A[i, r] + whole[i, r, r] * A[i, r]
            for s in range(r):
                pull[0, r] -= whole[i, r, s] * A[i, s]
                pull[0, s] -= whole[i, r, s] * A[i, r]
    shift = np.empty((3, 1, K))
    for r in range(K):
        shift[2, 0, r] = rng.standard_normal()
    tied(total, pull, none, none, none, shift[2], shift[0], shift[1])
    for i in range(length):
        for r in range(K):
            A[i, r] += shift[1, 0, r]
            mean[i, r] += shift[0, 0, r]


@addressed
def no_ring(
    tied: Any,
    before: Array,
    begin: int,
    G: Array,
    h: Array,
    ridge: Array,
    rho: Array,
    middle: Array,
    normals: Array,
    mean: Array,
    A: Array,
    rng: np.random.Generator,
) -> None:
    """Stand in for `draw_ring` where no mode is a ring: it need not be compiled."""


@addressed
def draw_precisions(structure: Structure, hyper: Hyper, chain: Chain, n: int, rng: np.random.Generator) -> None:
    """Ridge, ratio and middle of every free column of mode n, given its rows.

    Column a: minus log density ridge/2 (sum_i (a_i - middle)^2 + ratio sum_i (a_i - a_(i+1))^2), so the quadratic
    variation weighs ridge * ratio. The ratio lies on a grid that begins with 0: a mode without an order finds itself
    there. The ratio is drawn with the ridge integrated out. A main effect, which has no size, may be as good as absent:
    the rate of its ridge has a prior itself, so that its standard deviation has a half-Cauchy one.
    """
    F, mode, C, R = chain.F, structure.modes[n], chain.F.shape[1], len(chain.size)
    begin, end, choices = mode.begin, mode.end, mode.choices
    length, chances = end - begin, np.empty(choices)
    for c in range(mode.free):
        column = structure.columns[n, c]
        size = chain.size[column - C + R] if mode.sized and column >= C - R else 1.0
        middle, around, apart, total = chain.middle[n, column], 0.0, 0.0, 0.0
        last = F[end - 1 if mode.ring else begin, column] / size
        for i in range(begin, end):
            value = F[i, column] / size
            if mode.features > 0:
                value -= chain.lean[i, column]
            around += (value - middle) ** 2
            apart += (value - last) ** 2
            total += value
            last = value
        shape, base = hyper.shape, hyper.rate
        if structure.effects[column]:
            shape = hyper.effect_shape
            base = rng.standard_gamma(2 * shape) / (hyper.effect_rate + chain.ridge[n, column])
        shape += 0.5 * length
        most = -math.inf
        for g in range(choices):
            rate = base + 0.5 * (around + structure.ratios[g] * apart)
            chances[g] = 0.5 * structure.log_det[n, g] - shape * math.log(rate)
            most = chances[g] if chances[g] > most else most
        for g in range(choices):
            chances[g] = math.exp(chances[g] - most) + (chances[g - 1] if g > 0 else 0.0)
        pick, level = 0, (rng.random() * chances[choices - 1] if choices > 1 else 0.0)
        while pick < choices - 1 and chances[pick] < level:
            pick += 1
        rate = base + 0.5 * (around + structure.ratios[pick] * apart)
        ridge = rng.standard_gamma(shape) / rate
        chain.ridge[n, column], chain.ratio[n, column] = ridge, structure.ratios[pick]
        if structure.moves[n, column]:
            precision = ridge * length + 1  # the middle's own prior is standard normal
            chain.middle[n, column] = ridge * total / precision + rng.standard_normal() / math.sqrt(precision)


@addressed
def draw_sizes(
    tied: Any, structure: Structure, hyper: Hyper, chain: Chain, n: int, Q: Array, q: Array, rng: np.random.Generator
) -> None:
    """All sizes at once, given the shapes of the components, of which Q, lower triangle, and q are the normal equations
    as mode n left them. Sizes shrink hard (a horseshoe).
    """
    R, size, hold = len(chain.size), chain.size, chain.hold
    D = structure.modes[n].free - R
    P, v, normals, none = np.empty((1, R, R)), np.empty((1, R)), np.empty((1, R)), np.empty(R)
    mean, drawn = np.empty((1, R)), np.empty((1, R))
    for r in range(R):
        v[0, r] = q[D + r]
        for c in range(D):
            v[0, r] -= Q[D + r, c]
        for s in range(r):
            P[0, r, s] = Q[D + r, D + s]
        P[0, r, r] = Q[D + r, D + r] + hold[r] * size[r] ** 2
        normals[0, r], none[r] = rng.standard_normal(), 0
    tied(P, v, none, none, none, normals, mean, drawn)
    held, C = structure.modes[structure.modes[0].turn], chain.F.shape[1]
    total, shared = 0.0, chain.numbers[0]
    for r in range(R):
        new = size[r] * drawn[0, r]
        new = SMALLEST if abs(new) < SMALLEST else new
        for i in range(held.begin, held.end):
            chain.F[i, C - R + r] *= new / size[r]
        size[r] = new
        hold[r] = rng.standard_gamma(hyper.local + 0.5) / (hyper.local * shared + 0.5 * new**2)
        total += hold[r]
    shape = hyper.global_shape + hyper.local * R
    chain.numbers[0] = rng.standard_gamma(shape) / (hyper.global_rate + hyper.local * total)


@addressed
def draw_slopes(
    structure: Structure, slopes: Slopes, hyper: Hyper, chain: Chain, n: int, rng: np.random.Generator
) -> None:
    """The slopes of every free column of mode n on the features of its rows, given these rows, and their precision; and
    where they put the rows.

    Features are orthogonal: so each slope has a draw of its own. The standard deviation of the slopes of a column has a
    half-Cauchy prior, as that of a main effect: features that say nothing about it may be as good as absent.
    """
    C, R, mode = chain.F.shape[1], len(chain.size), structure.modes[n]
    for c in range(mode.free):
        column = structure.columns[n, c]
        size = chain.size[column - C + R] if mode.sized and column >= C - R else 1.0
        ridge, stiff, squares = chain.ridge[n, column], slopes.stiff[n, column], 0.0
        for i in range(mode.begin, mode.end):
            chain.lean[i, column] = 0
        for p in range(mode.features):
            total = 0.0
            for i in range(mode.begin, mode.end):
                total += slopes.features[i, p] * chain.F[i, column]
            precision = ridge * slopes.energy[n, p] + stiff
            slope = ridge * total / size / precision + rng.standard_normal() / math.sqrt(precision)
            slopes.slope[n, p, column] = slope
            squares += slope**2
            for i in range(mode.begin, mode.end):
                chain.lean[i, column] += slopes.features[i, p] * slope
        rate = rng.standard_gamma(2 * hyper.effect_shape) / (hyper.effect_rate + stiff)
        stiff = rng.standard_gamma(hyper.effect_shape + 0.5 * mode.features) / (rate + 0.5 * squares)
        slopes.stiff[n, column] = stiff


@addressed
def no_slopes(
    structure: Structure, slopes: Slopes, hyper: Hyper, chain: Chain, n: int, rng: np.random.Generator
) -> None:
    """Stand in for `draw_slopes` where no mode has features: it need not be compiled."""
