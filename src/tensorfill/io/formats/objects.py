"""Tables whose cells are values, not text (Excel, JSON), by way of `tables`, which knows what is a header, a label, a
number and missing: cells go there as text, and what comes back unchanged is the cell that was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

from tensorfill.io.formats.base import Array, FileError, Loaded, Request
from tensorfill.io.formats.cells import COMMA, WHOLE
from tensorfill.io.formats.long import all_rows, dim_names, writes_long
from tensorfill.io.formats.tables import long_rows, read_long, read_wide, wide_rows

Rows = list[list[Any]]


def text_of(cell: Any) -> str:
    """A cell as a CSV table would have it."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime):
        return str(cell.date()) if cell.time() == time() and cell.tzinfo is None else str(cell)
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell)


def load_table(format: str, rows: Rows, request: Request, extra: dict[str, Any]) -> Loaded:
    """A table of values, its header first; long where dims or a value column are named, else a matrix."""
    texts = [[text_of(cell) for cell in row] for row in rows]
    long = request.dims is not None or request.value is not None
    loaded = (read_long if long else read_wide)(texts, {}, request)
    known: list[dict[str, Any]] = [{} for _ in texts[0]]
    for row, cells in zip(texts, rows, strict=True):
        for n, (text, cell) in enumerate(zip(row, cells, strict=True)):
            first = known[n].setdefault(text, cell)
            named = long and texts[0][n].strip() in (loaded.dims or ())
            if named and isinstance(first, str) is not isinstance(cell, str):
                msg = f"column {texts[0][n]!r} holds {text} as a number and as text; write it in one way."
                raise FileError(msg)
    return replace(loaded, format=format, extra={**loaded.extra, **extra, "known": known})


def table_of(array: Array, like: Loaded) -> Iterator[list[Any]]:
    """The rows of the completed table, header first."""
    if writes_long(like):
        where = all_rows(like)
        return rows_of(where, array[tuple(where.T)], like)
    return _values(wide_rows(array, like), like)


def rows_of(indices: Array, values: Array, like: Loaded) -> Iterator[list[Any]]:
    """The rows of single entries, header first."""
    return _values(long_rows(indices, values, like), like)


def _values(rows: Iterable[Sequence[str]], like: Loaded) -> Iterator[list[Any]]:
    """Texts as values again: the very cells that were read where they are the same, else numbers where the table has
    its values, and text where it has names.
    """
    known = like.extra.get("known")
    commas = known is None and getattr(like.extra.get("notation"), "comma", False)
    table = list(rows)
    top, places = _layout(like, len(table[0]))
    numbered = {n for n in range(len(table[0])) if n not in places and _all_plain(row[n] for row in table[top:])}
    for k, row in enumerate(table):
        cells: list[Any] = []
        for n, text in enumerate(row):
            if known is not None and text in known[n]:
                cells.append(known[n][text])
            elif k >= top and n in places:
                plain = text.replace(".", "").replace(",", ".") if commas and COMMA.fullmatch(text) else text
                cells.append(value_of(plain))
            else:
                cells.append(value_of(text) if k >= top and n in numbered else text or None)
        yield cells


def _layout(like: Loaded, width: int) -> tuple[int, set[int]]:
    """(rows of the header, columns that hold the values) of the table that `long_rows` or `wide_rows` gives."""
    if writes_long(like):
        return 1, {like.extra["at"] if "header" in like.extra else width - 1}
    if "rows" in like.extra:
        return like.extra["top"], set(like.extra["kept"])
    names, known = dim_names(like), like.labels or {}
    return int(names[1] in known), set(range(int(names[0] in known), width))


def _all_plain(cells: Iterable[str]) -> bool:
    """Are all of these numbers that are written as such a number is? 007 is not: it is a name."""
    return all(type(value := value_of(cell)) in (int, float) and str(value) == cell for cell in cells)


def value_of(text: str) -> Any:
    """A number, True or False where the text is one, None where it is blank, else the text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text) if text and "_" not in text else text or None
    except ValueError:
        return text
