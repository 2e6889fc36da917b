"""Excel workbooks through openpyxl: one sheet (--variable), in long or wide form; all else in the book is kept."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import IO, Any

from tensorfill.data.memory import ask
from tensorfill.io.formats.arrays import choose_variable
from tensorfill.io.formats.base import FORMATS, FileError, Loaded, Request
from tensorfill.io.formats.tables import Cells, Sheet, Table
from tensorfill.io.optional import attempt_import

CELL = 50  # bytes of memory for each byte of a sheet, unpacked: a cell is an object of several hundred bytes


@FORMATS.register("xlsx")
class XLSX(Table):
    """Excel workbooks."""

    title = "an Excel workbook"
    description = "a sheet by name (--variable) as a table like csv; other sheets and formats kept; needs openpyxl"
    endings = (".xlsx", ".xlsm")
    magic = (b"PK\x03\x04",)
    cells = "values"
    options = frozenset({"value", "variable", "missing_value"})

    @classmethod
    def begins(cls, head: bytes) -> bool:
        return super().begins(head) and (b"[Content_Types].xml" in head or b"xl/" in head or b"docProps/" in head)

    def open(self, request: Request) -> tuple[Any, dict[str, Any]]:
        extra = read_sheet(request.bytes(), request.variable)
        return extra["cells"], extra

    def send(self, sink: IO[bytes], sheet: Sheet, like: Loaded) -> None:
        write_sheet(sink, sheet.values(), like.extra if like.format == "xlsx" else {})


def read_sheet(data: bytes, name: str | None = None) -> dict[str, Any]:
    """The cells of a sheet of a workbook, and what `write_sheet` needs to write it back into its book."""
    openpyxl = attempt_import("openpyxl", "reading Excel", "excel")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = sum(entry.file_size for entry in archive.infolist() if "sheet" in entry.filename.lower())
        ask(CELL * sheets + sum(entry.file_size for entry in archive.infolist()), "what is in it, unpacked,")
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True, keep_links=False)
    filled = {s.title: f"({s.max_row} x {s.max_column})" for s in book.worksheets if s.max_row * s.max_column > 1}
    name = choose_variable(filled, name)
    rows, corner = _rows(book[name])
    return {"book": data, "page": name, "corner": corner, "name": name, "cells": rows}


def _rows(sheet: Any) -> tuple[Cells, tuple[int, int]]:
    """The table in a sheet: what lies between its first and last cells with something in them, and where it starts."""
    ask(300 * sheet.max_row * sheet.max_column, f"a sheet of {sheet.max_row} x {sheet.max_column} cells")
    cells = [list(row) for row in sheet.iter_rows(values_only=True)]
    down = [k for k, row in enumerate(cells) if any(cell is not None for cell in row)]
    across = [n for n in range(len(cells[0])) if any(row[n] is not None for row in cells)] if cells else []
    if not down or not across:
        msg = f"its sheet {sheet.title!r} is empty."
        raise FileError(msg)
    for area in sheet.merged_cells.ranges:
        if area.max_row > down[0] and area.max_col > across[0]:
            msg = f"cells {area.coord} of its sheet {sheet.title!r} are merged, and each cell of a table holds one "
            msg += "value. Unmerge them, and name what each row and column is."
            raise FileError(msg)
    return [cells[k][across[0] : across[-1] + 1] for k in range(down[0], down[-1] + 1)], (down[0], across[0])


def write_sheet(sink: IO[bytes], rows: Any, own: Mapping[str, Any]) -> None:
    """Write rows into a new workbook, or into the one that `read_sheet` read: text is never a formula."""
    openpyxl = attempt_import("openpyxl", "writing Excel", "excel")
    if own:
        book = openpyxl.load_workbook(io.BytesIO(own["book"]), keep_links=False)
        sheet, (top, left) = book[own["page"]], own["corner"]
    else:
        book = openpyxl.Workbook()
        sheet, (top, left) = book.active, (0, 0)
    before = own.get("cells", [])
    for k, row in enumerate(rows):
        for n, value in enumerate(row):
            if k < len(before) and _same(before[k][n], value):
                continue  # a formula whose value was read stays one
            place = sheet.cell(top + k + 1, left + n + 1)
            place.value = value
            if isinstance(value, str):
                place.data_type = "s"  # also what starts like a formula
            if isinstance(value, float):
                place._value = repr(value)  # else openpyxl writes 16 digits, and some numbers need 17
    out = io.BytesIO()
    try:
        book.save(out)
    except (ValueError, TypeError) as error:
        msg = f"Excel cannot hold these values ({error}); write .csv or .parquet instead."
        raise FileError(msg) from error
    sink.write(out.getbuffer())


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)
