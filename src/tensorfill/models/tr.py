"""The tensor ring: X[i_1, ..., i_N] = trace(G_1[i_1] ... G_N[i_N])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, Self

import numpy as np

from tensorfill.kernels.ring import RingContraction
from tensorfill.models.base import MODELS, Model, in_blocks, whole_numbers
from tensorfill.typing import Array


@MODELS.register("tr")
@dataclass(frozen=True, eq=False, repr=False)
class TR(Model):
    """A tensor ring: cores (r_n-1, I_n, r_n) in a circle, one per mode, r_N = r_0."""

    ranks_are = "r_0, ..., r_N-1, those on either side of each core; or one number for all"

    cores: Sequence[Array]

    def __post_init__(self) -> None:
        shapes = [np.shape(G) for G in self.cores]
        ends = [s[2] for s in shapes if len(s) == 3]
        if len(ends) != len(shapes) or any(s[0] != ends[n - 1] for n, s in enumerate(shapes)):
            msg = f"cores must have shapes (r_n-1, I_n, r_n), each beginning where the last ends; got {shapes}."
            raise ValueError(msg)

    # --- what follows from shape and rank -----------------------------------------------------------------------

    @classmethod
    def check_rank(cls, shape: Sequence[int], rank: Any) -> tuple[int, ...]:
        N = len(shape)
        given = whole_numbers(rank, (N,), f"{N} of them, r_0 to r_{N - 1}")
        return given * N if len(given) == 1 else given

    @classmethod
    def bonds(cls, rank: Sequence[int]) -> tuple[int, ...]:
        """r_0, ..., r_N."""
        return (*rank, rank[0])

    @classmethod
    def shapes(cls, shape: Sequence[int], rank: Sequence[int]) -> list[tuple[int, int]]:
        r = cls.bonds(rank)
        return [(length, r[n] * r[n + 1]) for n, length in enumerate(shape)]

    @classmethod
    def contraction(cls, shape: Sequence[int], rank: Sequence[int]) -> RingContraction:
        return RingContraction(shape, cls.bonds(rank))

    @classmethod
    def terms(cls, shape: Sequence[int], rank: Sequence[int]) -> int:
        return prod(cls.bonds(rank)[:-1])

    @classmethod
    def of(cls, shape: Sequence[int], rank: Sequence[int], parameters: Sequence[Array]) -> Self:
        r = cls.bonds(rank)
        cores = [A.reshape(-1, *r[n : n + 2]).transpose(1, 0, 2) for n, A in enumerate(parameters)]
        return cls(cores)

    @classmethod
    def free(cls, shape: Sequence[int], rank: Sequence[int]) -> int:
        """A matrix and its inverse may be put between any two cores."""
        return super().free(shape, rank) - sum(r * r for r in cls.bonds(rank)[1:])

    @classmethod
    def put_product(
        cls, shape: Sequence[int], rank: Sequence[int], parameters: list[Array], lines: Sequence[Array]
    ) -> None:
        for A, line in zip(parameters, lines, strict=True):
            A[:, 0] = line

    # --- numbers --------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor."""
        return tuple(G.shape[1] for G in self.cores)

    @property
    def rank(self) -> tuple[int, ...]:
        """(r_0, ..., r_N-1), those on either side of each core."""
        return tuple(G.shape[0] for G in self.cores)

    @property
    def parameters(self) -> list[Array]:
        return [np.ascontiguousarray(np.swapaxes(G, 0, 1)).reshape(G.shape[1], -1) for G in self.cores]

    def at(self, indices: Array) -> Array:
        rows = [np.swapaxes(G, 0, 1) for G in self.cores]  # (I_n, r_n-1, r_n)

        def values(part: Array) -> Array:
            state = rows[0][part[:, 0]]
            for n, G in enumerate(rows[1:-1], start=1):
                state = np.matmul(state, G[part[:, n]])
            return np.einsum("kab,kba->k", state, rows[-1][part[:, -1]])

        r = self.bonds(self.rank)
        width = max(r[0] * max(r), *(a * b for a, b in pairwise(r)))
        return in_blocks(indices, width, np.result_type(*self.cores), values)
