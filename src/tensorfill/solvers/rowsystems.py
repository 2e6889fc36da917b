"""Systems of the rows of one factor, and their solution: rows one by one, or all at once where a prior ties them.

Every row i has normal equations G_i (R, R) and h_i (R,); Q (I, I) of the inter-element prior ties rows to one another.
Tied rows are solved by a banded Cholesky where an order of the rows makes Q narrow, else by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tensorfill.kernels.loops import newton
from tensorfill.solvers.threads import in_threads
from tensorfill.typing import Array

# A ridge towards the present value, as a share of the mean curvature and at least, for directions without data; as in
# kernels/_newton
JITTER, NOTHING = 1e-10, 1e-30
WIDEST = 600  # bands, counted in entries of A; beyond, conjugate gradients are faster and need no memory
ROOM = 2**25  # doubles that a banded matrix may take
PASSES = 60  # passes of coordinate descent over a row, at most
NEAR = 1e-6  # a move that gains less than this share of the first is the last
MOST_GRADIENTS, RESIDUAL = 200, 1e-8  # of conjugate gradients: steps at most, and the residual, as a share of h
SWEEPS = 10  # over rows that are tied and bounded
SHRINK, TRIES = 0.3, 12  # factor on a step that would raise the objective, and how often it is applied


@dataclass(frozen=True, eq=False)
class RowCoupling:
    """A quadratic inter-element prior on one mode: Q (I, I), sparse, and the bounds of A's entries."""

    Q: Any  # CSR
    low: float
    high: float

    @cached_property
    def diagonal(self) -> Array:
        """(I,)."""
        return np.asarray(self.Q.diagonal(), dtype=np.float64)

    @cached_property
    def apart(self) -> bool:
        """Has every row its own problem?"""
        return bool(self.Q.nnz == np.count_nonzero(self.diagonal))

    @property
    def bounded(self) -> bool:
        """Is an end of the interval finite?"""
        return bool(np.isfinite(self.low) or np.isfinite(self.high))

    @cached_property
    def order(self) -> Array:
        """Rows in an order that keeps tied ones close, (I,)."""
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        I = self.Q.shape[0]  # noqa: E741
        better = reverse_cuthill_mckee(self.Q, symmetric_mode=True)
        return better if _width(self.Q, better) < _width(self.Q, np.arange(I)) else np.arange(I)

    @cached_property
    def bands(self) -> list[tuple[int, Array]]:
        """(distance, Q's entries that far below the diagonal (I - distance,)), of the rows in `order`."""
        P = self.Q[self.order][:, self.order]
        return [(k, np.asarray(P.diagonal(-k))) for k in range(_width(self.Q, self.order) + 1)]

    def value(self, A: Array) -> float:
        """1/2 tr(A'QA)."""
        return 0.5 * float(np.vdot(A, self.Q @ A))


def _width(Q: Any, order: Array) -> int:
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    coo = Q.tocoo()
    return int(np.abs(place[coo.row] - place[coo.col]).max(initial=0))


def solve_apart(
    G: Array,
    h: Array,
    q: Array,
    bounds: tuple[float, float],
    A: Array,
    out: Array,
    threads: int = 1,
    near: float = NEAR,
) -> None:
    """Solve for rows, `out` (rows, R), one by one, from A (rows, R). Their normal equations: G (rows, R, R) and
    h (rows, R), and the diagonal of Q, q (rows,).
    """
    low, high = bounds

    def work(a: int, b: int) -> None:
        newton.solve_rows(G[a:b], h[a:b], q[a:b], A[a:b], out[a:b])
        if np.isfinite(low) or np.isfinite(high):
            newton.box_rows(G[a:b], h[a:b], q[a:b], low, high, PASSES, near, A[a:b], out[a:b])

    in_threads(work, [len(G) * t // threads for t in range(threads + 1)])


def solve_tied(ties: RowCoupling, G: Array, h: Array, A: Array) -> Array:
    """All rows at once, (I, R), from A (I, R): normal equations G (I, R, R) and h (I, R)."""
    free = factorise(ties, G)(h, A)
    if not ties.bounded or (free.min() >= ties.low and free.max() <= ties.high):
        return free
    out = np.clip(free, ties.low, ties.high)
    if not model_value(ties, G, h, out) <= model_value(ties, G, h, A):
        out = A.astype(np.float64)
    Q = ties.Q
    for _ in range(SWEEPS):
        newton.box_sweep(G, h, Q.indptr, Q.indices, Q.data, ties.low, ties.high, 2, out)
    return out


def model_value(ties: RowCoupling, G: Array, h: Array, A: Array) -> float:
    """The model at A (I, R), less a constant."""
    out = np.empty(A.shape)
    newton.multiply_rows(G, A, out)
    return 0.5 * float(np.vdot(A, out)) - float(np.vdot(h, A)) + ties.value(A)


Solve = Callable[[Array, Array], Array]


def factorise(ties: RowCoupling, G: Array, extra: float = 0.0) -> Solve:
    """A function (h, start) -> A that solves (G + Q + extra) A = h, all (I, R): factorised once where that is exact.

    Directions that neither data nor Q determine stay at `start`.
    """
    I, R, _ = G.shape  # noqa: E741
    near = max(JITTER * float(np.einsum("irr->", G)) / (I * R), NOTHING)
    width = ties.bands[-1][0] * R
    if width > WIDEST or (width + 1) * I * R > ROOM:
        return _gradients(ties, G, extra, near)
    from scipy.linalg import cho_solve_banded, cholesky_banded

    ab = np.zeros((max(width, R - 1) + 1, I * R))
    for k, values in ties.bands:
        ab[k * R, : (I - k) * R] = np.repeat(values, R)
    newton.fill_bands(G, ties.order, extra + near, ab)
    try:
        L = cholesky_banded(ab, overwrite_ab=True, lower=True, check_finite=False)
    except np.linalg.LinAlgError:  # a pivot lost to rounding
        return _gradients(ties, G, extra, near)

    def solve(h: Array, start: Array) -> Array:
        out, right = np.empty((I, R)), h + near * start
        out[ties.order] = cho_solve_banded((L, True), right[ties.order].reshape(-1), check_finite=False).reshape(I, R)
        return out

    return solve


def _gradients(ties: RowCoupling, G: Array, extra: float, near: float) -> Solve:
    """Conjugate gradients from `start`, each row preconditioned by its own system."""
    from scipy.sparse.linalg import LinearOperator, cg

    shape = G.shape[:2]
    own, nowhere = ties.diagonal + extra + near, np.zeros(shape)

    def times(v: Array) -> Array:
        V, out = v.reshape(shape), np.empty(shape)
        newton.multiply_rows(G, V, out)
        return (out + ties.Q @ V + (extra + near) * V).reshape(-1)

    def conditioned(v: Array) -> Array:
        out = np.empty(shape)
        newton.solve_rows(G, v.reshape(shape), own, nowhere, out)
        return out.reshape(-1)

    M, P = (LinearOperator((G[..., 0].size,) * 2, matvec=f, dtype=np.float64) for f in (times, conditioned))

    def solve(h: Array, start: Array) -> Array:
        right, first = (h + near * start).reshape(-1), start.astype(np.float64).reshape(-1)
        goal = RESIDUAL * float(np.linalg.norm(h))
        return cg(M, right, first, rtol=0.0, atol=goal, maxiter=MOST_GRADIENTS, M=P)[0].reshape(shape)

    return solve


def damp_steps(cost: Callable[[Array], Array], rows: int) -> Array:
    """Step lengths from 0 to 1, (rows,), with which no row costs more than without a step.

    cost : step lengths (rows,) -> what each row costs after such steps, (rows,); NaN counts as more
    """
    step, before = np.ones(rows), cost(np.zeros(rows))
    for _ in range(TRIES):
        worse = ~(cost(step) <= before)
        if not worse.any():
            return step
        step = np.where(worse, SHRINK * step, step)
    return np.where(~(cost(step) <= before), 0.0, step)
