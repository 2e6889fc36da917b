"""The private folder of uploads: locked while its server runs; the next server removes it if that one was killed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

PREFIX = "tensorfill-app-"
LOCK = "lock"
STARTING = 2.0  # seconds in which a server that has just started may not have locked its folder yet


class PrivateFolder:
    """A temporary folder that only this user can read (mode 0700)."""

    def __init__(self) -> None:
        remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = open(self.path / LOCK, "w")  # noqa: SIM115  held open as long as the server runs
        acquire(self._lock)

    def remove(self) -> None:
        """Remove it with everything in it."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove this user's folders whose server no longer runs."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        try:
            own = not hasattr(os, "getuid") or lock.parent.lstat().st_uid == os.getuid()
            if not own or time.time() - lock.stat().st_mtime < STARTING:
                continue
            with open(lock, "r+") as file:
                abandoned = acquire(file)
        except OSError:  # removed by another server meanwhile
            continue
        if abandoned:
            shutil.rmtree(lock.parent, ignore_errors=True)


def acquire(file: IO[Any]) -> bool:
    """Lock an open file, unless another process holds the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
