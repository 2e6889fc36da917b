"""Parquet and Feather tables, in long form (`dims` named) or wide form, through pyarrow; column types are kept.

Wide: the columns of numbers are the matrix, in their order; all other columns, and a stored pandas index, are carried
along. Null and NaN are missing. Files are unpacked in a process of its own, within limits of memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import IO, Any, Self

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.base import FORMATS, Array, FileError, Loaded, Request, cast, paste
from tensorfill.io.formats.cells import to_text
from tensorfill.io.formats.isolated import read_isolated, task
from tensorfill.io.formats.long import read_long
from tensorfill.io.formats.names import label_note
from tensorfill.io.formats.tables import Sheet, Table, load_wide
from tensorfill.io.optional import attempt_import

UNPACKED = "what is in it, unpacked,"


@dataclass(frozen=True, eq=False)
class ArrowSheet:
    """An Arrow table as a `Sheet`: cells have the types of their columns."""

    table: Any

    @classmethod
    def of(cls, frame: Any, schema: Any) -> Self:
        """A table of pandas, its columns in the types of a schema as far as they can be; as they are if it is None."""
        import pyarrow as pa

        table = pa.Table.from_pandas(frame)
        for n, name in enumerate(table.column_names if schema is not None else ()):
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError):
                table = table.set_column(
                    n, schema.field(name).with_nullable(True), table[n].cast(schema.field(name).type)
                )
        return cls(table)

    @property
    def names(self) -> list[str]:
        return list(self.table.column_names)

    def cells(self, n: int) -> list[Any]:
        return list(self.table.column(n).to_pylist())

    labels = cells

    def numbers(self, n: int) -> tuple[Array, Array | None]:
        column = self.table.column(n)
        if not _is_number(column.type):
            msg = (
                f"its value column {self.names[n]!r} must hold numbers; got {column.type}. Choose another with --value."
            )
            raise FileError(msg)
        numbers, dtype = _numbers(column)
        known = _numbers(column.drop_null())[0]  # in floats large integers would have lost digits
        return numbers, None if dtype.kind == "f" else known.astype(dtype)

    def take(self, rows: Array, other: Mapping[int, Array]) -> Self:
        """These rows, null for -1; of some columns (by their place) `other` ones."""
        import pyarrow as pa

        columns = []
        for n, column in enumerate(self.table.columns):
            at = other.get(n, rows)
            columns.append(column.take(pa.array(at, mask=at < 0)))  # a null takes a null
        kept = dict(self.table.schema.metadata or {})
        if b"pandas" in kept:  # an index by position would have another length
            notes = json.loads(kept[b"pandas"])
            notes["index_columns"] = [i for i in notes.get("index_columns", []) if not isinstance(i, dict)]
            kept[b"pandas"] = json.dumps(notes).encode()
        fields = [field.with_nullable(True) for field in self.table.schema]
        return replace(self, table=pa.table(columns, schema=pa.schema(fields, metadata=kept)))

    def fill(self, kind: str, answers: Mapping[int, tuple[Array, Array]], like: Loaded) -> Any:
        """A sheet for cells of that kind with the answers, as `Sheet.fill` has them."""
        import pyarrow as pa

        if kind != "arrow":
            sheet = Sheet(self.table.column_names, [column.to_pylist() for column in self.table.columns], "values")
            return sheet.fill(kind, answers, like)
        table = self.table
        for n, (values, same) in answers.items():
            field = table.schema.field(n)
            if like.extra.get("floating") and not pa.types.is_floating(field.type):
                field = field.with_type(pa.from_numpy_dtype(like.dtype))
            # each column in its own type, also where a matrix had to take a wider one
            column = _column(values, field.type, table.column(n), same)
            table = table.set_column(n, field.with_nullable(True), column)
        return replace(self, table=table)


class ArrowTable(Table):
    """Tables that Arrow reads and writes."""

    options = frozenset({"value"})
    cells = "arrow"

    def save(self, pa: Any, out: Any, table: Any) -> None:
        """Write an Arrow table to an open stream of Arrow's."""
        raise NotImplementedError

    def open(self, request: Request) -> tuple[Any, dict[str, Any]]:
        long = _is_long(request)
        pa = attempt_import("pyarrow", f"reading {self.name.title()}", "parquet")
        with pa.ipc.open_stream(pa.py_buffer(read_isolated(self.name, request, kind=self.name, long=long))) as stream:
            table = stream.read_all()
        if len(table) == 0:
            msg = "it holds no rows."
            raise FileError(msg)
        return table, {}

    def read(self, request: Request) -> Loaded:
        table, _ = self.open(request)
        loaded = read_long(ArrowSheet(table), request, first_row=1) if _is_long(request) else _read_wide(table)
        return replace(loaded, format=self.name)

    def send(self, sink: IO[bytes], sheet: Any, like: Loaded) -> None:
        pa = attempt_import("pyarrow", f"writing {self.name.title()}", "parquet")
        out = pa.BufferOutputStream()
        self.save(pa, out, sheet.table if isinstance(sheet, ArrowSheet) else _new_table(pa, sheet))
        sink.write(out.getvalue())


@FORMATS.register("parquet")
class Parquet(ArrowTable):
    """Apache Parquet."""

    title = "a Parquet table"
    description = "table: long form with --dims a,b,c --value v, or wide form (a matrix); needs pyarrow"
    endings = (".parquet", ".pq")
    magic = (b"PAR1",)

    def save(self, pa: Any, out: Any, table: Any) -> None:
        attempt_import("pyarrow.parquet", "writing Parquet", "parquet").write_table(table, out)


@FORMATS.register("feather")
class Feather(ArrowTable):
    """Feather, version 2: a file of Arrow's."""

    title = "a Feather table"
    description = "the same as parquet, in Arrow's own form; needs pyarrow"
    endings = (".feather", ".arrow", ".ipc")
    magic = (b"ARROW1",)

    def save(self, pa: Any, out: Any, table: Any) -> None:
        with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as file:
            file.write_table(table)


@task("parquet", "pyarrow.compute", "pyarrow.parquet")
@task("feather", "pyarrow.compute", "pyarrow.parquet")
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
    try:
        table.validate(full=True)  # does anything in it point outside of it? Arrow looks only when asked
    except ValueError as error:
        msg = f"it is damaged: {' '.join(str(error).split()).rstrip('.')}."
        raise FileError(msg) from error
    for column in table.columns:
        if pa.types.is_dictionary(column.type):  # is there room for labels once every row has its own?
            ask(2 * column.cast(column.type.value_type).nbytes, "the text in it, row by row,")
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue().to_pybytes()


def _is_long(request: Request) -> bool:
    return request.dims is not None or request.value is not None


def _ask_table(rows: int, columns: int, long: bool) -> None:
    """Refuse a table that takes too much memory; labels of a long one are Python objects of about 100 bytes."""
    ask(rows * columns * (100 if long else 24), f"a table of {rows:,} rows and {columns} columns")


def _is_number(kind: Any) -> bool:
    import pyarrow.types as t

    kind = kind.value_type if t.is_dictionary(kind) else kind
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


def _column(values: Array, kind: Any, before: Any, same: Array) -> Any:
    """Answers as a column of that type; where they are those of the cells, these stay, to the last digit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(kind):
        return _column(values, kind.value_type, before, same).dictionary_encode().cast(kind)
    if pa.types.is_decimal(kind):
        digits = [None if x != x else round(Decimal(repr(x)), kind.scale) for x in values.tolist()]
        return pc.if_else(pa.array(same), before, pa.array(digits, kind))
    known, dtype = _numbers(before)
    typed = paste(cast(values, dtype), values, known) if np.dtype(kind.to_pandas_dtype()) == dtype else values
    return pa.array(typed, from_pandas=True).cast(kind, safe=False)  # NaN is null


def _new_table(pa: Any, sheet: Sheet) -> Any:
    """An Arrow table of a sheet from elsewhere; what is of several types in one column becomes text."""
    columns = []
    for cells in sheet.columns:
        if sheet.kind == "text" and cells.dtype == object:
            cells = [cell or None for cell in cells]
        try:
            columns.append(pa.array(cells, from_pandas=True))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns.append(pa.array(list(map(to_text, cells))))
    names = [to_text(name) for name in sheet.header] or list(map(str, range(len(columns))))
    return pa.table(columns, names=names)


# --- reading ------------------------------------------------------------------------------------------------------


def _read_wide(table: Any) -> Loaded:
    notes = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    index = [i for i in notes.get("index_columns", []) if isinstance(i, str)]
    names = table.column_names
    kept = [n for n, f in enumerate(table.schema) if _is_number(f.type) and f.name not in index]
    if not kept:
        msg = f"none of its columns holds numbers; it has {', '.join(names) or 'no columns'}."
        raise FileError(msg)
    note = None
    if len(kept) > 1 and kept[0] == 0:  # a column of numbers before all others: an index?
        first, *rest = (map(to_text, table.column(n).to_pylist()) for n in kept)
        note = label_note(names[0], list(first), map(list, rest))
        kept = kept if note is None else kept[1:]
    columns, dtypes = zip(*(_numbers(table.column(n)) for n in kept), strict=True)
    others = [n for n in range(len(names)) if n not in kept]
    kinds = {n: None if names[n] in index else f" ({table.schema.field(n).type})" for n in others}
    values = np.stack(columns, axis=1)  # of the widest type, float64 where anything is null
    told = [] if note is None else [note]
    loaded = load_wide(ArrowSheet(table), kept, others, (values, None, values), told, kinds)
    return replace(loaded, dtype=np.result_type(*dtypes))
