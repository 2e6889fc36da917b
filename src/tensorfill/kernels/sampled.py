"""The sampled layout: a list of coordinates, and compiled loops over it.

Design: work and memory go with the observations, never with the size of the tensor. Threads own contiguous
ranges of observations and their own gradients, which are added in a fixed order: same bits every time. Within a
range, blocks that fit the cache go through predict, prior, pull-back before the next one is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from tensorfill.kernels.base import Array, Entrywise, Layout, check_indices
from tensorfill.kernels.contraction import Contraction, Loops

BLOCK = 2**15  # observations per block: x, g and the prior's temporaries stay in a core's cache
CROWD = 2**13  # terms per row from which sums in float32 need care, see _Sum
WIDE = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
T = TypeVar("T")


class SampledLayout(Layout):
    """Observations as coordinates (nnz, N), for tensors too large or too empty to compute all of X."""

    name = "sampled"

    def __init__(
        self, indices: Array, contraction: Contraction, threads: int | None = None, *, checked: bool = False
    ) -> None:
        """`threads`: by default as many as Numba may use (NUMBA_NUM_THREADS), fewer where the work is small.

        `checked`: the indices are known to lie inside the shape, in C order, as `check_indices` leaves them.
        """
        self.shape, self.contraction = contraction.shape, contraction
        self.indices = (indices if checked else check_indices(indices, self.shape)).view()
        self.indices.setflags(write=False)  # always read-only, so that one compilation serves all
        self.nnz = len(self.indices)
        self.threads = threads

    def predict(self, factors: Sequence[Array]) -> Array:
        loops, parameters, F = self._begin(factors)
        x = np.empty(self.nnz, dtype=parameters[0].dtype)

        def work(start: int, stop: int) -> None:
            loops.predict(F, self.indices[start:stop], x[start:stop])

        self._in_ranges(work, parameters)
        return x

    def pullback(self, g: Array, factors: Sequence[Array], mode: int) -> Array:
        loops, parameters, F = self._begin(factors)
        g = np.asarray(g, dtype=parameters[0].dtype)
        mode = range(len(parameters))[mode]

        def work(start: int, stop: int) -> Any:
            total = _Sum(*loops.zeros(F, mode), stop - start)
            for a, b in _blocks(start, stop):
                loops.pullback(F, self.indices[a:b], _freeze(g[a:b]), total.G, mode)
                total.end_block()
            return total.finish()

        return loops.unstack(reduce(loops.add, self._in_ranges(work, parameters)), mode)[0]

    def value_and_pullback(self, entrywise: Entrywise, factors: Sequence[Array]) -> tuple[float, list[Array]]:
        loops, parameters, F = self._begin(factors)
        dtype = parameters[0].dtype

        def work(start: int, stop: int) -> tuple[float, Any]:
            total = _Sum(*loops.zeros(F, None), stop - start)
            value = 0.0
            for a, b in _blocks(start, stop):
                x = np.empty(b - a, dtype=dtype)
                loops.predict(F, self.indices[a:b], x)
                loss, g = entrywise(a, b, x)
                value += loss
                loops.pullback(F, self.indices[a:b], _freeze(g, dtype), total.G, None)
                total.end_block()
                del x, g  # before the next block asks for the same memory
            return value, total.finish()

        done = self._in_ranges(work, parameters)
        G = reduce(loops.add, [gradient for _, gradient in done])
        return sum(value for value, _ in done), loops.unstack(G, None)

    def _begin(self, factors: Sequence[Array]) -> tuple[Loops, list[Array], Any]:
        parameters = self.contraction.checked(factors)
        loops = self.contraction.loops
        return loops, parameters, loops.stack(parameters)

    def _in_ranges(self, work: Callable[[int, int], T], parameters: Sequence[Array]) -> list[T]:
        """work(start, stop) on one range of observations per thread; answers in order."""
        rows = sum(len(A) for A in parameters)
        count = self.threads or default_threads(self.nnz, rows, sum(A.size for A in parameters) // rows)
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

    available = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # Numba sets it when it is imported
    return max(1, min(available, nnz * (rank + 8) // 2**20, nnz // (2 * rows)))


class _Sum:
    """The gradient of one thread.

    In float32 a row that receives very many terms would lose the late ones to rounding; parameters with such rows are
    therefore emptied into float64 from time to time, each as often as costs next to nothing.
    """

    def __init__(self, G: Any, parts: Sequence[Array], terms: int) -> None:
        """`parts`: of G, one for each parameter, whose rows share `terms` between them."""
        self.G = G
        self._blocks = 0
        self._crowded: list[tuple[Array, Array, int]] = []  # a part of G, its total, blocks between
        for part in parts:
            if part.dtype in WIDE and terms > CROWD * len(part):
                total: Array = np.zeros(part.shape, dtype=WIDE[part.dtype])
                self._crowded.append((part, total, max(1, 32 * len(part) // BLOCK)))

    def end_block(self) -> None:
        self._blocks += 1
        for part, total, every in self._crowded:
            if self._blocks % every == 0:
                total += part
                part[...] = 0

    def finish(self) -> Any:
        for part, total, _ in self._crowded:
            part += total
        return self.G


def _blocks(start: int, stop: int) -> list[tuple[int, int]]:
    return [(a, min(a + BLOCK, stop)) for a in range(start, stop, BLOCK)]


def _freeze(g: Array, dtype: Any = None) -> Array:
    """A contiguous read-only view: another kind of array would mean another compilation."""
    g = np.ascontiguousarray(g, dtype=dtype).view()
    g.setflags(write=False)
    return g
