"""The one file to go on from: each part of a run has a section in it, and it is replaced whole."""

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

from tensorfill.data.atomic import check_path, refuse_obstacle, replacing, sweep

BETWEEN = "|"  # section and name of an array
DIGEST = "digest"


class CheckpointWarning(UserWarning):
    """A file to go on from could not be written; the run goes on."""


@dataclass(frozen=True, eq=False)
class Checkpoint(os.PathLike[str]):
    """A section of the file at `path`; `pages` {section: {name: array}} are what is in it, shared by all sections."""

    path: Path
    section: str = ""
    pages: dict[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    @staticmethod
    def at(path: str | os.PathLike[str], *, resume: bool = False) -> Checkpoint:
        """The file to write to, with what is in it if a run is to go on from there.

        An OSError where it could never be written: before the run, not in the middle of it.
        """
        if isinstance(path, Checkpoint):
            return path
        check_path(path, "checkpoint")
        refuse_obstacle(path)
        place = Path(path)
        folder = Path(os.path.realpath(place)).parent
        if not folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such directory", os.fspath(folder))
        sweep(place)
        return Checkpoint(place, pages=_read(place) if resume and place.exists() else {})

    def part(self, name: str) -> Checkpoint:
        """The section of a part of this run."""
        return Checkpoint(self.path, f"{self.section}.{name}" if self.section else name, self.pages)

    def find(self) -> Mapping[str, Any] | None:
        """The arrays of this section; None if there are none."""
        return self.pages.get(self.section)

    def keep(self, arrays: Mapping[str, Any]) -> float:
        """Write these arrays to this section; returns the seconds it took. The run can do without: where it fails, a
        warning names the file.
        """
        began = time.monotonic()
        self.pages[self.section] = arrays
        whole = {f"{section}{BETWEEN}{k}": a for section, page in self.pages.items() for k, a in page.items()}
        whole[DIGEST] = _digest(whole)
        try:
            with replacing(self.path) as file:
                np.savez(file, **whole)
        except OSError as error:
            msg = f"checkpoint {self.path} cannot be written ({error.strerror or error}); the run goes on without it."
            warnings.warn(msg, CheckpointWarning, stacklevel=3)
        return time.monotonic() - began

    def damaged(self, error: Exception) -> ValueError:
        """The sentence for a file that cannot be read, whatever the libraries that read it said."""
        return _damaged(self.path, error)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    pages: dict[str, dict[str, Any]] = {}
    try:
        from tensorfill.data.formats.arrays import archived  # what knows files is loaded when there is one

        with open(path, "rb") as raw:
            whole, _ = archived(raw)
        if not np.array_equal(whole.pop(DIGEST), _digest(whole)):
            msg = "its parts do not belong together"
            raise ValueError(msg)
        for key, array in whole.items():
            section, _, name = key.rpartition(BETWEEN)
            pages.setdefault(section, {})[name] = array
    except Exception as error:  # a damaged file meets the libraries that read it in any way at all
        raise _damaged(path, error) from error
    return dict(pages)


def _digest(arrays: Mapping[str, Any]) -> NDArray[np.uint8]:
    """Of names, types, shapes and bytes: what was written as a whole is read as a whole."""
    sha = hashlib.sha256()
    for name in sorted(arrays):
        a = np.ascontiguousarray(arrays[name])
        sha.update(f"{name} {a.dtype.str} {a.shape} ".encode())
        sha.update(a.data if a.dtype.kind in "biuf" and a.size else a.tobytes())
    return np.frombuffer(sha.digest(), dtype=np.uint8)


def _damaged(path: Path, error: Exception) -> ValueError:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ValueError(f"checkpoint {path} cannot be read ({line}); delete it to start afresh.")
