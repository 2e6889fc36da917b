"""Compiled loops of tubal models: spectra of single tubes. Imported on first use only."""

from __future__ import annotations

from tensorfill.kernels._numba import jit
from tensorfill.kernels.base import Array


@jit
def multiply(A: Array, B: Array, pairs: Array, Z: Array) -> None:
    """Add to Z (k, F) the spectrum of the tube at each pair (i, j): sum_r A[i, r] B[j, r]."""
    R, F = A.shape[1], A.shape[2]
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        for r in range(R):
            for f in range(F):
                Z[p, f] += A[i, r, f] * B[j, r, f]


@jit
def pullback(A: Array, B: Array, pairs: Array, Y: Array, only: int, G_A: Array, G_B: Array) -> None:
    """Add the gradients for the gradient Y (k, F) in the spectra."""
    R, F = A.shape[1], A.shape[2]
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        for r in range(R):
            if only != 1:
                for f in range(F):
                    G_A[i, r, f] += Y[p, f] * B[j, r, f].conjugate()
            if only != 0:
                for f in range(F):
                    G_B[j, r, f] += Y[p, f] * A[i, r, f].conjugate()
