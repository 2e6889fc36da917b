"""OneStep: the paper's block gradient descent, Algorithm 2, and with epsilon and the projection Algorithm 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, Solver, State, pack

if TYPE_CHECKING:
    from tensorfill.problem import Problem

Array = NDArray[Any]

SLACK = 1e-5  # a rise of the objective by more than this share of what was gained so far is a collapse
FIRST_MOVE = 1e-3  # alpha="auto" starts with steps this small, relative to the factors, and grows from there
GROW, SHRINK, CREEP = 1.5, 0.5, 1.02


@SOLVERS.register("onestep")
@dataclass(frozen=True)
class OneStep(Solver):
    """One gradient step per mode and sweep, Eq. 11 (onestep).

    Parameters
    ----------
    alpha : step size. "auto" automates the paper's advice: raise it until the model collapses, keep the last value
        that worked; a sweep that collapses is taken back, so the answer is never the zero tensor
    epsilon : added to B_n (Algorithm 3, line 4); 0 for Algorithm 2
    project : keep factors >= 0, Eq. 17 (acalc); False for Algorithm 2
    """

    monotone: ClassVar[bool] = False

    alpha: float | str = "auto"
    epsilon: float = 0.0
    project: bool = False

    def __post_init__(self) -> None:
        if self.alpha != "auto" and not (isinstance(self.alpha, int | float) and self.alpha > 0):
            msg = f'alpha must be > 0 or "auto"; got {self.alpha!r}.'
            raise ValueError(msg)

    def refuses(self, problem: Problem) -> str | None:
        if problem.tensorspace is not None:
            return "the paper's one-step update has no tensor-space prior"
        for n, p in problem.modes:
            rest = p.nonsmooth
            if rest is not None and not (self.project and rest.name == "nonnegative"):
                return f"mode {n} has {type(p).__name__}, which has no gradient"
        return None

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        state = super().init(problem, factors, rng)
        alpha = self._first_alpha(problem, factors) if self.alpha == "auto" else float(self.alpha)
        numbers = {"k": 0, "alpha": alpha, "collapsed_at": np.inf, "start": state.value}
        return State(state.arrays, numbers, state.value)

    def _first_alpha(self, problem: Problem, factors: Sequence[Array]) -> float:
        G = self._gradient(problem, factors, 0)
        return float(FIRST_MOVE * np.linalg.norm(factors[0]) / max(np.linalg.norm(G), np.finfo(np.float32).tiny))

    def _gradient(self, problem: Problem, factors: Sequence[Array], n: int) -> Array:
        """G_n = Y_(n) (B_n + epsilon) + S_n, Algorithm 3, lines 4 to 8, without forming B_n."""
        A, mode = factors[n], self._rows(problem, n)
        x = problem.kernel.predict(factors)
        one = n >= problem.form.modes(len(problem.shape))
        if self.epsilon:  # A (B + epsilon)' = A B' + epsilon (sum_r a_r) 1'
            x = x + (self.epsilon * (A.sum(keepdims=True) if one else A).sum(axis=1))[mode]
        _, y = problem.entrywise(0, len(x), x)  # Eq. 12 (ydef)
        G = problem.kernel.pullback(y, factors, n)
        if self.epsilon:
            row = np.bincount(mode, weights=y, minlength=1 if one else len(A)).astype(A.dtype)
            G = G + self.epsilon * row[:, None]
        p = problem.interelement.get(n)
        return G if p is None or p.smooth is None else G + p.smooth.grad(A)

    @staticmethod
    def _rows(problem: Problem, n: int) -> Array:
        """Which row of the unfolding X_(n) = A_n B_n' each observation is in. A core has one: vec(X) = B vec(core)."""
        obs = problem.observations
        return obs.indices[:, n] if n < problem.form.modes(obs.ndim) else np.zeros(obs.nnz, dtype=np.intp)

    def _sweep(self, problem: Problem, factors: Sequence[Array], alpha: float) -> list[Array]:
        """The blocks of Eq. 10 in turn, each using those already updated: Algorithm 1, lines 3 to 6."""
        new = list(factors)
        for n in range(len(new)):
            A = new[n] - new[n].dtype.type(alpha) * self._gradient(problem, new, n)  # Eq. 11 (onestep)
            new[n] = np.maximum(A, 0, out=A) if self.project else A  # Eq. 17 (acalc)
        return new

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        alpha, ceiling = state.numbers["alpha"], state.numbers["collapsed_at"]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            new = self._sweep(problem, state.factors, alpha)
            value = problem.value(new)
            if self.alpha == "auto":
                # epsilon bends the direction a little, so that late in a run small rises are part of it
                most = state.value + SLACK * max(state.numbers["start"] - state.value, 0.0)
                while not (value <= most) and alpha > 0:
                    ceiling = min(ceiling, alpha)
                    alpha *= SHRINK
                    new = self._sweep(problem, state.factors, alpha)
                    value = problem.value(new)
                # "slowly incremented until the model collapses", Section 6: below the last collapse creep, else stride
                alpha = min(alpha * GROW, 0.99 * ceiling) if alpha * GROW < ceiling else alpha * CREEP
        return State(
            pack(new), {**state.numbers, "k": state.numbers["k"] + 1, "alpha": alpha, "collapsed_at": ceiling}, value
        )

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.COLLAPSED if any(not A.any() for A in state.factors) else None
