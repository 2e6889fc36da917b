"""Series that repeat: a profile over the period for each of them, and what that leaves, smoothed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import METHODS, Run, Unsuited, Variants
from tensorfill.methods.checks import check_whole
from tensorfill.methods.tabular.interpolation import LARGEST, AlongMode
from tensorfill.methods.tabular.smoother import NOISE, RETURN, own_level, smooth_series, wander
from tensorfill.result.completion import Completion
from tensorfill.typing import Array

ROUNDS = 3  # in which profile and slow changes are taken out of each other; later ones change little


@METHODS.register("seasonal")
@dataclass(frozen=True)
class Seasonal(AlongMode):
    """A profile over the period (a day, a year) for each series along one mode, and what it leaves, smoothed.

    Parameters
    ----------
    period : steps after which the series repeat; None: as the data have it
    curved : does the slope of what is left wander rather than that itself?
    """

    reference = "Cleveland et al.: STL, a seasonal-trend decomposition procedure based on loess, 1990"
    assumes = "each series along one mode repeats a profile of its own, and what that leaves changes slowly"
    use_when = "hourly, daily or monthly series with long gaps"

    period: int | None = None
    curved: bool = False

    def __post_init__(self) -> None:
        check_whole(self, 2, "period", most=LARGEST)

    def suits(self, facts: Facts) -> str | None:
        if facts.size > LARGEST:
            return "the tensor is too large to hold every entry"
        return None if self.period or any(m.period for m in facts.modes) else "no mode has a period"

    def initial_variants(self, facts: Facts) -> int:
        return 2

    def variants(self, facts: Facts) -> Variants:
        for n, m in enumerate(facts.modes):
            if m.period is not None:
                for curved in (False, True):
                    yield replace(self, mode=n, dim=m.dim, period=self.period or m.period, curved=curved)

    @property
    def label(self) -> str:
        of = "" if self.period is None else f" ({self.period})"
        return super().label + of + (", curved" if self.curved else "")

    def cost(self, facts: Facts) -> float:
        return 0.012 + 3.2e-6 * facts.size + (1.9e-4 if self.curved else 1.5e-4) * self.length(facts)

    def fit(self, obs: Observations, run: Run) -> Completion:
        mode = self.axis(obs, run)
        period = self.period or run.facts_of(obs).modes[mode].period
        if period is None:
            msg = f"no period is seen along {obs.dims[mode]!r}; name it, period=24"
            raise Unsuited(msg)
        place = np.arange(obs.shape[mode]) % period
        filled, settings = smooth_series(
            obs, mode, [lambda _, T, known: repeating(T, known, place)], run, curved=self.curved
        )
        return self.completion(obs, run, filled, settings={"period": period, **settings})


def repeating(T: Array, known: Array, place: Array) -> Array:
    """The level of each row of T (k, L), and its profile over the places in the period, (L,): full size, (k, L)."""
    level = own_level(T, known, np.full((len(T), 1), T.sum() / max(known.sum(), 1)))
    slow, profile = level, np.zeros_like(T)
    apart = np.ones(T.shape[1] - 1)
    for _ in range(ROUNDS):
        profile = _profile(np.where(known, T - slow, 0.0), known, place)
        rest = np.where(known, T - level - profile, 0.0)
        slow = level + wander(rest, known, NOISE[-1], RETURN[0], apart)
    return level + profile


def _profile(rest: Array, known: Array, place: Array) -> Array:
    """The mean of each row's known entries at each place of the period, drawn to zero as far as chance explains it."""
    turns = np.eye(place.max() + 1)[place]  # (L, period)
    count = known @ turns
    mean = (rest @ turns) / np.maximum(count, 1)
    left = np.where(known, rest - mean[:, place], 0.0)
    free = np.maximum(known.sum(axis=1, keepdims=True) - (count > 0).sum(axis=1, keepdims=True), 1)
    chance = (left**2).sum(axis=1, keepdims=True) / free  # variance of one entry about the profile
    seen = np.maximum((count > 0).sum(axis=1, keepdims=True), 1)
    own = (mean**2).sum(axis=1, keepdims=True) / seen - (chance / np.maximum(count, 1)).sum(
        axis=1, keepdims=True, where=count > 0
    ) / seen
    own = np.maximum(own, 0.0)  # variance of the profile itself
    keep = np.divide(own, own + chance / np.maximum(count, 1), out=np.zeros_like(mean), where=own > 0)
    return (keep * mean)[:, place]
