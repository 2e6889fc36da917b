"""From pandas to Observations, and back: wide and long tables, Series with a MultiIndex."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.convert import cast_like, floats, from_coo, from_dense
from tensorfill.data.observations import Observations

Array = NDArray[Any]

LONG = "For a long table use Observations.from_pandas(frame, dims=[...], value=...)."


def observe_pandas(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """From a matrix with NaN, or a Series with one index level per dimension."""
    if data.ndim == 1 and getattr(data.index, "nlevels", 1) > 1:
        if mask is not None or weights is not None or dims is not None:
            msg = "mask, weights and dims must be left out for a Series: it has NaN and names of levels."
            raise ValueError(msg)
        names = [str(n) if n is not None else f"level{k}" for k, n in enumerate(data.index.names)]
        made = from_pandas(data.rename("value").rename_axis(names).reset_index(), names, "value")
        return replace(made, source=SeriesSource(data, made.source))
    if data.ndim == 2:
        columns = [_column(c, LONG) for _, c in data.items()]
        numbers = np.stack(columns, axis=1) if columns else data.to_numpy()
        made = from_dense(numbers, mask, weights=weights, dims=dims or _dims(data))
        return replace(made, source=MatrixSource(data, made.source))
    msg = "a pandas Series must have a MultiIndex with one level per dimension; got a plain index."
    raise ValueError(msg)


def _dims(frame: Any) -> tuple[str, str]:
    """What the index and the columns are called, else row and column."""
    rows, columns = (str(axis.name or "") for axis in (frame.index, frame.columns))
    return ("row", "column") if rows and rows == columns else (rows or "row", columns or "column")


def _column(column: Any, hint: str = "Choose a column of numbers.") -> Array:
    """The numbers of a pandas column: as they are, or as floats with NaN where its type has its own missing value."""
    if column.dtype.kind not in "biuf":
        return floats(column.to_numpy(dtype=object), f"the values of column {column.name!r}", hint)
    plain = isinstance(column.dtype, np.dtype)
    return column.to_numpy() if plain else column.to_numpy(dtype=np.float64, na_value=np.nan)


@dataclass(frozen=True, eq=False)
class SeriesSource:
    """A pandas Series with one index level per dimension."""

    series: Any
    inner: Any

    def fill(self, estimate: Array) -> Any:
        out = self.inner.fill(estimate).set_index(list(self.inner.dims))[self.inner.value]
        return out.rename_axis(self.series.index.names).rename(self.series.name)


@dataclass(frozen=True, eq=False)
class MatrixSource:
    """A pandas table in wide form."""

    frame: Any
    inner: Any

    def fill(self, estimate: Array) -> Any:
        if not any(hasattr(d, "numpy_dtype") for d in self.frame.dtypes):
            return type(self.frame)(self.inner.fill(estimate), index=self.frame.index, columns=self.frame.columns)
        out = self.frame.copy()  # nullable columns: each keeps its type
        for n, (_, column) in enumerate(self.frame.items()):
            dtype = getattr(column.dtype, "numpy_dtype", _column(column).dtype)
            out.isetitem(n, column.where(self.inner.observed[:, n], cast_like(estimate[:, n], dtype)))
        return out


def from_pandas(frame: Any, dims: Sequence[str], value: str, *, weight: str | None = None) -> Observations:
    """From a long table; labels are sorted along each dimension, absent rows are missing."""
    wanted = [*dims, value, *([weight] if weight else [])]
    absent = [c for c in wanted if c not in frame.columns]
    if absent:
        msg = f"columns must be among {list(map(str, frame.columns))}; got {absent[0]!r}."
        raise ValueError(msg)
    labels, codes = [], []
    for d in dims:
        unique, code = np.unique(frame[d].to_numpy(), return_inverse=True)
        labels.append(unique)
        codes.append(code)
    return from_coo(
        np.stack(codes, axis=1),
        _column(frame[value]),
        tuple(len(u) for u in labels),
        weights=None if weight is None else frame[weight].to_numpy(),
        dims=dims,
        source=FrameSource(frame, tuple(dims), value, tuple(labels), np.stack(codes, axis=1)),
    )


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A pandas table in long form: the answer has one row for every combination of labels."""

    frame: Any
    dims: tuple[str, ...]
    value: str
    labels: tuple[Array, ...]
    codes: Array

    def fill(self, estimate: Array) -> Any:
        given = self.frame[self.value]
        numbers = _column(given)
        dtype = getattr(given.dtype, "numpy_dtype", numbers.dtype)
        column = cast_like(estimate, dtype)
        seen = ~np.isnan(numbers) if numbers.dtype.kind == "f" else np.ones(len(numbers), dtype=bool)
        column[tuple(self.codes[seen].T)] = given[seen].to_numpy(dtype=dtype)
        shape = tuple(len(u) for u in self.labels)
        grid = np.unravel_index(np.arange(math.prod(shape)), shape)
        table = {d: u[g] for d, u, g in zip(self.dims, self.labels, grid, strict=True)}
        return type(self.frame)({**table, self.value: column.ravel()}).astype({self.value: given.dtype})
