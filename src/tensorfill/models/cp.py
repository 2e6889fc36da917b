"""The CP model: X = [[A_1, ..., A_N]], a sum of R outer products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.kernels.dense import choose_split, left_slabs, slab_rows

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class CP:
    """Factors (I_n, R), one per mode."""

    factors: Sequence[Array]

    def __post_init__(self) -> None:
        ranks = {A.shape[1] for A in self.factors if A.ndim == 2}
        if len(ranks) != 1 or any(A.ndim != 2 for A in self.factors):
            msg = f"factors must be matrices (I_n, R) with one R; got shapes {[A.shape for A in self.factors]}."
            raise ValueError(msg)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(A.shape[0] for A in self.factors)

    @property
    def rank(self) -> int:
        return self.factors[0].shape[1]

    def full(self) -> Array:
        """The whole tensor, as matrix products: left | right modes, split and cut so that neither product of factors
        is long. Of two long modes the Khatri-Rao product is never formed whole.
        """
        split = choose_split(self.shape)
        left, right = self.factors[:split], khatri_rao(self.factors[split:])
        X = np.empty((prod(self.shape[:split]), len(right)), dtype=np.result_type(*self.factors))
        at = 0
        for cut in left_slabs(self.shape[:split], slab_rows(len(right), self.rank)):
            part = khatri_rao([A[rows] for A, rows in zip(left, cut, strict=True)])
            np.matmul(part, right.T, out=X[at : at + len(part)])
            at += len(part)
        return X.reshape(self.shape)

    def at(self, indices: Array, block: int = 1 << 16) -> Array:
        """Entries at coordinates (k, N), in blocks so that no (k, R) array is formed: (k,)."""
        out = np.empty(len(indices), dtype=self.factors[0].dtype)
        for i in range(0, len(indices), block):
            part = indices[i : i + block]
            product = self.factors[0][part[:, 0]]
            for n, A in enumerate(self.factors[1:], start=1):
                product = product * A[part[:, n]]
            out[i : i + block] = product.sum(axis=1)
        return out

    def normalised(self) -> tuple[Array, list[Array]]:
        """(weights, unit-norm factors), strongest component first, signs so that each column's sum is >= 0
        in all modes but the last. For display only: penalties on factors are not invariant to moving scale.
        """
        weights = np.ones(self.rank, dtype=np.float64)
        columns = []
        for A in self.factors:
            norms = np.linalg.norm(A, axis=0)
            weights = weights * norms
            unit = A / np.where(norms > 0, norms, 1)
            sign = np.where(unit.sum(axis=0) < 0, -1.0, 1.0)
            columns.append(unit * sign)
            weights = weights * sign
        columns[-1] = columns[-1] * np.where(weights < 0, -1.0, 1.0)
        weights = np.abs(weights)
        order = np.argsort(-weights, kind="stable")
        return weights[order], [C[:, order] for C in columns]


def khatri_rao(factors: Sequence[Array]) -> Array:
    """Column-wise Kronecker product, first factor varying slowest: (prod I_n, R)."""
    out = factors[0]
    for A in factors[1:]:
        out = (out[:, None, :] * A[None, :, :]).reshape(-1, A.shape[1])
    return out
