"""Compiled loops of the self-similarity prior. Imports Numba: import this module inside functions only.

Design: pictures are (H, W, C), float32, in units of sigma, so every constant below is dimensionless. A call serves a
slab of reference rows and writes to accumulators of its own; the caller adds slabs in a fixed order, so the answer
does not depend on the number of threads. No BLAS: the matrices are small, and a threaded BLAS inside threads is slow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

FASTMATH = {"reassoc", "contract", "nsz"}  # sums may be reordered; NaN and infinity keep their meaning
MIX = 0.5  # share of the separable covariance (patches x channels) in that of a group; the rest is as sampled
CHANNELS = 0.3  # share of the whole picture's channel covariance in that of one group
LEVEL = 4.0  # variance of a group's common level
DATA = 0.3  # variance of an observed entry that guides, in units of sigma^2: it falls with sigma


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def match(guide: Array, rows: Array, columns: Array, patch: int, radius: int, out: Array) -> None:
    """For the patch at each (row, column): the corners v * W + u of the K nearest in its window, nearest first.

    guide (H, W, C); out (len(rows), len(columns), K), int32. The patch itself comes first; ties go to the first met.
    """
    H, W, C = guide.shape
    K, length = out.shape[2], patch * C
    lines = guide.reshape(H, W * C)
    distance = np.empty(K, np.float32)
    for a in range(len(rows)):
        y = rows[a]
        for b in range(len(columns)):
            x = columns[b]
            found, worst = 0, np.float32(np.inf)
            for v in range(max(0, y - radius), min(H - patch, y + radius) + 1):
                for u in range(max(0, x - radius), min(W - patch, x + radius) + 1):
                    s = np.float32(-1) if v == y and u == x else np.float32(0)
                    for i in range(patch):
                        part = np.float32(0)
                        for j in range(length):
                            d = lines[y + i, x * C + j] - lines[v + i, u * C + j]
                            part += d * d
                        s += part
                        if s >= worst:
                            break
                    if found < K:
                        k = found
                        found += 1
                    elif s < worst:
                        k = K - 1
                    else:
                        continue
                    while k > 0 and distance[k - 1] > s:
                        distance[k] = distance[k - 1]
                        out[a, b, k] = out[a, b, k - 1]
                        k -= 1
                    distance[k] = s
                    out[a, b, k] = v * W + u
                    if found == K:
                        worst = distance[K - 1]


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _gather(X: Array, corners: Array, patch: int, Y: Array, mean: Array) -> None:
    """Y[s, c K + k] = entry (s, c) of patch k, less its mean over the group, mean[s, c]."""
    W, C, K = X.shape[1], X.shape[2], len(corners)
    for k in range(K):
        v, u = corners[k] // W, corners[k] % W
        for i in range(patch):
            for j in range(patch):
                for c in range(C):
                    Y[i * patch + j, c * K + k] = X[v + i, u + j, c]
    for s in range(patch * patch):
        for c in range(C):
            total = np.float32(0)
            for k in range(K):
                total += Y[s, c * K + k]
            total /= np.float32(K)
            mean[s, c] = total
            for k in range(K):
                Y[s, c * K + k] -= total


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _spread(Z: Array, mean: Array, w: Any, corners: Array, patch: int, first: int, num: Array, den: Array) -> None:
    """Add the group's patches Z (s, c K + k), with weight w, to the slab's sums, whose row 0 is row `first`."""
    W, C, K = num.shape[1], num.shape[2], len(corners)
    for k in range(K):
        v, u = corners[k] // W - first, corners[k] % W
        for i in range(patch):
            for j in range(patch):
                for c in range(C):
                    num[v + i, u + j, c] += w * (Z[i * patch + j, c * K + k] + mean[i * patch + j, c])
                den[v + i, u + j] += w


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _gram(Y: Array, Q: Array) -> None:
    """Q = Y' Y / rows, for Y (rows, m): both triangles."""
    rows, m = Y.shape
    scale = np.float32(1) / np.float32(rows)
    for i in range(m):
        for j in range(i + 1):
            Q[i, j] = 0
        for s in range(rows):
            f = Y[s, i] * scale
            for j in range(i + 1):
                Q[i, j] += f * Y[s, j]
    for i in range(m):
        for j in range(i):
            Q[j, i] = Q[i, j]


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _covariance(Q: Array, channels: Array, K: int, C: int) -> Any:
    """Turn the sampled covariance Q (K C, K C) into the prior's, in place; return the mean variance.

    A few dozen pixels say too little about K C variables: half of Q gives way to (patches) x (channels), and a level
    common to the group is free to move.
    """
    f32 = np.float32
    G = np.zeros((K, K), f32)  # between patches
    V = np.zeros((C, C), f32)  # between channels
    for a in range(C):
        for b in range(C):
            for k in range(K):
                V[a, b] += Q[a * K + k, b * K + k] / f32(K)
        for k in range(K):
            for h in range(K):
                G[k, h] += Q[a * K + k, a * K + h] / f32(C)
    variance = f32(0)
    for a in range(C):
        variance += V[a, a] / f32(C)
    for a in range(C):
        for b in range(C):
            r = f32(CHANNELS) * channels[a, b]
            if variance > f32(1e-12):
                r += f32(1 - CHANNELS) * V[a, b] / variance
            level = f32(LEVEL) * r
            for k in range(K):
                for h in range(K):
                    q = f32(1 - MIX) * Q[a * K + k, b * K + h] + f32(MIX) * r * G[k, h]
                    Q[a * K + k, b * K + h] = q + level
    return variance


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _solve(Q: Array, o: Array, b: Array, extra: Array, n: int, L: Array) -> None:
    """b = (Q[o, o] + diag(DATA + extra))^-1 b over the first n, by Cholesky; the diagonal of L holds inverses."""
    f32 = np.float32
    for i in range(n):
        for j in range(i):
            a = Q[o[i], o[j]]
            for h in range(j):
                a -= L[i, h] * L[j, h]
            L[i, j] = a * L[j, j]
        noise = f32(DATA) + extra[i]
        a, r = Q[o[i], o[i]] + noise, b[i]
        for h in range(i):
            a -= L[i, h] * L[i, h]
            r -= L[i, h] * b[h]
        L[i, i] = f32(1) / np.sqrt(max(a, noise))  # no pivot is below the noise, save by rounding
        b[i] = r * L[i, i]
    for i in range(n - 1, -1, -1):
        b[i] *= L[i, i]
        for h in range(i):
            b[h] -= L[i, h] * b[i]


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def condition(
    X: Array,
    data: Array,
    mask: Array,
    noise: Array,
    groups: Array,
    patch: int,
    channels: Array,
    most: int,
    sums: Any,
) -> None:
    """Posterior mean of each group given its observed entries, added to the slab's sums (first row, num, den).

    X, data, mask (True = observed), noise (variance of the data): (H, W, C); groups (rows, columns, K). The K C values
    at one place of the patch are one draw of a Gaussian whose mean and covariance are those of the patches of X: the
    quadratic majoriser of log det of the group matrix's Gram matrix, minimised given the data. At most `most` data
    are used at one place, those of the nearest patches.
    """
    first, num, den = sums
    W, C, K, S = X.shape[1], X.shape[2], groups.shape[2], patch * patch
    m, f32 = K * C, np.float32
    Y, Z, mean = np.empty((S, m), f32), np.empty((S, m), f32), np.empty((S, C), f32)
    Q, L = np.empty((m, m), f32), np.empty((most, most), f32)
    o, b, extra = np.empty(most, np.int64), np.empty(most, f32), np.empty(most, f32)
    for g in range(groups.shape[0] * groups.shape[1]):
        corners = groups[g // groups.shape[1], g % groups.shape[1]]
        _gather(X, corners, patch, Y, mean)
        _gram(Y, Q)
        variance = _covariance(Q, channels, K, C)
        for s in range(S):
            n = 0
            for k in range(K):
                v, u = corners[k] // W + s // patch, corners[k] % W + s % patch
                for c in range(C):
                    if mask[v, u, c] and n < most:
                        o[n], b[n], extra[n] = c * K + k, data[v, u, c] - mean[s, c], noise[v, u, c]
                        n += 1
            _solve(Q, o, b, extra, n, L)
            for t in range(m):
                Z[s, t] = 0
            for i in range(n):
                f, row = b[i], o[i]
                for t in range(m):
                    Z[s, t] += f * Q[row, t]
        w = f32(1) / np.sqrt(variance + f32(1))  # groups of like patches know more
        _spread(Z, mean, w, corners, patch, first, num, den)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def threshold(X: Array, groups: Array, patch: int, sums: Any) -> None:
    """Each group matrix through the prox of sum log singular values, added to the slab's sums (first row, num, den).

    s -> (s + sqrt(s^2 - e d)) / 2, or 0: the larger root of z^2 - s z + e d / 4, stationary for
    (z - s)^2 / 2 + (e d / 4) log z. With unit noise in each of d rows, the singular values of noise alone reach
    s^2 = e d, e = (1 + sqrt(K / d))^2 (Marchenko and Pastur 1967). s^2 / d from the small Gram matrix.
    """
    first, num, den = sums
    C, K, S, f32 = X.shape[2], groups.shape[2], patch * patch, np.float32
    d = S * C
    edge = f32((1 + np.sqrt(K / d)) ** 2)
    Y, mean = np.empty((S, K * C), f32), np.empty((S, C), f32)
    A, Q = np.empty((K, K), f32), np.empty((K, K), f32)
    P, Z = np.empty((d, K), f32), np.empty((S, K * C), f32)
    for g in range(groups.shape[0] * groups.shape[1]):
        corners = groups[g // groups.shape[1], g % groups.shape[1]]
        _gather(X, corners, patch, Y, mean)
        for s in range(S):
            for c in range(C):
                for k in range(K):
                    P[s * C + c, k] = Y[s, c * K + k]
        _gram(P, Q)
        e, U = np.linalg.eigh(Q)
        kept = f32(0)
        A[:] = 0
        for q in range(K):
            if e[q] <= edge:
                continue
            f = f32(0.5) * (f32(1) + np.sqrt(f32(1) - edge / e[q]))
            kept += f * f
            for k in range(K):
                for h in range(K):
                    A[k, h] += f * U[k, q] * U[h, q]
        for s in range(S):
            for c in range(C):
                for k in range(K):
                    z = f32(0)
                    for h in range(K):
                        z += A[k, h] * Y[s, c * K + h]
                    Z[s, c * K + k] = z
        _spread(Z, mean, f32(1) / (f32(1) + kept), corners, patch, first, num, den)
