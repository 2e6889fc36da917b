"""Tensor train and tensor ring: X[i_1, ..., i_N] = trace(G_1[i_1] ... G_N[i_N]), each G_n[i] a matrix (r_n-1, r_n).

A train is a ring with r_0 = r_N = 1. The parameter of mode n is the matrix (I_n, r_n-1 r_n), a row for each G_n[i].
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tensorfill.kernels import loops
from tensorfill.kernels.base import Array
from tensorfill.kernels.contraction import Contraction, Cut, Loops, MatrixHalves, choose_split


class Run:
    """M[(i_1, ..., i_p)] = G_1[i_1] ... G_p[i_p], each (a, b), as a matrix (prod I_n, a b)."""

    def __init__(self, cores: Sequence[Array], *, transposed: bool = False) -> None:
        """Cores (I_n, r_n-1, r_n). `transposed`: rows are (b, a), as the right half must be to meet the left."""
        self.cores, self.transposed = list(cores), transposed and cores[0].shape[1] > 1 and cores[-1].shape[2] > 1
        # each core as (r_n-1, I_n r_n), so that one product adds a mode
        self._wide = [C.transpose(1, 0, 2).reshape(C.shape[1], -1) for C in self.cores[1:]]
        self._heads = [self.cores[0]]  # products of the first 1, 2, ... cores, (rows, a, r_n)
        for C, wide in zip(self.cores[1:], self._wide, strict=True):
            head = self._heads[-1]
            rows, a, r = head.shape
            grown = (head.reshape(rows * a, r) @ wide).reshape(rows, a, len(C), C.shape[2])
            self._heads.append(grown.transpose(0, 2, 1, 3).reshape(rows * len(C), a, C.shape[2]))
        last = self._heads[-1]
        self.matrix: Array = (last.transpose(0, 2, 1) if self.transposed else last).reshape(len(last), -1)

    def pullback(self, G: Array) -> list[Array]:
        """Gradient in each core as a matrix (I_n, r_n-1 r_n), given the gradient G in the matrix."""
        rows, a, b = self._heads[-1].shape
        G = G.reshape(rows, b, a).transpose(0, 2, 1) if self.transposed else G.reshape(rows, a, b)
        out = []
        for C, wide, head in zip(self.cores[:0:-1], self._wide[::-1], self._heads[-2::-1], strict=True):
            rows, a, r = head.shape
            flat = G.reshape(rows, len(C), a, C.shape[2]).transpose(0, 2, 1, 3).reshape(rows * a, -1)
            back = head.reshape(rows * a, r).T @ flat  # (r_n-1, I_n r_n)
            out.append(back.reshape(r, len(C), C.shape[2]).transpose(1, 0, 2).reshape(len(C), -1))
            G = (flat @ wide.T).reshape(rows, a, r)
        return [np.ascontiguousarray(G).reshape(len(G), -1), *out[::-1]]


class RingHalves(MatrixHalves):
    """Runs of the left and of the right cores."""

    def __init__(
        self, parameters: Sequence[Array], ranks: Sequence[int], split: int, wanted: Sequence[int] | None = None
    ) -> None:
        super().__init__(parameters, split, wanted)
        self.cores = [A.reshape(-1, *ranks[n : n + 2]) for n, A in enumerate(parameters)]
        self.right = Run(self.cores[split:], transposed=True)

    def left(self, cut: Cut) -> Run:
        return Run([C[rows] for C, rows in zip(self.cores, cut, strict=False)])


class RingContraction(Contraction):
    """Ranks r_0, ..., r_N with r_0 = r_N."""

    def __init__(self, shape: Sequence[int], ranks: Sequence[int]) -> None:
        self.shape, self.ranks = tuple(shape), tuple(ranks)
        self.shapes = [(length, ranks[n] * ranks[n + 1]) for n, length in enumerate(shape)]
        self.loops = Loops(loops.ring, self.shapes, ranks)
        self._inner = [ranks[0] * r for r in ranks[1:-1]]
        self.split = choose_split(shape, inner=self._inner)

    def inner(self, parameters: Sequence[Array]) -> int:
        return self._inner[self.split - 1]

    def halves(self, parameters: Sequence[Array], wanted: Sequence[int] | None = None) -> RingHalves:
        return RingHalves(parameters, self.ranks, self.split, wanted)

    def costs(self) -> tuple[float, float, float]:
        r = self.ranks
        return self._inner[self.split - 1], r[0] * r[-2], r[0] * prod(r[-3:-1])
