"""Dates and times that a file has no row for: nothing in it marks them as missing, so a note names them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.labels import times

DAY = 86400.0
EPOCH = 3  # 1970 began on a Thursday, counted from Monday
UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def step_note(dim: str, labels: Any) -> str | None:
    """What to say of dates or times that go in even steps but for some that are 2, 3, ... times as long; else None."""
    at = times(labels)
    if at is None:
        return None
    moments = at.astype("M8[us]").astype(np.int64) / 1e6
    steps = np.diff(moments)
    if len(steps) < 3 or not (steps > 0).all():
        return None
    lengths, counts = np.unique(steps, return_counts=True)
    usual = lengths[np.argmax(counts)]
    ratio = steps / usual
    long = int((ratio > 1.5).sum())
    if long == 0 or counts.max() <= len(steps) / 2 or (np.abs(ratio - np.rint(ratio)) > 1e-6).any():
        return None
    if usual == DAY and _weekends(moments[:-1][ratio > 1.5], ratio[ratio > 1.5]):
        return None
    return (
        f"{dim}: {long} of {len(steps)} steps {'is' if long == 1 else 'are'} longer than the usual {_words(usual)}; "
        "absent rows are not filled. Add them (empty) to have them filled."
    )


def _weekends(before: NDArray[np.float64], times: NDArray[np.float64]) -> bool:
    """Are all that is absent Saturdays and Sundays? Then nothing was to be there."""
    friday = (before // DAY + EPOCH) % 7 == 4
    return bool((friday & (times == 3)).all())


def _words(seconds: float) -> str:
    size, unit = next((u for u in UNITS if seconds >= u[0] and seconds % u[0] == 0), UNITS[-1])
    return f"{seconds / size:g} {unit}"
