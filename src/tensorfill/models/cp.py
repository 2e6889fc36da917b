"""The CP model: X = [[A_1, ..., A_N]], a sum of R outer products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.kernels.khatrirao import CPContraction
from tensorfill.models.base import MODELS, Model, check_one_rank
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
        return check_one_rank(rank, sum(shape))

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

    # --- numbers --------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor."""
        return tuple(A.shape[0] for A in self.factors)

    @property
    def rank(self) -> int:
        """Components."""
        return self.factors[0].shape[1]

    @property
    def parameters(self) -> list[Array]:
        return list(self.factors)

    def components(self) -> tuple[list[Array], Array]:
        """The components in their order; the strength of each is one number, the same for every mode."""
        factors = [np.asarray(A, dtype=np.float64) for A in self.factors]
        norms = np.prod([np.linalg.norm(A, axis=0) for A in factors], axis=0)
        return factors, np.tile(norms, (len(factors), 1))

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
