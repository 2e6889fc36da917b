"""What all file formats share: what a read file becomes, what a format must do, and the registry of formats.

Design: a format turns bytes into a `Loaded` and a completed array back into bytes. It never decides what is missing
beyond its own notation (NaN, blank, absent row), never rounds (`Loaded.restore` does), and never touches the disk on
the way out: it writes to a sink that `io/files.py` puts in place of the old file only when it is whole. Its errors
do not name the file: `files.py` puts "cannot read NAME: " or "cannot write NAME: " before them.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.casting import cast_like
from tensorfill.data.coordinates import match_rows
from tensorfill.data.labels import with_positions
from tensorfill.data.observations import Observations
from tensorfill.data.sources import LabelledSource
from tensorfill.registry import Registry
from tensorfill.typing import Array


class FileError(Exception):
    """A file that cannot be read or written; the message is one sentence for the user.

    `variables` are those to choose from, where the file holds several.
    """

    def __init__(self, sentence: str, variables: Iterable[str] = ()) -> None:
        super().__init__(sentence)
        self.variables = list(variables)


class FileWarning(UserWarning):
    """A decision made in reading a file that the user should know of, where there is no `Loaded` to carry a note."""


@dataclass(frozen=True)
class Request:
    """What to read, and what the user said about it."""

    file: IO[bytes] | None = None  # None for a directory (Zarr)
    path: Path | None = None  # None for a stream
    dims: tuple[str, ...] | None = None
    value: str | None = None
    variable: str | None = None
    alpha_missing: bool = False
    missing_value: str | None = None  # a text that means missing; numbers are marked after reading

    def bytes(self) -> bytes:
        """The whole file."""
        assert self.file is not None
        return self.file.read()

    def length(self) -> int:
        """How many bytes the file has."""
        assert self.file is not None
        here = self.file.tell()
        end = self.file.seek(0, io.SEEK_END)
        self.file.seek(here)
        return end


@dataclass(frozen=True, eq=False)
class Loaded:
    """A file's numbers, and all that is needed to write the answer in the same form.

    Attributes
    ----------
    format : name in FORMATS
    shape : (I_1, ..., I_N)
    dtype : the type of the values in the file; the output has it too
    values : dense array of that shape, or None for coordinate data
    mask : True = observed, of that shape; None when NaN alone marks what is missing
    indices, values_coo : (nnz, N) and (nnz,), coordinate data only
    dims : names of the modes, where the format has them
    labels : per dim, the labels along it (long tables, coordinates), where the format has them
    notes : what was decided in reading that the user should know
    extra : private to the formats: palette, alpha plane, metadata, rows of a table, ...
    """

    format: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    values: Array | None = None
    mask: NDArray[np.bool_] | None = None
    indices: Array | None = None
    values_coo: Array | None = None
    dims: tuple[str, ...] | None = None
    labels: dict[str, list[Any]] | None = None
    notes: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def coordinate(self) -> bool:
        """Are these coordinates and values rather than a dense array?"""
        return self.values is None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def given(self) -> Array:
        """The numbers as they were read: a dense array, or (nnz,)."""
        given = self.values_coo if self.values is None else self.values
        assert given is not None
        return given

    def observed(self) -> NDArray[np.bool_]:
        """True = observed: full shape for a dense array, (nnz,) for coordinate data."""
        if self.mask is not None:
            return self.mask
        return ~np.isnan(self.given) if self.given.dtype.kind == "f" else np.ones(self.given.shape, dtype=bool)

    def observed_values(self) -> Array:
        """The observed numbers, (nnz,)."""
        return self.given[self.observed()]

    def with_mask(self, mask: Array) -> Loaded:
        """The same data with fewer entries observed: those where `mask` (full shape, True = observed) says so too."""
        keep = np.asarray(mask, dtype=bool)
        if keep.shape != self.shape:
            msg = f"mask must have the shape of the data, {self.shape}; got {keep.shape}."
            raise ValueError(msg)
        if self.values is not None:
            return replace(self, mask=self.observed() & keep)
        assert self.indices is not None
        return self.subset(keep[tuple(self.indices.T)])

    def floating(self, dtype: np.dtype[Any]) -> Loaded:
        """The same data to be written as floats of that type, whatever they were read as."""
        return replace(self, dtype=dtype, extra={**self.extra, "floating": True})

    def subset(self, keep: Array) -> Loaded:
        """Coordinate data with only the entries that `keep` (nnz,) selects."""
        assert self.indices is not None
        assert self.values_coo is not None
        return replace(self, indices=self.indices[keep], values_coo=self.values_coo[keep])

    def observations(self) -> Observations:
        """The known entries, ready to be completed."""
        if self.values is not None:
            made = Observations.from_dense(self.values, self.mask, dims=self.dims)
            if self.extra.get("form") == "wide":
                made = replace(made, source=LabelledSource(self.values, made.mask, labels=self.labels or {}))
            return with_positions(made, self.labels or {})
        assert self.indices is not None
        assert self.values_coo is not None
        # as floats: `restore` writes the very numbers that were read, however large
        wide = self.values_coo.dtype.kind in "iu" and self.values_coo.dtype.itemsize == 8
        values = self.values_coo.astype(np.float64) if wide else self.values_coo
        return with_positions(
            Observations.from_coo(self.indices, values, self.shape, dims=self.dims), self.labels or {}
        )

    def restore(self, completed: Array, indices: Array | None = None) -> Array:
        """The completed tensor in the file's own type; observed values come back bit for bit. With `indices` (n, N),
        the same for single entries (n,).

        Whether an entry is "observed" is seen from the numbers: where `completed` equals what was read, the number
        read is written. So the answer is right whatever mask the caller used, and 64-bit integers survive floats.
        """
        given = np.asarray(completed)
        if indices is None and given.shape != self.shape:
            msg = f"completed must have the shape of the data, {self.shape}; got {given.shape}."
            raise ValueError(msg)
        out = cast(given, self.dtype)
        if self.values is not None:
            return paste(out, given, self.values if indices is None else self.values[tuple(indices.T)])
        assert self.indices is not None
        assert self.values_coo is not None
        where, known = tuple(self.indices.T), self.values_coo
        if indices is not None:
            row = match_rows(self.indices, indices, self.shape)
            where, known = (row >= 0,), self.values_coo[row[row >= 0]]
        out[where] = paste(out[where], given[where], known)
        return out


def cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """A copy in that type; integers are rounded and clipped to their range."""
    if values.dtype == dtype:
        return values.copy()
    if dtype.kind in "iub" and values.dtype.kind == "f" and np.isnan(values).any():
        where = tuple(int(i) for i in np.argwhere(np.isnan(values))[0])
        msg = f"completed must hold a number everywhere to be written as {dtype}; got NaN at index {where}."
        raise ValueError(msg)
    wide = values.astype(np.float64) if values.dtype.itemsize < 4 else values
    return cast_like(wide, dtype).astype(dtype, copy=False)  # also its byte order


def paste(out: Array, completed: Array, original: Array) -> Array:
    """`out`, with the original numbers where `completed` equals them."""
    if original.dtype != out.dtype:
        return out
    with np.errstate(invalid="ignore", over="ignore"):  # NaN or 1e300 under a mask, seen as another type
        same = original.astype(completed.dtype) == completed
    out = out.copy()
    out[same] = original[same]
    return out


def format_numbers(values: Array) -> Iterator[str]:
    """Each number as the shortest text that reads back as the same; blank for NaN, 1 and 0 for True and False."""
    if values.dtype.kind in "iub":
        return map(str, values.astype(np.int64).tolist() if values.dtype.kind == "b" else values.tolist())
    # a Python float is written as a float64 is; narrower ones have shorter texts, which NumPy knows
    numbers = values.tolist() if values.dtype.itemsize == 8 else list(values)
    return ("" if v != v else str(v) for v in numbers)


class Format:
    """One file format. Subclasses are registered in FORMATS and tested by being there."""

    name: ClassVar[str]
    title: ClassVar[str]  # in sentences: "photo.png is not a PNG picture"
    description: ClassVar[str]  # one line for `tensorfill list formats`
    endings: ClassVar[tuple[str, ...]]
    magic: ClassVar[tuple[bytes, ...]] = ()  # how such a file starts
    text: ClassVar[bool] = False  # text, possibly gzipped
    store: ClassVar[bool] = False  # is it a directory?
    note: ClassVar[str] = ""  # what to tell the user where writing changes observed values
    whole: ClassVar[bool] = False  # does it hold whole numbers only?
    writes: ClassVar[bool] = True  # can it be written, too?
    cost: ClassVar[float] = 3.0  # bytes of memory for each byte of the file; readers that know more ask more
    options: ClassVar[frozenset[str]] = frozenset()  # which of value, variable, alpha_missing mean something

    @classmethod
    def begins(cls, head: bytes) -> bool:
        """May a file that starts with these bytes be one?"""
        return bool(cls.magic) and head.startswith(cls.magic)

    @classmethod
    def looks(cls, head: bytes) -> bool:
        """Is it one, as far as these first bytes tell, where no ending says it?"""
        return cls.begins(head)

    def read(self, request: Request) -> Loaded:
        """The file's contents."""
        raise NotImplementedError

    def columns(self, request: Request) -> dict[str, list[str]]:
        """The columns of a table as they stand in it, by their names; none for other files."""
        return {}

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        """Write a dense array, already in the file's type (`Loaded.restore`)."""
        raise NotImplementedError

    def write_path(self, path: Path, array: Array, like: Loaded) -> None:
        """The same for a directory, which is made at `path`."""
        raise NotImplementedError


FORMATS: Registry[Format] = Registry("format")
