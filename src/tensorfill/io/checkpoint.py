"""The checkpoint file: each part of a run has a section in it, and the file is always replaced as a whole."""

from __future__ import annotations

import errno
import hashlib
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.atomic import check_own_file, check_path, check_replaceable, remove_leftovers, replace_file

BETWEEN = "|"  # section and name of an array
DIGEST = "digest"


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the run goes on without it."""


@dataclass(frozen=True, eq=False)
class Checkpoint(os.PathLike[str]):
    """One section of the file at `path`. `pages`, {section: {name: array}}, is the whole file, shared by all."""

    path: Path
    section: str = ""
    pages: dict[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    @staticmethod
    def at(path: str | os.PathLike[str], *, resume: bool = False) -> Checkpoint:
        """The checkpoint at `path`; with `resume`, what is in the file already.

        Raises OSError now, before the run, if the file could never be written, and ValueError if it is another file
        than a checkpoint.
        """
        if isinstance(path, Checkpoint):
            return path
        check_path(path, "checkpoint")
        check_replaceable(path)
        check_own_file(path, "checkpoint")
        place = Path(path)
        folder = Path(os.path.realpath(place)).parent
        if not folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such directory", os.fspath(folder))
        remove_leftovers(place)
        return Checkpoint(place, pages=_read(place) if resume and place.exists() else {})

    def part(self, name: str) -> Checkpoint:
        """The section of a part of this run."""
        return Checkpoint(self.path, f"{self.section}.{name}" if self.section else name, self.pages)

    def find(self) -> Mapping[str, Any] | None:
        """The arrays of this section; None if there are none."""
        return self.pages.get(self.section)

    def keep(self, arrays: Mapping[str, Any]) -> float:
        """Write these arrays to this section; returns the seconds it took. Failing to write is only a warning, which
        names the file: the run does not need it.
        """
        began = time.monotonic()
        self.pages[self.section] = arrays
        whole = {f"{section}{BETWEEN}{k}": a for section, page in self.pages.items() for k, a in page.items()}
        whole[DIGEST] = _digest(whole)
        try:
            check_own_file(self.path, "checkpoint")  # again: somebody may have put a file there since
            with replace_file(self.path) as file:
                np.savez(file, **whole)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error).rstrip(".")
            msg = f"checkpoint {self.path} cannot be written ({why}); the run goes on without it."
            warnings.warn(msg, CheckpointWarning, stacklevel=find_stacklevel())
        return time.monotonic() - began

    def damaged(self, error: Exception) -> ValueError:
        """The sentence for a file that cannot be read, whatever the libraries that read it said."""
        return _damage_error(self.path, error)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    pages: dict[str, dict[str, Any]] = {}
    try:
        from tensorfill.io.formats.arrays import read_archive  # what knows files is loaded when there is one

        with open(path, "rb") as raw:
            whole, _ = read_archive(raw)
        if not np.array_equal(whole.pop(DIGEST), _digest(whole)):
            msg = "its parts do not belong together"
            raise ValueError(msg)
        for key, array in whole.items():
            section, _, name = key.rpartition(BETWEEN)
            pages.setdefault(section, {})[name] = array
    except Exception as error:  # a damaged file meets the libraries that read it in any way at all
        raise _damage_error(path, error) from error
    return dict(pages)


def _digest(arrays: Mapping[str, Any]) -> NDArray[np.uint8]:
    """SHA-256 over names, types, shapes and bytes of all arrays, to notice parts that do not belong together."""
    sha = hashlib.sha256()
    for name in sorted(arrays):
        a = np.ascontiguousarray(arrays[name])
        sha.update(f"{name} {a.dtype.str} {a.shape} ".encode())
        sha.update(a.data if a.dtype.kind in "biuf" and a.size else a.tobytes())
    return np.frombuffer(sha.digest(), dtype=np.uint8)


def _damage_error(path: Path, error: Exception) -> ValueError:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ValueError(f"checkpoint {path} cannot be read ({line}); delete it to start afresh.")
