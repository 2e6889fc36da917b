"""LBFGSB: SciPy's limited-memory quasi-Newton method with bounds, on all factors at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.models.init import unit
from tensorfill.record import Status
from tensorfill.solvers.base import SOLVERS, Solver, State, pack

if TYPE_CHECKING:
    from tensorfill.problem import Problem

Array = NDArray[Any]


@SOLVERS.register("lbfgsb")
@dataclass(frozen=True)
class LBFGSB(Solver):
    """Quasi-Newton steps in bursts.

    SciPy owns its own loop and its memory cannot be saved; one step here is a burst of `burst` of its iterations, after
    which the memory of past gradients starts anew. So this solver stops, checkpoints and resumes like all others.
    """

    monotone: ClassVar[bool] = True

    burst: int = 50
    memory: int = 20
    gtol: float = 1e-8  # largest projected gradient entry, relative to its size at the start

    def __post_init__(self) -> None:
        for name in ("burst", "memory"):
            if getattr(self, name) < 1:
                msg = f"{name} must be >= 1; got {getattr(self, name)}."
                raise ValueError(msg)

    def refuses(self, problem: Problem) -> str | None:
        return bounds_only(problem)

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        start = [np.clip(A, *problem.bounds(n)) for n, A in enumerate(factors)]
        value, grads = problem.value_and_grad(start)
        first = max(float(np.abs(G).max()) for G in grads)
        numbers = {"k": 0, "evaluations": 1, "first": first, "converged": False, "unit": unit(problem)}
        return State(pack(start), numbers, value)

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        from scipy.optimize import minimize

        sizes = [A.shape for A in state.factors]
        # SciPy's first step has length 1: its variables are in units of a typical entry, whatever the data's unit
        size = float(state.numbers["unit"])

        def split(v: Array) -> list[Array]:
            parts = np.split(size * v, np.cumsum([a * b for a, b in sizes])[:-1])
            shaped = [p.reshape(shape).astype(problem.dtype) for p, shape in zip(parts, sizes, strict=True)]
            return [np.clip(A, *problem.bounds(n)) for n, A in enumerate(shaped)]  # rounding must not cross a bound

        def both(v: Array) -> tuple[float, Array]:
            value, grads = problem.value_and_grad(split(v))
            return value, size * np.concatenate([G.ravel() for G in grads]).astype(np.float64)

        lows = np.concatenate([np.full(A.size, problem.bounds(n)[0]) for n, A in enumerate(state.factors)])
        highs = np.concatenate([np.full(A.size, problem.bounds(n)[1]) for n, A in enumerate(state.factors)])
        result = minimize(
            both,
            np.concatenate([A.ravel() for A in state.factors]).astype(np.float64) / size,
            jac=True,
            method="L-BFGS-B",
            bounds=None if np.isinf(lows).all() and np.isinf(highs).all() else np.stack([lows, highs], axis=1) / size,
            options={
                "maxiter": self.burst,
                "maxcor": self.memory,
                "gtol": self.gtol * size * state.numbers["first"],
                "ftol": 0.0,
                "maxfun": 20 * self.burst,
            },
        )
        new = split(result.x)
        value = problem.value(new)
        stuck = not value < state.value
        numbers = dict(state.numbers) | {"k": state.numbers["k"] + int(result.nit)}
        numbers |= {"evaluations": state.numbers["evaluations"] + int(result.nfev)}
        numbers |= {"converged": bool(result.success) or stuck}
        return State(pack(state.factors if stuck else new), numbers, state.value if stuck else value)

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.CONVERGED if state.numbers["converged"] else None


def bounds_only(problem: Problem) -> str | None:
    """A refusal unless every non-smooth prior is a plain bound on the entries."""
    for n, p in problem.modes:
        if p.nonsmooth is not None and p.nonsmooth.name not in ("nonnegative", "box"):
            return f"mode {n} has {type(p).__name__}, which has no gradient"
    return None
