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
    rule : "edge" as OneStep; "grown" from tiny steps, every rise of the objective taken back; "each" the same with an
        alpha for each mode
    share : of the alpha that OneStep takes
    order : of the modes; the given one by default
    together : all modes by the gradient at one point
    """

    epsilon: float = 1e-3
    project: bool = True
    rule: str = "edge"
    share: float = 1.0
    order: tuple[int, ...] | None = None
    together: bool = False

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        if self.rule == "edge":
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
            "time": 0.0,
        }
        return State(pack(factors), numbers, value)

    def _sweep(self, problem: Problem, factors: Sequence[Array], alpha: float) -> list[Array]:
        new, old = list(factors), list(factors)
        for n in self.order or range(len(new)):
            A = new[n] - new[n].dtype.type(alpha) * self._gradient(problem, old if self.together else new, n)
            new[n] = np.maximum(A, 0, out=A)
        return new

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        if self.rule == "edge":
            return super().step(problem, state, rng)
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
