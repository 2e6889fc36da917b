"""The sampled layout: a list of coordinates, and compiled loops over it.

Design: work and memory go with the observations, never with the size of the tensor. Threads own contiguous
ranges of observations and their own gradients, which are added in a fixed order: same bits every time. Within a
range, blocks that fit the cache go through predict, prior, pull-back before the next one is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from tensorfill.kernels.base import Array, Entrywise, Layout, checked_factors, checked_indices

BLOCK = 2**15  # observations per block: x, g and the prior's temporaries stay in a core's cache
CROWD = 2**13  # terms per row from which sums in float32 need care, see _Sum
T = TypeVar("T")


class SampledLayout(Layout):
    """Observations as coordinates (nnz, N), for tensors too large or too empty to compute all of X."""

    name = "sampled"

    def __init__(self, indices: Array, shape: Sequence[int], threads: int | None = None) -> None:
        """`threads`: by default as many as Numba may use (NUMBA_NUM_THREADS), fewer where the work is small."""
        self.shape = tuple(int(size) for size in shape)
        self.indices = checked_indices(indices, self.shape).view()
        self.indices.setflags(write=False)  # always read-only, so that one compilation serves all
        self.nnz = len(self.indices)
        self.threads = threads
        self._first = np.concatenate([[0], np.cumsum(self.shape)]).astype(np.int64)

    def predict(self, factors: Sequence[Array]) -> Array:
        """Model values at the observed entries, (nnz,)."""
        loops, F = _loops(), self._stack(factors)
        x = np.empty(self.nnz, dtype=F.dtype)

        def work(start: int, stop: int) -> None:
            loops.predict(F, self._first, self.indices[start:stop], x[start:stop])

        self._in_ranges(work, F)
        return x

    def pullback(self, g: Array, factors: Sequence[Array], mode: int) -> Array:
        """G_n for one mode: (I_n, R)."""
        loops, F = _loops(), self._stack(factors)
        g = np.asarray(g, dtype=F.dtype)
        mode = range(len(self.shape))[mode]

        def work(start: int, stop: int) -> Array:
            total = _Sum(F, np.array([0, self.shape[mode]]), stop - start)
            for a, b in _blocks(start, stop):
                loops.pullback_mode(F, self._first, self.indices[a:b], _fixed(g[a:b]), mode, total.G)
                total.end_block()
            return total.finish()

        return _add(self._in_ranges(work, F))

    def pullback_all(self, g: Array, factors: Sequence[Array]) -> list[Array]:
        """G_n for every mode."""
        g = np.asarray(g)
        return self._value_and_pullback(lambda a, b, _: (0.0, g[a:b]), factors, predict=False)[1]

    def value_and_pullback(self, entrywise: Entrywise, factors: Sequence[Array]) -> tuple[float, list[Array]]:
        """Value and every mode's gradient, block by block; `entrywise` runs in several threads at once."""
        return self._value_and_pullback(entrywise, factors, predict=True)

    def _value_and_pullback(
        self, entrywise: Entrywise, factors: Sequence[Array], *, predict: bool
    ) -> tuple[float, list[Array]]:
        loops, F = _loops(), self._stack(factors)

        def work(start: int, stop: int) -> tuple[float, Array]:
            total = _Sum(F, self._first, stop - start)
            value = 0.0
            for a, b in _blocks(start, stop):
                x = np.empty(b - a, dtype=F.dtype)
                if predict:
                    loops.predict(F, self._first, self.indices[a:b], x)
                loss, g = entrywise(a, b, x)
                value += loss
                loops.pullback(F, self._first, self.indices[a:b], _fixed(g, F.dtype), total.G)
                total.end_block()
                del x, g  # before the next block asks for the same memory
            return value, total.finish()

        done = self._in_ranges(work, F)
        G = _add([gradient for _, gradient in done])
        return sum(value for value, _ in done), np.split(G, self._first[1:-1])

    def _stack(self, factors: Sequence[Array]) -> Array:
        return np.concatenate(checked_factors(factors, self.shape))

    def _in_ranges(self, work: Callable[[int, int], T], F: Array) -> list[T]:
        """work(start, stop) on one range of observations per thread; answers in order."""
        count = self.threads or default_threads(self.nnz, *F.shape)
        edges = [self.nnz * t // count for t in range(count + 1)]
        if count == 1:
            return [work(0, self.nnz)]
        state = np.geterr()

        def task(start: int, stop: int) -> T:
            with np.errstate(**state):  # the caller's: threads do not inherit it, and the prior runs here
                return work(start, stop)

        # a new pool each time (0.1 ms): one kept for later would not survive a fork
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(task, edges[:-1], edges[1:]))


def default_threads(nnz: int, rows: int, rank: int) -> int:
    """As many threads as pay: each wants a few ms of work, and its own gradient must not outgrow its share."""
    import numba

    available = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    return max(1, min(available, nnz * (rank + 8) // 2**20, nnz // (2 * rows)))


class _Sum:
    """The gradient of one thread.

    In float32 a row that receives very many terms would lose the late ones to rounding; modes with such rows are
    therefore emptied into float64 from time to time, each as often as costs next to nothing.
    """

    def __init__(self, F: Array, first: Array, terms: int) -> None:
        self.G = np.zeros((first[-1], F.shape[1]), dtype=F.dtype)
        self._blocks = 0
        self._crowded: list[tuple[Array, Array, int]] = []  # mode's part of G, its total, blocks between
        if F.dtype == np.float32:
            for part in np.split(self.G, first[1:-1]):
                if terms > CROWD * len(part):
                    self._crowded.append((part, np.zeros(part.shape), max(1, 32 * len(part) // BLOCK)))

    def end_block(self) -> None:
        self._blocks += 1
        for part, total, every in self._crowded:
            if self._blocks % every == 0:
                total += part
                part[...] = 0

    def finish(self) -> Array:
        for part, total, _ in self._crowded:
            part += total
        return self.G


def _loops() -> Any:
    """The compiled loops; Numba is imported here, on first use."""
    from tensorfill.kernels import _numba

    return _numba


def _blocks(start: int, stop: int) -> list[tuple[int, int]]:
    return [(a, min(a + BLOCK, stop)) for a in range(start, stop, BLOCK)]


def _fixed(g: Array, dtype: Any = None) -> Array:
    """A contiguous read-only view: another kind of array would mean another compilation."""
    g = np.ascontiguousarray(g, dtype=dtype).view()
    g.setflags(write=False)
    return g


def _add(gradients: Sequence[Array]) -> Array:
    for G in gradients[1:]:
        gradients[0].__iadd__(G)
    return gradients[0]
