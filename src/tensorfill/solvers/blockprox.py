"""BlockProx: block proximal gradient with extrapolation, back-tracking and restart (Xu and Yin 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tensorfill.problem import Problem
from tensorfill.solvers.base import SOLVERS, Solver, State, pack
from tensorfill.typing import Array


@SOLVERS.register("blockprox")
@dataclass(frozen=True)
class BlockProx(Solver):
    """One proximal gradient step per mode and sweep; takes any smooth prior and any inter-element prior with a prox.

    Parameters
    ----------
    extrapolate : largest weight of the extrapolation; 0 for none
    """

    monotone: ClassVar[bool] = True

    extrapolate: float = 0.99

    def __post_init__(self) -> None:
        if not 0 <= self.extrapolate < 1:
            msg = f"extrapolate must be in [0, 1); got {self.extrapolate}."
            raise ValueError(msg)

    def refuses(self, problem: Problem) -> str | None:
        for n, p in problem.modes:
            if p.nonsmooth is not None and not p.nonsmooth.has("prox"):
                return f"mode {n} has {type(p).__name__}, which has neither a gradient nor a prox"
        return None

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        start = [self._prox(problem, A, n, 0.0) for n, A in enumerate(factors)]  # constraints hold from the start
        numbers = {"k": 0, "t": 1.0} | {f"L{n}": 0.0 for n in range(len(start))}
        return State(pack(start, **{f"P{n}": A for n, A in enumerate(start)}), numbers, problem.value(start))

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        t = state.numbers["t"]
        t_next = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        weight = min(self.extrapolate, (t - 1) / t_next)
        new, numbers, value = self._sweep(problem, state, weight)
        if not value <= state.value and weight > 0:  # restart: the same sweep without extrapolation cannot rise
            t_next = 1.0
            new, numbers, value = self._sweep(problem, state, 0.0)
        if not value <= state.value:  # rounding at the very bottom: stay
            new, value = state.factors, state.value
        numbers |= {"k": state.numbers["k"] + 1, "t": float(t_next)}
        return State(pack(new, **{f"P{n}": A for n, A in enumerate(state.factors)}), numbers, value)

    def _sweep(self, problem: Problem, state: State, weight: float) -> tuple[list[Array], dict[str, Any], float]:
        new, value = state.factors, state.value
        numbers = dict(state.numbers)
        for n in range(len(new)):
            L_before = numbers[f"L{n}"]
            ahead = new[n] + new[n].dtype.type(weight) * (new[n] - state.arrays[f"P{n}"])
            new[n], L, value = self._block(problem, new, n, ahead, 0.7 * L_before)  # L may fall again
            numbers[f"L{n}"] = L
        return new, numbers, value

    def _block(
        self, problem: Problem, factors: Sequence[Array], n: int, ahead: Array, L: float
    ) -> tuple[Array, float, float]:
        """argmin of the quadratic model at `ahead`, with L raised until the model lies above the smooth part."""
        trial = list(factors)
        trial[n] = ahead
        smooth, G = problem.value_and_grad_mode(trial, n)
        if L <= 0:
            L = float(np.linalg.norm(G)) / max(float(np.linalg.norm(factors[n])), 1e-30)
            L += float(np.finfo(np.float32).tiny)
        slack = 10 * np.finfo(problem.dtype).eps * abs(smooth)
        for _ in range(60):
            A = self._prox(problem, ahead - (G / G.dtype.type(L)), n, 1.0 / L)
            move = (A - ahead).astype(np.float64)
            trial[n] = A
            got = problem.value(trial, smooth_in=n)
            if got <= smooth + float(np.vdot(G, move)) + 0.5 * L * float(np.vdot(move, move)) + slack:
                break
            L *= 2.0
        p = problem.interelement.get(n)
        return A, L, got if p is None or p.nonsmooth is None else got + p.nonsmooth.value(A)

    def _prox(self, problem: Problem, A: Array, n: int, step: float) -> Array:
        p = problem.interelement.get(n)
        if p is None or p.nonsmooth is None:
            return A
        low, high = p.bounds
        if step == 0.0:
            return np.clip(A, low, high)
        return p.nonsmooth.prox(A, step).astype(A.dtype, copy=False)
