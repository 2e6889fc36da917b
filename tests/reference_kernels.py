"""The slow, obvious truth that the fast layouts are tested against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


# --- CP -----------------------------------------------------------------------------------------------------------


def rows(indices: Array, factors: Sequence[Array], skip: int | None = None) -> Array:
    """Product over modes (but `skip`) of the factor rows each observation touches: (nnz, R)."""
    out = np.ones((len(indices), factors[0].shape[1]), dtype=np.float64)
    for n, A in enumerate(factors):
        if n != skip:
            out *= A[indices[:, n]]
    return out


def predict(indices: Array, factors: Sequence[Array]) -> Array:
    """x_i = sum_r prod_n A_n[i_n, r]: (nnz,)."""
    return rows(indices, factors).sum(axis=1)


def pullback(g: Array, indices: Array, factors: Sequence[Array], mode: int) -> Array:
    """Adjoint of the derivative of `predict` in factor `mode`: (I_n, R)."""
    out = np.zeros_like(factors[mode], dtype=np.float64)
    np.add.at(out, indices[:, mode], g[:, None] * rows(indices, factors, skip=mode))
    return out


def pullback_all(layout: Any, g: Array, factors: Sequence[Array]) -> list[Array]:
    """The gradients of all parameters that a layout itself finds for g."""
    return layout.value_and_pullback(lambda a, b, _: (0.0, g[a:b]), factors)[1]


# --- any model ----------------------------------------------------------------------------------------------------


def cp(shape: Sequence[int], rank: int, parameters: Sequence[Array]) -> Array:
    """sum_r of outer products."""
    modes = ascii_letters[: len(shape)]
    return np.einsum(",".join(f"{c}Z" for c in modes) + "->" + modes, *parameters)


def tucker(shape: Sequence[int], rank: Sequence[int], parameters: Sequence[Array]) -> Array:
    """The core times a factor along every mode."""
    X = parameters[-1].reshape(tuple(rank))
    for n, A in enumerate(parameters[:-1]):
        X = np.moveaxis(np.tensordot(A, X, ([1], [n])), 0, n)
    return X


def ring(shape: Sequence[int], bonds: Sequence[int], parameters: Sequence[Array]) -> Array:
    """The trace of a product of matrices, entry by entry."""
    X = np.empty(tuple(shape))
    for i in np.ndindex(*shape):
        M = np.eye(bonds[0])
        for n, row in enumerate(i):
            M = M @ parameters[n][row].reshape(bonds[n], bonds[n + 1])
        X[i] = np.trace(M)
    return X


def tubal(shape: Sequence[int], rank: int, parameters: Sequence[Array]) -> Array:
    """The circular convolution along the tubes, term by term."""
    A, B = (P.reshape(len(P), rank, *shape[2:]) for P in parameters)
    X = np.zeros(tuple(shape))
    for k in np.ndindex(*shape[2:]):
        for m in np.ndindex(*shape[2:]):
            rest = tuple((a - b) % length for a, b, length in zip(k, m, shape[2:], strict=True))
            X[(slice(None), slice(None), *k)] += A[(slice(None), slice(None), *m)] @ B[(..., *rest)].T
    return X


FULL: dict[str, Callable[[Sequence[int], Any, Sequence[Array]], Array]] = {
    "cp": cp,
    "tucker": tucker,
    "tt": lambda shape, rank, parameters: ring(shape, (1, *rank, 1), parameters),
    "tr": lambda shape, rank, parameters: ring(shape, (*rank, rank[0]), parameters),
    "tubal": tubal,
}


def pullback_of(
    model: str, shape: Sequence[int], rank: Any, parameters: Sequence[Array], Y: Array, which: int
) -> Array:
    """Gradient of <Y, X> in one parameter of any model: X is linear in each, so one unit step for each entry."""
    out = np.zeros(parameters[which].shape)
    for e in np.ndindex(*out.shape):
        step = [np.zeros_like(P) if p == which else P for p, P in enumerate(parameters)]
        step[which][e] = 1.0
        out[e] = (FULL[model](shape, rank, step) * Y).sum()
    return out
