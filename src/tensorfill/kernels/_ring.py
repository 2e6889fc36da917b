"""Compiled loops of tensor trains and rings. Imported on first use only.

The observations are in lexicographic order, so they are the leaves of a tree whose branches are common beginnings of
their coordinates. Each branch is computed once: `state[n]` is G_1[i_1] ... G_n[i_n] of the branch the walk is on, and
on the way back `owed[n]` adds up the gradient in it until the walk leaves the branch.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels._numba import departure, inner, jit
from tensorfill.kernels.base import Array


@inner
def extend(theta: Array, at: int, a: int, b: int, c: int, old: Array, new: Array) -> None:
    """new (a, c) = old (a, b) times the core's matrix (b, c) that begins at theta[at]."""
    for k in range(a):
        for j in range(c):
            new[k * c + j] = 0
        for i in range(b):
            factor = old[k * b + i]
            for j in range(c):
                new[k * c + j] += factor * theta[at + i * c + j]


@inner
def climb(theta: Array, first: Array, r: Array, indices: Array, i: int, d: int, state: Array) -> None:
    """`state` of all branches that lead to observation i, given that those before mode d are right already."""
    for n in range(d, indices.shape[1] - 1):
        at = first[n] + indices[i, n] * r[n] * r[n + 1]
        if n == 0:
            for j in range(r[0] * r[1]):
                state[0, j] = theta[at + j]
        else:
            extend(theta, at, r[0], r[n], r[n + 1], state[n - 1], state[n])


@inner
def turn(matrix: Array, a: int, b: int, out: Array) -> None:
    """out (b, a) = matrix (a, b) transposed."""
    for k in range(a):
        for j in range(b):
            out[j * a + k] = matrix[k * b + j]


@jit
def predict(theta: Array, first: Array, r: Array, indices: Array, x: Array) -> None:
    """x_i = trace(G_1[i_1] ... G_N[i_N]) for the rows of `indices` (nnz, N)."""
    N = indices.shape[1]
    state = np.empty((N, r[0] * r.max()), theta.dtype)
    width = r[0] * r[N - 1]
    tip = np.empty(width, theta.dtype)  # the last state, (r_N-1, r_0) as the last core is
    for i in range(len(indices)):
        d = departure(indices, i)
        if d < N - 1:
            climb(theta, first, r, indices, i, d, state)
            turn(state[N - 2], r[0], r[N - 1], tip)
        at = first[N - 1] + indices[i, N - 1] * width
        total = theta.dtype.type(0)
        for j in range(width):
            total += tip[j] * theta[at + j]
        x[i] = total


@inner
def settle(
    theta: Array, first: Array, r: Array, indices: Array, i: int, d: int, only: int, state: Array, owed: Array, G: Array
) -> None:
    """Leave the branches of observation i from mode d on: what they are owed goes to their cores and their stems."""
    a = r[0]
    for n in range(indices.shape[1] - 2, d - 1, -1):
        b, c = r[n], r[n + 1]
        at = first[n] + indices[i, n] * b * c
        if n == 0:
            if only < 1:
                for j in range(a * c):
                    G[at + j] += owed[0, j]
        else:
            for k in range(a):
                for p in range(b):
                    if only < 0 or only == n:
                        factor = state[n - 1, k * b + p]
                        for j in range(c):
                            G[at + p * c + j] += factor * owed[n, k * c + j]
                    if only < n:
                        total = theta.dtype.type(0)
                        for j in range(c):
                            total += theta[at + p * c + j] * owed[n, k * c + j]
                        owed[n - 1, k * b + p] += total
        for j in range(a * c):
            owed[n, j] = 0


@jit
def pullback(theta: Array, first: Array, r: Array, indices: Array, g: Array, only: int, G: Array) -> None:
    """Add to G, laid out like theta, the gradient of all cores, or of core `only`."""
    N = indices.shape[1]
    a, b = r[0], r[N - 1]
    width = a * b
    state = np.empty((N, a * r.max()), theta.dtype)
    owed = np.zeros((N, a * r.max()), theta.dtype)
    tip = np.empty(width, theta.dtype)
    debt = np.zeros(width, theta.dtype)  # of the last state, (r_N-1, r_0)
    for i in range(len(indices)):
        d = departure(indices, i)
        if d < N - 1:
            if i > 0:
                turn(debt, b, a, owed[N - 2])
                settle(theta, first, r, indices, i - 1, d, only, state, owed, G)
                debt[:] = 0
            climb(theta, first, r, indices, i, d, state)
            turn(state[N - 2], a, b, tip)
        at = first[N - 1] + indices[i, N - 1] * width
        g_i = g[i]
        for j in range(width):
            debt[j] += g_i * theta[at + j]
        if only < 0 or only == N - 1:
            for j in range(width):
                G[at + j] += g_i * tip[j]
    if len(indices) > 0:
        turn(debt, b, a, owed[N - 2])
        settle(theta, first, r, indices, len(indices) - 1, 0, only, state, owed, G)
