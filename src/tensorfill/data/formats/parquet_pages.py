"""What the pages of a Parquet file say they unpack to.

A page is unpacked into as much memory as its own header says, whatever the file's index says of its column. Headers are
in Thrift's compact protocol: https://parquet.apache.org/docs/file-format/data-pages/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from tensorfill.data.formats.base import FileError

UNPACKED, PACKED = 2, 3  # fields of a PageHeader: its sizes
DEEPEST = 60  # things within things; headers have three
MOST = 10**6  # pages: a terabyte in pages of the usual size
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


class Buffer(Protocol):
    """Bytes, or a file mapped into memory."""

    def __getitem__(self, at: Any) -> Any: ...

    def __len__(self) -> int: ...


class _NoHeader(Exception):
    """There is no header here."""


def unpacked_pages(data: Buffer, notes: Any) -> Iterator[int]:
    """Bytes that each page of the file unpacks to, by what it says; `notes` are the file's own, as Arrow gives them. A
    column ends where no header is: nobody could read on from there.
    """
    seen = 0
    for g in range(notes.num_row_groups):
        group = notes.row_group(g)
        for k in range(group.num_columns):
            column = group.column(k)
            at = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
            end = at + column.total_compressed_size
            while at < end:
                reader = _Reader(data, at)
                try:
                    fields = reader.struct()
                    packed, unpacked = fields[PACKED], fields[UNPACKED]
                except (_NoHeader, KeyError):
                    break
                seen += 1
                if packed < 0 or unpacked < 0 or seen > MOST:
                    raise _damaged()
                yield unpacked
                at = reader.at + packed


def _damaged() -> FileError:
    msg = "it is damaged: its pages have no headers that can be."
    return FileError(msg)


class _Reader:
    """Thrift's compact protocol, as far as it takes to get over a struct."""

    def __init__(self, data: Buffer, at: int) -> None:
        self.data, self.at = data, at

    def struct(self, depth: int = 0) -> dict[int, int]:
        """Its whole numbers, by the number of the field; everything else is passed over."""
        out: dict[int, int] = {}
        field = 0
        while (head := self._byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            if kind in (I16, I32, I64):
                out[field] = self._signed()
            elif kind not in (TRUE, FALSE):  # of which the head says all
                self._over(kind, depth)
        return out

    def _byte(self) -> int:
        if not 0 <= self.at < len(self.data):
            raise _NoHeader
        self.at += 1
        return int(self.data[self.at - 1])

    def _varint(self) -> int:
        out = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            out |= (byte & 127) << shift
            if byte < 128:
                return out
        raise _NoHeader

    def _signed(self) -> int:
        n = self._varint()
        return (n >> 1) ^ -(n & 1)

    def _over(self, kind: int, depth: int) -> None:
        """Past one value."""
        if depth > DEEPEST:
            raise _damaged()
        if kind in (TRUE, FALSE, BYTE):
            self._byte()
        elif kind in (I16, I32, I64):
            self._varint()
        elif kind == DOUBLE:
            self.at += 8
        elif kind == BINARY:
            length = self._varint()  # which moves on itself
            self.at += length
        elif kind == STRUCT:
            self.struct(depth + 1)
        elif kind in (LIST, SET):
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
                self._over(head & 15, depth + 1)
        elif kind == MAP:
            count = self._varint()
            head = self._byte() if count else 0
            for _ in range(count):
                self._over(head >> 4, depth + 1)
                self._over(head & 15, depth + 1)
        else:
            raise _NoHeader
