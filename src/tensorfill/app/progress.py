"""A run as it goes, for the page: where it is, how well it does on held-out entries, what the picture looks like."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.models.cp import CP
from tensorfill.result.record import History
from tensorfill.show.view import picture_axes, to_rgb, value_range
from tensorfill.typing import Array

EVERY = 0.5  # seconds between two pictures: drawing one takes a tenth of that
SIDE = 720  # pixels of a picture on the page
QUIET = 0.1  # seconds between two messages
EVIDENCE = 0.15  # share of the budget of a contest before the time left is told
FINAL_FITS = 1.3  # a contest with the fits that follow it, in times of the contest


class Progress:
    """A callback for `complete` that tells the page.

    The time it takes follows from the share of the budget that a contest has used up, which grows evenly with time. Of
    several contests (error bars take two) nothing is told.
    """

    def __init__(self, send: Callable[..., None], obs: Observations, folder: Path, contests: int = 1) -> None:
        self.send, self.obs, self.folder, self.contests = send, obs, folder, contests
        self.began = time.monotonic()
        self.axes = picture_axes(obs)
        self.fits, self.pictures = 0, 0
        self.tries: list[dict[str, Any]] = []
        self.told = self.drawn = -math.inf

    def __call__(self, state: Any, history: History) -> None:
        """After every iteration of any fit."""
        row, now = history.rows[-1], time.monotonic()
        self.fits += row.iteration == 0
        if now - self.told >= QUIET:
            self.told = now
            held_out = row.held_out if math.isfinite(row.held_out) else None
            self.send("progress", iteration=row.iteration, fit=self.fits, held_out=held_out)
        if self.axes in ("HW", "HWC") and now - self.drawn >= EVERY:
            X = current(state, self.obs.shape)
            if X is not None:
                self.draw(X)
            self.drawn = time.monotonic()

    def tried(self, name: str, error: float, share: float) -> None:
        """After every candidate of a contest: its error in spreads of the data, and the part of the time used up."""
        if math.isfinite(error):
            self.tries.append({"name": name, "error": round(error, 5)})
            self.tries.sort(key=lambda row: row["error"])
        news: dict[str, Any] = {}
        if share >= EVIDENCE and self.contests == 1:
            news = {"expected": round(FINAL_FITS * (time.monotonic() - self.began) / share, 1), "sure": True}
        self.send("progress", tries=self.tries[:8], tried=len(self.tries), **news)

    def draw(self, X: Array) -> None:
        """The picture as it is now, known pixels as they are."""
        step = -(-max(X.shape[:2]) // SIDE)
        small = np.array(X[::step, ::step], dtype=np.float64)
        known = self.obs.mask[::step, ::step]
        small[known] = self.obs.dense(fill=0.0)[::step, ::step][known]
        save_picture(to_rgb(small, value_range(self.obs)), self.folder / "now.jpg", quality=85)
        self.pictures += 1
        self.send("progress", picture=self.pictures)


def current(state: Any, shape: tuple[int, ...]) -> Array | None:
    """The tensor that a state of some solver stands for, where it can be seen from the state alone: an array of the
    full shape (array methods, passes of self-similarity), or factors.
    """
    X = state.arrays.get("X")
    if X is not None and X.shape == shape:
        return X
    factors = state.factors
    if len(factors) == len(shape) and all(len(A) == n for A, n in zip(factors, shape, strict=True)):
        return CP(factors).full()
    return None


def save_picture(rgb: NDArray[np.uint8], path: Path, **options: Any) -> None:
    """Whole or not at all: the server may be reading the one before."""
    from PIL import Image

    new = path.with_name(f"new-{path.name}")
    Image.fromarray(rgb).save(new, **options)
    os.replace(new, path)
