"""Observations sorted once along every mode, as all that goes row by row reads them; rows are shared among threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.kernels.loops import cp, gibbs
from tensorfill.solvers.threads import available_threads, in_threads, row_shares
from tensorfill.typing import Array

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
    others: Array  # (N, nnz, N - 1), see ModeOrder; so are the next two
    order: Array  # (N, nnz)
    starts: Array  # (sum of I_n + N,), mode after mode
    threads: int

    @cached_property
    def modes(self) -> tuple[ModeOrder, ...]:
        """The view of each mode."""
        edges = [int(first) + n for n, first in enumerate(self.first)]
        return tuple(
            ModeOrder(self.others[n], self.order[n], self.starts[edges[n] : edges[n + 1]])
            for n in range(len(self.shape))
        )

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
        x, stacked = np.empty(self.nnz), np.zeros(len(self.shape), dtype=np.int64)

        def work(a: int, b: int) -> None:
            cp.predict(F, stacked, self.rows[a:b], x[a:b])

        count = self._count(F.shape[1])
        in_threads(work, [self.nnz * t // count for t in range(count + 1)])
        return x

    def systems(self, free: Array, fixed: Array, n: int, z: Array, w: Array, part: slice) -> tuple[Array, Array]:
        """Normal equations of some rows of mode n: G (rows, K, K), lower triangles, and h (rows, K)."""
        mode, K = self.modes[n], free.shape[1]
        starts = mode.starts[part.start : part.stop + 1]
        G, h = np.empty((len(starts) - 1, K, K)), np.empty((len(starts) - 1, K))

        def work(a: int, b: int) -> None:
            gibbs.systems(free, fixed, mode.others, mode.order, starts[a : b + 1], z, w, G[a:b], h[a:b])

        in_threads(work, row_shares(starts, self._count(K * K)))
        return G, h

    def _count(self, work: int) -> int:
        return max(1, min(self.threads, self.nnz * work // WORTH))


def interleave(z: Array, w: Array) -> tuple[Array, Array]:
    """The same (nnz,) numbers, stored so that each z is next to its w in memory. Loops over rows read both at scattered
    places, and one access to memory then serves both.
    """
    both = np.empty((len(z), 2))
    both[:, 0], both[:, 1] = z, w
    return both[:, 0], both[:, 1]


def entries(obs: Observations, threads: int | None = None) -> Entries:
    """Sort along every mode."""
    first = np.concatenate([[0], np.cumsum(obs.shape)])
    kind = np.int32 if first[-1] < 2**31 else np.int64
    rows = np.ascontiguousarray(obs.indices + first[:-1], dtype=kind)
    N, starts = obs.ndim, []
    others, order = np.empty((N, obs.nnz, N - 1), dtype=kind), np.empty((N, obs.nnz), dtype=kind)
    for n, length in enumerate(obs.shape):
        key = obs.indices[:, n].astype(np.uint16 if length <= 2**16 else np.int64)  # short keys: radix sort, 5 x faster
        place = np.argsort(key, kind="stable") if n else np.arange(obs.nnz)
        starts.append(np.searchsorted(obs.indices[place, n], np.arange(length + 1)))
        others[n], order[n] = np.delete(rows, n, axis=1)[place], place
    threads = available_threads() if threads is None else threads
    return Entries(obs.shape, rows, others, order, np.concatenate(starts).astype(np.int64), threads)
