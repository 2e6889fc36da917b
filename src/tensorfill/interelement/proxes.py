"""Proxes that are made of other things: of a matrix by a linear solve, of a sum by a chain of proxes.

Factorisations are kept by a bounded cache of module functions, keyed by the (frozen) prior: no prior ever changes.
Systems are solved in float64 whatever the dtype of A, and the answer is cast back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.interelement.base import InterElementPrior


BANDED_UP_TO = 8  # sub-diagonals: a wider matrix goes to the sparse factorisation


def chain_proxes(terms: Sequence[InterElementPrior]) -> list[InterElementPrior]:
    """Return non-smooth terms as priors whose proxes, one after the other, are the prox of their sum; or a sentence.

    Terms of one kind merge, and the kinds follow in their `prox_order`: total variation, L1, then the interval.
    """
    if len(terms) == 1:
        return list(terms)
    strange = [term for term in terms if term.prox_order is None]
    if strange:
        others = " and ".join(type(term).__name__ for term in terms if term is not strange[0])
        msg = (
            f"{type(strange[0]).__name__} cannot be added to {others}: the prox of a sum is not made of the proxes, "
            f"save for TotalVariation, L1, NonNegative and Box. Put one of them on another mode, or use a smooth prior."
        )
        raise ValueError(msg)
    orders = sorted({term.prox_order for term in terms if term.prox_order is not None})
    return [reduce(lambda a, b: a.merge_with(b), (t for t in terms if t.prox_order == k)) for k in orders]


def solve_shifted(prior: InterElementPrior, A: Array, step: float) -> Array:
    """The prox of any prior with a matrix: Z (I_n, R) with (I + step Q) Z = A."""
    solve = _call_cached(_make_solver, prior, A.shape[0], float(step))
    return np.ascontiguousarray(solve(np.asarray(A, dtype=np.float64)), dtype=A.dtype)


def _call_cached(build: Any, prior: InterElementPrior, *key: Any) -> Any:
    """`build(prior, *key)` from its cache, or built anew for a user's prior that cannot be hashed."""
    try:
        hash(prior)
    except TypeError:
        return build.__wrapped__(prior, *key)
    return build(prior, *key)


def matrix_of(prior: InterElementPrior, n: int, dtype: str) -> Any:
    """Return the matrix of a quadratic prior for n rows, in the dtype."""
    return _call_cached(_matrix_of, prior, n, dtype)


@lru_cache(maxsize=16)
def _matrix_of(prior: InterElementPrior, n: int, dtype: str) -> Any:
    return prior.matrix(n).tocsr().astype(np.dtype(dtype))


@lru_cache(maxsize=8)
def _make_solver(prior: InterElementPrior, n: int, step: float) -> Callable[[Array], Array]:
    """A function that solves (I + step Q) Z = A: by bands where Q is narrow, by a sparse factorisation elsewhere."""
    from scipy.sparse import coo_array, eye_array

    M = coo_array(eye_array(n, format="csr") + step * prior.matrix(n))
    width = int(np.abs(M.row - M.col).max(initial=0))
    if width <= BANDED_UP_TO:
        from scipy.linalg import solveh_banded

        ab = np.zeros((width + 1, n))
        lower = M.row >= M.col
        np.add.at(ab, (M.row[lower] - M.col[lower], M.col[lower]), M.data[lower])
        return lambda A: solveh_banded(ab, A, lower=True, check_finite=False)

    from scipy.sparse.linalg import splu

    return splu(M.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve
