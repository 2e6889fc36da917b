"""The hole of a picture, cut once more where the picture is known: what fills it there best may serve in the hole.

A hole is continued along the edges that arrive at its border, or smoothly: as a skin, or as a plate that keeps its
slope. The first is far better where a few clear edges cross it, the second where there is texture, whose edges end
inside, the third where all is smooth. Holes of the same form in the nearest known surroundings tell how much of each,
and how far off the answer may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.interelement.continuation import continued

Array = NDArray[Any]
Mask = NDArray[np.bool_]

PLACES = 8  # holes that are cut, at most
ENOUGH = 3  # of them; where there is no room for so many, the form is made smaller
CLEAR = 4  # known pixels around each
CONTEXT = 24  # pixels around each that are looked at
RAMP = 6  # pixels from the border over which the smooth filling comes in: next to it edges are never in doubt


SHARES = 5  # steps from none to all of one way to fill


@dataclass(frozen=True)
class Evidence:
    """What holes elsewhere tell: the shares of "flat" and "stiff" continuation, and the root mean square error."""

    flat: float = 0.0
    stiff: float = 0.0
    error: float = np.nan

    def softened(self, X: Array, known: Mask) -> Array:
        """X (H, W, C), edges continued, with these shares of the smooth ways inside its gaps."""
        turn = [share * (continued(X, known, how) - X) for how, share in self.shares.items() if share > 0]
        return X + ramp(known)[..., None] * sum(turn) if turn else X

    @property
    def shares(self) -> dict[str, float]:
        return {"flat": self.flat, "stiff": self.stiff}


def evidence(T: Array, known: Mask) -> Evidence:
    """From holes like the deepest of T (H, W, C), cut around it; none where there is no room for any.

    The shares are those with the least mean of log squared errors, a hole each: where edges go on they do so by far.
    """
    steps = np.arange(SHARES + 1) / SHARES
    pairs = [(a, b) for a in steps for b in steps if a + b <= 1 + 1e-9]
    squares = []
    for window, hidden in places(known):
        kept = known[window] & ~hidden
        C = continued(T[window], kept)
        flat, stiff = (
            (ramp(kept)[..., None] * (continued(T[window], kept, how) - C))[hidden] for how in ("flat", "stiff")
        )
        off = (T[window] - C)[hidden]
        squares.append([np.mean((off - a * flat - b * stiff) ** 2) for a, b in pairs])
    if not squares:
        return Evidence()
    rounding = max(float(np.ptp(T[known])) / 255, np.finfo(float).tiny) ** 2  # nothing is known better than that
    best = int(np.argmin(np.log(np.array(squares) + rounding).mean(axis=0)))
    a, b = pairs[best]
    return Evidence(float(a), float(b), float(np.sqrt(np.mean(squares, axis=0)[best])))


def ramp(known: Mask) -> Array:
    """0 where known, rising to 1 inside the gaps: (H, W)."""
    from scipy.ndimage import distance_transform_edt

    return np.minimum(distance_transform_edt(~known) / RAMP, 1.0)


def places(known: Mask) -> Iterator[tuple[tuple[slice, slice], Mask]]:
    """Windows around holes of the form of the deepest gap, nearest first, each with the hole in it."""
    form, centre = deepest(known)
    while min(form.shape) > CLEAR:
        corners = room(known, form.shape, centre)
        if len(corners) >= ENOUGH:
            break
        form = form[::2, ::2]
    else:
        return
    for corner in corners:
        window = tuple(
            slice(max(0, a - CONTEXT), min(n, a + side + CONTEXT))
            for a, side, n in zip(corner, form.shape, known.shape, strict=True)
        )
        hidden = np.zeros(known.shape, dtype=bool)
        hidden[corner[0] : corner[0] + form.shape[0], corner[1] : corner[1] + form.shape[1]] = form
        yield window, hidden[window]  # type: ignore[misc]


def deepest(known: Mask) -> tuple[Mask, Array]:
    """The gap that reaches furthest from what is known, in its box, and the middle of that."""
    from scipy.ndimage import distance_transform_edt, find_objects, label

    gaps, _ = label(~known)
    depth = distance_transform_edt(~known)
    k = int(gaps.ravel()[int(depth.argmax())])
    box = find_objects(gaps)[k - 1]
    return gaps[box] == k, np.array([(s.start + s.stop) / 2 for s in box])


def room(known: Mask, sides: tuple[int, ...], centre: Array) -> list[tuple[int, int]]:
    """Corners of up to PLACES boxes of these sides with nothing but known pixels in and around them: the nearest to
    `centre`, half a side apart.
    """
    missing = np.pad(~known, ((1, 0), (1, 0))).astype(np.int64).cumsum(axis=0).cumsum(axis=1)
    wide = [side + 2 * CLEAR for side in sides]
    if any(w > n for w, n in zip(wide, known.shape, strict=True)):
        return []
    step = max(1, min(sides) // 8)
    y, x = (np.arange(0, n - w + 1, step) for n, w in zip(known.shape, wide, strict=True))
    top, left = np.meshgrid(y, x, indexing="ij")
    bottom, right = top + wide[0], left + wide[1]
    inside = missing[bottom, right] - missing[top, right] - missing[bottom, left] + missing[top, left]
    free = np.argwhere(inside == 0) * step
    apart = np.hypot(*(free + np.array(wide) / 2 - centre).T)
    chosen: list[tuple[int, int]] = []
    for a, b in free[np.argsort(apart, kind="stable")]:
        if all(max(abs(a - c), abs(b - d)) >= min(sides) / 2 for c, d in chosen):
            chosen.append((int(a), int(b)))
        if len(chosen) == PLACES:
            break
    return [(a + CLEAR, b + CLEAR) for a, b in chosen]
