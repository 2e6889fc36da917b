"""Differences between neighbours along a mode, and their adjoints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorfill.typing import Array


def reflected_difference(X: Array, n: int, out: Array | None = None) -> Array:
    """D X along mode n: x[i+1] - x[i], and x[I-2] - x[I-1] at the last index (the border reflects)."""
    out = np.empty_like(X) if out is None else out
    D, X = np.moveaxis(out, n, 0), np.moveaxis(X, n, 0)
    np.subtract(X[1:], X[:-1], out=D[:-1])
    D[-1:] = -D[-2:-1] if X.shape[0] > 1 else 0.0
    return out


def reflected_adjoint(Z: Array, n: int) -> Array:
    """D' Z along mode n, D of `reflected_difference`."""
    out = np.empty_like(Z)
    A, Z = np.moveaxis(out, n, 0), np.moveaxis(Z, n, 0)
    if Z.shape[0] == 1:
        return np.zeros_like(out)
    np.negative(Z, out=A)
    A[1:] += Z[:-1]
    A[-2:-1] += Z[-1:]
    return out


def circular_difference(X: Array, n: int) -> Array:
    """x[i+1] - x[i] along mode n, the last index followed by the first."""
    return np.roll(X, -1, axis=n) - X


def circular_adjoint(Z: Array, n: int) -> Array:
    """The adjoint of `circular_difference`: z[i-1] - z[i]."""
    return np.roll(Z, 1, axis=n) - Z


def circular_spectrum(shape: Sequence[int], modes: Sequence[int]) -> Array:
    """Eigenvalues of the sum over `modes` of D_n' D_n, circular D, as `numpy.fft.rfftn(axes=modes)` orders them.

    Broadcasts against that transform of an array of the given shape.
    """
    total = np.zeros((1,) * len(shape))
    for n in modes:
        count = shape[n] // 2 + 1 if n == modes[-1] else shape[n]  # the last transformed mode is the halved one
        eigenvalues = 4.0 * np.sin(np.pi * np.arange(count) / shape[n]) ** 2  # |exp(2 pi i k / I) - 1|^2
        total = total + eigenvalues.reshape([-1 if k == n else 1 for k in range(len(shape))])
    return total
