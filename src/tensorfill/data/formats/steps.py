"""Moments along a mode that are absent from a file altogether: nothing marks them, so they are told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.dates import moments

UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def step_note(dim: str, labels: Sequence[Any]) -> str | None:
    """What to say of dates or times that go in even steps but for some that are 2, 3, ... times as long; else None."""
    moments = _seconds(labels)
    steps = np.empty(0) if moments is None else np.diff(moments)
    if len(steps) < 3 or not (steps > 0).all():
        return None
    lengths, counts = np.unique(steps, return_counts=True)
    usual = lengths[np.argmax(counts)]
    times = steps / usual
    long = int((times > 1.5).sum())
    if long == 0 or counts.max() <= len(steps) / 2 or (np.abs(times - np.rint(times)) > 1e-6).any():
        return None
    return (
        f"{dim}: {long} of {len(steps)} steps {'is' if long == 1 else 'are'} longer than the usual {_words(usual)}; "
        "absent rows are not filled. Add them (empty) to have them filled."
    )


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
        return 86400.0 * label.toordinal()
    if isinstance(label, np.datetime64) and not np.isnat(label):
        return float(label.astype("datetime64[us]").astype(np.int64)) / 1e6
    raise TypeError


def _words(seconds: float) -> str:
    size, unit = next((u for u in UNITS if seconds >= u[0] and seconds % u[0] == 0), UNITS[-1])
    return f"{seconds / size:g} {unit}"
