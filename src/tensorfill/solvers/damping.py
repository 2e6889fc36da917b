"""Step lengths that do not raise the objective, chosen for every row of a factor by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorfill.typing import Array

SHRINK, TRIES = 0.3, 12  # factor on a step that would raise the objective, and how often it is applied


def damp_steps(cost: Callable[[Array], Array], rows: int) -> Array:
    """Step lengths from 0 to 1, (rows,), with which no row costs more than without a step.

    cost : step lengths (rows,) -> what each row costs after such steps, (rows,); NaN counts as more
    """
    step, before = np.ones(rows), cost(np.zeros(rows))
    for _ in range(TRIES):
        worse = ~(cost(step) <= before)
        if not worse.any():
            return step
        step = np.where(worse, SHRINK * step, step)
    return np.where(~(cost(step) <= before), 0.0, step)
