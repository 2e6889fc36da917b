"""The tubal model: the t-product X = A * B (Kilmer and Martin 2011), tubes along all modes after the second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Self

import numpy as np

from tensorfill.kernels.tubal import TubalContraction, Tube
from tensorfill.models.base import MODELS, Model, check_one_rank, in_blocks
from tensorfill.typing import Array


@MODELS.register("tubal")
@dataclass(frozen=True, eq=False, repr=False)
class Tubal(Model):
    """Two stacks of tubes, (I_1, R, ...) and (I_2, R, ...), multiplied as matrices whose entries are convolved."""

    ranks_are = "R, the rank of every slice along the tubes in the Fourier domain"

    A: Array
    B: Array

    def __post_init__(self) -> None:
        if self.A.ndim < 2 or self.A.shape[1:] != self.B.shape[1:]:
            msg = f"A and B must have shapes (I_1, R, tubes) and (I_2, R, tubes); got {self.A.shape}, {self.B.shape}."
            raise ValueError(msg)

    # --- what follows from shape and rank -----------------------------------------------------------------------

    @classmethod
    def check_rank(cls, shape: Sequence[int], rank: Any) -> int:
        return check_one_rank(rank, sum(shape[:2]) * prod(shape[2:]))

    @classmethod
    def shapes(cls, shape: Sequence[int], rank: int) -> list[tuple[int, int]]:
        return [(length, rank * prod(shape[2:])) for length in shape[:2]]

    @classmethod
    def modes(cls, ndim: int) -> int:
        return 2

    @classmethod
    def contraction(cls, shape: Sequence[int], rank: int) -> TubalContraction:
        return TubalContraction(shape, rank)

    @classmethod
    def terms(cls, shape: Sequence[int], rank: int) -> int:
        return rank * prod(shape[2:])

    @classmethod
    def of(cls, shape: Sequence[int], rank: int, parameters: Sequence[Array]) -> Self:
        A, B = (P.reshape(len(P), rank, *shape[2:]) for P in parameters)
        return cls(A, B)

    @classmethod
    def free(cls, shape: Sequence[int], rank: int) -> int:
        """A matrix of tubes and its inverse may be put between the two."""
        return super().free(shape, rank) - rank * rank * prod(shape[2:])

    @classmethod
    def put_product(cls, shape: Sequence[int], rank: int, parameters: list[Array], lines: Sequence[Array]) -> None:
        A, B = (P.reshape(len(P), rank, -1) for P in parameters)
        along = np.ones(1)
        for line in lines[2:]:
            along = np.multiply.outer(along, line).reshape(-1)
        A[:, 0] = 0.0
        A[:, 0, 0] = lines[0]  # at the first place of a tube: the unit of convolution
        B[:, 0] = lines[1][:, None] * along

    # --- numbers --------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor."""
        return (len(self.A), len(self.B), *self.A.shape[2:])

    @property
    def rank(self) -> int:
        """The tubal rank."""
        return self.A.shape[1]

    @property
    def parameters(self) -> list[Array]:
        return [self.A.reshape(len(self.A), -1), self.B.reshape(len(self.B), -1)]

    def at(self, indices: Array) -> Array:
        tube = Tube(self.shape[2:])
        A, B = (tube.forward(P.reshape(len(P), self.rank, -1)) for P in self.parameters)

        def values(part: Array) -> Array:
            tubes = tube.inverse(np.einsum("krf,krf->kf", A[part[:, 0]], B[part[:, 1]]))
            place = np.ravel_multi_index(tuple(part[:, 2:].T), tube.tube) if tube.tube else 0
            return tubes[np.arange(len(part)), place]

        return in_blocks(np.asarray(indices), 3 * self.rank * tube.entries, np.result_type(self.A, self.B), values)
