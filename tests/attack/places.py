"""Bare places: a read-only installation, no home, no cache, the C locale, no terminal, nothing but 64 MB for files."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tensorfill
from attack.arena import Wrong
from attack.command import tensor

NOBODY = 65534
USES = {
    "a report": ("complete", "in.npy", "-o", "out.npy", "--method", "halrtc", "--max-iter", "3", "--report", "r.html"),
    "a contest": ("complete", "in.npy", "-o", "out.npy", "--max-iter", "8"),
    "the sampler": ("complete", "in.npy", "-o", "out.csv", "--method", "bayes", "--max-iter", "4"),
    "other kernels": ("complete", "in.npy", "-o", "out.npz", "--method", "spc-tv", "--max-iter", "3"),
    "total variation": ("complete", "in.npy", "-o", "out.nc", "--method", "lrtv-pds", "--max-iter", "3"),
    "lists": ("list", "methods"),
    "a picture": ("demo", "-o", "out.png", "--max-iter", "3"),
}


class Cases:
    """Case k is one use of the command; a copy of the package that nobody may write to is what is installed."""

    hang = 240.0  # seconds: everything is compiled anew

    def __init__(self, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="attack-"))
        package = self.folder / "installed" / "tensorfill"
        shutil.copytree(Path(tensorfill.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (package.parent, *package.parent.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.folder.chmod(0o755)
        self.names = list(USES)

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        name = self.names[k % len(self.names)]
        return f"#{k} {name}", lambda: self.use(USES[name], forget=k >= len(self.names))

    def use(self, words: tuple[str, ...], forget: bool) -> None:
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        np.save(work / "in.npy", tensor())
        env = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "PYTHONPATH": str(self.folder / "installed"),
        }
        env |= {"TMPDIR": str(work), "OMP_NUM_THREADS": "1"} | ({"PYTHONDONTWRITEBYTECODE": "1"} if forget else {})
        nobody = os.geteuid() == 0 and _may_read(sys.executable)
        if nobody:
            os.chown(work, NOBODY, NOBODY)
        done = subprocess.run(
            [sys.executable, "-m", "tensorfill", *words],
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user=NOBODY if nobody else None,
            preexec_fn=_little_room,
        )
        if done.returncode != 0 or "Traceback" in done.stderr:
            raise Wrong(f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")
        out = [p for p in work.iterdir() if p.name.startswith("out")]
        if "-o" in words and not out:
            raise Wrong("nothing was written")
        if left := [p.name for p in work.iterdir() if p.name.startswith(".")]:
            raise Wrong(f"left behind: {left}")


def _little_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 2**20, 64 * 2**20))


def _may_read(path: str) -> bool:
    """May a stranger run this Python?"""
    words = [path, "-c", ""]
    try:
        return subprocess.run(words, user=NOBODY, capture_output=True, check=False, cwd="/").returncode == 0
    except OSError:
        return False
