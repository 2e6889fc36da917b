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
from tensorfill.choose.windows import each
from tensorfill.interelement.continuation import continued

Array = NDArray[Any]
Mask = NDArray[np.bool_]

SIDE, TRIALS = 96, 2  # pixels of a window, and how many of them: those with the most to fill
# Of a large picture one more for each of so many pixels, up to MOST, wherever there are gaps: two say little of it all.
EACH, MOST = 2**20, 12
LEAST = 30  # pixels to judge by


def rehearsal(X: Array, known: Mask, passed: Callable[[Array, Mask], Array], threads: int = 1) -> Evidence:
    """From the gaps of X (H, W, C), moved; none where there is no room. `passed` makes the passes over a window of a
    picture whose gaps were continued, given where it is known. What X holds in its gaps is not read.
    """
    steps = np.arange(SHARES + 1) / SHARES

    def trial(place: tuple[tuple[slice, slice], Mask]) -> tuple[Array, int]:
        window, hidden = place
        T, kept = X[window], known[window] & ~hidden
        C = passed(continued(T, kept), kept)
        off, turn = (T - C)[hidden], (continued(T, kept, "stiff") - C)[hidden]
        return np.array([np.sum((off - a * turn) ** 2) for a in steps]), off.size

    found = each(trial, list(moved(known)), threads)
    if not found:
        return Evidence()
    squares, count = sum(s for s, _ in found), sum(n for _, n in found)
    best = int(np.argmin(squares))
    return Evidence(stiff=float(steps[best]), error=float(np.sqrt(squares[best] / count)), over=1)


def moved(known: Mask) -> Iterator[tuple[tuple[slice, slice], Mask]]:
    """Windows with the most gaps, or of a large picture some all over it, each with these gaps moved to known pixels by
    little more than they are wide.
    """
    from scipy.ndimage import distance_transform_edt

    far = 2 * int(np.ceil(distance_transform_edt(~known).max())) + 1
    tries = []
    for top in range(0, known.shape[0], SIDE):
        for left in range(0, known.shape[1], SIDE):
            window = slice(top, top + SIDE), slice(left, left + SIDE)
            if not known[window].all():
                hidden = max((_shifted(~known[window], *by) & known[window] for by in _ways(far)), key=np.sum)
                if (size := int(hidden.sum())) >= LEAST:
                    tries.append((size, window, hidden))
    some = min(TRIALS + known.size // EACH, MOST)
    if some == TRIALS:
        tries.sort(key=lambda found: -found[0])
    elif len(tries) > some:
        tries = [tries[i] for i in np.linspace(0, len(tries) - 1, some).astype(int)]
    for _, window, hidden in tries[:some]:
        yield window, hidden


def _ways(far: int) -> list[tuple[int, int]]:
    return [(far, 0), (0, far), (far, far), (far, -far)]


def _shifted(gaps: Mask, down: int, right: int) -> Mask:
    out = np.zeros_like(gaps)
    H, W = gaps.shape
    out[down:, max(0, right) : W + min(0, right)] = gaps[: H - down, max(0, -right) : W - max(0, right)]
    return out
