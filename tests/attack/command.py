"""The command line in a forked process: the runs that the kills and the full disks are tried on."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from attack.arena import Wrong, in_child
from tensorfill.cli.main import main
from tensorfill.io.files import read
from tensorfill.solvers import loop

ENDINGS = (".npy", ".csv", ".zarr", ".npz", ".tns")


def tensor() -> np.ndarray:
    rng = np.random.default_rng(0)
    T = np.einsum("ir,jr,kr->ijk", *(rng.uniform(0.5, 1, (n, 2)) for n in (14, 12, 4)))
    T[rng.random(T.shape) < 0.3] = np.nan
    return T


class Runs:
    """Runs of the command in a folder of their own, each with the answer it has when nothing goes wrong."""

    hang = 120.0  # seconds: a case is several runs

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="attack-"))
        self.answers: dict[tuple[str, ...], np.ndarray] = {}
        self.olds: dict[str, np.ndarray] = {}

    def fresh(self, ending: str) -> Path:
        """An empty folder with the input and an output of before in it."""
        shutil.rmtree(self.folder)
        kept = self.folder.with_suffix(f".old{ending}")
        if not kept.exists():
            self.folder.mkdir()
            np.save(self.folder / "in.npy", tensor())
            np.save(self.folder / "old.npy", 2.0 * tensor())
            old = self.command("halrtc", "--max-iter", "1", out=f"out{ending}", source="old.npy")
            if in_child(old, said := self.folder.with_suffix(".said")):
                raise Wrong(f"no output to begin with: {said.read_text(errors='replace').strip()[-150:]}")
            (self.folder / "old.npy").unlink()
            os.rename(self.folder, kept)
        shutil.copytree(kept, self.folder)
        return self.folder

    def old(self, out: str) -> np.ndarray:
        """What `fresh` puts there."""
        if out not in self.olds:
            kept = self.folder.with_suffix(f".old{Path(out).suffix}")
            self.olds[out] = self.values(out, kept)
        return self.olds[out]

    def command(self, method: str, *options: str, out: str, source: str = "in.npy") -> Callable[[], None]:
        """`tensorfill complete`, with a checkpoint after every iteration; to be run in a child, for it changes both."""
        words = ["complete", source, "-o", out, "--quiet", "--method", method, *options]

        def run() -> None:
            loop.run.__kwdefaults__["checkpoint_seconds"] = 0.0
            os.chdir(self.folder)
            main(words)

        return run

    def values(self, out: str, folder: Path | None = None) -> np.ndarray:
        """What is in an output; Wrong if it is no whole file. Zarr has threads, which forks lose: in a child."""
        place = folder or self.folder
        copy, said = self.folder.with_suffix(".copy.npy"), self.folder.with_suffix(".said")

        def look() -> None:
            loaded = read(place / out)
            np.save(
                copy, np.asarray(loaded.values if loaded.values is not None else loaded.values_coo, dtype=np.float64)
            )

        if not out.endswith(".zarr"):
            try:
                look()
            except Exception as error:
                raise Wrong(f"{out} is torn: {error}") from error

        def look_here() -> None:
            sys.executable = ""  # our own file: it is read here, not in a further process
            look()

        if out.endswith(".zarr") and in_child(look_here, said):
            raise Wrong(f"{out} is torn: {said.read_text(errors='replace').strip()[-150:]}")
        return np.load(copy).ravel()

    def leftovers(self, *expected: str) -> None:
        more = sorted(set(os.listdir(self.folder)) - set(expected))
        if more:
            raise Wrong(f"left behind: {', '.join(more)}")
