"""Newton: second-order steps row by row; alternating least squares for Normal, scoring sweeps for every other prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tensorfill.interelement.base import InterElementPrior
from tensorfill.partitioned import Partitioned
from tensorfill.problem import Problem
from tensorfill.solvers.base import SOLVERS, Solver, State, pack
from tensorfill.solvers.blockrows import block_rows
from tensorfill.solvers.curvature import expand, losses
from tensorfill.solvers.entries import interleave
from tensorfill.solvers.exchange import exchange_components, may_exchange
from tensorfill.solvers.rows import Rows, not_quadratic, rows_of
from tensorfill.solvers.rowsystems import damp_steps
from tensorfill.typing import Array

# share of `extrapolate` used after the first sweep, which leads far; by the tables of `bench solvers`, seeds 0 to 3
FIRST = 0.15
ROUGHLY = 1e-3  # within bounds, a row is left once a pass gains this share of the first: the next sweep continues it
MOST_CAREFUL = 16  # careful sweeps at most until a bold one is tried again
LOOK = 1  # sweeps before better components are first searched for
WAIT = 3  # sweeps between two searches, doubled after each that finds none


@SOLVERS.register("newton")
@dataclass(frozen=True)
class Newton(Solver):
    """Each mode in turn: every row at the minimum of a quadratic model of the objective.

    The data term becomes a weighted least squares problem once per sweep, sum c/2 (z - x)^2 with z = x - g/c, and each
    mode is solved exactly, its inter-element prior included: for Normal this is alternating least squares. A sweep that
    would raise the objective is redone with care: expanded anew before each mode, and every row damped by itself (all
    of them alike where rows are tied).

    Parameters
    ----------
    extrapolate : go beyond the last sweep by up to this share of it before the next; a sweep that would raise the
        objective is redone without. 0 for none
    exchange : of tensors without bounds, look now and then for components that lower the objective more than the
        weakest do, and take them instead; False: stay with those of the start
    """

    monotone: ClassVar[bool] = True
    only_cp: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = True

    extrapolate: float = 1.0
    exchange: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.extrapolate <= 2:
            msg = f"extrapolate must be in [0, 2]; got {self.extrapolate}."
            raise ValueError(msg)

    def refuses(self, problem: Problem) -> str | None:
        return not_quadratic(problem)

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        start = [np.clip(A, *problem.bounds(n)) for n, A in enumerate(factors)]
        numbers = {"k": 0, "momentum": FIRST * self.extrapolate, "careful": 0, "again": 1, "look": LOOK, "wait": WAIT}
        return State(pack(start, P=start), numbers, sweeps_of(problem).objective(problem, start))

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        sweeps, old, numbers = sweeps_of(problem), state.factors, dict(state.numbers)
        new, value = None, np.inf
        trials = state.numbered("T")
        numbers["k"] += 1
        if self.exchange and numbers["k"] > numbers["look"] and may_exchange(problem) and isinstance(sweeps, Sweeps):
            new, value, trials = self._exchange(problem, sweeps, state, numbers, rng)
            if new is not None and value <= state.value:
                return State(pack(new, P=new, T=trials), numbers, value)
        if numbers["careful"] == 0:
            new, value = self._bold(problem, sweeps, state, numbers)
        if new is None or not value <= state.value:  # none: its objective is infinite
            if numbers["careful"] == 0:
                numbers["careful"] = numbers["again"]
                numbers["again"] = min(2 * numbers["again"], MOST_CAREFUL)
            numbers["careful"] -= 1
            new = sweeps.careful(problem, old)
            value = sweeps.objective(problem, new)
        if not value <= state.value:  # rounding at the very bottom: stay
            new, value = old, state.value
        assert new is not None
        return State(pack(new, P=old, T=trials), numbers, value)

    def _exchange(
        self, problem: Problem, sweeps: Sweeps, state: State, numbers: dict[str, Any], rng: np.random.Generator
    ) -> tuple[list[Array] | None, float, list[Array]]:
        """(factors after a sweep with better components in place of the weakest, None where none were found; the
        objective; the trial components). Sets in `numbers` when to search again: less often after a vain search.
        """
        new, trials = exchange_components(problem, sweeps.rows, state.factors, state.numbered("T"), rng)
        value = np.inf
        if new is not None:
            new = sweeps.bold(problem, new)
            value = sweeps.objective(problem, new)
        found = value <= state.value
        numbers["wait"] = WAIT if found else 2 * numbers["wait"]
        numbers["look"] = numbers["k"] + numbers["wait"]
        if found:
            numbers["momentum"] = FIRST * self.extrapolate
        return new, value, trials

    def _bold(
        self, problem: Problem, sweeps: Any, state: State, numbers: dict[str, Any]
    ) -> tuple[list[Array] | None, float]:
        """(factors, objective) after a sweep that starts from extrapolated factors; if that raises the objective, after
        one that starts from the present ones.
        """
        old, beta = state.factors, float(numbers["momentum"])
        if beta > 0 and numbers["k"] > 1:
            further = (A + A.dtype.type(beta) * (A - B) for A, B in zip(old, state.numbered("P"), strict=True))
            ahead = [np.clip(A, *problem.bounds(n)) for n, A in enumerate(further)]
            new = sweeps.bold(problem, ahead)
            value = sweeps.objective(problem, new)
            if value <= state.value:
                numbers["momentum"] = min(self.extrapolate, 1.3 * beta + 0.02)
                return new, value
            numbers["momentum"] = 0.4 * beta
        new = sweeps.bold(problem, old)
        return new, sweeps.objective(problem, new)


@dataclass(frozen=True, eq=False)
class Sweeps:
    """The sweeps over observations in memory."""

    rows: Rows

    def objective(self, problem: Problem, factors: Sequence[Array]) -> float:
        """As `problem.value`."""
        return self.rows.objective(problem, factors)

    def bold(self, problem: Problem, factors: Sequence[Array]) -> list[Array]:
        """Every mode once, under one expansion of the data term."""
        rows, A = self.rows, [np.asarray(a, dtype=np.float64) for a in factors]
        x = rows.entries.predict(np.concatenate(A))
        with np.errstate(all="ignore"):  # a sweep gone wrong is not taken
            g, c = expand(problem, x, rows.entries.threads)
            z, c = interleave(x - g / c, c)
            for n in range(len(A)):
                A[n] = rows.solve(A, n, z, c, ROUGHLY)
        return [a.astype(problem.dtype) for a in rows.balance(A)]

    def careful(self, problem: Problem, factors: Sequence[Array]) -> list[Array]:
        """Every mode once, the data term expanded anew before each; no step raises the objective."""
        rows = self.rows
        A = careful_sweep(problem, rows, factors, lambda A, n, z, c: (rows.solve(A, n, z, c), None))
        return [a.astype(problem.dtype) for a in rows.balance(A)]


def sweeps_of(problem: Problem) -> Any:
    """How to sweep over this problem: in memory, or block by block."""
    return block_rows(problem) if isinstance(problem, Partitioned) else Sweeps(rows_of(problem))


# (factors, mode, z, c) -> (the new factor of that mode, the non-smooth prior that it minds)
SolveMode = Callable[[Sequence[Array], int, Array, Array], tuple[Array, InterElementPrior | None]]


def careful_sweep(problem: Problem, rows: Rows, factors: Sequence[Array], solve: SolveMode) -> list[Array]:
    """Every mode once, the data term expanded anew before each; no step raises the objective: float64."""
    A = [np.asarray(a, dtype=np.float64) for a in factors]
    x = rows.entries.predict(np.concatenate(A))
    for n in range(len(A)):
        with np.errstate(all="ignore"):
            g, c = expand(problem, x, rows.entries.threads)
            new, rest = solve(A, n, *interleave(x - g / c, c))
        along = list(A)
        along[n] = new - A[n]
        dx = rows.entries.predict(np.concatenate(along))
        step = damp_rows(problem, rows, n, A[n], along[n], x, dx, rest)
        A[n] = np.where(step[:, None] == 1, new, A[n] + step[:, None] * along[n])  # whole steps keep exact zeros
        x = x + step[problem.observations.indices[:, n]] * dx
    return A


def damp_rows(
    problem: Problem,
    rows: Rows,
    n: int,
    A: Array,
    D: Array,
    x: Array,
    dx: Array,
    rest: InterElementPrior | None = None,
) -> Array:
    """Step lengths in 0 .. 1, (I_n,), with which rows A + step D do not raise the objective; x moves along dx.

    Each row has its own where nothing ties rows together; `rest` is a non-smooth prior, which may.
    """
    ties, at, length = rows.ties[n], problem.observations.indices[:, n], len(A)

    def cost(step: Array) -> Array:
        """Of every row by itself, or, where rows are tied, of all rows together, (I_n,)."""
        data = losses(problem, x + step[at] * dx)
        B = A + step[:, None] * D
        if ties.apart and rest is None:
            own = 0.5 * ties.diagonal * np.einsum("ir,ir->i", B, B)
            return np.bincount(at, data, minlength=length) + own
        return np.full(length, data.sum() + ties.value(B) + (0.0 if rest is None else rest.value(B)))

    return damp_steps(cost, length)
