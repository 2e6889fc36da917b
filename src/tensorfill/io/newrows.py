"""Rows that arrive later, as observations with the columns of the data that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.data.arrays import from_coo, from_dense
from tensorfill.data.observations import Observations
from tensorfill.data.sources import ConvertedSource, EncodedSource, FrameSource, MatrixSource, SavedSource
from tensorfill.io.frames import check_columns, frame_numbers, number_labels
from tensorfill.io.polars_frames import arrow_back, arrow_frame, polars_back, polars_frame


def observe_rows(obs: Observations, new: Any, names: Sequence[str] = ()) -> Observations:
    """New rows (along the first mode) of `obs`, in the type in which they come. Tables have the same columns, in any
    order; `names` are those of a run that was read from a file.
    """
    for library, frame_of, back in (("polars", polars_frame, polars_back), ("pyarrow", arrow_frame, arrow_back)):
        if type(new).__module__.startswith(library):
            made = observe_rows(obs, frame_of(new), names)
            return replace(made, source=ConvertedSource(made.source, back(new)))
    source: Any = obs.source.inner if isinstance(obs.source, ConvertedSource) else obs.source
    if not hasattr(new, "iloc"):
        return _array_rows(obs, new)
    if isinstance(source, FrameSource):
        return _long_rows(obs, source, new)
    columns = list(source.frame.columns) if hasattr(source, "frame") else list(names)
    if not columns:
        msg = f"new rows must be an array with {obs.shape[1]} columns, as the data were; got {type(new).__name__}."
        raise TypeError(msg)
    if absent := [c for c in columns if c not in new.columns]:
        msg = f"new rows must have the columns of the data; {absent[0]!r} is not among theirs, which are "
        msg += f"{', '.join(map(str, new.columns))}. Add it, empty where nothing is known."
        raise ValueError(msg)
    frame = new[columns]
    if isinstance(source, EncodedSource | SavedSource):
        made = frame_numbers(source.encoder.transform(frame), None, None, obs.dims)
        return replace(made, source=EncodedSource(frame, source.encoder, made.source))
    made = frame_numbers(frame, None, None, obs.dims)
    inner: Any = made.source
    return replace(made, source=MatrixSource(frame, inner.inner))


def _array_rows(obs: Observations, new: Any) -> Observations:
    rows = np.asanyarray(new)
    rows = rows[None] if rows.ndim == obs.ndim - 1 else rows
    if rows.shape[1:] != obs.shape[1:]:
        want = " x ".join(map(str, ("any number", *obs.shape[1:])))
        msg = f"new rows must have the shape {want}; got {rows.shape}."
        raise ValueError(msg)
    return from_dense(rows, None, weights=None, dims=obs.dims)


def _long_rows(obs: Observations, source: FrameSource, new: Any) -> Observations:
    """A long table of new slices along the first mode: new users, whose films are known."""
    check_columns(list(new.columns), [*source.dims, source.value])
    first, codes = number_labels(new[source.dims[0]], source.dims[0])
    where = [codes]
    for d, labels in zip(source.dims[1:], source.labels[1:], strict=True):
        place = {label: k for k, label in enumerate(np.asarray(labels).tolist())}
        at = new[d].map(place)
        if at.isna().any():
            odd = new[d][at.isna()].iloc[0]
            msg = f"new rows must have labels of {d} that the run has seen; got {odd}. Complete all data together."
            raise ValueError(msg)
        where.append(at.to_numpy(dtype=np.intp))
    every = (first, *source.labels[1:])
    indices = np.stack(where, axis=1)
    numbers = new[source.value].to_numpy(dtype=float)
    made = FrameSource(new, source.dims, source.value, every, indices)
    return from_coo(indices, numbers, (len(first), *obs.shape[1:]), weights=None, dims=obs.dims, source=made)
