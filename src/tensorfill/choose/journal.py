"""What a contest has found so far, on disk: a run that was killed does not try again what it had tried."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.atomic import check_keeping, keep
from tensorfill.methods.base import Run

Array = NDArray[Any]


@dataclass(eq=False)
class Journal:
    """Predictions of every candidate tried, by its label and fold."""

    path: Path
    mark: str  # names data and settings: the journal of another run is refused
    pages: dict[tuple[str, int], tuple[Array, float]] = field(default_factory=dict)

    @staticmethod
    def of(run: Run, mark: str) -> Journal | None:
        """The one that `run` names, read if it resumes; None if it names none."""
        if run.checkpoint is None:
            return None
        check_keeping(run.checkpoint)
        journal = Journal(Path(run.checkpoint), f"{mark} seed {run.seed}")
        if run.resume and journal.path.exists():
            journal._read()
        return journal

    def find(self, label: str, fold: int) -> tuple[Array, float] | None:
        """(predictions, seconds) of a candidate tried before."""
        return self.pages.get((label, fold))

    def note(self, label: str, fold: int, predictions: Array, seconds: float) -> None:
        """Write it down at once."""
        self.pages[label, fold] = (predictions, seconds)
        names = list(self.pages)
        meta = {"mark": self.mark, "names": names, "seconds": [self.pages[n][1] for n in names]}
        arrays = {f"p{k}": self.pages[n][0] for k, n in enumerate(names)}
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
        keep(self.path, arrays)

    def _read(self) -> None:
        try:
            with open(self.path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = {k: file[k] for k in file.files}
            meta = json.loads(arrays["meta"].tobytes())
            names = [(str(label), int(fold)) for label, fold in meta["names"]]
            pages = {n: (arrays[f"p{k}"], meta["seconds"][k]) for k, n in enumerate(names)}
        except Exception as error:  # damage of any kind is one sentence
            msg = f"checkpoint {self.path} cannot be read ({error}); delete it to start afresh."
            raise ValueError(msg) from error
        if meta["mark"] != self.mark:
            msg = f"checkpoint {self.path} belongs to another run (other data or settings); delete it or name another."
            raise ValueError(msg)
        self.pages = pages
