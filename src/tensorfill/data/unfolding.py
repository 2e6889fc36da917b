"""A tensor as a matrix, in one of the ways that its modes allow, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorfill.typing import Array


def unfold_modes(T: Array, columns: Sequence[int]) -> Array:
    """Return a tensor as a matrix with the modes `columns` along its columns, (others, columns)."""
    rows = [n for n in range(T.ndim) if n not in columns]
    count = int(np.prod([T.shape[n] for n in columns]))
    return T.transpose([*rows, *columns]).reshape(-1, count)


def refold_modes(X: Array, shape: Sequence[int], columns: Sequence[int]) -> Array:
    """Return the tensor of a matrix that `unfold_modes` made: full shape."""
    order = [*(n for n in range(len(shape)) if n not in columns), *columns]
    return np.ascontiguousarray(X.reshape([shape[n] for n in order]).transpose(np.argsort(order)))


def unfoldings(shape: Sequence[int]) -> list[tuple[int, ...]]:
    """List the ways to read a tensor as a table: each mode as its columns, and all others; the fewest columns first."""
    modes = range(len(shape))
    ways = {(n,) for n in modes} | {tuple(m for m in modes if m != n) for n in modes}
    return sorted(ways, key=lambda way: (np.prod([shape[n] for n in way]), way))


def join_dims(dims: Sequence[str], columns: Sequence[int]) -> str:
    """`hour`, or `day x hour`."""
    return " x ".join(dims[n] for n in columns)
