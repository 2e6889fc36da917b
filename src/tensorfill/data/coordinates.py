"""Rows of coordinates (nnz, N): where they are found again, and which is there twice."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tensorfill.typing import Array


def match_rows(known: Array, wanted: Array, shape: tuple[int, ...]) -> NDArray[np.intp]:
    """For each row of `wanted` (n, N), its row in `known` (nnz, N), or -1."""
    if math.prod(shape) < 2**62:
        a, b = (np.ravel_multi_index(tuple(x.T), shape) for x in (known, wanted))
    else:  # positions would overflow: number the different rows instead
        number = np.unique(np.concatenate([known, wanted]), axis=0, return_inverse=True)[1].ravel()
        a, b = number[: len(known)], number[len(known) :]
    order = np.argsort(a, kind="stable")
    place = np.searchsorted(a[order], b)
    place[place == len(a)] = 0
    found = order[place] if len(a) else np.zeros(len(b), dtype=np.intp)
    return np.where(a[found] == b, found, -1) if len(a) else found - 1


def check_inside(where: Array, shape: tuple[int, ...], what: str) -> None:
    """Raise ValueError for the first row of coordinates (k, N) outside the shape."""
    outside = np.flatnonzero(((where < 0) | (where >= np.array(shape))).any(axis=1))
    if outside.size:
        first = tuple(int(i) for i in where[outside[0]])
        msg = f"{what} must lie inside shape {shape}; got {first} in row {int(outside[0])}."
        raise ValueError(msg)


def first_duplicate(indices: Array) -> tuple[int, int] | None:
    """(first row, second row) of the earliest repeated coordinate in indices (nnz, N)."""
    order = np.lexsort(indices.T[::-1])  # stable: equal rows stay in the order of the file
    ranked = indices[order]
    again = np.flatnonzero((ranked[1:] == ranked[:-1]).all(axis=1))
    if not again.size:
        return None
    k = again[np.argmin(order[again + 1])]
    return int(order[k]), int(order[k + 1])
