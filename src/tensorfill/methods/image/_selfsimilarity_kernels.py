"""Compiled loops of the self-similarity prior. Imports Numba: import this module inside functions only.

Design: pictures are (H, W, C), float32, in units of sigma, so every constant below is dimensionless. A call serves a
slab of reference rows and writes to accumulators of its own; the caller adds slabs in a fixed order, so the answer
does not depend on the number of threads. No BLAS: the matrices are small, and a threaded BLAS inside threads is slow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.kernels._numba import inner, jit
from tensorfill.methods.image._small_matrices import LANES, combine, gram, padded, solve

Array = NDArray[Any]

CHANNELS = 0.3  # share of the whole picture's channel covariance in that of one group
LEVEL = 4.0  # variance of a level common to all columns of a row (see `condition`)
DATA = 0.1  # variance of an observed entry that guides, in units of sigma^2: it falls with sigma
# LEVEL, DATA and CHANNELS: best of a factor of 2 to 4 up and down on three pictures at 60, 80 and 95 % missing (see
# `non_local`); all three are flat, .1 dB at most.


@inner
def _column_distances(guide: Array, y: int, v: int, patch: int, span: Any, out: Array) -> None:
    """out[x - low] = squared distance of the columns of height `patch` at (y, x) and (v, x + step), low <= x < high.

    span = (step, low, high). Flat, with unsigned offsets: signed ones may count from the end, and the check keeps
    loops out of vector lanes.
    """
    step, low, high = span
    C, H, W = guide.shape
    F, u64 = guide.reshape(-1), np.uint64
    length = u64(high - low)
    for x in range(length):
        out[x] = 0
    for c in range(C):
        for i in range(patch):
            here, there = u64((c * H + y + i) * W + low), u64((c * H + v + i) * W + low + step)
            for x in range(length):
                d = F[here + x] - F[there + x]
                out[x] += d * d


@inner
def _met_along(
    guide: Array,
    lines: Any,
    columns: Array,
    patch: int,
    steps: Any,
    line: Array,
    met: Array,
    distance: Array,
    out: Array,
) -> None:
    """The patches of row v, from steps[0] to steps[1] columns further, as look-alikes of those of row y, where lines =
    (y, v): met (columns,), distance and out (columns, K) go on.
    """
    (y, v), W, K = lines, guide.shape[2], out.shape[1]
    for step in range(max(steps[0], patch - W), min(steps[1], W - patch) + 1):
        low, high = max(0, -step), min(W, W - step)
        _column_distances(guide, y, v, patch, (step, low, high), line)
        for b in range(len(columns)):
            x = columns[b]
            if x < low or x + patch > high:
                continue
            s = np.float32(-1) if v == y and step == 0 else np.float32(0)
            for j in range(patch):
                s += line[x - low + j]
            if met[b] < K:
                k = met[b]
                met[b] += 1
            elif s < distance[b, K - 1]:
                k = K - 1
            else:
                continue
            while k > 0 and distance[b, k - 1] > s:
                distance[b, k] = distance[b, k - 1]
                out[b, k] = out[b, k - 1]
                k -= 1
            distance[b, k] = s
            out[b, k] = v * W + x + step


@jit
def match(
    guide: Array, rows: Array, columns: Array, patch: int, places: Array, height: int, reach: int, out: Array
) -> None:
    """For the patch at each (row, column): the corners v * W + u of the K nearest in its window, nearest first.

    guide (C, H, W), frames of `height` rows one below the other. places (n, 4): where to look, from which row to which
    and from which column to which, seen from the patch; in the first of them also in `reach` frames before and after.
    out (len(rows), len(columns), K), int32. The patch itself comes first; ties go to the first met. A whole row of
    patches is compared with itself moved by one step after the other: neighbours share the work.
    """
    _, H, W = guide.shape
    K = out.shape[2]
    distance, line = np.empty((len(columns), K), np.float32), np.empty(W, np.float32)
    met = np.empty(len(columns), np.int64)
    for a in range(len(rows)):
        y, frame = rows[a], rows[a] // height
        for b in range(len(columns)):
            met[b] = 0
        for n in range(len(places)):
            away, steps = reach if n == 0 else 0, (places[n, 2], places[n, 3])
            for other in range(max(0, frame - away), min(H // height, frame + away + 1)):
                top = other * height
                first, last = max(0, y % height + places[n, 0]), min(height - patch, y % height + places[n, 1])
                for v in range(top + first, top + last + 1):
                    _met_along(guide, (y, v), columns, patch, steps, line, met, distance, out[a])


@inner
def _gather(X: Array, corners: Array, away: Array, Y: Array, mean: Array) -> None:
    """Y[s, c K + k] = entry (s, c) of patch k, less its mean over the group, mean[s, c]."""
    C, K, F = X.shape[2], len(corners), X.reshape(-1)
    for k in range(K):
        for s in range(len(away)):
            at = np.uint64((corners[k] + away[s]) * C)
            for c in range(np.uint64(C)):
                Y[s, c * np.uint64(K) + np.uint64(k)] = F[at + c]
    for s in range(len(away)):
        for c in range(C):
            total = np.float32(0)
            for k in range(K):
                total += Y[s, c * K + k]
            total /= np.float32(K)
            mean[s, c] = total
            for k in range(K):
                Y[s, c * K + k] -= total


@inner
def _spread(Z: Array, mean: Array, w: Any, corners: Array, away: Array, first: int, num: Array, den: Array) -> None:
    """Add the group's patches Z (s, c K + k), with weight w, to the slab's sums, whose row 0 is row `first`."""
    W, C, K = num.shape[1], num.shape[2], len(corners)
    N, D = num.reshape(-1), den.reshape(-1)
    for k in range(K):
        for s in range(len(away)):
            at = np.uint64(corners[k] + away[s] - first * W)
            for c in range(np.uint64(C)):
                N[at * np.uint64(C) + c] += w * (Z[s, c * np.uint64(K) + np.uint64(k)] + mean[s, c])
            D[at] += w


@inner
def _covariance(Q: Array, channels: Array, K: int, C: int, mix: Any) -> Any:
    """Turn the sampled covariance Q (K C, K C) into the prior's, in place; return the mean variance.

    A few dozen rows say too little about K C variables: the share `mix` of Q gives way to (columns) x (channels), and
    a level common to all columns is free to move.
    """
    f32 = np.float32
    G = np.zeros((K, K), f32)  # between columns
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
            level, share = f32(LEVEL) * r, mix * r
            for k in range(K):
                for h in range(K):
                    Q[a * K + k, b * K + h] = (f32(1) - mix) * Q[a * K + k, b * K + h] + share * G[k, h] + level
    return variance


@inner
def _turn(Y: Array, columns: int, C: int, out: Array) -> None:
    """out[k, c rows + s] = Y[s, c columns + k]: places x patches to patches x places, and back."""
    rows = Y.shape[0]
    for s in range(rows):
        for c in range(C):
            for k in range(columns):
                out[k, c * rows + s] = Y[s, c * columns + k]


@inner
def _collect(T: Array, given: Any, corners: Array, away: Array, turned: bool, wanted: Array, work: Any) -> int:
    """The data of each row of a table T of K patches: where they stand in it, what they are, and their noise; then the
    rows with a wanted pixel, those with the fewest data first, and how many these are.
    """
    (mask, noise), (o, b, extra, counts, order) = given, work
    C, K, S = mask.shape[2], len(corners), len(away)
    M, N, P, most, found = mask.reshape(-1), noise.reshape(-1), wanted.reshape(-1), o.shape[1] - 1, 0
    rows, columns = (K, S) if turned else (S, K)
    counts[:], order[:] = 0, rows  # an empty row fills the last batch
    for row in range(rows):
        n, needed = np.int64(0), False  # no literal, for which others would be compiled again
        for column in range(columns):
            k, s = (row, column) if turned else (column, row)
            at = np.uint64(corners[k] + away[s])
            needed |= P[at]
            for c in range(C):  # without a branch: what is not known is overwritten
                q = at * np.uint64(C) + np.uint64(c)
                o[row, n], extra[row, n] = c * columns + column, np.float32(DATA) + N[q]
                n = min(n + M[q], most)
        for i in range(n):
            b[row, i] = T[row, o[row, i]]
        counts[row] = n
        if needed:
            place = found
            while place > 0 and counts[order[place - 1]] > n:
                order[place] = order[place - 1]
                place -= 1
            order[place] = row
            found += 1
    return found


@jit
def condition(
    X: Array,
    given: Any,
    groups: Array,
    patch: int,
    channels: Array,
    mix: Any,
    turned: bool,
    most: int,
    wanted: Array,
    sums: Any,
) -> None:
    """Posterior mean of each group given its observed entries, added to the slab's sums (first row, num, den).

    X, and given = mask (True = observed, then X holds the data), noise (variance of the data): (H, W, C); groups
    (rows, columns, K). A group is a table of places of a patch x its patches (`turned`: patches x places) of C values
    each. Each row is a draw of one Gaussian with mean and covariance of X: the quadratic majoriser of log det of the
    table's Gram matrix, minimised given at most `most` data, those of the nearest patches. Rows without a `wanted`
    pixel (H, W) stay.
    """
    first, num, den = sums
    C, K, S, f32 = X.shape[2], groups.shape[2], patch * patch, np.float32
    rows, columns = (K, S) if turned else (S, K)
    m = padded(columns * C)
    Y, mean = np.zeros((S, padded(K * C)), f32), np.empty((S, C), f32)
    T = np.zeros((rows, m), f32) if turned else Y
    Z, Q, F = np.empty((rows, m), f32), np.empty((m, m), f32), np.empty(most * (most + 1) * LANES, f32)
    o, b, extra = (np.empty((rows, most + 1), np.int64), np.empty((rows, most), f32), np.empty((rows, most + 1), f32))
    counts, order = np.empty(rows + 1, np.int64), np.empty(rows + LANES, np.int64)
    away = np.array([s // patch * X.shape[1] + s % patch for s in range(S)])  # from the corner to each place
    for g in range(groups.shape[0] * groups.shape[1]):
        corners = groups[g // groups.shape[1], g % groups.shape[1]]
        _gather(X, corners, away, Y, mean)
        if turned:
            _turn(Y, K, C, T)
        gram(T, Q)
        variance = _covariance(Q, channels, columns, C, mix)
        needed = _collect(T, given, corners, away, turned, wanted, (o, b, extra, counts, order))
        if needed < rows:
            for a in range(rows):  # one by one: to compile the assignment of a whole array takes two seconds
                for k in range(m):
                    Z[a, k] = T[a, k]
        for a in range(0, needed, LANES):
            solve(Q, o, b, extra, counts, order[a : a + LANES], f32(DATA), F)
        for a in range(needed):
            combine(Q, o, b, counts[order[a]], Z, order[a])
        w = f32(1) / np.sqrt(variance + f32(1))  # groups of like patches know more
        if turned:
            _turn(Z, S, C, Y)
            _spread(Y, mean, w, corners, away, first, num, den)
        else:
            _spread(Z, mean, w, corners, away, first, num, den)
