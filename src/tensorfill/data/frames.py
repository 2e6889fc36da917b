"""From pandas to Observations, and back: wide and long tables, Series with a MultiIndex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.data.convert import from_coo, from_dense
from tensorfill.data.labels import with_positions
from tensorfill.data.observations import Observations
from tensorfill.data.sources import FrameSource, MatrixSource, SeriesSource, column_numbers

LONG = (
    "Make labels the index, frame.set_index(...), or of a long table name the columns: complete(frame, dims=, value=)."
)


def observe_pandas(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """From a matrix with NaN, or a Series with one index level per dimension."""
    if data.ndim == 1 and getattr(data.index, "nlevels", 1) > 1:
        if mask is not None or weights is not None or dims is not None:
            msg = "mask, weights and dims must be left out for a Series: it has NaN and names of levels."
            raise ValueError(msg)
        names = [str(n) if n is not None else f"level{k}" for k, n in enumerate(data.index.names)]
        made = from_pandas(data.rename("value").rename_axis(names).reset_index(), names, "value")
        return with_positions(replace(made, source=SeriesSource(data, made.source)))
    if data.ndim == 2:
        columns = [column_numbers(c, LONG) for _, c in data.items()]
        numbers = np.stack(columns, axis=1) if columns else data.to_numpy()
        made = from_dense(numbers, mask, weights=weights, dims=dims or _dims(data))
        return with_positions(replace(made, source=MatrixSource(data, made.source)))
    msg = (
        "a pandas Series must have a MultiIndex with one level per dimension; got a plain index. One series alone has "
        "no second mode: give several as columns, or fold it, e.g. days x hours."
    )
    raise ValueError(msg)


def _dims(frame: Any) -> tuple[str, str]:
    """What the index and the columns are called, else row and column."""
    rows, columns = (str(axis.name or "") for axis in (frame.index, frame.columns))
    return ("row", "column") if rows and rows == columns else (rows or "row", columns or "column")


def from_pandas(frame: Any, dims: Sequence[str], value: str, *, weight: str | None = None) -> Observations:
    """From a long table; labels are sorted along each dimension, absent rows are missing."""
    wanted = [*dims, value, *([weight] if weight else [])]
    absent = [c for c in wanted if c not in frame.columns]
    if absent:
        msg = f"columns must be among {list(map(str, frame.columns))}; got {absent[0]!r}."
        raise ValueError(msg)
    labels, codes = [], []
    for d in dims:
        unique, code = _numbered(frame[d], d)
        labels.append(unique)
        codes.append(code)
    made = from_coo(
        np.stack(codes, axis=1),
        column_numbers(frame[value]),
        tuple(len(u) for u in labels),
        weights=None if weight is None else frame[weight].to_numpy(),
        dims=dims,
        source=FrameSource(frame, tuple(dims), value, tuple(labels), np.stack(codes, axis=1)),
    )
    return with_positions(made)


def _numbered(column: Any, name: str) -> tuple[Any, Any]:
    """(labels in their order, which of them each row has)."""
    empty = int(column.isna().sum())
    if empty:
        msg = f"every row must have a label in column {name!r}; {empty:,} have none. Drop them or name what they are."
        raise ValueError(msg)
    try:
        return np.unique(column.to_numpy(), return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(x).__name__ for x in column}))
        msg = f"labels in column {name!r} must be of one kind that can be sorted; got {kinds}."
        raise TypeError(msg) from error
