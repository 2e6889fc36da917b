"""A factor's rows under a quadratic model of the objective: what second-order solvers have in common.

Model in factor A (I, R) of one mode, all others fixed:   1/2 sum_i c_i (z_i - x_i)^2  over the observations, and
1/2 tr(A'QA) of the inter-element prior. x is linear in A, so every row has its own normal equations G_i, h_i, tied to
other rows by Q alone. Without ties rows are solved one by one, in slabs and threads; with ties all at once, by a banded
Cholesky where an order of the rows makes Q narrow, else by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tensorfill.solvers.gibbs_data import SLAB, Entries, entries, in_threads, row_shares
from tensorfill.solvers.lbfgsb import bounds_only

if TYPE_CHECKING:
    from tensorfill.problem import Problem

Array = NDArray[Any]

JITTER, NOTHING = 1e-10, 1e-30  # as in kernels/_newton: what keeps a row where it was, of its mean curvature
WIDEST = 600  # bands, counted in entries of A; beyond, conjugate gradients are faster and need no memory
ROOM = 2**25  # doubles that a banded matrix may take
MOST = 2**27  # doubles that the systems of tied rows may take: 1 GiB
PASSES = 60  # of coordinate descent over a row
NEAR = 1e-6  # a move that gains less than this share of the first is the last
SWEEPS = 10  # over rows that are tied and bounded


@dataclass(frozen=True, eq=False)
class Ties:
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


@dataclass(frozen=True, eq=False)
class Rows:
    """A problem sorted along every mode."""

    entries: Entries
    ties: tuple[Ties, ...]

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
            solve_apart(ties, G, h, part, A, out, self.threads(G), near)
        return out

    def objective(self, problem: Problem, factors: Sequence[Array]) -> float:
        """As `problem.value`, by the coordinates alone: they are few beside the rows' systems, whatever the layout."""
        F = np.concatenate(factors).astype(np.float64, copy=False)
        with np.errstate(all="ignore"):  # a step gone wrong is not taken
            return problem.value_given(self.entries.predict(F).astype(problem.dtype, copy=False), factors)

    def systems(self, F: Array, n: int, z: Array, c: Array, part: slice) -> tuple[Array, Array]:
        """Normal equations of some rows of mode n without Q: G (rows, R, R), lower triangles, and h (rows, R)."""
        return self.entries.systems(F, np.empty((len(F), 0)), n, z, c, part)

    def balanced(self, factors: Sequence[Array], norms: Array | None = None) -> list[Array]:
        """The same model of X with the least penalty: scales go from mode to mode within each component.

        Alternating steps, which see one mode at a time, are slow to find that. With y_n the scale of a component in
        mode n, q_n its quadratic penalty there and p_n (`norms`, (N, R)) one that grows like y, the least sum of
        q y^2 + p y at product 1 has 2 q y^2 + p y the same in all modes. Where a mode bears no penalty, or bounds
        forbid it, nothing changes.
        """
        if any(np.isfinite(end) and end != 0 for ties in self.ties for end in (ties.low, ties.high)):
            return list(factors)
        q = np.array([0.5 * np.einsum("ir,ir->r", A, t.Q @ A) for A, t in zip(factors, self.ties, strict=True)])
        scale = even_scales(q, np.zeros_like(q) if norms is None else norms)
        return [A * y for A, y in zip(factors, scale, strict=True)]

    def shares(self, n: int) -> list[int]:
        """Where to cut the rows of mode n into one part per thread, with about as many observations each."""
        return row_shares(self.entries.modes[n].starts, self.entries.threads)

    def threads(self, G: Array) -> int:
        """As many as solving the systems G is worth."""
        return max(1, min(self.entries.threads, len(G), G.size * G.shape[1] // 2**20))


def even_scales(q: Array, p: Array) -> Array:
    """y (N, R), of product 1 in each column, with 2 q y^2 + p y alike; 1 in columns where both are 0 somewhere."""
    at_one = 2 * q + p
    good = (at_one > 0).all(axis=0) & np.isfinite(at_one).all(axis=0)
    q, p, at_one = (np.where(good, a, 1.0) for a in (q, p, at_one))
    if not p[:, good].any():  # all quadratic: the geometric mean
        return np.where(good, np.sqrt(np.exp(np.log(q).mean(axis=0)) / q), 1.0)
    low, high = np.log(at_one.min(axis=0)), np.log(at_one.max(axis=0))  # all y <= 1, and all y >= 1

    def scales(level: Array) -> Array:
        level = np.exp(level)
        return 2 * level / (p + np.sqrt(p * p + 8 * q * level))

    for _ in range(60):
        middle = 0.5 * (low + high)
        below = np.log(scales(middle)).sum(axis=0) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    y = scales(0.5 * (low + high))
    return np.where(good, y, 1.0)


def solve_apart(
    ties: Ties, G: Array, h: Array, part: slice, A: Array, out: Array, threads: int, near: float = NEAR
) -> None:
    """Rows `part` of `out`, one by one."""
    q, A, out, loops = ties.diagonal[part], A[part], out[part], compiled_loops()

    def work(a: int, b: int) -> None:
        if ties.bounded:
            loops.box_rows(G[a:b], h[a:b], q[a:b], ties.low, ties.high, PASSES, near, A[a:b], out[a:b])
        else:
            loops.solve_rows(G[a:b], h[a:b], q[a:b], A[a:b], out[a:b])

    in_threads(work, [len(G) * t // threads for t in range(threads + 1)])


def solve_tied(ties: Ties, G: Array, h: Array, A: Array) -> Array:
    """All rows at once, (I, R)."""
    free = factorised(ties, G)(h, A)
    if not ties.bounded or (free.min() >= ties.low and free.max() <= ties.high):
        return free
    out = np.clip(free, ties.low, ties.high)
    if not model_value(ties, G, h, out) <= model_value(ties, G, h, A):
        out = A.astype(np.float64)
    loops, Q = compiled_loops(), ties.Q
    for _ in range(SWEEPS):
        loops.box_sweep(G, h, Q.indptr, Q.indices, Q.data, ties.low, ties.high, 2, out)
    return out


def model_value(ties: Ties, G: Array, h: Array, A: Array) -> float:
    """The model at A (I, R), less a constant."""
    out = np.empty(A.shape)
    compiled_loops().multiply_rows(G, A, out)
    return 0.5 * float(np.vdot(A, out)) - float(np.vdot(h, A)) + ties.value(A)


Solve = Callable[[Array, Array], Array]


def factorised(ties: Ties, G: Array, extra: float = 0.0) -> Solve:
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
    compiled_loops().fill_bands(G, ties.order, extra + near, ab)
    try:
        L = cholesky_banded(ab, overwrite_ab=True, lower=True, check_finite=False)
    except np.linalg.LinAlgError:  # a pivot lost to rounding
        return _gradients(ties, G, extra, near)

    def solve(h: Array, start: Array) -> Array:
        out, right = np.empty((I, R)), h + near * start
        out[ties.order] = cho_solve_banded((L, True), right[ties.order].reshape(-1), check_finite=False).reshape(I, R)
        return out

    return solve


def _gradients(ties: Ties, G: Array, extra: float, near: float, most: int = 200, tol: float = 1e-8) -> Solve:
    """Conjugate gradients from `start`, each row preconditioned by its own system, to a residual of `tol` times h."""
    loops, own = compiled_loops(), ties.diagonal + extra + near

    def times(V: Array) -> Array:
        out = np.empty_like(V)
        loops.multiply_rows(G, V, out)
        out += ties.Q @ V
        out += (extra + near) * V
        return out

    def conditioned(V: Array) -> Array:
        out = np.empty_like(V)
        loops.solve_rows(G, V, own, np.zeros_like(V), out)
        return out

    def solve(h: Array, start: Array) -> Array:
        A = start.astype(np.float64)
        r = h + near * A - times(A)
        v = p = conditioned(r)
        old, goal = float(np.vdot(r, v)), tol * float(np.linalg.norm(h))
        for _ in range(most):
            if not np.linalg.norm(r) > goal:
                break
            Mp = times(p)
            step = old / float(np.vdot(p, Mp))
            A += step * p
            r -= step * Mp
            v = conditioned(r)
            new = float(np.vdot(r, v))
            p, old = v + (new / old) * p, new
        return A

    return solve


_ROWS: WeakKeyDictionary[Problem, Rows] = WeakKeyDictionary()


def rows_of(problem: Problem) -> Rows:
    """The problem sorted along every mode, once."""
    if problem not in _ROWS:
        _ROWS[problem] = Rows(entries(problem.observations), ties_of(problem))
    return _ROWS[problem]


def ties_of(problem: Problem) -> tuple[Ties, ...]:
    """The quadratic part of every mode's inter-element prior, and its bounds."""
    from scipy.sparse import csr_array

    ties = []
    for n, length in enumerate(problem.shape):
        p = problem.interelement.get(n)
        Q = csr_array((length, length)) if p is None or p.smooth is None else p.smooth.matrix(length).tocsr()
        Q = Q.astype(np.float64)
        Q.eliminate_zeros()
        ties.append(Ties(Q, *problem.bounds(n)))
    return tuple(ties)


def not_matrix(problem: Problem) -> str | None:
    """A refusal unless every smooth inter-element prior has a matrix."""
    if problem.model != "cp":
        return f"the model is {problem.model}, and the steps here go row by row through the factors of CP"
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


def compiled_loops() -> Any:
    """The compiled loops; Numba is imported here, on first use."""
    from tensorfill.kernels import _newton

    return _newton
