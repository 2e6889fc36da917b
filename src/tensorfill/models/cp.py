"""The CP model: X = [[A_1, ..., A_N]], a sum of R outer products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tensorfill.kernels.dense import choose_split, left_slabs, slab_rows
from tensorfill.kernels.khatrirao import CPContraction
from tensorfill.models.base import MODELS, Model, check_size
from tensorfill.typing import Array


@MODELS.register("cp")
@dataclass(frozen=True, eq=False, repr=False)
class CP(Model):
    """A sum of R outer products: factors (I_n, R), one per mode."""

    ranks_are = "R, the number of components"

    factors: Sequence[Array]

    def __post_init__(self) -> None:
        ranks = {A.shape[1] for A in self.factors if A.ndim == 2}
        if len(ranks) != 1 or any(A.ndim != 2 for A in self.factors):
            msg = f"factors must be matrices (I_n, R) with one R; got shapes {[A.shape for A in self.factors]}."
            raise ValueError(msg)

    # --- what follows from shape and rank -----------------------------------------------------------------------

    @classmethod
    def check_rank(cls, shape: Sequence[int], rank: Any) -> int:
        if not (isinstance(rank, int | np.integer) and not isinstance(rank, bool) and rank >= 1):
            msg = f"rank must be a whole number >= 1; got {rank!r}."
            raise ValueError(msg)
        return check_size(int(rank), sum(shape))

    @classmethod
    def shapes(cls, shape: Sequence[int], rank: int) -> list[tuple[int, int]]:
        return [(length, rank) for length in shape]

    @classmethod
    def contraction(cls, shape: Sequence[int], rank: int) -> CPContraction:
        return CPContraction(shape, rank)

    @classmethod
    def terms(cls, shape: Sequence[int], rank: int) -> int:
        return rank

    @classmethod
    def of(cls, shape: Sequence[int], rank: int, parameters: Sequence[Array]) -> CP:
        return cls(list(parameters))

    @classmethod
    def free(cls, shape: Sequence[int], rank: int) -> int:
        return rank * (sum(shape) - len(shape) + 1)

    @classmethod
    def put_product(cls, shape: Sequence[int], rank: int, parameters: list[Array], lines: Sequence[Array]) -> None:
        for A, line in zip(parameters, lines, strict=True):
            A[:, 0] = line

    @classmethod
    def put_sum(
        cls, shape: Sequence[int], rank: int, parameters: list[Array], lines: Sequence[Array], unit: float
    ) -> bool:
        """As many of the lines as there are components: one that is constant in every mode but n carries line n."""
        N = len(shape)
        for r in range(min(N, rank)):
            for A in parameters:
                A[:, r] = unit
            parameters[r][:, r] = lines[r] / unit ** (N - 1)
        return True

    # --- numbers --------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(A.shape[0] for A in self.factors)

    @property
    def rank(self) -> int:
        return self.factors[0].shape[1]

    @property
    def parameters(self) -> list[Array]:
        return list(self.factors)

    def norm(self) -> float:
        gram = np.ones((self.rank, self.rank))
        for A in self.factors:
            wide = np.asarray(A, dtype=np.float64)
            gram *= wide.T @ wide
        return float(np.sqrt(max(gram.sum(), 0.0)))

    def components(self) -> tuple[list[Array], Array]:
        """The components in their order; the strength of each is one number, the same for every mode."""
        factors = [np.asarray(A, dtype=np.float64) for A in self.factors]
        norms = np.prod([np.linalg.norm(A, axis=0) for A in factors], axis=0)
        return factors, np.tile(norms, (len(factors), 1))

    def full(self) -> Array:
        """The whole tensor, Eq. 1 (low_rank), as matrix products: left | right modes, split and cut so that neither
        product of factors is long. Of two long modes the Khatri-Rao product is never formed whole.
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

    def at(self, indices: Array, block: int = 1 << 12) -> Array:
        """Entries of Eq. 1 (low_rank) at coordinates (k, N), in blocks that stay in a core's cache: (k,)."""
        out = np.empty(len(indices), dtype=self.factors[0].dtype)
        for i in range(0, len(indices), block):
            part = indices[i : i + block]
            product = self.factors[0].take(part[:, 0], axis=0)
            for n, A in enumerate(self.factors[1:], start=1):
                product = product * A.take(part[:, n], axis=0)
            out[i : i + block] = np.einsum("kr->k", product)  # several times as fast as sum(axis=1) of short rows
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
