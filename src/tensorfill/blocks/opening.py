"""Large data of any source as Observations, if they are few enough for that, or as Partitions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.blocks.base import Partitions
from tensorfill.blocks.cluster import active_client, cluster_errors
from tensorfill.blocks.disk import Tell, refuse_repeats
from tensorfill.blocks.draw import Draw
from tensorfill.blocks.filling import Filled, fill
from tensorfill.blocks.paths import files_of, in_pieces, is_table, path_like
from tensorfill.blocks.pieces import Columns, Piece, dense_piece, from_arrow, pieces_of
from tensorfill.blocks.rows import join
from tensorfill.data.arrays import from_coo
from tensorfill.data.labels import with_positions
from tensorfill.data.memory import budget, most_in_memory
from tensorfill.data.observations import Observations
from tensorfill.data.sources import FrameSource
from tensorfill.io.formats.base import FileError
from tensorfill.io.formats.long import check_columns
from tensorfill.io.formats.output import file_errors


@dataclass(frozen=True)
class _Reading:
    """How to read: names of the modes, which observations to hold out, whom to tell of progress, and the number of
    observations up to which they are kept in memory.
    """

    dims: Sequence[str] | None
    draw: Draw
    tell: Tell | None
    large: int


def open_data(
    data: Any,
    *,
    dims: Sequence[str] | None = None,
    value: str | None = None,
    weights: Any = None,
    draw: Draw | None = None,
    tell: Tell | None = None,
    large: int | None = None,
) -> Observations | Partitions | None:
    """Files (a pattern, a path, a list of them), a table with its columns named, a Dask array or table, xarray on Dask;
    None if the data are none of these.

    large : the number of observations from which on they stay in blocks; None: as many as are too many for memory
    """
    columns = None if value is None else _columns(dims, value, weights)
    how = _Reading(dims, draw or Draw(), tell, most_in_memory() if large is None else large)
    kind = type(data).__module__.split(".")[0]
    if path_like(data):
        return _from_files(data, columns, how)
    if kind == "dask" and hasattr(data, "to_delayed") and hasattr(data, "columns"):
        return _from_dask_table(data, columns, how)
    if columns is not None and kind == "pandas":
        from tensorfill.io.frames import from_pandas

        return from_pandas(data, columns.dims, columns.value, weight=columns.weight)
    if columns is not None and kind == "polars":
        from tensorfill.io.polars_frames import from_polars

        return from_polars(data, columns.dims, columns.value, weight=columns.weight)
    chunked = _find_chunked(data, kind)
    if chunked is not None and weights is None:
        return _from_chunks(data, chunked, how)
    if value is not None:
        msg = f"value names a column of a table; got {type(data).__name__}. Leave it out."
        raise TypeError(msg)
    return None


def _from_files(data: Any, columns: Columns | None, how: _Reading) -> Observations | Partitions | None:
    """Files that can be read in pieces; None for others, such as a picture or a matrix in one table."""
    matrix = isinstance(data, str | Path) and os.path.isfile(data) and is_table(os.fspath(data))
    if columns is None and (matrix or not in_pieces(data)):
        return None
    files = files_of(data)
    if columns is None and any(is_table(f) for f in files):
        msg = f'the columns of {files[0]} must be named: complete(..., dims=["user", "item"], value="stars").'
        raise ValueError(msg)
    return _make_observations(_file_pieces(files, columns), columns, how)


def _from_dask_table(table: Any, columns: Columns | None, how: _Reading) -> Observations | Partitions:
    """A Dask table, its partitions one after the other: made by the workers of a cluster if one is in use."""
    if columns is None:
        msg = 'the columns of a Dask table must be named: complete(table, dims=["user", "item"], value="stars").'
        raise ValueError(msg)
    check_columns(columns.names, [str(c) for c in table.columns])
    return _make_observations(_frame_pieces(table, columns), columns, how)


def _columns(dims: Sequence[str] | None, value: str, weights: Any) -> Columns:
    own = tuple(dims) if isinstance(dims, Sequence) and not isinstance(dims, str | bytes) else ()
    if len(own) < 2 or not all(isinstance(d, str) for d in own):
        msg = f'dims must name two columns or more, as in dims=["user", "item"]; got {dims!r}.'
        raise ValueError(msg)
    for name, given in (("value", value), ("weights", weights)):
        if given is not None and not isinstance(given, str):
            msg = f"{name} of a table must be the name of a column; got {type(given).__name__}."
            raise TypeError(msg)
    columns = Columns(own, value, weights)
    if len(set(columns.names)) < len(columns.names):
        msg = f"dims, value and weights must be different columns; got {', '.join(columns.names)}."
        raise ValueError(msg)
    return columns


def _make_observations(
    pieces: Iterable[Piece],
    columns: Columns | None,
    how: _Reading,
    *,
    shape: Sequence[int] | None = None,
    labels: Mapping[str, Any] | None = None,
) -> Observations | Partitions:
    """Pieces as observations in memory if they are few, else in blocks on disk, or with the workers of a cluster."""
    client = active_client()
    with nullcontext() if client is None else cluster_errors(client):
        filled = fill(pieces, how.dims, shape=shape, tell=how.tell)
        filled.labels.update(labels or {})
        if filled.store.rows <= how.large:
            try:
                return _load_rows(filled, columns)
            finally:
                filled.store.remove()
        return filled.partitions(how.draw, tell=how.tell, client=client)


def _load_rows(filled: Filled, columns: Columns | None) -> Observations:
    """All rows of a store in memory, with a source that gives a table back where one came."""
    where, values, weights = rows = join(list(filled.chunks()))
    refuse_repeats(rows.sort(0).indices, filled.dims, filled.labels)
    if filled.store.exact:
        values = values.astype(np.float32)
    source = None
    if columns is not None:
        import pandas as pd

        labels = tuple(filled.labels[d] for d in columns.dims)
        table = {d: axis[where[:, n]] for n, (d, axis) in enumerate(zip(columns.dims, labels, strict=True))}
        frame = pd.DataFrame({**table, columns.value: values.astype(np.float64)})
        source = FrameSource(frame, columns.dims, columns.value, labels, where.astype(np.intp))
    made = from_coo(where, values, filled.shape, weights=weights, dims=filled.dims, source=source)
    return made if source is None else with_positions(made)


def _file_pieces(files: Sequence[str], columns: Columns | None) -> Iterator[Piece]:
    kinds: dict[int, tuple[str, Any]] = {}
    for file in files:
        for piece in pieces_of(file, columns):
            with file_errors(file, "read"):
                _check_kinds(piece, columns, kinds)
            yield piece


def _check_kinds(piece: Piece, columns: Columns | None, kinds: dict[int, tuple[str, Any]]) -> None:
    """Refuse labels of another kind than in the files before: 7 and "7" would be two rows, 1 and True one."""
    for n, (labels, _) in enumerate(piece.axes):
        if columns is not None and labels:
            kind = "a number" if type(labels[0]) in (int, float) else type(labels[0]).__name__
            before, label = kinds.setdefault(n, (kind, labels[0]))
            if before != kind:
                msg = f"its column {columns.dims[n]!r} holds {labels[0]!r} where files before have {label!r}; labels "
                msg += "must be of one kind."
                raise FileError(msg)


def _frame_pieces(frame: Any, columns: Columns) -> Iterator[Piece]:
    """The partitions of a Dask table, one at a time."""
    import pyarrow as pa

    for k in range(frame.npartitions):
        table = frame.get_partition(k)[columns.names].compute()
        yield from from_arrow(pa.Table.from_pandas(table, preserve_index=False), columns)


# --- arrays in chunks ---------------------------------------------------------------------------------------------


def _find_chunked(data: Any, kind: str) -> Any:
    """The Dask array in these data that is too large to be loaded; None if there is none."""
    inner = data if kind == "dask" else getattr(data, "data", None) if kind == "xarray" else None
    if inner is None or not hasattr(inner, "chunks") or not hasattr(inner, "compute") or np.isnan(inner.size):
        return None
    return inner if 3 * inner.nbytes > budget() else None


def _from_chunks(data: Any, array: Any, how: _Reading) -> Observations | Partitions:
    """A Dask array, or xarray on one, chunk by chunk; `array` is the Dask array in `data`."""
    how = how if array is data else replace(how, dims=tuple(str(d) for d in data.dims))
    labels = {} if array is data else {str(d): data.indexes[d].to_numpy() for d in data.dims if d in data.indexes}
    corners = product(*([0, *np.cumsum(c)[:-1].tolist()] for c in array.chunks))
    chunks = (array.blocks[place].compute() for place in np.ndindex(array.numblocks))
    pieces = (p for c, corner in zip(chunks, corners, strict=True) for p in dense_piece(np.asarray(c), corner))
    return _make_observations(pieces, None, how, shape=array.shape, labels=labels)
