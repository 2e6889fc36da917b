"""Observations from anything: the library that the data come from decides how they are read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensorfill.data.arrays import from_dense
from tensorfill.data.labels import as_datetimes
from tensorfill.data.observations import Observations
from tensorfill.data.sentinels import warn_of_sentinels
from tensorfill.data.sources import MatrixSource
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.dataarrays import observe_xarray
from tensorfill.io.files import FileWarning, Loaded, read, read_mask, spread_mask
from tensorfill.io.foreign import observe_foreign
from tensorfill.io.frames import observe_pandas
from tensorfill.io.mixed import MixedTable


def observe(
    data: Any,
    mask: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dims: Sequence[str] | None = None,
    absent: str | None = None,
) -> Observations:
    """Observations from anything: array, numpy.ma, xarray, pandas (a matrix, or a Series with a MultiIndex), polars,
    dask, torch, the name of a file, and sparse arrays, of which `absent` says what is not stored: "missing" or "zero".
    """
    if isinstance(data, Observations):
        if mask is not None or weights is not None or dims is not None:
            msg = "mask, weights and dims must be given when the Observations are made; got them again here."
            raise ValueError(msg)
        return data
    if isinstance(data, str | PathLike):
        return warn_of_sentinels(observe_file(data, mask, weights=weights, dims=dims, absent=absent))
    if isinstance(mask, str | PathLike):
        mask = read_mask(os.fspath(mask), np.shape(data) if hasattr(data, "shape") else from_dense(data).shape)
    kind = type(data).__module__.split(".")[0]
    if kind in ("torch", "dask", "polars", "pyarrow", "scipy", "sparse") or absent is not None:
        made = observe_foreign(data, kind, mask, weights=weights, dims=dims, absent=absent)
        if made is not None:
            return warn_of_sentinels(made)
    if kind == "xarray":
        return warn_of_sentinels(observe_xarray(data, mask, weights=weights, dims=dims))
    if kind == "pandas":
        return warn_of_sentinels(observe_pandas(data, mask, weights=weights, dims=dims))
    return warn_of_sentinels(from_dense(data, mask, weights=weights, dims=dims))


def observe_file(
    path: str | PathLike[str], mask: Any, *, weights: Any, dims: Sequence[str] | None, absent: str | None
) -> Observations:
    """What a file holds, as on the command line: a picture, an array, a table. Answers are arrays, of tables
    pandas tables. The mask may be a file, too.
    """
    for name, given in (("weights", weights), ("absent", absent)):
        if given is not None:
            msg = f"{name} must be left out for a file; got it with {os.fspath(path)!r}. Read the file first."
            raise ValueError(msg)
    if mask is None and dims is None and (table := MixedTable.find(os.fspath(path))) is not None:
        return observe_pandas(table.frame, None, weights=None, dims=None)
    loaded = read(os.fspath(path), dims=dims)
    for note in loaded.notes:
        warnings.warn(f"{os.fspath(path)}: {note}", FileWarning, stacklevel=find_stacklevel())
    if isinstance(mask, str | PathLike):
        mask = read_mask(os.fspath(mask), loaded.shape)
    if mask is not None:
        loaded = loaded.with_mask(spread_mask(np.asarray(mask, dtype=bool), loaded.shape, channels=False))
    made = loaded.observations()
    if loaded.extra.get("form") != "wide":
        return made
    assert loaded.values is not None
    frame = _as_table(loaded.values if made.nnz == made.size else np.where(made.mask, loaded.values, np.nan), loaded)
    return replace(made, source=MatrixSource(frame, made.source))


def _as_table(array: Any, loaded: Loaded) -> Any:
    """A table of pandas, dates of a file as dates."""
    import pandas as pd

    rows, columns = ((loaded.labels or {}).get(d) for d in loaded.dims or ("row", "column"))
    dates = None if rows is None else as_datetimes(rows)
    return pd.DataFrame(array, index=rows if dates is None else dates, columns=columns)
