"""The sampled gradient beside a loop written for one prior and one order, with the loss fused in; and its threads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tensorfill.kernels.khatrirao import CPContraction
from tensorfill.kernels.sampled import SampledLayout
from tensorfill.numerical.discrete import Poisson
from tensorfill_benchmarks.speed_rows import Row, at_least, at_most, side_by_side

Array = NDArray[Any]


@njit(fastmath=True, cache=True, nogil=True)
def _fused(indices: Array, t: Array, A: Array, B: Array, C: Array, GA: Array, GB: Array, GC: Array) -> float:
    """Poisson loss and gradient of a three-way CP model, one observation at a time."""
    R, total = A.shape[1], 0.0
    for e in range(len(t)):
        i, j, k = indices[e, 0], indices[e, 1], indices[e, 2]
        x = A.dtype.type(0)
        for r in range(R):
            x += A[i, r] * B[j, r] * C[k, r]
        total += x - t[e] * np.log(x)
        g = 1 - t[e] / x
        for r in range(R):
            a, b, c = A[i, r], B[j, r], C[k, r]
            GA[i, r] += g * b * c
            GB[j, r] += g * a * c
            GC[k, r] += g * a * b
    return total


@njit(fastmath=True, cache=True, nogil=True)
def _fused_n(indices: Array, t: Array, F: Array, first: Array, G: Array) -> float:
    """The same of any order; F are the factors stacked, mode n from first[n] on, and G their gradient."""
    N, R, total = indices.shape[1], F.shape[1], 0.0
    below, above = np.empty((N + 1, R), F.dtype), np.empty((N + 1, R), F.dtype)
    for e in range(len(t)):
        for r in range(R):
            below[0, r] = above[N, r] = 1
        for n in range(N):
            a, b = first[n] + indices[e, n], first[N - 1 - n] + indices[e, N - 1 - n]
            for r in range(R):
                below[n + 1, r] = below[n, r] * F[a, r]
                above[N - 1 - n, r] = above[N - n, r] * F[b, r]
        x = F.dtype.type(0)
        for r in range(R):
            x += below[N, r]
        total += x - t[e] * np.log(x)
        g = 1 - t[e] / x
        for n in range(N):
            a = first[n] + indices[e, n]
            for r in range(R):
                G[a, r] += g * below[n, r] * above[n + 1, r]
    return total


def measure(quick: bool) -> Iterator[Row]:
    """Rows for speed.csv."""
    count, side, rank = (50_000, 200, 8) if quick else (5_000_000, 1_000, 16)
    for columns in (rank, 4 * rank):
        yield from counts(count, (side,) * 3, columns, repeats=3 if quick else 7)
    for order in (4, 5):
        yield from counts(count // 5, (side // 2,) * order, rank, repeats=3 if quick else 7)


def counts(count: int, shape: tuple[int, ...], rank: int, repeats: int) -> Iterator[Row]:
    """So many Poisson counts, spread evenly."""
    rng = np.random.default_rng(0)
    flat = np.unique(rng.integers(math.prod(shape), size=count))
    indices = np.stack(np.unravel_index(flat, shape), axis=1).astype(np.int32)
    t = rng.poisson(3.0, len(flat)).astype(np.float32)
    factors = [rng.uniform(0.5, 1.5, (side, rank)).astype(np.float32) for side in shape]
    prior = Poisson()

    def entrywise(start: int, stop: int, x: Array) -> tuple[float, Array]:
        nll, g = prior.nll_and_grad(t[start:stop], x)
        return float(nll.sum(dtype=np.float64)), g

    one, two = (SampledLayout(indices, CPContraction(shape, rank), threads=k) for k in (1, 2))
    F, first = np.concatenate(factors), np.concatenate([[0], np.cumsum(shape)])[:-1]

    def alone() -> float:
        if len(shape) == 3:
            return _fused(indices, t, *factors, *(np.zeros_like(A) for A in factors))
        return _fused_n(indices, t, F, first, np.zeros_like(F))

    ours, theirs, both = side_by_side(
        [
            lambda: one.value_and_pullback(entrywise, factors),
            alone,
            lambda: two.value_and_pullback(entrywise, factors),
        ],
        repeats=repeats,
    )
    what = f"{len(flat):,} counts, order {len(shape)}, rank {rank}: gradient"
    yield at_most(f"{what}, one thread / a loop for Poisson alone", 1.5, ours / theirs, ours, theirs)
    yield at_least(f"{what}, two threads", 1.7, ours / both, both, ours)
