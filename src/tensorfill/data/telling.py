"""Warnings about data that were completed: that nothing was missing, or that rows are absent from a table."""

from __future__ import annotations

import warnings
from typing import Any

from tensorfill.data.caller import caller_level
from tensorfill.data.formats.long import guess_columns
from tensorfill.data.formats.steps import step_note
from tensorfill.data.labels import carried, tidy
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.data.sentinels import sentinels

LONGEST = 100_000  # labels that are looked at, one by one


def tell(obs: Observations, whole: bool) -> None:
    """A DataWarning for each of these; `whole`: nothing was missing, the data are returned as they are."""
    for line in (*(_nothing_missing(obs) if whole else []), *_absent(obs)):
        warnings.warn(line, DataWarning, stacklevel=caller_level())


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
    found = carried(obs)
    moments = {
        dim: tidy(found[dim]) for dim, n in zip(obs.dims, obs.shape, strict=True) if dim in found and n <= LONGEST
    }
    notes = (step_note(dim, list(at)) for dim, at in moments.items() if at.dtype.kind == "M")
    return [note for note in notes if note is not None]
