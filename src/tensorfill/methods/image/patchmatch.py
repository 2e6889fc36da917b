"""Holes of a picture filled with texture: patches of what is known, put together without seams.

The smooth answer has the least error, and the eye sees its blur. Here every patch over a hole looks for its nearest
patch in what is known (PatchMatch: Barnes, Shechtman, Finkelstein and Goldman, SIGGRAPH 2009), guided by the smooth
answer. Patches vote on what they cover (Wexler, Shechtman and Irani, PAMI 2007), from a small copy of the picture to
the picture itself. In the end each pixel takes over the differences to its neighbours that its own nearest patch has,
and the hole is what has these differences and meets its border: Poisson's equation (Perez, Gangnet and Blake, SIGGRAPH
2003), which leaves no seams.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorfill.methods.image.diffusion import continued
from tensorfill.typing import Array

Mask = NDArray[np.bool_]

TEXTURES = ("smooth", "sharp")
RADIUS = 3  # patches of 7 x 7 pixels
ROUNDS = 6  # of search and vote on each size of the picture; on the smallest twice as many
SWEEPS = 2  # over all patches in each search
WIDTH = 200.0  # how many times less than their usual distance patches may differ to be averaged: more is sharper
BLUR, GUIDE = 6.0, 0.5  # pixels over which the smooth answer is averaged to guide the search, and how much that counts
# How much the mean slopes down and across count. Without them patches without detail are nearest to everything that is
# not yet like the rest, and fill a hole in grass with mist (Newson and others, SIAM J. Imaging Sciences 2014).
SLOPES = 3.0
TRUST = 1.3  # times less for each pixel further from what is known
FINEST = 0.1  # grey levels squared: distances of patches that make no difference, of 0..255


def check_texture(texture: str) -> None:
    """Refuse, with a sentence, what is no kind of texture."""
    if texture not in TEXTURES:
        msg = f"texture must be one of {', '.join(TEXTURES)}; got {texture!r}."
        raise ValueError(msg)


def fill_texture(X: Array, known: Mask, rng: np.random.Generator) -> Array:
    """Fill what is not known (H, W) of a picture X (H, W, C), which holds a smooth answer there, with texture; as it is
    where there is no whole patch to take.
    """
    from scipy.ndimage import gaussian_filter

    C = X.shape[2]
    guide = np.stack([gaussian_filter(X[..., c], BLUR, mode="nearest") for c in range(C)], axis=-1)
    pictures = [(np.concatenate([X, GUIDE * guide, SLOPES * slopes(X, known)], axis=2), known)]
    while depth(pictures[-1][1]) > RADIUS:
        small = halve(*pictures[-1])
        if np.count_nonzero(whole_patches(small[1])) < (2 * RADIUS + 1) ** 2:
            break
        pictures.append(small)
    near: Array | None = None
    for n, (Y, seen) in enumerate(reversed(pictures)):
        near = _fit(Y, seen, C, near, ROUNDS * (2 if n == 0 else 1), rng)
        if near is None:
            break
    return X if near is None else seamless(pictures[0][0][..., :C], known, near)


def slopes(X: Array, known: Mask) -> Array:
    """How steep the picture is around each pixel, down and across, (H, W, 2); in the gaps as it is at their border."""
    from scipy.ndimage import gaussian_filter

    def averaged(A: Array) -> Array:
        return np.asarray(gaussian_filter(A, BLUR, mode="nearest"))

    steep = []
    for mode in range(2):
        pair = np.delete(known, 0, mode) & np.delete(known, -1, mode)
        steps = np.where(pair, np.abs(np.diff(X, axis=mode)).mean(axis=2), 0.0)
        end = [(0, 1) if n == mode else (0, 0) for n in range(2)]
        total, count = averaged(np.pad(steps, end)), averaged(np.pad(pair.astype(float), end))
        steep.append(np.divide(total, count, out=np.zeros_like(total), where=count > 1e-3))
    return continued(np.stack(steep, axis=-1), known, "flat")


def depth(known: Mask) -> float:
    """How far the deepest missing pixel is from a known one."""
    from scipy.ndimage import distance_transform_edt

    return float(distance_transform_edt(~known).max())


def halve(X: Array, known: Mask) -> tuple[Array, Mask]:
    """The picture at half its size: means of 2 x 2 pixels, known where all four are."""
    H, W = X.shape[0] // 2 * 2, X.shape[1] // 2 * 2
    Y = X[:H, :W].reshape(H // 2, 2, W // 2, 2, -1).mean(axis=(1, 3))
    return Y, np.asarray(known[:H, :W].reshape(H // 2, 2, W // 2, 2).all(axis=(1, 3)))


def whole_patches(known: Mask) -> Mask:
    """Where patches have nothing but known pixels, and lie inside the picture."""
    from scipy.ndimage import binary_erosion

    return np.asarray(binary_erosion(known, np.ones((2 * RADIUS + 1,) * 2)))


def _fit(
    X: Array, known: Mask, colours: int, rough: Array | None, rounds: int, rng: np.random.Generator
) -> Array | None:
    """The centres (H, W, 2) of the nearest patches of all patches with a missing pixel, itself elsewhere; fills the
    first channels of X in place, its colours: their means and slopes, which follow, only guide. `rough` are the centres
    in the picture of half the size. None if there is no patch to take.
    """
    from scipy.ndimage import binary_dilation, distance_transform_edt

    from tensorfill.methods.image._patchmatch_kernels import match  # loads Numba

    whole = whole_patches(known)
    sources = np.argwhere(whole)
    if len(sources) == 0:
        return None
    touched = binary_dilation(~known, np.ones((2 * RADIUS + 1,) * 2))
    at, holes = np.argwhere(touched), np.argwhere(~known)
    near: Array = np.moveaxis(np.indices(known.shape), 0, -1).copy()
    near[touched] = sources[rng.integers(len(sources), size=len(at))]
    if rough is not None:
        half = np.minimum(at // 2, np.array(rough.shape[:2]) - 1)
        there = np.minimum(2 * rough[tuple(half.T)] + at % 2, np.array(known.shape) - 1)
        good = whole[tuple(there.T)]
        near[tuple(at[good].T)] = there[good]
    trust = TRUST ** -np.asarray(distance_transform_edt(~known), dtype=float)
    far = np.full(known.shape, np.inf)
    if rough is None:  # patches without detail would look for others without
        some = tuple(sources[rng.integers(len(sources), size=len(holes))].T)
        X[(*holes.T, slice(colours))] += X[some][:, :colours] - X[some][:, colours : 2 * colours] / GUIDE
    else:  # the texture of this size, not the smooth answer, is what patches are compared with
        far[touched] = 0.0
        _vote(X, holes, colours, near, far, trust, 1.0)
    steps = int(np.log2(max(known.shape))) + 1
    for k in range(rounds):
        far[touched] = 1e300  # X has changed since
        for sweep in range(SWEEPS):
            order = at if (k + sweep) % 2 == 0 else at[::-1].copy()
            match(X, order, whole, near, far, RADIUS, rng.uniform(-1, 1, (len(at), steps, 2)))
        width = max(float(np.quantile(far[touched], 0.75)) / WIDTH, FINEST * (np.ptp(X[known]) / 255) ** 2, 1e-300)
        _vote(X, holes, colours, near, far, trust, width)
    return near


def _vote(X: Array, holes: Array, colours: int, near: Array, far: Array, trust: Array, width: float) -> None:
    """`vote`, but for what guides: the channels of X after the colours stay as they are."""
    from tensorfill.methods.image._patchmatch_kernels import vote

    at = tuple(holes.T)
    guide = X[at][:, colours:]
    vote(X, holes, near, far, trust, RADIUS, width)
    X[(*at, slice(colours, None))] = guide


def seamless(X: Array, known: Mask, near: Array) -> Array:
    """X (H, W, C) with its missing pixels solved for: differences to neighbours as the nearest patches have them."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    H, W = known.shape
    number = np.full(known.shape, -1)
    number[~known] = np.arange(np.count_nonzero(~known))
    count, C = int((~known).sum()), X.shape[2]
    right, diagonal = np.zeros((count, C)), np.zeros(count)
    rows, columns = [], []
    y, x = np.nonzero(~known)
    for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        inside = (y + dy >= 0) & (y + dy < H) & (x + dx >= 0) & (x + dx < W)
        p = number[y[inside], x[inside]]
        here, beside = (y[inside], x[inside]), (y[inside] + dy, x[inside] + dx)
        a, b = near[here].T, near[beside].T
        own = X[tuple(a)] - X[a[0] + dy, a[1] + dx]
        back = np.array([b[0] - dy, b[1] - dx])
        fits = ~known[beside]  # the neighbour has a patch of its own, which counts as much
        other = X[np.clip(back[0], 0, H - 1), np.clip(back[1], 0, W - 1)] - X[tuple(b)]
        right[p] += np.where(fits[:, None], 0.5 * (own + other), own)
        diagonal[p] += 1
        q = number[beside]
        right[p[q < 0]] += X[beside][q < 0]
        rows.append(p[q >= 0])
        columns.append(q[q >= 0])
    i = np.concatenate([np.arange(count), *rows])
    j = np.concatenate([np.arange(count), *columns])
    values = np.concatenate([diagonal, -np.ones(len(i) - count)])
    out = X.copy()
    out[~known] = splu(coo_array((values, (i, j)), shape=(count, count)).tocsc()).solve(right)
    return np.clip(out, X[known].min(axis=0), X[known].max(axis=0)) if known.any() else out
