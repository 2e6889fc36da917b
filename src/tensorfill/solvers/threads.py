"""Work side by side: ranges of compiled loops, which release the interpreter's lock, and whole fits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

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


def workers() -> int:
    """How many fits run side by side: as `joblib.parallel_config` says, else as many as there are threads."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    asked = get_active_backend()[1]
    count = int(effective_n_jobs(asked))
    return available_threads() if asked is None and count == 1 else count


def side_by_side(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """work(*task) of each task, in their order: in threads, or where `joblib.parallel_config` sends them, for example
    to a Dask cluster.
    """
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=workers(), prefer="threads", return_as="generator")
    return iter(run(delayed(work)(*task) for task in tasks))


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
