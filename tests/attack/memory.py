"""Allocations that fail: one sentence, whatever was being done."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np

from attack.arena import check_ending, in_child
from attack.command import Runs

METHODS = ("halrtc", "t-svd", "auto", "sptc", "bayes", "lrtv-pds", "stdc", "fbcp")


class Cases(Runs):
    """Case k leaves a run so many megabytes."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        rng = np.random.default_rng(0)
        self.tensor = (
            rng.uniform(0.5, 1, (160, 1, 1)) * rng.uniform(0.5, 1, (1, 150, 1)) * rng.uniform(0.5, 1, (1, 1, 40))
        )
        self.tensor[rng.random(self.tensor.shape) < 0.3] = np.nan

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        room, method = int(rng.integers(1, 120)), METHODS[k % len(METHODS)]
        return f"#{k} {room} MB for {method}", lambda: self.starve(room, method)

    def starve(self, room: int, method: str) -> None:
        self.fresh(".npy")
        np.save(self.folder / "in.npy", self.tensor)
        run = self.command(method, "--max-iter", "2", "--seconds", "3", out="out.npy")

        def limited() -> None:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + room * 2**20, used + room * 2**20))
            run()

        said = self.folder / "said"
        check_ending(in_child(limited, said), said, 0, 1)
        self.values("out.npy")
        self.leftovers("in.npy", "out.npy", "said")
