"""Large data in pieces: rows of Parquet, CSV and .tns files, partitions and chunks of Dask.

A piece is coordinates, as numbers or by their labels, and values; what is missing is not in it. No piece is larger than
a few million rows, and none is read before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from tensorfill.blocks.paths import is_table
from tensorfill.data.exact import EXACT, check_exact
from tensorfill.io.formats.base import FileError
from tensorfill.io.formats.long import check_columns
from tensorfill.io.formats.output import file_errors
from tensorfill.io.formats.tns import read_entries
from tensorfill.io.optional import attempt_import
from tensorfill.typing import Array

ROWS = 2**20  # of a piece, about


@dataclass(frozen=True, eq=False)
class Piece:
    """Some observations.

    Attributes
    ----------
    axes : per mode (labels, which): different labels, and for each observation which of them, (n,); labels None where
        `which` are the indices themselves
    values, weights : (n,)
    """

    axes: Sequence[tuple[Sequence[Any] | None, Array]]
    values: Array
    weights: Array | None = None


@dataclass(frozen=True)
class Columns:
    """What the columns of a table mean."""

    dims: tuple[str, ...]
    value: str
    weight: str | None = None

    @property
    def names(self) -> list[str]:
        return [*self.dims, self.value, *([self.weight] if self.weight else [])]


def rows_of(file: str) -> int:
    """How many rows a Parquet file has."""
    with file_errors(file, "read"):
        return int(parquet_file(file).metadata.num_rows)


def pieces_of(file: str, columns: Columns | None) -> Iterator[Piece]:
    """The pieces of one file."""
    name = file.lower()
    with file_errors(file, "read"):
        if is_table(name):
            if columns is None:
                msg = 'a table needs to know its columns: dims=["user", "item"], value="stars".'
                raise FileError(msg)
            for batch in table_batches(file, columns.names, columns.names[len(columns.dims) :]):
                yield from from_arrow(batch, columns)
        else:
            yield from _tns(file)


# --- tables -------------------------------------------------------------------------------------------------------


def parquet_file(file: str) -> Any:
    """A Parquet file, opened."""
    return attempt_import("pyarrow.parquet", "reading Parquet", "parquet").ParquetFile(file)


def table_batches(file: str, names: Sequence[str], numbers: Sequence[str] = ()) -> Iterator[Any]:
    """The rows of some columns of a Parquet or CSV file, a few at a time; `numbers` of a CSV file come as text, for "1"
    and "2.5" may both be there. Types of others are told by the first block; a later one that has others is refused.
    """
    if file.lower().endswith((".parquet", ".pq")):
        with parquet_file(file) as opened:
            check_columns(names, opened.schema_arrow.names)
            yield from opened.iter_batches(batch_size=ROWS, columns=list(names))
        return
    csv = attempt_import("pyarrow.csv", "reading a CSV file in pieces", "parquet")
    import pyarrow as pa

    parse = csv.ParseOptions(delimiter="\t" if ".tsv" in file.lower() else ",")
    convert = csv.ConvertOptions(strings_can_be_null=True, column_types={name: pa.string() for name in numbers})
    with csv.open_csv(file, csv.ReadOptions(block_size=2**25), parse, convert) as rows:
        check_columns(names, rows.schema.names)
        for batch in rows:
            yield batch.select(list(names))


def from_arrow(batch: Any, columns: Columns) -> Iterator[Piece]:
    """Rows of an Arrow table; a null value, or NaN, is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = _numbers(batch.column(columns.value), columns.value)
    weights = None if columns.weight is None else _numbers(batch.column(columns.weight), columns.weight)
    known = ~np.isnan(values)
    axes = []
    for d in columns.dims:
        column = batch.column(d)
        if pa.types.is_nested(column.type):
            msg = f"its column {d!r} holds {column.type}, which cannot be labels."
            raise FileError(msg)
        empty = column.is_null(nan_is_null=True)
        if none := pc.sum(empty).as_py():
            msg = f"every row must have a label in column {d!r}; {none:,} have none. Drop them or name what they are."
            raise FileError(msg)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        coded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
        which = coded.indices.to_numpy(zero_copy_only=False)
        axes.append((coded.dictionary.to_pylist(), which if known.all() else which[known]))
    if known.all():
        yield Piece(axes, values, weights)
    elif known.any():
        yield Piece(axes, values[known], None if weights is None else weights[known])


def _numbers(column: Any, name: str) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    whole, text = pa.types.is_integer(column.type), pa.types.is_string(column.type)
    try:
        cast = (pc.utf8_trim_whitespace(column) if text else column).cast(pa.float64(), safe=whole)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = f"{column.type}, not numbers ({str(error).splitlines()[0]})"
        what = "whole numbers beyond 2^53, which float64 would change" if whole else reason
        msg = f"its column {name!r} holds {what}."
        raise FileError(msg) from error
    values = cast.to_numpy(zero_copy_only=False)
    if text:
        _check_digits(values, lambda rows: column.take(pa.array(rows)).to_pylist())
    return values


def _check_digits(values: Array, texts: Callable[[Array], Iterable[str]]) -> None:
    """Refuse whole numbers written in digits that are not what was read, (n,); `texts` gives those of some rows."""
    with np.errstate(invalid="ignore"):
        large = np.flatnonzero(np.isfinite(values) & (np.abs(values) >= EXACT))
    for k, text in zip(large, texts(large), strict=True):
        if text.strip().lstrip("+-").isdecimal() and int(text) != int(values[k]):
            msg = f"whole numbers must be within 2^53 to be exact here; got {text.strip()[:40]}."
            raise FileError(msg)


# --- coordinates and arrays ---------------------------------------------------------------------------------------


def _tns(file: str) -> Iterator[Piece]:
    with open(file, "rb") as text:
        lines, at = (line for line in text if line.strip() and not line.lstrip().startswith(b"#")), 0
        while some := list(islice(lines, ROWS)):
            where, values = read_entries(some, at)
            _check_digits(values, partial(_last_words, some))
            at += len(values)
            known = ~np.isnan(values)
            yield Piece([(None, column[known]) for column in where.T], values[known])


def _last_words(lines: Sequence[bytes], rows: Array) -> list[str]:
    return [lines[k].partition(b"#")[0].split()[-1].decode() for k in rows]


def dense_piece(part: Array, corner: Sequence[int]) -> Iterator[Piece]:
    """The observed entries of a dense part of a tensor whose first entry lies at `corner`."""
    if part.dtype.kind not in "biuf":
        msg = f"it holds {part.dtype}; only real numbers can be completed."
        raise FileError(msg)
    known = ~np.isnan(part) if part.dtype.kind == "f" else np.ones(part.shape, dtype=bool)
    if known.any():
        where = np.nonzero(known)
        try:
            check_exact(np.stack(where, axis=1) + np.asarray(corner), part[known])
        except ValueError as error:
            raise FileError(str(error)) from error
        yield Piece([(None, w + c) for w, c in zip(where, corner, strict=True)], part[known].astype(np.float64))
