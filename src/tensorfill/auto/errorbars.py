"""Error bars for any method: how far off it was on entries set aside, and so how far off it may be elsewhere.

Split conformal prediction. A part of the observed entries is hidden, in the way in which others are missing, from a
run of its own. What that run gets wrong there is compared with a scale, a guess of how large the error is at each
entry. The guess may be poor: the quantile of error over scale makes the intervals hold as often as they say. A better
guess makes them narrow where they can be. Errors within one gap are alike, so that gaps, not entries, foretell others
(Dunn, Wasserman, Ramdas: Distribution-free prediction sets for two-layer hierarchical models, JASA 2023).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tensorfill.data.facts import CHANNELS, smooth_modes
from tensorfill.data.gaps import has_clustered_gaps
from tensorfill.data.holdout import gap_numbers, split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Method, Run
from tensorfill.methods.defaults import default_held_out
from tensorfill.methods.tabular.means import proportional
from tensorfill.models.cp import CP
from tensorfill.models.unseen import distance_to_seen
from tensorfill.problem import DataWarning
from tensorfill.result.answer import factors_of
from tensorfill.result.completion import Completion
from tensorfill.result.record import Bars, Status
from tensorfill.typing import Array

FEWEST = 100  # observed entries below which a fifth of them says nothing
WAYS = ((False, False), (False, True), (True, False), (True, True))  # what `effects` are asked for
WINDOW = 3  # pixels over which the activity of a field is taken


@dataclass(frozen=True, eq=False)
class Errors:
    """Absolute errors of a run on entries set aside, by their unit: `where` (k, N), `size` (k,), `gap` (k,)."""

    shape: tuple[int, ...]
    where: Array
    size: Array
    gap: Array  # the one that each entry is in: errors within one are alike

    def part(self, keep: Array) -> Errors:
        return replace(self, where=self.where[keep], size=self.size[keep], gap=self.gap[keep])

    def usual(self, size: Array, of: Callable[[Array], Any] = np.median) -> Array:
        """The median (or mean) of sizes (k,) in each slice of the shortest mode, which has most in each: full shape."""
        mode = int(np.argmin(self.shape))
        slices = self.where[:, mode]
        out = np.full(self.shape[mode], float(of(size)))
        for n in np.unique(slices):
            out[n] = of(size[slices == n])
        out = np.maximum(out, max(1e-9 * float(size.mean()), np.finfo(np.float64).tiny))
        return np.broadcast_to(out.reshape([-1 if n == mode else 1 for n in range(len(self.shape))]), self.shape)


def complete_with_bars(obs: Observations, method: Method, run: Run, level: float) -> Completion:
    """The method's completion, with bars that hold `level` of the unknown entries. Two runs share the time given."""
    if not 0 < level < 1:
        msg = f"error_bars must lie between 0 and 1, like 0.9; got {level!r}."
        raise ValueError(msg)
    if obs.nnz < FEWEST:
        msg = f"error bars need at least {FEWEST} observed entries, to hold some out; got {obs.nnz}."
        raise ValueError(msg)
    obs.refuse_huge("error bars")
    whole, began = run, time.monotonic()
    run = replace(run, seconds=None if run.seconds is None else run.seconds / 2)
    training, validation = split_like_gaps(obs, default_held_out(obs), np.random.default_rng([run.seed, 7]))
    if np.ceil(level * (validation.nnz + 1)) > validation.nnz:
        msg = (
            f"error bars of {level:.6g} need more than the {validation.nnz} entries that can be held out; ask for less."
        )
        raise ValueError(msg)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of slices that are empty only because they were set aside
        trial = method.fit(training, replace(run, checkpoint=run.section("bars")))
    if trial.status in (Status.INTERRUPTED, Status.CALLBACK):
        return replace(trial, observations=obs)
    done = trial
    try:
        unit = unit_of(trial)
        at = tuple(validation.indices.T)
        off = np.abs(np.asarray(trial.at(validation.indices), dtype=np.float64) - validation.values)
        done = method.fit(obs, whole.rest(began))
        errors = Errors(obs.shape, validation.indices, off / unit[at], gap_numbers(obs, training, validation))
        half = half_widths(errors, trial, level, run.seed) * unit
    except KeyboardInterrupt:  # whoever has waited for the answer gets it
        return replace(done, observations=obs, status=Status.INTERRUPTED)
    half[obs.mask] = 0.0
    return replace(done, bars=Bars(level, half), error=float(np.sqrt(np.mean((off / unit_of(done)[at]) ** 2))))


def unit_of(done: Completion) -> Array:
    """What errors are measured by, full shape: 1, or the spread of the slice where slices have units of their own."""
    obs, units = done.observations, done.error_units
    if units is None:
        return np.broadcast_to(1.0, obs.shape)
    along = [-1 if n == units.mode else 1 for n in range(obs.ndim)]
    return np.broadcast_to(np.reshape(units.scale, along), obs.shape)


def half_widths(errors: Errors, trial: Completion, level: float, seed: int) -> Array:
    """Of intervals that hold `level` of entries like those of `errors`: full shape."""
    count, gaps = len(errors.size), int(errors.gap.max()) + 1
    parts, ways = (errors.gap, WAYS) if gaps > 1 else (np.arange(count), WAYS[:1])  # one gap tells nothing of others
    halves = (np.random.default_rng([seed, 8]).permutation(int(parts.max()) + 1) % 2 == 0)[parts]
    guesses = [foretold(base, errors, trial, halves, *way) for base in BASES for way in ways]
    best = min((g for g in guesses if g is not None), key=lambda g: g.surprise)
    mode = int(np.argmin(errors.shape))
    slices, factor = errors.where[:, mode], np.full(errors.shape[mode], _quantile(best.ratios, gaps, level))
    for n in np.unique(slices):  # many columns that are nearly exact say nothing of a hard one
        own = slices == n
        told = len(np.unique(errors.gap[own]))
        if level * (1 + 1 / told) <= 1:  # there are enough for this quantile
            factor[n] = _quantile(best.ratios[own], told, level)
    return factor.reshape([-1 if n == mode else 1 for n in range(len(errors.shape))]) * best.scale


def _quantile(ratios: Array, gaps: int, level: float) -> float:
    """What `level` of entries in a gap to come stay below, which counts as one of the `gaps`."""
    rank = int(np.ceil(level * len(ratios) * (1 + 1 / gaps)))
    return float(np.sort(ratios)[min(rank, len(ratios)) - 1])


# --- guesses of the scale ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Guess:
    """A scale, and how it did."""

    scale: Array  # full shape, > 0
    ratios: Array  # |error| / scale, the scale fitted to the other half of the errors: (k,)
    surprise: float  # mean of log scale + ratio: how badly the scale foretells the errors of the other half


def foretold(
    make: Callable[[Completion], Array | None], errors: Errors, trial: Completion, halves: Array, *way: bool
) -> Guess | None:
    """The guess that `make` begins, each half of the errors foretold by the other; None where it does not apply."""
    base = make(trial)
    if base is None:
        return None
    floor = 1e-3 * errors.usual(errors.size)
    ratios = np.empty(len(errors.size))
    surprise = np.empty(len(errors.size))
    for half in (halves, ~halves):
        at = tuple(errors.where[~half].T)
        scale = np.maximum(effects(errors.part(half), base, *way), floor)[at]
        ratios[~half] = errors.size[~half] / scale
        surprise[~half] = np.log(scale) + ratios[~half]
    return Guess(np.maximum(effects(errors, base, *way), floor), ratios, float(surprise.mean()))


def effects(errors: Errors, base: Array, apart: bool, shrunk: bool) -> Array:
    """The base times the mean error in each slice of the shortest mode, if these are told apart, and times one number
    per slice of every mode, shrunk to 1 as far as they may be chance, as the errors have it: full shape.
    """
    at = tuple(errors.where.T)
    relative = errors.size / base[at]
    usual = errors.usual(relative)[at]
    # a few large errors must not speak for a slice; where all of a slice are large, it is a hard one
    relative = usual * np.minimum(relative / usual, np.quantile(relative / usual, 0.95))
    if apart:
        means = errors.usual(relative, np.mean)
        base, relative = base * means, relative / means[at]
    level = float(relative.mean()) or 1.0
    if not shrunk:
        return base * level
    obs = Observations.from_coo(errors.where, np.maximum(relative, 1e-3 * level), errors.shape)
    return base * CP(proportional(obs)).full()


def _flat(trial: Completion) -> Array:
    """Errors of one size, but for the slices."""
    return np.ones(trial.observations.shape)


def _prior(trial: Completion) -> Array | None:
    """As wide as the numerical prior is at the model's value: larger counts scatter more."""
    found = factors_of(trial.answer)
    if found is None or found.units is not None or not found.prior.has("quantile"):
        return None
    x = found.model.full().astype(np.float64)
    width = found.prior.quantile(x, 0.84) - found.prior.quantile(x, 0.16)
    typical = float(np.median(width[width > 0])) if (width > 0).any() else 1.0
    return np.maximum(width, 0.1 * typical)


def _activity(trial: Completion) -> Array | None:
    """As large as the estimate varies nearby: edges are harder than walls."""
    from scipy.ndimage import uniform_filter

    modes = smooth_modes(trial.observations)[:2]
    if len(modes) < 2:
        return None
    X = np.asarray(trial.full, dtype=np.float64) / unit_of(trial)
    size = tuple(WINDOW if n in modes else 1 for n in range(X.ndim))
    mean = uniform_filter(X, size)
    activity = np.sqrt(np.maximum(uniform_filter(X * X, size) - mean * mean, 0.0))
    return activity + (0.5 * float(np.median(activity)) or 1.0)


def _distance(trial: Completion) -> Array | None:
    """As far as the next known entry is, where gaps are clustered: the middle of a cloud is harder than its rim."""
    from scipy.ndimage import distance_transform_edt

    obs = trial.observations
    if not has_clustered_gaps(obs):
        return None
    long = [length > CHANNELS for length in obs.shape]  # along colours and the like nothing is near or far
    distance = distance_transform_edt(~obs.mask, sampling=[1.0 if yes else 1e-3 for yes in long])
    return np.maximum(distance, 1.0)


def _unseen(times: float, trial: Completion) -> Array | None:
    """Larger where the whole slice was never seen, and more so further from those that were."""
    obs = trial.observations
    scale = np.ones(obs.shape)
    for n in {n for n, _ in obs.empty_slices()}:
        along = [-1 if m == n else 1 for m in range(obs.ndim)]
        scale = np.maximum(scale, 1 + times * np.sqrt(distance_to_seen(obs, n)).reshape(along))
    return scale if scale.max() > 1 else None


BASES: tuple[Callable[[Completion], Array | None], ...] = (
    *(_flat, _prior, _activity, _distance),
    *(partial(_unseen, times) for times in (1.0, 3.0, 10.0, 30.0)),
)
