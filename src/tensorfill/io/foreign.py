"""Arrays of other libraries by way of NumPy: torch, dask, scipy.sparse.

What goes in comes out: the completed data, the estimate and the ends of intervals are of the type of the input. What is
absent from a sparse array may be missing or zero; that is asked for, never guessed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorfill.data.arrays import from_coo, from_dense
from tensorfill.data.memory import ask, words
from tensorfill.data.observations import Observations
from tensorfill.data.sources import EntriesSource, Wrapped
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.polars_frames import observe_arrow, observe_polars
from tensorfill.typing import Array

ABSENT = ("missing", "zero")


@dataclass(frozen=True, eq=False)
class ForeignSource(Wrapped):
    """An array of another library: `make(array, wide)` makes one of NumPy's, in the type of the data unless `wide`."""

    leaves_gaps = False  # whole numbers of torch have no NaN

    make: Callable[[Array, bool], Any]
    inner: Any

    def fill(self, estimate: Array, unfilled: Array | None = None) -> Any:
        return self.make(self.inner.fill(estimate), False)

    def wrap(self, estimate: Array) -> Any:
        return self.make(self.inner.wrap(estimate), True)


def observe_foreign(
    data: Any, kind: str, mask: Any, *, weights: Any, dims: Sequence[str] | None, absent: str | None
) -> Observations | None:
    """Observations from data of the library `kind`; None if it is none of these."""
    if absent is not None and absent not in ABSENT:
        msg = f'absent must be "missing" or "zero"; got {absent!r}.'
        raise ValueError(msg)
    if kind == "sparse" or getattr(data, "is_sparse", False):
        msg = (
            f"sparse arrays must be scipy's; got {type(data).__name__} of {kind}. Give scipy.sparse.coo_array((values, "
        )
        msg += "coordinates)), or use Observations.from_coo."
        raise TypeError(msg)
    sparse = kind == "scipy" and hasattr(data, "tocoo")
    if absent is not None and not sparse:
        msg = f"absent is for sparse arrays, where entries may be absent; got {type(data).__name__}. Leave it out."
        raise ValueError(msg)
    if sparse:
        return _from_sparse(data, mask, weights=weights, dims=dims, absent=absent)
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


def _from_sparse(data: Any, mask: Any, *, weights: Any, dims: Sequence[str] | None, absent: str | None) -> Observations:
    """From any of scipy's."""
    from scipy.sparse import coo_array

    if absent is None:
        msg = (
            "what is absent from a sparse array may be missing or zero, and only you know: "
            'give absent="missing" or absent="zero".'
        )
        raise ValueError(msg)
    coo = data.tocoo(copy=True)
    coo.sum_duplicates()
    indices = np.stack(getattr(coo, "coords", None) or (coo.row, coo.col), axis=1)
    shape, values = tuple(data.shape), coo.data

    def back(array: Array, full: bool) -> Any:
        """Zeros are stored, too, if it is `full`, or they would be missing again."""
        where = np.indices(array.shape).reshape(array.ndim, -1) if full else np.stack(np.nonzero(array))
        return type(data)(coo_array((array[tuple(where)], tuple(where)), shape=array.shape))

    if absent == "zero":
        ask(3 * math.prod(shape) * values.dtype.itemsize, f"a sparse array of shape {shape}, with its zeros,")
        dense = np.zeros(shape, dtype=values.dtype)
        dense[tuple(indices.T)] = values
        return _make_observations(dense, mask, lambda array, wide: back(array, False), weights=weights, dims=dims)
    if mask is not None or weights is not None:
        msg = 'mask and weights must be left out where absent entries are missing; use absent="zero", or from_coo.'
        raise ValueError(msg)
    seen = values == values
    entries = EntriesSource(indices[seen], values[seen])
    source = ForeignSource(lambda array, wide: back(array, True), entries)
    return from_coo(entries.indices, entries.values, shape, dims=dims, source=source)
