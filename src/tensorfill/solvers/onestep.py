"""OneStep: the paper's block gradient descent, Algorithm 2, and with epsilon and the projection Algorithm 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, Solver, State, pack, searched_enough

if TYPE_CHECKING:
    from tensorfill.problem import Problem

Array = NDArray[Any]

# alpha="auto": Section 6 of the paper, "slowly incremented until the model collapses"
FIRST_MOVE = 1e-3  # the first alpha tried moves a factor by this share of itself; it is doubled from there
TRIAL = 25  # sweeps after which an alpha that has not collapsed is taken to work: collapses come in the first ten
HALVINGS = 5  # bisections between an alpha that works and one that collapses: the largest that works is known to 2.2 %
# alpha as a share of the largest that works, with which the objective still oscillates. Chosen on tree with 95 %
# missing, one seed, where it makes 0.16 dB: no more than another start does
MARGIN = 0.9
MOST = 60  # doublings of alpha, at most
SLACK = 1e-4  # later, a sweep that raises the objective by more than this share of what was gained so far is undone
SHRINK, CREEP = 0.5, 1.02  # factors on alpha after a sweep that is undone, and after one that is not


@SOLVERS.register("onestep")
@dataclass(frozen=True)
class OneStep(Solver):
    """One gradient step per mode and sweep, Eq. 11 (onestep).

    Parameters
    ----------
    alpha : step size. "auto" does what the paper advises: from this start it is raised until the model collapses, and
        nine tenths of the last value that worked are kept. Later a sweep that raises the objective is taken back and
        its alpha halved, to creep up again: the answer is never the zero tensor
    epsilon : added to X where it is divided by, "preventing any x from being equal to 0"; 0 for Algorithm 2. The text
        has it added to B_n (Algorithm 3, line 4): see docs/paper.md
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
        x = problem.kernel.predict(factors)
        value = problem.value_given(x, factors)
        alpha = self._edge(problem, factors, value) if self.alpha == "auto" else float(self.alpha)
        numbers = {"k": 0, "alpha": alpha, "edge": alpha, "start": value}
        return State(pack(factors, x=x), numbers, value)

    def _edge(self, problem: Problem, factors: Sequence[Array], start: float) -> float:
        """The last alpha that works from these factors, less a margin: doubled until it fails, then by bisection."""
        G = self._gradient(problem, factors, 0)
        works = float(FIRST_MOVE * np.linalg.norm(factors[0]) / max(np.linalg.norm(G), np.finfo(np.float32).tiny))
        for _ in range(MOST):
            if not self._survives(problem, factors, 2 * works, start):
                break
            works *= 2
        collapses = 2 * works
        for _ in range(HALVINGS):
            middle = float(np.sqrt(works * collapses))
            if self._survives(problem, factors, middle, start):
                works = middle
            else:
                collapses = middle
        alpha = MARGIN * works
        while alpha > 0 and not searched_enough() and not self._survives(problem, factors, alpha, start):
            alpha *= MARGIN  # at the edge, one that fails may lie below one that works
        return alpha

    def _survives(self, problem: Problem, factors: Sequence[Array], alpha: float, start: float) -> bool:
        """Does a trial with this alpha end with a model, and with a better one than it began with? No, without time."""
        new = list(factors)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(TRIAL):
                if searched_enough():
                    return False
                new = self._sweep(problem, new, alpha)
                if not all(np.isfinite(A).all() and A.any() for A in new):
                    return False
            return problem.value(new) < start

    def _gradient(self, problem: Problem, factors: Sequence[Array], n: int, x: Array | None = None) -> Array:
        """G_n = Y_(n) B_n + S_n, Algorithm 3, lines 4 to 8, without forming B_n. `x`: the model values, if known."""
        x = problem.kernel.predict(factors) if x is None else x
        G = problem.kernel.pullback(problem.slopes(x + x.dtype.type(self.epsilon)), factors, n)
        p = problem.interelement.get(n)
        return G if p is None or p.smooth is None else G + p.smooth.grad(factors[n])

    def _sweep(self, problem: Problem, factors: Sequence[Array], alpha: float, x: Array | None = None) -> list[Array]:
        """The blocks of Eq. 10 in turn, each using those already updated: Algorithm 1, lines 3 to 6."""
        new = list(factors)
        for n in range(len(new)):
            G = self._gradient(problem, new, n, x if n == 0 else None)
            A = new[n] - new[n].dtype.type(alpha) * G  # Eq. 11 (onestep)
            new[n] = np.maximum(A, 0, out=A) if self.project else A  # Eq. 17 (acalc)
        return new

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        alpha, k = state.numbers["alpha"], state.numbers["k"]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            new, x, value = self._tried(problem, state, alpha)
            taken = alpha
            if self.alpha == "auto" and k >= TRIAL:  # Section 6: the first sweeps have been tried and may rise
                most = state.value + SLACK * max(state.numbers["start"] - state.value, 0.0)
                while not (value <= most) and taken > 0:
                    taken *= SHRINK
                    new, x, value = self._tried(problem, state, taken)
                alpha = min(taken * CREEP, state.numbers["edge"])
        return State(pack(new, x=x), {**state.numbers, "k": k + 1, "alpha": alpha}, value)

    def _tried(self, problem: Problem, state: State, alpha: float) -> tuple[list[Array], Array, float]:
        """(factors after a sweep, their model values, the objective): the values serve the next sweep, too."""
        new = self._sweep(problem, state.factors, alpha, state.arrays.get("x"))
        x = problem.kernel.predict(new)
        return new, x, problem.value_given(x, new)

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.COLLAPSED if any(not A.any() for A in state.factors) else None
