"""Contractions: how the parameters of a model make X, and the way back; the part of a layout that knows the model.

Design: a layout knows where the observations are, a contraction how one model computes; either is written once for all
of the other. Every parameter is a matrix. For the dense layout X is a matrix too (modes split in order, left | right)
and a product of two halves: `halves`. For the sampled layout there are compiled loops over coordinates: `loops`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import ceil, prod
from typing import Any, Protocol

import numpy as np

from tensorfill.kernels.base import Array
from tensorfill.kernels.loops import Compiled

SLAB_ENTRIES = 2**19  # entries of X (or of L, if longer) held at a time: 2 MB in float32, in reach of a core's cache
PRODUCT = 0.07  # time of the three matrix products, per entry of X and length of the sums, in passes over one number
Cut = tuple[slice, ...]  # which rows of each left mode make a slab


class Half(Protocol):
    """A matrix (rows, K) made of some parameters, and the way back from its gradient."""

    @property
    def matrix(self) -> Array: ...

    def pullback(self, G: Array) -> list[Array]: ...


class Halves(ABC):
    """X = L R' slab by slab for given parameters; adds up the gradient of those that are `wanted`."""

    @abstractmethod
    def left(self, cut: Cut) -> Any:
        """The left half of a slab."""

    @abstractmethod
    def multiply(self, left: Any, out: Array) -> Array:
        """The slab of X, (rows, cols), written to `out`."""

    @abstractmethod
    def add(self, cut: Cut, left: Any, Y: Array) -> None:
        """Add what the gradient Y (rows, cols) in the slab gives."""

    @abstractmethod
    def finish(self) -> list[Array]:
        """The gradients of the wanted parameters."""


class MatrixHalves(Halves):
    """Halves that are plain matrices: subclasses say how they are made.

    X = L R'        Y the gradient in X        G_L = Y R        G_R = Y' L
    Three matrix products for all parameters together; the rest is thin.
    """

    right: Half

    def __init__(self, parameters: Sequence[Array], split: int, wanted: Sequence[int] | None = None) -> None:
        self.parameters, self.split = parameters, split
        self.wanted = list(range(len(parameters)) if wanted is None else wanted)
        self.G: list[Array] = [np.zeros_like(A) for A in parameters[:split]]
        self.G_right: Array | None = None
        self.wants_left = min(self.wanted) < split
        self.wants_right = max(self.wanted) >= split

    def multiply(self, left: Half, out: Array) -> Array:
        return np.matmul(left.matrix, self.right.matrix.T, out=out)  # X = A B', Algorithm 2, line 5

    def add(self, cut: Cut, left: Half, Y: Array) -> None:
        if self.wants_left:
            for G, rows, part in zip(self.G, cut, left.pullback(Y @ self.right.matrix), strict=True):
                G[rows] += part
        if self.wants_right:
            part = Y.T @ left.matrix  # Y B, Algorithm 2, line 8; `finish` takes B apart
            self.G_right = part if self.G_right is None else np.add(self.G_right, part, out=self.G_right)

    def finish(self) -> list[Array]:
        G = [*self.G, *(self.right.pullback(self.G_right) if self.G_right is not None else [])]
        return [G[p] for p in self.wanted]


class Loops:
    """Compiled loops over coordinates. `F` is what `stack` makes of the parameters, here all laid end to end in one
    vector; a gradient G has the form of F. `only`: the one parameter that a gradient is wanted of, None for all.
    """

    def __init__(self, loops: Compiled, shapes: Sequence[tuple[int, int]], ranks: Sequence[int]) -> None:
        """`shapes`: of the parameters, (rows, columns)."""
        self.loops, self.shapes, self.ranks = loops, list(shapes), np.array(ranks, dtype=np.int64)
        self.first = np.concatenate([[0], np.cumsum([a * b for a, b in shapes])]).astype(np.int64)

    def stack(self, parameters: Sequence[Array]) -> Any:
        return np.concatenate([A.reshape(-1) for A in parameters])

    def predict(self, F: Any, indices: Array, x: Array) -> None:
        """Write x (nnz,) at the coordinates (nnz, N)."""
        self.loops.predict(F, self.first, self.ranks, indices, x)

    def zeros(self, F: Any, only: int | None) -> tuple[Any, list[Array]]:
        """An empty gradient, and its parts, each with rows that take terms."""
        G = np.zeros_like(F)
        return G, self._parts(G) if only is None else [self._parts(G)[only]]

    def pullback(self, F: Any, indices: Array, g: Array, G: Any, only: int | None) -> None:
        """Add to G."""
        self.loops.pullback(F, self.first, self.ranks, indices, g, -1 if only is None else only, G)

    def add(self, G: Any, other: Any) -> Any:
        """The sum, in place of the first."""
        return np.add(G, other, out=G)

    def unstack(self, G: Any, only: int | None) -> list[Array]:
        """Gradients of all parameters, or a list of one."""
        parts = self._parts(G)
        return parts if only is None else [np.array(parts[only])]

    def _parts(self, G: Array) -> list[Array]:
        return [part.reshape(shape) for part, shape in zip(np.split(G, self.first[1:-1]), self.shapes, strict=True)]


class Contraction(ABC):
    """One model of one shape and rank; for CP the rank is an estimate, as the factors bring their own."""

    shape: tuple[int, ...]
    shapes: list[tuple[int, int]]  # of the parameters
    loops: Loops
    split: int  # where the modes are split for the dense layout

    def checked(self, parameters: Sequence[Array]) -> list[Array]:
        """Parameters in C order and one dtype, float32 or float64; refuse wrong shapes."""
        return check_matrices(parameters, self.shapes)

    @abstractmethod
    def inner(self, parameters: Sequence[Array]) -> int:
        """K, the length of the sums in X = L R'."""

    @abstractmethod
    def halves(self, parameters: Sequence[Array], wanted: Sequence[int] | None = None) -> Halves:
        """Both halves, ready to multiply."""

    @abstractmethod
    def costs(self) -> tuple[float, float, float]:
        """(K, numbers touched per observation, numbers touched per fibre): for the choice of a layout."""

    def times(self) -> tuple[float, float]:
        """Nanoseconds that the loops take for an observation, and for a fibre that has any."""
        _, leaf, branch = self.costs()
        return 16.0 + 0.84 * leaf, 24.0 + 2.0 * branch


def check_matrices(parameters: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Parameters in C order and one dtype, float32 or float64, of these shapes; no copy where they are so already."""
    dtype = np.result_type(*parameters)
    if dtype not in (np.float32, np.float64):
        dtype = np.dtype(np.float64)
    out = [np.ascontiguousarray(A, dtype=dtype) for A in parameters]
    if [A.shape for A in out] != list(shapes):
        msg = f"factors must have shapes {list(shapes)}; got {[A.shape for A in out]}."
        raise ValueError(msg)
    return out


def choose_split(shape: Sequence[int], slab: int = SLAB_ENTRIES, inner: Sequence[int] | None = None) -> int:
    """The split with the least work. `inner`: K of every split, 1 ... N - 1; the same for all where it is not given,
    and then the matrix products cost the same too.

    Counted in passes over rows of K numbers: about 4 to form and take apart each product of two or more
    modes, and one per slab to add to G_R, which is what keeps the right side small.
    """

    def work(k: int) -> tuple[float, int]:
        rows, cols = prod(shape[:k]), prod(shape[k:])
        passes = ceil(rows * cols / slab) * cols
        passes += 4 * rows if k > 1 else 0
        passes += 4 * cols if len(shape) - k > 1 else 0
        return passes if inner is None else inner[k - 1] * (passes + PRODUCT * rows * cols), cols

    return min(range(1, len(shape)), key=work)
