"""Tables with text, categories and dates on the page: the same run as on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorfill.app.describe import MOST_STRIPS, is_lying
from tensorfill.app.options import Options, arguments
from tensorfill.data.facts import compute_facts
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.io.files import FORMATS
from tensorfill.io.mixed import MixedTable, table_format
from tensorfill.io.observe import observe
from tensorfill.terminal import collect_warnings

ROWS, COLUMNS = 6, 7  # of the table that are shown


def describe_table(table: MixedTable) -> dict[str, Any]:
    """What the page says of the whole table, where the columns of numbers are only part of it."""
    frame = table.frame
    missing = int(frame.isna().sum().sum())
    shown = frame.iloc[:ROWS, :COLUMNS]
    with collect_warnings(DataWarning):  # told when the table is filled
        facts = compute_facts(observe(frame))
    return {
        "shape": list(frame.shape),
        "dims": ["row", "column"],
        "kinds": column_kinds(frame),
        "lines": str(facts).split("\n")[2:],
        "own_scales": "column",
        "strips": [str(c) for c in frame] if is_lying(frame.shape) and frame.shape[1] <= MOST_STRIPS else [],
        "entries": int(frame.size),
        "missing": missing,
        "share": missing / frame.size,
        "peek": {
            "corner": "row",
            "rows": [str(k) for k in shown.index],
            "columns": [str(c) for c in shown.columns],
            "cells": table.texts(ROWS, COLUMNS),
            "more": [n - k for n, k in zip(frame.shape, shown.shape, strict=True)],
        },
    }


def column_kinds(frame: Any) -> str:
    """How many columns there are of each kind: "2 of numbers, 1 of text"."""
    from pandas.api import types

    kinds = {"numbers": types.is_numeric_dtype, "dates": types.is_datetime64_any_dtype, "text": lambda dtype: True}
    found = [next(kind for kind, holds in kinds.items() if holds(dtype)) for dtype in frame.dtypes]
    return ", ".join(f"{found.count(kind)} of {kind}" for kind in kinds if kind in found)


def in_own_scales(table: MixedTable) -> Observations:
    """Every column as numbers from 0 to 1, lowest to highest; of text and dates, by their order."""
    import pandas as pd

    columns = []
    for _, column in table.frame.items():
        if not pd.api.types.is_numeric_dtype(column.dtype):
            if pd.api.types.infer_dtype(column, skipna=True).startswith("mixed"):  # without an order
                column = column.astype(str).where(column.notna())
            column = pd.Series(pd.factorize(column, sort=True)[0]).replace(-1, np.nan)
        columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
    T = np.stack(columns, axis=1)
    seen = ~np.isnan(T).all(axis=0)
    T[:, seen] -= np.nanmin(T[:, seen], axis=0)
    T[:, seen] /= np.maximum(np.nanmax(T[:, seen], axis=0), np.finfo(float).tiny)
    return Observations.from_dense(T, dims=("row", "column"))


def table_formats(name: str) -> list[dict[str, str]]:
    """The formats that hold such a table, the file's own first."""
    own = [table_format(name), *(kind for _, kind in FORMATS.items() if table_format(kind.endings[0]))]
    kinds = dict.fromkeys(kind for kind in own if kind is not None)
    return [{"name": kind.name, "ending": kind.endings[0], "title": kind.title} for kind in kinds]


def table_python(choice: Options, name: str, out: str) -> str:
    """The lines of Python that do what the page did."""
    settings: Mapping[str, Any] = choice.fitting
    return (
        "import tensorfill as tfl\nfrom tensorfill.io.mixed import MixedTable\n\n"
        f"table = MixedTable.read({name!r}{arguments(choice.reading)})\n"
        f"done = tfl.complete(table.frame{arguments(settings)})\n"
        f"table.write({out!r}, done.completed)\n"
    )
