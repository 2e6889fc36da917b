"""JSON: nested lists with null where something is missing; the same under "values" with "dims" and "labels"; a list of
records, or lists by column, which are tables as in csv.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import IO, Any

import numpy as np

from tensorfill.data.exact import whole_numbers
from tensorfill.io.formats.base import FORMATS, Array, FileError, Loaded, Request
from tensorfill.io.formats.cells import to_python, to_text
from tensorfill.io.formats.long import dim_names
from tensorfill.io.formats.tables import Cells, Sheet, Table, read_cells

VALUES = "values"
KINDS = 'it must be nested lists, a list of records, lists by column, or {"values": nested lists}.'


@FORMATS.register("json")
class JSON(Table):
    """JSON arrays and tables."""

    title = "a JSON file"
    description = 'nested lists (null = missing), {"dims", "labels", "values"}, or a table of records or columns'
    endings = (".json",)
    text = True
    cells = "values"
    cost = 30.0  # as of csv

    @classmethod
    def begins(cls, head: bytes) -> bool:
        return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"[", b"{"))

    def open(self, request: Request) -> tuple[Any, dict[str, Any]]:
        found = _parse(request.bytes())
        rows = _rows(found)
        if rows is None:
            msg = "it holds an array, and no table of records or columns."
            raise FileError(msg)
        return rows, {"records": isinstance(found, list)}

    def read(self, request: Request) -> Loaded:
        found = _parse(request.bytes())
        rows = _rows(found)
        if rows is not None:
            return replace(read_cells(rows, request, {"records": isinstance(found, list)}), format="json")
        for option in ("value", "missing_value"):
            if getattr(request, option):
                msg = f"--{option.replace('_', '-')} {getattr(request, option)} is for tables, and it holds an array."
                raise FileError(msg)
        return _array(found)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        if like.format == "json" and "records" in like.extra:
            super().write(sink, array, like)
            return
        values = array.tolist()
        if array.dtype.kind == "f" and np.isnan(array).any():
            values = np.where(np.isnan(array), np.array(None), array.astype(object)).tolist()
        bare = like.format == "json" and like.extra["bare"]
        labels = {d: _labels(axis) for d, axis in (like.labels or {}).items()}
        kept = like.extra.get("document", {}) if like.format == "json" else {}
        document = {**kept, "dims": list(dim_names(like)), **({"labels": labels} if labels else {}), VALUES: values}
        _dump(sink, values if bare else document)

    def send(self, sink: IO[bytes], sheet: Sheet, like: Loaded) -> None:
        rows = sheet.values()
        header = [to_text(name) for name in rows[0]]
        twice = [name for k, name in enumerate(header) if name in header[:k]]
        if twice:
            msg = f"JSON keeps columns by their names, and {twice[0]!r} is there twice; rename one, or write .csv."
            raise FileError(msg)
        body = [_labels(row) for row in rows[1:]]
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


def _rows(found: Any) -> Cells | None:
    """A table, its header first, if it is one: a list of records, or lists by column."""
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        names = list(dict.fromkeys(name for row in found for name in row))
        rows = [names, *([row.get(name) for name in names] for row in found)]
    elif isinstance(found, dict) and found and VALUES not in found:
        if not all(isinstance(column, list) for column in found.values()):
            raise FileError(KINDS)
        lengths = sorted({len(column) for column in found.values()})
        if len(lengths) > 1:
            msg = f"its columns must be of one length; got {', '.join(map(str, lengths))}."
            raise FileError(msg)
        rows = [list(found), *map(list, zip(*found.values(), strict=True))]
    else:
        return None
    for k, row in enumerate(rows[1:]):
        for name, cell in zip(rows[0], row, strict=True):
            if isinstance(cell, list | dict):
                msg = f"{name!r} of record {k + 1} is a list or an object, and a table holds numbers and text."
                raise FileError(msg)
    return rows


def _array(found: Any) -> Loaded:
    bare = isinstance(found, list)
    nested = found if bare else found.get(VALUES) if isinstance(found, dict) else None
    if not isinstance(nested, list):
        raise FileError(KINDS)
    grid = np.array(nested, dtype=object)  # as deep as all lists are of one length
    first, *others = grid.ravel() if grid.size else [None]
    if isinstance(first, list):
        odd = next((x for x in others if not isinstance(x, list) or len(x) != len(first)), first)
        what = f"of length {len(odd)}" if isinstance(odd, list) else f"{odd!r}"
        msg = f"its lists at depth {grid.ndim + 1} must all be of length {len(first)}; one is {what}."
        raise FileError(msg)
    values, mask = _numbers(grid.ravel().tolist())
    shape = grid.shape
    rest = {} if bare else {k: v for k, v in found.items() if k not in (VALUES, "dims", "labels")}
    dims = None if bare or not found.get("dims") else tuple(map(str, found["dims"]))
    if dims is not None and (len(dims) != len(shape) or len(set(dims)) != len(dims)):
        msg = f'its "dims" must be {len(shape)} different names; got {", ".join(dims)}.'
        raise FileError(msg)
    labels = {} if bare else found.get("labels") or {}
    for d, n in zip(dims or (), shape, strict=False):
        if d in labels and not (isinstance(labels[d], list) and len(labels[d]) == n):
            msg = f'its "labels" of {d} must be a list of {n}.'
            raise FileError(msg)
    return Loaded(
        "json",
        shape,
        values.dtype,
        values.reshape(shape),
        None if mask is None else mask.reshape(shape),
        dims=dims,
        labels={d: labels[d] for d in dims or () if d in labels} or None,
        extra={"bare": bare, "document": rest},
    )


def _numbers(flat: list[Any]) -> tuple[Array, Array | None]:
    """(values, mask or None): bool or integers where all that is there is, else floats with NaN for null."""
    wrong = [x for x in flat if x is not None and not isinstance(x, int | float)]
    if wrong:
        msg = f"it must hold numbers and null; got {wrong[0]!r}."
        raise FileError(msg)
    there = [x for x in flat if x is not None]
    kinds = {type(x) for x in there}
    if kinds not in ({bool}, {int}):
        return np.array([np.nan if x is None else x for x in flat], dtype=np.float64), None
    try:
        known = np.array(there) if kinds == {bool} else whole_numbers([str(x) for x in there])
    except ValueError as error:
        raise FileError(str(error)) from error
    seen = np.array([x is not None for x in flat], dtype=bool)
    out = np.zeros(len(flat), dtype=known.dtype)
    out[seen] = known
    return out, None if seen.all() else seen


def _labels(labels: Iterable[Any]) -> list[Any]:
    """Labels or cells as JSON knows them."""
    return [x if x is None or isinstance(x, bool | int | float | str) else str(x) for x in map(to_python, labels)]
