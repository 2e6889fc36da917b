"""Estimates in the type of the data: whole numbers, True and False, Decimals, columns of tables."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.exact import floats, is_number
from tensorfill.typing import Array


def cast_like(values: Array, dtype: np.dtype[Any]) -> Array:
    """Estimates in the input's own type, inside its range: integers rounded, bool by majority."""
    if dtype.kind == "b":
        return values >= 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        rounded = np.rint(values)
        # float64(2^63 - 1) rounds up to 2^63: clip by comparing, so that the cast cannot overflow
        out = np.clip(rounded, limits.min, np.nextafter(np.float64(limits.max) + 1, 0)).astype(dtype)
        return np.where(rounded >= limits.max, dtype.type(limits.max), out)
    if dtype.kind == "f" and dtype.itemsize < values.dtype.itemsize:
        values = np.clip(values, np.finfo(dtype).min, np.finfo(dtype).max)
    return values.astype(dtype)


def column_numbers(column: Any, hint: str = "Choose a column of numbers.") -> Array:
    """The numbers of a pandas column: as they are, or as floats with NaN where its type has its own missing value."""
    if column.dtype.kind not in "biuf":
        if any(isinstance(x, str) and is_number(x) for x in column.unique()):  # numbers as text, and perhaps words
            name = f"frame[{column.name!r}]"
            hint = f"Make numbers of text, gaps of all else: {name} = pandas.to_numeric({name}, errors='coerce')."
        return floats(column.to_numpy(dtype=object), f"the values of column {column.name!r}", hint)
    plain = isinstance(column.dtype, np.dtype)
    return column.to_numpy() if plain else column.to_numpy(dtype=np.float64, na_value=np.nan)


def fill_column(column: Any, known: NDArray[np.bool_], estimate: Array) -> Any:
    """A pandas column in its own dtype: as it is where `known`, the estimate elsewhere, if there is one."""
    known = known | np.isnan(estimate)
    dtype = getattr(column.dtype, "numpy_dtype", getattr(column.dtype, "subtype", column.dtype))
    filled = as_objects(column, estimate) if dtype.kind == "O" else cast_like(estimate, dtype)
    return column.where(known, filled).astype(column.dtype)


def as_objects(column: Any, estimate: Array) -> Array:
    """Estimates for a column of Python objects: Decimals, as fine as its own, if it holds these; whole numbers, True
    and False if it holds these; else floats.
    """
    known = [x for x in column.dropna() if not (isinstance(x, float) and np.isnan(x))]
    for plain in (bool, int):
        if known and all(type(x) is plain for x in known):
            return np.array([plain(x >= 0.5 if plain is bool else round(x)) for x in estimate], dtype=object)
    if not known or not all(isinstance(x, Decimal) for x in known):
        return estimate
    places = max(0, *(-int(x.as_tuple().exponent) for x in known if x.is_finite()))
    return np.array([Decimal(f"{x:.{places}f}") for x in estimate.ravel()], dtype=object).reshape(estimate.shape)
