"""CSV and TSV: text with separated cells, its encoding, what stands between the cells, and its rows."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from dataclasses import replace
from typing import IO, Any, ClassVar

from tensorfill.io.formats.base import FORMATS, FileError, Loaded, Request
from tensorfill.io.formats.cells import COMMA, MISSING
from tensorfill.io.formats.tables import Sheet, Table

WINDOWS = "cp1252"  # what spreadsheets in the west of Europe and in America save where they do not save Unicode
GUESSED = "the file is not UTF-8; its letters were read as Windows-1252 (cp1252). Save it as UTF-8 if they look wrong."
CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")  # in no text
SAMPLE = 100_000  # characters are enough to see what stands between the cells


@FORMATS.register("csv")
class CSV(Table):
    """Comma, semicolon or tab separated values in UTF-8, UTF-16 or, where it is neither, Windows-1252."""

    title = "a CSV table"
    description = "table: long form with --dims a,b,c --value v, or wide form (a matrix); may be gzipped"
    endings = (".csv",)
    text = True
    cells = "text"
    cost = 30.0  # a short text is an object of 50 bytes and more to Python
    delimiter: ClassVar[str] = ","  # of a new table; one that was read keeps its own

    def open(self, request: Request) -> tuple[Any, dict[str, Any]]:
        rows, style = read_rows(request.bytes())
        return rows, {"style": style}

    def read(self, request: Request) -> Loaded:
        loaded = super().read(request)
        guessed = loaded.extra["style"]["encoding"] == WINDOWS
        return replace(loaded, notes=(*loaded.notes, GUESSED)) if guessed else loaded

    def columns(self, request: Request) -> dict[str, list[str]]:
        rows, _ = read_rows(request.bytes())
        return {name.strip(): list(cells) for name, *cells in zip(*rows, strict=True)}

    def send(self, sink: IO[bytes], sheet: Sheet, like: Loaded) -> None:
        # a new table has semicolons where numbers have commas
        between = ";" if sheet.kind == "text" and sheet.notation.comma and self.delimiter == "," else self.delimiter
        style: dict[str, Any] = {"delimiter": between, "lineterminator": "\n"}
        style = dict(like.extra["style"]) if like.format == self.name else style
        encoding = style.pop("encoding", "utf-8")
        text = io.StringIO(newline="")
        text.write(style.pop("preface", ""))
        csv.writer(text, **style).writerows(sheet.texts())
        sink.write(text.getvalue().encode(encoding))


@FORMATS.register("tsv")
class TSV(CSV):
    """The same with tabs."""

    title = "a TSV table"
    description = "the same as csv, separated by tabs"
    endings = (".tsv",)
    delimiter = "\t"


def read_rows(data: bytes) -> tuple[list[list[str]], dict[str, Any]]:
    """All rows, and how they were separated."""
    text, encoding = _decode(data)
    preface, text = _preface(text)
    head = text.partition("\n")[0]
    style: dict[str, Any] = {
        "delimiter": _delimiter(text),
        "lineterminator": "\r\n" if head.endswith("\r") else "\n",
        "encoding": encoding,
        "preface": preface,
    }
    spaces = style["delimiter"] == " "
    lines = io.StringIO("\n".join(map(str.strip, text.splitlines())) if spaces else text, newline="")
    rows = [row for row in csv.reader(lines, delimiter=style["delimiter"], skipinitialspace=spaces) if row]
    if not rows:
        msg = "it holds no rows."
        raise FileError(msg)
    for k, row in enumerate(rows):
        if len(row) != len(rows[0]):
            cells = f"{len(row)} cell{'s' * (len(row) != 1)}"
            msg = f"row {k + 1} has {cells}, but row 1 has {len(rows[0])}. "
            msg += "Give each row as many, blank where one is missing."
            raise FileError(msg)
    if len(rows[0]) > 1 and not any(row[-1].strip() for row in rows):  # each row ends with a comma
        rows = [row[:-1] for row in rows]
    return rows, style


def _preface(text: str) -> tuple[str, str]:
    """(lines before the table that start with #, the rest): they are no part of it, unless they have as many cells."""
    lines = text.splitlines(keepends=True)
    first = next((k for k, line in enumerate(lines) if not line.startswith("#")), 0)
    between = _delimiter("".join(lines[first:]))
    if any(line.count(between) == lines[first].count(between) for line in lines[:first]):
        return "", text
    return "".join(lines[:first]), "".join(lines[first:])


def _decode(data: bytes) -> tuple[str, str]:
    """(the text, how it was encoded), to be written in the same way."""
    marks = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    encoding = next((name for mark, name in marks.items() if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError as error:
        if encoding == "utf-8" and not CONTROLS.search(data):
            with contextlib.suppress(UnicodeDecodeError):
                return data.decode(WINDOWS), WINDOWS
        msg = f"it is neither {encoding.upper()} nor {WINDOWS} text (byte {error.start}); save it as UTF-8."
        raise FileError(msg) from error


def _delimiter(text: str) -> str:
    """What stands between the cells: the most frequent of comma, semicolon, tab and bar in the first line, spaces where
    there is none; not a comma that is inside numbers (1,5;2,5).
    """
    first = text[:SAMPLE].splitlines()[:20]
    head = first[0] if first else ""
    best = max(",;\t|", key=head.count)  # the comma on a draw
    if best not in head and len({len(line.split()) for line in first if line.strip()} - {0, 1}) == 1:
        return " "  # columns of a text file
    for other in ";\t":
        if best == "," and other in head:
            cells = [cell.strip() for line in first for cell in line.split(other)]
            known = [cell for cell in cells if cell.lower() not in MISSING]
            if len({line.count(other) for line in first if line}) == 1 and any(map(COMMA.fullmatch, known)):
                plain = (cell for cell in known if "," in cell)
                best = other if all(map(COMMA.fullmatch, plain)) else best
    return best
