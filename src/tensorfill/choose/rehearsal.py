"""Thin gaps in a picture (scratches, text), moved a little to where the picture is known, and filled there.

Passes of self-similarity are far better than a plate through the border where there is texture, and a little worse
where all is smooth. The same gaps next to where they are tell how much of each, and how far off the answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.elsewhere import SHARES, Evidence
from tensorfill.interelement.continuation import continued

Array = NDArray[Any]
Mask = NDArray[np.bool_]

SIDE, TRIALS = 96, 2  # pixels of a window, and how many of them: those with the most to fill
LEAST = 30  # pixels to judge by


def rehearsal(X: Array, known: Mask, passed: Callable[[Array, Mask], Array]) -> Evidence:
    """From the gaps of X (H, W, C), moved; none where there is no room. `passed` makes the passes over a window of a
    picture whose gaps were continued, given where it is known.
    """
    steps, squares, count = np.arange(SHARES + 1) / SHARES, np.zeros(SHARES + 1), 0
    for window, hidden in moved(known):
        T, kept = X[window], known[window] & ~hidden
        C = passed(continued(T, kept), kept)
        off, turn = (T - C)[hidden], (continued(T, kept, "stiff") - C)[hidden]
        squares += [np.sum((off - a * turn) ** 2) for a in steps]
        count += off.size
    if count == 0:
        return Evidence()
    best = int(squares.argmin())
    return Evidence(stiff=float(steps[best]), error=float(np.sqrt(squares[best] / count)), over=1)


def moved(known: Mask) -> Iterator[tuple[tuple[slice, slice], Mask]]:
    """Windows with the most gaps, each with these gaps moved to known pixels by little more than they are wide."""
    from scipy.ndimage import distance_transform_edt

    far = 2 * int(np.ceil(distance_transform_edt(~known).max())) + 1
    tries = []
    for top in range(0, known.shape[0], SIDE):
        for left in range(0, known.shape[1], SIDE):
            window = slice(top, top + SIDE), slice(left, left + SIDE)
            if not known[window].all():
                hidden = max((_shifted(~known[window], *by) & known[window] for by in _ways(far)), key=np.sum)
                tries.append((int(hidden.sum()), window, hidden))
    tries.sort(key=lambda found: -found[0])
    for size, window, hidden in tries[:TRIALS]:
        if size >= LEAST:
            yield window, hidden


def _ways(far: int) -> list[tuple[int, int]]:
    return [(far, 0), (0, far), (far, far), (far, -far)]


def _shifted(gaps: Mask, down: int, right: int) -> Mask:
    out = np.zeros_like(gaps)
    H, W = gaps.shape
    out[down:, max(0, right) : W + min(0, right)] = gaps[: H - down, max(0, -right) : W - max(0, right)]
    return out
