"""Continuation: what arrives at the border of a gap in a picture goes on inside it.

Lines and edges arrive with a direction. The structure tensor J of the picture around the gap (mean of outer products of
its gradient, over all channels) is continued into the gap as a smooth field, and the picture is then the minimiser of

    sum over cells  grad X' D grad X  +  FLOOR * (|grad X|^2 + |laplacian X|^2),   X given outside the gap,

where D hinders change along the edges of J and lets it happen across them. One sparse system for all channels. A gap
deeper than that is cheap for is continued on a picture of half the size first, and then sharpened along its rim.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.methods.image.pyramid import doubled, halved
from tensorfill.methods.image.windows import each
from tensorfill.solvers.base import check_time

Array = NDArray[Any]
Mask = NDArray[np.bool_]

# Set on holes of 50 and 100 pixels in astronaut, coffee, camera and motorcycle of scikit-image, three places each. Each
# is flat within a factor of 3 (.1 dB), but for EDGE, where 100 is .6 dB worse and 20 1.4 dB.
EDGE = 1000.0  # how many times harder it is to change along an edge than across it
FLOOR = 0.003  # weight of the terms without a direction, which make the solution unique
BLUR = 1.5  # pixels over which the structure tensor is averaged
OWN = 0.3  # weight of what was continued, beside what is known, in the structure tensor of the second round
ROUNDS = 2  # the second continues edges with the directions that the first found in the gap
MARGIN = 12  # pixels around a gap that are looked at: beyond, the average has no weight
DEEPEST = 64  # pixels: a deeper gap is filled on a picture of half the size first
RIM = 8  # pixels along the border of such a gap that are then solved for at full size
LARGEST = 2**18  # pixels: a larger window with a thin gap is cut
CELL = 256  # side of the cells, in pixels, that it is cut into


def continued(T: Array, known: Mask, how: str = "edges", threads: int = 1) -> Array:
    """The picture T (H, W, C) with what is not known (H, W) continued from what is; what T holds there is not read.

    `how`: "edges" go on, as above; "flat", the least |grad X|^2, as a skin over the gap; "stiff", the least
    |laplacian X|^2, as a plate that keeps the slope it arrives with. Same bits for any number of threads.
    """
    from scipy.ndimage import find_objects, label, maximum_filter

    X = np.where(known[..., None], T, 0.0)
    near, _ = label(maximum_filter(~known, size=2 * MARGIN + 1))
    pieces = []
    for k, box in enumerate(find_objects(near), start=1):
        own = ~known[box] & (near[box] == k)
        pieces += [(X[box][window], known[box][window], core) for window, core in _cut(own)]

    def fill(piece: tuple[Array, Mask, Mask]) -> None:
        check_time()
        # it reads known pixels only, which no other piece writes, and writes pixels that no other piece reads
        part, given, core = piece
        part[core] = _window(part, given, how)[core]

    each(fill, pieces, threads)
    return X


def _cut(gap: Mask) -> Iterator[tuple[tuple[slice, slice], Mask]]:
    """Windows that hold the gap together, each with what of the gap is its own. A long scratch is cut: what arrives at
    its border comes from no further than it is wide.
    """
    from scipy.ndimage import distance_transform_edt

    if gap.size <= LARGEST:
        yield (slice(None), slice(None)), gap
        return
    depth = float(distance_transform_edt(gap).max())
    if depth > DEEPEST:
        yield (slice(None), slice(None)), gap
        return
    margin = MARGIN + int(2 * depth)
    for top in range(0, gap.shape[0], CELL):
        for left in range(0, gap.shape[1], CELL):
            if not gap[top : top + CELL, left : left + CELL].any():
                continue
            rows, columns = (slice(max(0, a - margin), a + CELL + margin) for a in (top, left))
            core = np.zeros_like(gap[rows, columns])
            inside = tuple(slice(a - s.start, a - s.start + CELL) for a, s in ((top, rows), (left, columns)))
            core[inside] = gap[top : top + CELL, left : left + CELL]
            yield (rows, columns), core


def _window(T: Array, known: Mask, how: str) -> Array:
    """As `continued`, of a window that holds the gap."""
    from scipy.ndimage import distance_transform_edt

    low, high = T[known].min(), T[known].max()
    X = np.where(known[..., None], (T - low) / ((high - low) or 1.0), 0.0)  # the constants above are for 0..1
    depth = distance_transform_edt(~known)
    solved, trust = ~known, 0.0
    if depth.max() > DEEPEST:
        half, seen = halved(X, np.broadcast_to(known[..., None], X.shape))
        X = np.where(known[..., None], X, doubled(continued(half, seen[..., 0], how), X.shape))
        solved, trust = ~known & (depth <= RIM), OWN
    for _ in range(ROUNDS if how == "edges" else 1):
        X = _minimiser(_form(how, X, known, trust, solved), X, solved)
        trust = OWN
    return np.clip(X, 0, 1) * ((high - low) or 1.0) + low


def _form(how: str, X: Array, known: Mask, trust: float, free: Mask) -> Any:
    """The rows of the quadratic form to minimise that belong to the free pixels, sparse (free, H W)."""
    if how == "flat":
        return -_laplacian(free)
    if how == "stiff":
        L = _laplacian(_reached(free))
        return (L[:, free.ravel()].T @ L).tocsr()
    return _stiffness(X, known, trust, free)


def _stiffness(X: Array, known: Mask, trust: float, free: Mask) -> Any:
    """The rows of the form that lets edges go on; `trust` is the weight of gradients in the gap."""
    from scipy import sparse

    yy, xy, xx = np.moveaxis(_structure(X, known, trust), -1, 0)
    apart = np.hypot(yy - xx, 2 * xy) + 1e-12  # of the eigenvalues; near zero where nothing has a direction
    coherent = apart / (yy + xx + 1e-9)
    hindered = 1 - 1 / (1 + EDGE * coherent**2)  # D = 1 - hindered n n', n the direction of the gradient
    dyy = 1 - hindered * 0.5 * (1 + (yy - xx) / apart)
    dxx = 1 - hindered * 0.5 * (1 - (yy - xx) / apart)
    dxy = -hindered * xy / apart
    cells = free[1:, 1:] | free[:-1, 1:] | free[1:, :-1] | free[:-1, :-1]  # all others are the same for any answer
    down, across = _gradients(cells)
    D = [sparse.diags_array(d[cells]) for d in (dyy, dxx, dxy)]
    at = free.ravel()
    down_free, across_free = down[:, at].T, across[:, at].T
    form = down_free @ (D[0] @ down + D[2] @ across) + across_free @ (D[1] @ across + D[2] @ down)
    L = _laplacian(_reached(free))
    return (form + FLOOR * (L[:, at].T @ L - _laplacian(free))).tocsr()


def _structure(X: Array, known: Mask, trust: float) -> Array:
    """The structure tensor at the centre of every cell of four pixels, (H - 1, W - 1, 3): yy, xy, xx."""
    down, across = np.diff(X, axis=0), np.diff(X, axis=1)
    gy, gx = (down[:, 1:] + down[:, :-1]) / 2, (across[1:] + across[:-1]) / 2
    whole = known[1:, 1:] & known[:-1, 1:] & known[1:, :-1] & known[:-1, :-1]
    J = np.stack([(gy * gy).sum(-1), (gx * gy).sum(-1), (gx * gx).sum(-1)], axis=-1)
    return _averaged(J, np.where(whole, 1.0, trust))


def _averaged(J: Array, weight: Array) -> Array:
    """J (h, w, 3) averaged over neighbours by their weight (h, w), and continued where none has any."""
    from scipy.ndimage import gaussian_filter

    total = gaussian_filter(weight, BLUR)
    J = gaussian_filter(J * weight[..., None], (BLUR, BLUR, 0)) / np.maximum(total, 1e-12)[..., None]
    empty = total < 0.05
    if not empty.any() or empty.all():
        return J
    return _minimiser(-_laplacian(empty), J, empty)


def _minimiser(rows: Any, X: Array, free: Mask) -> Array:
    """X (H, W, C) with the free pixels (H, W) where a quadratic form is least, given all others. `rows` are the rows of
    the form's matrix that belong to the free pixels, sparse (free, H W).
    """
    from scipy.sparse.linalg import splu

    at, flat = free.ravel(), X.reshape(-1, X.shape[-1]).copy()
    flat[at] = 0.0
    flat[at] = splu(rows[:, at].tocsc()).solve(np.ascontiguousarray(-(rows @ flat)))
    return flat.reshape(X.shape)


def _gradients(cells: Mask) -> tuple[Any, Any]:
    """Down and across, at the centre of these cells of four pixels: sparse (cells, H W)."""
    from scipy import sparse

    W = cells.shape[1] + 1
    corner = np.flatnonzero(np.pad(cells, ((0, 1), (0, 1))))
    columns = (corner[:, None] + np.array([0, 1, W, W + 1])).ravel()
    ends = np.arange(0, 4 * len(corner) + 1, 4)
    shape = (len(corner), (cells.shape[0] + 1) * W)

    def made(signs: list[float]) -> Any:
        return sparse.csr_array((np.tile(signs, len(corner)), columns, ends), shape=shape)

    return made([-0.5, -0.5, 0.5, 0.5]), made([-0.5, 0.5, -0.5, 0.5])


def _laplacian(rows: Mask) -> Any:
    """These rows of the Laplacian of a grid whose edges are free, sparse (rows, H W)."""
    from scipy import sparse

    H, W = rows.shape
    y, x = np.nonzero(rows)
    here, each = y * W + x, np.arange(len(y))
    at, column, value = [each], [here], [np.zeros(len(y))]
    for there, exists in ((here - W, y > 0), (here + W, y < H - 1), (here - 1, x > 0), (here + 1, x < W - 1)):
        at.append(each[exists])
        column.append(there[exists])
        value.append(np.ones(int(exists.sum())))
        value[0] -= exists
    entries = (np.concatenate(value), (np.concatenate(at), np.concatenate(column)))
    return sparse.csr_array(entries, shape=(len(y), H * W))


def _reached(free: Mask) -> Mask:
    """What is free, and its four neighbours."""
    out = free.copy()
    out[1:] |= free[:-1]
    out[:-1] |= free[1:]
    out[:, 1:] |= free[:, :-1]
    out[:, :-1] |= free[:, 1:]
    return out
