"""Kernels of `patchmatch`: the nearest patch of each patch, and the vote of patches that overlap."""

from __future__ import annotations

import numpy as np
from numba import njit

from tensorfill.typing import Array


@njit(cache=True)
def distance(X: Array, i: int, j: int, a: int, b: int, radius: int, least: float) -> float:
    """Mean square of the differences of the patches around (i, j) and (a, b); more than `least` once that is sure."""
    H, W, C = X.shape
    total = 0.0
    top, bottom = max(-radius, -i), min(radius, H - 1 - i)
    left, right = max(-radius, -j), min(radius, W - 1 - j)
    size = (bottom - top + 1) * (right - left + 1) * C
    for y in range(top, bottom + 1):
        for x in range(left, right + 1):
            for c in range(C):
                off = X[i + y, j + x, c] - X[a + y, b + x, c]
                total += off * off
        if total > least * size:
            break
    return total / size


@njit(cache=True)
def match(X: Array, at: Array, whole: Array, near: Array, far: Array, radius: int, chance: Array) -> None:
    """One sweep of PatchMatch over the patches `at` (k, 2), in this order: `near` (H, W, 2) are the centres of their
    nearest ones, `far` (H, W) how far these are; both are improved in place. A patch may be nearest where it is `whole`
    (H, W). `chance` (k, s, 2), -1 to 1: where to look around the nearest so far, each time half as far away.
    """
    H, W = whole.shape
    step = 1 if at[0, 0] <= at[-1, 0] else -1
    for k in range(len(at)):
        i, j = at[k]
        best_a, best_b, least = near[i, j, 0], near[i, j, 1], far[i, j]
        for n in range(2):
            y, x = i - step * (n == 0), j - step * (n == 1)  # the neighbour that was visited before
            if 0 <= y < H and 0 <= x < W and np.isfinite(far[y, x]):
                a, b = near[y, x, 0] + i - y, near[y, x, 1] + j - x
                if 0 <= a < H and 0 <= b < W and whole[a, b]:
                    d = distance(X, i, j, a, b, radius, least)
                    if d < least:
                        best_a, best_b, least = a, b, d
        reach = float(max(H, W))
        for s in range(chance.shape[1]):
            a, b = int(best_a + reach * chance[k, s, 0]), int(best_b + reach * chance[k, s, 1])
            reach = max(reach / 2, 1.0)
            if 0 <= a < H and 0 <= b < W and whole[a, b]:
                d = distance(X, i, j, a, b, radius, least)
                if d < least:
                    best_a, best_b, least = a, b, d
        near[i, j, 0], near[i, j, 1], far[i, j] = best_a, best_b, least


@njit(cache=True)
def vote(X: Array, holes: Array, near: Array, far: Array, trust: Array, radius: int, width: float) -> None:
    """Write into X, at the pixels `holes` (k, 2), the mean of what the nearest patches of all patches over them have
    there: weights fall with their distance over `width`, and by how much each is to be trusted, (H, W).
    """
    H, W, C = X.shape
    out = np.zeros((len(holes), C))
    for k in range(len(holes)):
        i, j = holes[k]
        total = 0.0
        for y in range(max(0, i - radius), min(H, i + radius + 1)):
            for x in range(max(0, j - radius), min(W, j + radius + 1)):
                if np.isfinite(far[y, x]):
                    w = trust[y, x] * np.exp(-far[y, x] / (2 * width)) + 1e-300
                    a, b = near[y, x, 0] + i - y, near[y, x, 1] + j - x
                    total += w
                    for c in range(C):
                        out[k, c] += w * X[a, b, c]
        for c in range(C):
            out[k, c] /= total
    for k in range(len(holes)):
        for c in range(C):
            X[holes[k, 0], holes[k, 1], c] = out[k, c]
