"""Patches of a picture, for the self-similarity prior: their grid, what they are compared by, and where it repeats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tensorfill.typing import Array

BLOCK = 4  # channels that are coupled; more are served block by block, with the same groups
GUIDES = 3  # principal channels in which many channels are compared
REPEATS = 0.2  # autocorrelation of the detail, relative to its variance, from which a picture repeats itself at a lag
AROUND = 2  # pixels around such a place in which look-alikes are sought


def touched(pixels: Array, patch: int) -> Array:
    """By its corner v * W + u: does a patch hold one of these pixels? (H * W,)"""
    H, W = pixels.shape
    sums = np.zeros((H + patch + 1, W + patch + 1), np.int64)
    sums[1 : H + 1, 1 : W + 1] = pixels
    sums = sums.cumsum(axis=0).cumsum(axis=1)
    inside = sums[patch:, patch:] - sums[:-patch, patch:] - sums[patch:, :-patch] + sums[:-patch, :-patch]
    return (inside[:H, :W] > 0).reshape(-1)


def shortest(shape: tuple[int, ...], channels: Sequence[int]) -> int:
    """Entries of the shortest of the modes that are channels, 1 without any."""
    return min((shape[n] for n in channels), default=1)


def in_blocks(picture: Array, shortest: int) -> list[Array]:
    """Contiguous blocks of at most BLOCK channels, along the shortest mode."""
    C = picture.shape[2]
    size = shortest if 1 < shortest <= BLOCK else BLOCK
    return [np.ascontiguousarray(b) for b in np.array_split(picture, max(1, -(-C // size)), axis=2)]


def guide_of(picture: Array) -> Array:
    """What patches are compared by, (C', H, W), float32: the picture, or its principal channels if it has many."""
    H, W, C = picture.shape
    flat = picture.reshape(-1, C).astype(np.float64)
    flat = flat - flat.mean(axis=0)
    # float32 squares must neither overflow nor vanish, whatever the unit: a power of two changes no other bit
    size = float(np.abs(flat).max())
    flat = flat / 2.0 ** np.round(np.log2(size)) if size > 0 else flat
    if C > BLOCK:
        _, U = np.linalg.eigh(flat.T @ flat)
        flat = flat @ U[:, ::-1][:, :GUIDES]
    return np.ascontiguousarray(flat.T.reshape(-1, H, W), dtype=np.float32)


def repeats(guide: Array, radius: int, count: int, patch: int) -> Array:
    """The `count` most pronounced places beyond the radius at which a picture (C, H, W) repeats itself, with a pixel or
    two around each: (n, 4), from row to row, from column to column. Peaks of the autocorrelation of its detail.
    """
    from scipy.ndimage import maximum_filter, uniform_filter

    detail = sum(plane - uniform_filter(plane, 2 * patch) for plane in guide.astype(np.float64))
    H, W = guide.shape[1:]
    spectrum = np.fft.rfft2(detail, (2 * H, 2 * W))
    sums = np.fft.irfft2(np.abs(spectrum) ** 2, (2 * H, 2 * W))
    y, x = np.mgrid[-(H // 2) : H // 2 + 1, -(W // 2) : W // 2 + 1]
    alike = sums[y, x] / ((H - abs(y)) * (W - abs(x)))
    own = float(alike[H // 2, W // 2])
    peak = (alike == maximum_filter(alike, 2 * patch - 1)) & (np.maximum(abs(y), abs(x)) > radius)
    at = np.flatnonzero(peak & (alike > REPEATS * own))
    at = at[np.argsort(-alike.ravel()[at], kind="stable")][:count]
    dy, dx = y.ravel()[at], x.ravel()[at]
    return np.stack([dy - AROUND, dy + AROUND, dx - AROUND, dx + AROUND], axis=1)


def channel_covariance(X: Array) -> Array:
    """How channels change together from pixel to pixel: (C, C), mean of the diagonal 1."""
    C = X.shape[2]
    d = np.concatenate([np.diff(X, axis=m).reshape(-1, C) for m in (0, 1)]).astype(np.float64)
    V = d.T @ d
    trace = float(np.trace(V))
    return np.asarray(V * (C / trace) if trace > 0 else np.eye(C), dtype=np.float32)


def grid(length: int, patch: int, stride: int, shift: int = 0) -> NDArray[np.int64]:
    """Corners of the reference patches along one mode: every pixel is in one of them, wherever the grid begins."""
    return np.unique(np.r_[0, np.arange(shift % stride, length - patch + 1, stride), length - patch])
