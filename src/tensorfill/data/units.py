"""Centring and scaling of data for a model, and of its answer back to the unit of the data.

Two cases. Real numbers far from zero (kelvin) are centred: their level would be penalised by ridge and smoothness, and
cost digits of float32. Where the slices along a mode are quantities of their own (pressure, temperature, rain; columns
of a table), each is centred and divided by its spread, or only the widest would count in the fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.typing import Array

HUGE = 1e150  # beyond, squares leave the range of floats


@dataclass(frozen=True, eq=False)
class Units:
    """t = level[i] + scale[i] t', with i the index along `mode`; both (I_mode,)."""

    mode: int
    level: Array
    scale: Array

    @staticmethod
    def of_slices(obs: Observations, mode: int) -> Units:
        """Each slice along `mode` by its own mean and spread; one that is constant or hardly seen by those of all."""
        count, mean, spread = slice_statistics(obs, mode)
        known = (count > 1) & (spread > 0)
        level = np.where(count > 0, mean, float(np.mean(mean[count > 0])))
        usual = float(np.median(spread[known])) if known.any() else 1.0
        return Units(mode, level, np.where(known, spread, usual))

    @staticmethod
    def of_all(obs: Observations, *, centred: bool = True, scaled: bool = True) -> Units:
        """One unit for all: the mean of the observations as level if `centred`, and how far they are from it as scale
        if `scaled`.
        """
        t = obs.values.astype(np.float64)
        level = float(t.mean()) if centred else 0.0
        spread = float(np.sqrt(np.mean((t - level) ** 2))) if scaled else 1.0
        full = np.ones(obs.shape[0])
        return Units(0, full * level, full * (spread if spread > 0 else 1.0))

    @property
    def own(self) -> bool:
        """Do slices differ in their unit, its level or its scale?"""
        return any(bool((part != part[:1]).any()) for part in (self.level, self.scale))

    def transform(self, obs: Observations) -> Observations:
        """The data in units of the model."""
        i = obs.indices[:, self.mode]
        return replace(obs, values=(obs.values.astype(np.float64) - self.level[i]) / self.scale[i], source=None)

    def inverse_transform_at(self, x: Array, indices: Array) -> Array:
        """Numbers x (k,) at coordinates (k, N), in the unit of the data."""
        i = indices[:, self.mode]
        return self.level[i] + self.scale[i] * x

    def part(self, start: int, stop: int) -> Units:
        """Units of the slices start ... stop along the mode alone."""
        return Units(self.mode, self.level[start:stop], self.scale[start:stop])

    def inverse_transform(self, X: Array) -> Array:
        """X, full shape, in the unit of the data."""
        along = [-1 if n == self.mode else 1 for n in range(X.ndim)]
        return self.level.reshape(along) + self.scale.reshape(along) * X

    def settings(self) -> dict[str, Any]:
        """JSON-able; `Units.from_settings` reads it back."""
        return {"mode": self.mode, "level": self.level.tolist(), "scale": self.scale.tolist()}

    @staticmethod
    def from_settings(given: Mapping[str, Any]) -> Units:
        return Units(int(given["mode"]), np.array(given["level"], dtype=float), np.array(given["scale"], dtype=float))


def spread_of(values: Array) -> float:
    """The standard deviation of numbers of any size: their squares may be too large for a float."""
    t = np.asarray(values, dtype=np.float64)
    largest = float(np.abs(t).max(initial=0.0))
    return float((t / largest).std() * largest) if largest > HUGE else float(t.std())


def slice_statistics(obs: Observations, mode: int, every: int = 1) -> tuple[Array, Array, Array]:
    """(number, mean, standard deviation) of the observed entries of each slice along a mode, (I_n,) each; 0 if none.
    Of one in `every` of them, where there are many.
    """
    # drawn at random: even steps might always meet the same colour
    pick = slice(None) if every == 1 else np.random.default_rng(0).integers(obs.nnz, size=obs.nnz // every)
    i, length = obs.indices[pick, mode], obs.shape[mode]
    t = obs.values[pick].astype(np.float64)
    count = np.bincount(i, minlength=length)
    at_least = np.maximum(count, 1)
    mean = np.bincount(i, t, length) / at_least
    t -= mean[i]
    size = np.bincount(i, np.abs(t), length) / at_least
    t /= np.where(size > 0, size, 1.0)[i]  # squares of slices far smaller than others would be 0
    return count, mean, size * np.sqrt(np.bincount(i, t**2, length) / at_least)
