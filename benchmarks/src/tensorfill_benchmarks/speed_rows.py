"""One figure of the speed table: its limit, and how it is measured beside its reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One line of speed.csv."""

    name: str
    seconds: float | None  # None where the figure is not a time
    reference_seconds: float | None
    ratio: float
    target: str
    ok: bool


def at_most(name: str, limit: float, ratio: float, seconds: float | None = None, reference: float | None = None) -> Row:
    """A figure that must not exceed `limit`."""
    return Row(name, seconds, reference, ratio, f"<= {limit:g}", ratio <= limit)


def at_least(
    name: str, limit: float, ratio: float, seconds: float | None = None, reference: float | None = None
) -> Row:
    """A figure that must reach `limit`."""
    return Row(name, seconds, reference, ratio, f">= {limit:g}", ratio >= limit)


def side_by_side(functions: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Median seconds of each function, called in turn so that a busy machine slows all of them alike."""
    seconds = np.empty((repeats, len(functions)))
    for function in functions:
        function()
    for k in range(repeats):
        for f, function in enumerate(functions):
            start = perf_counter()
            function()
            seconds[k, f] = perf_counter() - start
    return [float(median) for median in np.median(seconds, axis=0)]
