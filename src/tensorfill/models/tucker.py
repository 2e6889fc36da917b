"""The Tucker model: X = core x_1 A_1 x_2 ... x_N A_N."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Self

import numpy as np

from tensorfill.kernels.tucker import TuckerContraction
from tensorfill.models.base import MODELS, Model, in_blocks, principal, whole_numbers
from tensorfill.typing import Array


@MODELS.register("tucker")
@dataclass(frozen=True, eq=False, repr=False)
class Tucker(Model):
    """A small core (R_1, ..., R_N), and a factor (I_n, R_n) for every mode."""

    ranks_are = "R_1, ..., R_N, one for each mode; or one number for all, less for shorter modes"

    core: Array
    factors: Sequence[Array]

    def __post_init__(self) -> None:
        if self.core.shape != tuple(A.shape[1] for A in self.factors):
            shapes = [A.shape for A in self.factors]
            msg = f"the core must have a mode for the columns of each factor {shapes}; got shape {self.core.shape}."
            raise ValueError(msg)

    # --- what follows from shape and rank -----------------------------------------------------------------------

    @classmethod
    def check_rank(cls, shape: Sequence[int], rank: Any) -> tuple[int, ...]:
        N = len(shape)
        given = whole_numbers(rank, (N,), f"{N} of them, one for each mode")
        return tuple(min(given[0], length) for length in shape) if len(given) == 1 else given

    @classmethod
    def shapes(cls, shape: Sequence[int], rank: Sequence[int]) -> list[tuple[int, int]]:
        return [*zip(shape, rank, strict=True), (rank[0], prod(rank[1:]))]

    @classmethod
    def beyond(cls, shape: Sequence[int], rank: Sequence[int]) -> bool:
        size = prod(rank)
        return any(r > length or r * r > size for r, length in zip(rank, shape, strict=True))

    @classmethod
    def others(cls) -> tuple[str, ...]:
        return ("core",)

    @classmethod
    def contraction(cls, shape: Sequence[int], rank: Sequence[int]) -> TuckerContraction:
        return TuckerContraction(shape, rank)

    @classmethod
    def terms(cls, shape: Sequence[int], rank: Sequence[int]) -> int:
        return prod(rank)

    @classmethod
    def of(cls, shape: Sequence[int], rank: Sequence[int], parameters: Sequence[Array]) -> Self:
        *factors, core = parameters
        return cls(core.reshape(tuple(rank)), factors)

    @classmethod
    def free(cls, shape: Sequence[int], rank: Sequence[int]) -> int:
        """A matrix and its inverse may be put between the core and any factor."""
        return super().free(shape, rank) - sum(r * r for r in rank)

    @classmethod
    def noise(cls, shape: Sequence[int], rank: Sequence[int], relative: float, unit: float, rng: Any) -> list[Array]:
        """Directions of full size and a small core: with both small, neither has a slope to follow."""
        *factors, core = super().noise(shape, rank, 1.0, unit, rng)
        return [*factors, relative / np.sqrt(core.size) * core]

    @classmethod
    def aim(cls, parameters: list[Array], directions: Callable[[int, int], Array], unit: float) -> None:
        """The level, and the directions that the data vary in; orthogonal, so that the core sees them alike. From
        random ones few starts find the way (measured: exact data of rank 3 x 4 x 3, 40 % known: two starts of six).
        """
        *factors, core = parameters
        length = _even(unit ** len(parameters) * np.sqrt(prod(len(A) for A in factors)), core, len(factors))
        for n, A in enumerate(factors):
            A[:, 0] = 1.0
            A[:, 1:] = directions(n, A.shape[1] - 1)
            columns = min(A.shape)
            A[:, :columns] = np.linalg.qr(A[:, :columns])[0]
            A *= length * np.sign(A[0, 0]) / np.linalg.norm(A, axis=0)

    @classmethod
    def put_product(
        cls, shape: Sequence[int], rank: Sequence[int], parameters: list[Array], lines: Sequence[Array]
    ) -> None:
        *factors, core = parameters
        norms = [float(np.linalg.norm(line)) or 1.0 for line in lines]
        length = _even(prod(norms), core, len(factors))
        for A, line, norm in zip(factors, lines, norms, strict=True):
            A[:, 0] = line * length / norm
        core[0, 0] = prod(norms) / length ** len(factors)

    # --- numbers --------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor."""
        return tuple(A.shape[0] for A in self.factors)

    @property
    def rank(self) -> tuple[int, ...]:
        """(R_1, ..., R_N), one for each mode."""
        return tuple(self.core.shape)

    @property
    def parameters(self) -> list[Array]:
        return [*self.factors, self.core.reshape(len(self.core), -1)]

    def at(self, indices: Array) -> Array:
        def values(part: Array) -> Array:
            T = self.factors[0][part[:, 0]] @ self.core.reshape(len(self.core), -1)
            for n, A in enumerate(self.factors[1:], start=1):
                T = np.matmul(A[part[:, n]][:, None, :], T.reshape(len(part), A.shape[1], -1))[:, 0]
            return T[:, 0]

        return in_blocks(indices, prod(self.rank[1:]), np.result_type(self.core, *self.factors), values)

    def components(self) -> tuple[list[Array], Array]:
        T, bases = np.asarray(self.core, dtype=np.float64), []
        for n, A in enumerate(self.factors):  # factors with orthonormal columns, the same X
            Q, R = np.linalg.qr(np.asarray(A, dtype=np.float64))
            T = np.moveaxis(np.tensordot(R, T, ([1], [n])), 0, n)
            bases.append(Q)
        columns, strengths = principal([np.moveaxis(T, n, 0).reshape(T.shape[n], -1) for n in range(T.ndim)])
        return [Q @ U for Q, U in zip(bases, columns, strict=True)], strengths


def _even(norm: float, core: Array, modes: int) -> float:
    """Length of the columns of all factors with which an entry of the core and one of a factor weigh alike in an X of
    this norm: a step is then as long for either.
    """
    return float((norm / np.sqrt(core.size)) ** (1.0 / (modes + 1)))
