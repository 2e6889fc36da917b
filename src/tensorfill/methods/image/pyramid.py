"""Coarse to fine: a rough fill of a picture of any size, in a time that is linear in it.

Means of what is known of 2 x 2, 4 x 4, ... pixels, until there is one everywhere; then back, each level between the
pixels of the one below it. Where passes of self-similarity follow, no better start is needed once about one entry in
seven is observed: see `methods.image.large`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.typing import Array

Mask = NDArray[np.bool_]


def coarse_to_fine(T: Array, mask: Mask, modes: tuple[int, int] = (0, 1)) -> Array:
    """T, full shape, with what is not observed filled along two modes, all other indices equal; a new array, float64.

    What T holds off the mask is not read. Where an index of the other modes has nothing observed: the mean of all.
    """
    X = np.array(T, dtype=np.float64)
    planes, known = np.moveaxis(X, modes, (-2, -1)), np.moveaxis(mask, modes, (-2, -1))
    for at in np.ndindex(planes.shape[:-2]):
        planes[at] = _filled(planes[at], known[at], lambda: float(np.asarray(T)[mask].mean()))
    return X


def _filled(values: Array, known: Mask, otherwise: Any) -> Array:
    """One plane (H, W)."""
    if not known.any():
        return np.full(values.shape, otherwise())
    levels = [(np.where(known, values, 0.0), known.astype(np.float64))]
    while (levels[-1][1] == 0).any():
        levels.append(_halved(*levels[-1]))
    X = levels.pop()[0]
    for mean, weight in reversed(levels):
        X = weight * mean + (1 - weight) * _doubled(X, mean.shape)
    return np.where(known, values, X)


def _halved(mean: Array, weight: Array) -> tuple[Array, Array]:
    """(mean, weight) of 2 x 2 pixels: a mean of one of them weighs as much as that pixel did, and none more than 1."""
    odd = [(0, n % 2) for n in mean.shape]
    total, count = (_sums(np.pad(A, odd)) for A in (mean * weight, weight))
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0), np.minimum(count, 1.0)


def _sums(A: Array) -> Array:
    rows = A[::2] + A[1::2]
    return np.asarray(rows[:, ::2] + rows[:, 1::2])


def _doubled(X: Array, shape: tuple[int, ...]) -> Array:
    """Twice as many pixels, on lines between the old ones: `shape`."""
    for n, length in enumerate(shape):
        A = np.moveaxis(X, n, 0)
        out = np.empty((2 * len(A), *A.shape[1:]))
        out[::2] = 0.75 * A + 0.25 * np.concatenate([A[:1], A[:-1]])
        out[1::2] = 0.75 * A + 0.25 * np.concatenate([A[1:], A[-1:]])
        X = np.moveaxis(out[:length], 0, n)
    return X
