"""SPC's inner loops in Numba: import this module only when a run needs it.

All vectors of component r lie side by side in one row U[r] of length sum(I_n), mode n at offsets[n]:offsets[n + 1], so
one compiled kernel serves tensors of every order. The residual E is kept at observed entries only: it is zero
elsewhere, and the implicit fill-in (the component itself off the mask) has a closed form.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels.compiled import compiled
from tensorfill.typing import Array

STEPS = np.array([1e-1, 1e-2, 1e-3, 1e-4, 1e-5])  # trial steps beside 0, which keeps v
INNER = 1000  # at most this many descent steps per vector
FLAT = 1e-3  # stop when phi changes by less than this per element; absolute, on data of 0..255

# Sums may be reordered to use vector instructions; NaN and infinity keep their meaning.
_jit = compiled(fastmath={"reassoc", "contract", "nsz"})


@_jit
def smooth(y: Array, rho: float) -> Array:
    """(I + rho L'L)^-1 y, L the first difference: a tridiagonal solve (Thomas; diagonally dominant, no pivoting)."""
    n = len(y)
    out = np.empty(n)
    ratio = np.empty(n)
    ratio[0] = 0.0
    previous = 0.0
    for i in range(n):
        degree = (1.0 if i > 0 else 0.0) + (1.0 if i < n - 1 else 0.0)
        pivot = 1.0 + rho * degree - (rho * ratio[i - 1] if i > 0 else 0.0)
        ratio[i] = rho / pivot
        previous = (y[i] + rho * previous) / pivot
        out[i] = previous
    for i in range(n - 2, -1, -1):
        out[i] += ratio[i] * out[i + 1]
    return out


@_jit
def dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@_jit
def roughness(v: Array, tv: bool) -> float:
    """||L v||_1 (TV) or ||L v||_2^2 (QV)."""
    total = 0.0
    if tv:
        for i in range(len(v) - 1):
            total += abs(v[i + 1] - v[i])
    else:
        for i in range(len(v) - 1):
            total += (v[i + 1] - v[i]) ** 2
    return total


@_jit
def _direction(v: Array, y: Array, g: float, rho: float, tv: bool, d: Array) -> None:
    """d = rho L'L v + v - y/g (QV), 0.5 rho L' sign(L v) + v - y/g (TV, sign(0) = 0)."""
    n = len(v)
    slope = 1.0 / g
    for i in range(n):
        d[i] = v[i] - slope * y[i]
    if tv:
        for i in range(n - 1):
            pull = 0.5 * rho * np.sign(v[i + 1] - v[i])
            d[i] -= pull
            d[i + 1] += pull
    else:
        for i in range(n - 1):
            pull = rho * (v[i + 1] - v[i])
            d[i] -= pull
            d[i + 1] += pull


@_jit
def descend(y: Array, g: float, rho: float, tv: bool) -> Array:
    """A unit vector lowering phi(v) = 0.5 g^2 rho ||L v||_p^p - g v'y; zeros if y is zero."""
    v = y.copy() if tv else smooth(y, rho)
    length = np.sqrt(dot(v, v))
    if length == 0.0:
        return v
    v /= length
    if rho == 0.0 or g == 0.0:
        return v
    weight = 0.5 * g * g * rho
    power = 1 if tv else 2
    phi = weight * roughness(v, tv) - g * dot(v, y)
    d = np.empty_like(v)
    trial = np.empty_like(v)
    for _ in range(INNER):
        _direction(v, y, g, rho, tv, d)
        best, best_step, best_length = phi, 0.0, 1.0
        for step in STEPS:
            for i in range(len(v)):
                trial[i] = v[i] - step * d[i]
            length = np.sqrt(dot(trial, trial))
            if length == 0.0:
                continue
            value = weight * roughness(trial, tv) / length**power - g * dot(trial, y) / length
            if value < best:
                best, best_step, best_length = value, step, length
        for i in range(len(v)):
            v[i] = (v[i] - best_step * d[i]) / best_length
        change, phi = phi - best, best
        if change < FLAT * len(v):
            break
    return v


@_jit
def contract(E: Array, where: Array, u: Array, n: int, out: Array) -> None:
    """out, over mode n's part: the sum over each slice's observed entries of E times the other modes' vectors."""
    for k in range(len(E)):
        product = E[k]
        for m in range(where.shape[1]):
            if m != n:
                product *= u[where[k, m]]
        out[where[k, n]] += product


@_jit
def deflate(E: Array, where: Array, old: Array, g_old: float, new: Array, g_new: float) -> None:
    """E += g_old * outer(old) - g_new * outer(new) at the observed entries, in one pass."""
    for k in range(len(E)):
        before, after = g_old, g_new
        for m in range(where.shape[1]):
            before *= old[where[k, m]]
            after *= new[where[k, m]]
        E[k] += before - after


@_jit
def sweep(E: Array, where: Array, offsets: Array, U: Array, g: Array, chosen: Array, rho: Array, tv: bool) -> None:
    """Renew the components `chosen` one after the other; E (nnz,), U (R, sum I_n) and g (R,) change in place."""
    N = len(rho)
    y = np.empty(U.shape[1])
    for r in chosen:
        old = U[r].copy()
        new = U[r]
        y[:] = 0.0
        inner, penalty = 0.0, 1.0
        for n in range(N):
            a, b = offsets[n], offsets[n + 1]
            contract(E, where, new, n, y)
            fill = g[r]  # Y = E + g u o u o u on the whole grid: its second part contracts to g u^n prod <u^m, v^m>
            for m in range(N):
                if m != n:
                    fill *= dot(old[offsets[m] : offsets[m + 1]], new[offsets[m] : offsets[m + 1]])
            y[a:b] += fill * old[a:b]
            new[a:b] = descend(y[a:b], g[r], rho[n], tv)
            penalty += rho[n] * roughness(new[a:b], tv)
            inner = dot(y[a:b], new[a:b])  # after the last mode: <Y, v o v o v>
        gain = inner / penalty
        if gain < 0.0:
            gain = -gain
            new[: offsets[1]] *= -1.0
        deflate(E, where, old, g[r], new, gain)
        g[r] = gain
