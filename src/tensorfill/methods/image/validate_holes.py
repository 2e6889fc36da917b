"""The hole of a picture, cut once more where the picture is known: what fills it there best may serve in the hole.

A hole is continued along the edges that arrive at its border, or smoothly: as a skin, or as a plate that keeps its
slope. The first is far better where a few clear edges cross it, the second where there is texture, whose edges end
inside, the third where all is smooth. Holes of the same form in the nearest known surroundings tell how much of each,
and how far off the answer may be; and so do strips along the border, hidden together with the hole. On 78 holes of 50
and 100 pixels in thirteen pictures of scikit-image the strips add .15 dB to the holes, and roots of squares instead of
their logarithms another .1 dB; blurred borders and the methods of Telea and of Navier and Stokes as further ways add
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorfill.methods.image.diffusion import continued
from tensorfill.typing import Array

Mask = NDArray[np.bool_]

PLACES = 8  # holes that are cut, at most
ENOUGH = 3  # of them; where there is no room for so many, the form is made smaller
CLEAR = 4  # known pixels around each
NEAR = 3  # a hole is made larger by one part in so many of its side
CONTEXT = 24  # pixels around each that are looked at
RAMP = 6  # pixels from the border over which the smooth filling comes in: next to it edges are never in doubt


SHARES = 5  # steps from none to all of one way to fill


@dataclass(frozen=True)
class Evidence:
    """What holes elsewhere tell: the shares of "flat" and "stiff" continuation, and the root mean square error."""

    flat: float = 0.0
    stiff: float = 0.0
    error: float = np.nan
    over: int = RAMP  # pixels from the border over which they come in
    start: float = 0.0  # share of "stiff" in what passes start from

    def begun(self, X: Array, known: Mask, threads: int = 1) -> Array:
        """X (H, W, C), not read in its gaps, with these continued: what passes start from."""
        if self.only is not None:
            return continued(X, known, self.only, threads)
        if self.start in (0, 1):
            return continued(X, known, "stiff" if self.start else "edges", threads)
        edges, plate = (continued(X, known, how, threads) for how in ("edges", "stiff"))
        return edges + self.start * (plate - edges)

    def softened(self, X: Array, known: Mask, threads: int = 1) -> Array:
        """X (H, W, C), edges continued, with these shares of the smooth ways inside its gaps."""
        ways = [(how, share) for how, share in self.shares.items() if share > 0]
        if not ways:
            return X
        out, gaps = X.copy(), ~known
        weight = ramp(known, self.over)[gaps][:, None]
        for how, share in ways:
            out[gaps] += share * weight * (continued(X, known, how, threads)[gaps] - X[gaps])
        return out

    @property
    def only(self) -> str | None:
        """The one smooth way of which all gaps are filled, if it is one and nothing else remains."""
        return next((how for how, share in self.shares.items() if share == 1 and self.over <= 1), None)

    @property
    def shares(self) -> dict[str, float]:
        return {"flat": self.flat, "stiff": self.stiff}


def validate_holes(T: Array, known: Mask) -> Evidence:
    """From holes like the deepest of T (H, W, C), cut around it, and from that hole made larger; none where there is no
    room for any. The shares are those with the least mean of root mean square errors. The error told is the root of the
    mean square of both kinds: on those 78 holes right in the median, and within a factor of 1.6 for two of three.
    """
    steps = np.arange(SHARES + 1) / SHARES
    pairs = [(a, b) for a in steps for b in steps if a + b <= 1 + 1e-9]
    squares = [_squares(T, known, *place, pairs) for place in places(known)]
    larger = [_squares(T, known, *place, pairs) for place in enlarged(known)]
    if not squares and not larger:
        return Evidence()
    rounding = max(float(np.ptp(T[known])) / 255, np.finfo(float).tiny) ** 2  # nothing is known better than that
    best = int(np.argmin(np.sqrt(np.array(squares + larger) + rounding).mean(axis=0)))
    a, b = pairs[best]
    error = np.sqrt(np.mean([np.mean(some, axis=0)[best] for some in (squares, larger) if some]))
    return Evidence(float(a), float(b), float(error))


def _squares(
    T: Array, known: Mask, window: tuple[slice, slice], hidden: Mask, pairs: Sequence[tuple[float, float]]
) -> list[float]:
    """Mean square errors of these shares of flat and stiff where something was hidden in a window."""
    kept = known[window] & ~hidden
    C = continued(T[window], kept)
    turn = ramp(kept)[..., None]
    flat, stiff = ((turn * (continued(T[window], kept, how) - C))[hidden] for how in ("flat", "stiff"))
    off = (T[window] - C)[hidden]
    return [float(np.mean((off - a * flat - b * stiff) ** 2)) for a, b in pairs]


def ramp(known: Mask, over: int = RAMP) -> Array:
    """0 where known, rising to 1 inside the gaps: (H, W)."""
    from scipy.ndimage import distance_transform_edt

    if over <= 1:  # a gap is at least a pixel from what is known
        return np.where(known, 0.0, 1.0)
    return np.minimum(distance_transform_edt(~known) / over, 1.0)


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


def enlarged(known: Mask) -> Iterator[tuple[tuple[slice, slice], Mask]]:
    """The window of the deepest gap, and what that gap hides besides if it is moved by a third of its side, to each of
    four sides: it is next to what is asked for.
    """
    form, centre = deepest(known)
    corner = [round(c - side / 2) for c, side in zip(centre, form.shape, strict=True)]
    for mode, sign in ((0, -1), (0, 1), (1, -1), (1, 1)):
        by = sign * max(CLEAR, form.shape[mode] // NEAR)
        hidden = np.zeros(known.shape, dtype=bool)
        at = [c + (by if n == mode else 0) for n, c in enumerate(corner)]
        low = [max(0, a) for a in at]
        inner = tuple(slice(b - a, None) for a, b in zip(at, low, strict=True))
        part = form[inner][: known.shape[0] - low[0], : known.shape[1] - low[1]]
        hidden[low[0] : low[0] + part.shape[0], low[1] : low[1] + part.shape[1]] = part
        hidden &= known
        if hidden.sum() * 2 * NEAR < form.sum():
            continue
        ends = [(min(a, c), max(a, c) + side) for a, c, side in zip(at, corner, form.shape, strict=True)]
        window = tuple(slice(max(0, a - CONTEXT), b + CONTEXT) for a, b in ends)
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
