"""Coarse to fine: a rough fill of a picture of any size, in a time that is linear in it.

Means of what is known of 2 x 2, 4 x 4, ... pixels, until there is one everywhere; then back, each level between the
pixels of the one below it. Passes of self-similarity need no better start where one entry in twelve is observed, and
with fewer one that is completed at half the size: see `methods.image.complete`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorfill.typing import Array

Mask = NDArray[np.bool_]
LAST = (-2, -1)


def coarse_to_fine(T: Array, mask: Mask, modes: tuple[int, int] = (0, 1)) -> Array:
    """T, full shape, with what is not observed filled along two modes, all other indices equal; a new array, float64.

    What T holds off the mask is not read. Where an index of the other modes has nothing observed: the mean of all.
    """
    known = np.moveaxis(mask, modes, LAST)
    values = np.where(known, np.moveaxis(T, modes, LAST), 0.0)
    empty = ~known.any(axis=LAST, keepdims=True)
    if empty.any():
        values, known = np.where(empty, np.asarray(T)[mask].mean(), values), known | empty
    levels = [(values, known.astype(np.float64))]
    while (levels[-1][1] == 0).any():
        levels.append(_halved(*levels[-1]))
    X = levels.pop()[0]
    for mean, weight in reversed(levels):
        X = weight * mean + (1 - weight) * _doubled(X, mean.shape)
    return np.ascontiguousarray(np.moveaxis(np.where(known, values, X), LAST, modes), dtype=np.float64)


def halved(T: Array, mask: Mask, modes: tuple[int, int] = (0, 1)) -> tuple[Array, Mask]:
    """Means of what is known of 2 x 2 pixels, and where there is one."""
    known = np.moveaxis(mask, modes, LAST)
    mean, weight = _halved(np.where(known, np.moveaxis(T, modes, LAST), 0.0), known.astype(np.float64))
    half, seen = (np.moveaxis(A, LAST, modes) for A in (mean, weight > 0))
    return np.ascontiguousarray(half), np.ascontiguousarray(seen)


def doubled(X: Array, shape: tuple[int, ...], modes: tuple[int, int] = (0, 1)) -> Array:
    """A picture of half the size as one of this shape, on lines between its pixels."""
    sides = (shape[modes[0]], shape[modes[1]])
    return np.moveaxis(_doubled(np.moveaxis(X, modes, LAST), sides), LAST, modes)


def _halved(mean: Array, weight: Array) -> tuple[Array, Array]:
    """(mean, weight) of 2 x 2 pixels, each of weight 0 or 1."""
    odd = [(0, 0)] * (mean.ndim - 2) + [(0, n % 2) for n in mean.shape[-2:]]
    total, count = (_sums(np.pad(A, odd)) for A in (mean * weight, weight))
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0), np.minimum(count, 1.0)


def _sums(A: Array) -> Array:
    rows = A[..., ::2, :] + A[..., 1::2, :]
    return np.asarray(rows[..., ::2] + rows[..., 1::2])


def _doubled(X: Array, shape: tuple[int, ...]) -> Array:
    """Twice as many pixels along the last two modes, on lines between the old ones: these are of `shape` then."""
    for n in LAST:
        A = np.moveaxis(X, n, 0)
        out = np.empty((2 * len(A), *A.shape[1:]))
        out[::2] = 0.75 * A + 0.25 * np.concatenate([A[:1], A[:-1]])
        out[1::2] = 0.75 * A + 0.25 * np.concatenate([A[1:], A[-1:]])
        X = np.moveaxis(out[: shape[n]], 0, n)
    return X
