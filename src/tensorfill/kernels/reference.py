"""The slow, obvious truth that the fast layouts are tested against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def rows(indices: Array, factors: Sequence[Array], skip: int | None = None) -> Array:
    """Product over modes (but `skip`) of the factor rows each observation touches: (nnz, R)."""
    out = np.ones((len(indices), factors[0].shape[1]), dtype=np.float64)
    for n, A in enumerate(factors):
        if n != skip:
            out *= A[indices[:, n]]
    return out


def predict(indices: Array, factors: Sequence[Array]) -> Array:
    """x_i = sum_r prod_n A_n[i_n, r]: (nnz,)."""
    return rows(indices, factors).sum(axis=1)


def pullback(g: Array, indices: Array, factors: Sequence[Array], mode: int) -> Array:
    """Adjoint of the derivative of `predict` in factor `mode`: (I_n, R)."""
    out = np.zeros_like(factors[mode], dtype=np.float64)
    np.add.at(out, indices[:, mode], g[:, None] * rows(indices, factors, skip=mode))
    return out
