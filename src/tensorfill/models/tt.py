"""The tensor train: X[i_1, ..., i_N] = G_1[i_1] ... G_N[i_N], a row times matrices times a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tensorfill.models.base import MODELS, principal, whole_numbers
from tensorfill.models.tr import TR
from tensorfill.typing import Array


@MODELS.register("tt", at=2)
@dataclass(frozen=True, eq=False, repr=False)
class TT(TR):
    """A tensor train: cores (r_n-1, I_n, r_n) in a row, one per mode, r_0 = r_N = 1."""

    ranks_are = "r_1, ..., r_N-1, those between the cores; or one number for all, less where fewer suffice"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cores[0].shape[0] != 1:
            msg = f"a train begins and ends with rank 1; got {self.cores[0].shape[0]}. Use TR for a ring."
            raise ValueError(msg)

    @classmethod
    def check_rank(cls, shape: Sequence[int], rank: Any) -> tuple[int, ...]:
        N = len(shape)
        given = whole_numbers(rank, (N - 1,), f"{N - 1} of them, r_1 to r_{N - 1}")
        if len(given) < N - 1:  # one number: no more than the sides of the matrix that is split there
            given = tuple(min(given[0], prod(shape[: n + 1]), prod(shape[n + 1 :])) for n in range(N - 1))
        return given

    @classmethod
    def beyond(cls, shape: Sequence[int], rank: Sequence[int]) -> bool:
        r = cls.bonds(rank)
        return any(
            r[n] > min(prod(shape[:n]), prod(shape[n:]), r[n - 1] * shape[n - 1], shape[n] * r[n + 1])
            for n in range(1, len(shape))
        )

    @classmethod
    def bonds(cls, rank: Sequence[int]) -> tuple[int, ...]:
        return (1, *rank, 1)

    @property
    def rank(self) -> tuple[int, ...]:
        """(r_1, ..., r_N-1), those between the cores."""
        return tuple(G.shape[0] for G in self.cores[1:])

    def components(self) -> tuple[list[Array], Array]:
        """The principal directions of X along each mode, by moving the weight of the train to that mode's core."""
        cores = [np.asarray(G, dtype=np.float64) for G in self.cores]
        lefts: list[Array] = [np.eye(1)]
        rights: list[Array] = [np.eye(1)]
        for G in cores[:-1]:  # R of the cores before, and of those after
            lefts.append(np.linalg.qr(np.tensordot(lefts[-1], G, 1).reshape(-1, G.shape[2]))[1])
        for G in cores[:0:-1]:
            wide = np.tensordot(G, rights[-1], ([2], [1]))
            rights.append(np.linalg.qr(wide.reshape(G.shape[0], -1).T)[1])
        sides = zip(lefts, cores, rights[::-1], strict=True)
        return principal([np.einsum("ab,bic,dc->iad", L, G, R).reshape(G.shape[1], -1) for L, G, R in sides])
