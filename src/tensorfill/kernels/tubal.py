"""Tubal: the t-product X = A * B. Along the modes after the second (the tubes) X is a circular convolution,

    X[i, j] = sum_r A[i, r] conv B[j, r]        so that in the Fourier domain every slice is a matrix product.

The parameters are A (I_1, R K) and B (I_2, R K), K the number of entries of a tube.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorfill.kernels import loops
from tensorfill.kernels.base import Array
from tensorfill.kernels.contraction import Contraction, Cut, Halves, Loops

FIBRE_ENTRIES = 2**19  # entries of tubes held at a time by the sampled layout


class Tube:
    """The Fourier transform along the tubes (the last axes, of shape `tube`) as one axis of F frequencies."""

    def __init__(self, tube: Sequence[int]) -> None:
        self.tube = tuple(tube)
        self.entries = prod(self.tube)
        self._half = (*self.tube[:-1], self.tube[-1] // 2 + 1) if self.tube else ()
        self.frequencies = prod(self._half)

    def forward(self, X: Array) -> Array:
        """(..., K) real -> (..., F) complex."""
        if not self.tube:
            return X.astype(np.result_type(X, np.complex64))
        axes = tuple(range(-len(self.tube), 0))
        Z = _fft().rfftn(X.reshape(*X.shape[:-1], *self.tube), axes=axes)
        return Z.reshape(*X.shape[:-1], self.frequencies)

    def inverse(self, Z: Array) -> Array:
        """The way back: (..., F) complex -> (..., K) real."""
        if not self.tube:
            return np.ascontiguousarray(Z.real)
        axes = tuple(range(-len(self.tube), 0))
        X = _fft().irfftn(Z.reshape(*Z.shape[:-1], *self._half), s=self.tube, axes=axes)
        return X.reshape(*Z.shape[:-1], self.entries)

    # X = inverse(A^ B^) with A^ = forward(A): by Parseval the gradient in A is inverse(Y^ conj(B^)), Y^ = forward(Y)


def _fft() -> Any:
    """SciPy's, which keeps float32."""
    import scipy.fft

    return scipy.fft


class TubalHalves(Halves):
    """A product for each frequency. Left are the rows of A, right is all of B."""

    def __init__(self, parameters: Sequence[Array], tube: Tube, rank: int, wanted: Sequence[int] | None = None) -> None:
        A, B = parameters
        self.tube, self.rank = tube, rank
        self.wanted = [0, 1] if wanted is None else list(wanted)
        self.A = A.reshape(len(A), rank, tube.entries)
        B_hat = tube.forward(B.reshape(len(B), rank, tube.entries))
        self.B_hat = np.ascontiguousarray(B_hat.transpose(2, 1, 0))  # (F, R, I_2)
        self.G = np.zeros_like(self.A)
        self.G_B = np.zeros((tube.frequencies, rank, len(B)), dtype=self.B_hat.dtype)

    def left(self, cut: Cut) -> Array:
        """(F, rows, R)."""
        return np.ascontiguousarray(self.tube.forward(self.A[cut[0]]).transpose(2, 0, 1))

    def multiply(self, left: Array, out: Array) -> Array:
        X = np.matmul(left, self.B_hat).transpose(1, 2, 0)  # (rows, I_2, F)
        out[...] = self.tube.inverse(X).reshape(out.shape)
        return out

    def add(self, cut: Cut, left: Array, Y: Array) -> None:
        Y_hat = self.tube.forward(Y.reshape(len(Y), -1, self.tube.entries)).transpose(2, 0, 1)  # (F, rows, I_2)
        if 0 in self.wanted:
            back = np.matmul(Y_hat, self.B_hat.conj().transpose(0, 2, 1))  # (F, rows, R)
            self.G[cut[0]] += self.tube.inverse(back.transpose(1, 2, 0))
        if 1 in self.wanted:
            self.G_B += np.matmul(left.conj().transpose(0, 2, 1), Y_hat)  # (F, R, I_2)

    def finish(self) -> list[Array]:
        G_B = self.tube.inverse(self.G_B.transpose(2, 1, 0))
        G = [self.G, G_B]
        return [np.ascontiguousarray(G[p]).reshape(len(G[p]), -1) for p in self.wanted]


class TubalLoops(Loops):
    """Whole tubes, but only those with an observation: their spectra by compiled loops, then a Fourier transform."""

    def __init__(self, tube: Tube, rank: int) -> None:
        self.tube, self.rank = tube, rank

    def stack(self, parameters: Sequence[Array]) -> list[Array]:
        wide = [P.reshape(len(P), self.rank, self.tube.entries) for P in parameters]
        return [np.ascontiguousarray(self.tube.forward(P)) for P in wide]

    def _fibres(self, indices: Array) -> Any:
        """(which observations, tube of each among them, place of each in its tube, coordinates of the tubes)."""
        i, j = indices[:, 0], indices[:, 1]
        place = np.zeros(len(indices), dtype=np.intp)
        if self.tube.tube:
            place = np.ravel_multi_index(tuple(indices[:, 2:].T), self.tube.tube)
        new = np.concatenate([[True], (i[1:] != i[:-1]) | (j[1:] != j[:-1])]) if len(i) else np.empty(0, dtype=bool)
        number = np.cumsum(new) - 1
        starts = np.flatnonzero(new)
        most = max(1, FIBRE_ENTRIES // self.tube.entries)
        for a in range(0, len(starts), most):
            b = min(a + most, len(starts))
            part = slice(starts[a], starts[b] if b < len(starts) else len(indices))
            pairs = np.ascontiguousarray(indices[starts[a:b], :2])
            yield part, number[part] - a, place[part], pairs

    def predict(self, F: list[Array], indices: Array, x: Array) -> None:
        for part, which, place, pairs in self._fibres(indices):
            Z = np.zeros((len(pairs), self.tube.frequencies), dtype=F[0].dtype)
            loops.tubal.multiply(F[0], F[1], pairs, Z)
            x[part] = self.tube.inverse(Z)[which, place]

    def zeros(self, F: list[Array], only: int | None) -> tuple[list[Array], list[Array]]:
        G = [np.zeros_like(P) for P in F]
        return G, G

    def pullback(self, F: list[Array], indices: Array, g: Array, G: list[Array], only: int | None) -> None:
        for part, which, place, pairs in self._fibres(indices):
            Y = np.zeros((len(pairs), self.tube.entries), dtype=g.dtype)
            np.add.at(Y, (which, place), g[part])  # repeats are summed
            loops.tubal.pullback(F[0], F[1], pairs, self.tube.forward(Y), -1 if only is None else only, G[0], G[1])

    def add(self, G: list[Array], other: list[Array]) -> list[Array]:
        return [np.add(P, Q, out=P) for P, Q in zip(G, other, strict=True)]

    def unstack(self, G: list[Array], only: int | None) -> list[Array]:
        wanted = G if only is None else [G[only]]
        return [np.ascontiguousarray(self.tube.inverse(P)).reshape(len(P), -1) for P in wanted]


class TubalContraction(Contraction):
    """Rank R: of every Fourier slice."""

    split = 1

    def __init__(self, shape: Sequence[int], rank: int) -> None:
        self.shape, self.rank = tuple(shape), rank
        self.tube = Tube(shape[2:])
        self.shapes = [(length, rank * self.tube.entries) for length in shape[:2]]
        self.loops = TubalLoops(self.tube, rank)

    def inner(self, parameters: Sequence[Array]) -> int:
        return self.rank

    def halves(self, parameters: Sequence[Array], wanted: Sequence[int] | None = None) -> TubalHalves:
        return TubalHalves(parameters, self.tube, self.rank, wanted)

    def costs(self) -> tuple[float, float, float]:
        K = self.tube.entries
        # complex numbers, and Fourier transforms of some 10 passes
        return 2 * self.rank + 100, 4.0, K * (2.0 * self.rank + 20)
