"""Tables with text, categories and dates on the page: what is in their columns, in words and as colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.io.mixed import MixedTable


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
