"""Tables whose cells are values, not text (Excel, JSON), by way of `tables`, which knows what is a header, a label, a
number and missing: cells go there as text, and what comes back unchanged is the cell that was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

from tensorfill.data.formats.base import Array, Loaded, Request
from tensorfill.data.formats.cells import COMMA, OPPOSITE, TRUE, WHOLE
from tensorfill.data.formats.long import all_rows, writes_long
from tensorfill.data.formats.tables import long_rows, read_long, read_wide, wide_rows

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


def loaded_table(format: str, rows: Rows, request: Request, extra: dict[str, Any]) -> Loaded:
    """A table of values, its header first; long where dims or a value column are named, else a matrix."""
    texts = [[text_of(cell) for cell in row] for row in rows]
    long = request.dims is not None or request.value is not None
    loaded = (read_long if long else read_wide)(texts, {}, request)
    known: list[dict[str, Any]] = [{} for _ in texts[0]]
    for row, cells in zip(texts, rows, strict=True):
        for n, (text, cell) in enumerate(zip(row, cells, strict=True)):
            known[n].setdefault(text, cell)
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
    """Texts as values again: the very cells that were read where they are the same."""
    known = like.extra.get("known")
    commas = getattr(like.extra.get("notation"), "comma", False)
    for row in rows:
        if known is None and commas:
            row = [text.replace(".", "").replace(",", ".") if COMMA.fullmatch(text) else text for text in row]
        if known is None:
            yield [value_of(text) for text in row]
        else:
            yield [own[text] if text in own else value_of(text) for own, text in zip(known, row, strict=True)]


def value_of(text: str) -> Any:
    """A number, True or False where the text is one, None where it is blank, else the text."""
    if text.lower() in OPPOSITE and text.lower() in ("true", "false"):
        return text.lower() in TRUE
    if WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text) if text and "_" not in text else text or None
    except ValueError:
        return text
