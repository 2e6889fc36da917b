"""Which format a file has, by its name and by its first bytes, and opening it."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from tensorfill.data.memory import ask, read_bounded
from tensorfill.io.formats.base import FORMATS, FileError, Format, Loaded, Request

GZIP = b"\x1f\x8b"
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf", re.IGNORECASE)
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # text, though it is full of zero bytes


def format_of(path: str | Path) -> type[Format] | None:
    """The format that the ending of a name says, or None."""
    name = os.fspath(path).lower()
    inner = name.removesuffix(".gz")
    for kind in (kind for _, kind in FORMATS.items()):
        if name.endswith(kind.endings) or (kind.text and inner.endswith(kind.endings)):
            return kind
    return None


def readable_endings() -> str:
    """The endings of files that can be read, for a sentence."""
    return f"Files are read that end in {' '.join(kind.endings[0] for _, kind in FORMATS.items())}"


def sniff(head: bytes) -> type[Format] | None:
    """The format that the first bytes of a file say; text is a .tns if its first line is places and a number."""
    for _, kind in FORMATS.items():
        if kind.looks(head):
            return kind
    if head.startswith(UTF16):
        return FORMATS["csv"]
    if not head or b"\0" in head:
        return None
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith(b"#")]
    parts = lines[0].split() if lines else []
    places = len(parts) > 2 and all(p.isdigit() for p in parts[:-1])
    return FORMATS["tns" if places and NUMBER.fullmatch(parts[-1]) else "csv"]


def choose_output_format(path: str | Path, like: Loaded, format: str | None) -> Format:
    """The format to write: the one named, else by the ending, else that of what was read."""
    if format is not None:
        return _writable(format_named(format))
    kind = None if str(path) == "-" else format_of(path)
    if kind is None and Path(path).suffix and str(path) != "-" and not str(path).startswith("/dev/"):
        known = " ".join(e for _, k in FORMATS.items() if k.writes for e in k.endings)
        msg = f"the ending {Path(path).suffix} is not known; use one of {known}, or --format."
        raise FileError(msg)
    return _writable(kind or FORMATS[like.format])


def _writable(kind: type[Format]) -> Format:
    if not kind.writes:
        msg = f"{kind.title} is read only; write .png, .npy or .tif instead."
        raise FileError(msg)
    return kind()


def format_named(format: str) -> type[Format]:
    """The format of that name."""
    try:
        return FORMATS[format]
    except ValueError as error:
        raise FileError(str(error)) from error


def is_zarr(path: Path) -> bool:
    """Is this directory a Zarr store?"""
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def load(path: str | Path, request: Request, format: str | None) -> Loaded:
    """Open a file, a directory, or standard input for "-", and read it."""
    kind = None if format is None else format_named(format)
    place = Path(path)
    if str(path) != "-" and place.is_dir():
        if not is_zarr(place) or kind not in (None, FORMATS["zarr"]):
            msg = f"it is a directory, and {kind.title} is none." if kind else "it is a directory, and no Zarr store."
            raise FileError(msg)
        _check_options(FORMATS["zarr"], request)
        return FORMATS["zarr"]().read(replace(request, path=place))
    with open_file(path, kind, request) as (found, ready):
        ending = "" if ready.path is None else ready.path.suffix
        if kind is not None or not ending or format_of(path) is not None:
            return found().read(ready)
        return _read_unknown_ending(found, ready, ending)


@contextmanager
def open_file(
    path: str | Path, kind: type[Format] | None = None, request: Request | None = None
) -> Iterator[tuple[type[Format], Request]]:
    """(the format of a file: that given, or by its ending, or by how it starts; the request with the open file, which
    is unpacked if it is gzipped).
    """
    request, kind = request or Request(), kind or format_of(path)
    with nullcontext(sys.stdin.buffer) if str(path) == "-" else open(path, "rb") as file:
        if str(path) == "-" or not file.seekable():  # a named pipe, or the shell's <(command)
            request = replace(request, file=io.BytesIO(read_bounded(file, "what comes in")))
        else:
            request = replace(request, file=file, path=Path(path))
        assert request.file is not None
        head = request.file.read(4096)
        request.file.seek(0)
        if not head:
            msg = "it is empty."
            raise FileError(msg)
        if head.startswith(GZIP) and (kind is None or kind.text):
            with gzip.GzipFile(fileobj=request.file) as packed:
                whole = read_bounded(packed, "unpacked it", kind.cost if kind else 2.0)
            request, head = replace(request, file=io.BytesIO(whole)), whole[:4096]
        kind = _check_kind(kind, sniff(head), head, request)
        yield kind, request


def _check_kind(kind: type[Format] | None, seen: type[Format] | None, head: bytes, request: Request) -> type[Format]:
    """The format, if the file is what it says; refuses options that mean nothing for it, and a file too large."""
    if kind is None and seen is None:
        ending = "" if request.path is None else request.path.suffix
        what = f"the ending {ending} is not known, nor is how it starts" if ending else "its format is not known"
        msg = f"{what}. {readable_endings()}; say what it is with --format."
        raise FileError(msg)
    kind = kind or seen
    assert kind is not None
    foreign = kind.magic and not kind.begins(head) and kind.name != "mat"  # MATLAB's version 4 has no start of its own
    wrong = foreign or (kind.text and (seen is None or not seen.text))
    if wrong or kind.store:
        found = f"; it looks like {seen.title}" if seen and not seen.text else ""
        msg = f"it is not {kind.title}{found}."
        raise FileError(msg)
    _check_options(kind, request)
    ask(kind.cost * request.length(), kind.title)
    return kind


def _read_unknown_ending(kind: type[Format], request: Request, ending: str) -> Loaded:
    """Read a file whose ending says nothing, by how it starts."""
    try:
        loaded = kind().read(request)
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        msg = f"the ending {ending} is not known, and it is not {kind.title} either ({line}). "
        msg += f"{readable_endings()}; say what it is with --format."
        raise FileError(msg) from error
    note = f"the ending {ending} is not known; it was read as {kind.title}"
    return replace(loaded, notes=(*loaded.notes, note))


def _check_options(kind: type[Format], request: Request) -> None:
    if request.missing_value is not None and "missing_value" not in kind.options:
        msg = f"--missing-value must be a number for {kind.title}; got {request.missing_value!r}."
        raise FileError(msg)
    for option in ("value", "variable", "alpha_missing"):
        if getattr(request, option) and option not in kind.options:
            msg = f"--{option.replace('_', '-')} means nothing for {kind.title}; leave it out."
            raise FileError(msg)
