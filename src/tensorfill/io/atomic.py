"""Replacing files in one step: after a crash there is the old file or the new one, never half of one."""

from __future__ import annotations

import ctypes
import errno
import glob
import hashlib
import os
import platform
import shutil
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

TRIES, PAUSE = 40, 0.05  # to remove a directory that is still written to, and seconds between them
OLD = "old"  # name of a directory that is being replaced, inside the temporary one it was moved to
KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_path(path: Any, what: str = "the name of a file") -> None:
    """Refuse what cannot be the name of a file."""
    if not isinstance(path, str | os.PathLike):
        msg = f"{what} must be text or a path; got {path!r}."
        raise TypeError(msg)
    if not os.fspath(path) or "\0" in os.fsdecode(path):
        msg = f"{what} must not be empty, nor hold a zero byte; got {os.fspath(path)!r}."
        raise ValueError(msg)


def special_file(path: str | os.PathLike[str]) -> str:
    """What is at `path` (links followed) that must not be replaced by a file, in words; empty if nothing is."""
    try:
        return KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "")
    except OSError:
        return ""


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise OSError if `path` is something that must not be replaced by a file: a directory, a device, a pipe."""
    check_path(path)
    found = special_file(path)
    if found:
        number = errno.EISDIR if found == "a directory" else errno.EEXIST
        raise OSError(number, f"it is {found}", os.fspath(path))


def _members(file: IO[bytes]) -> set[str]:
    """The names in a zip archive, which is what .npz is."""
    with zipfile.ZipFile(file) as archive:
        return set(archive.namelist())


# what this program writes by name: is an open file one? Sections of a checkpoint are named `section|array`.
OWN: dict[str, Callable[[IO[bytes]], bool]] = {
    "checkpoint": lambda f: bool(a := _members(f) - {"digest.npy"}) and all("|" in name for name in a),
    "saved run": lambda f: {"meta.npy", "history.npy"} <= _members(f),
    "report": lambda f: (page := f.read()).startswith(b"<!doctype html>") and b"tensorfill" in page,
    "picture": lambda f: f.read(4) == b"\x89PNG",
}


def check_own_file(path: str | os.PathLike[str], what: str) -> None:
    """Raise ValueError if `path` (links followed) is a file with anything in it but what OWN knows as `what`."""
    try:
        if not os.path.getsize(path):  # as made by tempfile: there is nothing to lose
            return
        with open(path, "rb") as file:
            own = OWN[what](file)
    except FileNotFoundError:
        return
    except Exception:  # whatever it is, it is not ours
        own = False
    if not own:
        msg = (
            f"{what} {os.fspath(path)} is a file that is not a {what}, or a damaged one; it is left as it is. "
            "Name another file, or delete it if nobody needs it."
        )
        raise ValueError(msg)


def find_overwritten(outputs: Mapping[str, str | None], inputs: Mapping[str, str | None]) -> str:
    """The error message if an output is the same file as an input or another output, else "". Both map what a file is
    called in the message to its path; None and "-" are not files.
    """
    written = {k: v for k, v in outputs.items() if v not in (None, "-")}
    for name, path in written.items():
        for other, read in inputs.items():
            if read not in (None, "-") and (how := _destroys(str(path), str(read))):
                return f"{name} {path} {how} {other}, which would be lost; name another file."
    names = list(written)
    for k, name in enumerate(names):
        for other in names[:k]:
            if same_file(str(written[name]), str(written[other])) and not special_file(str(written[name])):
                return f"{other} and {name} are both {written[name]}; name another file for one of them."
    return ""


def _destroys(out: str, read: str) -> str:
    """How writing to `out` would destroy data that are read from `read`: a file, a folder or a pattern; or ""."""
    patterns = glob.has_magic(read) and not os.path.exists(read)
    for file in glob.glob(read, recursive=True) if patterns else [read]:
        if same_file(out, file):
            return "is among" if patterns else "is"
        new, old = Path(os.path.realpath(out)), Path(os.path.realpath(file))
        if new in old.parents and new.exists():
            return "holds"
        if old in new.parents and new.exists():
            return "is part of"
    return ""


def same_file(one: str, two: str) -> bool:
    """Do both names mean one file? Links are followed; the file need not exist."""
    try:
        return os.path.samefile(one, two)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(two)


HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]  # process numbers mean nothing on another machine


def temporary_prefix(target: Path) -> str:
    """How the names of temporary files and directories beside `target` begin. They end in `.part`."""
    return f".{target.name[:100]}.{HOST}-"


@contextmanager
def temporary_beside(target: Path) -> Iterator[str]:
    """A temporary directory beside `target`, which `remove_leftovers` knows."""
    room = tempfile.mkdtemp(dir=target.parent, prefix=f"{temporary_prefix(target)}{os.getpid()}-", suffix=".part")
    try:
        yield room
    except BaseException:
        for _ in range(TRIES):  # after an interrupt threads of a library go on writing into it, and make it anew
            if not os.path.exists(room):
                break
            shutil.rmtree(room, ignore_errors=True)
            time.sleep(PAUSE)
        raise
    shutil.rmtree(room, ignore_errors=True)


def remove_leftovers(path: str | Path) -> None:
    """Remove temporary files beside `path` of processes that were killed; those of running processes are kept.

    If a process was killed between moving the old directory aside and putting the new one there, the old one is
    restored.
    """
    target = Path(os.path.realpath(path))
    start = temporary_prefix(target)
    with suppress(OSError):  # nothing to be tidied where nothing can be seen or removed
        left = [e for e in os.scandir(target.parent) if e.name.startswith(start) and e.name.endswith(".part")]
        for entry in left:
            number = entry.name[len(start) :].split("-")[0]
            if not number.isdigit() or is_running(int(number)):
                continue
            old = Path(entry.path) / OLD
            if old.is_dir() and not target.exists():
                os.replace(old, target)
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)


AT_CWD, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def exchange(one: Path, two: Path) -> bool:
    """Exchange two paths in one atomic step; False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(AT_CWD, os.fsencode(one), AT_CWD, os.fsencode(two), EXCHANGE) == 0)
    except (OSError, AttributeError, TypeError):
        return False


def is_running(number: int) -> bool:
    """Is there a process with this id?"""
    if os.name != "posix":  # elsewhere signal 0 would end it
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def replace_file(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`; on success it takes the place of `path`, on failure nothing is left.

    A link goes on pointing at the file, which is what changes. What is no file is refused.
    """
    check_replaceable(path)
    remove_leftovers(path)
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"the directory {target.parent} does not exist", os.fspath(path))
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f"{temporary_prefix(target)}{os.getpid()}-", suffix=".part"
    )
    try:
        with os.fdopen(handle, mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)  # mkstemp makes private files: those that an ordinary open() makes, or as the old one was
        os.chmod(name, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
