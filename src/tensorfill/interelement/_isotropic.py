"""Smoothed isotropic total variation of an array: value and gradient, by NumPy (any modes) or compiled (two modes)."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tensorfill.typing import Array

# rows per call of the compiled kernel: fixed, so that the answer does not depend on the number of threads
ROWS_PER_TASK = 64


class Terms(NamedTuple):
    """What to sum: weight * (sqrt(sum over modes of d_m^2 + corner^2) - corner), of `matrix` along mode `t` of X."""

    modes: tuple[int, ...]
    corner: float
    weight: float
    matrix: Array | None = None  # (C', C), or None for X as it is
    t: int | None = None


def any_modes(X: Array, terms: Terms) -> tuple[float, Array]:
    """Value and gradient in X (shape and dtype of X), for any number of modes."""
    M, t = terms.matrix, terms.t
    Y = X if M is None or t is None else _along(M, X, t)
    size = np.full(Y.shape, terms.corner**2, dtype=X.dtype)
    differences = [(m, np.diff(Y, axis=m)) for m in terms.modes]
    for m, d in differences:
        _but_last(size, m)[...] += d * d
    np.sqrt(size, out=size)
    G = np.zeros_like(Y)
    for m, d in differences:
        d /= _but_last(size, m)
        _but_last(G, m)[...] -= d
        np.moveaxis(G, m, 0)[1:] += np.moveaxis(d, m, 0)
    size -= terms.corner
    G *= terms.weight
    if M is not None and t is not None:
        G = _along(M.T, G, t)
    return terms.weight * float(size.sum(dtype=np.float64)), np.ascontiguousarray(G)


def _along(M: Array, X: Array, t: int) -> Array:
    """M (C', C) applied along mode t of X."""
    return np.moveaxis(np.moveaxis(X, t, -1) @ M.T, -1, t)


def _but_last(Y: Array, m: int) -> Array:
    """Y without its last slice along mode m, as a view."""
    return np.moveaxis(np.moveaxis(Y, m, 0)[:-1], 0, m)


def two_modes(X: Array, terms: Terms, threads: int = 1) -> tuple[float, Array]:
    """The same for two modes: one compiled pass over pictures (B, H, W, C), in slabs of rows."""
    from tensorfill.interelement._tv_kernels import isotropic_slab

    modes, t = terms.modes, terms.t
    rest = [m for m in range(X.ndim) if m not in modes and m != t]
    # Without a transform the other modes are so many channels; with one, so many pictures.
    order = [*modes, *rest] if t is None else [*rest, *modes, t]
    moved = np.ascontiguousarray(X.transpose(order))
    H, W = X.shape[modes[0]], X.shape[modes[1]]
    C = X.size // max(H * W, 1) if t is None else X.shape[t]
    pictures = moved.reshape(X.size // max(H * W * C, 1), H, W, C)
    G = np.empty_like(pictures)
    M = np.empty((0, 0), dtype=X.dtype) if terms.matrix is None else terms.matrix
    back = np.ascontiguousarray(M.T)
    corner, weight = X.dtype.type(terms.corner), X.dtype.type(terms.weight)

    def slab(task: tuple[int, int]) -> float:
        b, start = task
        return isotropic_slab(pictures[b], M, back, corner, weight, start, min(start + ROWS_PER_TASK, H), G[b])

    tasks = [(b, start) for b in range(len(pictures)) for start in range(0, H, ROWS_PER_TASK)]
    values = map(slab, tasks) if threads <= 1 else _pool(threads, os.getpid()).map(slab, tasks)
    value = terms.weight * sum(values, 0.0)
    return value, np.ascontiguousarray(G.reshape(moved.shape).transpose(np.argsort(order)))


@lru_cache(maxsize=4)
def _pool(threads: int, pid: int) -> Any:
    """Threads for the kernel, which releases the interpreter lock; per process, since threads do not survive a fork."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, thread_name_prefix=f"isotropic-tv-{pid}")
