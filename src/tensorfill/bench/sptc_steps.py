"""The steps of Algorithm 3 in the variants of `bench sptc-study`: they are for that study alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.solvers.base import State, pack
from tensorfill.solvers.onestep import CREEP, FIRST_MOVE, SHRINK, SLACK, OneStep

if TYPE_CHECKING:
    from tensorfill.problem import Problem

Array = NDArray[Any]

GROW = 1.5  # of an alpha that has not collapsed yet


@dataclass(frozen=True)
class Steps(OneStep):
    """OneStep with another rule for alpha, or another order of the modes.

    Parameters
    ----------
    rule : "edge" as OneStep; "fixed" as OneStep begins, and no rise of the objective is taken back; "grown" from tiny
        steps, every rise taken back; "each" the same with an alpha for each mode
    share : of the alpha that OneStep takes
    order : of the modes; the given one by default
    together : all modes by the gradient at one point
    in_b : epsilon is added to every entry of B, Algorithm 3, line 4 as it is printed
    """

    epsilon: float = 1e-3
    project: bool = True
    rule: str = "edge"
    share: float = 1.0
    order: tuple[int, ...] | None = None
    together: bool = False
    in_b: bool = False

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        if self.rule in ("edge", "fixed"):
            state = super().init(problem, factors, rng)
            alpha = self.share * state.numbers["alpha"]
            return State(state.arrays, {**state.numbers, "alpha": alpha, "edge": alpha}, state.value)
        value = problem.value(factors)
        G = [self._gradient(problem, factors, n) for n in range(len(factors))]
        first = [float(FIRST_MOVE * np.linalg.norm(A) / np.linalg.norm(g)) for A, g in zip(factors, G, strict=True)]
        alphas = first if self.rule == "each" else [first[0]] * len(factors)
        numbers = {
            "alpha": alphas[0],
            "alphas": alphas,
            "ceilings": [np.inf] * len(factors),
            "start": value,
            "k": 0,
        }
        return State(pack(factors), numbers, value)

    def _gradient(self, problem: Problem, factors: Sequence[Array], n: int, x: Array | None = None) -> Array:
        if not self.in_b:
            return super()._gradient(problem, factors, n, x)
        A, rows = factors[n], problem.observations.indices[:, n]
        x = problem.kernel.predict(factors) if x is None else x
        y = problem.slopes(x + (self.epsilon * A.sum(axis=1))[rows])  # A (B + epsilon)' = A B' + epsilon (sum_r a_r) 1'
        G = problem.kernel.pullback(y, factors, n)
        G += self.epsilon * np.bincount(rows, weights=y, minlength=len(A)).astype(A.dtype)[:, None]
        p = problem.interelement.get(n)
        return G if p is None or p.smooth is None else G + p.smooth.grad(A)

    def _sweep(self, problem: Problem, factors: Sequence[Array], alpha: float, x: Array | None = None) -> list[Array]:
        if self.order is None and not self.together:
            return super()._sweep(problem, factors, alpha, x)
        new, old = list(factors), list(factors)
        for n in self.order or range(len(new)):
            A = new[n] - new[n].dtype.type(alpha) * self._gradient(problem, old if self.together else new, n)
            new[n] = np.maximum(A, 0, out=A)
        return new

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        if self.rule == "edge":
            return super().step(problem, state, rng)
        if self.rule == "fixed":
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                new, x, value = self._tried(problem, state, state.numbers["alpha"])
            return State(pack(new, x=x), {**state.numbers, "k": state.numbers["k"] + 1}, value)
        alphas, ceilings = list(state.numbers["alphas"]), list(state.numbers["ceilings"])
        new, value, start = list(state.factors), state.value, state.numbers["start"]
        blocks = [[n] for n in range(len(new))] if self.rule == "each" else [list(range(len(new)))]
        for block in blocks:
            first, most = block[0], value + SLACK * max(start - value, 0.0)
            while True:
                tried = self._block(problem, new, block, alphas[first])
                value = problem.value(tried)
                if value <= most or alphas[first] == 0:
                    break
                ceilings[first] = min(ceilings[first], alphas[first])
                alphas[first] *= SHRINK
            new = tried
            grown = alphas[first] * GROW  # below the last collapse creep, else stride
            alphas[first] = min(grown, 0.99 * ceilings[first]) if grown < ceilings[first] else alphas[first] * CREEP
        numbers = {**state.numbers, "alphas": alphas, "ceilings": ceilings, "alpha": alphas[0]}
        return State(pack(new), {**numbers, "k": state.numbers["k"] + 1}, value)

    def _block(self, problem: Problem, factors: Sequence[Array], block: Sequence[int], alpha: float) -> list[Array]:
        """A step in some of the modes, one after the other."""
        new = list(factors)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for n in block:
                A = new[n] - new[n].dtype.type(alpha) * self._gradient(problem, new, n)
                new[n] = np.maximum(A, 0, out=A)
        return new
