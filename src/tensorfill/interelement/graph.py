"""Smoothness over a graph whose vertices are the rows of a factor."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.interelement.base import INTERELEMENT, Array
from tensorfill.interelement.quadratic import Quadratic


@INTERELEMENT.register("graph-laplacian")
@dataclass(frozen=True, eq=False)
class GraphLaplacian(Quadratic):
    """Neighbours on a graph are alike: rho/2 sum over edges (i, j) of w_ij |a_i - a_j|^2.

    Parameters
    ----------
    rho
        Weight of the whole.
    edges
        Pairs of row numbers, (E, 2), each pair once (i, j or j, i). See also `GraphLaplacian.from_matrix`.
    weights
        One number >= 0 per edge, (E,); all 1 by default.
    n
        Number of rows (vertices); the largest number in `edges` plus one by default.
    """

    edges: Any = ()
    weights: Any = None
    n: int | None = None
    _digest: str = dataclasses.field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        super().__post_init__()
        edges = _check_edges(self.edges)
        weights = _check_weights(self.weights, edges)
        least = int(edges.max(initial=-1)) + 1
        n = least if self.n is None else int(self.n)
        if n < max(least, 1) or self.n not in (None, n):
            msg = (
                f"n of GraphLaplacian must be a whole number >= {max(least, 1)}, the rows its edges name; got {self.n}."
            )
            raise ValueError(msg)
        for array in (edges, weights):
            array.flags.writeable = False
        # Equality and hash go by this digest, so that looking up a factorisation does not read the whole graph.
        digest = hashlib.sha256(edges.tobytes() + weights.tobytes() + str(n).encode()).hexdigest()
        for key, item in (("edges", edges), ("weights", weights), ("n", n), ("_digest", digest)):
            object.__setattr__(self, key, item)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphLaplacian):
            return NotImplemented
        return (self.rho, self._digest) == (other.rho, other._digest)

    def __hash__(self) -> int:
        return hash((self.rho, self._digest))

    def __repr__(self) -> str:
        return f"GraphLaplacian(rho={self.rho:g}, {len(self.edges)} edges, n={self.n})"

    @classmethod
    def from_matrix(cls, W: Any, rho: float = 1.0) -> GraphLaplacian:
        """From a symmetric (n, n) matrix of weights >= 0, dense or sparse; its diagonal counts for nothing."""
        from scipy.sparse import coo_array, csr_array, triu

        if len(np.shape(W)) != 2 or np.shape(W)[0] != np.shape(W)[1]:
            msg = f"the weight matrix of GraphLaplacian must be square, (n, n); got shape {np.shape(W)}."
            raise ValueError(msg)
        W = csr_array(W, dtype=np.float64)
        asymmetry, largest = abs(W - W.T).max(), abs(W).max()
        if not asymmetry <= 1e-10 * largest:  # `not <=` so that nan is refused too
            msg = (
                f"the weight matrix of GraphLaplacian must be symmetric and finite; W and W' differ by up to "
                f"{asymmetry:g}. Use (W + W.T) / 2 if both directions mean the same."
            )
            raise ValueError(msg)
        upper = coo_array(triu(W, k=1))
        return cls(rho, np.stack([upper.row, upper.col], axis=1), upper.data, W.shape[0])

    def settings(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rho": self.rho,
            "edges": self.edges.tolist(),
            "weights": self.weights.tolist(),
            "n": self.n,
        }

    def matrix(self, n: int) -> Any:
        """Rho (D - W) with D the weighted degrees, (n, n)."""
        from scipy.sparse import coo_array

        self._check_rows(n)
        i, j = self.edges.T
        w = self.rho * self.weights
        data, rows, cols = np.concatenate([w, w, -w, -w]), np.r_[i, j, i, j], np.r_[i, j, j, i]
        return coo_array((data, (rows, cols)), shape=(n, n)).tocsr()

    def value(self, A: Array) -> float:
        """Sum over edges: nothing cancels, and it is never below 0."""
        self._check_rows(len(A))
        i, j = self.edges.T
        D = A[i] - A[j]
        return 0.5 * self.rho * float(self.weights @ np.einsum("er,er->e", D, D).astype(np.float64))

    def _check_rows(self, n: int) -> None:
        if n != self.n:
            msg = (
                f"A must have one row per vertex of GraphLaplacian, {self.n}; got {n} rows. "
                f"Use the graph on the mode it was made for, or give n= to count vertices without edges."
            )
            raise ValueError(msg)


def _check_edges(given: Any) -> Array:
    """(E, 2) whole numbers >= 0, no loops, no pair twice."""
    edges = np.array(given)
    if edges.ndim != 2 or edges.shape[1] != 2 or not np.issubdtype(edges.dtype, np.integer):
        msg = (
            f"edges of GraphLaplacian must be pairs of row numbers, (E, 2) integers; got shape {edges.shape} of "
            f"{edges.dtype}. For a weight matrix, use GraphLaplacian.from_matrix(W)."
        )
        raise ValueError(msg)
    edges = edges.astype(np.int64)
    first, second = edges.min(axis=1), edges.max(axis=1)
    repeated = np.ones(len(edges), dtype=bool)
    repeated[np.unique(np.stack([first, second], axis=1), axis=0, return_index=True)[1]] = False
    for wrong, why in (
        (first < 0, "row numbers begin at 0"),
        (first == second, "an edge joins two different rows"),
        (repeated, "each pair must be given once, in either direction; add their weights up"),
    ):
        if wrong.any():
            at = int(np.argmax(wrong))
            msg = f"edges of GraphLaplacian: {why}; got {tuple(edges[at].tolist())} at position {at}."
            raise ValueError(msg)
    return edges


def _check_weights(given: Any, edges: Array) -> Array:
    """(E,) finite numbers >= 0."""
    weights = np.ones(len(edges)) if given is None else np.array(given, dtype=np.float64)
    if weights.shape != (len(edges),):
        msg = f"weights of GraphLaplacian must be one per edge, ({len(edges)},); got shape {weights.shape}."
        raise ValueError(msg)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(wrong):
        msg = (
            f"weights of GraphLaplacian must be finite and >= 0 (the penalty is unbounded below otherwise); "
            f"got {weights[wrong[0]]:g} for edge {tuple(edges[wrong[0]].tolist())}."
        )
        raise ValueError(msg)
    return weights
