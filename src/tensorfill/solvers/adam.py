"""Adam on all factors at once: full-batch, or stochastic over random observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.models.init import unit
from tensorfill.partitioned import Partitioned
from tensorfill.problem import Problem
from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, Solver, State, pack
from tensorfill.solvers.lbfgsb import bounds_only
from tensorfill.typing import Array

# A schedule that ends while one more step, of this length in units of a typical factor entry, would gain this share of
# the objective ended too early. Set on five priors and 30 to 2000 steps: above it the minimum was 3 to 90 % lower, at a
# fifth of it less than 0.1 %.
STEP, NOTICEABLE = 0.004, 1e-4
ZERO = 1e-9  # an objective below this share of the first counts as zero


@SOLVERS.register("adam")
@dataclass(frozen=True)
class Adam(Solver):
    """Kingma and Ba 2015, with a cosine schedule.

    Parameters
    ----------
    rate : step size at the start, in units of a typical factor entry, so that it does not depend on the data's scale
    steps : length of the schedule; the rate falls to zero over it, and the run is then finished
    batch : observations per step, drawn anew each time; None for all of them
    schedule : "cosine" or "constant"
    """

    monotone: ClassVar[bool] = False
    in_blocks: ClassVar[bool] = True
    settles: ClassVar[bool] = False  # small steps at the end of the schedule are no sign of a minimum

    rate: float = 0.004
    steps: int = 500
    batch: int | None = None
    beta1: float = 0.9
    beta2: float = 0.99
    schedule: str = "cosine"

    def __post_init__(self) -> None:
        if self.schedule not in ("cosine", "constant"):
            msg = f'schedule must be "cosine" or "constant"; got {self.schedule!r}.'
            raise ValueError(msg)
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                msg = f"{name} must be in [0, 1), the share of the past in a mean; got {getattr(self, name)!r}."
                raise ValueError(msg)
        if not self.rate > 0 or self.steps < 1 or (self.batch is not None and self.batch < 1):
            msg = f"rate must be > 0, steps and batch >= 1; got {self.rate}, {self.steps}, {self.batch}."
            raise ValueError(msg)

    def refuses(self, problem: Problem) -> str | None:
        if self.batch is not None and problem.tensorspace is not None:
            return "a tensor-space prior looks at every entry, a batch does not; use batch=None"
        if self.batch is not None and isinstance(problem, Partitioned):
            return "observations in blocks are not drawn one by one; use batch=None"
        return bounds_only(problem)

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        start = [np.clip(A, *problem.bounds(n)) for n, A in enumerate(factors)]
        value, grads = self._gradient(problem, start, 0, rng)
        zeros = [np.zeros_like(A) for A in start]
        return State(pack(start, G=grads, M=zeros, V=zeros), {"k": 0, "unit": unit(problem), "first": value}, value)

    def _gradient(
        self, problem: Problem, factors: Sequence[Array], k: int, rng: np.random.Generator
    ) -> tuple[float, list[Array]]:
        if self.batch is None or self.batch >= problem.observations.nnz:
            return problem.value_and_grad(factors)
        return problem.stochastic(factors, self.batch, k, rng)

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        k = int(state.numbers["k"]) + 1
        rate = self.rate * state.numbers["unit"]
        if self.schedule == "cosine":
            rate *= 0.5 * (1 + np.cos(np.pi * (k - 1) / self.steps))
        b1, b2 = self.beta1, self.beta2
        scale, damp = rate / (1 - b1**k), 1 / np.sqrt(1 - b2**k)
        new, M, V = [], [], []
        for n, (A, G, old_m, old_v) in enumerate(zip(*map(state.numbered, "AGMV"), strict=True)):
            f = A.dtype.type
            m = f(b1) * old_m
            m += f(1 - b1) * G
            v = f(b2) * old_v
            v += f(1 - b2) * (G * G)
            root = np.sqrt(v)
            root *= f(damp)
            root += np.finfo(A.dtype).tiny ** 0.5  # only ever matters where a gradient is exactly zero
            np.divide(m, root, out=root)
            root *= f(-scale)
            root += A
            low, high = problem.bounds(n)
            new.append(np.clip(root, low, high, out=root) if np.isfinite(low) or np.isfinite(high) else root)
            M.append(m)
            V.append(v)
        value, G_new = self._gradient(problem, new, k, rng)
        return State(pack(new, G=G_new, M=M, V=V), {**state.numbers, "k": k}, value)

    def done(self, state: State, previous: State | None) -> Status | None:
        if state.numbers["k"] < self.steps:
            return None
        return Status.SCHEDULE if self.batch is None and self._falling(state) else Status.FINISHED

    def _falling(self, state: State) -> bool:
        """Would one more step of some length lower the objective noticeably?"""
        slope = sum(float(np.abs(G).sum()) for G in state.numbered("G"))
        size = abs(state.value) + ZERO * abs(float(state.numbers["first"]))
        return STEP * float(state.numbers["unit"]) * slope > NOTICEABLE * size
