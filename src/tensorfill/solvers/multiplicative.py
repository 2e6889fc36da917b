"""Multiplicative: majorise and minimise for non-negative factors; monotone, no step size.

Each factor entry a (old value o) minimises a separable function above the objective that touches it at o:

    data      derivative P (a/o)^p - N (o/a)^q, with P, N the pulled-back gradient parts (`prior.split`) and (p, q) =
              `prior.majoriser`: (0, 1) for Poisson as in Lee-Seung, (1, 0) for Normal, (0, 2) for Gamma, ...
    coupling  w/2 (a_i - a_j)^2  <=  w (a_i - m)^2 + w (a_j - m)^2,  m = (o_i + o_j) / 2
    concave coupling (positive off-diagonals of a second-order variation): its tangent

Below a prior's floor the part P of the loss grows with x instead (`Extended`), and (p, q) no longer gives a function
above it. (max(p, 1), q) does, everywhere, because P / x never grows; it takes shorter steps, so it is used only after a
sweep with (p, q) has raised the objective.

Setting the derivative to zero:   c a - s + P (a/o)^p - N (o/a)^q = 0,   increasing in a, solved exactly for (0, 1) and
(1, 0), else by safeguarded Newton steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tensorfill.problem import Problem
from tensorfill.solvers.base import SOLVERS, Solver, State, made_once, pack
from tensorfill.typing import Array

GROW = 1e3  # no entry grows more than this in one step


@SOLVERS.register("multiplicative")
@dataclass(frozen=True)
class Multiplicative(Solver):
    """Monotone sweeps over the modes for factors >= 0, with quadratic inter-element priors inside the step.

    Parameters
    ----------
    extrapolate : go beyond the last step by up to this share of it before each sweep; a sweep that would raise the
        objective is redone without, so the run stays monotone. 0 for none
    """

    monotone: ClassVar[bool] = True

    extrapolate: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.extrapolate < 1:
            msg = f"extrapolate must be in [0, 1); got {self.extrapolate}."
            raise ValueError(msg)

    def refuses(self, problem: Problem) -> str | None:
        prior = problem.prior
        if getattr(prior, "majoriser", None) is None:
            return f"{type(prior).__name__} has no multiplicative form"
        if problem.observations.values.min() < 0:
            return "factors stay >= 0 here but some observed values are negative"
        if problem.tensorspace is not None:
            return "a tensor-space prior does not fit into the multiplicative step"
        for n, p in problem.modes:
            if p.smooth is not None and not p.smooth.has("matrix"):
                return f"mode {n} has {type(p).__name__}, which is not quadratic"
            if p.nonsmooth is not None and not (p.nonsmooth.only_bounds and p.nonsmooth.bounds == (0.0, np.inf)):
                return f"mode {n} has {type(p).__name__}, which is neither quadratic nor NonNegative"
        return None

    def init(self, problem: Problem, factors: Sequence[Array], rng: np.random.Generator) -> State:
        # an entry at zero can never leave it through the data term: start strictly inside
        tiny = [np.finfo(A.dtype).eps * max(float(np.abs(A).max()), 1e-3) for A in factors]
        start = [np.maximum(np.abs(A), t) for A, t in zip(factors, tiny, strict=True)]
        numbers = {"k": 0, "momentum": 0.5 * self.extrapolate}
        return State(pack(start, P=start), numbers, problem.value(start))

    def step(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        old = state.factors
        beta = float(state.numbers["momentum"])
        new, value = None, np.inf
        if beta > 0:
            before = zip(old, state.numbered("P"), strict=True)
            ahead = [np.maximum(A + A.dtype.type(beta) * (A - B), 0.5 * A) for A, B in before]
            new, value = self._sweep(problem, ahead)
        if new is not None and value <= state.value:
            beta = min(self.extrapolate, 1.1 * beta + 0.01)
        else:
            beta *= 0.5 if new is not None else 1.0
            new, value = self._sweep(problem, old)
        if not value <= state.value:  # some x below the prior's floor
            new, value = self._sweep(problem, old, least=1.0)
        if not value <= state.value:  # rounding at the very bottom: stay
            new, value = old, state.value
        return State(pack(new, P=old), {"k": state.numbers["k"] + 1, "momentum": beta}, value)

    def _sweep(self, problem: Problem, factors: Sequence[Array], least: float = 0.0) -> tuple[list[Array], float]:
        """Every mode once, and the objective after it; `least` is the smallest p allowed."""
        new = list(factors)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a sweep gone wrong is not taken
            for n in range(len(new)):
                new[n] = self._mode(problem, new, n, least)
            return new, problem.value(new)

    def _mode(self, problem: Problem, factors: Sequence[Array], n: int, least: float = 0.0) -> Array:
        """The exact minimiser of the majoriser in factor n: (I_n, R)."""
        kernel, o = problem.kernel, factors[n]
        plus, minus = problem.prior_of().split(problem.t, kernel.predict(factors))
        if problem.w is not None:
            plus, minus = plus * problem.w, minus * problem.w
        P, N = kernel.pullback(plus, factors, n), kernel.pullback(minus, factors, n)
        penalty = couplings(problem).get(n)
        c, s = (None, None) if penalty is None else penalty.at(o)
        form = problem.prior.majoriser
        assert form is not None, "refuses() lets no other prior through"
        a = solve_entry(P, N, o, c, s, (max(form[0], least), form[1]))
        # The majoriser falls all the way from o to its minimum, so stopping short is safe: at zero it is no longer
        # defined, and where x is almost zero P is lost to rounding and its minimum lies anywhere.
        low = np.minimum(o, np.finfo(o.dtype).eps * o.max(initial=0.0))
        return np.clip(a, low, GROW * o).astype(o.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Coupling:
    """A quadratic penalty 1/2 a'Qa, taken apart: Q = diag(excess) + Laplacian(plus) - Laplacian(minus), with `plus`
    from the negative off-diagonals of Q and `minus` from the positive.
    """

    plus: Any  # sparse (I_n, I_n), as is minus
    minus: Any
    degree: Array  # row sums of both, (I_n, 1), less the excess where that is negative: its tangent is a slope
    curvature: Array  # (I_n, 1)

    @staticmethod
    def of(penalty: Any, length: int) -> Coupling:
        Q = penalty.matrix(length).tocsr()
        diagonal = Q.diagonal()
        off = Q.copy()
        off.setdiag(0.0)
        off.eliminate_zeros()
        plus, minus = -off.minimum(0), off.maximum(0)
        degree_plus = np.asarray(plus.sum(axis=1)).ravel()
        degree_minus = np.asarray(minus.sum(axis=1)).ravel()
        excess = diagonal - degree_plus + degree_minus  # row sums of Q: what is not a Laplacian; concave where negative
        return Coupling(
            plus if plus.nnz else None,
            minus if minus.nnz else None,
            (degree_plus + degree_minus - np.minimum(excess, 0.0))[:, None],
            (np.maximum(excess, 0.0) + 2 * degree_plus)[:, None],
        )

    def at(self, o: Array) -> tuple[Array, Array]:
        """Curvature c (I_n, 1) and slope s (I_n, R) of the majoriser that touches the penalty at o."""
        s = self.degree * o
        if self.plus is not None:
            s += self.plus @ o
        if self.minus is not None:
            s -= self.minus @ o
        return self.curvature.astype(o.dtype), s.astype(o.dtype, copy=False)


@made_once
def couplings(problem: Problem) -> dict[int, Coupling]:
    """The quadratic penalties of a problem by mode, taken apart."""
    shapes = problem.parameter_shapes
    return {n: Coupling.of(p.smooth, shapes[n][0]) for n, p in problem.modes if p.smooth is not None}


def solve_entry(P: Array, N: Array, o: Array, c: Array | None, s: Array | None, form: tuple[float, float]) -> Array:
    """The root a >= 0 of  c a - s + P (a/o)^p - N (o/a)^q = 0, entry by entry."""
    p, q = form
    tiny = np.finfo(o.dtype).tiny
    if c is None or s is None:
        ratio = np.where(P > 0, N / np.maximum(P, tiny), np.where(N > 0, np.inf, 1.0))  # no data in this row: stay
        return o * np.power(ratio, 1.0 / (p + q))
    if (p, q) == (0, 1):  # c a^2 + (P - s) a - N o = 0; the stable form of its positive root
        half, product = 0.5 * (P - s), N * o
        root = np.sqrt(half * half + c * product)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(half > 0, product / (half + root), (root - half) / c)
        return np.where(np.isfinite(low), low, o)
    if (p, q) == (1, 0):  # linear
        return np.maximum(N + s, 0.0) / np.maximum(c + P / np.maximum(o, tiny), tiny)
    return _newton(P, N, o, c, s, p, q)


def _newton(P: Array, N: Array, o: Array, c: Array, s: Array, p: float, q: float, rounds: int = 8) -> Array:
    """Near the root by Newton steps in z = ln(a / o), each at most 1 long; the function increases in z.

    The first step is already right to second order in z, and z vanishes as the sweeps converge: few steps serve.
    """
    o = np.maximum(o, np.finfo(o.dtype).tiny)
    z = np.zeros_like(o)
    for _ in range(rounds):
        e = np.exp(z)
        up, down = P * _power(e, p), N / _power(e, q)
        a = c * o * e
        move = (a - s + up - down) / np.maximum(a + p * up + q * down, np.finfo(o.dtype).tiny)
        move = np.clip(move, -1.0, 1.0)
        z = z - move
        if float(np.abs(move).max()) < 1e-3:
            break
    return o * np.exp(z)


def _power(e: Array, k: float) -> Array | float:
    """e^k, quick for the exponents that priors have."""
    if k == 0:
        return 1.0
    if k == 1:
        return e
    return e * e if k == 2 else e**k
