"""Tucker: X = core x_1 A_1 x_2 ... x_N A_N. The parameters are A_1, ..., A_N (I_n, R_n) and the core as the matrix
(R_1, R_2 ... R_N).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

import numpy as np

from tensorfill.kernels import loops
from tensorfill.kernels.base import Array
from tensorfill.kernels.contraction import PRODUCT, SLAB_ENTRIES, Contraction, Cut, Halves, Loops

THIN = 8  # a matrix product with a side shorter than this takes as long as one with this


class Grown:
    """An array (lead, R_1, ..., R_m, K) with the middle modes multiplied by their factors: (lead, I_1, ..., I_m, K).

    The last mode first: so the product that makes everything large is the last one, of the fewest matrices.
    """

    def __init__(self, core: Array, factors: Sequence[Array]) -> None:
        self.factors = list(factors)
        self._stages: list[Array] = []  # what each factor multiplies, (before, R_n, after), that of the last mode first
        T = core
        for n in range(len(factors) - 1, -1, -1):
            T = T.reshape(prod(core.shape[: n + 1]), core.shape[n + 1], -1)
            self._stages.append(T)
            T = np.matmul(self.factors[n], T)
        self.array: Array = T

    def pullback(self, G: Array) -> tuple[list[Array], Array]:
        """Gradients of the factors, and of the core (of its size), given that of `array`."""
        out = []
        for A, T in zip(self.factors, self._stages[::-1], strict=True):
            G = G.reshape(len(T), len(A), -1)
            out.append(np.matmul(G, T.transpose(0, 2, 1)).sum(axis=0))
            G = np.matmul(A.T, G)
        return out, G


class TuckerHalves(Halves):
    """Split before the last mode, or after the first; the core is multiplied by the factors of the longer side."""

    def __init__(
        self, parameters: Sequence[Array], ranks: Sequence[int], split: int, wanted: Sequence[int] | None = None
    ) -> None:
        *self.factors, core = parameters
        self.wanted = list(range(len(parameters)) if wanted is None else wanted)
        self.core = core.reshape(ranks)
        self.G = [np.zeros_like(A) for A in parameters]
        self.after_first = split == 1
        self._cut: Cut = ()  # the rows of the middle factors that `_grown` was made of
        self._owed: Array | None = None  # gradient in `_grown.array`, as a matrix
        if self.after_first:
            self._grown = Grown(np.moveaxis(self.core, 0, -1)[None], self.factors[1:])
            self.right = self._grown.array.reshape(-1, ranks[0])  # (cols, R_1)
        else:
            self.right = self.factors[-1]

    def left(self, cut: Cut) -> Array:
        """(rows, K)."""
        first = self.factors[0][cut[0]]
        if self.after_first:
            return first
        if self._cut != cut[1:]:  # slabs of the first mode share the rest, (R_1, I_2, ..., I_N-1, R_N)
            self._settle()
            self._cut = cut[1:]
            self._grown = Grown(self.core, [A[rows] for A, rows in zip(self.factors[1:-1], cut[1:], strict=True)])
        return (first @ self._rest).reshape(-1, self.core.shape[-1])

    @property
    def _rest(self) -> Array:
        return self._grown.array.reshape(self.core.shape[0], -1)

    def multiply(self, left: Array, out: Array) -> Array:
        return np.matmul(left, self.right.T, out=out)

    def add(self, cut: Cut, left: Array, Y: Array) -> None:
        N = len(self.factors)
        if self.after_first:
            if 0 in self.wanted:
                self.G[0][cut[0]] += Y @ self.right
            if self.wanted != [0]:
                self._owe(Y.T @ left)
            return
        if N - 1 in self.wanted:
            self.G[N - 1] += Y.T @ left
        if self.wanted != [N - 1]:
            rows = cut[0]
            back = (Y @ self.right).reshape(rows.stop - rows.start, -1)
            if 0 in self.wanted:
                self.G[0][rows] += back @ self._rest.T
            if self.wanted != [0]:
                self._owe(self.factors[0][rows].T @ back)

    def _owe(self, part: Array) -> None:
        self._owed = part if self._owed is None else np.add(self._owed, part, out=self._owed)

    def _settle(self) -> None:
        """What was made of the core passes its gradient on."""
        if self._owed is None:
            return
        parts, core = self._grown.pullback(self._owed)
        if self.after_first:
            core = np.moveaxis(core.reshape(*self.core.shape[1:], -1), -1, 0)
        cut = (slice(None),) * len(parts) if self.after_first else self._cut
        for G, rows, part in zip(self.G[1:], cut, parts, strict=False):
            G[rows] += part
        self.G[-1] += core.reshape(self.G[-1].shape)
        self._owed = None

    def finish(self) -> list[Array]:
        self._settle()
        return [self.G[p] for p in self.wanted]


class TuckerContraction(Contraction):
    """Ranks R_1, ..., R_N."""

    def __init__(self, shape: Sequence[int], ranks: Sequence[int]) -> None:
        self.shape, self.ranks = tuple(shape), tuple(ranks)
        self.shapes = [*zip(shape, ranks, strict=True), (ranks[0], prod(ranks[1:]))]
        self.loops = Loops(loops.tucker, self.shapes, ranks)
        self.split = _choose_split(self.shape, self.ranks)
        self._inner = ranks[0] if self.split == 1 else ranks[-1]

    def inner(self, parameters: Sequence[Array]) -> int:
        return self._inner

    def halves(self, parameters: Sequence[Array], wanted: Sequence[int] | None = None) -> TuckerHalves:
        return TuckerHalves(parameters, self.ranks, self.split, wanted)

    def costs(self) -> tuple[float, float, float]:
        return self._inner, self.ranks[-1], prod(self.ranks[-2:])


def _choose_split(shape: Sequence[int], ranks: Sequence[int]) -> int:
    """After the first mode or before the last, whichever is less work: products, and passes over their thin sides."""
    size, N = prod(shape), len(shape)

    def product(rows: int, inner: int, cols: int) -> float:
        return PRODUCT * rows * max(inner, THIN) * max(cols, THIN)

    cols = size // shape[0]
    first = product(shape[0], ranks[0], cols) + product(shape[1], ranks[1], cols // shape[1] * ranks[0])
    first += ceil(size / SLAB_ENTRIES) * cols * ranks[0]
    rows = size // shape[-1]
    last = product(rows, ranks[-1], shape[-1]) + product(shape[0], ranks[0], rows // shape[0] * ranks[-1])
    last += 3 * rows * ranks[-1]
    return 1 if first <= last else N - 1
