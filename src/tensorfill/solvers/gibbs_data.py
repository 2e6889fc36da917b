"""Observations as the Gibbs sampler reads them: sorted once along every mode, rows shared out among threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations

Array = NDArray[Any]

SLAB = 2**21  # doubles of normal equations held at once, where rows are drawn one by one
WORTH = 2**19  # multiplications that pay for a second thread


@dataclass(frozen=True, eq=False)
class ModeOrder:
    """One mode's view: the other modes' rows and the entry's place, sorted by this mode's row."""

    others: Array  # (nnz, N - 1) rows of the stacked factors
    order: Array  # (nnz,) place in the order of Observations
    starts: Array  # (I_n + 1,)


@dataclass(frozen=True, eq=False)
class Entries:
    """Where the observations are. All factors are stacked in one array, mode n from row first[n] on."""

    shape: tuple[int, ...]
    rows: Array  # (nnz, N) rows of the stacked factors
    modes: tuple[ModeOrder, ...]
    threads: int

    @cached_property
    def first(self) -> Array:
        return np.concatenate([[0], np.cumsum(self.shape)]).astype(np.int64)

    @property
    def nnz(self) -> int:
        return len(self.rows)

    def part(self, n: int) -> slice:
        """The rows of mode n in the stack."""
        return slice(int(self.first[n]), int(self.first[n + 1]))

    def predict(self, F: Array) -> Array:
        """The model at the observations, (nnz,); F (sum of I_n, C)."""
        x = np.empty(self.nnz)
        loops = _loops()

        def work(a: int, b: int) -> None:
            loops.predict(F, self.rows[a:b], x[a:b])

        count = self._count(F.shape[1])
        in_threads(work, [self.nnz * t // count for t in range(count + 1)])
        return x

    def draw(
        self, F: Array, n: int, z: Array, w: Array, prior: RowPrior, normals: Array, *, sums: bool = False
    ) -> tuple[Array, Array, Array, Array]:
        """(new rows, their mean) of mode n given all else, (I_n, K) over its K free columns; normals (I_n, K), of a
        ring one row more.

        With `sums` also Q (K, K) and q (K,): the normal equations of a multiplier of each column.
        """
        K, length = len(prior.free), self.shape[n]
        out, mean, Q, q = np.empty((length, K)), np.empty((length, K)), np.zeros((K, K)), np.zeros(K)
        free, fixed = np.ascontiguousarray(F[:, prior.free]), np.ascontiguousarray(F[:, prior.fixed])
        tied = bool(prior.rho.any())
        slab = length if tied else max(1, SLAB // K**2)
        for start in range(0, length, slab):
            part = slice(start, min(start + slab, length))
            G, h = self.systems(free, fixed, n, z, w, part)
            if tied:
                used = (G.copy(), h.copy()) if sums else (G, h)
                if prior.ring:
                    _draw_ring(F[self.part(n)][:, prior.free], *used, prior, normals, mean, out)
                else:
                    _loops().draw_chain(*used, prior.ridge, prior.rho, prior.middle, normals, mean, out)
            else:
                _loops().draw_rows(G, h, prior.ridge, prior.middle, normals[part], mean[part], out[part])
            if sums:
                _loops().shares(G, h, out[part], Q, q)
        return out, mean, np.tril(Q) + np.tril(Q, -1).T, q

    def systems(self, free: Array, fixed: Array, n: int, z: Array, w: Array, part: slice) -> tuple[Array, Array]:
        """Normal equations of some rows of mode n: G (rows, K, K), lower triangles, and h (rows, K)."""
        loops, mode, K = _loops(), self.modes[n], free.shape[1]
        starts = mode.starts[part.start : part.stop + 1]
        G, h = np.empty((len(starts) - 1, K, K)), np.empty((len(starts) - 1, K))

        def work(a: int, b: int) -> None:
            loops.systems(free, fixed, mode.others, mode.order, starts[a : b + 1], z, w, G[a:b], h[a:b])

        in_threads(work, row_shares(starts, self._count(K * K)))
        return G, h

    def _count(self, work: int) -> int:
        return max(1, min(self.threads, self.nnz * work // WORTH))


def interleaved(z: Array, w: Array) -> tuple[Array, Array]:
    """The same (nnz,) numbers, stored so that each z is next to its w in memory. Loops over rows read both at scattered
    places, and one access to memory then serves both.
    """
    both = np.empty((len(z), 2))
    both[:, 0], both[:, 1] = z, w
    return both[:, 0], both[:, 1]


@dataclass(frozen=True, eq=False)
class RowPrior:
    """The prior of one mode's rows over its free columns (K,): ridge about `middle`, `rho` between neighbours.

    `fixed` are the columns that are 1 in this mode; on a `ring` the last row is a neighbour of the first.
    """

    free: Array
    fixed: Array
    ridge: Array
    rho: Array
    middle: Array
    ring: bool = False


def _draw_ring(A: Array, G: Array, h: Array, prior: RowPrior, normals: Array, mean: Array, out: Array) -> None:
    """The rows of a ring, A (I, K) before: the first given its two neighbours, all others, a chain tied to it, and then
    one step for all rows together, which the ties to the first would hold in place; normals (I + 1, K).
    """
    loops, first, rest = _loops(), slice(0, 1), slice(1, len(A))
    whole, pull = np.tril(G) + np.tril(G, -1).transpose(0, 2, 1), h.sum(axis=0)
    total = whole.sum(axis=0) + len(A) * np.diag(prior.ridge)
    G[0] += np.diag(2 * prior.rho)
    h[0] += prior.rho * (A[1] + A[-1])
    loops.draw_rows(G[first], h[first], prior.ridge, prior.middle, normals[first], mean[first], out[first])
    for end in (1, -1):
        G[end] += np.diag(prior.rho)
        h[end] += prior.rho * out[0]
    loops.draw_chain(G[rest], h[rest], prior.ridge, prior.rho, prior.middle, normals[rest], mean[rest], out[rest])
    pull = pull - np.einsum("irs,is->r", whole, out) + prior.ridge * (len(A) * prior.middle - out.sum(axis=0))
    shift = np.empty((2, 1, len(prior.rho)))
    loops.draw_rows(
        total[None], pull[None], np.zeros(len(prior.rho)), prior.middle, normals[len(A) :], shift[0], shift[1]
    )
    out += shift[1]
    mean += shift[0]


def entries(obs: Observations, threads: int | None = None) -> Entries:
    """Sort along every mode."""
    first = np.concatenate([[0], np.cumsum(obs.shape)])
    kind = np.int32 if first[-1] < 2**31 else np.int64
    rows = np.ascontiguousarray(obs.indices + first[:-1], dtype=kind)
    modes = []
    for n, length in enumerate(obs.shape):
        key = obs.indices[:, n].astype(np.uint16 if length <= 2**16 else np.int64)  # short keys: radix sort, 5 x faster
        place = np.argsort(key, kind="stable") if n else np.arange(obs.nnz)
        starts = np.searchsorted(obs.indices[place, n], np.arange(length + 1))
        others = np.ascontiguousarray(np.delete(rows, n, axis=1)[place])
        modes.append(ModeOrder(others, place.astype(kind), starts.astype(np.int64)))
    return Entries(obs.shape, rows, tuple(modes), available_threads() if threads is None else threads)


def available_threads() -> int:
    """As many as Numba may use."""
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def in_threads(work: Callable[[int, int], None], edges: Sequence[int]) -> None:
    """work(start, stop) on each range, one thread each."""
    if len(edges) == 2:
        work(edges[0], edges[1])
        return
    list(_pool(len(edges) - 1, os.getpid()).map(work, edges[:-1], edges[1:]))


@lru_cache(maxsize=4)
def _pool(count: int, process: int) -> ThreadPoolExecutor:
    """Threads that wait for work: to start them anew for each range takes longer than a short range does. A process
    that was forked off has none of its parent's.
    """
    return ThreadPoolExecutor(count)


def row_shares(starts: Array, count: int) -> list[int]:
    """Ranges of rows with about as many observations each."""
    wanted = starts[0] + (starts[-1] - starts[0]) * np.arange(1, count) // count
    inner = np.searchsorted(starts, wanted).tolist()
    return sorted({0, *inner, len(starts) - 1})


def _loops() -> Any:
    """The compiled loops; Numba is imported here, on first use."""
    from tensorfill.kernels import _gibbs

    return _gibbs
