"""The paper's search for a step size: "slowly incremented until the model collapses" (Section 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tensorfill.problem import Problem
from tensorfill.solvers.base import State, search_time_is_up
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
