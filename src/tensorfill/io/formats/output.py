"""Where answers go: a file or directory that appears whole or not at all, a device, or a stream; and why not."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from tensorfill.data.memory import BudgetError
from tensorfill.io.atomic import OLD, check_replaceable, exchange, remove_leftovers, replace_file, temporary_beside
from tensorfill.io.formats.base import Array, FileError, Format, Loaded
from tensorfill.io.formats.opening import is_zarr

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.EISDIR: "it is a directory",
    errno.EFBIG: "the file would be larger than the file system allows",
    errno.EPIPE: "the reader of the stream has gone",
    errno.ENAMETOOLONG: "the name is too long",
}


def reason(error: OSError) -> str:
    """What went wrong, in a few words."""
    if (error.strerror or "").startswith("it is "):  # our own words
        return str(error.strerror)
    return REASONS.get(error.errno or 0) or error.strerror or str(error)


@contextmanager
def file_errors(path: str | Path, verb: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes a FileError that names the file."""
    stream = "standard output" if verb == "write" else "standard input"
    name = stream if str(path) == "-" else os.fspath(path)
    start = f"cannot {verb} {name}: "
    try:
        yield
    except FileError as error:
        raise FileError(start + str(error), error.variables) from error.__cause__
    except Exception as error:
        if verb == "write" and not isinstance(error, OSError | ImportError | MemoryError):
            raise
        raise FileError(start + _sentence(error, verb)) from error


def _sentence(error: Exception, verb: str) -> str:
    """What went wrong: libraries meet a damaged file with any exception at all."""
    if isinstance(error, FileNotFoundError) and verb != "write":
        return "there is no such file."
    if isinstance(error, ImportError | BudgetError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for it."
    # without a number an OSError is a library's own word for a damaged file
    if isinstance(error, OSError) and (error.errno is not None or verb == "write"):
        return f"{reason(error)}."
    line = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return f"it is damaged or of an unknown kind ({line})."


class Sink:
    """A file to write to that does not show its descriptor.

    Libraries that find one write past Python and lose the reason when the disk is full.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable


def write_stream(path: str | Path, write: Callable[[Any], None], *, packed: bool = False) -> None:
    """Have `write(sink)` fill a new file, gzipped if `packed`, then put it in the place of `path`; or fill a device, or
    standard output for "-", to which nothing is sent before all of it is made.
    """

    def fill(sink: Any) -> None:
        if not packed:
            write(sink)
            return
        with gzip.GzipFile("", "wb", 6, sink, mtime=0) as smaller:
            write(smaller)

    target = Path(os.path.realpath(path))  # the file that a link points to is replaced, not the link
    special = target.exists() and not target.is_file() and not target.is_dir()
    if str(path) == "-" or special:
        buffer = io.BytesIO()
        fill(buffer)
        with nullcontext(sys.stdout.buffer) if str(path) == "-" else open(target, "wb") as stream:
            stream.write(buffer.getbuffer())
            stream.flush()
        return
    with replace_file(target) as file:
        fill(Sink(file))
    _sync(target.parent)


def check_writable(kind: Format, path: str | Path, values: Array, like: Loaded) -> None:
    """Write `values` as `kind` would, and throw it away: what it cannot hold is refused now, not after the fit."""
    if not kind.store:
        kind.write(io.BytesIO(), values, like)
        return
    target = Path(os.path.realpath(path))
    with temporary_beside(target) as room:
        kind.write_path(Path(room) / target.name, values, like)


def can_write(kind: Format, completed: Array, like: Loaded) -> bool:
    """Can `kind` hold the completed tensor, or this part of it?"""
    try:
        with tempfile.TemporaryDirectory() as room:
            check_writable(kind, Path(room) / f"trial{kind.endings[0]}", like.restore(completed), like)
    except Exception:  # its refusal, or whatever a library makes of what it cannot write
        return False
    return True


@contextmanager
def replace_path(path: Path, *, store: bool) -> Iterator[Path]:
    """A path beside `path` for a library to make a file or a directory at; then it takes the place of `path`.

    `store` says that it is a directory; only a directory of its kind is ever replaced by one.
    """
    target = Path(os.path.realpath(path))
    check_target(target, store=store)
    remove_leftovers(target)
    with temporary_beside(target) as room:
        new = Path(room) / target.name
        yield new
        for folder, _, names in os.walk(room):
            for name in names:
                _sync(Path(folder) / name)
        if target.is_dir():
            _take_place(new, target, Path(room) / OLD)
        else:
            os.replace(new, target)
    _sync(target.parent)


def _take_place(new: Path, target: Path, old: Path) -> None:
    """The directory `new` in the place of `target`: in one step where the system can, so that even a kill leaves one
    or the other. Elsewhere `target` moves aside, to where `remove_leftovers` finds it, and back if that fails.
    """
    if exchange(new, target):
        return
    os.replace(target, old)
    try:
        os.replace(new, target)
    except BaseException:
        os.replace(old, target)
        raise


def check_target(target: Path, *, store: bool = False) -> None:
    """Refuse a place where nothing can be written; `store` says that a directory (Zarr) is to be."""
    if not target.parent.is_dir():
        msg = f"the directory {target.parent} does not exist."
        raise FileError(msg)
    if not store:
        check_replaceable(target)
    elif target.is_file():
        msg = "there is a file of that name, and a directory is to be written; name another."
        raise FileError(msg)
    elif target.is_dir() and any(target.iterdir()) and not is_zarr(target):
        msg = "it is a directory that holds other files; name another."  # a Zarr store is a whole, and may be replaced
        raise FileError(msg)


def _sync(path: Path) -> None:
    """Make sure that it is on the disk, not only on its way there."""
    with suppress(OSError):  # some file systems cannot sync a directory
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
