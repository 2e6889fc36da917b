"""The dense layout: X as a matrix, computed and pulled back by BLAS.

Design: the modes are split in order, left | right, and X is the matrix  L R'  of two halves that the model's
contraction makes. The right half is formed whole and is the small one; the left half and X itself exist only one
slab at a time: a contiguous run of rows of X, whose observations are a contiguous run too (both in C order).
    X = L R'        Y = g at the observed entries, 0 elsewhere        G_L = Y R        G_R = Y' L
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from tensorfill.kernels.base import Array, Entrywise, Layout, check_indices
from tensorfill.kernels.contraction import SLAB_ENTRIES, Contraction, Halves
from tensorfill.kernels.contraction import choose_split as choose_split

PRODUCT_ROWS = 64  # rows from which on a matrix product runs at full speed
# overflow and NaN are for the solver's guard to see in the result; compiled loops do not warn either
silent = np.errstate(over="ignore", under="ignore", invalid="ignore")


@dataclass(frozen=True)
class Slab:
    """A run of rows of X."""

    left: tuple[slice, ...]  # the rows of each left factor that make it
    rows: int
    first: int  # its first entry, counted in C order over the whole tensor
    start: int  # its observations are start:stop
    stop: int


def slab_rows(cols: int, rank: int) -> int:
    """How many rows of X, each `cols` long, make a slab."""
    # a few rows at least: products of single rows are slow; X is then no larger than R, which is held whole anyway
    return max(min(rank, PRODUCT_ROWS), SLAB_ENTRIES // max(cols, rank))


def left_slabs(shape: Sequence[int], most_rows: int) -> Iterator[tuple[slice, ...]]:
    """Cut the left modes into runs of at most `most_rows` rows, in C order.

    Modes before m run one index at a time, mode m in blocks, modes after m whole.
    """
    m = 0
    while m < len(shape) - 1 and prod(shape[m + 1 :]) > most_rows:
        m += 1
    block = max(1, most_rows // prod(shape[m + 1 :]))
    block = ceil(shape[m] / ceil(shape[m] / block))  # all of nearly one length
    whole = tuple(slice(0, size) for size in shape[m + 1 :])
    for prefix in product(*(range(size) for size in shape[:m])):
        for start in range(0, shape[m], block):
            stop = min(start + block, shape[m])
            yield (*(slice(i, i + 1) for i in prefix), slice(start, stop), *whole)


class DenseLayout(Layout):
    """Observations of a tensor small or full enough to compute every entry of X."""

    name = "dense"

    def __init__(self, indices: Array, contraction: Contraction) -> None:
        """Coordinates (nnz, N) in lexicographic order; repeats are summed."""
        self.shape, self.contraction = contraction.shape, contraction
        indices = check_indices(indices, self.shape)
        self.nnz = len(indices)
        flat = np.ravel_multi_index(tuple(indices.T), self.shape)
        if np.any(flat[1:] < flat[:-1]):
            msg = "indices must be in lexicographic (C) order. Sort them with numpy.lexsort(indices.T[::-1])."
            raise ValueError(msg)
        self._repeats = bool(np.any(flat[1:] == flat[:-1]))
        self._complete = self.nnz == prod(self.shape) and not self._repeats
        self._flat = np.empty(0, dtype=np.intp) if self._complete else flat
        self._cols = prod(self.shape[contraction.split :])
        self._plans: dict[int, list[Slab]] = {}

    # The Layout contract -----------------------------------------------------------------------

    @silent
    def predict(self, factors: Sequence[Array]) -> Array:
        factors, slabs, halves = self._begin(factors)
        x = np.empty(self.nnz, dtype=factors[0].dtype)
        X = self._buffer(slabs, x.dtype)
        for slab in slabs:
            part = halves.multiply(halves.left(slab.left), X[: slab.rows])
            x[slab.start : slab.stop] = self._gather(slab, part)
        return x

    @silent
    def pullback(self, g: Array, factors: Sequence[Array], mode: int) -> Array:
        factors, slabs, halves = self._begin(factors, [mode])
        Y = self._buffer(slabs, factors[0].dtype)
        for slab in slabs:
            left = halves.left(slab.left)
            halves.add(slab.left, left, self._scatter(slab, g[slab.start : slab.stop], Y[: slab.rows]))
        return halves.finish()[0]

    @silent
    def value_and_pullback(self, entrywise: Entrywise, factors: Sequence[Array]) -> tuple[float, list[Array]]:
        factors, slabs, halves = self._begin(factors)
        X = self._buffer(slabs, factors[0].dtype)
        value = 0.0
        for slab in slabs:
            left = halves.left(slab.left)
            part = halves.multiply(left, X[: slab.rows])
            loss, g = entrywise(slab.start, slab.stop, self._gather(slab, part))
            value += loss
            # X is not needed any more: Y takes its place
            halves.add(slab.left, left, self._scatter(slab, g, part))
        return value, halves.finish()

    # For priors on X itself --------------------------------------------------------------------

    @silent
    def full(self, factors: Sequence[Array]) -> Array:
        """The whole tensor X, (I_1, ..., I_N)."""
        factors, slabs, halves = self._begin(factors)
        X = np.empty(self.shape, dtype=factors[0].dtype)
        for slab in slabs:
            halves.multiply(halves.left(slab.left), self._rows(X, slab))
        return X

    @silent
    def pullback_full(self, Y: Array, factors: Sequence[Array]) -> list[Array]:
        """Gradient of every parameter for a gradient Y in all of X, of the tensor's shape."""
        factors, slabs, halves = self._begin(factors)
        Y = np.ascontiguousarray(Y, dtype=factors[0].dtype)
        for slab in slabs:
            halves.add(slab.left, halves.left(slab.left), self._rows(Y, slab))
        return halves.finish()

    # Inside ------------------------------------------------------------------------------------

    def _begin(
        self, factors: Sequence[Array], wanted: Sequence[int] | None = None
    ) -> tuple[list[Array], list[Slab], Halves]:
        factors = self.contraction.checked(factors)
        inner = self.contraction.inner(factors)
        if inner not in self._plans:
            self._plans[inner] = self._cut(inner)
        return factors, self._plans[inner], self.contraction.halves(factors, wanted)

    def _cut(self, inner: int) -> list[Slab]:
        cols = self._cols
        cuts = list(left_slabs(self.shape[: self.contraction.split], slab_rows(cols, inner)))
        rows = [prod(part.stop - part.start for part in cut) for cut in cuts]
        edges = np.concatenate([[0], np.cumsum(rows)]) * cols
        at = edges if self._complete else np.searchsorted(self._flat, edges)
        return [Slab(cut, rows[s], int(edges[s]), int(at[s]), int(at[s + 1])) for s, cut in enumerate(cuts)]

    def _buffer(self, slabs: Sequence[Slab], dtype: Any) -> Array:
        """Room for the largest slab."""
        return np.empty((max(slab.rows for slab in slabs), self._cols), dtype=dtype)

    def _rows(self, X: Array, slab: Slab) -> Array:
        """The slab as a view (rows, cols) of a whole tensor."""
        return X.reshape(-1)[slab.first : slab.first + slab.rows * self._cols].reshape(slab.rows, self._cols)

    def _positions(self, slab: Slab) -> Array:
        flat = self._flat[slab.start : slab.stop]
        return flat - slab.first if slab.first else flat

    def _gather(self, slab: Slab, X: Array) -> Array:
        return X.reshape(-1) if self._complete else X.reshape(-1).take(self._positions(slab))

    def _scatter(self, slab: Slab, g: Array, out: Array) -> Array:
        """Y of Eq. 12 (ydef): g where observed, else 0."""
        if self._complete:
            return np.ascontiguousarray(g, dtype=out.dtype).reshape(out.shape)
        flat = out.reshape(-1)
        flat.fill(0)
        if self._repeats:
            np.add.at(flat, self._positions(slab), g.astype(flat.dtype, copy=False))
        else:
            flat[self._positions(slab)] = g
        return out
