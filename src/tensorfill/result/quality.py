"""How good an answer is, in words people know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorfill.data.columns import is_table
from tensorfill.data.observations import Observations
from tensorfill.data.units import slice_statistics, spread_of
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
    which, spread = _spread(done.observations)
    bars = "" if done.bars is None else f"; {100 * done.bars.level:.4g}% within {_typical_bar(done):.3g}"
    told = f"measured on known values hidden from the fit (standard deviation {which}:"
    return f"typical error {done.error:.3g}{bars}, {told} {spread:.3g})"


def _spread(obs: Observations) -> tuple[str, float]:
    """Of which numbers the standard deviation says whether an error is large, and what it is: those of one column of a
    table or one variable of a Dataset, as the means of several may be far apart.
    """
    dataset = getattr(obs.source, "dataset", None)
    if not is_table(obs) and (dataset is None or obs.dims[-1] in dataset.dims):
        return "of the data", spread_of(obs.values)
    count, _, each = slice_statistics(obs, obs.ndim - 1)
    largest = float(each.max()) or 1.0
    return f"within each {obs.dims[-1]}", largest * float(np.sqrt(np.average((each / largest) ** 2, weights=count)))


def _typical_bar(done: Completion) -> float:
    """Median half width of the error bars where something was missing."""
    half = done.bars.half[~done.observations.mask] if done.bars is not None else np.empty(0)
    return float(np.median(half)) if half.size else 0.0
