"""The sampled gradient beside a loop written for one prior and one order, with the loss fused in; and its threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tensorfill.bench.speed import Row, at_least, at_most, side_by_side
from tensorfill.kernels.sampled import SampledLayout
from tensorfill.numerical.discrete import Poisson

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


def measure(quick: bool) -> Iterator[Row]:
    """Rows for speed.csv."""
    count, side, rank = (50_000, 200, 8) if quick else (5_000_000, 1_000, 16)
    rng = np.random.default_rng(0)
    flat = np.sort(rng.choice(side**3, count, replace=False)) if quick else np.unique(rng.integers(side**3, size=count))
    indices = np.stack(np.unravel_index(flat, (side,) * 3), axis=1).astype(np.int32)
    t = rng.poisson(3.0, len(flat)).astype(np.float32)
    factors = [rng.uniform(0.5, 1.5, (side, rank)).astype(np.float32) for _ in range(3)]
    prior = Poisson()

    def entrywise(start: int, stop: int, x: Array) -> tuple[float, Array]:
        nll, g = prior.nll_and_grad(t[start:stop], x)
        return float(nll.sum(dtype=np.float64)), g

    one, two = (SampledLayout(indices, (side,) * 3, threads=k) for k in (1, 2))

    def alone() -> float:
        return _fused(indices, t, *factors, *(np.zeros_like(A) for A in factors))

    ours, theirs, both = side_by_side(
        [
            lambda: one.value_and_pullback(entrywise, factors),
            alone,
            lambda: two.value_and_pullback(entrywise, factors),
        ],
        repeats=3 if quick else 7,
    )
    yield at_most("sampled gradient, one thread / a loop for Poisson alone", 1.5, ours / theirs, ours, theirs)
    yield at_least("sampled gradient, two threads", 1.7, ours / both, both, ours)
