"""Files that are the old one or the whole new one, never half of either, and never in the place of what is none."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def obstacle(path: str | Path) -> str:
    """What is at `path`, or where its links lead, that a file must not take the place of; empty if nothing is."""
    try:
        return KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "")
    except OSError:
        return ""


def refuse_obstacle(path: str | Path) -> None:
    """An OSError where `path` is something that a file must not take the place of."""
    found = obstacle(path)
    if found:
        number = errno.EISDIR if found == "a directory" else errno.EEXIST
        raise OSError(number, f"it is {found}", os.fspath(path))


def lost(outputs: Mapping[str, str | None], inputs: Mapping[str, str | None]) -> str:
    """A sentence where an output is an input or another output; empty if all are apart. None and "-" are no files."""
    written = {k: v for k, v in outputs.items() if v not in (None, "-")}
    for name, path in written.items():
        for other, read in inputs.items():
            if read not in (None, "-") and same_file(str(path), str(read)):
                return f"{name} {path} is {other}, which would be lost; name another file."
    names = list(written)
    for k, name in enumerate(names):
        for other in names[:k]:
            if same_file(str(written[name]), str(written[other])) and not obstacle(str(written[name])):
                return f"{other} and {name} are both {written[name]}; name another file for one of them."
    return ""


def same_file(one: str, two: str) -> bool:
    """Do both names mean one file, through links or not, there already or not?"""
    try:
        return os.path.samefile(one, two)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(two)


class CheckpointWarning(UserWarning):
    """A file to go on from could not be written; the run goes on."""


def check_keeping(path: str | Path) -> None:
    """An OSError where `keep` could never write: before the run, not in the middle of it."""
    refuse_obstacle(path)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", os.fspath(folder))


def keep(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays (npz) to go on from later. The run can do without: where that fails, a warning names the file."""
    try:
        with replacing(path) as file:
            np.savez(file, **arrays)
    except OSError as error:
        msg = f"checkpoint {path} cannot be written ({error.strerror or error}); the run goes on without it."
        warnings.warn(msg, CheckpointWarning, stacklevel=3)


@contextmanager
def replacing(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`; on success it takes the place of `path`, on failure nothing is left.

    A link goes on pointing at the file, which is what changes. What is no file is refused.
    """
    refuse_obstacle(path)
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)  # mkstemp makes private files; give the ones an ordinary open() would
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
