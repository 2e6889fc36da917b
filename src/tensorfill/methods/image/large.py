"""Large pictures: nothing is fitted to all of them at once.

A low-rank model of a whole photograph of many megapixels either has a rank that takes hours or follows nothing but its
broad lines. Passes of self-similarity need no more than a rough start: that of `coarse_to_fine`, or, where little is
observed, fits of tiles. How good the answer is, a few small windows tell.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import CHANNELS
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.methods.image.complete import (
    complete_field,
    completed,
    fit_field,
    positions,
    refine,
    showing,
)
from tensorfill.methods.image.non_local import available_threads
from tensorfill.methods.image.pyramid import coarse_to_fine
from tensorfill.methods.image.recipe import SPARE, FieldRecipe, default_solver, schedule, start_recipe
from tensorfill.methods.image.windows import BATCH, Slices, Window, each, windows
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Row, Status
from tensorfill.solvers.base import State
from tensorfill.solvers.loop import Stopping
from tensorfill.typing import Array

# Pixels from which a picture is large: below, the windows that are tried first would be a large part of it.
LARGE = 2**19
# Share observed below which tiles are fitted. Parts of 512 x 512 of astronaut and
# hubble_deep_field, both enlarged; the rough start over a fit of rank 300, after the passes: +.04 and +.21 dB at 50 %
# observed, +.11 and +.24 at 20 %, -1.0 and -.24 at 5 %.
ROUGH = 0.15
TILE, OVERLAP = 256, 16  # pixels: a side at which the usual rank follows detail, and the ramp from one tile to the next
GAUGED, SIDE = 64, 192  # windows that are filled roughly, from all over the picture, and their sides in pixels
TRIED = 4  # of them are completed first, as small pictures: the more there is to gain in one, the likelier it is taken
HELD_OUT = 0.04  # share of the observed entries of a window that tell the error
FEWEST = 64  # observed entries below which nothing is fitted to a window
TRIAL = 0.1  # share of a time limit that trying them may take


def many_pixels(shape: Sequence[int], modes: Sequence[int] = (0, 1)) -> bool:
    """Are there so many pixels that they are served window by window?"""
    return shape[modes[0]] * shape[modes[1]] >= LARGE


def memory_of_windows(obs: Observations) -> float:
    """Bytes that a picture of many pixels takes, window by window: by its resident size at 12 megapixels."""
    return 80.0 * obs.size + 60.0 * obs.nnz


def is_large(obs: Observations, recipe: FieldRecipe, run: Run) -> bool:
    """Is this a picture or a video to be completed window by window? Not with settings that only a fit has."""
    modes = tuple(recipe.smooth)[:2]
    cut_short = run.max_iter is not None and run.max_iter < schedule(recipe.solver)
    usual = recipe.solver in (default_solver(starts=True), default_solver(starts=False))
    if recipe.passes == 0 or cut_short or not usual or obs.weights is not None:
        return False
    return many_pixels(obs.shape, modes)


def complete_large(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """A rough start, then passes window by window."""
    began = time.monotonic()
    done = _start(obs, recipe, run, method)
    if not completed(done):
        return done
    error, ended = _tried(obs, recipe, showing(run.rest(began), done.full), method, done.full)
    if ended is not None:
        return replace(done, status=ended)
    return replace(refine(done, recipe, run.rest(began), in_windows=True), error=error)


def part_of(obs: Observations, X: Array, where: Slices) -> Observations:
    """The observations inside a window, as those of a tensor of its size; X, full shape, holds the data."""
    mask = obs.mask[where]
    values = X[where][mask].astype(obs.values.dtype)
    return Observations(mask.shape, np.argwhere(mask), values, dims=obs.dims)


def busiest(obs: Observations, side: int, modes: tuple[int, int] = (0, 1)) -> Observations:
    """The window of a picture with most gaps, of those that are known by half at least; if none is, the one in which
    known values vary most: an empty sky says nothing of the rest.
    """
    cut, X = [w.core for w in windows(obs.shape, modes, side, 0)], obs.dense(0.0)
    shares = np.array([obs.mask[core].mean() for core in cut])
    score = np.where(shares >= 0.5, -shares, -2.0)
    if shares.max() < 0.5:
        score = np.array([np.std(X[core][obs.mask[core]]) if obs.mask[core].any() else 0.0 for core in cut])
    return part_of(obs, X, cut[int(np.argmax(score))])


# --- windows that are tried first ---------------------------------------------------------------------------------


def _tried(obs: Observations, recipe: FieldRecipe, run: Run, method: str, start: Array) -> tuple[float, Status | None]:
    """The root mean square error of a few windows completed as small pictures, which stand for all that are only filled
    roughly; and who stopped it.
    """
    if obs.share < SPARE:
        return np.nan, None
    gauged = _gauged(obs, positions(recipe), run.seed, start)
    seconds = None if run.seconds is None else run.seconds * TRIAL / TRIED
    # without a checkpoint: they are soon done again
    own = replace(run, seconds=seconds, checkpoint=None, resume=False)
    shares: list[float] = []
    for k, times in _drawn([g.squares for g in gauged]):
        kept, aside = gauged[k].kept, gauged[k].aside
        small = complete_field(kept, recipe, own, method)
        if not completed(small):
            return np.nan, None if small.status is Status.TIME else small.status
        left = float(np.sum((small.at(aside.indices) - aside.values) ** 2))
        shares += [left / gauged[k].squares if gauged[k].squares > 0 else 1.0] * times
    if not shares:
        return np.nan, None
    rough = sum(g.squares for g in gauged) / sum(g.aside.nnz for g in gauged)
    return float(np.sqrt(np.mean(shares) * rough)), None


@dataclass(frozen=True, eq=False)
class Gauged:
    """A window: what of it is kept, what set aside, and the squared errors there of a rough fill, added up."""

    kept: Observations
    aside: Observations
    squares: float


def _gauged(obs: Observations, modes: tuple[int, int], seed: int, start: Array) -> list[Gauged]:
    """Windows from all over the picture: some of it may be far easier than the rest."""
    out = []
    for k, where in enumerate(_spread(obs.shape, modes)):
        part = part_of(obs, start, where)
        if part.nnz < FEWEST:
            continue
        kept, aside = part.split(HELD_OUT, np.random.default_rng([seed, 2, k]))
        X = coarse_to_fine(kept.dense(0.0, np.float64), kept.mask, modes)
        out.append(Gauged(kept, aside, float(np.sum((X[tuple(aside.indices.T)] - aside.values) ** 2))))
    return out


def _drawn(squares: Sequence[float]) -> list[tuple[int, int]]:
    """(which, how often), TRIED in all: in proportion to these, so that the mean share of them that is left after a
    trial stands for all.
    """
    if not squares:
        return []
    ends = np.cumsum(squares if sum(squares) > 0 else np.ones(len(squares)))
    picked = np.searchsorted(ends, ends[-1] * (np.arange(TRIED) + 0.5) / TRIED)
    return [(int(k), int(n)) for k, n in zip(*np.unique(picked, return_counts=True), strict=True)]


def _spread(shape: tuple[int, ...], modes: tuple[int, int]) -> list[Slices]:
    """At most GAUGED windows, each around the middle of another part of the picture."""
    cut = windows(shape, modes, core=-(-max(shape[m] for m in modes) // math.isqrt(GAUGED)), margin=0)
    out = []
    for w in cut:
        middle = list(w.core)
        for m in modes:
            low = min(max((w.core[m].start + w.core[m].stop - SIDE) // 2, 0), max(shape[m] - SIDE, 0))
            middle[m] = slice(low, min(shape[m], low + SIDE))
        out.append(tuple(middle))
    return out


# --- a start from tiles ---------------------------------------------------------------------------------------------


def _start(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """What the passes start from."""
    modes = positions(recipe)
    channels = obs.size // (obs.shape[modes[0]] * obs.shape[modes[1]])
    start = coarse_to_fine(obs.dense(0.0, np.float64), obs.mask, modes)
    # frames of a video know more of each other than pixels around them do
    rough = obs.share >= ROUGH and channels <= CHANNELS
    cut = [] if rough else windows(obs.shape, modes, TILE, OVERLAP)
    settings = {"passes": 0, "noise": recipe.noise, "tiles": len(cut), "seed": run.seed}
    if rough:
        return Completion(obs, method, Status.FINISHED, History((Row(0, 0.0, np.nan),)), Filled(start), settings)
    fingerprint = f"tiles {obs.shape} {obs.nnz} {float(start.sum())!r} {len(cut)}"
    tiles = Tiles(obs, recipe, start, cut, run.seed, available_threads())
    stopping = Stopping(max_iter=len(cut), tol=0.0, seconds=run.seconds)
    own = replace(run, checkpoint=run.section("tiles"))
    outcome = own.drive(tiles, stopping, np.random.default_rng(run.seed), fingerprint)
    return Completion(obs, method, outcome.status, outcome.history, Filled(outcome.state.arrays["X"]), settings)


@dataclass(frozen=True, eq=False)
class Tiles:
    """Fits of tiles, laid over a rough start one after the other, each fading into those before it."""

    obs: Observations
    recipe: FieldRecipe
    start: Array
    cut: list[Window]
    seed: int
    threads: int

    def init(self, rng: np.random.Generator) -> State:
        return State({"X": self.start}, {"tile": 0})

    def step(self, state: State, rng: np.random.Generator) -> State:
        j, X = int(state.numbers["tile"]), state.arrays["X"].copy()
        batch = self.cut[j : j + BATCH]
        for tile, Y in zip(batch, each(self._fit, batch, self.threads), strict=True):
            weight = self._weight(tile)
            X[tile.outer] = weight * Y + (1 - weight) * X[tile.outer]
        return State({"X": X}, {"tile": j + len(batch)})

    def _fit(self, tile: Window) -> Array:
        part = part_of(self.obs, self.start, tile.outer)
        others = [n for n in range(part.ndim) if n not in positions(self.recipe)]
        if part.nnz < FEWEST or not all(part.seen(n).all() for n in others):
            return self.start[tile.outer]  # too little is known here to fit anything to
        recipe = replace(self.recipe, solver=default_solver(starts=True), passes=0)
        return fit_field(part, start_recipe(self.obs, recipe), Run(self.seed), "").full

    def _weight(self, tile: Window) -> Array:
        """1, save towards the tiles that came before: there it rises from 0 to 1."""
        weight = np.ones([1] * self.obs.ndim)
        for m in positions(self.recipe):
            length = tile.outer[m].stop - tile.outer[m].start
            ramp = np.ones(length)
            if tile.outer[m].start > 0:
                ramp[: 2 * OVERLAP] = np.linspace(0, 1, 2 * OVERLAP + 2)[1:-1]
            weight = weight * ramp.reshape([-1 if n == m else 1 for n in range(self.obs.ndim)])
        return weight

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["tile"] >= len(self.cut) else None
