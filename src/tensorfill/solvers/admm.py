"""ADMM: second-order steps for non-smooth inter-element priors, which act through their prox (Boyd and others 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.interelement.base import InterElementPrior
from tensorfill.problem import Problem
from tensorfill.solvers.base import SOLVERS, Solver, State, pack
from tensorfill.solvers.newton import careful_sweep
from tensorfill.solvers.rows import Rows, not_matrix, rows_of, too_large
from tensorfill.solvers.rowsystems import factorise, model_value
from tensorfill.typing import Array

PATIENCE = 10  # times `inner` that a step may take until it lowers the model


@SOLVERS.register("admm")
@dataclass(frozen=True)
class ADMM(Solver):
    """Each mode in turn: Newton's quadratic model plus a non-smooth prior, by alternating directions.

    The step to the minimum of both is shortened where it would raise the objective.

        A = argmin model(A) + r/2 |A - Z + U|^2       rows, factorised once
        Z = prox(A + U, 1/r)                          the non-smooth prior: exact plateaus, exact zeros
        U = U + A - Z                                 kept from sweep to sweep

    Takes what Newton takes, and any inter-element prior with a prox.

    Parameters
    ----------
    inner : rounds of alternating directions for each mode and sweep
    """

    monotone: ClassVar[bool] = True
    only_cp: ClassVar[bool] = True

    inner: int = 8

    def __post_init__(self) -> None:
        if self.inner < 1:
            msg = f"inner must be >= 1; got {self.inner}."
            raise ValueError(msg)

    def refuses(self, problem: Problem) -> str | None:
        for n, p in problem.modes:
            if p.nonsmooth is not None and not p.nonsmooth.has("prox"):
                return f"mode {n} has {type(p).__name__}, which has neither a gradient nor a prox"
        whole = [n for n in problem.interelement if _rest(problem, n) is not None]
        return not_matrix(problem) or too_large(problem) or too_large(problem, whole)

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        start = [np.clip(A, *problem.bounds(n)) for n, A in enumerate(factors)]
        duals = {f"Y{n}": np.zeros_like(A) for n, A in enumerate(start) if _rest(problem, n) is not None}
        return State(pack(start, **duals), {"k": 0}, rows_of(problem).objective(problem, start))

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        rows, duals = rows_of(problem), {}

        def solve(A: Sequence[Array], n: int, z: Array, c: Array) -> tuple[Array, InterElementPrior | None]:
            rest = _rest(problem, n)
            if rest is None:
                return rows.solve(A, n, z, c), None
            new, Y = self._mode(rows, A, n, z, c, rest, state.arrays[f"Y{n}"])
            duals[f"Y{n}"] = Y.astype(problem.dtype)
            return new, rest

        A = careful_sweep(problem, rows, state.factors, solve)
        factors = [a.astype(problem.dtype) for a in rows.balance(A, _norms(problem, A))]
        value = rows.objective(problem, factors)
        if not value <= state.value:  # rounding at the very bottom: stay
            factors, value = state.factors, state.value
        return State(pack(factors, **duals), {"k": state.numbers["k"] + 1}, value)

    def _mode(
        self, rows: Rows, A: Sequence[Array], n: int, z: Array, c: Array, rest: InterElementPrior, Y: Array
    ) -> tuple[Array, Array]:
        """(the factor that lowers model + rest, the dual r U), both (I_n, R)."""
        ties, Z = rows.ties[n], A[n]
        G, h = rows.systems(np.concatenate(A), n, z, c, slice(0, len(Z)))
        r = float(np.einsum("irr->", G) / G[..., 0].size + ties.diagonal.mean()) or 1.0  # the mean curvature
        solve, U = factorise(ties, G, extra=r), Y.astype(np.float64) / r
        before = model_value(ties, G, h, Z) + rest.value(Z)
        for _ in range(PATIENCE):
            for _ in range(self.inner):
                B = solve(h + r * (Z - U), Z)
                Z = rest.prox(B + U, 1.0 / r)
                U = U + B - Z
            if model_value(ties, G, h, Z) + rest.value(Z) <= before:
                break
        return Z, r * U


def _rest(problem: Problem, n: int) -> InterElementPrior | None:
    """The non-smooth prior of mode n, save plain bounds, which rows keep to by themselves."""
    p = problem.interelement.get(n)
    return None if p is None or p.nonsmooth is None or p.nonsmooth.only_bounds else p.nonsmooth


def _norms(problem: Problem, factors: Sequence[Array]) -> Array:
    """The non-smooth priors of every component, (N, R): in proportion to its scale, or NaN."""
    out = np.zeros((len(factors), problem.rank))
    for n, A in enumerate(factors):
        rest = _rest(problem, n)
        if rest is not None:
            columns = [A[:, [r]] for r in range(problem.rank)]
            out[n] = [rest.value(a) for a in columns]
            if not np.allclose([rest.value(2 * a) for a in columns], 2 * out[n]):
                out[n] = np.nan
    return out
