"""Parquet and Feather tables, in long form (`dims` named) or wide form, through pyarrow; column types are kept.

Wide: the columns of numbers are the matrix, in their order; all other columns, and a stored pandas index, are carried
along. Null and NaN are missing. Files are unpacked in a process of its own, within limits of memory.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import IO, Any

import numpy as np

from tensorfill.data.coordinates import match_rows
from tensorfill.data.memory import ask
from tensorfill.io.formats.apart import read_apart
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request, cast, paste
from tensorfill.io.formats.long import (
    all_rows,
    dim_labels,
    dim_names,
    encode,
    load_long,
    pick_columns,
    writes_long,
)
from tensorfill.io.formats.names import first_mode, label_column, label_note
from tensorfill.io.formats.worker import task
from tensorfill.io.optional import attempt_import

UNPACKED = "what is in it, unpacked,"


def _arrow(what: str) -> tuple[Any, Any]:
    return attempt_import("pyarrow", what, "parquet"), attempt_import("pyarrow.parquet", what, "parquet")


class ArrowTable(Format):
    """Tables that Arrow reads and writes."""

    options = frozenset({"value"})

    def save(self, sink: IO[bytes], table: Any) -> None:
        """Write an Arrow table."""
        raise NotImplementedError

    def read(self, request: Request) -> Loaded:
        long = request.dims is not None or request.value is not None
        pa, _ = _arrow(f"reading {self.name.title()}")
        with pa.ipc.open_stream(pa.py_buffer(read_apart(self.name, request, kind=self.name, long=long))) as stream:
            table = stream.read_all()
        if len(table) == 0:
            msg = "it holds no rows."
            raise FileError(msg)
        return replace(_read_long(table, request) if long else _read_wide(table), format=self.name)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        if writes_long(like):
            where = all_rows(like)
            self.write_rows(sink, where, array[tuple(where.T)], like)
        else:
            self.save(sink, _wide_table(array, like))

    def write_rows(self, sink: IO[bytes], indices: Array, values: Array, like: Loaded) -> None:
        self.save(sink, _long_table(indices, values, like))


@FORMATS.register("parquet")
class Parquet(ArrowTable):
    """Apache Parquet."""

    title = "a Parquet table"
    description = "table: long form with --dims a,b,c --value v, or wide form (a matrix); needs pyarrow"
    endings = (".parquet", ".pq")
    magic = (b"PAR1",)

    def save(self, sink: IO[bytes], table: Any) -> None:
        pa, pq = _arrow("writing Parquet")
        out = pa.BufferOutputStream()
        pq.write_table(table, out)
        sink.write(out.getvalue())


@FORMATS.register("feather")
class Feather(ArrowTable):
    """Feather, version 2: a file of Arrow's."""

    title = "a Feather table"
    description = "the same as parquet, in Arrow's own form; needs pyarrow"
    endings = (".feather", ".arrow", ".ipc")
    magic = (b"ARROW1",)

    def save(self, sink: IO[bytes], table: Any) -> None:
        pa, _ = _arrow("writing Feather")
        out = pa.BufferOutputStream()
        with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as file:
            file.write_table(table)
        sink.write(out.getvalue())


@task("parquet", "pyarrow", "pyarrow.parquet")
@task("feather", "pyarrow", "pyarrow.parquet")
def unpack_table(source: str | bytes, kind: str, long: bool) -> bytes:
    """A Parquet or Feather file, by its path or its bytes, as an Arrow stream that is not packed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    packed = pa.py_buffer(source) if isinstance(source, bytes) else source
    if kind == "parquet":  # ParquetFile, not read_table: the latter looks for partitions and needs a file system
        opened = pq.ParquetFile(pa.BufferReader(packed) if isinstance(source, bytes) else packed)
        _ask_table(opened.metadata.num_rows, opened.metadata.num_columns, long)
        ask(2 * sum(opened.metadata.row_group(k).total_byte_size for k in range(opened.num_row_groups)), UNPACKED)
        table = opened.read(use_threads=False)
    else:
        with pa.ipc.open_file(packed, options=pa.ipc.IpcReadOptions(use_threads=False)) as file:
            table = file.read_all()
    _ask_table(len(table), len(table.schema), long)
    _sound(table)
    for column in table.columns:
        if pa.types.is_dictionary(column.type):  # is there room for labels once every row has its own?
            ask(2 * column.cast(column.type.value_type).nbytes, "the text in it, row by row,")
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue().to_pybytes()


def _ask_table(rows: int, columns: int, long: bool) -> None:
    """Refuse a table that takes too much memory; labels of a long one are Python objects of about 100 bytes."""
    ask(rows * columns * (100 if long else 24), f"a table of {rows:,} rows and {columns} columns")


def _sound(table: Any) -> Any:
    """The table, if nothing in it points outside of it: Arrow looks only when asked, else it reads what is there."""
    try:
        table.validate(full=True)
    except ValueError as error:
        msg = f"it is damaged: {' '.join(str(error).split()).rstrip('.')}."
        raise FileError(msg) from error
    return table


def _is_number(kind: Any) -> bool:
    import pyarrow.types as t

    if t.is_dictionary(kind):
        kind = kind.value_type
    return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_decimal(kind))


def _numbers(column: Any) -> tuple[Array, np.dtype[Any]]:
    """(values with NaN for null, the type they are stored in)."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string()).cast(pa.float64())  # at once, 3.30 becomes 3.3000000000000003
    dtype = np.dtype(column.type.to_pandas_dtype())
    if column.null_count == 0:
        return column.to_numpy().astype(dtype, copy=False), dtype
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype


# --- long form ----------------------------------------------------------------------------------------------------


def _read_long(table: Any, request: Request) -> Loaded:
    dims, value = pick_columns(table.column_names, request)
    kind = None if request.listing else table.schema.field(value).type
    if kind is not None and not _is_number(kind):
        msg = f"its value column {value!r} must hold numbers; got {kind}. Choose another with --value."
        raise FileError(msg)
    axes = []
    for d in dims:
        labels = table.column(d).to_pylist()
        if None in labels:
            msg = f"row {labels.index(None) + 1} has no label in column {d!r}; name it, or leave that row out."
            raise FileError(msg)
        axes.append(encode(labels))
    if request.listing:
        return load_long("parquet", dims, axes, np.zeros(len(table)), {}, first_row=1)
    values, dtype = _numbers(table.column(value))
    loaded = load_long("parquet", dims, axes, values, {"table": table, "name": value}, first_row=1)
    if loaded.dtype == dtype:
        return loaded
    assert loaded.values_coo is not None
    known = loaded.values_coo
    if dtype.itemsize == 8:  # through float64 large integers would have lost digits
        column = table.column(value)
        known = _numbers(column.drop_null())[0]
    return replace(loaded, dtype=dtype, values_coo=known.astype(dtype))


def _long_table(indices: Array, values: Array, like: Loaded) -> Any:
    pa, _ = _arrow("writing Parquet")
    labels = dim_labels(like)
    names = dim_names(like)
    numbers = pa.array(values, from_pandas=True)  # NaN is null
    if "table" not in like.extra:
        columns = {
            d: pa.array(axis).take(pa.array(indices[:, n]))
            for n, (d, axis) in enumerate(zip(names, labels, strict=True))
        }
        return pa.table({**columns, str(like.extra.get("name") or "value"): numbers})
    table = like.extra["table"]
    row = match_rows(like.extra["codes"], indices, like.shape)
    old = pa.array(row, mask=row < 0)  # a null takes a null: further columns are empty in new rows
    out = {}
    for field in table.schema:
        if field.name in names:
            n = names.index(field.name)
            out[field.name] = pa.array(labels[n], type=field.type).take(pa.array(indices[:, n]))
        elif field.name == like.extra["name"]:
            before = table.column(field.name).combine_chunks().take(old)
            same = values == np.where(row >= 0, _numbers(table.column(field.name))[0][row], np.nan)
            out[field.name] = _fill_column(numbers, _field(field, like).type, before, same)
        else:
            out[field.name] = table.column(field.name).combine_chunks().take(old)
    fields = [f.with_nullable(True) if f.name != like.extra["name"] else _field(f, like) for f in table.schema]
    return pa.table(list(out.values()), schema=pa.schema(fields, metadata=_metadata(table)))


def _fill_column(numbers: Any, kind: Any, before: Any, same: Array) -> Any:
    """Numbers as a column of that type; decimals that were read are kept to the last digit where nothing changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(kind):
        return numbers.cast(kind.value_type, safe=False).dictionary_encode().cast(kind)
    if not pa.types.is_decimal(kind):
        return numbers.cast(kind, safe=False)
    digits = [None if x is None else round(Decimal(repr(x)), kind.scale) for x in numbers.to_pylist()]
    return pc.if_else(pa.array(same), before, pa.array(digits, kind))


def _field(field: Any, like: Loaded) -> Any:
    """The field that answers go into: as it was, or one of floats where that was asked for."""
    import pyarrow as pa

    floating = like.extra.get("floating") and not pa.types.is_floating(field.type)
    return (field.with_type(pa.from_numpy_dtype(like.dtype)) if floating else field).with_nullable(True)


def _metadata(table: Any) -> dict[bytes, bytes]:
    """The table's own notes, less those on a pandas index by position, whose length no longer holds."""
    kept = dict(table.schema.metadata or {})
    if b"pandas" in kept:
        notes = json.loads(kept[b"pandas"])
        notes["index_columns"] = [i for i in notes.get("index_columns", []) if not isinstance(i, dict)]
        kept[b"pandas"] = json.dumps(notes).encode()
    return kept


# --- wide form ----------------------------------------------------------------------------------------------------


def _read_wide(table: Any) -> Loaded:
    notes = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    index = [i for i in notes.get("index_columns", []) if isinstance(i, str)]
    names = [f.name for f in table.schema if _is_number(f.type) and f.name not in index]
    if not names:
        msg = f"none of its columns holds numbers; it has {', '.join(table.column_names) or 'no columns'}."
        raise FileError(msg)
    note = None
    if len(names) > 1 and table.column_names[0] == names[0]:  # a column of numbers before all others: an index?
        first, *rest = (map(_text, table.column(name).to_pylist()) for name in names)
        note = label_note(names[0], list(first), (list(cells) for cells in rest))
        names = names if note is None else names[1:]
    columns, dtypes = zip(*(_numbers(table.column(name)) for name in names), strict=True)
    others = [n for n in table.column_names if n not in names]
    labels: dict[str, list[Any]] = {"column": names}
    beside = {n: [_text(cell) for cell in table.column(name).to_pylist()] for n, name in enumerate(others)}
    at = label_column(beside) if len(others) > 1 else 0
    rows = first_mode(others[at or 0]) if others else "row"
    if others:
        labels[rows] = table.column(others[at or 0]).to_pylist()
    left = [name for name in others if name not in index and name != others[at or 0]]
    notes = tuple(text for text in (note, _left_alone(table, left)) if text)
    dtype = np.result_type(*dtypes)
    values = np.stack(columns, axis=1)  # of the widest type, float64 where anything is null
    extra = {"form": "wide", "table": table, "names": names, "dtypes": dtypes, "columns": columns}
    return Loaded(
        "parquet", values.shape, dtype, values, dims=(rows, "column"), labels=labels, notes=notes, extra=extra
    )


def _left_alone(table: Any, names: list[str]) -> str | None:
    """A note on columns that are neither numbers nor labels, with what they hold: text, lists, dates, durations."""
    if not names:
        return None
    told = ", ".join(f"{name!r} ({table.schema.field(name).type})" for name in names)
    empty = sum(table.column(name).null_count for name in names)
    many = f"columns {told} hold no numbers and are left as they are"
    words = many if len(names) > 1 else f"column {told} holds no numbers and is left as it is"
    return f"{words}, {empty:,} of {'their' if len(names) > 1 else 'its'} cells empty." if empty else f"{words}."


def _text(number: Any) -> str:
    return "" if number is None else str(number)


def _wide_table(array: Array, like: Loaded) -> Any:
    pa, _ = _arrow("writing Parquet")
    if "table" in like.extra:
        table = like.extra["table"]
        for n, name in enumerate(like.extra["names"]):
            # each column in its own type, also where the matrix had to take a wider one
            values = array[:, n] if like.extra.get("floating") else cast(array[:, n], like.extra["dtypes"][n])
            values = paste(values, array[:, n], like.extra["columns"][n])
            at = table.column_names.index(name)
            field = _field(table.schema.field(at), like)
            same = array[:, n] == like.extra["columns"][n]
            filled = _fill_column(pa.array(values, from_pandas=True), field.type, table.column(at), same)
            table = table.set_column(at, field, filled)
        return table
    names, known = dim_names(like), like.labels or {}
    rows, columns = known.get(names[0]), known.get(names[1])
    out = {} if rows is None else {names[0]: pa.array([str(r) for r in rows])}
    for n in range(array.shape[1]):
        out[str(n if columns is None else columns[n])] = pa.array(array[:, n], from_pandas=True)
    return pa.table(out)
