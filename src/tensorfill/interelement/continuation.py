"""Continuation: what arrives at the border of a gap in a picture goes on inside it.

Lines and edges arrive with a direction. The structure tensor J of the picture around the gap (mean of outer products of
its gradient, over all channels) is continued into the gap as a smooth field, and the picture is then the minimiser of

    sum over cells  grad X' D grad X  +  FLOOR * (|grad X|^2 + |laplacian X|^2),   X given outside the gap,

where D hinders change along the edges of J and lets it happen across them. One sparse system for all channels. A gap
deeper than that is cheap for is continued on a picture of half the size first, and then sharpened along its rim.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]

# Set on holes of 50 and 100 pixels in astronaut, coffee, camera and motorcycle of scikit-image, three places each. Each
# is flat within a factor of 3 (.1 dB), but for EDGE, where 100 is .6 dB worse and 20 1.4 dB.
EDGE = 1000.0  # how many times harder it is to change along an edge than across it
FLOOR = 0.003  # of the terms that know no direction, so that the system has one solution
BLUR = 1.5  # pixels over which the structure tensor is averaged
OWN = 0.3  # weight of what was continued, beside what is known, in the structure tensor of the second round
ROUNDS = 2
MARGIN = 12  # pixels around a gap that are looked at: beyond, the average has no weight
DEEPEST, RIM = (
    64,
    8,
)  # depth in pixels solved for at once; and of the rim, where the inside comes from a smaller picture


def continued(T: Array, known: Mask) -> Array:
    """The picture T (H, W, C) with what is not known (H, W) continued from what is; what T holds there is not read."""
    from scipy.ndimage import find_objects, label, maximum_filter

    X = np.where(known[..., None], T, 0.0)
    near, _ = label(maximum_filter(~known, size=2 * MARGIN + 1))
    for k, box in enumerate(find_objects(near), start=1):
        own = ~known[box] & (near[box] == k)
        X[box][own] = _window(X[box], known[box])[own]
    return X


def _window(T: Array, known: Mask) -> Array:
    """As `continued`, of a window that holds the gap."""
    from scipy.ndimage import distance_transform_edt

    low, high = T[known].min(), T[known].max()
    X = np.where(known[..., None], (T - low) / ((high - low) or 1.0), 0.0)  # directions are those of no unit
    depth = distance_transform_edt(~known)
    solved, trust = ~known, 0.0
    if depth.max() > DEEPEST:
        X = np.where(known[..., None], X, _doubled(continued(*_halved(X, known)), known.shape))
        solved, trust = ~known & (depth <= RIM), OWN
    for _ in range(ROUNDS):
        X = _minimiser(_stiffness(X, known, trust), X, solved)
        trust = OWN
    return X * ((high - low) or 1.0) + low


def _stiffness(X: Array, known: Mask, trust: float) -> Any:
    """The quadratic form, sparse (H W, H W); `trust` is the weight of gradients in the gap."""
    from scipy import sparse

    H, W, C = X.shape
    down, across = _gradients(H, W)
    gy, gx = ((G @ X.reshape(-1, C)).reshape(H - 1, W - 1, C) for G in (down, across))
    whole = known[1:, 1:] & known[:-1, 1:] & known[1:, :-1] & known[:-1, :-1]
    J = np.stack([(gy * gy).sum(-1), (gx * gy).sum(-1), (gx * gx).sum(-1)], axis=-1)
    yy, xy, xx = np.moveaxis(_averaged(J, np.where(whole, 1.0, trust)), -1, 0)
    apart = np.hypot(yy - xx, 2 * xy) + 1e-12  # of the eigenvalues; near zero where nothing has a direction
    coherent = apart / (yy + xx + 1e-9)
    hindered = 1 - 1 / (1 + EDGE * coherent**2)  # D = 1 - hindered n n', n the direction of the gradient
    dyy = 1 - hindered * 0.5 * (1 + (yy - xx) / apart)
    dxx = 1 - hindered * 0.5 * (1 - (yy - xx) / apart)
    dxy = -hindered * xy / apart
    D = [sparse.diags(d.ravel()) for d in (dyy, dxx, dxy)]
    L = _laplacian(H, W)
    mixed = down.T @ D[2] @ across
    form = down.T @ D[0] @ down + across.T @ D[1] @ across + mixed + mixed.T + FLOOR * (L.T @ L - L)
    return form.tocsr()


def _averaged(J: Array, weight: Array) -> Array:
    """J (h, w, 3) averaged over neighbours by their weight (h, w), and continued where none has any."""
    from scipy.ndimage import gaussian_filter

    total = gaussian_filter(weight, BLUR)
    J = gaussian_filter(J * weight[..., None], (BLUR, BLUR, 0)) / np.maximum(total, 1e-12)[..., None]
    empty = total < 0.05
    if not empty.any() or empty.all():
        return J
    return _minimiser(-_laplacian(*empty.shape), J, empty)


def _minimiser(form: Any, X: Array, free: Mask) -> Array:
    """X (H, W, C) with the free entries where the form is least given all others."""
    from scipy.sparse.linalg import splu

    at, flat = free.ravel(), X.reshape(-1, X.shape[-1]).copy()
    rows = form[at]
    flat[at] = splu(rows[:, at].tocsc()).solve(np.ascontiguousarray(-(rows[:, ~at] @ flat[~at])))
    return flat.reshape(X.shape)


def _gradients(H: int, W: int) -> tuple[Any, Any]:
    """Down and across, at the centre of every cell of four pixels: sparse ((H-1)(W-1), H W)."""
    from scipy import sparse

    def step(n: int) -> Any:
        return sparse.diags([-np.ones(n - 1), np.ones(n - 1)], [0, 1], shape=(n - 1, n))

    def mean(n: int) -> Any:
        return abs(step(n)) / 2

    return sparse.kron(step(H), mean(W)).tocsr(), sparse.kron(mean(H), step(W)).tocsr()


def _laplacian(H: int, W: int) -> Any:
    """Of a grid whose edges are free, sparse (H W, H W)."""
    from scipy import sparse

    def second(n: int) -> Any:
        step = sparse.diags([-np.ones(n - 1), np.ones(n - 1)], [0, 1], shape=(n - 1, n))
        return -(step.T @ step)

    return (sparse.kron(second(H), sparse.eye(W)) + sparse.kron(sparse.eye(H), second(W))).tocsr()


def _halved(X: Array, known: Mask) -> tuple[Array, Mask]:
    """Means of what is known of 2 x 2 pixels, and where half of them are."""
    H, W = known.shape
    odd = ((0, H % 2), (0, W % 2))
    weight = np.pad(known.astype(float), odd)
    values = np.pad(X, (*odd, (0, 0))) * weight[..., None]
    count = weight.reshape(-(-H // 2), 2, -1, 2).sum(axis=(1, 3))
    total = values.reshape(*count.shape[:1], 2, count.shape[1], 2, -1).sum(axis=(1, 3))
    return total / np.maximum(count, 1)[..., None], count >= 2


def _doubled(X: Array, shape: tuple[int, ...]) -> Array:
    """Twice as many pixels, on lines between the old ones: (*shape, C)."""
    from scipy.ndimage import map_coordinates

    at = np.meshgrid(*((np.arange(n) + 0.5) / 2 - 0.5 for n in shape), indexing="ij")
    return np.stack([map_coordinates(x, at, order=1, mode="nearest") for x in np.moveaxis(X, -1, 0)], axis=-1)
