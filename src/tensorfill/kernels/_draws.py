"""Draws of one mode in a sweep of the Gibbs sampler: rows, precisions of columns, sizes of components."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfill.kernels._augment import Hyper
from tensorfill.kernels._chain import Chain, Places, Structure
from tensorfill.kernels._gibbs import cholesky, shares, solve_lower, solve_upper
from tensorfill.kernels._numba import FASTMATH
from tensorfill.kernels._slopes import by_features, put_back, rows_by_features, take_out
from tensorfill.kernels.base import Array
from tensorfill.kernels.compiled import compiled

SLAB = 2**15  # doubles of normal equations at once, where rows are drawn one by one: they stay in the cache
# called from compiled code alone: a wrapper that unpacks the tuples of Python would take as long to compile again
jit = compiled(nogil=True, fastmath=FASTMATH, no_cpython_wrapper=True)

SMALLEST = 1e-8  # a size is never closer to zero, for it is divided by


@jit
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
    keep: Array,
    Q: Array,
    q: Array,
    rng: np.random.Generator,
) -> None:
    """The rows (I_n, K) of mode n over its free columns, given all else; their mean, too, into `keep` (I_n, C) unless
    that has no rows. Q (C, C) and q (C,) become the normal equations of a multiplier of each column.
    """
    F, K, R = chain.F, structure.free[n], len(chain.size)
    (rows, C), begin, columns = F.shape, structure.first[n], structure.columns[n]
    length = structure.first[n + 1] - begin
    others, order, starts = places.others[n], places.order[n], places.starts[begin + n : begin + n + length + 1]
    free, fixed, prior, alone = np.empty((rows, K)), np.empty((rows, C - K)), np.empty((3, K)), True
    around = rows_by_features(structure, chain, n)
    for c in range(C):
        for i in range(rows):
            if c < K:
                free[i, c] = F[i, columns[c]]
            else:
                fixed[i, c - K] = F[i, columns[c]]
    for c in range(K):
        size = chain.size[columns[c] - C + R] if n == structure.sequence[0] and columns[c] >= C - R else 1.0
        prior[0, c] = chain.ridge[n, columns[c]] / size**2
        prior[1, c] = prior[0, c] * chain.ratio[n, columns[c]]
        prior[2, c] = chain.middle[n, columns[c]] * size
        alone = alone and prior[1, c] == 0
    slab = max(1, min(length, SLAB // K**2)) if alone else length
    G, h, normals = np.empty((slab, K, K)), np.empty((slab, K)), np.empty((slab, K))
    A, mean = np.empty((length, K)), np.empty((length, K))
    q[:K], Q[:K, :K] = 0, 0
    for start in range(0, length, slab):
        m = min(slab, length - start)
        part = slice(start, start + m)
        systems(free, fixed, others, order, starts[start : start + m + 1], z, w, G[:m], h[:m])
        for i in range(m):
            for c in range(K):
                normals[i, c] = rng.standard_normal()
        used, pull = G[:m].copy(), h[:m].copy()
        take_out(G, around[part], pull)
        if structure.rings[n] and not alone:
            ring(tied, free[begin : begin + length], used, pull, prior, normals, mean, A, rng)
        else:
            tied(used, pull, prior[0], prior[1], prior[2], normals[:m], mean[part], A[part])
        put_back(around[part], mean[part], A[part])
        shares(G[:m], h[:m], A[part], Q, q)
    for i in range(length):
        for c in range(K):
            F[begin + i, columns[c]] = A[i, c]
            if len(keep) > 0:
                keep[i, columns[c]] = mean[i, c]


@jit
def draw_ring(
    tied: Any,
    before: Array,
    G: Array,
    h: Array,
    prior: Array,
    normals: Array,
    mean: Array,
    A: Array,
    rng: np.random.Generator,
) -> None:
    """The rows of a ring, `before` (I, K): the first given its two neighbours, all others, a chain tied to it, and then
    one step for all rows together, which the ties to the first would hold in place. G and h are used up; prior (3, K):
    ridge, rho and middle.
    """
    ridge, rho, middle = prior[0], prior[1], prior[2]
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
        h[0, r] += rho[r] * (before[1, r] + before[length - 1, r])
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


@jit
def no_ring(
    tied: Any,
    before: Array,
    G: Array,
    h: Array,
    prior: Array,
    normals: Array,
    mean: Array,
    A: Array,
    rng: np.random.Generator,
) -> None:
    """Stand in for `draw_ring` where no mode is a ring: it need not be compiled."""


@jit
def draw_precisions(structure: Structure, hyper: Hyper, chain: Chain, n: int, rng: np.random.Generator) -> None:
    """Ridge, ratio and middle of every free column of mode n, given its rows.

    Column a: minus log density ridge/2 (sum_i (a_i - middle)^2 + ratio sum_i (a_i - a_(i+1))^2), so the quadratic
    variation weighs ridge * ratio. The ratio lies on a grid that begins with 0: a mode without an order finds itself
    there. The ratio is drawn with the ridge integrated out. A main effect, which has no size, may be as good as absent:
    the rate of its ridge has a prior itself, so that its standard deviation has a half-Cauchy one.
    """
    F, choices, C, R = chain.F, structure.choices[n], chain.F.shape[1], len(chain.size)
    begin, end = structure.first[n], structure.first[n + 1]
    length = end - begin
    chances = np.empty(choices)
    for c in range(structure.free[n]):
        column = structure.columns[n, c]
        size = chain.size[column - C + R] if n == structure.sequence[0] and column >= C - R else 1.0
        middle, around, apart, total = chain.middle[n, column], 0.0, 0.0, 0.0
        last = F[end - 1 if structure.rings[n] else begin, column] / size
        for i in range(begin, end):
            value = F[i, column] / size - by_features(structure, chain, n, i, column)
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
            most = max(most, chances[g])
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


@jit
def draw_sizes(
    structure: Structure, hyper: Hyper, chain: Chain, n: int, Q: Array, q: Array, rng: np.random.Generator
) -> None:
    """All sizes at once, given the shapes of the components, of which Q, lower triangle, and q are the normal equations
    as mode n left them. Sizes shrink hard (a horseshoe).
    """
    R, size, hold = len(chain.size), chain.size, chain.hold
    D = structure.free[n] - R
    P, v = np.empty((R, R)), np.empty(R)
    for r in range(R):
        v[r] = q[D + r]
        for c in range(D):
            v[r] -= Q[D + r, c]
        for s in range(r):
            P[r, s] = Q[D + r, D + s]
        P[r, r] = Q[D + r, D + r] + hold[r] * size[r] ** 2
    cholesky(P, R)
    solve_upper(P, v, R)
    for r in range(R):
        v[r] += rng.standard_normal()
    solve_lower(P, v, R)
    start, stop = structure.first[structure.sequence[0]], structure.first[structure.sequence[0] + 1]
    C = chain.F.shape[1]
    total, shared = 0.0, chain.numbers[0]
    for r in range(R):
        new = size[r] * v[r]
        new = SMALLEST if abs(new) < SMALLEST else new
        for i in range(start, stop):
            chain.F[i, C - R + r] *= new / size[r]
        size[r] = new
        hold[r] = rng.standard_gamma(hyper.local + 0.5) / (hyper.local * shared + 0.5 * new**2)
        total += hold[r]
    shape = hyper.global_shape + hyper.local * R
    chain.numbers[0] = rng.standard_gamma(shape) / (hyper.global_rate + hyper.local * total)
