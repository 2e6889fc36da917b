"""What the pages of a Parquet file say they unpack to.

A page is unpacked into as much memory as its own header says, whatever the file's index says of its column. Headers and
index are in Thrift's compact protocol: https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Protocol

from tensorfill.data.formats.base import FileError

TAIL = struct.Struct("<I4s")  # length of the index, and the magic bytes, at the very end
# numbers of fields: of the index, of a group of rows, of a column in it, of what it says of that column, of a page
GROUPS, COLUMNS, ABOUT = 4, 1, 3
TOTAL, FIRST, WORDS = 7, 9, 11  # bytes of all pages, packed; where the first is; where that of the categories is
UNPACKED, PACKED = 2, 3
DEEPEST = 60  # things within things; here are five
MOST = 10**6  # pages: a terabyte in pages of the usual size
MOST_VALUES = 4 * 10**6  # in one struct: an index of a hundred columns in a thousand groups of rows
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


class Buffer(Protocol):
    """Bytes, or a file mapped into memory."""

    def __getitem__(self, at: Any) -> Any: ...

    def __len__(self) -> int: ...


class _Unreadable(Exception):
    """What was looked for is not here."""


def unpacked_pages(data: Buffer) -> Iterator[int]:
    """Bytes that each page of the file unpacks to, by the pages' headers. A column ends where there is no header, as
    nothing could be read beyond. Arrow's own way to the index is not taken: a damaged index may end the process.
    """
    seen = 0
    for at, end in _columns(data):
        while at < end:
            reader = _Reader(data, at)
            try:
                fields = reader.struct()
                packed, unpacked = int(fields[PACKED]), int(fields[UNPACKED])
            except (_Unreadable, LookupError, TypeError):
                break
            seen += 1
            if packed < 0 or unpacked < 0 or seen > MOST:
                raise _damaged()
            yield unpacked
            at = reader.at + packed


def _columns(data: Buffer) -> Iterator[tuple[int, int]]:
    """Where the pages of each column of each group of rows begin and end."""
    if len(data) < TAIL.size:
        return
    length, _ = TAIL.unpack(data[len(data) - TAIL.size : len(data)])
    try:
        index = _Reader(data, len(data) - TAIL.size - length).struct()
        for group in index[GROUPS]:
            for column in group[COLUMNS]:
                about = column[ABOUT]
                at = min(about[FIRST], about.get(WORDS) or about[FIRST])
                yield at, at + about[TOTAL]
    except (_Unreadable, LookupError, TypeError, AttributeError):  # Arrow will say so
        return


def _damaged() -> FileError:
    msg = "it is damaged: the headers of its pages cannot be right."
    return FileError(msg)


class _Reader:
    """Thrift's compact protocol: structs are dictionaries by the number of the field, what is no number is None."""

    def __init__(self, data: Buffer, at: int) -> None:
        self.data, self.at, self.count = data, at, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The struct that begins here."""
        out: dict[int, Any] = {}
        field = 0
        while (head := self._byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            out[field] = None if kind in (TRUE, FALSE) else self._value(kind, depth)  # of these the head says all
        return out

    def _byte(self) -> int:
        if not 0 <= self.at < len(self.data):
            raise _Unreadable
        self.at += 1
        return int(self.data[self.at - 1])

    def _varint(self) -> int:
        out = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            out |= (byte & 127) << shift
            if byte < 128:
                return out
        raise _Unreadable

    def _signed(self) -> int:
        n = self._varint()
        return (n >> 1) ^ -(n & 1)

    def _value(self, kind: int, depth: int) -> Any:
        self.count += 1
        if depth > DEEPEST or self.count > MOST_VALUES:
            raise _damaged()
        if kind in (I16, I32, I64):
            return self._signed()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind == MAP:
            count = self._varint()
            head = self._byte() if count else 0
            return [self._value(side, depth + 1) for _ in range(count) for side in (head >> 4, head & 15)]
        lengths = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}
        if kind not in lengths and kind != BINARY:
            raise _Unreadable
        length = lengths.get(kind) or self._varint()
        self.at += length
        if self.at > len(self.data):
            raise _Unreadable
        return None
