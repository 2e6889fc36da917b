"""Scales of heat maps: columns with units of their own (age, income) are each drawn in their own scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorfill.data.facts import unit_mode
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.show.view import Sheet


def own_scale_axis(obs: Observations, sheet: Sheet) -> int | None:
    """The axis of the sheet whose slices have units of their own, so that one scale would show only some of them."""
    mode = unit_mode(obs) if obs.size <= DENSE_LIMIT and sheet.given.ndim == 2 else None
    return None if mode is None or mode in sheet.fixed else sheet.dims.index(obs.dims[mode])


def in_own_scales(sheet: Sheet, axis: int) -> Sheet:
    """The sheet with each slice along the axis from 0, the lowest of its known values, to 1, the highest."""
    across = 1 - axis
    seen = sheet.observed.any(axis=across, keepdims=True)
    base = np.where(seen, sheet.given, sheet.completed)
    low = np.nanmin(base, axis=across, keepdims=True, initial=np.inf)
    high = np.nanmax(base, axis=across, keepdims=True, initial=-np.inf)
    flat = ~(high > low)
    low, size = np.where(flat, low - 0.5, low), np.where(flat, 1.0, high - low)
    return replace(sheet, given=(sheet.given - low) / size, completed=(sheet.completed - low) / size)
