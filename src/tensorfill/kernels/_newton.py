"""Compiled loops of the second-order solvers. Imported on first use only: Numba is slow to import.

Design: a factor's quadratic model is, row by row, 1/2 a_i'G_i a_i - h_i'a_i, and a sparse Q (I, I) that ties rows
together column by column: 1/2 sum_ij Q_ij a_i'a_j. Only the lower triangles of G count. Rows are never shared between
threads, so that the answer is the same for any number of them.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels._gibbs import SLAB, draw_chain
from tensorfill.kernels._numba import inner, jit
from tensorfill.kernels.base import Array

JITTER = 1e-10  # of a row's mean curvature, towards where it was: a row of fewer observations than columns stays near
NOTHING = 1e-30  # the same for a row without any: it stays


def solve_rows(G: Array, h: Array, q: Array, start: Array, out: Array) -> None:
    """out_i = (G_i + q_i)^-1 h_i for every row, near start_i; q (I,), G (I, R, R), the others (I, R).

    As the mean of rows that the sampler draws: its loop is compiled for most data anyway.
    """
    R = G.shape[1]
    slab, diagonal, none = max(1, SLAB // R**2), np.arange(R), np.zeros(R)
    normals, draws = np.zeros((min(slab, len(G)), R)), np.empty((min(slab, len(G)), R))
    for a in range(0, len(G), slab):
        P, m = G[a : a + slab].copy(), min(slab, len(G) - a)
        part = slice(a, a + m)
        near = JITTER * P[:, diagonal, diagonal].mean(axis=1) + NOTHING
        P[:, diagonal, diagonal] += (q[part] + near)[:, None]
        v = h[part] + near[:, None] * start[part]
        draw_chain(P, v, none, none, none, normals[:m], out[part], draws[:m])


@jit
def lone_rows(
    F: Array, others: Array, order: Array, starts: Array, pull: Array, c: Array, q: Array, out: Array
) -> None:
    """Every column of `out` (I, T) by itself: least squares of pull / c with weights c on its product alone, ridge q.

    F, others, order, starts as in `systems`; a row that nothing determines is 0.
    """
    T, M = F.shape[1], others.shape[1]
    k, slope, curvature = np.empty(T), np.empty(T), np.empty(T)
    for i in range(len(starts) - 1):
        for r in range(T):
            slope[r] = curvature[r] = 0.0
        for e in range(starts[i], starts[i + 1]):
            a = others[e, 0]
            for r in range(T):
                k[r] = F[a, r]
            for m in range(1, M):
                a = others[e, m]
                for r in range(T):
                    k[r] *= F[a, r]
            p, w = pull[order[e]], c[order[e]]
            for r in range(T):
                slope[r] += p * k[r]
                curvature[r] += w * k[r] * k[r]
        for r in range(T):
            out[i, r] = slope[r] / (curvature[r] + q[i] + NOTHING)


@inner
def _descend_row(G: Array, i: int, h: Array, q: float, low: float, high: float, v: Array) -> float:
    """One pass over the entries of row i, v (R,): each at its minimum within the bounds. What the best of them gained.

    h (R,) is the row's own.
    """
    R = len(v)
    gain = 0.0
    for r in range(R):
        curvature = G[i, r, r] + q
        if curvature <= 0:
            continue
        slope = q * v[r] - h[r]
        for s in range(r):
            slope += G[i, r, s] * v[s]
        for s in range(r, R):
            slope += G[i, s, r] * v[s]
        new = min(max(v[r] - slope / curvature, low), high)
        gain = max(gain, curvature * (new - v[r]) ** 2)
        v[r] = new
    return gain


@jit
def box_rows(
    G: Array, h: Array, q: Array, low: float, high: float, passes: int, tol: float, start: Array, out: Array
) -> None:
    """Every row's minimum within low .. high; as far as `passes` lead from the row of `start`, which lies inside.

    The minimum without bounds, which `out` comes with (`solve_rows`), where it keeps to them, else coordinate descent
    until no move gains more than `tol` times what the first pass did: never above the start.
    """
    R = G.shape[1]
    v, own = np.empty(R), np.empty(R)
    for i in range(len(G)):
        inside = True
        for r in range(R):
            inside = inside and low <= out[i, r] <= high
        if not inside:
            for r in range(R):
                v[r], own[r] = start[i, r], h[i, r]
            first = _descend_row(G, i, own, q[i], low, high, v)
            for _ in range(passes - 1):
                if _descend_row(G, i, own, q[i], low, high, v) <= tol * first:
                    break
            for r in range(R):
                out[i, r] = v[r]


@jit
def box_sweep(
    G: Array, h: Array, indptr: Array, indices: Array, data: Array, low: float, high: float, passes: int, A: Array
) -> None:
    """One pass over the rows of A (I, R), in place: each nearer its minimum given the others, within the bounds.

    indptr, indices, data: Q by rows (CSR). `passes`: over the entries of a row.
    """
    R = G.shape[1]
    v, own = np.empty(R), np.empty(R)
    for i in range(len(G)):
        q = 0.0
        for r in range(R):
            v[r], own[r] = A[i, r], h[i, r]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i:
                q += data[p]
            else:
                for r in range(R):
                    own[r] -= data[p] * A[j, r]
        for _ in range(passes):
            _descend_row(G, i, own, q, low, high, v)
        for r in range(R):
            A[i, r] = v[r]


@jit
def fill_bands(G: Array, order: Array, extra: float, bands: Array) -> None:
    """Add G + extra to a banded matrix in LAPACK's lower form, bands (width + 1, I R); row order[i] is the i-th."""
    R = G.shape[1]
    for i in range(len(order)):
        row = order[i]
        for s in range(R):
            for r in range(s, R):
                bands[r - s, i * R + s] += G[row, r, s]
            bands[0, i * R + s] += extra


@jit
def multiply_rows(G: Array, V: Array, out: Array) -> None:
    """out_i = G_i V_i."""
    R = G.shape[1]
    for i in range(len(G)):
        for r in range(R):
            out[i, r] = 0
        for r in range(R):
            total = 0.0
            for s in range(r):
                total += G[i, r, s] * V[i, s]
                out[i, s] += G[i, r, s] * V[i, r]
            out[i, r] += total + G[i, r, r] * V[i, r]
