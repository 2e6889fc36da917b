"""Large pictures window by window: each a core, which is wanted, and a margin around it, which is only looked at.

Design: a pass of self-similarity reads the picture as the pass before left it, and what it says of a pixel depends on
no more than a margin around it. So windows of one pass are independent, run on all cores, and meet without a seam:
the core of each is what a pass over the whole would have given. Windows without a gap are left out. Each step of the
loop serves a few windows, so that a run can be watched, stopped and resumed within a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.methods.image.non_local import SHIFT, Refinement
from tensorfill.result.record import Status
from tensorfill.solvers.base import State

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Slices = tuple[slice, ...]

CORE = 512  # pixels: with larger ones steps get long, with smaller ones the margin outweighs them
BATCH = 4  # windows that one step serves, if they are full of gaps


@dataclass(frozen=True)
class Window:
    """Where a core lies in the whole, what is looked at for it, and where the core lies in that."""

    core: Slices
    outer: Slices
    inner: Slices


def windows(shape: Sequence[int], modes: tuple[int, int], core: int, margin: int) -> list[Window]:
    """Windows whose cores cover the two modes; all other modes are whole."""

    def along(length: int) -> list[tuple[slice, slice, slice]]:
        count = max(1, round(length / core))
        ends = [int(e) for e in np.linspace(0, length, count + 1)]
        out = []
        for a, b in pairwise(ends):
            low = max(0, a - margin)
            out.append((slice(a, b), slice(low, min(length, b + margin)), slice(a - low, b - low)))
        return out

    def whole(row: slice, column: slice) -> Slices:
        return tuple({modes[0]: row, modes[1]: column}.get(n, slice(None)) for n in range(len(shape)))

    rows, columns = (along(shape[m]) for m in modes)
    return [Window(*(whole(r, c) for r, c in zip(row, column, strict=True))) for row in rows for column in columns]


@dataclass(frozen=True, eq=False)
class InWindows:
    """Passes as `Refinement` makes them, window by window; X in the state is the picture as it is by now."""

    whole: Refinement
    windows: Sequence[Window]
    batch: int = BATCH

    @classmethod
    def of(cls, whole: Refinement, core: int = CORE, batch: int = BATCH) -> InWindows:
        """Windows of those passes that hold a gap; beyond their margins nothing is sought."""
        whole = replace(whole, denoiser=replace(whole.denoiser, far=0))
        cut = windows(whole.mask.shape, whole.denoiser.modes, core, whole.filter_of(0).margin)
        return cls(whole, [w for w in cut if not whole.mask[w.core].all()], batch)

    @property
    def steps(self) -> int:
        """Of one pass."""
        return -(-len(self.windows) // self.batch)

    def init(self, rng: np.random.Generator) -> State:
        state = self.whole.init(rng)
        X = state.arrays["X"].astype(np.float32)  # what the filter computes in, for half of the memory
        return State({"X": X, "before": X}, {**state.numbers, "window": 0})

    def step(self, state: State, rng: np.random.Generator) -> State:
        k, j = int(state.numbers["k"]), int(state.numbers["window"])
        before = state.arrays["before"]
        X = state.arrays["X"].copy()
        batch = self.windows[j : j + self.batch]
        passed = each(lambda w: self._pass(before, w, k), batch, self.whole.threads)
        for window, part in zip(batch, passed, strict=True):
            X[window.core] = part
        if j + self.batch < len(self.windows):
            return State({"X": X, "before": before}, {"k": k, "window": j + self.batch})
        return State({"X": X, "before": X}, {"k": k + 1, "window": 0})

    def _pass(self, X: Array, window: Window, k: int) -> Array:
        """The core of a window after pass k."""
        whole, part = self.whole, X[window.outer]
        wanted = np.zeros(part.shape, dtype=bool)
        wanted[window.inner] = ~whole.mask[window.core]
        d = whole.filter_of(k)
        down, across = (SHIFT * k - window.outer[m].start for m in d.modes)  # the grid is that of the whole
        groups = d.match(part, shift=(down, across), wanted=wanted)
        return np.asarray(whole.passed(part, k, groups, window.outer, wanted)[window.inner])

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return self.whole.done(state, previous)


def each(task: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """Task of every item, in order, over threads: compiled loops and matrix products release the interpreter lock."""
    if threads <= 1 or len(items) < 2:
        return [task(item) for item in items]
    contexts = [copy_context() for _ in items]  # in which the time limit is
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda context, item: context.run(task, item), contexts, items))
