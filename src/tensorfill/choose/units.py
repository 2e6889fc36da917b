"""Data fitted in units that suit a model, and the answer in those of the data again.

Two cases. Real numbers far from zero (kelvin) have their level taken out: it would use up the smoothness and the ridge
of the factors, and the digits of their numbers. Where the slices along a mode are quantities of their own (pressure,
temperature, rain; columns of a table), each is centred and divided by its spread, or the widest alone would count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.defaults import slice_statistics
from tensorfill.data.observations import Observations
from tensorfill.result.completion import Completion

Array = NDArray[Any]

FAR = 3.0  # spreads from zero at which a level is worth taking out


@dataclass(frozen=True, eq=False)
class Units:
    """t = level[i] + scale[i] t', with i the index along `mode`; both (I_mode,)."""

    mode: int
    level: Array
    scale: Array
    own: bool  # does each slice have a unit of its own, or is the level all there is?

    @staticmethod
    def of_slices(obs: Observations, mode: int) -> Units:
        """Each slice along `mode` by its own mean and spread; one that is constant or hardly seen by those of all."""
        count, mean, spread = slice_statistics(obs, mode)
        known = (count > 1) & (spread > 0)
        level = np.where(count > 0, mean, float(np.mean(mean[count > 0])))
        return Units(mode, level, np.where(known, spread, float(np.median(spread[known]))), own=True)

    @staticmethod
    def of_level(obs: Observations) -> Units | None:
        """The mean of all, where it lies far from zero; else None."""
        t = obs.values.astype(np.float64)
        level, spread = float(t.mean()), float(t.std())
        if not abs(level) > FAR * spread > 0:
            return None
        return Units(0, np.full(obs.shape[0], level), np.ones(obs.shape[0]), own=False)

    def take_out(self, obs: Observations) -> Observations:
        """The data in units of the model."""
        i = obs.indices[:, self.mode]
        return replace(obs, values=(obs.values.astype(np.float64) - self.level[i]) / self.scale[i])

    def put_back(self, done: Completion, obs: Observations) -> Completion:
        """The completion of `take_out(obs)` as that of `obs`: factors scaled, and one component more for the level."""
        along = [-1 if n == self.mode else 1 for n in range(obs.ndim)]
        scale, level = self.scale.reshape(along), self.level.reshape(along)
        factors = done.factors
        if factors is not None:
            size = float(np.abs(self.level).mean()) ** (1 / obs.ndim) or 1.0
            ends = [np.full((length, 1), size) for length in obs.shape]
            ends[self.mode] = self.level[:, None] / size ** (obs.ndim - 1)
            scaled = [A * self.scale[:, None] if n == self.mode else A for n, A in enumerate(factors)]
            factors = [np.hstack([A, end]) for A, end in zip(scaled, ends, strict=True)]
        dense = None if done.dense is None else done.dense * scale + level
        note = {"units": self.settings(obs)} if self.own else {"level": float(self.level[0])}
        return replace(done, observations=obs, factors=factors, dense=dense, settings={**done.settings, **note})

    def settings(self, obs: Observations) -> dict[str, Any]:
        """JSON-able."""
        return {"dim": obs.dims[self.mode], "level": self.level.tolist(), "scale": self.scale.tolist()}
