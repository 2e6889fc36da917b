"""Threads for compiled loops, which release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np

from tensorfill.typing import Array


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
