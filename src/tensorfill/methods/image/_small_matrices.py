"""Compiled loops over small symmetric matrices, float32. Imports Numba: import this module inside functions only.

No BLAS: the matrices are small, and a threaded BLAS inside threads is slow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.kernels._numba import inner

Array = NDArray[Any]

LANES = 8  # rows are worked on from multiples of it, so that no loop has a remainder


@inner
def gram(Y: Array, Q: Array) -> None:
    """Q = Y' Y / rows, for Y (rows, m): both triangles. Four rows at once: Q is read and written a quarter as often."""
    rows, m = Y.shape
    scale = np.float32(1) / np.float32(rows)
    fours = rows // 4 * 4
    for i in range(m):
        for j in range(i + 1):
            Q[i, j] = 0
        for s in range(0, fours, 4):
            f0, f1, f2, f3 = Y[s, i] * scale, Y[s + 1, i] * scale, Y[s + 2, i] * scale, Y[s + 3, i] * scale
            for j in range(i + 1):
                Q[i, j] += f0 * Y[s, j] + f1 * Y[s + 1, j] + f2 * Y[s + 2, j] + f3 * Y[s + 3, j]
        for s in range(fours, rows):
            f0 = Y[s, i] * scale
            for j in range(i + 1):
                Q[i, j] += f0 * Y[s, j]
    for i in range(m):
        for j in range(i):
            Q[j, i] = Q[i, j]


@inner
def solve(Q: Array, o: Array, b: Array, noise: Array, n: int, A: Array) -> None:
    """b = (Q[o, o] + diag(noise))^-1 b over the first n, by Cholesky.

    A (most, stride) is work space for the upper factor, four pivots at a time, with b as a column more: it is carried
    along. Flat, with unsigned offsets: signed ones may count from the end, and the check keeps loops out of vector
    lanes. Rows are worked on from the multiple of LANES before their diagonal; what is left of it is never read.
    """
    f32, u64 = np.float32, np.uint64
    F, stride, wide = A.reshape(-1), A.shape[1], (n + LANES) // LANES * LANES
    for i in range(n):
        row = o[i]
        for k in range(n):
            A[i, k] = Q[row, o[k]]
        A[i, i] += noise[i]
        A[i, n] = b[i]
        for k in range(n + 1, wide):
            A[i, k] = 0
    for j in range(0, n, 4):
        top = min(j + 4, n)
        for p in range(j, top):
            # no pivot is below the noise, save by rounding
            inverse = f32(1) / np.sqrt(max(A[p, p], noise[p]))
            at = p // LANES * LANES
            P = u64(p * stride + at)
            for k in range(u64(wide - at)):
                F[P + k] *= inverse
            A[p, p] = inverse
            for i in range(p + 1, top):
                f0, at = A[p, i], i // LANES * LANES
                P, here = u64(p * stride + at), u64(i * stride + at)
                for k in range(u64(wide - at)):
                    F[here + k] -= f0 * F[P + k]
        for i in range(j + 4, n):
            f0, f1, f2, f3 = A[j, i], A[j + 1, i], A[j + 2, i], A[j + 3, i]
            at = i // LANES * LANES
            here, P0, step = u64(i * stride + at), u64(j * stride + at), u64(stride)
            P1, P2, P3 = P0 + step, P0 + step + step, P0 + step + step + step
            for k in range(u64(wide - at)):
                F[here + k] -= f0 * F[P0 + k] + f1 * F[P1 + k] + f2 * F[P2 + k] + f3 * F[P3 + k]
    for i in range(n - 1, -1, -1):
        r, here, first = A[i, n], u64(i * stride + i + 1), u64(i + 1)
        for k in range(u64(n - i - 1)):
            r -= F[here + k] * b[first + k]
        b[i] = r * A[i, i]


@inner
def combine(Q: Array, o: Array, b: Array, n: int, z: Array, row: int) -> None:
    """z[row] = sum over the first n of b_i Q[o_i]; four at once."""
    fours, m = n // 4 * 4, Q.shape[0]
    for t in range(m):
        z[row, t] = 0
    for i in range(0, fours, 4):
        f0, f1, f2, f3 = b[i], b[i + 1], b[i + 2], b[i + 3]
        o0, o1, o2, o3 = o[i], o[i + 1], o[i + 2], o[i + 3]
        for t in range(m):
            z[row, t] += f0 * Q[o0, t] + f1 * Q[o1, t] + f2 * Q[o2, t] + f3 * Q[o3, t]
    for i in range(fours, n):
        f0, o0 = b[i], o[i]
        for t in range(m):
            z[row, t] += f0 * Q[o0, t]
