"""LRTV-PDS: total variation plus nuclear norms by primal-dual splitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.methods.base import METHODS, Dense
from tensorfill.methods.checks import check_above
from tensorfill.methods.differences import reflected_adjoint, reflected_difference
from tensorfill.methods.nuclear import NuclearMethod
from tensorfill.methods.thresholding import fold, has_channels, mean_filled, mode_weights, svt, unfold
from tensorfill.record import Status
from tensorfill.solvers.base import State

Array = NDArray[Any]


def clip_lengths(P: Array, radius: float) -> Array:
    """Project the vector P[:, voxel] of every voxel on the ball of the given radius."""
    length = np.sqrt(np.einsum("n...,n...->...", P, P))
    return P * (radius / np.maximum(length, radius)) if radius > 0 else np.zeros_like(P)


def cosine(A: float, a: float, b: float) -> float:
    """The cosine of an angle from a scalar product and two lengths; 0 where a length vanishes."""
    return A / (a * b) if a > 0 and b > 0 else 0.0


@METHODS.register("lrtv-pds")
@dataclass(frozen=True)
class LRTVPDS(NuclearMethod):
    """min over X of a TV(X) + b sum_n lam_n ||unfold_n(X)||_*, with X in a box and ||T - X|| on O <= sqrt(delta).

    TV(X) is the sum over voxels of the length of the vector (w_n D_n X)_n.

    Attributes
    ----------
    a, b : weights of the total variation and of the nuclear norms, for data whose largest value is 1
    w : weights of the modes in the total variation; None: 0.5 each, 0 for a colour mode
    lam : weights of the modes in the nuclear norms; None: equal, halved for a colour mode, summing to 1
    delta : squared distance allowed to the observed values, in units of the largest squared; 0: they hold exactly
    box : bounds of X in units of the largest observed magnitude; None: (0, 1), or (-1, 1) if a value is negative or X is
        centred. Bounds given are bounds of the data as they are: nothing is centred then
    adaptive : balance the step sizes as the run goes (the authors' later release), or keep 0.01 and 1/0.08
    """

    reference: ClassVar[str] = (
        "Yokota, Hontani: Simultaneous visual data completion and denoising based on tensor rank and total variation "
        "minimization and its primal-dual splitting algorithm, CVPR 2017"
    )
    assumes: ClassVar[str] = "piecewise smooth and near low rank along every mode, e.g. pictures; noise is allowed"
    use_when: ClassVar[str] = "pictures that are noisy as well as incomplete (set delta)"
    peak: ClassVar[float | None] = 1.0

    a: float = 0.5
    b: float = 0.5
    w: Sequence[float] | None = None
    lam: Sequence[float] | None = None
    delta: float = 0.0
    box: tuple[float, float] | None = None
    adaptive: bool = True
    max_iter: int = 2000
    tol: float = 1e-5

    def __post_init__(self) -> None:
        check_above(self, 0, "a", "b", "delta", included=True)
        check_above(self, 0, "tol")
        if self.box is not None and not self.box[0] < self.box[1]:
            msg = f"box of method {self.name!r} must be (low, high) with low < high; got {self.box}."
            raise ValueError(msg)

    def level(self, obs: Observations) -> float:
        return 0.0 if self.box is not None else super().level(obs)

    def refuses(self, obs: Observations) -> str | None:
        N = len(obs.shape)
        if self.w is not None and (len(self.w) != N or min(self.w) < 0):
            return f"w must hold one weight >= 0 for each of its {N} modes; got {tuple(self.w)}"
        return None

    def tv_weights(self, shape: Sequence[int]) -> dict[int, float]:
        """Mode -> its weight w_n, of the modes that have one."""
        w = [0.5] * len(shape) if self.w is None else list(self.w)
        if self.w is None and has_channels(shape):
            w[-1] = 0.0
        return {n: float(v) for n, v in enumerate(w) if v > 0}

    def bounds(self, data: Dense) -> tuple[float, float]:
        return self.box or ((0.0, 1.0) if data.T.min() >= 0 else (-1.0, 1.0))

    def _gradient(self, X: Array) -> Array:
        """(w_n D_n X)_n, (modes with a weight, *shape)."""
        parts = [v * reflected_difference(X, n) for n, v in self.tv_weights(X.shape).items()]
        return np.stack(parts) if parts else np.zeros((0, *X.shape))

    def _pulled(self, U: Array, Y: Array, Z: Array) -> Array:
        """K' of the dual: U + sum w_n D_n' Y_n + sum Z_n."""
        out = U + Z.sum(axis=0)
        for i, (n, v) in enumerate(self.tv_weights(U.shape).items()):
            out += v * reflected_adjoint(Y[i], n)
        return out

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        X = mean_filled(data.T, data.O)
        grad, Z = self._gradient(X), np.stack([X] * X.ndim)
        g1, g2 = (0.1, 0.1) if self.adaptive else (0.01, 12.5)
        numbers = {"g1": g1, "g2": g2, "eta1": 1.01, "eta2": 1.01, "gap": np.inf}
        return State({"X": X, "DX": grad, "U": X, "Y": grad, "Z": Z, "K": self._pulled(X, grad, Z)}, numbers)

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        X_old, DX_old, U, Y, Z, K_old = (state.arrays[name] for name in ("X", "DX", "U", "Y", "Z", "K"))
        g1, g2 = state.numbers["g1"], state.numbers["g2"]
        X = self._on_data(data, X_old - g1 * K_old)
        DX = self._gradient(X)
        ahead, D_ahead = g2 * (2 * X - X_old), g2 * (2 * DX - DX_old)

        low, high = self.bounds(data)
        P = U + ahead
        U_new = P - np.clip(P, g2 * low, g2 * high)
        Y_new = clip_lengths(Y + D_ahead, self.a)
        lam, Z_new, value = mode_weights(X.shape, self.lam, channel=0.5), np.empty_like(Z), 0.0
        for n in range(X.ndim):
            P = Z[n] + ahead
            M, s = svt(unfold(P, n), self.b * lam[n])
            np.subtract(P, fold(M, n, X.shape), out=Z_new[n])
            value += self.b * lam[n] * s.sum() / g2
        K = self._pulled(U_new, Y_new, Z_new)
        value += self.a * float(np.sqrt(np.einsum("n...,n...->...", DX, DX)).sum())
        numbers = self._balance(state, (X_old - X, DX_old - DX, K_old - K), (U - U_new, Y - Y_new, Z - Z_new))
        return State({"X": X, "DX": DX, "U": U_new, "Y": Y_new, "Z": Z_new, "K": K}, numbers, value)

    def _on_data(self, data: Dense, A: Array) -> Array:
        """Project on the ball of the data: ||T - A|| on O <= sqrt(delta)."""
        if self.delta == 0:
            return np.where(data.O, data.T, A)
        distance = float(np.linalg.norm((data.T - A)[data.O]))
        q = max(0.0, 1.0 - np.sqrt(self.delta) / distance) if distance > 0 else 0.0
        return np.where(data.O, q * data.T + (1 - q) * A, A)

    def _balance(self, state: State, primal: tuple[Array, ...], dual: tuple[Array, ...]) -> dict[str, float]:
        """Residuals of the two halves, and the next step sizes: opposed steps shrink, aligned ones grow."""
        g1, g2, eta1, eta2, _ = (state.numbers[name] for name in ("g1", "g2", "eta1", "eta2", "gap"))
        dX, DdX, dK = primal
        norm = np.linalg.norm
        r1 = dX / g1 - dK
        p, c1 = float(norm(r1)), float(np.vdot(r1, dX))
        cp = cosine(c1, p, float(norm(dX)))
        d2 = c2 = l2 = 0.0
        for change, forward in ((dual[0], dX), (dual[1], DdX), (dual[2], dX)):
            r2 = change / g2 - forward
            d2, c2, l2 = d2 + np.vdot(r2, r2), c2 + np.vdot(r2, change), l2 + np.vdot(change, change)
        d = float(np.sqrt(d2))
        cd = cosine(float(c2), d, float(np.sqrt(l2)))
        numbers = {"g1": g1, "g2": g2, "eta1": eta1, "eta2": eta2, "gap": (p * p + d * d) / dX.size}
        if not self.adaptive:
            return numbers
        for g, eta, c in (("g1", "eta1", cp), ("g2", "eta2", cd)):
            if c < 0:
                numbers[g] *= 0.9
                numbers[eta] **= 0.1
            elif c > 0.9:
                numbers[g] *= numbers[eta]
        ratio = (p / d) ** 0.05 if p > 0 and d > 0 else 1.0
        numbers["g1"] = float(np.clip(numbers["g1"] * ratio, 1e-5, 1e3))
        numbers["g2"] = float(np.clip(numbers["g2"] / ratio, 1e-5, 1e3))
        return numbers

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        return Status.CONVERGED if state.numbers["gap"] < self.tol else None

    def answer(self, data: Dense, state: State) -> Array:
        return np.clip(state.arrays["X"], *self.bounds(data))
