"""Compiled loops of the total variation priors. Imports Numba: import this module inside functions only."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tensorfill.kernels.compiled import compiled
from tensorfill.typing import Array


@compiled(nogil=True)
def _tv_prox_one(y: Array, lam: float, z: Array, knots: Array, cuts: Array) -> None:
    """z = argmin 1/2 |z - y|^2 + lam sum |z_i - z_{i+1}|, by dynamic programming (N. Johnson 2013), O(n).

    Let f_k(b) be the least cost of entries 0..k given z_k = b, and d_k its derivative: increasing, piecewise linear.
    Then d_{k+1}(b) = b - y_{k+1} + clip(d_k(b), -lam, lam), and going back z_k = clip(z_{k+1}, low_k, high_k), where
    low_k, high_k are the points at which d_k passes -lam, lam. d_k is kept as its leftmost line, its rightmost line,
    and knots (place, change of slope, change of intercept) in a double-ended queue: two join per step, hence O(n).

    knots: (3, 2n) work space; cuts: (2, n) work space, the low_k and high_k.
    """
    n = len(y)
    first, last = n, n - 1  # the queue is knots[:, first..last], empty now
    left_slope, left_level = 1.0, -y[0]
    right_slope, right_level = 1.0, -y[0]
    for k in range(n - 1):
        while first <= last and left_slope * knots[0, first] + left_level <= -lam:
            left_slope += knots[1, first]
            left_level += knots[2, first]
            first += 1
        low = (-lam - left_level) / left_slope
        while first <= last and right_slope * knots[0, last] + right_level >= lam:
            right_slope -= knots[1, last]
            right_level -= knots[2, last]
            last -= 1
        high = max((lam - right_level) / right_slope, low)  # max: rounding, where lam is tiny beside y
        cuts[0, k], cuts[1, k] = low, high
        first -= 1
        knots[0, first], knots[1, first], knots[2, first] = low, left_slope, left_level + lam
        last += 1
        knots[0, last], knots[1, last], knots[2, last] = high, -right_slope, lam - right_level
        left_slope, left_level = 1.0, -lam - y[k + 1]
        right_slope, right_level = 1.0, lam - y[k + 1]
    while first <= last and left_slope * knots[0, first] + left_level <= 0.0:
        left_slope += knots[1, first]
        left_level += knots[2, first]
        first += 1
    z[n - 1] = -left_level / left_slope
    for k in range(n - 2, -1, -1):
        z[k] = min(max(z[k + 1], cuts[0, k]), cuts[1, k])


@compiled(nogil=True)
def tv_prox_columns(A: Array, lam: float, Z: Array) -> None:
    """Each column of A (n, R) through `_tv_prox_one` in float64, into Z (n, R)."""
    n, R = A.shape
    y, z = np.empty(n), np.empty(n)
    knots, cuts = np.empty((3, 2 * n)), np.empty((2, n))
    for r in range(R):
        # The prox commutes with shifts; around the middle of the column less is lost to rounding.
        middle = 0.0
        for i in range(n):
            middle += A[i, r] / n
        for i in range(n):
            y[i] = A[i, r] - middle
        _tv_prox_one(y, lam, z, knots, cuts)
        for i in range(n):
            Z[i, r] = z[i] + middle


# Reassociation lets the sums run in vector lanes, and so does NumPy's way of dividing (no check for 0, which never
# comes: sizes are >= corner > 0). NaN and infinity keep their meaning, so that guards see them.
_vectorised = partial(compiled, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
_inner = _vectorised(no_cpython_wrapper=True, no_cfunc_wrapper=True)  # called from compiled code alone


@_inner
def _mix(factors: Array, planes: Array, out: Array, W: int) -> None:
    """out[:W] = sum over c of factors[c] planes[c, :W]."""
    factor, plane = factors[0], planes[0]
    for j in range(W):
        out[j] = factor * plane[j]
    for c in range(1, len(factors)):
        factor, plane = factors[c], planes[c]
        for j in range(W):
            out[j] += factor * plane[j]


@_inner
def _load_row(row: Array, M: Array, planes: Array, out: Array) -> None:
    """One row of pixels (W, C) as channels out (K, W + 1): M times the colours, the last pixel twice."""
    W, C = row.shape
    mixed = M.shape[0] > 0
    target = planes if mixed else out
    for c in range(C):
        plane = target[c]
        for j in range(W):
            plane[j] = row[j, c]
    for k in range(out.shape[0]):
        if mixed:
            _mix(M[k], planes, out[k], W)
        out[k, W] = out[k, W - 1]


@_inner
def _flux_row(here: Array, below: Array, corner: Any, down: Array, right: Array) -> float:
    """Unit differences of one row of one channel: down (W,), right[1:] (W,); returns sum sqrt(..) - corner."""
    W = len(down)
    corner2 = corner * corner
    total = corner - corner
    for j in range(W):
        v = below[j] - here[j]
        h = here[j + 1] - here[j]
        size = np.sqrt(v * v + h * h + corner2)
        total += size - corner
        down[j] = v / size
        right[j + 1] = h / size
    return total


@_inner
def _store_row(g: Array, M: Array, plane: Array, out: Array) -> None:
    """The adjoint of `_load_row`, M being its transpose: channels g (K, W) back to one row of pixels out (W, C)."""
    W, C = out.shape
    mixed = M.shape[0] > 0
    for c in range(C):
        source = g[c] if not mixed else plane
        if mixed:
            _mix(M[c], g, plane, W)
        for j in range(W):
            out[j, c] = source[j]


@_vectorised()
def isotropic(X: Array, M: Array, back: Array, corner: Any, weight: Any, G: Array) -> float:
    """Smoothed isotropic TV of a picture X (H, W, C); weight * its gradient into G.

    M: (K, C) applied to the colours first, or (0, 0) for none; back (C, K): M transposed, contiguous; corner and
    weight: scalars of X's dtype. Rows are taken apart into channels, so that the inner loops are contiguous and run in
    vector lanes.
    """
    H, W, C = X.shape
    K = M.shape[0] if M.shape[0] > 0 else C
    planes = np.empty((C, W + 1), X.dtype)
    here, below = np.empty((K, W + 1), X.dtype), np.empty((K, W + 1), X.dtype)
    above, down = np.zeros((K, W), X.dtype), np.empty((K, W), X.dtype)
    right = np.zeros((K, W + 1), X.dtype)
    g = np.empty((K, W), X.dtype)
    value = 0.0
    for i in range(H):
        if i == 0:
            _load_row(X[0], M, planes, here)
        _load_row(X[min(i + 1, H - 1)], M, planes, below)  # past the end: the same row, no difference
        for k in range(K):
            value += _flux_row(here[k], below[k], corner, down[k], right[k])
            from_above, to_below, sideways, out = above[k], down[k], right[k], g[k]
            for j in range(W):
                out[j] = weight * (from_above[j] + sideways[j] - to_below[j] - sideways[j + 1])
        _store_row(g, back, planes[0], G[i])
        here, below = below, here
        above, down = down, above
    return value
