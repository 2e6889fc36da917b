"""Thresholding of singular values: what the nuclear-norm methods share.

Design: SVT(M, t) lowers every singular value by t and drops those below. Only the singular vectors above t
are needed, so the working form goes through the smaller Gram matrix: M M' = Q diag(s^2) Q' gives
SVT = Q diag((s - t)/s) Q' M over s > t. It squares the condition number: the error is at most about
sqrt(eps) * s_max (1.5e-8 in float64), fine for iterations; ranks and reference values use the full SVD.
Broken input (NaN, overflow) comes back as NaN, which the loop reports; a LAPACK driver that does not converge
on finite input is followed by a slower one that does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tensorfill.solvers.base import check_time
from tensorfill.typing import Array

_AT_ONCE = 256  # matrices in a batch: fractions of a second between two looks at the clock
_SMALL = 64  # below this side a batched full eigen-decomposition beats one LAPACK call per matrix


def unfold(X: Array, n: int) -> Array:
    """Mode-n unfolding, (I_n, product of the other sides)."""
    if 0 < n < X.ndim - 1 and X.flags.c_contiguous:
        return _swap(X.reshape(math.prod(X.shape[:n]), X.shape[n], -1)).reshape(X.shape[n], -1)
    return np.moveaxis(X, n, 0).reshape(X.shape[n], -1)


def fold(M: Array, n: int, shape: Sequence[int]) -> Array:
    """The tensor of the given shape whose mode-n unfolding is M."""
    if 0 < n < len(shape) - 1 and M.flags.c_contiguous:
        return _swap(M.reshape(shape[n], math.prod(shape[:n]), -1)).reshape(shape)
    rest = [size for k, size in enumerate(shape) if k != n]
    return np.moveaxis(M.reshape(shape[n], *rest), 0, n)


def flatten(X: Array, n: int) -> Array:
    """Mode-n unfolding, or for the last mode its transpose: the same singular values, no copy at either end."""
    return X.reshape(-1, X.shape[n]) if n == X.ndim - 1 else unfold(X, n)


def unflatten(M: Array, n: int, shape: Sequence[int]) -> Array:
    """The tensor of the given shape whose `flatten` is M, in any shape of the same order."""
    return M.reshape(shape) if n == len(shape) - 1 else fold(M.reshape(shape[n], -1), n, shape)


def _swap(X: Array) -> Array:
    """(a, m, b) -> (m, a, b), a copy; short runs of b numbers (colours) move as one item each, twice as fast."""
    a, m, b = X.shape
    if not 1 < b <= 8:
        return np.ascontiguousarray(X.swapaxes(0, 1))
    items = X.view(np.dtype((np.void, b * X.itemsize)))[..., 0]
    return np.ascontiguousarray(items.swapaxes(0, 1)).view(X.dtype).reshape(m, a, b)


def safe_svd(M: Array) -> tuple[Array, Array, Array]:
    """Thin SVD U, s, Vh by gesdd, else gesvd. NaN throughout if M is not finite."""
    check_time()
    if not np.isfinite(M).all():
        m, n, k = *M.shape, min(M.shape)
        return np.full((m, k), np.nan), np.full(k, np.nan), np.full((k, n), np.nan)
    try:
        return np.linalg.svd(M, full_matrices=False)
    except np.linalg.LinAlgError:  # divide and conquer can fail on finite matrices
        pass
    from scipy.linalg import svd

    return svd(M, full_matrices=False, lapack_driver="gesvd", check_finite=False)


def safe_eigh(G: Array) -> tuple[Array, Array]:
    """Eigenvalues (ascending) and eigenvectors of Hermitian G, (..., n, n); all NaN if G is not finite."""
    check_time()
    if not np.isfinite(G).all():
        return np.full(G.shape[:-1], np.nan), np.full_like(G, np.nan)
    try:
        return np.linalg.eigh(G)
    except np.linalg.LinAlgError:
        if G.ndim > 2:
            parts = [safe_eigh(g) for g in G.reshape(-1, *G.shape[-2:])]
            values, vectors = np.stack([w for w, _ in parts]), np.stack([Q for _, Q in parts])
            return values.reshape(G.shape[:-1]), vectors.reshape(G.shape)
    from scipy.linalg import eigh

    return eigh(G, driver="ev", check_finite=False)  # QR iteration: slow but sure


def spectral_norm(M: Array) -> float:
    """Largest singular value, through the smaller Gram matrix."""
    G = gram(M)
    if not np.isfinite(G).all():
        return np.nan
    return float(np.sqrt(max(np.linalg.eigvalsh(G)[-1], 0.0)))


def gram(M: Array) -> Array:
    """The smaller of M M' and M' M."""
    check_time()
    with np.errstate(invalid="ignore", over="ignore"):  # the caller sees the NaN
        return M @ M.conj().T if M.shape[0] <= M.shape[1] else M.conj().T @ M


def svt(M: Array, t: float) -> tuple[Array, Array]:
    """SVT through the Gram matrix: SVT(M, t) and its positive singular values."""
    wide = M.shape[0] <= M.shape[1]
    Q, gain, lowered = _directions(M, t, 0)
    if _is_thin(Q, M):
        return _thin(Q, gain, M), lowered
    P = _square(Q, gain)
    if wide and M.flags.f_contiguous:  # the last mode's unfolding: keep its memory order for the fold
        return (M.T @ P.T).T, lowered
    return (P @ M if wide else M @ P), lowered


def truncate(M: Array, t: float, keep: int = 0, *, times: float = 1.0, out: Array | None = None) -> tuple[Array, Array]:
    """TRUNC(M, t) = M - SVT(M, t), singular values capped at t (but the first `keep` at 0), multiplied by `times`; and
    the singular values of the SVT.
    """
    Q, gain, lowered = _directions(M, t, keep)
    if _is_thin(Q, M):
        rest = np.subtract(M, _thin(Q, gain, M), out=out)
        rest *= times
        return rest, lowered
    R = -times * _square(Q, gain)
    R.flat[:: len(R) + 1] += times
    return (np.matmul(R, M, out=out) if M.shape[0] <= M.shape[1] else np.matmul(M, R, out=out)), lowered


def _directions(M: Array, t: float, keep: int) -> tuple[Array, Array, Array]:
    """The singular vectors Q on the short side that SVT leaves, the factor on each, their values after it. The first
    `keep` go unshrunk.
    """
    s, Q = _values_above(gram(M), t, keep, max(M.shape))
    lowered = np.maximum(s - t, 0.0)
    lowered[:keep] = s[:keep]
    with np.errstate(invalid="ignore"):
        return Q, lowered / s, lowered


def _is_thin(Q: Array, M: Array) -> bool:
    """So few vectors that two thin products are cheaper than one with a square factor?"""
    (n, k), longest = Q.shape, max(M.shape)
    return k * (2 * longest - n) < n * longest


def _thin(Q: Array, gain: Array, M: Array) -> Array:
    Qg, Qh = Q * gain, Q.conj().T
    return Qg @ (Qh @ M) if M.shape[0] <= M.shape[1] else (M @ Qg) @ Qh


def _square(Q: Array, gain: Array) -> Array:
    half = Q * np.sqrt(gain)
    return half @ half.conj().T  # a product with its own transpose takes half the work


def threshold_values(M: Array, t: float) -> Array:
    """The positive singular values of SVT(M, t), largest first, without the vectors."""
    G = gram(M)
    if not np.isfinite(G).all():
        return np.full(1, np.nan)
    s = np.sqrt(np.maximum(np.linalg.eigvalsh(G)[::-1], 0.0))
    return s[s > t] - t


def _values_above(G: Array, t: float, keep: int, longest: int) -> tuple[Array, Array]:
    """Singular values above t, or among the first `keep`, and their vectors, from the Gram matrix, largest first.

    All are computed, by NumPy: SciPy could leave out some, but its LAPACK has threads of its own, which fight for the
    cores with those of NumPy's products, and the whole takes three times as long.
    """
    w, Q = safe_eigh(G)
    w, Q = w[::-1], Q[:, ::-1]
    if not np.isfinite(w).all():
        return w, Q
    # what rounding leaves of a zero singular value has no direction
    real = np.count_nonzero(w > (longest * np.finfo(G.dtype).eps) ** 2 * w[0])
    wanted = min(real, max(keep, np.count_nonzero(w > t * t)))
    return np.sqrt(w[:wanted]), Q[:, :wanted]


def slicewise_svt(S: Array, t: float) -> tuple[Array, Array]:
    """SVT of every matrix of a stack (L, m, n): the stack, and the nuclear norm of each, (L,)."""
    if min(S.shape[1:]) >= _SMALL:
        pairs = [svt(M, t) for M in S]
        return np.stack([M for M, _ in pairs]), np.array([s.sum() for _, s in pairs])
    if len(S) > _AT_ONCE:
        halves = [slicewise_svt(part, t) for part in np.array_split(S, 2)]
        return np.concatenate([X for X, _ in halves]), np.concatenate([norm for _, norm in halves])
    wide = S.shape[1] <= S.shape[2]
    Sh = S.conj().swapaxes(1, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        w, Q = safe_eigh(S @ Sh if wide else Sh @ S)
    s = np.sqrt(np.maximum(w, 0.0))
    s[s <= max(S.shape[1:]) * np.finfo(s.dtype).eps * s.max(axis=1, keepdims=True)] = 0.0
    lowered = np.maximum(s - t, 0.0)
    gain = np.divide(lowered, s, out=np.zeros_like(s), where=s != 0)
    P = (Q * gain[:, None, :]) @ Q.conj().swapaxes(1, 2)
    with np.errstate(invalid="ignore"):
        return (P @ S if wide else S @ P), lowered.sum(axis=1)


def prox_tubal(Y: Array, t: float, transform: str = "dft") -> tuple[Array, float]:
    """Prox of t * (tubal nuclear norm): SVT of every frontal slice in the transform of the modes 3, 4, ...

    The norm is the mean of the slices' nuclear norms after the DFT (Lu's 1/I_3) or the DCT times sqrt(I_3).
    A matrix is its own single slice. Only the DFT slices 0 .. I/2 of the last mode are decomposed, the others are
    their conjugates. Returns the prox and its norm.
    """
    if Y.ndim == 2:
        out, s = svt(Y, t)
        return out, float(s.sum())
    from scipy.fft import dctn, idctn

    axes = tuple(range(2, Y.ndim))
    tubes = [Y.shape[axis] for axis in axes]
    unit = math.sqrt(math.prod(tubes))  # with it, slices of a DCT weigh as those of a DFT
    with np.errstate(invalid="ignore"):  # NaN in, NaN out
        F = np.fft.rfftn(Y, axes=axes) if transform == "dft" else dctn(Y, axes=axes, norm="ortho") * unit
    stack = np.moveaxis(F.reshape(*F.shape[:2], -1), 2, 0)
    shrunk, norms = slicewise_svt(np.ascontiguousarray(stack), t)
    F = np.moveaxis(shrunk, 0, 2).reshape(F.shape)
    if transform != "dft":
        return idctn(F, axes=axes, norm="ortho") / unit, float(norms.mean())
    half = tubes[-1] // 2 + 1
    twice = np.full(half, 2.0)  # slices standing for their conjugates too
    twice[0] = 1.0
    if tubes[-1] % 2 == 0:
        twice[-1] = 1.0
    norm = float((norms.reshape(-1, half) * twice).sum() / np.prod(tubes))
    return np.fft.irfftn(F, s=tubes, axes=axes), norm
