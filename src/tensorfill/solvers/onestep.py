"""OneStep: block-coordinate descent, Algorithm 1 of the paper, with an exchangeable step inside each block, and the
search for a step size: "slowly incremented until the model collapses" (Section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tensorfill.problem import Problem
from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, Solver, State, pack, search_time_is_up
from tensorfill.solvers.rows import minimise_mode, not_least_squares
from tensorfill.typing import Array

Sweep = Callable[[Sequence[Array], float], list[Array]]  # factors and alpha -> factors one sweep later

TRIAL = 25  # sweeps after which an alpha that has not collapsed is taken to work: collapses come in the first ten
HALVINGS = 5  # bisections between an alpha that works and one that collapses: the largest that works is known to 2.2 %
# Just below the edge a model may come near collapse and lose components for good. So alphas below it, each this share
# of the one before, are compared by the objective after a trial. The first is right more often than not.
SHARE, COMPARED = 0.9, 6
MOST = 60  # doublings of alpha, at most
FIRST_MOVE = 1e-3  # the first alpha tried moves a factor by this share of itself
SLACK = 1e-4  # later, a sweep that raises the objective by more than this share of what was gained so far is undone
SHRINK, CREEP = 0.5, 1.02  # factors on alpha after a sweep that is undone, and after one that is not


@SOLVERS.register("onestep")
@dataclass(frozen=True)
class OneStep(Solver):
    """One step per mode and sweep: a gradient step, Eq. 11 (onestep), or the minimum over that factor.

    Parameters
    ----------
    alpha : step size. "auto" does what the paper advises: from this start it is raised until the model collapses, then
        the best of some smaller ones is taken, by the objective. Later a sweep that raises the objective is taken back
        and its alpha halved, to creep up again: the answer is never the zero tensor
    epsilon : added to X where it is divided by, "preventing any x from being equal to 0"; 0 for Algorithm 2. The text
        has it added to B_n (Algorithm 3, line 4): see docs/paper.md
    project : keep factors >= 0, Eq. 17 (acalc); False for Algorithm 2
    order : "sequential", mode by mode, as printed; "together", all from the same X, as in the authors' program
    inner : "gradient"; or "exact", the minimum of the objective over one factor: alternating least squares, for Normal
    """

    monotone: ClassVar[bool] = False

    alpha: float | str = "auto"
    epsilon: float = 0.0
    project: bool = False
    order: str = "sequential"
    inner: str = "gradient"

    def __post_init__(self) -> None:
        if self.alpha != "auto" and not (isinstance(self.alpha, int | float) and self.alpha > 0):
            msg = f'alpha must be > 0 or "auto"; got {self.alpha!r}.'
            raise ValueError(msg)
        if self.order not in ("sequential", "together") or self.inner not in ("gradient", "exact"):
            got = f"got {self.order!r}, {self.inner!r}."
            raise ValueError('order must be "sequential" or "together", inner "gradient" or "exact"; ' + got)
        gradient = (self.alpha, self.epsilon, self.project, self.order)
        if self.inner == "exact" and gradient != ("auto", 0, False, "sequential"):
            msg = 'alpha, epsilon, project and order belong to inner="gradient"; leave them out for inner="exact".'
            raise ValueError(msg)

    def refuses(self, problem: Problem) -> str | None:
        if self.inner == "exact":
            return not_least_squares(problem)
        if problem.tensorspace is not None:
            return "the paper's one-step update has no tensor-space prior"
        for n, p in problem.modes:
            if p.nonsmooth is not None and not (self.project and p.nonsmooth.name == "nonnegative"):
                return f"mode {n} has {type(p).__name__}, which has no gradient"
        return None

    def sweep(self, problem: Problem, factors: Sequence[Array], alpha: float, x: Array | None = None) -> list[Array]:
        """Algorithm 1, lines 3 to 6: the blocks of Eq. 10, each by `update`. `x`: values of the model, if known."""
        new = list(factors)
        for n in range(len(new)):
            at = factors if self.order == "together" else new
            if x is None or (at is new and n > 0):
                x = problem.kernel.predict(at)
            new[n] = self.update(problem, at, n, alpha, x)
        return new

    def update(self, problem: Problem, factors: Sequence[Array], n: int, alpha: float, x: Array) -> Array:
        """The next factor of mode n while all others stand still."""
        if self.inner == "exact":
            return minimise_mode(problem, factors, n)
        A = factors[n] - factors[n].dtype.type(alpha) * self.gradient(problem, factors, n, x)  # Eq. 11 (onestep)
        return np.maximum(A, 0, out=A) if self.project else A  # Eq. 17 (acalc)

    def gradient(self, problem: Problem, factors: Sequence[Array], n: int, x: Array) -> Array:
        """G_n = Y_(n) B_n + S_n, Algorithm 3, lines 4 to 8, without forming B_n."""
        G = problem.kernel.pullback(problem.slopes(x + x.dtype.type(self.epsilon)), factors, n)
        p = problem.interelement.get(n)
        return G if p is None or p.smooth is None else G + p.smooth.grad(factors[n])

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        x = problem.kernel.predict(factors)
        value = problem.value_given(x, factors)
        alpha = 1.0 if self.inner == "exact" else self.alpha
        if alpha == "auto":
            G = self.gradient(problem, factors, 0, x)
            alpha = best_step(problem, partial(self.sweep, problem), factors, G)
        return State(pack(factors, x=x), {"k": 0, "alpha": alpha, "edge": alpha, "start": value}, value)

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        alpha, k = state.numbers["alpha"], state.numbers["k"]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.alpha == "auto" and self.inner == "gradient" and k >= TRIAL:  # the first sweeps may rise
                (new, x, value), alpha = descend(partial(self._try, problem, state), state)
            else:
                new, x, value = self._try(problem, state, alpha)
        return State(pack(new, x=x), {**state.numbers, "k": k + 1, "alpha": alpha}, value)

    def _try(self, problem: Problem, state: State, alpha: float) -> tuple[list[Array], Array, float]:
        """(factors after a sweep, values of their model, the objective): the values serve the next sweep, too."""
        new = self.sweep(problem, state.factors, alpha, state.arrays.get("x"))
        x = problem.kernel.predict(new)
        return new, x, problem.value_given(x, new)

    def done(self, state: State, previous: State | None) -> Status | None:
        return None if state.arrays["x"].any() else Status.COLLAPSED  # X = 0, with or without a factor that is 0


def best_step(problem: Problem, sweep: Sweep, factors: Sequence[Array], G: Array) -> float:
    """The alpha below the last that works (Section 6) whose trial ends with the lowest objective.

    The last that works from these factors is found by doubling and bisection. G : the gradient in the first factor
    """
    start = problem.value(factors)

    def trial(alpha: float) -> float:
        return _value_after_trial(problem, sweep, factors, alpha)

    low = float(FIRST_MOVE * np.linalg.norm(factors[0]) / max(np.linalg.norm(G), np.finfo(np.float32).tiny))
    least = 1e-7 * low  # of which no number moves; where squares of all data vanish, none is better than the start
    for _ in range(MOST):
        if not trial(2 * low) < start:
            break
        low *= 2
    high = 2 * low
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if trial(middle) < start else (low, middle)
    values = {alpha: trial(alpha) for alpha in (low * SHARE**k for k in range(1, COMPARED + 1))}
    alpha = min(values, key=values.__getitem__)  # the largest of those that are equal
    value = values[alpha]
    while alpha > least and not search_time_is_up() and not value < start:
        alpha *= SHARE  # at the edge, one that fails may lie below one that works
        value = trial(alpha)
    return alpha


def _value_after_trial(problem: Problem, sweep: Sweep, factors: Sequence[Array], alpha: float) -> float:
    """The objective after a trial with this alpha; infinite if it ends without a model, or the time is up."""
    new = list(factors)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(TRIAL):
            if search_time_is_up():
                return np.inf
            new = sweep(new, alpha)
            if not all(np.isfinite(A).all() and A.any() for A in new):
                return np.inf
        value = problem.value(new)
    return value if np.isfinite(value) else np.inf


Swept = tuple[list[Array], Array, float]  # factors after a sweep, values of their model, the objective


def descend(attempt: Callable[[float], Swept], state: State) -> tuple[Swept, float]:
    """A sweep that does not raise the objective, and the alpha of the next: halved after a rise, it creeps up again."""
    alpha, edge, start = (state.numbers[name] for name in ("alpha", "edge", "start"))
    most = state.value + SLACK * max(start - state.value, 0.0)
    tried = attempt(alpha)
    while not (tried[2] <= most) and alpha > 0:
        alpha *= SHRINK
        tried = attempt(alpha)
    return tried, min(alpha * CREEP, edge)
