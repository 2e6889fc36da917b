"""SiLRTC: block descent on the relaxed sum of nuclear norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.methods.arrays import Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above
from tensorfill.methods.classical.nuclear import LRTC, mean_filled, mode_weights, paste
from tensorfill.methods.classical.thresholding import fold, spectral_norm, svt, unfold
from tensorfill.result.record import Status
from tensorfill.solvers.base import State


@METHODS.register("silrtc")
@dataclass(frozen=True)
class SiLRTC(LRTC):
    """min over X, M_i of sum_i alpha_i ||M_i||_* + gamma/2 ||unfold_i(X) - M_i||^2, with X = T on O.

    Attributes
    ----------
    gamma : the tie between X and its low-rank copies, for data whose largest value is 255; larger is closer to
        the unrelaxed problem, and slower
    decay : the thresholds start at 0.1 (observed share) sigma_max and shrink by this factor per iteration until
        they reach alpha/gamma; 1 keeps them there throughout, as the paper's basic form does
    """

    room: ClassVar[float] = 75.0
    use_when: ClassVar[str] = "a simple, steady descent is wanted; HaLRTC solves the exact problem"
    peak: ClassVar[float | None] = 255.0

    gamma: float = 0.1
    decay: float = 0.98
    max_iter: int = 500
    min_iter: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above(self, 0, "gamma", "decay")

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        X = mean_filled(data.T, data.O)
        alpha = mode_weights(X.shape, self.alpha)
        # The package's "no relaxation" form has tau_i(0) = 0.3 (alpha_i / max alpha) sigma_max(unfold_i(X0)), which
        # wipes out the start when little is observed (95 % missing: 13.5 dB, against 15.8 dB so).
        tau = [0.1 * data.share * a / alpha.max() * spectral_norm(unfold(X, n)) for n, a in enumerate(alpha)]
        return State({"X": X}, {"k": 0, "tau": tau})

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        X, k = state.arrays["X"], state.numbers["k"] + 1
        alpha = mode_weights(X.shape, self.alpha)
        total, value = np.zeros_like(X), 0.0
        for n, a in enumerate(alpha):
            t = self._threshold(a, state.numbers["tau"][n], k)
            if a == 0:
                total += X
                continue
            M, s = svt(unfold(X, n), t)
            M = fold(M, n, X.shape)
            total += M
            gap = M - X
            value += a * s.sum() + self.gamma / 2 * float(np.vdot(gap, gap))
        total /= X.ndim
        return State({"X": paste(total, data)}, {**state.numbers, "k": k}, float(value))

    def _threshold(self, alpha: float, first: float, k: int) -> float:
        low = alpha / self.gamma
        return low if self.decay >= 1 else max(low, first * self.decay ** (k - 1))

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        k = state.numbers["k"]
        # While a threshold still falls, nothing may change for a while: at 90 % missing every singular value lies below
        # the first ones.
        alpha = mode_weights(data.T.shape, self.alpha)
        falling = any(
            self._threshold(a, t, k) * self.gamma > a for a, t in zip(alpha, state.numbers["tau"], strict=True)
        )
        return None if falling else super().done(data, state, previous)
