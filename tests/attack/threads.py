"""Several threads, forked and spawned processes at once: each has the bits that it has alone."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

import tensorfill as tfl
from attack.arena import Wrong
from attack.command import tensor

METHODS = ("halrtc", "bayes", "sptc", "auto", "spc-tv", "fbcp", "lrtv-pds", "t-ctv")


def answer(method: str, seed: int) -> np.ndarray:
    settings: dict[str, Any] = {"prior": "normal", "rank": 4} if method == "sptc" else {}
    return np.asarray(tfl.complete(tensor(), method=method, max_iter=8, seed=seed, **settings).completed)


class Cases:
    """Case k runs two methods four times at once, in threads, after a fork, or (every eighth) spawned."""

    hang = 120.0

    def __init__(self, seed: int) -> None:
        self.alone = {(m, s): answer(m, s) for m in METHODS for s in (0, 1)}

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        pair = [METHODS[k % len(METHODS)], METHODS[(k // 2 + 1) % len(METHODS)]]
        way = "spawn" if k % 8 == 7 else ("threads", "fork")[k % 2]
        return f"#{k} {way}: {' and '.join(pair)}", lambda: self.at_once(pair, way)

    def at_once(self, pair: list[str], way: str) -> None:
        jobs = [(m, s) for m in pair for s in (0, 1)]
        if way == "threads":
            pool: Any = ThreadPoolExecutor(4)
        else:
            pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way))
        with pool:
            for job, x in zip(jobs, pool.map(answer, *zip(*jobs, strict=True)), strict=True):
                if not np.array_equal(x, self.alone[job]):
                    raise Wrong(f"{job[0]} has other bits: {np.abs(x - self.alone[job]).max():.3g} off")
