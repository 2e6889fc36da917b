"""FaLRTC: the smoothed sum of nuclear norms by Nesterov's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.methods.arrays import Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above
from tensorfill.methods.classical.nuclear import LRTC, mean_filled, mode_weights
from tensorfill.methods.classical.thresholding import fold, spectral_norm, svt, threshold_values, unfold
from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.typing import Array


def smooth_norms(X: Array, alpha: Array, mu: Array) -> tuple[float, Array]:
    """F(X) = sum_i alpha_i^2/mu_i [sum s^2 - sum max(s - mu_i/alpha_i, 0)^2], and the gradient of F/2.

    The objective, F/2, is a Huber function of the singular values of each unfolding; its gradient caps them.
    """
    value, total = 0.0, float(np.vdot(X, X))
    modes = np.flatnonzero(alpha).tolist()
    weight = {n: alpha[n] ** 2 / mu[n] for n in modes}
    G = X * sum(weight.values())
    for n in modes:
        M, s = svt(unfold(X, n), mu[n] / alpha[n])
        value += weight[n] * (total - float(s @ s))
        M *= weight[n]
        G -= fold(M, n, X.shape)  # TRUNC = M - SVT
    return value, G


def smooth_norms_value(X: Array, alpha: Array, mu: Array) -> float:
    """F(X) of `smooth_norms` without its gradient."""
    total = float(np.vdot(X, X))
    value = 0.0
    for n in np.flatnonzero(alpha).tolist():
        s = threshold_values(unfold(X, n), mu[n] / alpha[n])
        value += alpha[n] ** 2 / mu[n] * (total - float(s @ s))
    return value


@METHODS.register("falrtc")
@dataclass(frozen=True)
class FaLRTC(LRTC):
    """min over X of sum_i of the alpha_i-weighted, mu_i-smoothed nuclear norm of unfold_i(X), with X = T on O.

    Attributes
    ----------
    smoothing : mu_i ends at smoothing * alpha_i / sqrt(I_i), for data whose largest value is 255
    max_iter : also the length of the schedule that lowers mu_i to its end
    """

    room: ClassVar[float] = 100.0
    use_when: ClassVar[str] = "HaLRTC's problem with a smooth descent; HaLRTC is faster here and as accurate"
    peak: ClassVar[float | None] = 255.0

    smoothing: float = 5.0
    max_iter: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above(self, 0, "smoothing")

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        X = mean_filled(data.T, data.O)
        alpha = mode_weights(X.shape, self.alpha)
        first = [0.3 * a * spectral_norm(unfold(X, n)) for n, a in enumerate(alpha)]
        return State({"X": X, "Z": X}, {"k": 0, "B": 0.0, "L": 1e-5, "first": first, "stuck": False})

    def mu(self, shape: Sequence[int], first: Array, k: int) -> tuple[Array, Array]:
        """The smoothing at iteration k, and where it ends: from `first` at k = 1 down to there at k = max_iter - 15."""
        end = self.smoothing * mode_weights(shape, self.alpha) / np.sqrt(shape)
        q = max(self.max_iter - 15, 2) ** 1.15
        slope = (first - end) / (1 - 1 / q)
        offset = (end * q - first) / (q - 1)
        return np.maximum(slope / k**1.15 + offset, end), end

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        Y, Z = state.arrays["X"], state.arrays["Z"]
        k, B, L = state.numbers["k"] + 1, state.numbers["B"], state.numbers["L"]
        alpha = mode_weights(Y.shape, self.alpha)
        mu, end = self.mu(Y.shape, np.asarray(state.numbers["first"]), k)
        limit = 10 * float(np.sum(1 / end[alpha > 0]))
        while True:
            b = (1 + np.sqrt(1 + 4 * L * B)) / (2 * L)
            X = (b * Z + B * Y) / (B + b)
            before, G = smooth_norms(X, alpha, mu)
            G[data.O] = 0.0  # observed voxels never move
            new = X - G / L
            after, size = smooth_norms_value(new, alpha, mu), float(np.vdot(G, G))
            stuck = limit < L  # beyond any Lipschitz constant: rounding, not curvature
            # "not <" so that NaN ends the search too, and the loop reports it
            if stuck or not (before - after) * L < size:
                break
            L /= 0.6
        numbers = {**state.numbers, "k": k, "B": float(B + b), "L": float(L), "stuck": bool(stuck)}
        return State({"X": new, "Z": Z - b * G}, numbers, after / 2)

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        if state.numbers["stuck"]:
            return Status.CONVERGED
        if state.numbers["k"] >= self.max_iter:
            return Status.FINISHED  # the schedule of mu is complete
        return super().done(data, state, previous)
