"""HALS: hierarchical alternating least squares, one entry of a factor after the other (Cichocki and others 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.kernels.loops import newton
from tensorfill.numerical.continuous import Normal
from tensorfill.problem import Problem
from tensorfill.solvers.base import SOLVERS, Solver, State, pack
from tensorfill.solvers.rows import Rows, not_quadratic, rows_of
from tensorfill.solvers.threads import in_threads
from tensorfill.typing import Array


@SOLVERS.register("hals")
@dataclass(frozen=True)
class HALS(Solver):
    """Least squares, every entry at its minimum within its bounds while all others stand still.

    A sweep costs about as much as a gradient, where Newton's grows with the square of the rank: for high ranks and
    factors >= 0 (put NonNegative on the modes), where bounds keep whole-row steps from being exact anyway.
    """

    monotone: ClassVar[bool] = True
    only_cp: ClassVar[bool] = True

    def refuses(self, problem: Problem) -> str | None:
        if not isinstance(problem.prior, Normal):
            return f"{type(problem.prior).__name__} is not least squares; this is for Normal"
        return not_quadratic(problem)

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        start = [np.clip(A, *problem.bounds(n)) for n, A in enumerate(factors)]
        return State(pack(start), {"k": 0}, rows_of(problem).objective(problem, start))

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        rows, obs = rows_of(problem), problem.observations
        F = np.concatenate([np.asarray(A, dtype=np.float64) for A in state.factors])
        e = obs.values - rows.entries.predict(F)
        w = np.full(obs.nnz, 1.0) if obs.weights is None else obs.weights.astype(np.float64)
        assert isinstance(problem.prior, Normal), "refuses() lets no other prior through"
        w /= problem.prior.sigma**2
        for n in range(len(problem.shape)):
            self._mode(rows, F, n, w, e)
        swept = rows.balance([F[rows.entries.part(n)] for n in range(len(problem.shape))])
        new = [A.astype(problem.dtype) for A in swept]
        value = rows.objective(problem, new)
        if not value <= state.value:  # rounding at the very bottom: stay
            new, value = state.factors, state.value
        return State(pack(new), {"k": state.numbers["k"] + 1}, value)

    @staticmethod
    def _mode(rows: Rows, F: Array, n: int, w: Array, e: Array) -> None:
        """One mode's rows of F, and the residuals e, in place."""
        mode, ties = rows.entries.modes[n], rows.ties[n]
        A, Q = F[rows.entries.part(n)], ties.Q

        def work(a: int, b: int) -> None:
            bounds = (ties.low, ties.high)
            starts = mode.starts[a : b + 1]
            newton.hals_rows(F, mode.others, mode.order, starts, w, e, Q.indptr, Q.indices, Q.data, bounds, a, A)

        in_threads(work, rows.shares(n) if ties.apart else [0, len(A)])  # tied rows see each other: in order
