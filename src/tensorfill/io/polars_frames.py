"""From polars and Arrow to Observations, and back, by way of pandas; every column keeps its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tensorfill.data.observations import Observations
from tensorfill.data.sources import ConvertedSource, LineSource
from tensorfill.io.frames import from_pandas, observe_pandas
from tensorfill.io.optional import attempt_import


def observe_polars(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """A table, or one series alone."""
    import polars as pl

    if isinstance(data, pl.Series):
        table = data.rename("value").to_frame()
        made = observe_pandas(polars_frame(table)["value"].rename(data.name), mask, weights=weights, dims=dims)
        back = polars_back(table)
        convert = lambda out: back(out.rename("value").to_frame())["value"].rename(data.name)  # noqa: E731
        return replace(made, source=LineSource(made.source, convert))
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
    """An Arrow table as one of pandas, whose columns are still Arrow's, but for moments, which go on as labels."""
    import pandas as pd
    import pyarrow as pa

    def pandas_type(kind: Any) -> Any:
        return None if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) else pd.ArrowDtype(kind)

    if len(set(names := data.schema.names)) < len(names):
        msg = f"the columns of an Arrow table must have different names; got {', '.join(names)}. Use rename_columns()."
        raise ValueError(msg)
    copies = {"string_view": pa.string(), "binary_view": pa.binary()}  # of views Arrow can hardly do anything
    fields = [field.with_type(copies.get(str(field.type), field.type)) for field in data.schema]
    return data.cast(pa.schema(fields, data.schema.metadata)).to_pandas(types_mapper=pandas_type)


def arrow_back(given: Any) -> Callable[[Any], Any]:
    """Makes an Arrow table of one of pandas: columns in the types of `given`, or floats where they are estimates."""
    import pyarrow as pa

    def convert(out: Any) -> Any:
        columns, fields = [], []
        for name, column in out.items():
            field = given.schema.field(name)
            estimate = column.dtype == "float64" and not pa.types.is_floating(field.type)
            fields.append(field.with_type(pa.float64()) if estimate else field)
            columns.append(pa.array(column, fields[-1].type, from_pandas=True))
        return type(given).from_arrays(columns, schema=pa.schema(fields, given.schema.metadata))

    return convert


def polars_frame(data: Any) -> Any:
    """A polars table as one of pandas."""
    import polars as pl

    if isinstance(data, pl.LazyFrame):
        msg = "a polars LazyFrame holds no data yet; call .collect() first."
        raise TypeError(msg)
    if not isinstance(data, pl.DataFrame):
        msg = f"polars input must be a DataFrame or a Series; got {type(data).__name__}. Give polars.DataFrame(data)."
        raise TypeError(msg)
    attempt_import("pyarrow", "a polars table", "polars")
    return arrow_frame(data.to_arrow())


def polars_back(given: Any) -> Callable[[Any], Any]:
    """Makes a polars table of one of pandas, as `arrow_back` does."""
    import polars as pl

    back = arrow_back(given.to_arrow())
    return lambda out: pl.from_arrow(back(out))
