"""CSV and TSV tables, in long form (`dims` named) or wide form (a matrix), with the standard library only.

Wide: the first row is a header if any of its cells is not a number, or if it counts (2005,2006,2007,...); the first
column holds row labels if any of its cells is not a number, if its header is blank, if it counts (0,1,2,...), or if it
is called id and its numbers differ. Further columns of text, under a header, are carried along; where one of them holds
dates that rise, or tells apart rows that the first column does not, it is the one of the labels. Blank cells, NaN, NA,
null, dashes and ? are missing. If every number is written without a point or exponent the table is one of integers, and
so is the answer; if all values are yes and no, or true and false, so is the answer. Cells that were read are written
back character for character; in long form further columns are kept, and blank in new rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import IO, Any, ClassVar

import numpy as np

from tensorfill.data.coordinates import match_rows
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request, texts
from tensorfill.io.formats.cells import COMMA, OPPOSITE, Notation
from tensorfill.io.formats.long import (
    all_rows,
    dim_labels,
    dim_names,
    encode,
    load_long,
    pick_columns,
    writes_long,
)
from tensorfill.io.formats.names import first_mode, header_note, label_column, label_note
from tensorfill.io.formats.separated import GUESSED, WINDOWS, read_rows


@FORMATS.register("csv")
class CSV(Format):
    """Comma, semicolon or tab separated values in UTF-8, UTF-16 or, where it is neither, Windows-1252."""

    title = "a CSV table"
    description = "table: long form with --dims a,b,c --value v, or wide form (a matrix); may be gzipped"
    endings = (".csv",)
    text = True
    cost = 30.0  # a short text is an object of 50 bytes and more to Python
    options = frozenset({"value", "missing_value"})
    delimiter: ClassVar[str] = ","  # of a new table; one that was read keeps its own

    def read(self, request: Request) -> Loaded:
        rows, style = read_rows(request.bytes())
        long = request.dims is not None or request.value is not None
        loaded = (read_long if long else read_wide)(rows, style, request)
        notes = (GUESSED,) if style["encoding"] == WINDOWS else ()
        return replace(loaded, format=self.name, notes=(*loaded.notes, *notes))

    def columns(self, request: Request) -> dict[str, list[str]]:
        rows, _ = read_rows(request.bytes())
        return {name.strip(): list(cells) for name, *cells in zip(*rows, strict=True)}

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        if writes_long(like):
            where = all_rows(like)
            self.write_rows(sink, where, array[tuple(where.T)], like)
        else:
            self._write(sink, wide_rows(array, like), like)

    def write_rows(self, sink: IO[bytes], indices: Array, values: Array, like: Loaded) -> None:
        self._write(sink, long_rows(indices, values, like), like)

    def _style(self, like: Loaded) -> dict[str, Any]:
        """How to write: as it was, or in a new table with semicolons where numbers have commas."""
        if like.format == self.name:
            return like.extra["style"]
        comma = getattr(like.extra.get("notation"), "comma", False)
        return {"delimiter": ";" if comma and self.delimiter == "," else self.delimiter, "lineterminator": "\n"}

    def _write(self, sink: IO[bytes], rows: Iterable[Sequence[str]], like: Loaded) -> None:
        style = {"encoding": "utf-8", **self._style(like)}
        with io.TextIOWrapper(io.BytesIO(), encoding=style.pop("encoding"), newline="") as text:
            text.write(style.pop("preface", ""))
            csv.writer(text, **style).writerows(rows)
            text.flush()
            sink.write(text.buffer.getbuffer())


@FORMATS.register("tsv")
class TSV(CSV):
    """The same with tabs."""

    title = "a TSV table"
    description = "the same as csv, separated by tabs"
    endings = (".tsv",)
    delimiter = "\t"


# --- long form ----------------------------------------------------------------------------------------------------


def read_long(rows: list[list[str]], style: dict[str, Any], request: Request) -> Loaded:
    """One row per known entry."""
    header, body = [cell.strip() for cell in rows[0]], rows[1:]
    dims, value = pick_columns(header, request)
    if not body:
        msg = "it has a header but no rows."
        raise FileError(msg)
    axes = []
    for d in dims:
        at = header.index(d)
        labels = [row[at].strip() for row in body]
        if "" in labels:
            msg = f"row {labels.index('') + 2} has no label in column {d!r}; name it, or leave that row out."
            raise FileError(msg)
        axes.append(encode(labels))
    if request.listing:
        return load_long("csv", dims, axes, np.zeros(len(body)), {}, first_row=2)
    at = header.index(value)
    cells = [row[at] for row in body]
    notation = Notation.of(cells, request.missing_value, style.get("delimiter", ","))
    values = notation.column(cells, "", (f"row {k + 2}, column {value!r}" for k in range(len(cells))))
    own = {"rows": body, "header": rows[0], "at": at, "style": style, "numbers": values, "notation": notation}
    loaded = load_long("csv", dims, axes, values, {**own, "name": value}, first_row=2)
    return _as_whole(loaded, cells)


def _as_whole(loaded: Loaded, cells: Sequence[str]) -> Loaded:
    """Integers or words with gaps, as what they are: what was read can be written, in any format."""
    exact = loaded.extra["notation"].exact(cells) if loaded.dtype.kind == "f" else None
    if exact is None:
        return loaded
    if loaded.values is None:
        return replace(loaded, dtype=exact.dtype, values_coo=exact)
    known = ~np.isnan(loaded.values)
    values = np.zeros(loaded.shape, dtype=exact.dtype)
    values[known] = exact
    return replace(loaded, dtype=exact.dtype, values=values, mask=known)


def long_rows(indices: Array, values: Array, like: Loaded) -> Iterable[list[str]]:
    """The rows of single entries, header first."""
    labels = [[str(x) for x in axis] for axis in dim_labels(like)]
    own = "header" in like.extra  # it came from such a table
    header = list(like.extra["header"]) if own else [*dim_names(like), str(like.extra.get("name") or "value")]
    plain = [cell.strip() for cell in header]
    places = [plain.index(d) for d in dim_names(like)]
    at = like.extra["at"] if own else len(header) - 1
    before = match_rows(like.extra["codes"], indices, like.shape) if own else np.full(len(indices), -1)
    same = np.zeros(len(indices), dtype=bool)
    notation = like.extra.get("notation", Notation())
    if own and notation.keeps(values):
        same = (before >= 0) & (like.extra["numbers"][before] == values)  # the very characters that were read
    yield header
    new = _answers(values, [row[at] for row in like.extra["rows"]], like) if own else notation.texts(values)
    for index, row, text, kept in zip(indices.tolist(), before.tolist(), new, same.tolist(), strict=True):
        if kept:
            yield like.extra["rows"][row]
            continue
        if row >= 0:
            cells = list(like.extra["rows"][row])
        else:
            cells = [""] * len(header)
            for place, axis, k in zip(places, labels, index, strict=True):
                cells[place] = axis[k]
        cells[at] = text
        yield cells


def _answers(values: Array, cells: Sequence[str], like: Loaded) -> Iterable[str]:
    """Answers (n,) as texts; in a file of text with as many digits as the cells of their column have."""
    notation, plain = like.extra["notation"], like.extra.get("floating") or not like.extra["style"]
    return notation.texts(values) if plain else notation.like(cells, values)


# --- wide form ----------------------------------------------------------------------------------------------------


def read_wide(rows: list[list[str]], style: dict[str, Any], request: Request) -> Loaded:
    """A matrix."""
    between = style.get("delimiter", ",")
    notation = Notation.of((cell for row in rows[1:] for cell in row[1:]), request.missing_value, between)
    notes: list[str | None] = []
    top = int(any(notation.number(cell) is None for cell in rows[0]))
    if not top:
        notes.append(header_note(rows))
        top = int(notes[0] is not None)
    body, corner = rows[top:], rows[0][0].strip() if top else ""
    left = int((top and corner == "") or any(notation.number(row[0]) is None for row in body))
    if not left and body and len(rows[0]) > 1:
        first, *others = zip(*body, strict=True)
        notes.append(label_note(corner, first, others, notation))
        left = int(notes[-1] is not None)
    beside = _columns_of_text(body, left, notation.missing) if top else []
    kept = [n for n in range(left, len(rows[0])) if n not in beside]
    cells = [row[n] for row in body for n in kept]
    if not cells:
        msg = "it holds no numbers, only a header."
        raise FileError(msg)
    if beside:
        notation = Notation.of(cells, request.missing_value, between)
    width = len(kept)
    names = (f"row {k // width + top + 1}, column {kept[k % width] + 1}" for k in range(len(cells)))
    where = ", and a matrix holds numbers only; for one row per entry name its columns: --dims a,b,c --value v"
    values = notation.column(cells, where, names).reshape(len(body), width)
    at = label_column({n: [row[n].strip() for row in body] for n in [*range(left), *beside]})
    dims = ("row" if at is None else first_mode(rows[0][at].strip() if top else ""), "column")
    labels: dict[str, list[Any]] = {}
    if at is not None:
        labels[dims[0]] = [row[at] for row in body]
    if top:
        labels["column"] = [rows[0][n] for n in kept]
    notes.append(_left_alone(rows[0], body, [n for n in [*range(left), *beside] if n != at]) if top else None)
    loaded = Loaded(
        format="csv",
        shape=values.shape,
        dtype=values.dtype,
        values=values,
        dims=dims,
        labels=labels or None,
        notes=tuple(note for note in notes if note),
        extra={"form": "wide", "style": style, "rows": rows, "top": top, "kept": kept, "notation": notation},
    )
    return _as_whole(loaded, cells)


def _columns_of_text(body: list[list[str]], left: int, missing: frozenset[str]) -> list[int]:
    """The places, from `left` on, of columns that hold text and no number, beside columns of numbers. Where there are
    none of these, columns of yes and no are the data.
    """
    text, words, numbers = [], [], []
    plain = Notation(missing)
    for n in range(left, len(body[0]) if body else 0):
        known = [cell.strip() for cell in (row[n] for row in body) if cell.strip().lower() not in missing]
        if not known or any(plain.number(cell) is not None or COMMA.fullmatch(cell) for cell in known):
            numbers += [n] * bool(known)
        elif all(cell.lower() in OPPOSITE for cell in known):
            words.append(n)
        else:
            text.append(n)
    if numbers:
        return sorted([*text, *words])
    return text if words else []


def _left_alone(header: list[str], body: list[list[str]], places: Sequence[int]) -> str | None:
    """A note about the columns at these places, which are neither numbers nor labels of rows."""
    names = [repr(header[n].strip()) for n in places if header[n].strip()]
    if not names:
        return None
    empty = sum(row[n].strip() == "" for row in body for n in places)
    if len(names) == 1:
        words, whose = f"column {names[0]} holds no numbers and is left as it is", "its"
    else:
        words, whose = f"columns {', '.join(names)} hold no numbers and are left as they are", "their"
    return f"{words}, {empty:,} of {whose} cells empty." if empty else f"{words}."


def wide_rows(array: Array, like: Loaded) -> Iterable[list[str]]:
    """The rows of a matrix, header first."""
    if "rows" in like.extra:  # it came from such a table
        top, kept, old = like.extra["top"], like.extra["kept"], like.extra["rows"]
        yield from old[:top]
        notation = like.extra["notation"]
        keep = notation.keeps(array)
        new = [list(_answers(x, [row[n] for row in old[top:]], like)) for n, x in zip(kept, array.T, strict=True)]
        for k, (row, values) in enumerate(zip(old[top:], array.tolist(), strict=True)):
            cells = list(row)
            for n, value, column in zip(kept, values, new, strict=True):
                if not (keep and notation.number(row[n]) == value):
                    cells[n] = column[k]
            yield cells
        return
    names, known = dim_names(like), like.labels or {}
    rows, columns = known.get(names[0]), known.get(names[1])
    if columns is not None:
        corner = "" if names[0] == "row" else names[0]
        yield ([corner] if rows is not None else []) + [str(c) for c in columns]
    for k, values in enumerate(array):
        yield ([str(rows[k])] if rows is not None else []) + list(texts(values))
