"""Excel workbooks through openpyxl: one sheet (--variable), in long or wide form; all else in the book is kept."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import IO, Any

from tensorfill.data.memory import ask
from tensorfill.io.formats.arrays import choose
from tensorfill.io.formats.base import FORMATS, FileError, Loaded, Request
from tensorfill.io.formats.tables import Cells, Sheet, Table, read_cells
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

    def read(self, request: Request) -> Loaded:
        openpyxl = attempt_import("openpyxl", "reading Excel", "excel")
        data = request.bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            sheets = sum(entry.file_size for entry in archive.infolist() if "sheet" in entry.filename.lower())
            ask(CELL * sheets + sum(entry.file_size for entry in archive.infolist()), "what is in it, unpacked,")
        book = openpyxl.load_workbook(io.BytesIO(data), data_only=True, keep_links=False)
        filled = {s.title: f"({s.max_row} x {s.max_column})" for s in book.worksheets if s.max_row * s.max_column > 1}
        name = choose(filled, request.variable)
        rows, corner = _rows(book[name])
        extra = {"book": data, "page": name, "corner": corner, "name": name, "cells": rows}
        return replace(read_cells(rows, request, extra), format="xlsx")

    def send(self, sink: IO[bytes], sheet: Sheet, like: Loaded) -> None:
        openpyxl = attempt_import("openpyxl", "writing Excel", "excel")
        if like.format == "xlsx":
            book = openpyxl.load_workbook(io.BytesIO(like.extra["book"]), keep_links=False)
            page, (top, left), before = book[like.extra["page"]], like.extra["corner"], like.extra["cells"]
        else:
            book = openpyxl.Workbook()
            page, (top, left), before = book.active, (0, 0), []
        for k, row in enumerate(sheet.values()):
            for n, value in enumerate(row):
                if k < len(before) and type(before[k][n]) is type(value) and before[k][n] == value:
                    continue  # a formula whose value was read stays one
                place = page.cell(top + k + 1, left + n + 1)
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
