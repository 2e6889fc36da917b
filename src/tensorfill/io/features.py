"""Features of the slices along a mode (age of users, kind of films) as numbers: from tables and arrays."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.data.labels import all_labels
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.encoding import EncodedColumn
from tensorfill.typing import Array


def with_features(obs: Observations, given: Mapping[int | str, Any]) -> Observations:
    """The observations with features of their slices: {mode or dimension: table or array}.

    Numbers are standardised, categories become a column of 0 and 1 for each level, and what is missing is taken as the
    mean. Rows of a table are found by the labels of the mode: in a column of its name, or in the index.
    """
    if not isinstance(given, Mapping):
        msg = f'features must be {{dimension: table}}, e.g. {{"user": users}}; got {type(given).__name__}.'
        raise TypeError(msg)
    found = {}
    for key, table in given.items():
        dim, length = obs.dims[n := obs.mode(key)], obs.shape[n]
        frame = _aligned(_frame(table, dim), dim, length, all_labels(obs).get(dim))
        found[dim] = _numbers(frame, dim)
    if len(found) < len(given):
        msg = f"features must name each dimension once; got {', '.join(map(repr, given))}."
        raise ValueError(msg)
    return replace(obs, features=found)


def _frame(table: Any, dim: str) -> Any:
    """Any kind of table as one of pandas."""
    import pandas as pd

    table = table.to_pandas() if hasattr(table, "to_pandas") else table  # polars, Arrow
    if isinstance(table, pd.DataFrame | pd.Series | Mapping):
        return pd.DataFrame(table)
    array = np.asarray(table)
    if array.ndim not in (1, 2):
        msg = f"features of {dim} must be a table, or an array with a row for each; got shape {array.shape}."
        raise ValueError(msg)
    return pd.DataFrame(array.reshape(len(array), -1)).rename(columns=str).infer_objects()


def _aligned(frame: Any, dim: str, length: int, labels: Any) -> Any:
    """One row for each slice, in the order of the data; empty where the table has none."""
    import pandas as pd

    if dim in frame.columns:
        frame = frame.set_index(dim)
    elif labels is None or isinstance(frame.index, pd.RangeIndex):
        counted = labels is None or list(labels) == list(range(length))
        if len(frame) == length and (
            counted or frame.columns.equals(pd.Index([str(n) for n in range(frame.shape[1])]))
        ):
            return frame.reset_index(drop=True)
        must = f"{length} rows, one for each" if counted else f"the labels of {dim} in a column {dim!r} or in its index"
        msg = f"features of {dim} must have {must}; got {len(frame)} rows with columns {', '.join(map(str, frame))}."
        raise ValueError(msg)
    if frame.index.has_duplicates:
        twice = frame.index[frame.index.duplicated()][0]
        msg = f"features of {dim} must have one row for each label; {twice!r} has several."
        raise ValueError(msg)
    wanted = pd.Index(list(labels) if labels is not None else range(length))
    lacks = ~wanted.isin(frame.index)
    if lacks.all():
        msg = f"features of {dim} must be of its labels, {wanted[0]!r} and others; got {frame.index[0]!r} and others."
        raise ValueError(msg)
    if lacks.any():
        note = f"{int(lacks.sum()):,} of {length:,} labels of {dim} have no features ({wanted[lacks][0]!r}): "
        note += "taken as average."
        warnings.warn(note, DataWarning, stacklevel=find_stacklevel())
    return frame.reindex(wanted)


def _numbers(frame: Any, dim: str) -> Array:
    """The columns of a table as numbers with mean 0, (rows, P)."""
    columns, left = [], []
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        numeric = column.dtype.kind in "biuf"
        how = EncodedColumn.of(place, column, numeric)
        for part in how.transform(column) if how.kind != "left" else ():
            x = part.astype(float).to_numpy(dtype=np.float64, na_value=np.nan)
            x = x - (np.nanmean(x) if np.isfinite(x).any() else 0.0)
            scale = 1.0 if set(np.unique(part.dropna())) <= {0, 1} else np.nanstd(x)
            columns.append(np.nan_to_num(x / scale) if scale > 0 else np.zeros_like(x))
        left += [str(name)] if how.kind == "left" else []
    if left:
        note = f"features {', '.join(map(repr, left))} of {dim} have too many different values, or one alone: left out."
        warnings.warn(note, DataWarning, stacklevel=find_stacklevel())
    if not columns:
        got = ", ".join(map(repr, left)) or "none"
        msg = f"features of {dim} must have numbers or categories that repeat; got {got}."
        raise ValueError(msg)
    return np.column_stack(columns)
