"""LRTV-PDS: total variation plus nuclear norms by primal-dual splitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.methods.arrays import Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above, keep_as_tuples
from tensorfill.methods.classical.nuclear import NuclearMethod, has_channels, mean_filled, mode_weights, paste
from tensorfill.methods.classical.thresholding import fold, svt, unfold
from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.typing import Array


def reflected_difference(X: Array, n: int, out: Array) -> Array:
    """D X along mode n: x[i+1] - x[i], and x[I-2] - x[I-1] at the last index (the border reflects)."""
    D, X = np.moveaxis(out, n, 0), np.moveaxis(X, n, 0)
    np.subtract(X[1:], X[:-1], out=D[:-1])
    D[-1:] = -D[-2:-1] if X.shape[0] > 1 else 0.0
    return out


def reflected_adjoint(Z: Array, n: int) -> Array:
    """D' Z along mode n, D of `reflected_difference`."""
    out = np.empty_like(Z)
    A, Z = np.moveaxis(out, n, 0), np.moveaxis(Z, n, 0)
    if Z.shape[0] == 1:
        return np.zeros_like(out)
    np.negative(Z, out=A)
    A[1:] += Z[:-1]
    A[-2:-1] += Z[-1:]
    return out


def clip_lengths(P: Array, radius: float) -> None:
    """Project the vector P[:, voxel] of every voxel, in place, on the ball of the given radius."""
    length = np.sqrt(np.einsum("n...,n...->...", P, P))
    np.maximum(length, radius, out=length)
    P *= np.divide(radius, length, out=np.zeros_like(length), where=length > 0)


def _cosine(product: float, squares: float) -> float:
    """The cosine of an angle from a scalar product and the product of two squared lengths; 0 if a length vanishes."""
    return product / np.sqrt(squares) if squares > 0 else 0.0


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
    box : bounds of X in units of the largest observed magnitude, and nothing is centred then; None: (0, 1), or (-1, 1)
        if a value is negative or X is centred
    adaptive : balance the step sizes as the run goes (the authors' later release), or keep them fixed
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
        keep_as_tuples(self, "w", "lam", "box")
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
        w = self.tv_weights(X.shape)
        out = np.empty((len(w), *X.shape))
        for D, (n, v) in zip(out, w.items(), strict=True):
            reflected_difference(X, n, out=D)
            D *= v
        return out

    def _pull_back(self, U: Array, Y: Array, Z: Array) -> Array:
        """K' of the dual: U + sum w_n D_n' Y_n + sum Z_n."""
        out = U.copy()
        for part in Z:
            out += part
        for part, (n, v) in zip(Y, self.tv_weights(U.shape).items(), strict=True):
            D = reflected_adjoint(part, n)
            D *= v
            out += D
        return out

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        X = mean_filled(data.T, data.O)
        grad, zero, Z = self._gradient(X), np.zeros_like(X), np.zeros((X.ndim, *X.shape))
        # g1 g2 ||K||^2 <= 1 converges; the authors' bound of ||K||^2 on pictures is 8. They start at g1 = g2 = 0.1 with
        # the dual at K X, which takes twice as long.
        bound = max(8.0, 1 + 4.83 * sum(v * v for v in self.tv_weights(X.shape).values()) + X.ndim)
        g1 = bound**-0.5 if self.adaptive else 0.01
        g2 = 1 / (bound * g1)
        numbers = {"g1": g1, "g2": g2, "eta1": 1.01, "eta2": 1.01, "gap": np.inf}
        return State({"X": X, "DX": grad, "U": zero, "Y": np.zeros_like(grad), "Z": Z, "K": zero}, numbers)

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        X_old, U, Y, Z, K_old = (state.arrays[name] for name in ("X", "U", "Y", "Z", "K"))
        g2 = state.numbers["g2"]
        X = K_old * -state.numbers["g1"]
        X += X_old
        self._onto_data(data, X)
        DX = self._gradient(X)

        ahead = X * (2 * g2)  # g2 (2 X - X_old)
        ahead -= g2 * X_old
        U_new = U + ahead
        low, high = self.bounds(data)
        U_new -= np.clip(U_new, g2 * low, g2 * high)
        Y_new = DX * (2 * g2)
        Y_new -= g2 * state.arrays["DX"]
        Y_new += Y
        clip_lengths(Y_new, self.a)
        lam, Z_new = mode_weights(X.shape, self.lam, channel=0.5), Z + ahead
        value = self.a * float(np.sqrt(np.einsum("n...,n...->...", DX, DX)).sum())
        for n, P in enumerate(Z_new):
            M, s = svt(unfold(P, n), self.b * lam[n])
            P -= fold(M, n, X.shape)
            value += self.b * lam[n] * s.sum() / g2
        arrays = {"X": X, "DX": DX, "U": U_new, "Y": Y_new, "Z": Z_new, "K": self._pull_back(U_new, Y_new, Z_new)}
        return State(arrays, self._balance(state, arrays), value)

    def _onto_data(self, data: Dense, A: Array) -> None:
        """Project A, in place, on the ball of the data: ||T - A|| on O <= sqrt(delta)."""
        if self.delta == 0:
            paste(A, data)
            return
        T = data.T[data.O]
        gap = T - A[data.O]
        distance = float(np.linalg.norm(gap))
        if distance > 0:
            A[data.O] = T - min(1.0, np.sqrt(self.delta) / distance) * gap

    def _balance(self, state: State, new: Mapping[str, Array]) -> dict[str, float]:
        """Residuals of the two halves, and the next step sizes: opposed steps shrink, aligned ones grow."""
        change = {name: state.arrays[name] - new[name] for name in new}
        square = {name: float(np.vdot(D, D)) for name, D in change.items()}
        dual = square["U"] + square["Y"] + square["Z"]
        forward = (1 + new["X"].ndim) * square["X"] + square["DX"]  # ||K dX||^2
        cross = float(np.vdot(change["X"], change["K"]))  # <dX, K' d dual> = <K dX, d dual>
        g1, g2 = state.numbers["g1"], state.numbers["g2"]
        p2 = max(square["X"] / g1**2 - 2 * cross / g1 + square["K"], 0.0)  # ||dX/g1 - K' d dual||^2
        d2 = max(dual / g2**2 - 2 * cross / g2 + forward, 0.0)  # ||d dual/g2 - K dX||^2
        cp = _cosine(square["X"] / g1 - cross, p2 * square["X"])
        cd = _cosine(dual / g2 - cross, d2 * dual)
        numbers = {**state.numbers, "gap": (p2 + d2) / new["X"].size}
        if not self.adaptive:
            return numbers
        for g, eta, c in (("g1", "eta1", cp), ("g2", "eta2", cd)):
            if c < 0:
                numbers[g] *= 0.9
                numbers[eta] **= 0.1
            elif c > 0.9:
                numbers[g] *= numbers[eta]
        ratio = (p2 / d2) ** 0.025 if p2 > 0 and d2 > 0 else 1.0  # (p/d)^0.05
        numbers["g1"] = float(np.clip(numbers["g1"] * ratio, 1e-5, 1e3))
        numbers["g2"] = float(np.clip(numbers["g2"] / ratio, 1e-5, 1e3))
        return numbers

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        return Status.CONVERGED if state.numbers["gap"] < self.tol else None

    def answer(self, data: Dense, state: State) -> Array:
        return np.clip(state.arrays["X"], *self.bounds(data))
