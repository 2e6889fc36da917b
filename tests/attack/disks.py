"""Disks that are full, and writes cut short: one sentence, the old output whole, nothing left behind."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable

import numpy as np

from attack.arena import Wrong, check_ending, in_child
from attack.command import ENDINGS, Runs


class Cases(Runs):
    """Case k has a limit on the size of files; where mounting is permitted, every other one a small disk."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.mounts = _mounted(self.folder, 64) and not _unmount(self.folder)

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        ending, room = ENDINGS[k % len(ENDINGS)], int(rng.integers(0, 12_000))
        small = self.mounts and k % 2 == 1
        return f"#{k} {'a disk' if small else 'files'} of {room} bytes, {ending}", lambda: self.fill(
            ending, room, small
        )

    def fill(self, ending: str, room: int, small: bool) -> None:
        out = f"out{ending}"
        self.fresh(ending)
        old, said = self.values(out), self.folder.parent / f"{self.folder.name}.said"
        options = ("--checkpoint", "run.npz", "--report", "r.html", "--max-iter", "8")
        run = self.command("halrtc", *options, out=out)

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            run()

        filler = self.folder / "filler"
        try:
            if small:
                self.on_small_disk(room)
            code = in_child(run if small else limited, said)
            filler.unlink(missing_ok=True)
            check_ending(code, said, 0, 1)
            new = self.values(out)
            if code and not np.array_equal(new, old) and not np.isfinite(new).all():
                raise Wrong(f"{out} is neither the old one nor the new one")
            self.leftovers("in.npy", out, "run.npz", "r.html")
        finally:
            if small:
                _unmount(self.folder)
            said.unlink(missing_ok=True)

    def on_small_disk(self, room: int) -> None:
        """The folder on a disk of its own, on which `room` bytes are free."""
        kept = {p.name: p for p in self.folder.iterdir()}
        away = self.folder.with_suffix(".away")
        away.mkdir(exist_ok=True)
        for name, path in kept.items():
            subprocess.run(["mv", str(path), str(away / name)], check=True)
        _mounted(self.folder, 256)
        for name in kept:
            subprocess.run(["mv", str(away / name), str(self.folder / name)], check=True)
        away.rmdir()
        try:
            with open(self.folder / "filler", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1024))
        except OSError:
            pass
        with open(self.folder / "filler", "rb+") as file:
            file.truncate(max(file.seek(0, 2) - room, 0))


def _mounted(folder: object, kilobytes: int) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _unmount(folder: object) -> bool:
    """Did it fail?"""
    return subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode != 0
