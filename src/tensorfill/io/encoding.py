"""Mixed tables as numbers: categories, text, yes and no, dates and durations become columns to fit, and come back.

A category of two levels is one column of 0 and 1, one of more levels a column for each; ordered levels are numbered.
Dates are counted in days, durations in seconds or days. What cannot be learnt (identifiers, free text, one level
alone) stays out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, time
from typing import Any, Self

import numpy as np

from tensorfill.typing import Array

MOST_LEVELS = 50
PER_LEVEL = 5  # rows that a level needs on average: with fewer, text is free text
FEWEST = 10  # known rows of a column below which nothing is learnt of it
DAY, LONG = 86400.0, 1e6  # seconds; longer durations are counted in days
STEPS = ("D", "h", "min", "s", "ms", "us", "ns")  # of dates and durations, the coarsest first


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """How one column of the table becomes columns of numbers.

    Attributes
    ----------
    place : of the column in the table
    kind : "number", "levels" (one column for each), "codes" (one column of their numbers), "moment" or "left"
    names : of the columns of numbers
    levels : of a category, in their order
    start, unit, step : where moments are counted from, in how many seconds, and what they are rounded to
    """

    place: int
    kind: str
    names: tuple[str, ...] = ()
    levels: tuple[Any, ...] = ()
    start: Any = None
    unit: float = 1.0
    step: str = "ns"

    @classmethod
    def of(cls, place: int, column: Any, numeric: bool) -> Self:
        """How to encode this column of pandas."""
        name = str(column.name)
        if numeric:
            return cls(place, "number", (name,))
        moments = as_moments(column)
        if moments is not None and moments.count() >= FEWEST and moments.nunique() > 1:
            start = _epoch(moments)
            since = moments.dropna() - start
            step = next((s for s in STEPS if (since == since.dt.floor(s)).all()), "ns")
            days = moments.dtype.kind == "M" or abs(since).max().total_seconds() > LONG
            return cls(place, "moment", (name,), start=start, unit=DAY if days else 1.0, step=step)
        levels = () if moments is not None else _levels(column)
        if len(levels) < 2:
            return cls(place, "left")
        if len(levels) == 2 or (hasattr(column, "cat") and column.cat.ordered):
            return cls(place, "codes", (f"{name} = {levels[1]}" if len(levels) == 2 else name,), levels)
        return cls(place, "levels", tuple(f"{name} = {level}" for level in levels), levels)

    def transform(self, column: Any) -> list[Any]:
        """The columns of numbers, NaN where nothing is known; numbers as they are."""
        if self.kind == "number":
            return [column]
        if self.kind == "moment":
            return [(as_moments(column) - self.start).dt.total_seconds() / self.unit]
        if hasattr(column, "cat"):
            codes = column.cat.set_categories(self.levels).cat.codes.astype(float).replace(-1.0, np.nan)
        else:
            codes = column.map({level: float(k) for k, level in enumerate(self.levels)}).astype(float)
        if self.kind == "codes":
            return [codes]
        return [(codes == k).astype(float).where(codes.notna()) for k in range(len(self.levels))]

    def inverse_transform(self, numbers: Any, like: Any) -> Any:
        """The column that these numbers (a table of pandas) mean, in the type of `like`."""
        if self.kind == "number":
            return numbers.iloc[:, 0]
        if self.kind == "moment":
            import pandas as pd

            unit, parts = ("ns", 1e9) if self.step == "ns" else ("us", 1e6)  # which reach the year 9999
            since = pd.Series((numbers.iloc[:, 0].astype(float) * self.unit * parts).round(), dtype=f"m8[{unit}]")
            return moments_like(self.start + since.dt.round(self.step), like)
        shares = self.probabilities(numbers.to_numpy(dtype=float))
        levels = np.array([*self.levels, None], dtype=object)
        likeliest = np.where(np.isnan(shares).any(axis=1), -1, shares.argmax(axis=1))
        return type(like)(levels[likeliest], index=like.index, dtype=object).astype(like.dtype)

    def probabilities(self, numbers: Array) -> Array:
        """Of each level, (rows, levels), normalised; of ordered levels a share of the two that are nearest."""
        last = len(self.levels) - 1
        if self.kind == "codes":
            x = np.clip(numbers[:, :1], 0, last)
            return np.maximum(0.0, 1.0 - np.abs(x - np.arange(last + 1)))
        shares = np.maximum(numbers, 0.0) + 1e-12
        return shares / shares.sum(axis=1, keepdims=True)


def as_moments(column: Any) -> Any:
    """A column of dates, durations or periods, of whichever library, as NumPy counts them; None for other columns."""
    import pandas as pd

    kind, known = column.dtype.kind, column.dropna()
    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if kind == "m":
        return column.astype("timedelta64[ns]") if isinstance(column.dtype, pd.ArrowDtype) else column
    dates = kind == "O" and not hasattr(column, "cat") and len(known) and all(isinstance(x, date) for x in known)
    if kind == "M" and not isinstance(column.dtype, pd.ArrowDtype):
        return column
    if kind != "M" and not dates:
        return None
    try:
        return pd.to_datetime(column.astype(object))
    except ValueError:  # in several time zones, in one order all the same; where some have none there is no order
        aware = all(getattr(x, "tzinfo", None) is not None for x in known)
        return pd.to_datetime(column, utc=True) if aware else None


def moments_like(moments: Any, like: Any) -> Any:
    """Moments in the type of a column."""
    import pandas as pd

    if isinstance(like.dtype, pd.PeriodDtype):
        return moments.dt.to_period(like.dtype.freq)
    if like.dtype.kind == "O" and type(like.dropna().iloc[0]) is date:
        return moments.dt.date
    return moments.astype(object).astype(like.dtype) if like.dtype.kind == "O" else moments.astype(like.dtype)


def _epoch(column: Any) -> Any:
    """Where the moments of a column are counted from: 1970, in its time zone, or a duration of 0."""
    import pandas as pd

    zero = pd.Timedelta(0) if column.dtype.kind == "m" else pd.Timestamp(0, tz=getattr(column.dt, "tz", None))
    return zero.as_unit(column.dt.unit)  # nanoseconds would not reach 9999-12-31


def _levels(column: Any) -> tuple[Any, ...]:
    """The levels of a category, or of text that repeats itself; () for anything else."""
    known = column.dropna()
    used = known.unique()
    levels = list(used if not hasattr(column, "cat") else [c for c in column.cat.categories if c in set(used)])
    many = len(levels) > MOST_LEVELS or len(known) < max(FEWEST, PER_LEVEL * len(levels))
    return () if many else tuple(levels if hasattr(column, "cat") else sorted(levels, key=str))


def _pack(level: Any) -> Any:
    """A level as JSON: moments, intervals and bytes by their parts, others as they are."""
    kind = type(level).__name__
    if kind == "Interval":
        return {"kind": kind, "ends": [_pack(level.left), _pack(level.right)], "closed": level.closed}
    if isinstance(level, bytes):
        return {"kind": kind, "text": level.hex()}
    return {"kind": kind, "text": level.isoformat()} if hasattr(level, "isoformat") else level


def _unpack(level: Any) -> Any:
    """What `_pack` packed."""
    import pandas as pd

    if not isinstance(level, dict):
        return level
    if level["kind"] == "Interval":
        return pd.Interval(*map(_unpack, level["ends"]), closed=level["closed"])
    own: dict[str, Any] = {"bytes": bytes.fromhex, "time": time.fromisoformat, "date": date.fromisoformat}
    make = own[level["kind"]] if level["kind"] in own else getattr(pd, level["kind"])
    return make(level["text"])


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """A mixed table of pandas as a table of numbers, and back."""

    columns: tuple[EncodedColumn, ...]

    @classmethod
    def fit(cls, frame: Any, numeric: set[int], left: set[int]) -> Self:
        """Learn how to encode each column; those at the places `numeric` are numbers, those at `left` stay out."""
        found = [
            EncodedColumn(n, "left") if n in left else EncodedColumn.of(n, frame.iloc[:, n], n in numeric)
            for n in range(frame.shape[1])
        ]
        return cls(tuple(found))

    @property
    def used(self) -> list[EncodedColumn]:
        """The columns that have numbers."""
        return [c for c in self.columns if c.kind != "left"]

    @property
    def learnt(self) -> bool:
        """Are there categories or dates among the columns, or are they numbers?"""
        return any(c.kind != "number" for c in self.used)

    @property
    def latent(self) -> frozenset[str]:
        """Names of the columns of numbers that stand for levels."""
        return frozenset(name for c in self.columns if c.kind in ("levels", "codes") for name in c.names)

    def settings(self) -> list[dict[str, Any]]:
        """JSON-able; `from_settings` reads it back."""
        starts = [None if c.start is None else str(c.start) for c in self.columns]
        levels = [[_pack(level) for level in c.levels] for c in self.columns]
        return [
            {**asdict(c), "start": start, "levels": own}
            for c, start, own in zip(self.columns, starts, levels, strict=True)
        ]

    @classmethod
    def from_settings(cls, given: list[dict[str, Any]]) -> Self:
        """What `settings` gave."""
        import pandas as pd

        columns = []
        for meta in given:
            start = meta["start"]
            if start is not None:
                start = pd.Timedelta(start) if "days" in start else pd.Timestamp(start)
            columns.append(
                EncodedColumn(
                    **{**meta, "names": tuple(meta["names"]), "levels": tuple(map(_unpack, meta["levels"]))}
                    | {"start": start}
                )
            )
        return cls(tuple(columns))

    def transform(self, frame: Any) -> Any:
        """The columns of numbers, as a table with the same rows."""
        parts = [part for c in self.used for part in c.transform(frame.iloc[:, c.place])]
        out = {n: part for n, part in enumerate(parts)}
        return type(frame)(out, index=frame.index).set_axis([name for c in self.used for name in c.names], axis=1)

    def inverse_transform(self, numbers: Any, frame: Any) -> Any:
        """The table that these numbers mean; columns that stayed out are those of `frame`."""
        out, at = frame.copy(), 0
        for c in self.used:
            part = numbers.iloc[:, at : at + len(c.names)].set_axis(frame.index, axis=0)
            out.isetitem(c.place, c.inverse_transform(part, frame.iloc[:, c.place]))
            at += len(c.names)
        return out

    def probabilities(self, numbers: Array, frame: Any, name: Any) -> Any:
        """Of every level of the category `name`, a table with a column each; 1 for what is known."""
        at = 0
        for c in self.used:
            if frame.columns[c.place] == name and c.levels:
                known = frame.iloc[:, c.place].to_numpy(dtype=object, na_value=None)
                certain = np.array([[value == level for level in c.levels] for value in known], dtype=float)
                gaps = frame.iloc[:, c.place].isna().to_numpy()[:, None]
                shares = np.where(gaps, c.probabilities(numbers[:, at : at + len(c.names)]), certain)
                return type(frame)(shares, index=frame.index, columns=list(c.levels))
            at += len(c.names)
        named = [str(frame.columns[c.place]) for c in self.used if c.levels]
        msg = f"probabilities are of a category; got {name!r}, and the categories are {', '.join(named) or 'none'}."
        raise ValueError(msg)
