"""From polars and Arrow to Observations, and back, by way of pandas; every column keeps its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.data.sources import ConvertedSource, LineSource
from tensorfill.io.frames import from_pandas, observe_pandas


def observe_polars(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """A table, or one series alone."""
    import polars as pl

    if isinstance(data, pl.Series):
        made = observe_pandas(_to_pandas(data), mask, weights=weights, dims=dims)
        return replace(made, source=LineSource(made.source, lambda out: _to_polars(out, data.dtype)))
    made = observe_pandas(polars_frame(data), mask, weights=weights, dims=dims)
    return replace(made, source=ConvertedSource(made.source, polars_back(data)))


def from_polars(frame: Any, dims: Sequence[str], value: str, *, weight: str | None = None) -> Observations:
    """From a long table; absent rows are missing."""
    made = from_pandas(polars_frame(frame), dims, value, weight=weight)
    return replace(made, source=ConvertedSource(made.source, polars_back(frame)))


def observe_arrow(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """A table of Arrow."""
    made = observe_pandas(arrow_frame(data), mask, weights=weights, dims=dims)
    return replace(made, source=ConvertedSource(made.source, arrow_back(data)))


def arrow_frame(data: Any) -> Any:
    """An Arrow table as one of pandas, whose columns are still Arrow's."""
    import pandas as pd
    import pyarrow as pa

    if len(set(names := data.schema.names)) < len(names):
        msg = f"the columns of an Arrow table must have different names; got {', '.join(names)}. Use rename_columns()."
        raise ValueError(msg)
    copies = {"string_view": pa.string(), "binary_view": pa.binary()}  # of views Arrow can hardly do anything
    fields = [field.with_type(copies.get(str(field.type), field.type)) for field in data.schema]
    return data.cast(pa.schema(fields, data.schema.metadata)).to_pandas(types_mapper=pd.ArrowDtype)


def arrow_back(given: Any) -> Callable[[Any], Any]:
    """Makes an Arrow table of one of pandas, with the types of `given`."""
    return lambda out: type(given).from_pandas(out, schema=given.schema, preserve_index=False).cast(given.schema)


def polars_frame(data: Any) -> Any:
    """A polars table as one of pandas."""
    import pandas as pd
    import polars as pl

    if isinstance(data, pl.LazyFrame):
        msg = "a polars LazyFrame holds no data yet; call .collect() first."
        raise TypeError(msg)
    if not isinstance(data, pl.DataFrame):
        msg = f"polars input must be a DataFrame or a Series; got {type(data).__name__}. Give polars.DataFrame(data)."
        raise TypeError(msg)
    return pd.DataFrame({column.name: _to_pandas(column) for column in data})


def polars_back(given: Any) -> Callable[[Any], Any]:
    """Makes a polars table of one of pandas: columns in the types of `given`, or floats where they are estimates."""

    def convert(out: Any) -> Any:
        columns = []
        for name, column in out.items():
            kind = given.schema.get(name)
            alone = kind is not None and kind.is_nested()  # lists and the like come back as they are
            columns.append(given[name] if alone else _to_polars(column.rename(name), kind))
        return type(given)(columns)

    return convert


def _to_pandas(column: Any) -> Any:
    import pandas as pd
    import polars as pl

    kind, gaps = column.dtype, column.is_null().to_numpy()
    values: Any
    if kind.is_integer() and "128" in str(kind):  # NumPy has none as long
        values = np.array(column.to_list(), dtype=object)
    elif kind.is_integer() and gaps.any():
        values = pd.arrays.IntegerArray(column.fill_null(0).to_numpy().copy(), gaps)
    elif kind == pl.Boolean and gaps.any():
        values = pd.arrays.BooleanArray(column.fill_null(False).to_numpy().copy(), gaps)
    elif kind.is_integer() or kind.is_float() or kind == pl.Boolean or (kind.is_temporal() and kind != pl.Time):
        values = column.to_numpy()
        if getattr(kind, "time_zone", None):
            values = pd.DatetimeIndex(values, tz="UTC").tz_convert(kind.time_zone)
    elif isinstance(kind, pl.Categorical | pl.Enum):
        levels = kind.categories.to_list() if isinstance(kind, pl.Enum) else None
        values = pd.Categorical(column.cast(pl.String).to_list(), categories=levels)
    else:  # text, decimals, and what is left alone
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_list()
    return pd.Series(values, name=column.name)


def _to_polars(column: Any, kind: Any) -> Any:
    import pandas as pd
    import polars as pl

    name = str(column.name) if column.name is not None else ""
    if column.dtype.kind == "f" and isinstance(column.dtype, np.dtype):
        made = pl.Series(name, column.to_numpy()).fill_nan(None)
        return made.cast(kind) if kind is not None and kind.is_float() else made  # else an estimate of whole numbers
    if getattr(column.dtype, "tz", None) is not None:
        made = _to_polars(column.dt.tz_convert("UTC").dt.tz_localize(None), None)
        return made.dt.replace_time_zone("UTC").dt.convert_time_zone(kind.time_zone).cast(kind)
    if column.dtype.kind in "biuMm" and isinstance(column.dtype, np.dtype):
        finer = f"{column.dtype.kind}8[us]" if column.dtype.kind in "Mm" and "ns" not in str(column.dtype) else None
        made = pl.Series(name, column.to_numpy(dtype=finer))
        return made if kind is None else made.cast(kind)
    cells = [None if x is pd.NA or x is None or x is pd.NaT or x != x else x for x in column.astype(object).tolist()]
    return pl.Series(name, cells, dtype=kind, strict=False)
