"""LBFGSB: SciPy's limited-memory quasi-Newton method with bounds, on all factors at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tensorfill.models.init import unit
from tensorfill.problem import Problem
from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, Solver, State, pack
from tensorfill.typing import Array

FIRST_STEP = 0.1  # length of the first step, in units of a typical factor entry
SHRINK, TRIES = 0.03, 4  # factor on the first step if a burst does not lower the objective, and how often it is tried
MOST_PAIRS = 1000  # limit on `memory`: each pair of step and gradient is as large as all factors, and 20 are enough


@SOLVERS.register("lbfgsb")
@dataclass(frozen=True)
class LBFGSB(Solver):
    """Quasi-Newton steps in bursts.

    SciPy owns its own loop and its memory cannot be saved; one step here is a burst of `burst` of its iterations, after
    which the memory of past gradients starts anew. So this solver stops, checkpoints and resumes like all others.
    """

    monotone: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = True

    burst: int = 50
    memory: int = 20
    gtol: float = 1e-8  # largest projected gradient entry, relative to its size at the start

    def __post_init__(self) -> None:
        for name, most in (("burst", 2**31 - 1), ("memory", MOST_PAIRS)):
            if not 1 <= getattr(self, name) <= most:
                msg = f"{name} must be from 1 to {most}; got {getattr(self, name)}."
                raise ValueError(msg)
            object.__setattr__(self, name, int(getattr(self, name)))  # NumPy's small integers end early

    def refuses(self, problem: Problem) -> str | None:
        return bounds_only(problem)

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        start = [np.clip(A, *problem.bounds(n)) for n, A in enumerate(factors)]
        value, grads = problem.value_and_grad(start)
        first = max(float(np.abs(G).max()) for G in grads)
        numbers = {"k": 0, "evaluations": 1, "first": first, "converged": False, "unit": FIRST_STEP * unit(problem)}
        return State(pack(start), numbers, value)

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        size = float(state.numbers["unit"])
        gtol = self.gtol * state.numbers["first"]
        iterations = evaluations = 0
        for _ in range(TRIES):
            result = self._burst(problem, state.factors, size, size * gtol)
            new = _split(result.x, problem, size)
            value = problem.value(new)
            iterations, evaluations = iterations + int(result.nit), evaluations + int(result.nfev)
            if value < state.value:
                break
            size *= SHRINK  # the first step ran into a wall (below a prior's floor, say): a shorter one
        stuck = not value < state.value
        numbers = dict(state.numbers) | {
            "k": state.numbers["k"] + iterations,
            "evaluations": state.numbers["evaluations"] + evaluations,
            # SciPy calls a line search that got nowhere a success too: look at the gradient itself
            "converged": stuck or _slope(problem, new, result.jac / size) <= gtol,
            "unit": size,
        }
        return State(pack(state.factors if stuck else new), numbers, state.value if stuck else value)

    def _burst(self, problem: Problem, factors: Sequence[Array], size: float, gtol: float) -> Any:
        """`burst` iterations of SciPy's, whose first step has length 1: its variables are in units of `size`."""
        from scipy.optimize import minimize

        def both(v: Array) -> tuple[float, Array]:
            value, grads = problem.value_and_grad(_split(v, problem, size))
            return value, size * _join(grads)

        lows, highs = (_join([np.full(A.shape, problem.bounds(n)[k]) for n, A in enumerate(factors)]) for k in (0, 1))
        return minimize(
            both,
            _join(factors) / size,
            jac=True,
            method="L-BFGS-B",
            bounds=None if np.isinf(lows).all() and np.isinf(highs).all() else np.stack([lows, highs], axis=1) / size,
            options={
                "maxiter": self.burst,
                "maxcor": self.memory,
                "gtol": gtol,
                "ftol": 0.0,
                "maxfun": 20 * self.burst,
            },
        )

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.CONVERGED if state.numbers["converged"] else None


def _join(factors: Sequence[Array]) -> Array:
    """All entries in one vector, float64."""
    return np.concatenate([np.ravel(A) for A in factors]).astype(np.float64)


def _split(v: Array, problem: Problem, size: float) -> list[Array]:
    """Factors in working precision, from all entries in units of `size`; rounding must not take them over a bound."""
    out, at = [], 0
    for n, shape in enumerate(problem.parameter_shapes):
        part = size * v[at : at + shape[0] * shape[1]].reshape(shape)
        out.append(np.clip(part.astype(problem.dtype), *problem.bounds(n)))
        at += part.size
    return out


def _slope(problem: Problem, factors: Sequence[Array], gradient: Array) -> float:
    """Largest entry of the gradient, save where it only pushes against a bound."""
    largest, at = 0.0, 0
    for n, A in enumerate(factors):
        G = gradient[at : at + A.size].reshape(A.shape)
        low, high = problem.bounds(n)
        against = ((low >= A) & (G > 0)) | ((high <= A) & (G < 0))
        largest = max(largest, float(np.abs(np.where(against, 0.0, G)).max()))
        at += A.size
    return largest


def bounds_only(problem: Problem) -> str | None:
    """A refusal unless every non-smooth prior is a plain bound on the entries."""
    for n, p in problem.modes:
        if p.nonsmooth is not None and not p.nonsmooth.only_bounds:
            return f"mode {n} has {type(p).__name__}, which has no gradient"
    return None
