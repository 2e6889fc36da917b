"""Warnings about data that were completed: that nothing was missing, or that rows are absent from a table."""

from __future__ import annotations

import warnings
from typing import Any

from tensorfill.data.labels import axis_labels
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.data.sentinels import sentinels
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.formats.long import guess_columns
from tensorfill.io.formats.steps import step_note

LONGEST = 100_000  # labels that are looked at, one by one


def warn_of_data(obs: Observations, whole: bool) -> None:
    """A DataWarning for each of these; `whole`: nothing was missing, the data are returned as they are."""
    for line in (*(_nothing_missing(obs) if whole else []), *_absent(obs)):
        warnings.warn(line, DataWarning, stacklevel=find_stacklevel())


def _nothing_missing(obs: Observations) -> list[str]:
    if sentinels(obs.values):  # values that may mean missing, of which another warning tells
        return []
    msg = "nothing is missing: the data come back as they are. Mark gaps by NaN, or give mask= (True = observed)."
    frame: Any = getattr(obs.source, "frame", None)
    if frame is None or not hasattr(frame, "columns") or len(frame) > LONGEST:
        return [msg]
    guess = guess_columns({str(c): [str(x) for x in frame[c].to_list()] for c in frame.columns})
    return [msg if guess is None else f"{msg} If each row is one entry: dims={guess[0]}, value={guess[1]!r}."]


def _absent(obs: Observations) -> list[str]:
    found = axis_labels(obs)
    few = [d for d, n in zip(obs.dims, obs.shape, strict=True) if d in found and n <= LONGEST]
    return [note for note in (step_note(d, found[d]) for d in few) if note is not None]
