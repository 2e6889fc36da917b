"""Compiled loops of `methods.image.spatial_factors`. Imports Numba: import this module inside functions only.

Data are sorted by row: those of row i are data[ptr[i] : ptr[i + 1]], and `other` says which row of the other factor
each meets. Factors are (rows, R), a small symmetric matrix (R, R) belongs to each row.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels._numba import jit
from tensorfill.typing import Array


@jit
def normal_equations(ptr: Array, other: Array, t: Array, w: Array, F: Array, C: Array, P: Array, h: Array) -> None:
    """P[i] = sum of w (f f' + C), h[i] = sum of w t f, over the data of row i; f and C are those of the other row.
    C (0, 0, 0) for none.
    """
    R = F.shape[1]
    unsure = len(C) > 0
    for i in range(len(ptr) - 1):
        P[i], h[i] = 0.0, 0.0
        for j in range(ptr[i], ptr[i + 1]):
            k = other[j]
            for a in range(R):
                g = w[j] * F[k, a]
                h[i, a] += g * t[j]
                for b in range(R):
                    P[i, a, b] += g * F[k, b]
                if unsure:
                    for b in range(R):
                        P[i, a, b] += w[j] * C[k, a, b]


@jit
def inverses(P: Array, degree: Array, stiff: Array, ridge: Array, C: Array) -> None:
    """C[i] = (P[i] + diag(degree[i] stiff + ridge))^-1: what the data and the neighbours of one row leave open."""
    A = np.empty(P.shape[1:])
    for i in range(len(P)):
        for a in range(len(A)):
            for b in range(len(A)):
                A[a, b] = P[i, a, b]
        for a in range(len(A)):
            A[a, a] += degree[i] * stiff[a] + ridge[a]
        C[i] = np.linalg.inv(A)


@jit
def multiply(P: Array, stiff: Array, ridge: Array, ptr: Array, near: Array, w: Array, X: Array, out: Array) -> None:
    """out = (P + ridge) X + stiff L X, L the Laplacian of the graph: row i has the neighbours near[ptr[i] : ...]."""
    R = X.shape[1]
    for i in range(len(X)):
        for a in range(R):
            out[i, a] = ridge[a] * X[i, a]
        for j in range(ptr[i], ptr[i + 1]):
            k = near[j]
            for a in range(R):
                out[i, a] += w[j] * stiff[a] * (X[i, a] - X[k, a])
        for a in range(R):
            s = 0.0
            for b in range(R):
                s += P[i, a, b] * X[i, b]
            out[i, a] += s


@jit
def each_by(C: Array, X: Array, out: Array) -> None:
    """out[i] = C[i] X[i]."""
    R = X.shape[1]
    for i in range(len(X)):
        for a in range(R):
            s = 0.0
            for b in range(R):
                s += C[i, a, b] * X[i, b]
            out[i, a] = s


@jit
def squares(ptr: Array, other: Array, t: Array, A: Array, C: Array, F: Array, out: Array) -> None:
    """out[other] += (t - a f)^2 + f' C f: the expected squared residual of every datum, C the covariance of a."""
    R = A.shape[1]
    for i in range(len(ptr) - 1):
        for j in range(ptr[i], ptr[i + 1]):
            k, x, v = other[j], 0.0, 0.0
            for a in range(R):
                x += A[i, a] * F[k, a]
                q = 0.0
                for b in range(R):
                    q += C[i, a, b] * F[k, b]
                v += q * F[k, a]
            out[k] += (t[j] - x) ** 2 + v


@jit
def differences(ptr: Array, near: Array, w: Array, X: Array, V: Array, out: Array) -> None:
    """out[a] += w ((x_i - x_k)^2 + v_i + v_k) over all neighbours, both ways; V (rows, R) are variances."""
    for i in range(len(X)):
        for j in range(ptr[i], ptr[i + 1]):
            k = near[j]
            for a in range(X.shape[1]):
                out[a] += w[j] * ((X[i, a] - X[k, a]) ** 2 + V[i, a] + V[k, a])


@jit
def distances(ptr: Array, near: Array, X: Array, scale: Array, out: Array) -> None:
    """out[j] = sum over a of scale_a (x_i - x_k)^2, of every neighbour."""
    for i in range(len(X)):
        for j in range(ptr[i], ptr[i + 1]):
            s = 0.0
            for a in range(X.shape[1]):
                s += scale[a] * (X[i, a] - X[near[j], a]) ** 2
            out[j] = s
