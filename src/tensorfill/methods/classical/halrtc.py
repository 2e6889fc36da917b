"""HaLRTC: the sum of nuclear norms by ADMM; LRTC-TNN: the same with leading singular values that go unshrunk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.methods.arrays import Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above
from tensorfill.methods.classical.nuclear import LRTC, mean_filled, mode_weights
from tensorfill.methods.classical.thresholding import flatten, truncate, unflatten
from tensorfill.solvers.base import State


@METHODS.register("halrtc")
@dataclass(frozen=True)
class HaLRTC(LRTC):
    """min over X of sum_i alpha_i ||unfold_i(X)||_*, with X = T on O.

    Attributes
    ----------
    rho : first penalty, for data whose largest value is 1. The package's 1e-6 on 0..255 lets every singular value
        vanish at first and the run stops at the zero fill; 1e-1 freezes the iterate too early
    growth : factor on the penalty per iteration
    """

    room: ClassVar[float] = 120.0
    use_when: ClassVar[str] = "up to about 70 % is missing and a fast convex method without tuning is wanted"
    competes: ClassVar[bool] = True
    costs: ClassVar[tuple[float, float, float, int]] = (4e-4, 3e-8, 3e-10, 150)
    peak: ClassVar[float | None] = 1.0

    rho: float = 1e-2
    growth: float = 1.05
    max_iter: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above(self, 0, "rho")
        check_above(self, 1, "growth", included=True)

    def keep(self, data: Dense) -> list[int]:
        """How many leading singular values of each unfolding go unshrunk."""
        return [0] * data.T.ndim

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        X = mean_filled(data.T, data.O)
        modes = np.count_nonzero(mode_weights(X.shape, self.alpha))
        return State({"X": X, "E": X, "D": np.zeros((modes, X.size))}, {"k": 0, "beta": self.rho})

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        # Y_i = SVT(V_i) with V_i = X - M_i/beta, so V_i - Y_i = TRUNC(V_i) =: growth D_i is all that need be kept,
        # unfolded: Y_i + M_i/beta = X - growth D_i, hence X moves by -growth mean D_i off the mask, and the next V_i is
        # E + D_i with E = X + (the move)/growth. One product per mode, and no copy of the multipliers.
        X, E, D = state.arrays["X"], state.arrays["E"], state.arrays["D"]
        beta = self.growth * state.numbers["beta"]
        alpha, keep = mode_weights(X.shape, self.alpha), self.keep(data)
        new, move, value = np.empty_like(D), np.zeros_like(X), 0.0
        for i, n in enumerate(np.flatnonzero(alpha).tolist()):  # a mode of weight 0 has no say
            V = flatten(E, n)
            V = V + D[i].reshape(V.shape)
            _, s = truncate(V, alpha[n] / beta, keep[n], times=1 / self.growth, out=new[i].reshape(V.shape))
            move += unflatten(new[i], n, X.shape)
            value += alpha[n] * s[keep[n] :].sum()
        move *= ~data.O
        move *= -1 / len(new)
        X = self.growth * move + X
        E = np.add(X, move, out=move)
        return State({"X": X, "E": E, "D": new}, {"k": state.numbers["k"] + 1, "beta": beta}, float(value))


@METHODS.register("lrtc-tnn")
@dataclass(frozen=True)
class LRTCTNN(HaLRTC):
    """min over X of sum_i alpha_i (sum of all but the first r_i singular values of unfold_i(X)), with X = T on O.

    Attributes
    ----------
    theta : r_i = ceil(theta I_i); None: 0.35 times the observed share, so that the free part stays within what the
        observed entries determine (the authors take 0.25, 0.2, 0.1 at 30, 70, 90 % missing, too many at 90 %)
    """

    reference: ClassVar[str] = (
        "Chen, Yang, Sun: A nonconvex low-rank tensor completion model for spatiotemporal traffic data imputation, "
        "Transportation Research C 2020"
    )
    assumes: ClassVar[str] = "a few strong patterns per mode that must not be shrunk, e.g. sensor x day x hour"
    use_when: ClassVar[str] = "sensor or traffic tables with a daily pattern, up to about 70 % missing"
    competes: ClassVar[bool] = True
    costs: ClassVar[tuple[float, float, float, int]] = (9e-4, 5e-8, 7e-10, 80)

    rho: float = 1e-2
    eps: float = 1e-4
    theta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.theta is not None:
            check_above(self, 0, "theta", included=True)

    def keep(self, data: Dense) -> list[int]:
        theta = 0.35 * data.share if self.theta is None else min(self.theta, 1.0)
        shape, size = data.T.shape, data.T.size
        # At least one value stays under the penalty: with all of them free, any filling would be optimal.
        return [min(math.ceil(theta * length), min(length, size // length) - 1) for length in shape]
