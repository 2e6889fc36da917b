"""Tables, in long form (`dims` named) or wide form (a matrix), from whatever file: read, and filled.

Wide: the first row is a header if any of its cells is not a number, or if it counts (2005,2006,2007,...); the first
column holds row labels if any of its cells is not a number, if its header is blank, if it counts (0,1,2,...), or if it
is called id and its numbers differ. Further columns of text, under a header, are carried along; where one of them holds
dates that rise, or tells apart rows that the first column does not, it is the one of the labels. Blank cells, NaN, NA,
null, dashes and ? are missing. If every number is written without a point or exponent the table is one of integers, and
so is the answer; if all values are yes and no, or true and false, so is the answer. Cells that were read are written
back as they were; in long form further columns are kept, and blank in new rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import IO, Any, ClassVar, Self

import numpy as np

from tensorfill.data.coordinates import match_rows
from tensorfill.io.formats.base import Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.cells import COMMA, OPPOSITE, Notation, to_text, to_value, to_values
from tensorfill.io.formats.long import (
    all_rows,
    dim_labels,
    dim_names,
    pick_columns,
    read_long,
    writes_long,
)
from tensorfill.io.formats.names import first_mode, header_note, ignored_columns_note, label_column, label_note

Cells = list[list[Any]]
PLAIN = Notation()


@dataclass(frozen=True, eq=False)
class Sheet:
    """The cells of a table by columns, (rows,) each.

    Attributes
    ----------
    header : the cells above the columns; empty where there is no header
    kind : what the cells are: "text", "values" (numbers, dates, text, None), or "labels" of what was no such table;
        columns of answers may be arrays of numbers
    """

    header: list[Any]
    columns: list[Any]
    kind: str = "labels"
    notation: Notation = PLAIN

    @property
    def names(self) -> list[str]:
        """The header as text."""
        return [to_text(cell).strip() for cell in self.header]

    def cells(self, n: int) -> list[Any]:
        """The cells of column n as text."""
        return [to_text(cell) for cell in self.columns[n]]

    def labels(self, n: int) -> list[str | None]:
        """The same without spaces, None where one is blank."""
        labels = [cell.strip() for cell in self.cells(n)]
        texts = {label for label, cell in zip(labels, self.columns[n], strict=True) if isinstance(cell, str)}
        others = {label for label, cell in zip(labels, self.columns[n], strict=True) if not isinstance(cell, str)}
        if both := texts & others - {""}:
            msg = f"column {self.names[n]!r} holds {min(both)} as a number and as text; write it in one way."
            raise FileError(msg)
        return [label or None for label in labels]

    def numbers(self, n: int) -> tuple[Array, Array | None]:
        """Column n as `Notation.numbers` has it."""
        cells, name = self.cells(n), self.names[n]
        return self.notation.numbers(cells, "", (f"row {k + 2}, column {name!r}" for k in range(len(cells))))

    def take(self, rows: Array, other: Mapping[int, Array]) -> Self:
        """These rows, blank for -1; of some columns (by their place) `other` ones."""
        blank = "" if self.kind == "text" else None
        columns = []
        for n, column in enumerate(self.columns):
            at = other.get(n, rows)
            columns.append(np.where(at >= 0, column[at], blank))
        return replace(self, columns=columns)

    def fill(self, kind: str, answers: Mapping[int, tuple[Array, Array]], like: Loaded) -> Sheet:
        """A sheet for cells of that kind with the answers, {place of a column: (values, which are those of the cell)}.
        Cells stay as they are where they are of this kind.
        """
        columns = list(self.columns)
        for n, (values, same) in answers.items():
            if kind not in (self.kind, "text"):
                columns[n] = values
                continue
            new: Any = self.notation.texts(values)
            if self.kind == "text" and not like.extra.get("floating"):
                new = self.notation.like(like.extra["sheet"].columns[n], values)
            new = np.array([*new] if kind == "text" else [*map(to_value, new)], dtype=object)
            # words for yes and no do not stay among fractions
            keep = kind == self.kind and (self.notation.words is None or values.dtype.kind == "b")
            columns[n] = np.where(same, columns[n], new) if keep else new
        return replace(self, columns=columns)

    def texts(self) -> Cells:
        """All rows as text, header first."""
        columns = [PLAIN.texts(c) if _typed(c) else c if self.kind == "text" else map(to_text, c) for c in self.columns]
        rows = map(list, zip(*columns, strict=True))
        return [*([[to_text(cell) for cell in self.header]] if self.header else []), *rows]

    def values(self) -> Cells:
        """All rows as Python's own values, header first."""
        columns = [c if self.kind == "values" and not _typed(c) else to_values(c) for c in self.columns]
        header = self.header if self.kind == "values" else [to_text(cell) or None for cell in self.header]
        return [*([header] if self.header else []), *map(list, zip(*columns, strict=True))]


def _typed(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype != object


class Table(Format):
    """A file with rows and columns."""

    options = frozenset({"value", "missing_value"})
    cells: ClassVar[str]  # what its cells are: "text", "values" or "arrow"

    def open(self, request: Request) -> tuple[Any, dict[str, Any]]:
        """(all rows, header first, or an Arrow table; what is needed to write the file in the same way)."""
        raise NotImplementedError

    def read(self, request: Request) -> Loaded:
        """In long form if dimensions or the column of values are named."""
        rows, extra = self.open(request)
        delimiter = extra["style"]["delimiter"] if self.cells == "text" else ","
        read = _read_wide if request.dims is None and request.value is None else _read_long
        loaded = read(rows, self.cells, delimiter, request)
        return replace(loaded, format=self.name, extra={**loaded.extra, **extra})

    def send(self, sink: IO[bytes], sheet: Any, like: Loaded) -> None:
        """Write a sheet."""
        raise NotImplementedError

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        if writes_long(like):
            where = all_rows(like)
            self.send(sink, fill_long(where, array[tuple(where.T)], like, self.cells), like)
        else:
            self.send(sink, fill_wide(array, like, self.cells), like)


# --- long form ----------------------------------------------------------------------------------------------------


def _read_long(rows: Cells, kind: str, delimiter: str, request: Request) -> Loaded:
    """One row per known entry."""
    if len(rows) == 1:
        msg = "it has a header but no rows."
        raise FileError(msg)
    sheet = make_sheet(rows[0], rows[1:], kind)
    _, value = pick_columns(sheet.names, request)
    notation = Notation.of(sheet.cells(sheet.names.index(value)), request.missing_value, delimiter)
    return read_long(replace(sheet, notation=notation), request, first_row=2)


def make_sheet(header: list[Any], body: Cells, kind: str, notation: Notation = PLAIN) -> Sheet:
    """A sheet of rows; cells of any kind stay as they are."""
    cells = np.empty((len(body), len(header or body[0])), dtype=object)
    cells[:] = body
    return Sheet(header, list(cells.T), kind, notation)


def fill_long(indices: Array, values: Array, like: Loaded, kind: str) -> Any:
    """The sheet of single entries: indices (n, N), values (n,)."""
    if like.extra.get("form") != "long" or "sheet" not in like.extra:
        columns = []
        for n, axis in enumerate(dim_labels(like)):
            columns.append([axis[k] for k in indices[:, n]])
        return Sheet([*dim_names(like), str(like.extra.get("name") or "value")], [*columns, values])
    codes, at = like.extra["codes"], like.extra["at"]
    row = match_rows(codes, indices, like.shape)
    labels: dict[int, Array] = {}
    for n, place in enumerate(like.extra["places"]):  # a new row has the labels as they were first written
        first = np.full(like.shape[n], -1)
        known, at_row = np.unique(codes[:, n], return_index=True)
        first[known] = at_row
        labels[place] = np.where(row >= 0, row, first[indices[:, n]])
    sheet = like.extra["sheet"].take(row, labels)
    for n, place in enumerate(like.extra["places"]):  # steps to forecast are in no row
        if (new := labels[place] < 0).any():
            sheet.columns[place][new] = np.array(dim_labels(like)[n], dtype=object)[indices[new, n]]
    same = (row >= 0) & (like.extra["numbers"][row] == values)
    return sheet.fill(kind, {at: (values, same)}, like)


# --- wide form ----------------------------------------------------------------------------------------------------


def _read_wide(rows: Cells, kind: str, delimiter: str, request: Request) -> Loaded:
    """A matrix."""
    texts = rows if kind == "text" else [[to_text(cell) for cell in row] for row in rows]
    notation = Notation.of((cell for row in texts[1:] for cell in row[1:]), request.missing_value, delimiter)
    notes: list[str | None] = []
    top = int(any(notation.number(cell) is None for cell in texts[0]))
    if not top:
        notes.append(header_note(texts))
        top = int(notes[0] is not None)
    header = [cell.strip() for cell in texts[0]] if top else []
    body, columns = texts[top:], list(zip(*texts[top:], strict=True))
    left = int((top and header[0] == "") or any(notation.number(row[0]) is None for row in body))
    if not left and len(columns) > 1:
        notes.append(label_note(header[0] if top else "", columns[0], columns[1:], notation))
        left = int(notes[-1] is not None)
    beside = _columns_of_text(columns, left, notation.missing) if top else []
    kept = [n for n in range(left, len(texts[0])) if n not in beside]
    cells = [row[n] for row in body for n in kept]
    if not cells:
        msg = "it holds no numbers, only a header."
        raise FileError(msg)
    if beside:
        notation = Notation.of(cells, request.missing_value, delimiter)
    width = len(kept)
    names = (f"row {k // width + top + 1}, column {kept[k % width] + 1}" for k in range(len(cells)))
    where = ", and a matrix holds numbers only; for one row per entry name its columns: --dims a,b,c --value v"
    numbers, exact = notation.numbers(cells, where, names)
    values, mask = _dense(numbers, exact, (len(body), width))
    sheet = make_sheet(rows[0] if top else [], rows[top:], kind, notation)
    given = values, mask, numbers.reshape(values.shape)
    return load_wide(sheet, kept, [*range(left), *beside], given, [note for note in notes if note])


def load_wide(
    sheet: Any,
    kept: Sequence[int],
    others: Sequence[int],
    given: tuple[Array, Array | None, Array],
    notes: Sequence[str],
    kinds: Mapping[int, str | None] = MappingProxyType({}),
) -> Loaded:
    """A matrix from a table.

    Parameters
    ----------
    kept, others : places of the columns of numbers, and of those beside them
    given : values (rows, kept), mask or None, and numbers as floats with NaN, to see later which were answers
    kinds : what to say of columns beside behind their names; None to say nothing at all
    """
    labels, header = {n: sheet.cells(n) for n in others}, sheet.names
    beside = {n: [to_text(cell).strip() for cell in cells] for n, cells in labels.items()}
    at = label_column(beside)
    rows = "row" if at is None else first_mode(header[at] if header else "")
    found = {} if at is None else {rows: labels[at]}
    if header:
        found["column"] = [header[n] for n in kept]
    alone = [n for n in others if n != at and header and header[n] and kinds.get(n, "") is not None]
    empty = sum(cell == "" for n in alone for cell in beside[n])
    told = ignored_columns_note([f"{header[n]!r}{kinds.get(n, '')}" for n in alone], empty)
    values, mask, numbers = given
    return Loaded(
        format="",
        shape=values.shape,
        dtype=values.dtype,
        values=values,
        mask=mask,
        dims=(rows, "column"),
        labels=found or None,
        notes=(*notes, *told),
        extra={"form": "wide", "sheet": sheet, "kept": kept, "numbers": numbers},
    )


def _dense(numbers: Array, exact: Array | None, shape: tuple[int, ...]) -> tuple[Array, Array | None]:
    """(values, mask or None) of a matrix: bool or integers where all known cells are, else floats with NaN."""
    if exact is None:
        return numbers.reshape(shape), None
    known = ~np.isnan(numbers)
    values = np.zeros(len(numbers), dtype=exact.dtype)
    values[known] = exact
    return values.reshape(shape), None if known.all() else known.reshape(shape)


def _columns_of_text(columns: Sequence[Sequence[str]], left: int, missing: frozenset[str]) -> list[int]:
    """The places, from `left` on, of columns that hold text and no number, beside columns of numbers. Where there are
    none of these, columns of yes and no are the data.
    """
    text, words, numbers = [], [], []
    plain = Notation(missing)
    for n, column in enumerate(columns[left:], start=left):
        known = plain.known(column)
        if not known or any(plain.number(cell) is not None or COMMA.fullmatch(cell) for cell in known):
            numbers += [n] * bool(known)
        elif all(cell.lower() in OPPOSITE for cell in known):
            words.append(n)
        else:
            text.append(n)
    if numbers:
        return sorted([*text, *words])
    return text if words else []


def fill_wide(array: Array, like: Loaded, kind: str) -> Any:
    """The sheet of a matrix."""
    if "sheet" in like.extra:
        same = array == like.extra["numbers"]
        answers = {n: (array[:, k], same[:, k]) for k, n in enumerate(like.extra["kept"])}
        return like.extra["sheet"].fill(kind, answers, like)
    names, known = dim_names(like), like.labels or {}
    rows, columns = known.get(names[0]), known.get(names[1])
    corner = [] if rows is None else ["" if names[0] == "row" else names[0]]
    return Sheet([] if columns is None else [*corner, *columns], [*([] if rows is None else [rows]), *array.T])


def with_slices(loaded: Loaded, mode: int, take: Array, labels: Sequence[str] | None) -> dict[str, Any] | None:
    """What was read of a table of text, for other slices along `mode`: `take` says which old one each is, -1 for a new
    one. None for other files, and for new columns of a matrix.
    """
    own, sheet = loaded.extra, loaded.extra.get("sheet")
    if not isinstance(sheet, Sheet) or sheet.kind != "text" or labels is None:
        return None
    if own["form"] == "wide":
        if mode != 0:
            return None
        sheet = sheet.take(take, {})
        columns, old = [*sheet.columns], dim_labels(loaded)[0]
        place = next(n for n, cells in enumerate(own["sheet"].columns) if n not in own["kept"] and [*cells] == old)
        columns[place] = np.array(labels, dtype=object)
        numbers = np.where((take >= 0)[:, None], own["numbers"][take], np.nan)
        return {**own, "sheet": replace(sheet, columns=columns), "numbers": numbers}
    codes = own["codes"].copy()
    codes[:, mode] = np.flatnonzero(take >= 0)[codes[:, mode]]
    first = [*own["first"][:mode], np.arange(len(take)), *own["first"][mode + 1 :]]
    return {**own, "codes": codes, "first": first}
