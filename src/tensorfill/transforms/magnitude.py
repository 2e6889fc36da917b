"""Numbers of any size: extreme ones are scaled by a power of two for the run, and the answer scaled back.

Squares and products of 1e200 leave what a double can hold, and those of 1e-200 vanish. A power of two changes no digit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.result.completion import Completion
from tensorfill.result.transformed import InUnits

PLAIN = 200  # powers of two up to which everything in the package is safe: some 1e60


def power_of(obs: Observations) -> int:
    """The power of two to divide by: 0 for data of a size that needs nothing."""
    largest = float(np.abs(obs.values).max())
    if largest == 0 or abs(math.frexp(largest)[1]) <= PLAIN:
        return 0
    return math.frexp(largest)[1]


def divide(obs: Observations, power: int) -> Observations:
    """The same observations in units of 2 ** power."""
    return replace(obs, values=np.ldexp(obs.values.astype(np.float64), -power))


def multiply(done: Completion, obs: Observations, power: int) -> Completion:
    """The completion of `divided(obs, power)` as that of `obs`."""
    scale = math.ldexp(1.0, power) if power < 1024 else math.inf
    units = Units(0, np.zeros(obs.shape[0]), np.full(obs.shape[0], scale))
    facts, bars = done.facts, done.bars
    if facts is not None:
        level, spread, low, high = (scale * x for x in (facts.level, facts.spread, facts.low, facts.high))
        facts = replace(facts, level=level, spread=spread, low=low, high=high, noise=scale * facts.noise)
    own = scale if done.error_units is None else 1.0
    return replace(
        done,
        observations=obs,
        answer=InUnits(done.answer, units),
        facts=facts,
        error=done.error * own,
        by_gap={name: error * own for name, error in done.by_gap.items()},
        tried=tuple(replace(r, error=r.error * own, standard_error=r.standard_error * own) for r in done.tried),
        bars=None if bars is None else replace(bars, half=bars.half * scale),
        settings={**done.settings, "fitted_in_units_of": f"2**{power}"},
    )
