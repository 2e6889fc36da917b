"""FROSTT .tns: one line per known entry, its indices counted from 1, then its value; `#` starts a comment."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable
from typing import IO

import numpy as np

from tensorfill.data.coordinates import first_duplicate
from tensorfill.data.exact import EXACT, whole_numbers
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request, format_numbers

SHAPE = re.compile(rb"^#\s*shape:?\s+([\d ]+)$", re.MULTILINE)
CHUNK = 100_000  # lines written at a time


@FORMATS.register("tns")
class TNS(Format):
    """FROSTT coordinates. The shape is that of a comment `# shape I J K`, or else the largest index of each mode."""

    title = "a FROSTT .tns file"
    description = "coordinates: one line `i j k value` per known entry, counted from 1; may be gzipped"
    endings = (".tns",)
    text = True
    cost = 20.0  # eight bytes for each of its numbers, which may be one digit and a space; and copies to sort them

    def read(self, request: Request) -> Loaded:
        data = request.bytes()
        where, values = read_entries(io.BytesIO(data))
        twice = first_duplicate(where)
        if twice:
            lines = f"entries {twice[0] + 1} and {twice[1] + 1}"
            msg = f"the entry {_plain(where[twice[0]] + 1)} appears twice ({lines}); keep one of them."
            raise FileError(msg)
        shape = _shape(data, where)
        body = re.sub(rb"#[^\n]*", b"", data)
        if not re.search(rb"[.eEnN]", body):  # no point, no exponent, no nan: whole numbers, and so are the answers
            values = _whole(values, body)
        seen = ~np.isnan(values)
        return Loaded("tns", shape, values.dtype, indices=where[seen], values_coo=values[seen])

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        """One line for each value; what is missing is absent."""
        sink.write(f"# shape {' '.join(map(str, like.shape))}\n".encode())
        values = array.ravel()
        for start in range(0, len(values), CHUNK):
            flat = np.arange(start, min(start + CHUNK, len(values)))
            flat = flat[values[flat] == values[flat]]
            columns = [map(str, (column + 1).tolist()) for column in np.unravel_index(flat, array.shape)]
            rows = zip(*columns, format_numbers(values[flat]), strict=True)
            sink.write("".join(f"{' '.join(row)}\n" for row in rows).encode())


def read_entries(lines: Iterable[bytes], before: int = 0) -> tuple[Array, Array]:
    """(coordinates (nnz, N) from 0, exact up to 2^53; values (nnz,)) of lines that come after so many others."""
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # no data: said below, better
            table = np.loadtxt(lines, comments="#", ndmin=2, dtype=np.float64)
    except ValueError as error:
        msg = f"each line must be `i j k value`, all numbers, with the same count in every line ({error})."
        raise FileError(msg) from error
    if table.size == 0 or table.shape[1] < 3:
        msg = "each line must be `i j [k ...] value`: at least two indices and a value."
        raise FileError(msg)
    where = table[:, :-1].astype(np.int64)
    wrong = ((where != table[:, :-1]) | (where < 1)).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        msg = f"indices must be whole numbers from 1; got {_plain(table[row, :-1])} in entry {before + row + 1:,}."
        raise FileError(msg)
    return where - 1, table[:, -1]


def _whole(values: Array, body: bytes) -> Array:
    """The values as integers: read again from the text where they are too large for floats to be exact."""
    if np.abs(values).max() < EXACT:
        return values.astype(np.int64)
    try:
        return whole_numbers([line.split()[-1].decode() for line in body.splitlines() if line.strip()])
    except ValueError as error:
        raise FileError(str(error)) from error


def _shape(data: bytes, where: Array) -> tuple[int, ...]:
    largest = tuple(int(m) + 1 for m in where.max(axis=0))
    stated = SHAPE.search(data)
    if stated is None:
        return largest
    shape = tuple(int(n) for n in stated.group(1).split())
    if len(shape) != len(largest) or any(n < m for n, m in zip(shape, largest, strict=True)):
        msg = f"its comment says shape {shape}, but the largest indices are {largest}; correct the comment or drop it."
        raise FileError(msg)
    return shape


def _plain(row: Array) -> tuple[float, ...]:
    return tuple(int(i) if i == int(i) else float(i) for i in row)
