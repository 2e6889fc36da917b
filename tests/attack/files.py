"""Damaged files of every format, saved completions and checkpoints: each is read, or refused in a sentence."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tensorfill as tfl
from attack.damage import edited, inside, mutant
from attack.seeds import GAPS, seeds
from tensorfill.io.files import read
from tensorfill.io.formats.isolated import TASKS

TIMES = 4  # so many cases of a format that is read at home, or of a saved run, for each of one in a process of its own
INSIDE, EDITED = 0.6, 0.7  # shares of damage to what is packed, and of edits of saved runs


class Cases:
    """Case k damages a file of the k-th format in turn."""

    budget = 64 * 2**20  # bytes that a reader may take

    def __init__(self, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="attack-"))
        self.seed, self.seeds = seed, seeds(self.folder)
        self.kinds: dict[str, list[str]] = {}
        for name in self.seeds:
            self.kinds.setdefault(name.split(",")[0], []).append(name)
        apart = [kind for kind in self.kinds if kind in TASKS]
        self.turn = apart + TIMES * [kind for kind in self.kinds if kind not in TASKS]

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        kind = self.turn[k % len(self.turn)]
        name = self.kinds[kind][int(rng.integers(len(self.kinds[kind])))]
        good = self.seeds[name]
        bad = self.folder / f"bad-{good.name}"
        if good.is_dir():  # Zarr: one of its files
            shutil.rmtree(bad, ignore_errors=True)
            shutil.copytree(good, bad)
            files = sorted(p for p in bad.rglob("*") if p.is_file())
            victim = files[int(rng.integers(len(files)))]
            victim.write_bytes(mutant(victim.read_bytes(), rng))
        elif kind in ("checkpoint", "completion") and rng.random() < EDITED:
            bad.write_bytes(edited(good.read_bytes(), rng))
        else:
            bad.write_bytes((inside if rng.random() < INSIDE else mutant)(good.read_bytes(), rng))
        long = {"dims": ["site", "hour"]} if name.endswith((", long", ", categories")) else {}
        return f"{name} #{k}", lambda: self.use(kind, bad, long)

    def use(self, kind: str, path: Path, long: dict[str, list[str]]) -> None:
        if kind == "completion":
            done = tfl.Completion.load(path)
            np.asarray(done.completed)
            str(done)
        elif kind == "checkpoint":
            tfl.complete(GAPS, method="halrtc", max_iter=3, checkpoint=path, resume=True)
        else:
            read(path, max_memory=self.budget, **long).observations()  # type: ignore[arg-type]
