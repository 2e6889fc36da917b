"""Dates and times that a file has no row for: nothing in it marks them as missing, so a note names them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.dates import moments

DAY = 86400.0
EPOCH = 3  # 1970 began on a Thursday, counted from Monday
UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def step_note(dim: str, labels: Sequence[Any]) -> str | None:
    """What to say of dates or times that go in even steps but for some that are 2, 3, ... times as long; else None."""
    moments = _seconds(labels)
    if moments is None:
        return None
    steps = np.diff(moments)
    if len(steps) < 3 or not (steps > 0).all():
        return None
    lengths, counts = np.unique(steps, return_counts=True)
    usual = lengths[np.argmax(counts)]
    times = steps / usual
    long = int((times > 1.5).sum())
    if long == 0 or counts.max() <= len(steps) / 2 or (np.abs(times - np.rint(times)) > 1e-6).any():
        return None
    if usual == DAY and _weekends(moments[:-1][times > 1.5], times[times > 1.5]):
        return None
    return (
        f"{dim}: {long} of {len(steps)} steps {'is' if long == 1 else 'are'} longer than the usual {_words(usual)}; "
        "absent rows are not filled. Add them (empty) to have them filled."
    )


def _weekends(before: NDArray[np.float64], times: NDArray[np.float64]) -> bool:
    """Are all that is absent Saturdays and Sundays? Then nothing was to be there."""
    friday = (before // DAY + EPOCH) % 7 == 4
    return bool((friday & (times == 3)).all())


def _seconds(labels: Sequence[Any]) -> NDArray[np.float64] | None:
    """The labels in seconds, if all are dates or times."""
    if labels and all(isinstance(label, str) for label in labels):
        found = moments(labels)
        if found is not None:
            return found.astype(np.int64) / 1e6
    try:
        return np.array([_moment(label) for label in labels], dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None


def _moment(label: Any) -> float:
    if isinstance(label, str):
        text = label.strip()
        if text.isdecimal():  # 20240301 may be a date, and may be any number
            raise ValueError
        label = datetime.fromisoformat(text)
    if isinstance(label, datetime):
        return (label if label.tzinfo else label.replace(tzinfo=UTC)).timestamp()
    if isinstance(label, date):
        return DAY * (label.toordinal() - date(1970, 1, 1).toordinal())
    if isinstance(label, np.datetime64) and not np.isnat(label):
        return float(label.astype("datetime64[us]").astype(np.int64)) / 1e6
    raise TypeError


def _words(seconds: float) -> str:
    size, unit = next((u for u in UNITS if seconds >= u[0] and seconds % u[0] == 0), UNITS[-1])
    return f"{seconds / size:g} {unit}"
