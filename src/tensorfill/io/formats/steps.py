"""Dates and times that data have no row for: nothing in them marks these as missing, so a note names them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from tensorfill.data.labels import as_datetimes


def step_note(dim: str, labels: Any) -> str | None:
    """What to say of labels that go by even steps of time but for some that are absent; None of others."""
    at = as_datetimes(labels)
    if at is None:
        return None
    import pandas as pd

    found = all_steps(pd.DatetimeIndex(at))
    if found is None:
        return None
    full, take = found
    absent = full[take < 0]
    first = absent[0]
    before = labels[int(at.searchsorted(first.to_numpy())) - 1]
    if zone := re.search(r"[+-]\d\d:\d\d$", str(before)):
        first = first.tz_localize("UTC").tz_convert(f"UTC{zone[0]}")  # on the clock of the label before it
    what = f"step {first!s} has" if len(absent) == 1 else f"{len(absent):,} steps, {first!s} and others, have"
    return f"{dim}: {what} no row; absent rows are not filled. Add them (empty) to have them filled."


def all_steps(index: Any) -> tuple[Any, NDArray[Any]] | None:
    """(the labels with those that are absent, for each its place in `index` or -1); None where the steps are even, or
    where it is not clear what they are.
    """
    if len(index) < 4 or not index.is_monotonic_increasing or not index.is_unique:
        return None
    for full in _even_indexes(index):
        if len(full) < 2 * len(index) and index.isin(full).all():
            return (full.rename(index.name), index.get_indexer(full)) if len(full) > len(index) else None
    return None


def _even_indexes(index: Any) -> Iterator[Any]:
    """Labels of time without a gap from the first to the last, by each step that may be meant."""
    import pandas as pd

    if isinstance(index, pd.PeriodIndex):
        yield pd.period_range(index[0], index[-1], freq=index.freq)
    elif isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
        dates, half = isinstance(index, pd.DatetimeIndex), len(index) // 2
        usual = pd.Series(index[1:] - index[:-1]).mode()[0]
        days = ("B", "D") if dates and usual == pd.Timedelta("1D") else ()
        for freq in (frequency(index), frequency(index[:half]), frequency(index[half:]), *days, usual):
            if freq is not None:
                yield (pd.date_range if dates else pd.timedelta_range)(index[0], index[-1], freq=freq)


def frequency(index: Any) -> Any:
    """The offset by which dates or durations go on, None where it is not always the same one."""
    import pandas as pd

    if len(index) < 2 or index.hasnans or index[0] == index[1]:
        return None
    if len(index) == 2:
        for freq in ("MS", "ME") if isinstance(index, pd.DatetimeIndex) else ():
            months = pd.date_range(*index, freq=freq)
            if len(months) > 1 and months[0] == index[0] and months[-1] == index[1]:
                return (len(months) - 1) * months.freq
        return index[1] - index[0]
    with warnings.catch_warnings(action="ignore"):  # of pandas 3.1, that its next version will give the offset itself
        freq = index.freq or pd.infer_freq(index)
    return None if freq is None else pd.tseries.frequencies.to_offset(freq)
