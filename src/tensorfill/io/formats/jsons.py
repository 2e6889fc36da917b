"""JSON: a list of records, or lists by column, which are tables as in csv; null is missing."""

from __future__ import annotations

import json
from typing import IO, Any

from tensorfill.io.formats.base import FORMATS, FileError, Loaded, Request
from tensorfill.io.formats.cells import to_text
from tensorfill.io.formats.tables import Cells, Sheet, Table


@FORMATS.register("json")
class JSON(Table):
    """JSON tables."""

    title = "a JSON file"
    description = "table as csv: a list of records, or lists by column (null = missing)"
    endings = (".json",)
    text = True
    cells = "values"
    cost = 30.0  # as of csv

    @classmethod
    def begins(cls, head: bytes) -> bool:
        return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"[", b"{"))

    def open(self, request: Request) -> tuple[Any, dict[str, Any]]:
        found = _parse(request.bytes())
        return _rows(found), {"records": isinstance(found, list)}

    def send(self, sink: IO[bytes], sheet: Sheet, like: Loaded) -> None:
        rows = sheet.values()
        header = list(map(to_text, sheet.header)) or [f"column {n + 1}" for n in range(len(sheet.columns))]
        twice = [name for k, name in enumerate(header) if name in header[:k]]
        if twice:
            msg = f"JSON keeps columns by their names, and {twice[0]!r} is there twice; rename one, or write .csv."
            raise FileError(msg)
        body = [
            [x if isinstance(x, bool | int | float) or x is None else str(x) for x in row]
            for row in rows[len(sheet.header) > 0 :]
        ]
        if like.format == "json" and not like.extra.get("records", True):
            _dump(sink, {name: [row[n] for row in body] for n, name in enumerate(header)})
        else:
            _dump(sink, [dict(zip(header, row, strict=True)) for row in body])


def _parse(data: bytes) -> Any:
    """What JSON says."""
    try:
        found = json.loads(data)
        if b"\\ud" in data.lower():  # half of a character, which no file can hold as text
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start : error.end])
        msg = f"its keys and labels must be text; got half a character, {half}. Correct it where it was made."
        raise FileError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"it is not valid JSON ({error})."
        raise FileError(msg) from error
    return found


def _dump(sink: IO[bytes], value: Any) -> None:
    sink.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _rows(found: Any) -> Cells:
    """A table, its header first, of a list of records, or of lists by column."""
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        names = list(dict.fromkeys(name for row in found for name in row))
        rows = [names, *([row.get(name) for name in names] for row in found)]
    elif isinstance(found, dict) and found and all(isinstance(column, list) for column in found.values()):
        lengths = sorted({len(column) for column in found.values()})
        if len(lengths) > 1:
            msg = f"its columns must be of one length; got {', '.join(map(str, lengths))}."
            raise FileError(msg)
        rows = [list(found), *map(list, zip(*found.values(), strict=True))]
    else:
        msg = "it must be a table: a list of records, or lists by column; write arrays as .npy."
        raise FileError(msg)
    for k, row in enumerate(rows[1:]):
        for name, cell in zip(rows[0], row, strict=True):
            if isinstance(cell, list | dict):
                msg = f"{name!r} of record {k + 1} is a list or an object, and a table holds numbers and text."
                raise FileError(msg)
    return rows
