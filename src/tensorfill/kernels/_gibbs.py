"""Compiled loops of the Gibbs sampler. Imported on first use only: Numba is slow to import.

Design: no loop here draws a random number; standard normals come in as arrays, so that the answer is the same for any
number of threads. A row's normal equations are made by one thread, in the order of its observations.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels._numba import jit
from tensorfill.kernels.base import Array

BLOCK = 64  # observations that enter the normal equations at once: sums over them are long enough for vector lanes


@jit
def predict(F: Array, rows: Array, x: Array) -> None:
    """x_i = sum_c prod_n F[rows[i, n], c]; rows (nnz, N) address the stacked factors F."""
    N, C = rows.shape[1], F.shape[1]
    for i in range(len(rows)):
        total = 0.0
        a, b = rows[i, 0], rows[i, N - 1]
        if N == 2:
            for c in range(C):
                total += F[a, c] * F[b, c]
        elif N == 3:
            m = rows[i, 1]
            for c in range(C):
                total += F[a, c] * F[m, c] * F[b, c]
        else:
            for c in range(C):
                product = F[a, c] * F[b, c]
                for n in range(1, N - 1):
                    product *= F[rows[i, n], c]
                total += product
        x[i] = total


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
    k, weight, pull = np.empty((K, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
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
                e = start + b
                a = others[e, 0]
                offset = 0.0
                if M == 1:
                    for c in range(D):
                        offset += fixed[a, c]
                    for r in range(K):
                        k[r, b] = free[a, r]
                else:
                    a2 = others[e, 1]
                    for c in range(D):
                        product = fixed[a, c] * fixed[a2, c]
                        for m in range(2, M):
                            product *= fixed[others[e, m], c]
                        offset += product
                    for r in range(K):
                        k[r, b] = free[a, r] * free[a2, r]
                    for m in range(2, M):
                        a2 = others[e, m]
                        for r in range(K):
                            k[r, b] *= free[a2, r]
                pull[b] = weight[b] * (pull[b] - offset)
            _add_products(k, weight, pull, count, u, v, G, h, i)


@jit
def _add_products(
    k: Array, weight: Array, pull: Array, count: int, u: Array, v: Array, G: Array, h: Array, i: int
) -> None:
    """Add to h_i (K,) the sums of pull k, and to the lower triangle of G_i (K, K) those of weight k k', over `count`
    observations; k (K, BLOCK), the others (BLOCK,), u and v work space.

    Sums run along the observations, for two rows of G_i and up to four columns at once: a number read serves as often.
    """
    K = len(k)
    for r in range(0, K - 1, 2):
        h0 = h1 = d0 = d1 = d2 = 0.0
        for b in range(count):
            x0, x1, p = k[r, b], k[r + 1, b], pull[b]
            y0, y1 = weight[b] * x0, weight[b] * x1
            u[b], v[b] = y0, y1
            h0 += p * x0
            h1 += p * x1
            d0 += y0 * x0
            d1 += y1 * x0
            d2 += y1 * x1
        h[i, r] += h0
        h[i, r + 1] += h1
        G[i, r, r] += d0
        G[i, r + 1, r] += d1
        G[i, r + 1, r + 1] += d2
        fours = r // 4 * 4
        for s in range(0, fours, 4):
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
            _put(G, i, r + 1, s, b0, b1, b2, b3)
        if fours < r:  # two columns are left
            a0 = a1 = b0 = b1 = 0.0
            for b in range(count):
                x0, x1 = k[fours, b], k[fours + 1, b]
                a0 += u[b] * x0
                a1 += u[b] * x1
                b0 += v[b] * x0
                b1 += v[b] * x1
            G[i, r, fours] += a0
            G[i, r, fours + 1] += a1
            G[i, r + 1, fours] += b0
            G[i, r + 1, fours + 1] += b1
    if K % 2:
        _add_last(k, weight, pull, count, u, G, h, i)


@jit
def _add_last(k: Array, weight: Array, pull: Array, count: int, u: Array, G: Array, h: Array, i: int) -> None:
    """The last row of G_i and h_i, which is alone where K is odd; as `_add_products`."""
    r = len(k) - 1
    total = 0.0
    for b in range(count):
        u[b] = weight[b] * k[r, b]
        total += pull[b] * k[r, b]
    h[i, r] += total
    for s in range(0, r, 2):
        a0 = a1 = 0.0
        for b in range(count):
            a0 += u[b] * k[s, b]
            a1 += u[b] * k[s + 1, b]
        G[i, r, s] += a0
        G[i, r, s + 1] += a1
    total = 0.0
    for b in range(count):
        total += u[b] * k[r, b]
    G[i, r, r] += total


@jit
def _put(G: Array, i: int, r: int, s: int, a0: float, a1: float, a2: float, a3: float) -> None:
    """Four sums added beside each other."""
    G[i, r, s] += a0
    G[i, r, s + 1] += a1
    G[i, r, s + 2] += a2
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


@jit
def cholesky(P: Array, K: int) -> None:
    """The lower triangle of P (K, K) becomes its Cholesky factor; a pivot lost to rounding is set to a tiny one."""
    for j in range(K):
        d = P[j, j]
        for t in range(j):
            d -= P[j, t] * P[j, t]
        d = np.sqrt(max(d, 1e-14 * abs(P[j, j]) + 1e-300))
        P[j, j] = d
        for i in range(j + 1, K):
            total = P[i, j]
            for t in range(j):
                total -= P[i, t] * P[j, t]
            P[i, j] = total / d


@jit
def solve_lower(L: Array, v: Array, K: int) -> None:
    """v becomes L^-1 v."""
    for i in range(K):
        total = v[i]
        for t in range(i):
            total -= L[i, t] * v[t]
        v[i] = total / L[i, i]


@jit
def solve_upper(L: Array, v: Array, K: int) -> None:
    """v becomes L'^-1 v, by columns of L' so that memory is read along rows."""
    for i in range(K - 1, -1, -1):
        v[i] /= L[i, i]
        for t in range(i):
            v[t] -= L[i, t] * v[i]


@jit
def draw_rows(G: Array, h: Array, ridge: Array, middle: Array, normals: Array, mean: Array, out: Array) -> None:
    """Every row (K,) from its own normal distribution: precision G + diag(ridge), about h + ridge middle.

    Only the lower triangles of G count. normals, mean, out (rows, K).
    """
    K = len(ridge)
    P, v = np.empty((K, K)), np.empty(K)
    for i in range(len(G)):
        for r in range(K):
            for s in range(r):
                P[r, s] = G[i, r, s]
            P[r, r] = G[i, r, r] + ridge[r]
            v[r] = h[i, r] + ridge[r] * middle[r]
        cholesky(P, K)
        solve_lower(P, v, K)
        solve_upper(P, v, K)
        for r in range(K):
            mean[i, r] = v[r]
            v[r] = normals[i, r]
        solve_upper(P, v, K)
        for r in range(K):
            out[i, r] = mean[i, r] + v[r]


@jit
def draw_chain(
    G: Array, h: Array, ridge: Array, rho: Array, middle: Array, normals: Array, mean: Array, out: Array
) -> None:
    """All rows at once where neighbours are tied: minus log density + rho/2 (a_i - a_(i+1))^2 per column.

    The precision is block tridiagonal, its off-diagonal blocks -diag(rho): one block Cholesky down the rows, the draw
    on the way up. G and h are used up. normals, mean, out (rows, K).
    """
    K, I = len(ridge), len(G)  # noqa: E741
    columns = np.flatnonzero(rho)  # only these are tied, often a few of many
    m = len(columns)
    low = columns[0] if m else K
    back = np.zeros((K, m))  # L_i^-1 diag(rho), without the columns that are zero
    for i in range(I):
        P, v = G[i], h[i]
        ends = (i > 0) + (i < I - 1)
        for r in range(K):
            P[r, r] += ridge[r] + ends * rho[r]
            v[r] += ridge[r] * middle[r]
        if i > 0:  # P -= rho L^-T L^-1 rho of the row before
            before = h[i - 1]  # L^-1 v of the row before
            for t in range(low, K):
                for a in range(m):
                    b = back[t, a]
                    r = columns[a]
                    v[r] += b * before[t]
                    for c in range(a + 1):
                        P[r, columns[c]] -= b * back[t, c]
        cholesky(P, K)
        solve_lower(P, v, K)
        for t in range(low, K):  # L X = diag(rho), by rows: X is lower triangular
            for a in range(m):
                back[t, a] = rho[t] if columns[a] == t else 0.0
            for j in range(low, t):
                f = P[t, j]
                for a in range(m):
                    back[t, a] -= f * back[j, a]
            for a in range(m):
                back[t, a] /= P[t, t]
    tied, v = np.empty(K), np.empty(K)
    for i in range(I - 1, -1, -1):
        P = G[i]
        for source, target in ((h, mean), (normals, out)):  # both are linear: the mean, and the draw's way from it
            for r in range(K):
                v[r] = source[i, r]
            if i < I - 1:  # + L^-1 diag(rho) a_(i+1)
                for r in range(K):
                    tied[r] = rho[r] * target[i + 1, r]
                solve_lower(P, tied, K)
                for r in range(K):
                    v[r] += tied[r]
            solve_upper(P, v, K)
            for r in range(K):
                target[i, r] = v[r]
    for i in range(I):
        for r in range(K):
            out[i, r] += mean[i, r]
