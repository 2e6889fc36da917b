"""What of a run goes into a file: the numbers before they are rounded, and the error bars."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.io.files import Loaded, write
from tensorfill.result.completion import Completion
from tensorfill.result.intervals import LEVEL as LEVEL


def unrounded(done: Completion) -> Any:
    """What is known and the model's mean elsewhere, full shape: not rounded, whatever the data are."""
    out = np.array(done.full, dtype=np.float64)
    out.reshape(-1)[done.observations.flat] = done.observations.values
    return out


def write_bars(path: str, done: Completion, loaded: Loaded) -> None:
    """Write how far the truth may be from each number, as floats: the longer side of its interval, which is cut off at
    the ends of what the data can be.
    """
    assert done.bars is not None
    (low, high), middle = done.bounds, unrounded(done)
    reach = np.maximum(high - middle, middle - low).astype(done.bars.half.dtype)
    like = replace(loaded.floating(reach.dtype), values=reach, mask=None, indices=None, values_coo=None)
    write(path, reach, like)
