"""The steps of Algorithm 3 in the variants of `bench sptc-study`: they are for that study alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.solvers.base import State, pack
from tensorfill.solvers.onestep import OneStep
from tensorfill.solvers.stepsize import CREEP, FIRST_MOVE, SHRINK, SLACK

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
    modes : the order of the modes; the given one by default
    in_b : epsilon is added to every entry of B, Algorithm 3, line 4 as it is printed
    """

    epsilon: float = 1e-3
    project: bool = True
    rule: str = "edge"
    share: float = 1.0
    modes: tuple[int, ...] | None = None
    in_b: bool = False

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        if self.rule in ("edge", "fixed"):
            state = super().init(problem, factors, rng)
            alpha = self.share * state.numbers["alpha"]
            return State(state.arrays, {**state.numbers, "alpha": alpha, "edge": alpha}, state.value)
        value = problem.value(factors)
        x = problem.kernel.predict(factors)
        G = [self.gradient(problem, factors, n, x) for n in range(len(factors))]
        first = [float(FIRST_MOVE * np.linalg.norm(A) / np.linalg.norm(g)) for A, g in zip(factors, G, strict=True)]
        alphas = first if self.rule == "each" else [first[0]] * len(factors)
        numbers = {
            "alpha": alphas[0],
            "alphas": alphas,
            "ceilings": [np.inf] * len(factors),
            "start": value,
            "k": 0,
        }
        return State(pack(factors, x=x), numbers, value)

    def gradient(self, problem: Problem, factors: Sequence[Array], n: int, x: Array) -> Array:
        if not self.in_b:
            return super().gradient(problem, factors, n, x)
        A, rows = factors[n], problem.observations.indices[:, n]
        y = problem.slopes(x + (self.epsilon * A.sum(axis=1))[rows])  # A (B + epsilon)' = A B' + epsilon (sum_r a_r) 1'
        G = problem.kernel.pullback(y, factors, n)
        G += self.epsilon * np.bincount(rows, weights=y, minlength=len(A)).astype(A.dtype)[:, None]
        p = problem.interelement.get(n)
        return G if p is None or p.smooth is None else G + p.smooth.grad(A)

    def sweep(self, problem: Problem, factors: Sequence[Array], alpha: float, x: Array | None = None) -> list[Array]:
        return (
            super().sweep(problem, factors, alpha, x)
            if self.modes is None
            else self._block(problem, factors, self.modes, alpha)
        )

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        if self.rule == "edge":
            return super().step(problem, state, rng)
        if self.rule == "fixed":
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                new, x, value = self._try(problem, state, state.numbers["alpha"])
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
        return State(pack(new, x=problem.kernel.predict(new)), {**numbers, "k": state.numbers["k"] + 1}, value)

    def _block(self, problem: Problem, factors: Sequence[Array], block: Sequence[int], alpha: float) -> list[Array]:
        """A step in some of the modes, one after the other."""
        new = list(factors)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for n in block:
                new[n] = self.update(problem, new, n, alpha, problem.kernel.predict(new))
        return new
