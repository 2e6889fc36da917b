"""From polars to Observations, and back: wide and long tables; every column keeps its type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.convert import from_coo, from_dense, series_dims
from tensorfill.data.frames import by_appearance, check_columns, refuse_repeats
from tensorfill.data.labels import with_positions
from tensorfill.data.observations import Observations, check_dims
from tensorfill.data.sources import LineSource, cast_like

Array = NDArray[Any]

LONG = 'For a long table name its columns: complete(frame, dims=["user", "item"], value="stars").'


def observe_polars(frame: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """A table whose columns of numbers are a matrix; the others are carried along."""
    import polars as pl

    if isinstance(frame, pl.Series):
        name = ("step",) if dims is None else check_dims(dims, 1)
        made = observe_polars(frame.alias("value").to_frame(), mask, weights=weights, dims=series_dims(name[0]))
        return replace(made, source=LineSource(made.source, lambda out: out.to_series(0).alias(frame.name)))
    _check(frame)
    names = [c for c in frame.columns if frame[c].dtype.is_numeric() or frame[c].dtype == pl.Boolean]
    if not names:
        msg = f"none of the columns holds numbers; got {', '.join(frame.columns) or 'no columns'}."
        raise TypeError(msg)
    others = [c for c in frame.columns if c not in names]
    if len(names) == 1 and len(others) > 1:
        msg = f"a matrix has two columns of numbers or more; got one, {names[0]!r}. {LONG}"
        raise ValueError(msg)
    columns = [_numbers(frame[c]) for c in names]
    made = from_dense(
        np.stack(columns, axis=1), mask, weights=weights, dims=dims or (others[0] if others else "row", "column")
    )
    rows = frame[others[0]] if others else range(frame.height)
    carried = dict(zip(made.dims, (rows, names), strict=True))
    return with_positions(replace(made, source=PolarsSource(frame, tuple(names), made.source, carried)))


def from_polars(frame: Any, dims: Sequence[str], value: str, *, weight: str | None = None) -> Observations:
    """From a long table; absent rows are missing. Labels are in the order that `frames.from_pandas` has them in."""
    _check(frame)
    check_columns(frame.columns, [*dims, value, *([weight] if weight else [])])
    labels, codes = zip(*(_numbered(frame[d], d) for d in dims), strict=True)
    where, numbers = np.stack(codes, axis=1), _numbers(frame[value])
    refuse_repeats(where, numbers, dims, labels, f"frame.group_by({list(dims)}).agg(pl.col({value!r}).mean())")
    made = from_coo(
        where,
        numbers,
        tuple(len(u) for u in labels),
        weights=None if weight is None else frame[weight].to_numpy(),
        dims=dims,
        source=LongPolarsSource(frame, tuple(dims), value, tuple(labels), where),
    )
    return with_positions(made)


def _check(frame: Any) -> None:
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        msg = "a polars LazyFrame holds no data yet; call .collect() first."
        raise TypeError(msg)
    if not isinstance(frame, pl.DataFrame):
        msg = f"polars input must be a DataFrame or a Series; got {type(frame).__name__}. Give polars.DataFrame(data)."
        raise TypeError(msg)


def _numbers(column: Any) -> Array:
    """As they are, or as floats with NaN for null."""
    import polars as pl

    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        msg = f"values must be numbers; column {column.name!r} holds {column.dtype}. Choose or cast to one of numbers."
        raise TypeError(msg)
    whole = column.null_count() == 0 and not column.dtype.is_decimal()
    return column.to_numpy() if whole else column.cast(pl.Float64).to_numpy()


def _numbered(column: Any, name: str) -> tuple[Any, Array]:
    """(labels in their order, which of them each row has)."""
    import polars as pl

    if column.null_count():
        none = f"{column.null_count():,} have none. Drop them or name what they are."
        msg = f"every row must have a label in column {name!r}; {none}"
        raise ValueError(msg)
    if column.dtype == pl.String:
        found, codes = by_appearance(column.to_list(), name)
        return pl.Series(name, found.tolist()), codes
    labels = column.unique().sort()
    places = {label: k for k, label in enumerate(labels.to_list())}
    return labels, np.fromiter((places[label] for label in column.to_list()), np.intp, len(column))


@dataclass(frozen=True, eq=False)
class PolarsSource:
    """A polars table in wide form."""

    table: ClassVar[bool] = True

    frame: Any
    names: tuple[str, ...]
    inner: Any
    carried: dict[str, Any]

    def only(self, kept: Array) -> Self:
        return replace(self, inner=self.inner.only(kept))

    def fill(self, estimate: Array) -> Any:
        import polars as pl

        known, columns = self.inner.known, []
        for n, name in enumerate(self.names):
            new = _like(self.frame[name], estimate[:, n])
            columns.append(self.frame[name].zip_with(pl.Series(known[:, n]), new))
        return self.frame.with_columns(columns)

    def wrap(self, estimate: Array) -> Any:
        import polars as pl

        return self.frame.with_columns([pl.Series(name, estimate[:, n]) for n, name in enumerate(self.names)])


@dataclass(frozen=True, eq=False)
class LongPolarsSource:
    """A polars table in long form: the answer has one row for every combination of labels."""

    frame: Any
    dims: tuple[str, ...]
    value: str
    labels: tuple[Any, ...]
    codes: Array
    kept: Array | None = None  # as of ArraySource

    @property
    def carried(self) -> dict[str, Any]:
        return dict(zip(self.dims, self.labels, strict=True))

    def only(self, kept: Array) -> Self:
        return replace(self, kept=kept)

    def fill(self, estimate: Array) -> Any:
        given, shape = self.frame[self.value], tuple(len(u) for u in self.labels)
        places = np.ravel_multi_index(tuple(self.codes.T), shape)
        seen = ~np.isnan(np.asarray(_numbers(given), dtype=float))
        if self.kept is not None:
            seen &= np.isin(places, np.ravel_multi_index(tuple(self.kept.T), shape))
        column = _like(given, np.asarray(estimate).ravel())
        return self._table(column.scatter(places[seen], given.filter(seen)))

    def wrap(self, estimate: Array) -> Any:
        import polars as pl

        return self._table(pl.Series(self.value, np.asarray(estimate).ravel()))

    def _table(self, column: Any) -> Any:
        shape = tuple(len(u) for u in self.labels)
        grid = np.unravel_index(np.arange(math.prod(shape)), shape)
        table = {d: u[g] for d, u, g in zip(self.dims, self.labels, grid, strict=True)}
        return type(self.frame)({**table, self.value: column})


def _like(old: Any, estimate: Array) -> Any:
    """Numbers (n,) as a column of the type of `old`."""
    import polars as pl

    kind = np.dtype(bool) if old.dtype == pl.Boolean else np.dtype(float)
    if old.dtype.is_integer():
        kind = old.head(0).to_numpy().dtype
    return pl.Series(old.name, cast_like(estimate, kind)).cast(old.dtype)
