"""Thin gaps in a picture (scratches, text), moved a little to where the picture is known, and filled there.

Passes of self-similarity are far better than a plate through the border where there is texture, and a little worse
where all is smooth; and they go further from a start that is partly a plate than from edges continued. The same gaps
next to where they are tell how much of each, and how far off the answer is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tensorfill.methods.image.diffusion import continued
from tensorfill.methods.image.validate_holes import SHARES, Evidence
from tensorfill.methods.image.windows import each
from tensorfill.typing import Array

Mask = NDArray[np.bool_]

SIDE, TRIALS = 96, 2  # pixels of a window, and in how many of them passes are tried: those with the most to fill
# Of a large picture one more for each of so many pixels, up to MOST, wherever there are gaps: two say little of it all.
EACH, MOST = 2**20, 12
PLAIN = 160  # windows that are filled without passes, for the start and the error: squares of a dozen are off by half
LEAST = 30  # pixels to judge by

Place = tuple[tuple[slice, slice], Mask]


def validate_scratches(
    X: Array, known: Mask, passed: Callable[[Array, Mask], Array] | None, threads: int = 1
) -> Evidence:
    """From the gaps of X (H, W, C), moved; none where there is no room. `passed` makes the passes over a window of a
    picture whose gaps were continued, given where it is known; None: there are none, or no time to try them. What X
    holds in its gaps is not read.

    Passes start from the best mixture of continued edges and a plate. From it 6 of them are .2 dB better than from the
    edges, and 4 as good as 6 (scratches over parts of 256 x 256 of twelve pictures of scikit-image). The error told is
    that of the start wherever there are gaps, times what passes and the last share of the plate gain where tried.
    """
    steps = np.arange(SHARES + 1) / SHARES

    def filled(place: Place) -> tuple[Array, Array, Array]:
        window, hidden = place
        T, kept = X[window], known[window] & ~hidden
        return T, continued(T, kept), continued(T, kept, "stiff")

    def plain(place: Place) -> tuple[list[float], int]:
        T, edges, plate = (Y[place[1]] for Y in filled(place))
        return [float(np.sum((edges + a * (plate - edges) - T) ** 2)) for a in steps], T.size

    def trial(place: Place, passed: Callable[[Array, Mask], Array]) -> list[float]:
        (window, hidden), (T, edges, plate) = place, filled(place)
        begun = edges + start * (plate - edges)
        C = passed(begun, known[window] & ~hidden)
        shares = [float(np.sum(((C + a * (plate - C)) - T)[hidden] ** 2)) for a in steps]
        return [*shares, float(np.sum((begun - T)[hidden] ** 2))]

    places = moved(known)
    if not places:
        return Evidence()
    sums, counts = zip(*each(plain, _spread(places, PLAIN), threads), strict=True)
    first = np.sum(sums, axis=0)
    start = float(steps[first.argmin()])
    if passed is None:
        return Evidence(error=float(np.sqrt(first.min() / sum(counts))), over=1, start=start)
    tried = each(lambda place: trial(place, passed), _some(places, known.size), threads)
    *squares, begun = np.sum(tried, axis=0)
    best = int(np.argmin(squares))
    gain = squares[best] / begun if begun > 0 else 1.0
    error = float(np.sqrt(gain * first.min() / sum(counts)))
    return Evidence(stiff=float(steps[best]), error=error, over=1, start=start)


def _some(places: list[Place], pixels: int) -> list[Place]:
    """Where passes are tried."""
    count = min(TRIALS + pixels // EACH, MOST)
    return sorted(places, key=lambda place: -place[1].sum())[:TRIALS] if count == TRIALS else _spread(places, count)


def _spread(places: list[Place], count: int) -> list[Place]:
    """At most so many, from all over the picture."""
    return [places[i] for i in np.unique(np.linspace(0, len(places) - 1, count).astype(int))]


def moved(known: Mask) -> list[Place]:
    """Windows with gaps, each with these gaps moved to known pixels by little more than they are wide."""
    from scipy.ndimage import distance_transform_edt

    far = 2 * int(np.ceil(distance_transform_edt(~known).max())) + 1
    places = []
    for top in range(0, known.shape[0], SIDE):
        for left in range(0, known.shape[1], SIDE):
            window = slice(top, top + SIDE), slice(left, left + SIDE)
            if not known[window].all():
                hidden = max((_shifted(~known[window], *by) & known[window] for by in _ways(far)), key=np.sum)
                places += [(window, hidden)] if hidden.sum() >= LEAST else []
    return places


def _ways(far: int) -> list[tuple[int, int]]:
    return [(far, 0), (0, far), (far, far), (far, -far)]


def _shifted(gaps: Mask, down: int, right: int) -> Mask:
    """The gaps of a window (H, W) moved inside it; what leaves it is lost, all of it in a window narrower than that."""
    out = np.zeros_like(gaps)
    H, W = gaps.shape
    if down < H and abs(right) < W:
        out[down:, max(0, right) : W + min(0, right)] = gaps[: H - down, max(0, -right) : W - max(0, right)]
    return out
