"""kill -9 and TERM at random moments: outputs are the old one or the new one, and a resumed run has the same bits.

Most runs are the command in a fork of a process that has loaded everything, so that a kill takes a fraction of a
second: half of them end at a moment by the clock, half just before the n-th time that the run opens, renames or
removes a file in its folder. One in `COLD` is the command started anew.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tensorfill as tfl
from attack.arena import Wrong, check_ending, in_child
from attack.command import ENDINGS, Runs, tensor
from tensorfill.cli.main import main

SHORT = (
    ("halrtc", "--max-iter", "12"),
    ("sptc", "--prior", "normal", "--rank", "3", "--max-iter", "12"),
    ("bayes", "--rank", "2", "--max-iter", "6"),
    ("fbcp", "--max-iter", "6"),
    ("halrtc", "--max-iter", "6", "--error-bars", "bars.npy"),
)
CONTEST, OFTEN = ("auto-quick", "--max-iter", "10"), 12  # one in so many is a contest, which takes longest
LONG, COLD = ("halrtc", "--tol", "0", "--max-iter", "4000"), 40
TOUCHES = ("open", "tempfile", "os.", "shutil.", "ctypes.dlsym")  # what is audited when files are touched


@dataclass
class Touches:
    """Counts what a run does to files in a folder, and ends it at the n-th time."""

    folder: str
    deadly: int = -1
    number: int = signal.SIGKILL
    count: int = 0

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if not event.startswith(TOUCHES) or not (event.startswith("ctypes") or self.folder in repr(given)):
            return
        self.count += 1
        if self.count == self.deadly:
            os.kill(os.getpid(), self.number)


def in_silence(run: Callable[[], object]) -> None:
    """Run a command here, for what it loads."""
    with open(os.devnull, "w") as quiet, redirect_stdout(quiet), redirect_stderr(quiet), suppress(SystemExit):
        run()


class Cases(Runs):
    """Case k kills one run and resumes it."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.took: dict[tuple[str, ...], float] = {}
        self.touched: dict[tuple[str, ...], int] = {}
        self.loaded: set[str] = set()

    def load(self, method: str, ending: str) -> None:
        """What forks then have: the command line takes longer to load than to run."""
        if not self.loaded:
            in_silence(lambda: main(["list", "methods"]))
            in_silence(lambda: main(["complete", "no such file", "-o", "out.npy"]))
        if method not in self.loaded:
            settings: dict[str, Any] = {"prior": "normal", "rank": 3} if method == "sptc" else {}
            tfl.complete(tensor(), method=method, max_iter=2, **settings)
        if ending == ".zarr" and ending not in self.loaded:
            with suppress(ImportError):
                import dask.array  # noqa: F401  xarray asks for it when it writes
                import xarray
                import zarr.storage  # noqa: F401  not used here: its threads would be lost in forks

                xarray.backends.list_engines()
        self.loaded |= {method, ending}

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        ending = ENDINGS[int(rng.integers(len(ENDINGS)))]
        number = (signal.SIGKILL, signal.SIGTERM)[int(rng.random() < 0.3)]
        moment = float(rng.random())
        if k % COLD == COLD - 1:
            return f"#{k} {number.name} at {moment:.3f} of a cold start", lambda: self.cold(ending, number, moment)
        method = CONTEST if k % OFTEN == OFTEN - 1 else SHORT[int(rng.integers(len(SHORT)))]
        self.load(method[0], ending)  # what is loaded and compiled once is not memory that this case takes
        by_clock = bool(rng.random() < 0.5)
        words = f"#{k} {number.name} at {moment:.3f} {'seconds' if by_clock else 'files'} of {method[0]} to {ending}"
        return words, lambda: self.kill(ending, method, number, moment, by_clock)

    def counted(self, run: Callable[[], None], touches: Touches) -> Callable[[], None]:
        """The same, watched; how often it touched files is written beside the folder."""

        def watched() -> None:
            sys.addaudithook(touches)
            try:
                run()
            finally:
                touches.deadly = -1
                self.folder.with_suffix(".count").write_text(str(touches.count))

        return watched

    def undisturbed(self, key: tuple[str, ...], run: Callable[[], None], said: Path, files: list[str]) -> None:
        began = time.monotonic()
        check_ending(in_child(self.counted(run, Touches(str(self.folder))), said), said, 0)
        self.took[key], self.answers[key] = time.monotonic() - began, self.values(key[-1])
        self.touched[key] = int(self.folder.with_suffix(".count").read_text())
        self.leftovers(*files)

    def kill(self, ending: str, method: tuple[str, ...], number: signal.Signals, moment: float, by_clock: bool) -> None:
        out, said = f"out{ending}", self.folder.with_suffix(".said")
        key = (*method, out)
        files = ["in.npy", out, "run.npz", *(word for word in method if word.endswith(".npy"))]
        run = self.command(*method, "--checkpoint", "run.npz", out=out)
        if key not in self.answers:
            self.fresh(ending)
            self.undisturbed(key, run, said, files)
        self.fresh(ending)
        if by_clock:
            code = in_child(run, said, after=moment * self.took[key], number=number)
        else:
            deadly = 1 + int(moment * self.touched[key])
            code = in_child(self.counted(run, Touches(str(self.folder), deadly, number)), said)
        again = self.command(*method, "--checkpoint", "run.npz", "--resume", out=out)
        self.check(code, number, key, said, files, lambda: in_child(again, said))

    def check(
        self,
        code: int,
        number: signal.Signals,
        key: tuple[str, ...],
        said: Path,
        files: list[str],
        resume: Callable[[], int],
    ) -> None:
        """What must be so after a kill, and after the resume."""
        out = key[-1]
        if number is signal.SIGTERM:
            check_ending(code, said, 0, 143, -15)
        now = self.values(out)
        if number is signal.SIGKILL and not any(np.array_equal(now, x) for x in (self.old(out), self.answers[key])):
            raise Wrong(f"{out} is neither the old one nor the new one")
        check_ending(resume(), said, 0)
        if not np.array_equal(self.values(out), self.answers[key]):
            raise Wrong("other bits after the resume")
        self.leftovers(*files)

    def cold(self, ending: str, number: signal.Signals, moment: float) -> None:
        """The same with the command started from nothing, and checkpoints as rare as they are."""
        out, said = f"out{ending}", self.folder.with_suffix(".said")
        key, files = ("cold", out), ["in.npy", out, "run.npz"]
        words = [sys.executable, "-m", "tensorfill", "complete", "in.npy", "-o", out, "--quiet"]
        words += ["--method", *LONG[:1], *LONG[3:], "--checkpoint", "run.npz"]

        def start(*more: str, after: float | None = None) -> int:
            with open(said, "wb") as file:
                process = subprocess.Popen([*words, *more], cwd=self.folder, stdout=file, stderr=file)
                if after is not None:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(after)
                    process.send_signal(number)
                return process.wait()

        self.fresh(ending)
        if key not in self.answers:
            began = time.monotonic()
            check_ending(start(), said, 0)
            self.took[key], self.answers[key] = time.monotonic() - began, self.values(out)
            self.fresh(ending)
        code = start(after=moment * self.took[key])
        self.check(code, number, key, said, files, lambda: start("--resume"))
