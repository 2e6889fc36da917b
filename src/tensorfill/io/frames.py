"""From pandas to Observations, and back: wide and long tables, Series with a MultiIndex, one series alone."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from tensorfill.data.arrays import from_coo, from_dense, series_dims
from tensorfill.data.casting import column_numbers
from tensorfill.data.coordinates import first_duplicate
from tensorfill.data.exact import is_number
from tensorfill.data.labels import with_positions
from tensorfill.data.observations import DataWarning, Observations, check_dims, maker
from tensorfill.data.sentinels import warn_of_sentinels
from tensorfill.data.sources import ConvertedSource, EncodedSource, FrameSource, LineSource, MatrixSource
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.encoding import PER_LEVEL, TableEncoder
from tensorfill.io.formats.long import encode_labels
from tensorfill.io.formats.names import ignored_columns_note
from tensorfill.registry import did_you_mean
from tensorfill.typing import Array

KINDS = 0.2  # of the cells of a column that are words from which on its numbers are names too

LONG = "For a table with one row for each entry name its columns: complete(frame, dims=[...], value=...)."


def observe_pandas(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """From a matrix with NaN, a Series with one index level per dimension, or one series alone."""
    if not hasattr(data, "iloc"):
        msg = f"pandas input must be a DataFrame or a Series; got {type(data).__name__}. Give pandas.Series(data)."
        raise TypeError(msg)
    if data.ndim == 2:
        levels = getattr(data.index, "nlevels", 1)
        if levels > 1 and data.shape[1] == 1 and data.index.is_unique:
            return _by_levels(data.iloc[:, 0], mask, weights, dims, frame=True)
        return _matrix(data, mask, weights=weights, dims=dims)
    if getattr(data.index, "nlevels", 1) > 1:
        return _by_levels(data, mask, weights, dims)
    (name,) = (str(data.index.name or "step"),) if dims is None else check_dims(dims, 1)
    made = _matrix(data.to_frame("value"), mask, weights=weights, dims=series_dims(name))
    return replace(made, source=LineSource(made.source, lambda out: out.iloc[:, 0].rename(data.name)))


def _by_levels(series: Any, mask: Any, weights: Any, dims: Any, *, frame: bool = False) -> Observations:
    """One number for each combination of index levels; absent ones are missing. The answer is a Series, or a table of
    one column if `frame`.
    """
    if mask is not None or weights is not None or dims is not None:
        msg = "mask, weights and dims must be left out for a Series: it has NaN and names of levels."
        raise ValueError(msg)
    names = [str(n) if n is not None else f"level{k}" for k, n in enumerate(series.index.names)]
    made = from_pandas(series.rename("value").rename_axis(names).reset_index(), names, "value")

    def convert(table: Any) -> Any:
        out = table.set_index(names)["value"].rename_axis(series.index.names).rename(series.name)
        return out.to_frame() if frame else out

    return with_positions(replace(made, source=ConvertedSource(made.source, convert)))


# --- wide tables --------------------------------------------------------------------------------------------------


def _matrix(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """The columns of numbers as a matrix, and categories, yes and no, and dates as far as they can be learnt; other
    columns are carried along, the first as labels.
    """
    others = [n for n in range(data.shape[1]) if _is_text(data.iloc[:, n])]
    if not others:
        return with_positions(frame_numbers(data, mask, weights, dims))
    rows = _row_labels(data, others)
    encoder = _fit_encoder(data, others, rows, learn=mask is None and weights is None)
    if not encoder.used:
        first = data.columns[0]
        msg = f"none of the columns holds numbers; the first, {first!r}, has {data.iloc[0, 0]!r}. {LONG}"
        raise TypeError(msg)
    _warn_of_left_columns(data, [c.place for c in encoder.columns if c.kind == "left"])
    numbers = encoder.transform(data) if encoder.learnt else data.iloc[:, [c.place for c in encoder.used]]
    numbers = numbers if rows is None else numbers.set_axis(data.iloc[:, rows], axis=0)
    made = frame_numbers(numbers, mask, weights, dims)
    made = with_positions(replace(made, source=EncodedSource(data, encoder, made.source)))
    # rows are in the order of the table, as without the column of names that labels them
    return made if rows is None else replace(made, unordered=made.unordered - {made.dims[0]})


def frame_numbers(frame: Any, mask: Any, weights: Any, dims: Sequence[str] | None) -> Observations:
    """From a table of numbers alone."""
    columns = [column_numbers(c, f"Correct it, or mark it as missing: None or NaN. {LONG}") for _, c in frame.items()]
    numbers = np.stack(columns, axis=1) if columns else frame.to_numpy()
    made = from_dense(numbers, mask, weights=weights, dims=dims or _dims(frame))
    return replace(made, source=MatrixSource(frame, made.source))


ISO = r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?"  # dates in text: in files they are taken for dates
CODE = re.compile(r"\s*0\d+\s*")  # 007 is a name, and so is 7 beside it


def _fit_encoder(data: Any, others: Sequence[int], rows: int | None, *, learn: bool) -> TableEncoder:
    """How the columns become numbers. Those at `others` are left alone unless they are to be learnt, and where rows are
    moments: such columns are remarks beside series.
    """
    if learn and 1 < len(others) == data.shape[1] - 1 and not _repeats(data.iloc[:, others]):
        one = next(str(c) for n, c in enumerate(data.columns) if n not in others)
        named = [str(data.columns[n]) for n in others]
        msg = f"a matrix has two columns of numbers or more; got one, {one!r}. If each row is one entry: "
        msg += f"complete(frame, dims={named}, value={one!r})."
        raise ValueError(msg)
    dated = type(data.index).__name__ == "DatetimeIndex" or (rows is not None and data.iloc[:, rows].dtype.kind == "M")
    left = {n for n in others if n == rows or _is_nested(data.iloc[:, n])} if learn and not dated else set(others)
    return TableEncoder.fit(data, set(range(data.shape[1])) - set(others), left)


def _repeats(texts: Any) -> bool:
    """Do several rows have the same texts, as answers in a survey do and keys of a long table do not?"""
    return bool(texts.dropna().astype(str).duplicated().any())


def _is_text(column: Any) -> bool:
    """Does a column hold levels, text, dates or other things, and no numbers? Not if some text is a number: that is a
    mistake to report.
    """
    if column.dtype.kind in "biuf" or type(column.dtype).__name__ == "SparseDtype":
        return False
    if hasattr(column, "cat") or column.dtype.kind in "Mm" or _is_nested(column):
        return True
    known = column.dropna()
    numbers = [x for x in known.unique() if isinstance(x, str | Real | Decimal)]
    if not numbers:  # dates, periods, intervals, ...
        return len(known) > 0
    if not all(isinstance(x, str) for x in known.unique()):
        return False
    if any(CODE.fullmatch(x) for x in known.unique()):
        return True
    counts = [count for x, count in known.value_counts().items() if not is_number(x)]
    words = sum(counts)
    # one word among numbers is a mistake to report; drives "4", "f" and "r", again and again, are three kinds, and
    # "0E8" among codes of airports, "00A", "05C", ..., is a name
    repeats = PER_LEVEL * known.nunique() <= len(known)
    names = 2 * words > len(known) and 2 * len(counts) > words
    return len(known) > 0 and (words == len(known) or names or (repeats and words >= KINDS * len(known)))


def _is_nested(column: Any) -> bool:
    """Does a column hold lists or the like, which are neither numbers nor levels?"""
    if column.dtype.kind != "O" or hasattr(column, "cat"):
        return False
    return any(isinstance(x, Collection) and not isinstance(x, str | bytes) for x in column)


def _row_labels(data: Any, others: Sequence[int]) -> int | None:
    """The place of the column that labels the rows: the first that holds no numbers, if its values are unique."""
    labels = data.iloc[:, others[0]]
    if _is_nested(labels):
        return None
    named = type(data.index).__name__ == "RangeIndex" and labels.is_unique and not labels.isna().any()
    return others[0] if named else None


def _warn_of_left_columns(data: Any, places: Sequence[int]) -> None:
    """A DataWarning that names the columns at these places that have gaps, which stay."""
    empty = {n: count for n in places if (count := int(data.iloc[:, n].isna().sum()))}
    dates = {n: empty.pop(n) for n in list(empty) if _holds_dates(data.iloc[:, n])}
    notes = ignored_columns_note([repr(data.columns[n]) for n in empty], sum(empty.values()))
    for n, count in dates.items():
        name = data.columns[n]
        notes.append(
            f"column {name!r} holds dates as text and is left as it is, {count:,} of its cells empty. Make them dates: "
            f"frame[{name!r}] = pandas.to_datetime(frame[{name!r}])."
        )
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=find_stacklevel())


def _holds_dates(texts: Any) -> bool:
    """Are all known values dates as text?"""
    return all(isinstance(x, str) and re.fullmatch(ISO, x) for x in texts.dropna())


def _dims(frame: Any) -> tuple[str, str]:
    """What the index and the columns are called, else row and column."""
    rows, columns = (str(axis.name or "") for axis in (frame.index, frame.columns))
    return ("row", "column") if rows and rows == columns else (rows or "row", columns or "column")


# --- long tables --------------------------------------------------------------------------------------------------


def from_pandas(frame: Any, dims: Sequence[str], value: str, *, weight: str | None = None) -> Observations:
    """From a long table; absent rows are missing. Labels that are numbers, dates or clock times are sorted, categories
    keep their order, other labels the one in which they first appear.
    """
    check_columns(list(frame.columns), [*dims, value, *([weight] if weight else [])])
    labels, codes = [], []
    for d in dims:
        unique, code = number_labels(frame[d], d)
        labels.append(unique)
        codes.append(code)
    where, numbers = np.stack(codes, axis=1), column_numbers(frame[value], "Choose a column of numbers, or convert it.")
    mean = f"frame.groupby({list(dims)}, as_index=False)[{value!r}].mean()"
    refuse_repeats(where, numbers, dims, labels, mean)
    made = from_coo(
        where,
        numbers,
        tuple(len(u) for u in labels),
        weights=None if weight is None else frame[weight].to_numpy(),
        dims=dims,
        source=FrameSource(frame, tuple(dims), value, tuple(labels), where),
    )
    return with_positions(made)


@maker("pandas")
def observe_long(frame: Any, dims: Sequence[str], value: str, *, weight: str | None = None) -> Observations:
    """The same, with a warning of values that look like codes for "missing"."""
    return warn_of_sentinels(from_pandas(frame, dims, value, weight=weight))


def check_columns(columns: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Raise ValueError, naming the columns there are, if one of those wanted is not among them."""
    for name in wanted:
        if name not in columns:
            known = [str(c) for c in columns]
            msg = f"the columns of this table are {', '.join(known)}; got {name!r}.{did_you_mean(str(name), known)}"
            raise ValueError(msg)


def refuse_repeats(where: Array, numbers: Array, dims: Sequence[str], labels: Sequence[Any], mean: str) -> None:
    """Raise ValueError if an entry has several rows; `mean` is the call that would replace them by their mean."""
    seen = np.flatnonzero(~np.isnan(numbers)) if numbers.dtype.kind == "f" else np.arange(len(numbers))
    twice = first_duplicate(where[seen])
    if twice is None:
        return
    one, two = (int(seen[k]) for k in twice)
    named = ", ".join(f"{d}={u[int(c)]}" for d, u, c in zip(dims, labels, where[one], strict=True))
    msg = f"each entry must have one row; ({named}) has several, {one} and {two}, counted from 0. "
    msg += f"Take their mean first: {mean}."
    raise ValueError(msg)


def number_labels(column: Any, name: str) -> tuple[Any, Any]:
    """(labels in their order, which of them each row has)."""
    empty = int(column.isna().sum())
    if empty:
        msg = f"every row must have a label in column {name!r}; {empty:,} have none. Drop them or name what they are."
        raise ValueError(msg)
    if hasattr(column, "cat"):
        used = column.cat.remove_unused_categories()
        return used.cat.categories.to_numpy(), used.cat.codes.to_numpy().astype(np.intp)
    if column.dtype.kind in "biufMm" or type(column.dtype).__name__ == "PeriodDtype":
        import pandas as pd

        codes, labels = pd.factorize(column, sort=True)
        return labels if labels.dtype.kind in "Mm" or hasattr(labels, "freq") else labels.to_numpy(), codes
    return by_appearance(column.tolist(), name)


def by_appearance(column: list[Any], name: str) -> tuple[Array, Array]:
    """(labels, which of them each row has) of a column of text: labels that are numbers, dates or clock times are
    sorted, others stay in order of appearance.
    """
    kinds = sorted({type(x).__name__ for x in column})
    if len(kinds) > 1 and not {"int", "float"} >= set(kinds):
        msg = f"labels in column {name!r} must be of one kind that can be sorted; got {', '.join(kinds)}."
        raise TypeError(msg)
    axis = encode_labels(column)
    return np.fromiter(axis.labels, dtype=object), axis.codes
