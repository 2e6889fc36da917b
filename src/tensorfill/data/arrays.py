"""From arrays, numpy.ma and coordinates to Observations, and back; data of other libraries are read in `io/`.

Design: each maker checks its input, sorts the coordinates once, and leaves a `Source` behind that can hand the answer
back in the same type. Values under a mask are never read.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorfill.data.coordinates import check_inside
from tensorfill.data.exact import check_exact, numbers
from tensorfill.data.memory import ask
from tensorfill.data.observations import DataWarning, Observations, check_dims, maker
from tensorfill.data.sources import ArraySource, LineSource, first_column
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.typing import Array

SLICE = 64  # bytes of memory for each slice of each mode: a row of a factor of rank 8


# --- arrays -------------------------------------------------------------------------------------------------------


@maker("dense")
def from_dense(
    T: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dims: Sequence[str] | None = None,
) -> Observations:
    """From an array with NaN for missing, or with `mask` (True = observed), a `numpy.ma` array, or lists with None."""
    try:
        array = np.asanyarray(T)
    except ValueError as error:  # NumPy's words for lists of different lengths
        lengths = sorted({len(row) for row in T if hasattr(row, "__len__")}) if isinstance(T, list | tuple) else []
        told = f"; these have {', '.join(map(str, lengths))} entries" if len(lengths) > 1 else f" ({error})"
        msg = f"data must be an array or a table, with rows of one length{told}. Fill short ones up with None."
        raise ValueError(msg) from error
    if array.ndim == 0:
        raise ValueError(_why_not_an_array(T))
    if isinstance(array, np.matrix):  # always two-dimensional, also where one number per entry is meant
        array = np.asarray(array)
    array = numbers(array, "values")
    if array.ndim == 1:
        return _from_line(array, mask, weights, dims)
    observed = _find_observed(array, mask)
    plain = np.ma.getdata(array)
    if mask is not None and array.dtype.kind in "iu":
        _warn_of_inversion(plain, observed)
    kept: Array | None = None
    if weights is not None:
        kept = _full(numbers(weights, "weights"), array.shape, "weights")[observed].astype(np.float64)
    made = Observations(
        shape=array.shape,
        indices=_coordinates(observed),
        values=plain[observed].astype(working_dtype(array.dtype)),
        weights=kept,
        dims=check_dims(dims, array.ndim),
        source=ArraySource(array, observed),
    )
    observed.setflags(write=False)
    vars(made)["mask"] = observed  # which it would make of the coordinates when asked for it
    return made


def _why_not_an_array(given: Any) -> str:
    """The error message for something that is not an array or a table."""
    if given is None:
        return "data must be an array or a table; got None. Did reading it fail?"
    if isinstance(given, Mapping):
        return "data must be an array or a table; got a dictionary. Of columns: pandas.DataFrame(data)."
    if hasattr(given, "__iter__") and not hasattr(given, "dtype"):
        return f"data must be an array or a table; got a {type(given).__name__}. Make a list of it first."
    return f"data must be an array or a table; got a single {type(given).__name__}."


def _from_line(array: Array, mask: Any, weights: Any, dims: Any) -> Observations:
    """One series: a tensor with a second mode, of length 1."""
    given = {"mask": mask, "weights": weights}
    columns = {
        name: None if what is None else _full(np.asarray(what), array.shape, name)[:, None]
        for name, what in given.items()
    }
    names = ("step",) if dims is None else check_dims(dims, 1)
    made = from_dense(array[:, None], columns["mask"], weights=columns["weights"], dims=series_dims(names[0]))
    return replace(made, source=LineSource(made.source, first_column))


def series_dims(dim: str) -> tuple[str, str]:
    """Dimension names of a single series along `dim`: its own, and one for the second mode, of length 1."""
    return (dim, "value" if dim != "value" else "series")


def _warn_of_inversion(plain: Array, observed: NDArray[np.bool_]) -> None:
    """A DataWarning if all known numbers are the same and the hidden ones are not: the mask is most likely inverted."""
    known = plain[observed]
    if len(known) < 2 or (known != known[0]).any() or observed.all():
        return
    hidden = plain[~observed]
    if (hidden != hidden[0]).any():
        msg = f"all {len(known):,} known values are {known[0]}: is the mask inverted (True = observed)?"
        warnings.warn(msg, DataWarning, stacklevel=find_stacklevel())


def _find_observed(array: Array, mask: ArrayLike | None) -> NDArray[np.bool_]:
    """True where a value was observed: the user's mask, numpy.ma's, and NaN, together. Full shape."""
    observed = ~np.ma.getmaskarray(array)
    if mask is not None:
        given = np.asarray(mask)
        if given.dtype.kind not in "biuf" or (given.dtype.kind != "b" and not np.isin(given, (0, 1)).all()):
            got = f"{given.dtype}, up to {given.max():g}. Give mask > 0" if given.dtype.kind in "iuf" else given.dtype
            msg = f"mask must hold True/False (or 1/0), True = observed; got {got}."
            raise ValueError(msg)
        observed = observed & _full(given, array.shape, "mask").astype(bool)
    if array.dtype.kind == "f":
        observed = observed & ~np.isnan(np.ma.getdata(array))
    return observed


def _full(given: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A mask or weights in full shape. If given for the first modes only, they are repeated along the others: a mask of
    pixels holds for all channels.
    """
    array = np.asarray(given)
    one = (1,) if array.ndim == len(shape) else ()  # with all modes given, lengths of 1 are repeated as NumPy does
    if array.ndim > len(shape) or any(a not in (s, *one) for a, s in zip(array.shape, shape, strict=False)):
        msg = f"{what} must have the shape of the data, {shape}, or of its first modes; got {array.shape}."
        if array.shape[::-1] == shape[: array.ndim]:
            msg += f" Transpose it: {what}=numpy.transpose({what})."
        raise ValueError(msg)
    return np.broadcast_to(array.reshape(array.shape + (1,) * (len(shape) - array.ndim)), shape)


def working_dtype(dtype: np.dtype[Any]) -> type:
    """float32 where it holds every value exactly (float32, small integers, bool), else float64."""
    small = (
        dtype.kind == "b" or (dtype.kind in "iu" and dtype.itemsize <= 2) or (dtype.kind == "f" and dtype.itemsize <= 4)
    )
    return np.float32 if small else np.float64


def _coordinates(observed: NDArray[np.bool_]) -> NDArray[np.integer]:
    """(nnz, N) in the narrowest of int32 and int64 that fits: half the memory traffic in the kernels."""
    kind = np.int32 if observed.size < 2**31 else np.int64  # positions in the flat array must fit as well
    rest: Array = np.flatnonzero(observed).astype(kind)
    out = np.empty((len(rest), observed.ndim), dtype=kind)
    for n in range(observed.ndim - 1, 0, -1):
        flat, length = rest, kind(observed.shape[n])
        rest = flat // length  # a third of the time of divmod
        np.subtract(flat, rest * length, out=out[:, n])
    out[:, 0] = rest
    return out


# --- coordinates --------------------------------------------------------------------------------------------------


@maker("coo")
def from_coo(
    indices: ArrayLike,
    values: ArrayLike,
    shape: Sequence[int] | None = None,
    *,
    weights: ArrayLike | None = None,
    dims: Sequence[str] | None = None,
    duplicates: str = "error",
    source: Any = None,
) -> Observations:
    """From coordinates (nnz, N) and values (nnz,); NaN values count as missing."""
    where, given = np.asarray(indices), numbers(values, "values")
    if where.ndim != 2 or where.dtype.kind not in "iu":
        msg = f"indices must be an integer array (nnz, N); got shape {where.shape}, dtype {where.dtype}."
        raise ValueError(msg)
    if given.shape != (len(where),):
        msg = f"values must have one number per row of indices, ({len(where)},); got shape {given.shape}."
        raise ValueError(msg)
    full = _check_shape(where, shape)
    # every model keeps a few numbers for each slice of each mode, so a huge shape needs memory even with few entries
    ask(SLICE * sum(full) + (8 * len(full) + 32) * len(given), f"{len(given):,} entries of a tensor of shape {full}")
    kept = None if weights is None else numbers(weights, "weights").astype(np.float64)
    if kept is not None and kept.shape != given.shape:
        msg = f"weights must have the shape of values, {given.shape}; got {kept.shape}."
        raise ValueError(msg)
    if given.dtype.kind == "f" and np.isnan(given).any():
        seen = ~np.isnan(given)
        where, given = where[seen], given[seen]
        kept = None if kept is None else kept[seen]
    if source is None:
        check_exact(where, given)
    order = np.lexsort(where.T[::-1])
    where = where[order]
    number: Array = given[order].astype(working_dtype(given.dtype))
    kept = None if kept is None else kept[order]
    where, number, kept = _merge(where, number, kept, duplicates)
    return Observations(
        shape=full,
        indices=where.astype(np.int32 if max(full) < 2**31 else np.int64, copy=False),
        values=number,
        weights=kept,
        dims=check_dims(dims, len(full)),
        source=source,
    )


def _check_shape(where: Array, shape: Sequence[int] | None) -> tuple[int, ...]:
    if shape is None:
        shape = [int(m) + 1 for m in where.max(axis=0)] if len(where) else (0,) * where.shape[1]
    try:
        full = tuple(int(n) for n in shape)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"shape must be a list of whole numbers, one per mode; got {shape!r}."
        raise TypeError(msg) from error
    if len(full) != where.shape[1]:
        msg = f"shape must have one length per column of indices, {where.shape[1]}; got {full}."
        raise ValueError(msg)
    check_inside(where, full, "indices")
    return full


def _merge(where: Array, values: Array, weights: Array | None, how: str) -> tuple[Array, Array, Array | None]:
    """(coordinates (k, N), values, weights), with repeated coordinates (sorted, so neighbours) merged into one."""
    if how not in ("error", "mean", "sum"):
        msg = f'duplicates must be "error", "mean" or "sum"; got {how!r}.'
        raise ValueError(msg)
    first = np.ones(len(where), dtype=bool)
    first[1:] = (where[1:] != where[:-1]).any(axis=1)
    if first.all():
        return where, values, weights
    if how == "error":
        again = tuple(int(i) for i in where[np.flatnonzero(~first)[0]])
        msg = f'coordinates must be unique; {again} is there more than once. Use duplicates="mean" or "sum".'
        raise ValueError(msg)
    starts = np.flatnonzero(first)
    if weights is None and how == "sum":
        return where[first], np.add.reduceat(values, starts), None
    if how == "sum":
        msg = 'weights must be None with duplicates="sum"; use duplicates="mean", which averages by weight.'
        raise ValueError(msg)
    mass = np.ones(len(values)) if weights is None else weights
    total = np.add.reduceat(mass, starts)  # the mean of several readings has the sum of their weights
    mean = np.add.reduceat(values * mass, starts) / total
    return where[first], mean.astype(values.dtype), total
