"""kill -9 and TERM at random moments: outputs are the old one or the new one, and a resumed run has the same bits."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import numpy as np

from attack.arena import Wrong, check_ending, in_child
from attack.command import ENDINGS, METHODS, Runs

RARE = 10  # one in so many is a run of the last method, a contest, which takes as long as ten others


class Cases(Runs):
    """Case k kills one run and resumes it."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.took: dict[tuple[str, ...], float] = {}

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        ending = ENDINGS[(k + k // RARE) % len(ENDINGS)]
        method = METHODS[-1] if k % RARE == RARE - 1 else METHODS[k % (len(METHODS) - 1)]
        number = (signal.SIGKILL, signal.SIGTERM)[int(rng.random() < 0.3)]
        moment = float(rng.random())
        words = f"#{k} {number.name} at {moment:.3f} of {method[0]} to {ending}"
        return words, lambda: self.kill(ending, method, number, moment)

    def kill(self, ending: str, method: tuple[str, ...], number: signal.Signals, moment: float) -> None:
        out, said, key = f"out{ending}", self.folder / "said", (*method, ending)
        files = ("in.npy", out, "run.npz", "said")
        if key not in self.answers:
            self.fresh(ending)
            began = time.monotonic()
            check_ending(in_child(self.command(*method, "--checkpoint", "run.npz", out=out), said), said, 0)
            self.took[key], self.answers[key] = time.monotonic() - began, self.values(out)
            self.leftovers(*files)
        self.fresh(ending)
        old = self.values(out)
        run = self.command(*method, "--checkpoint", "run.npz", out=out)
        code = in_child(run, said, after=moment * self.took[key], number=number)
        if number is signal.SIGTERM:
            check_ending(code, said, 0, 143, -15)
        now = self.values(out)
        if number is signal.SIGKILL and not any(np.array_equal(now, x) for x in (old, self.answers[key])):
            raise Wrong(f"{out} is neither the old one nor the new one")
        again = self.command(*method, "--checkpoint", "run.npz", "--resume", out=out)
        check_ending(in_child(again, said), said, 0)
        if not np.array_equal(self.values(out), self.answers[key]):
            raise Wrong("other bits after the resume")
        self.leftovers(*files)
