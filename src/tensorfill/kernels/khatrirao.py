"""CP: the Khatri-Rao product of a few factors, and the way back from its gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorfill.kernels import loops
from tensorfill.kernels.contraction import Contraction, Cut, Loops, MatrixHalves, check_matrices, choose_split
from tensorfill.typing import Array


class KhatriRao:
    """K[(i_1, ..., i_p), r] = prod_n U_n[i_n, r], rows in C order; a single factor is not copied."""

    def __init__(self, factors: Sequence[Array]) -> None:
        self._factors = list(factors)
        # tails[n] = product of U_n, ..., U_p: the way back needs every one of them again
        self._tails = [self._factors[-1]]
        for U in reversed(self._factors[:-1]):
            tail = self._tails[0]
            # repeat, then one multiply with long inner loops: 3 times faster than broadcasting at small ranks
            product = np.repeat(U, len(tail), axis=0)
            product.reshape(len(U), tail.size)[...] *= tail.reshape(-1)
            self._tails.insert(0, product)

    @property
    def matrix(self) -> Array:
        """(prod I_n, R)."""
        return self._tails[0]

    def pullback(self, G: Array) -> list[Array]:
        """Gradient in each U_n, given the gradient G (prod I_n, R) in the product."""
        gradients = []
        for U, tail in zip(self._factors[:-1], self._tails[1:], strict=True):
            G3 = G.reshape(len(U), len(tail), U.shape[1])
            gradients.append(np.einsum("ijr,jr->ir", G3, tail))
            G = np.einsum("ijr,ir->jr", G3, U)
        return [*gradients, G]


class CPHalves(MatrixHalves):
    """Khatri-Rao products of the left and of the right factors."""

    def __init__(self, factors: Sequence[Array], split: int, wanted: Sequence[int] | None = None) -> None:
        super().__init__(factors, split, wanted)
        self.right = KhatriRao(factors[split:])

    def left(self, cut: Cut) -> KhatriRao:
        return KhatriRao([A[rows] for A, rows in zip(self.parameters, cut, strict=False)])


class CPLoops(Loops):
    """All factors stacked in one array F (I_1 + ... + I_N, R); `first[n]` is where mode n begins. The gradient of one
    factor has its rows alone.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self.first = np.concatenate([[0], np.cumsum(self.shape)]).astype(np.int64)

    def stack(self, parameters: Sequence[Array]) -> Array:
        return np.concatenate(parameters)

    def predict(self, F: Array, indices: Array, x: Array) -> None:
        loops.cp.predict(F, self.first, indices, x)

    def zeros(self, F: Array, only: int | None) -> tuple[Array, list[Array]]:
        rows = len(F) if only is None else self.shape[only]
        G = np.zeros((rows, F.shape[1]), dtype=F.dtype)
        return G, self.unstack(G, only)

    def pullback(self, F: Array, indices: Array, g: Array, G: Array, only: int | None) -> None:
        if only is None:
            loops.cp.pullback(F, self.first, indices, g, G)
        else:
            loops.cp.pullback_mode(F, self.first, indices, g, only, G)

    def unstack(self, G: Array, only: int | None) -> list[Array]:
        return np.split(G, self.first[1:-1]) if only is None else [G]


class CPContraction(Contraction):
    """x_i = sum_r prod_n A_n[i_n, r], of any rank."""

    def __init__(self, shape: Sequence[int], rank: int = 1) -> None:
        self.shape, self.rank = tuple(shape), rank
        self.shapes = [(size, rank) for size in shape]
        self.split = choose_split(self.shape)
        self.loops = CPLoops(shape)

    def checked(self, parameters: Sequence[Array]) -> list[Array]:
        return check_matrices(parameters, [(size, np.shape(parameters[0])[-1]) for size in self.shape])

    def inner(self, parameters: Sequence[Array]) -> int:
        return parameters[0].shape[1]

    def halves(self, parameters: Sequence[Array], wanted: Sequence[int] | None = None) -> CPHalves:
        return CPHalves(parameters, self.split, wanted)

    def costs(self) -> tuple[float, float, float]:
        return self.rank, self.rank, (len(self.shape) - 1) * self.rank

    def times(self) -> tuple[float, float]:
        N, R = len(self.shape), self.rank
        return 8.0 + 0.42 * R + max(N - 3, 0) * (12.0 + 0.3 * R), (N - 1) * (12.0 + 0.5 * R)
