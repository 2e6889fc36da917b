"""Series that repeat: a profile over the period for each of them, and what that leaves, smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import CANDIDATES, Fitted, Search
from tensorfill.choose.candidates.interpolate import NOISE, RETURN, Along, own_level, smoothed, wander
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run

Array = NDArray[Any]

ROUNDS = 3  # in which profile and slow changes are taken out of each other; later ones change little


@CANDIDATES.register("season")
@dataclass(frozen=True)
class Season(Along):
    """A profile over the period (a day, a year) for each series along one mode, and what it leaves, smoothed."""

    assumes = "each series along one mode repeats a profile of its own, and what that leaves changes slowly"

    period: int = 1
    curved: bool = False  # does the slope of what is left wander rather than that itself?

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        able = super().can(facts, given)
        return able if able is not True or any(m.period for m in facts.modes) else "no mode has a period"

    @classmethod
    def first(cls, facts: Facts, given: Given) -> int:
        return 2

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        for n, m in enumerate(facts.modes):
            if m.period is not None:
                yield cls(n, m.dim, m.period)
                yield cls(n, m.dim, m.period, curved=True)

    @property
    def label(self) -> str:
        return f"season of {self.period} along {self.dim}" + (", curved" if self.curved else "")

    def cost(self, facts: Facts) -> float:
        return 0.012 + 3.2e-6 * facts.size + (1.9e-4 if self.curved else 1.5e-4) * facts.shape[self.mode]

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        place = np.arange(obs.shape[self.mode]) % self.period
        return smoothed(obs, self.mode, [lambda _, T, known: repeating(T, known, place)], run, curved=self.curved)


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
