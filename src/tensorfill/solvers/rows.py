"""A factor's rows under a quadratic model of the objective: what second-order solvers have in common.

Model in factor A (I, R) of one mode, all others fixed:   1/2 sum_i c_i (z_i - x_i)^2  over the observations, and
1/2 tr(A'QA) of the inter-element prior. x is linear in A, so every row has its own normal equations G_i, h_i, tied to
other rows by Q alone. Without ties rows are solved one by one, in slabs and threads; with ties all at once (see
`rowsystems`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensorfill.numerical.continuous import Normal
from tensorfill.problem import Problem
from tensorfill.solvers.balance import balance
from tensorfill.solvers.base import made_once
from tensorfill.solvers.curvature import expand
from tensorfill.solvers.entries import SLAB, Entries, entries, interleave
from tensorfill.solvers.lbfgsb import bounds_only
from tensorfill.solvers.rowsystems import NEAR, RowCoupling, solve_apart, solve_tied
from tensorfill.solvers.threads import row_shares
from tensorfill.typing import Array

WORTH = 2**20  # numbers in systems times their side that pay for a second thread
MOST = 2**27  # doubles that the systems of tied rows may take: 1 GiB


@dataclass(frozen=True, eq=False)
class Rows:
    """A problem sorted along every mode."""

    entries: Entries
    ties: tuple[RowCoupling, ...]

    def solve(self, factors: Sequence[Array], n: int, z: Array, c: Array, near: float = NEAR) -> Array:
        """The factor (I_n, R) that minimises the model within its bounds, float64.

        z, c (nnz,): c > 0. Where bounds bite it is an approximation, `near` it, no worse than the factor given.
        """
        F, ties, A = np.concatenate(factors), self.ties[n], factors[n]
        if not ties.apart:
            G, h = self.systems(F, n, z, c, slice(0, len(A)))
            return solve_tied(ties, G, h, A)
        out = np.empty(A.shape)
        slab = max(1, SLAB // A.shape[1] ** 2)
        for start in range(0, len(A), slab):
            part = slice(start, min(start + slab, len(A)))
            G, h = self.systems(F, n, z, c, part)
            threads = max(1, min(self.entries.threads, len(G), G.size * G.shape[1] // WORTH))
            solve_apart(G, h, ties.diagonal[part], (ties.low, ties.high), A[part], out[part], threads, near)
        return out

    def objective(self, problem: Problem, factors: Sequence[Array]) -> float:
        """As `problem.value`, by the coordinates alone: they are few beside the rows' systems, whatever the layout."""
        F = np.concatenate(factors).astype(np.float64, copy=False)
        with np.errstate(all="ignore"):  # a step gone wrong is not taken
            return problem.value_given(self.entries.predict(F).astype(problem.dtype, copy=False), factors)

    def systems(self, F: Array, n: int, z: Array, c: Array, part: slice) -> tuple[Array, Array]:
        """Normal equations of some rows of mode n without Q: G (rows, R, R), lower triangles, and h (rows, R)."""
        return self.entries.systems(F, np.empty((len(F), 0)), n, z, c, part)

    def balance(self, factors: Sequence[Array], norms: Array | None = None) -> list[Array]:
        """As the function `balance`, with the ties of this problem."""
        return balance(self.ties, factors, norms)

    def shares(self, n: int) -> list[int]:
        """Where to cut the rows of mode n into one part per thread, with about as many observations each."""
        return row_shares(self.entries.modes[n].starts, self.entries.threads)


@made_once
def rows_of(problem: Problem) -> Rows:
    """The problem sorted along every mode."""
    return Rows(entries(problem.observations), row_couplings(problem))


def row_couplings(problem: Problem) -> tuple[RowCoupling, ...]:
    """The quadratic part of every mode's inter-element prior, and its bounds."""
    from scipy.sparse import csr_array

    ties = []
    for n, length in enumerate(problem.shape):
        p = problem.interelement.get(n)
        Q = csr_array((length, length)) if p is None or p.smooth is None else p.smooth.matrix(length).tocsr()
        Q = Q.astype(np.float64)
        Q.eliminate_zeros()
        ties.append(RowCoupling(Q, *problem.bounds(n)))
    return tuple(ties)


def not_matrix(problem: Problem) -> str | None:
    """A refusal unless every smooth inter-element prior has a matrix."""
    if problem.tensorspace is not None:
        return "a tensor-space prior ties all entries of X together, and the steps here go row by row"
    for n, p in problem.modes:
        if p.smooth is not None and not p.smooth.has("matrix"):
            return f"mode {n} has {type(p).__name__}, which is not quadratic"
    return None


def too_large(problem: Problem, modes: Sequence[int] | None = None) -> str | None:
    """A refusal where rows that are solved together (of `modes`, else those that Q ties) take too much room."""
    for n, p in problem.modes:
        size = problem.shape[n] * problem.rank**2
        together = (p.smooth is not None and p.smooth.couples(problem.shape[n])) if modes is None else n in modes
        if together and size > MOST:
            return (
                f"mode {n} has {problem.shape[n]:,} rows to be solved together, and their systems at rank "
                f"{problem.rank} take {8 * size / 2**30:.1f} GiB; lower the rank"
            )
    return None


def not_quadratic(problem: Problem) -> str | None:
    """A refusal unless every inter-element prior has a matrix, or is a plain bound on the entries."""
    return not_matrix(problem) or bounds_only(problem) or too_large(problem)


def not_least_squares(problem: Problem) -> str | None:
    """A refusal unless the objective is least squares in every factor."""
    if not isinstance(problem.prior, Normal):
        return f"{type(problem.prior).__name__} is not least squares; this is for Normal"
    return not_quadratic(problem)


def minimise_mode(problem: Problem, factors: Sequence[Array], n: int) -> Array:
    """The factor of mode n at the minimum of a least-squares objective, all others as they are."""
    rows, A = rows_of(problem), [np.asarray(a, dtype=np.float64) for a in factors]
    x = rows.entries.predict(np.concatenate(A))
    g, c = expand(problem, x, rows.entries.threads)
    return rows.solve(A, n, *interleave(x - g / c, c)).astype(problem.dtype)
