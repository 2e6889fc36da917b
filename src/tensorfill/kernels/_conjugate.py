"""Compiled loops of rows that conjugate gradients lead towards their minimum. Imported on first use only: Numba is slow
to import.

Design: what a row's normal equations do to a vector, its observations do as well, in R operations each instead of R^2.
The products of the other factors are laid side by side once; every step then reads them from a core's cache.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels._numba import inner, jit
from tensorfill.kernels.base import Array

ROUNDING = 1e-26  # squared, a thousand times that of a number: where columns are alike, steps along it would lead far


@jit
def rows_by_steps(
    F: Array, others: Array, starts: Array, z: Array, c: Array, q: Array, start: Array, steps: int, out: Array
) -> None:
    """out_i (R,): `steps` of conjugate gradients from start_i towards the least sum of c/2 (z - k'a)^2 + q/2 a'a.

    k are the products of the other factors' rows: F, others, starts as in `systems` of the Gibbs loops; z and c in the
    order of `others`. Each step is preconditioned by the diagonal. No step raises that sum.
    """
    R, most = F.shape[1], 1
    for i in range(len(starts) - 1):
        most = max(most, starts[i + 1] - starts[i])
    K, a, d, r = np.empty((most, R)), np.empty(R), np.empty(R), np.empty(R)
    p, Mp = np.empty(R), np.empty(R)
    for i in range(len(starts) - 1):
        first, n = starts[i], starts[i + 1] - starts[i]
        _products(F, others, first, n, K)
        for s in range(R):
            a[s] = start[i, s]
            d[s] = q[i]
            r[s] = -q[i] * a[s]
        _residual(K, z, c, first, n, a, r, d)
        old, least = _first(a, d, r, p)
        for _ in range(steps):
            if not old > least:
                break
            for s in range(R):
                Mp[s] = q[i] * p[s]
            _add_times(K, c, first, n, p, Mp)
            old = _step(old, d, a, r, p, Mp)
        for s in range(R):
            out[i, s] = a[s]


@inner
def _first(a: Array, d: Array, r: Array, p: Array) -> tuple[float, float]:
    """r'd r, and below which value of it nothing is left but rounding; d becomes its inverse, p the first direction."""
    old = size = 0.0
    for s in range(len(d)):
        size += a[s] * d[s] * a[s]
        d[s] = 1 / d[s] if d[s] > 0 else 0.0
        p[s] = d[s] * r[s]
        old += p[s] * r[s]
    return old, ROUNDING * size


@inner
def _products(F: Array, others: Array, first: int, n: int, K: Array) -> None:
    """K (n, R), of the observations from `first` on. By itself: so many reads from far apart are under way at once."""
    R, M = F.shape[1], others.shape[1]
    for e in range(n):
        a = others[first + e, 0]
        if M == 1:
            for s in range(R):
                K[e, s] = F[a, s]
        else:
            b = others[first + e, 1]
            for s in range(R):
                K[e, s] = F[a, s] * F[b, s]
            for m in range(2, M):
                b = others[first + e, m]
                for s in range(R):
                    K[e, s] *= F[b, s]


@inner
def _residual(K: Array, z: Array, c: Array, first: int, n: int, a: Array, r: Array, d: Array) -> None:
    """Add to r (R,) the sum of c (z - k'a) k over n observations, to d (R,) that of c k^2; two at a time."""
    R = len(a)
    twos = n // 2 * 2
    for e in range(0, twos, 2):
        x0 = x1 = 0.0
        for s in range(R):
            x0 += K[e, s] * a[s]
            x1 += K[e + 1, s] * a[s]
        w0, w1 = c[first + e], c[first + e + 1]
        x0, x1 = w0 * (z[first + e] - x0), w1 * (z[first + e + 1] - x1)
        for s in range(R):
            k0, k1 = K[e, s], K[e + 1, s]
            r[s] += x0 * k0 + x1 * k1
            d[s] += w0 * k0 * k0 + w1 * k1 * k1
    for e in range(twos, n):
        x = 0.0
        for s in range(R):
            x += K[e, s] * a[s]
        w = c[first + e]
        x = w * (z[first + e] - x)
        for s in range(R):
            r[s] += x * K[e, s]
            d[s] += w * K[e, s] * K[e, s]


@inner
def _add_times(K: Array, c: Array, first: int, n: int, p: Array, out: Array) -> None:
    """Add to out (R,) the sum of c k k'p over n observations; four at a time."""
    R = len(p)
    fours = n // 4 * 4
    for e in range(0, fours, 4):
        x0 = x1 = x2 = x3 = 0.0
        for s in range(R):
            x0 += K[e, s] * p[s]
            x1 += K[e + 1, s] * p[s]
            x2 += K[e + 2, s] * p[s]
            x3 += K[e + 3, s] * p[s]
        x0 *= c[first + e]
        x1 *= c[first + e + 1]
        x2 *= c[first + e + 2]
        x3 *= c[first + e + 3]
        for s in range(R):
            out[s] += x0 * K[e, s] + x1 * K[e + 1, s] + x2 * K[e + 2, s] + x3 * K[e + 3, s]
    for e in range(fours, n):
        x = 0.0
        for s in range(R):
            x += K[e, s] * p[s]
        x *= c[first + e]
        for s in range(R):
            out[s] += x * K[e, s]


@inner
def _step(old: float, d: Array, a: Array, r: Array, p: Array, Mp: Array) -> float:
    """One step along p: a, the residual r and p itself are moved on; r'd r, which was `old`, comes back."""
    R = len(p)
    curve = new = 0.0
    for s in range(R):
        curve += p[s] * Mp[s]
    if not curve > 0:  # rounding at the very bottom
        return 0.0
    length = old / curve
    for s in range(R):
        a[s] += length * p[s]
        r[s] -= length * Mp[s]
        new += d[s] * r[s] * r[s]
    for s in range(R):
        p[s] = d[s] * r[s] + new / old * p[s]
    return new
