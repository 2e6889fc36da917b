"""What a contest has found so far, on disk: a run that was killed does not try again what it had tried."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from tensorfill.io.checkpoint import Checkpoint
from tensorfill.methods.base import Run
from tensorfill.typing import Array


@dataclass(eq=False)
class TrialCache:
    """Predictions of every candidate tried, by its `repr` and fold."""

    place: Checkpoint
    mark: str  # names data and settings: the cache of another run is refused
    pages: dict[tuple[str, int], tuple[Array, float]] = field(default_factory=dict)

    @staticmethod
    def of(run: Run, mark: str) -> TrialCache | None:
        """The one in the checkpoint that `run` names, read if it resumes; None if it names none."""
        if run.checkpoint is None:
            return None
        cache = TrialCache(Checkpoint.at(run.checkpoint).part("contest"), f"{mark} seed {run.seed}")
        if run.resume:
            cache._read()
        return cache

    def find(self, trial: str, fold: int) -> tuple[Array, float] | None:
        """(predictions, seconds) of a candidate tried before."""
        return self.pages.get((trial, fold))

    def store(self, trial: str, fold: int, predictions: Array, seconds: float) -> None:
        """Write it down at once."""
        self.pages[trial, fold] = (predictions, seconds)
        names = list(self.pages)
        meta = {"mark": self.mark, "names": names, "seconds": [self.pages[n][1] for n in names]}
        arrays = {f"p{k}": self.pages[n][0] for k, n in enumerate(names)}
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
        self.place.keep(arrays)

    def _read(self) -> None:
        arrays = self.place.find()
        if arrays is None:
            return
        try:
            meta = json.loads(arrays["meta"].tobytes())
            names = [(str(trial), int(fold)) for trial, fold in meta["names"]]
            pages = {n: (arrays[f"p{k}"], float(meta["seconds"][k])) for k, n in enumerate(names)}
            same = meta["mark"] == self.mark
        except Exception as error:  # damage of any kind is one sentence
            raise self.place.damaged(error) from error
        if not same:
            msg = f"checkpoint {self.place} belongs to another run (other data or settings); delete it or name another."
            raise ValueError(msg)
        self.pages = pages
