"""Compiled loops of Tucker models. Imported on first use only.

As in _ring.py the observations are the leaves of a tree, and each branch is computed once: `state[n]` is the core with
its first n modes multiplied by the rows of the branch, (R_n+1, ..., R_N), and `owed[n]` the gradient in it.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels._numba import departure, inner, jit
from tensorfill.kernels.base import Array


@inner
def sizes(R: Array) -> Array:
    """How many numbers each state has: R_n+1 ... R_N for n = 0 ... N - 1."""
    out = R.copy()
    for n in range(len(R) - 2, -1, -1):
        out[n] = R[n] * out[n + 1]
    return out


@inner
def places(size: Array) -> Array:
    """Where each state begins when they are laid end to end; the core is the first."""
    out = np.zeros(len(size), np.int64)
    for n in range(1, len(size)):
        out[n] = out[n - 1] + size[n - 1]
    return out


@inner
def climb(theta: Array, first: Array, size: Array, place: Array, indices: Array, i: int, d: int, state: Array) -> None:
    """The states on the way to observation i, given that those up to mode d are right already."""
    for n in range(d, indices.shape[1] - 1):
        width = size[n + 1]
        R = size[n] // width
        at = first[n] + indices[i, n] * R
        new, old = place[n + 1], place[n]
        for j in range(width):
            state[new + j] = 0
        for a in range(R):
            factor = theta[at + a]
            for j in range(width):
                state[new + j] += factor * state[old + a * width + j]


@jit
def predict(theta: Array, first: Array, R: Array, indices: Array, x: Array) -> None:
    """x_i = sum over all r of core[r] prod_n A_n[i_n, r_n] for the rows of `indices` (nnz, N)."""
    N = indices.shape[1]
    size = sizes(R)
    place = places(size)
    state = np.empty(place[N - 1] + size[N - 1], theta.dtype)
    state[: size[0]] = theta[first[N] : first[N] + size[0]]
    tip, width = place[N - 1], R[N - 1]
    for i in range(len(indices)):
        d = departure(indices, i)
        if d < N - 1:
            climb(theta, first, size, place, indices, i, d, state)
        at = first[N - 1] + indices[i, N - 1] * width
        total = theta.dtype.type(0)
        for j in range(width):
            total += state[tip + j] * theta[at + j]
        x[i] = total


@inner
def settle(
    theta: Array, first: Array, size: Array, place: Array, indices: Array, i: int, d: int, only: int,
    state: Array, owed: Array, G: Array,
) -> None:  # fmt: skip
    """Leave the branches of observation i from mode d on: what they are owed goes to their rows and their stems."""
    N = indices.shape[1]
    for n in range(N - 2, d - 1, -1):
        width = size[n + 1]
        R = size[n] // width
        at = first[n] + indices[i, n] * R
        new, old = place[n + 1], place[n]
        for a in range(R):
            if only < 0 or only == n:
                total = theta.dtype.type(0)
                for j in range(width):
                    total += state[old + a * width + j] * owed[new + j]
                G[at + a] += total
            if only < n or only == N:
                factor = theta[at + a]
                for j in range(width):
                    owed[old + a * width + j] += factor * owed[new + j]
        for j in range(width):
            owed[new + j] = 0


@jit
def pullback(theta: Array, first: Array, R: Array, indices: Array, g: Array, only: int, G: Array) -> None:
    """Add to G, laid out like theta, the gradient of all parameters, or of parameter `only` (N: the core)."""
    N = indices.shape[1]
    size = sizes(R)
    place = places(size)
    state = np.empty(place[N - 1] + size[N - 1], theta.dtype)
    state[: size[0]] = theta[first[N] : first[N] + size[0]]
    owed = np.zeros(len(state), theta.dtype)
    tip, width = place[N - 1], R[N - 1]
    for i in range(len(indices)):
        d = departure(indices, i)
        if d < N - 1:
            if i > 0:
                settle(theta, first, size, place, indices, i - 1, d, only, state, owed, G)
            climb(theta, first, size, place, indices, i, d, state)
        at = first[N - 1] + indices[i, N - 1] * width
        g_i = g[i]
        for j in range(width):
            owed[tip + j] += g_i * theta[at + j]
        if only < 0 or only == N - 1:
            for j in range(width):
                G[at + j] += g_i * state[tip + j]
    if len(indices) > 0:
        settle(theta, first, size, place, indices, len(indices) - 1, 0, only, state, owed, G)
    if only < 0 or only == N:
        for j in range(size[0]):
            G[first[N] + j] += owed[j]
