"""Compiled loops of the Gibbs sampler. Imported on first use only: Numba is slow to import.

Design: no loop here draws a random number; standard normals come in as arrays, so that the answer is the same for any
number of threads. A row's normal equations are made by one thread, in the order of its observations.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels._numba import inner, jit
from tensorfill.kernels.base import Array

SLAB = 2**15  # doubles of normal equations at once, where rows are apart: they stay in the cache
BLOCK = 64  # observations that enter the normal equations at once: sums over them are long enough for vector lanes


@jit
def systems(
    free: Array,
    fixed: Array,
    others: Array,
    order: Array,
    starts: Array,
    z: Array,
    w: Array,
    G: Array,
    h: Array,
) -> None:
    """Normal equations of the rows of one mode, G (rows, K, K), lower triangles, and h (rows, K).

    free (sum of I_n, K) and fixed (sum of I_n, D) are the stacked factors' columns that this mode draws, and those that
    are 1 in it. others (nnz, N - 1) address their rows, `order` the entries of z and w, both sorted by the mode's row:
    row i has starts[i] .. starts[i + 1] of them. Row i's weighted least squares: sum w k k' and sum w (z - o) k, with k
    the products of the others' free columns, o the sum of those of the fixed ones.
    """
    K, M, D = free.shape[1], others.shape[1], fixed.shape[1]
    k, weight, pull = np.empty((K + 3, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    for r in range(K, K + 3):
        for b in range(BLOCK):
            k[r, b] = 0
    u, v = np.empty(BLOCK), np.empty(BLOCK)
    for i in range(len(starts) - 1):
        for r in range(K):
            h[i, r] = 0
            for s in range(r + 1):
                G[i, r, s] = 0
        for start in range(starts[i], starts[i + 1], BLOCK):
            count = min(BLOCK, starts[i + 1] - start)
            for b in range(count):  # a loop of its own, so that many reads from far apart overlap
                weight[b], pull[b] = w[order[start + b]], z[order[start + b]]
            for b in range(count):
                a = others[start + b, 0]
                a2 = others[start + b, M - 1]
                offset = 0.0
                if M == 1:
                    for c in range(D):
                        offset += fixed[a, c]
                    for r in range(K):
                        k[r, b] = free[a, r]
                else:
                    for c in range(D):
                        product = fixed[a, c] * fixed[a2, c]
                        for m in range(1, M - 1):
                            product *= fixed[others[start + b, m], c]
                        offset += product
                    for r in range(K):
                        k[r, b] = free[a, r] * free[a2, r]
                    for m in range(1, M - 1):
                        a2 = others[start + b, m]
                        for r in range(K):
                            k[r, b] *= free[a2, r]
                pull[b] = weight[b] * (pull[b] - offset)
            _add_products(k, weight, pull, count, u, v, G, h, i)


@inner
def _add_products(
    k: Array, weight: Array, pull: Array, count: int, u: Array, v: Array, G: Array, h: Array, i: int
) -> None:
    """Add to h_i (K,) the sums of pull k, and to the lower triangle of G_i (K, K) those of weight k k', over `count`
    observations; k (K + 3, BLOCK), its last rows 0, weight and pull (BLOCK,). What is above the triangle is lost.

    Sums run along the observations, for two rows of G_i and four columns at once: a number read serves as often.
    """
    K = h.shape[1]
    for r in range(0, K, 2):
        a0 = a1 = 0.0
        for b in range(count):
            x0, x1, p = k[r, b], k[r + 1, b], pull[b]
            u[b], v[b] = weight[b] * x0, weight[b] * x1
            a0 += p * x0
            a1 += p * x1
        h[i, r] += a0
        if r + 1 < K:
            h[i, r + 1] += a1
        for s in range(0, r + 2, 4):
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            for b in range(count):
                y0, y1 = u[b], v[b]
                x0, x1, x2, x3 = k[s, b], k[s + 1, b], k[s + 2, b], k[s + 3, b]
                a0 += y0 * x0
                a1 += y0 * x1
                a2 += y0 * x2
                a3 += y0 * x3
                b0 += y1 * x0
                b1 += y1 * x1
                b2 += y1 * x2
                b3 += y1 * x3
            _put(G, i, r, s, a0, a1, a2, a3)
            if r + 1 < K:
                _put(G, i, r + 1, s, b0, b1, b2, b3)


@inner
def _put(G: Array, i: int, r: int, s: int, a0: float, a1: float, a2: float, a3: float) -> None:
    """Four sums added beside each other, as far as there are columns."""
    K = G.shape[1]
    G[i, r, s] += a0
    if s + 1 < K:
        G[i, r, s + 1] += a1
    if s + 2 < K:
        G[i, r, s + 2] += a2
    if s + 3 < K:
        G[i, r, s + 3] += a3


@jit
def shares(G: Array, h: Array, A: Array, Q: Array, q: Array) -> None:
    """Add to Q (K, K), lower triangle, and q (K,) the normal equations of one multiplier per column.

    G and h as `systems` made them for the rows A (rows, K).
    """
    K = A.shape[1]
    for i in range(len(A)):
        for r in range(K):
            q[r] += h[i, r] * A[i, r]
            for s in range(r + 1):
                Q[r, s] += G[i, r, s] * A[i, r] * A[i, s]


@inner
def cholesky(P: Array, K: int) -> None:
    """The lower triangle of P (K, K) becomes L of P = L'L, with inverses on its diagonal; the first row is work space.

    From the last row up: so all loops run along rows. A pivot lost to rounding is set to a tiny one.
    """
    corner = P[0, 0]
    for j in range(1, K):
        P[0, j] = P[j, j]
    for j in range(K - 1, -1, -1):
        whole = P[0, j] if j > 0 else corner
        inverse = 1 / np.sqrt(max(P[j, j], 1e-14 * abs(whole) + 1e-300))
        for t in range(j):
            P[j, t] *= inverse
        P[j, j] = inverse
        for i in range(j):
            f = P[j, i]
            for t in range(i + 1):
                P[i, t] -= f * P[j, t]


@inner
def solve_upper(L: Array, v: Array, K: int) -> None:
    """v becomes L'^-1 v; L as `cholesky` left it."""
    for i in range(K - 1, -1, -1):
        v[i] *= L[i, i]
        for t in range(i):
            v[t] -= L[i, t] * v[i]


@inner
def _draw_row(L: Array, v: Array, u: Array, mean: Array, out: Array, i: int) -> None:
    """mean_i = L^-1 v, out_i = mean_i + L^-1 u; both at once, as they read the same L. v and u are used up."""
    for r in range(len(v)):
        a, b = v[r], u[r]
        for t in range(r):
            a -= L[r, t] * v[t]
            b -= L[r, t] * u[t]
        v[r], u[r] = a * L[r, r], b * L[r, r]
        mean[i, r], out[i, r] = v[r], v[r] + u[r]


@jit
def draw_chain(
    G: Array, h: Array, ridge: Array, rho: Array, middle: Array, normals: Array, mean: Array, out: Array
) -> None:
    """All rows: row i has precision G_i + diag(ridge) about h_i + ridge middle, and neighbours are tied: minus log
    density + rho/2 (a_i - a_(i+1))^2 per column. Only the lower triangles of G count.

    The precision is block tridiagonal, its off-diagonal blocks -diag(rho): one block Cholesky down the rows, the draw
    on the way up. G and h are used up. normals, mean, out (rows, K).
    """
    K, I = len(ridge), len(G)  # noqa: E741
    tied, m = np.empty(K, np.int64), 0  # only m columns are tied, often a few of many
    for r in range(K):
        if rho[r] != 0:
            tied[m] = r
            m += 1
    back = np.empty((m, tied[m - 1] + 1 if m > 0 else 0))  # diag(rho) L_i^-1, without the rows that are zero
    high = back.shape[1]
    for i in range(I):
        P, v = G[i], h[i]
        ends = (i > 0) + (i < I - 1)
        for r in range(K):
            P[r, r] += ridge[r] + ends * rho[r]
            v[r] += ridge[r] * middle[r]
        if i > 0:  # P -= rho L^-1 L'^-1 rho of the row before
            before = h[i - 1]  # L'^-1 v of the row before
            for a in range(m):
                r = tied[a]
                for t in range(r + 1):
                    v[r] += back[a, t] * before[t]
                for c in range(a + 1):
                    total = 0.0
                    for t in range(tied[c] + 1):
                        total += back[a, t] * back[c, t]
                    P[r, tied[c]] -= total
        cholesky(P, K)
        solve_upper(P, v, K)
        for a in range(m):
            r = tied[a]
            for t in range(r):
                back[a, t] = 0
            back[a, r] = rho[r]
            solve_upper(P, back[a], r + 1)
    v, u = np.empty(K), np.empty(K)
    for i in range(I - 1, -1, -1):
        P = G[i]
        for r in range(K):  # both are linear: the mean, and the draw's way from it
            v[r] = rho[r] * mean[i + 1, r] if i < I - 1 else 0.0
            u[r] = rho[r] * (out[i + 1, r] - mean[i + 1, r]) if i < I - 1 else 0.0
        solve_upper(P, v, high)
        solve_upper(P, u, high)
        for r in range(K):
            v[r] += h[i, r]
            u[r] += normals[i, r]
        _draw_row(P, v, u, mean, out, i)
