"""From xarray to Observations, and back: dims keep their names, and masks and weights are matched by them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import Any

import numpy as np

from tensorfill.data.arrays import from_dense, series_dims
from tensorfill.data.casting import cast_like
from tensorfill.data.labels import with_positions
from tensorfill.data.memory import words
from tensorfill.data.observations import Observations, maker
from tensorfill.data.sources import LineSource, Wrapped, XarraySource
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.frames import observe_pandas


def observe_xarray(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None) -> Observations:
    """From a DataArray or a Dataset, which have their own names of dims."""
    if dims is not None:
        msg = f"dims must be left out for xarray, which has its own; got {dims!r}. Rename them there."
        raise ValueError(msg)
    if hasattr(data, "data_vars"):
        return _from_dataset(data, mask, weights)
    if not hasattr(data, "dims") or not hasattr(data, "values"):
        msg = f"xarray input must be a DataArray or a Dataset; got {type(data).__name__}. Give a DataArray."
        raise TypeError(msg)
    return from_xarray(data, mask, weights=weights)


def _from_dataset(dataset: Any, mask: Any, weights: Any) -> Observations:
    """All variables of numbers that have the dims of those with gaps, side by side; the others are left alone."""
    names = _variables_with_gaps(dataset)
    if len(names) == 1:
        made, unstack = from_xarray(dataset[names[0]], mask, weights=weights), methodcaller("to_dataset", name=names[0])
    elif dataset[names[0]].ndim == 1:  # columns of a table
        made = observe_pandas(dataset[names].reset_coords(drop=True).to_dataframe(), mask, weights=weights, dims=None)
        unstack = methodcaller("to_xarray")
    else:
        side = next(d for d in ("variable", "variables", "data_vars") if d not in dataset.dims)
        mask, weights = (x.to_array(side) if hasattr(x, "data_vars") else x for x in (mask, weights))
        stacked = dataset[names].to_array(side).transpose(*dataset[names[0]].dims, side)
        made, unstack = from_xarray(stacked, mask, weights=weights), methodcaller("to_dataset", side)
    return replace(made, source=DatasetSource(dataset, made.source, unstack))


def _variables_with_gaps(dataset: Any) -> list[Any]:
    """The names of the variables to complete together."""
    numbers = {name: v for name, v in dataset.data_vars.items() if v.ndim and v.dtype.kind in "biuf"}
    if not numbers:
        msg = f"a Dataset must have a variable of numbers; got {', '.join(map(str, dataset.data_vars)) or 'none'}."
        raise ValueError(msg)
    gaps = [name for name, v in numbers.items() if v.dtype.kind == "f" and bool(v.isnull().any())]
    sets = {frozenset(numbers[name].dims) for name in gaps}
    if len(sets) > 1:
        named = ", ".join(f"{name} ({', '.join(map(str, numbers[name].dims))})" for name in gaps)
        msg = f"the variables with gaps must have the same dims; got {named}. Complete them one by one: dataset[[...]]."
        raise ValueError(msg)
    shared = sets.pop() if sets else frozenset(max(numbers.values(), key=lambda v: v.ndim).dims)
    return [name for name, v in numbers.items() if frozenset(v.dims) == shared]


@dataclass(frozen=True, eq=False)
class DatasetSource(Wrapped):
    """A Dataset: variables that were completed come back in their own types, the others as they are."""

    dataset: Any
    inner: Any
    unstack: Callable[[Any], Any]  # to a Dataset of those that were completed

    def back(self, out: Any) -> Any:
        found = self.unstack(out)
        longer = {d for d, n in found.sizes.items() if self.dataset.sizes.get(d, n) != n}  # by a horizon
        whole = self.dataset.drop_vars([k for k, v in self.dataset.variables.items() if longer & set(v.dims)])
        for name, new in found.data_vars.items():
            old = self.dataset[name]
            coords = [c for c in new.coords if c not in new.dims]
            whole[name] = new.drop_vars(coords).transpose(*old.dims).assign_attrs(old.attrs)
        return whole[[name for name in self.dataset.data_vars if name in whole]]

    def fill(self, estimate: Any, unfilled: Any = None) -> Any:
        out = super().fill(estimate, unfilled)
        for name, new in out.data_vars.items():
            old = self.dataset[name].values
            if new.dtype != old.dtype and not bool(new.isnull().any()):
                values = cast_like(new.values, old.dtype)
                same = old == new.values if old.shape == values.shape else False  # large integers, to the last digit
                out[name] = new.copy(data=np.where(same, old, values) if np.any(same) else values)
        return out


@maker("xarray")
def from_xarray(da: Any, mask: Any = None, *, weights: Any = None) -> Observations:
    """From a DataArray: NaN is missing, dims keep their names; a mask may be a DataArray in any order of dims."""
    if getattr(da, "chunks", None) is not None:
        warnings.warn(_loading_warning(da), stacklevel=find_stacklevel())
    if len(da.dims) == 1:
        dims = series_dims(str(da.dims[0]))
        made = from_xarray(da.expand_dims(dims[1], axis=1), mask, weights=weights)
        return replace(made, source=LineSource(made.source, lambda out: out.isel({dims[1]: 0}, drop=True)))
    mask, weights = _match_dims(mask, da, "mask"), _match_dims(weights, da, "weights")
    made = from_dense(da.values, mask, weights=weights, dims=[str(d) for d in da.dims])
    return with_positions(replace(made, source=XarraySource(da, made.source)))


def _match_dims(given: Any, da: Any, what: str) -> Any:
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


def _loading_warning(da: Any) -> str:
    """The warning that a dask-backed array is about to be loaded into memory."""
    size = ", ".join(f"{d}: {n}" for d, n in da.sizes.items())
    name = f" {da.name!r}" if da.name is not None else ""
    return (
        f"DataArray{name} ({size}) is backed by dask; all of it is loaded into memory now, {words(da.nbytes)}, "
        "and the run needs several times that. Select a part first to load less, or call .load() to silence this."
    )
