"""From xarray to Observations: dimensions keep their names, and masks and weights are matched by them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.data.caller import caller_level
from tensorfill.data.convert import from_dense, series_dims
from tensorfill.data.labels import with_positions
from tensorfill.data.memory import words
from tensorfill.data.observations import Observations
from tensorfill.data.sources import LineSource, XarraySource


def observe_xarray(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """From a DataArray; refuses a Dataset, and names for dims, which a DataArray has already."""
    if not hasattr(data, "dims") or not hasattr(data, "values") or callable(data.values):
        names = [str(name) for name in getattr(data, "data_vars", ())]
        one = f"dataset[{names[0]!r}]" if names else "dataset['name']"
        msg = f"xarray input must be a DataArray; got {type(data).__name__}. Choose a variable: {one}."
        msg += f" It has {', '.join(names)}; of one kind, together: dataset.to_array()." if len(names) > 1 else ""
        raise TypeError(msg)
    if dims is not None:
        msg = f"dims must be left out for a DataArray, which has its own; got {dims!r}. Rename them there."
        raise ValueError(msg)
    return from_xarray(data, mask, weights=weights)


def from_xarray(da: Any, mask: Any = None, *, weights: Any = None) -> Observations:
    """From a DataArray: NaN is missing, dims keep their names; a mask may be a DataArray in any order of dims."""
    if getattr(da, "chunks", None) is not None:
        warnings.warn(_loading(da), stacklevel=caller_level())
    if len(da.dims) == 1:
        dims = series_dims(str(da.dims[0]))
        made = from_xarray(da.expand_dims(dims[1], axis=1), mask, weights=weights)
        return replace(made, source=LineSource(made.source, lambda out: out.isel({dims[1]: 0}, drop=True)))
    mask, weights = _by_name(mask, da, "mask"), _by_name(weights, da, "weights")
    made = from_dense(da.values, mask, weights=weights, dims=[str(d) for d in da.dims])
    return with_positions(replace(made, source=XarraySource(da, made.source)))


def _by_name(given: Any, da: Any, what: str) -> Any:
    """A mask or weights with some of the data's dims, in any order, in full shape; anything else as it is."""
    if not (hasattr(given, "dims") and hasattr(given, "broadcast_like")):
        return given
    strange = [d for d in given.dims if d not in da.dims]
    if strange or any(given.sizes[d] != da.sizes[d] for d in given.dims):
        msg = f"{what} must have dims and lengths among those of the data, {dict(da.sizes)}; got {dict(given.sizes)}."
        raise ValueError(msg)
    order = [d for d in da.dims if d in given.dims]
    lengths = [n if d in given.dims else 1 for d, n in da.sizes.items()]
    return np.broadcast_to(given.transpose(*order).values.reshape(lengths), da.shape)


def _loading(da: Any) -> str:
    """The warning that a dask-backed array is about to be loaded into memory."""
    size = ", ".join(f"{d}: {n}" for d, n in da.sizes.items())
    name = f" {da.name!r}" if da.name is not None else ""
    return (
        f"DataArray{name} ({size}) is backed by dask; all of it is loaded into memory now, {words(da.nbytes)}, "
        "and the run needs several times that. Select a part first to load less, or call .load() to silence this."
    )
