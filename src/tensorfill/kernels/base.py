"""Layouts: a model at the observed entries, and its adjoint.

Design: a layout holds where the observations are, never their values. Vectors over observations have one
order for all layouts: that of `Observations` (lexicographic). Priors therefore only ever see observed
entries, whatever the layout, and nothing that lies under a mask can leak.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from tensorfill.typing import Array

# (start, stop, x) -> (value, g): loss and weighted derivative of the observations start:stop, given their
# model values x (stop - start,). Called once per block, in any order, from several threads: it must be pure.
Entrywise = Callable[[int, int, Array], tuple[float, Array]]


class Layout(ABC):
    """x at the observed entries, of CP sum_r prod_n A_n[i_n, r], and the pull-back of a vector g over them."""

    name: ClassVar[str]
    shape: tuple[int, ...]
    nnz: int

    @abstractmethod
    def predict(self, factors: Sequence[Array]) -> Array:
        """Model values at the observed entries, (nnz,). Factors: list of (I_n, R), one dtype."""

    @abstractmethod
    def pullback(self, g: Array, factors: Sequence[Array], mode: int) -> Array:
        """G_n = Y_(n) B_n with Y = g at the observed entries, 0 elsewhere: (I_n, R)."""

    @abstractmethod
    def value_and_pullback(self, entrywise: Entrywise, factors: Sequence[Array]) -> tuple[float, list[Array]]:
        """predict, then `entrywise`, then the pullback of every mode, in blocks: no vector of length nnz is kept."""


def check_indices(indices: Array, shape: Sequence[int]) -> Array:
    """Coordinates (nnz, N) in C order, int32 where that suffices, all inside `shape`: the loops do not look again."""
    indices = np.asarray(indices)
    if indices.ndim != 2 or indices.shape[1] != len(shape) or indices.dtype.kind not in "iu":
        msg = (
            f"indices must be whole numbers of shape (nnz, {len(shape)}), one row per observation; "
            f"got {indices.dtype} of shape {indices.shape}."
        )
        raise ValueError(msg)
    for n, size in enumerate(shape):
        column = indices[:, n]
        if len(column) and not (column.min() >= 0 and column.max() < size):
            bad = int(np.flatnonzero((column < 0) | (column >= size))[0])
            msg = (
                f"indices of mode {n} must be in 0..{size - 1}; got {column[bad]} in row {bad}. "
                f"Check the shape {tuple(shape)}."
            )
            raise ValueError(msg)
    return np.ascontiguousarray(indices, dtype=np.int32 if max(shape) <= 2**31 else np.int64)
