"""How good an answer is, in words people know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorfill.data.units import spread_of
from tensorfill.result.record import COLUMN_MEANS, mean_error

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion


def quality(done: Completion) -> str:
    """How good the fill is, judged on known entries that were set aside; empty where none were."""
    if not np.isfinite(done.error):
        return ""
    if done.error_units is not None:
        aside = "measured on known values hidden from the fit"
        if not done.by_column:
            slices = done.observations.dims[done.error_units.mode]
            return f"typical error {done.error:.2g} SD (standard deviation of each {slices}), {aside}"
        error, means = mean_error(done.by_column)
        if done.settings.get("candidate") == COLUMN_MEANS:
            return f"no better than the column means ({means:.2g} SD), so the column means were used"
        return f"typical error {error:.2g} SD (column means: {means:.2g} SD), {aside}"
    spread = spread_of(done.observations.values)
    bars = "" if done.bars is None else f"; {100 * done.bars.level:.4g}% within {_typical_bar(done):.3g}"
    told = "measured on known values hidden from the fit (standard deviation of the data:"
    return f"typical error {done.error:.3g}{bars}, {told} {spread:.3g})"


def _typical_bar(done: Completion) -> float:
    """Median half width of the error bars where something was missing."""
    half = done.bars.half[~done.observations.mask] if done.bars is not None else np.empty(0)
    return float(np.median(half)) if half.size else 0.0
