"""Arrays of other libraries by way of NumPy: torch, dask, scipy.sparse, pydata/sparse.

What goes in comes out: the completed data, the estimate and the ends of intervals are of the type of the input. What is
absent from a sparse array may be missing or zero; that is asked for, never guessed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.arrays import from_coo, from_dense
from tensorfill.data.casting import cast_like
from tensorfill.data.memory import ask, words
from tensorfill.data.observations import Observations
from tensorfill.data.sources import Wrapped
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.polars_frames import observe_arrow, observe_polars

Array = NDArray[Any]

ABSENT = ("missing", "zero")


@dataclass(frozen=True, eq=False)
class ForeignSource(Wrapped):
    """An array of another library: `make(array, wide)` makes one of NumPy's, in the type of the data unless `wide`."""

    leaves_gaps: ClassVar[bool] = False  # whole numbers of torch have no NaN

    make: Callable[[Array, bool], Any]
    inner: Any

    def fill(self, estimate: Array, unfilled: Array | None = None) -> Any:
        return self.make(self.inner.fill(estimate), False)

    def wrap(self, estimate: Array) -> Any:
        return self.make(self.inner.wrap(estimate), True)


@dataclass(frozen=True, eq=False)
class StoredSource:
    """A sparse array whose absent entries are missing."""

    leaves_gaps: ClassVar[bool] = False

    back: Callable[[Array, bool], Any]
    dtype: np.dtype[Any]
    indices: Array
    values: Array
    kept: Array | None = None  # as of ArraySource

    def only(self, kept: Array) -> Self:
        return replace(self, kept=kept)

    def fill(self, estimate: Array, unfilled: Array | None = None) -> Any:
        out = cast_like(np.asarray(estimate), self.dtype)
        known = np.ones(len(self.values), dtype=bool)
        if self.kept is not None:
            places, kept = (np.ravel_multi_index(tuple(x.T), out.shape) for x in (self.indices, self.kept))
            known = np.isin(places, kept)
        out = np.array(out)
        out[tuple(self.indices[known].T)] = self.values[known]
        return self.back(out, False)

    def wrap(self, estimate: Array) -> Any:
        return self.back(estimate, True)

    def axis_labels(self, dims: Sequence[str]) -> dict[str, Any]:
        return {}


def observe_foreign(
    data: Any, kind: str, mask: Any, *, weights: Any, dims: Sequence[str] | None, absent: str | None
) -> Observations | None:
    """Observations from data of the library `kind`; None if it is none of these."""
    if absent is not None and absent not in ABSENT:
        msg = f'absent must be "missing" or "zero"; got {absent!r}.'
        raise ValueError(msg)
    sparse = kind == "sparse" or (kind == "scipy" and hasattr(data, "tocoo")) or getattr(data, "is_sparse", False)
    if absent is not None and not sparse:
        msg = f"absent is for sparse arrays, where entries may be absent; got {type(data).__name__}. Leave it out."
        raise ValueError(msg)
    if sparse:
        return _from_sparse(data, kind, mask, weights=weights, dims=dims, absent=absent)
    if kind == "torch" and hasattr(data, "detach"):
        return _from_torch(data, mask, weights=weights, dims=dims)
    if kind == "dask" and hasattr(data, "compute"):
        return _from_dask(data, mask, weights=weights, dims=dims)
    if kind == "polars":
        return observe_polars(data, mask, weights=weights, dims=dims)
    if kind == "pyarrow" and hasattr(data, "to_pandas") and hasattr(data, "schema"):
        return observe_arrow(data, mask, weights=weights, dims=dims)
    return None


def _make_observations(data: Any, mask: Any, back: Callable[[Array, bool], Any], **given: Any) -> Observations:
    made = from_dense(data, mask, **given)
    return replace(made, source=ForeignSource(back, made.source))


def _from_torch(tensor: Any, mask: Any, **given: Any) -> Observations:
    import torch

    plain = tensor.detach().cpu()
    if plain.dtype in (torch.bfloat16, torch.float16):
        plain = plain.float()
    mask = mask.detach().cpu().numpy() if hasattr(mask, "detach") else mask

    def back(array: Array, wide: bool) -> Any:
        out = torch.from_numpy(np.array(array))
        return out.to(device=tensor.device, dtype=out.dtype if wide else tensor.dtype)

    return _make_observations(plain.numpy(), mask, back, **given)


def _from_dask(array: Any, mask: Any, **given: Any) -> Observations:
    if not hasattr(array, "chunks"):
        msg = f"dask input must be an array; got {type(array).__name__}. Call .compute() first."
        raise TypeError(msg)
    if math.isnan(array.size):
        msg = "the chunks of a dask array must have known lengths; call array.compute_chunk_sizes() first."
        raise ValueError(msg)
    ask(3 * array.nbytes, f"a dask array of shape {array.shape}, loaded,")
    msg = (
        f"the dask array of shape {array.shape} is loaded into memory now, {words(array.nbytes)}, and the run needs "
        "several times that. Call .compute() to silence this."
    )
    warnings.warn(msg, stacklevel=find_stacklevel())

    def back(made: Array, wide: bool) -> Any:
        import dask.array

        return dask.array.from_array(made, chunks=array.chunks)

    mask = mask.compute() if hasattr(mask, "compute") else mask
    return _make_observations(array.compute(), mask, back, **given)


# --- sparse arrays ------------------------------------------------------------------------------------------------


def _from_sparse(
    data: Any, kind: str, mask: Any, *, weights: Any, dims: Sequence[str] | None, absent: str | None
) -> Observations:
    fill = getattr(data, "fill_value", 0)
    if absent is None and not (isinstance(fill, float | np.floating) and np.isnan(fill)):  # NaN says it by itself
        msg = (
            "what is absent from a sparse array may be missing or zero, and only you know: "
            'give absent="missing" or absent="zero".'
        )
        raise ValueError(msg)
    indices, values, shape, back = {"sparse": _pydata, "torch": _torch_sparse}.get(kind, _scipy)(data)
    if absent == "zero":
        ask(3 * math.prod(shape) * values.dtype.itemsize, f"a sparse array of shape {shape}, with its zeros,")
        dense = np.full(shape, fill, dtype=values.dtype)
        dense[tuple(indices.T)] = values
        return _make_observations(dense, mask, lambda array, wide: back(array, False), weights=weights, dims=dims)
    if mask is not None or weights is not None:
        msg = 'mask and weights must be left out where absent entries are missing; use absent="zero", or from_coo.'
        raise ValueError(msg)
    source = StoredSource(lambda array, wide: back(array, True), values.dtype, indices, values)
    if values.dtype.kind == "f" and np.isnan(values).any():
        seen = ~np.isnan(values)
        source = replace(source, indices=indices[seen], values=values[seen])
    return from_coo(source.indices, source.values, shape, dims=dims, source=source)


Sparse = tuple[Array, Array, tuple[int, ...], Callable[[Array, bool], Any]]


def _stored(array: Array, full: bool, fill: Any = 0) -> tuple[Array, Array]:
    """(places (N, nnz), values) of the entries that a sparse array stores; zeros, too, if it is `full`."""
    where = np.indices(array.shape).reshape(array.ndim, -1) if full else np.stack(np.nonzero(array != fill))
    return where, array[tuple(where)]


def _scipy(data: Any) -> Sparse:
    from scipy.sparse import coo_array

    coo = data.tocoo(copy=True)
    coo.sum_duplicates()
    coords = getattr(coo, "coords", None) or (coo.row, coo.col)

    def back(array: Array, full: bool) -> Any:
        where, values = _stored(array, full)
        return type(data)(coo_array((values, tuple(where)), shape=array.shape))

    return np.stack(coords, axis=1), coo.data, tuple(data.shape), back


def _pydata(data: Any) -> Sparse:
    import sparse

    coo = sparse.COO(data) if not isinstance(data, sparse.COO) else data
    fill = coo.fill_value

    def back(array: Array, full: bool) -> Any:
        where, values = _stored(array, full, fill)
        value = fill if np.can_cast(np.min_scalar_type(fill), array.dtype) or array.dtype.kind == "f" else 0
        made = sparse.COO(where, values, shape=array.shape, fill_value=array.dtype.type(value))
        return made if isinstance(data, sparse.COO) else type(data).from_coo(made)

    return coo.coords.T.astype(np.int64), np.asarray(coo.data), tuple(coo.shape), back


def _torch_sparse(data: Any) -> Sparse:
    import torch

    coo = data.detach().cpu().coalesce()

    def back(array: Array, full: bool) -> Any:
        where, values = (torch.from_numpy(np.array(part)) for part in _stored(array, full))
        return torch.sparse_coo_tensor(where, values, array.shape, device=data.device).coalesce()

    return coo.indices().numpy().T, coo.values().numpy(), tuple(coo.shape), back
