"""t-CTV: the tubal nuclear norm of an array's differences, low rank and smoothness in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.methods.arrays import ArrayMethod, Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above, check_one_of, keep_as_tuples
from tensorfill.methods.classical.nuclear import mean_filled, paste
from tensorfill.methods.classical.thresholding import prox_tubal
from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.typing import Array


def circular_difference(X: Array, n: int) -> Array:
    """x[i+1] - x[i] along mode n, the last index followed by the first."""
    return np.roll(X, -1, axis=n) - X


def circular_adjoint(Z: Array, n: int) -> Array:
    """The adjoint of `circular_difference`: z[i-1] - z[i]."""
    return np.roll(Z, 1, axis=n) - Z


def circular_spectrum(shape: Sequence[int], modes: Sequence[int]) -> Array:
    """Eigenvalues of the sum over `modes` of D_n' D_n, circular D, as `numpy.fft.rfftn(axes=modes)` orders them.

    Broadcasts against that transform of an array of the given shape.
    """
    total = np.zeros((1,) * len(shape))
    for n in modes:
        count = shape[n] // 2 + 1 if n == modes[-1] else shape[n]  # the last transformed mode is the halved one
        eigenvalues = 4.0 * np.sin(np.pi * np.arange(count) / shape[n]) ** 2  # |exp(2 pi i k / I) - 1|^2
        total = total + eigenvalues.reshape([-1 if k == n else 1 for k in range(len(shape))])
    return total


def largest_gap(A: Array, B: Array | float) -> float:
    """The largest |a - b|."""
    D = A - B
    return max(float(D.max()), -float(D.min()))


@METHODS.register("t-ctv")
@dataclass(frozen=True)
class TCTV(ArrayMethod):
    """min over X of the mean over directions i of the tubal nuclear norm of D_i X, with X = T on O; by ADMM.

    D_i X = G_i are the circular differences along mode i. A matrix is one slice; of more than three modes, each from
    the third on is transformed.

    Attributes
    ----------
    directions : the modes along which differences are taken
    transform : "dct" (better on pictures, and real) or "dft" of the modes from the third on
    mu, growth : first penalty, for data whose largest value is 1, and its factor per iteration (the authors start at
        1e-4: the first 25 iterations only scale)
    tol : stop when no entry changes or misses by more than this
    """

    room: ClassVar[float] = 160.0
    reference: ClassVar[str] = (
        "Wang, Peng, Qin, Wang, Meng: Guaranteed tensor recovery fused low-rankness and smoothness, IEEE TPAMI 2023"
    )
    assumes: ClassVar[str] = "smooth along the first two modes, e.g. pictures, video, spectral cubes"
    use_when: ClassVar[str] = "pictures with 80 to 99 % missing and no parameter to tune"
    competes: ClassVar[bool] = True
    costs: ClassVar[tuple[float, float, float, int]] = (1e-3, 1e-7, 1.6e-9, 80)
    peak: ClassVar[float | None] = 1.0

    directions: Sequence[int] = (0, 1)
    transform: str = "dct"
    mu: float = 1e-3
    growth: float = 1.1
    max_iter: int = 500
    tol: float = 1e-4

    def __post_init__(self) -> None:
        keep_as_tuples(self, "directions")
        check_one_of(self, "transform", "dct", "dft")
        check_above(self, 0, "mu", "tol")
        check_above(self, 1, "growth", included=True)
        if not self.directions or len(set(self.directions)) != len(self.directions):
            msg = f"directions of method {self.name!r} must name one or more modes, each once; got {self.directions}."
            raise ValueError(msg)

    def refuses(self, obs: Observations) -> str | None:
        N = len(obs.shape)
        if not all(0 <= n < N for n in self.directions):
            return f"directions must be modes 0 .. {N - 1}; got {tuple(self.directions)}"
        return None

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        X = mean_filled(data.T, data.O)
        G = np.stack([circular_difference(X, n) for n in self.directions])
        # W_i and V are the multipliers of D_i X = G_i and of X = T on O, over mu. The published split X + E = T, with E
        # free off O, has E = -X and V = 0 there after every step: E needs no array.
        arrays = {"X": X, "V": np.zeros_like(X), "G": G, "W": np.zeros_like(G)}
        return State(arrays, {"mu": self.mu, "residual": np.inf})

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        X_old, V, G_old, W = (state.arrays[name] for name in ("X", "V", "G", "W"))
        mu, modes = state.numbers["mu"], tuple(self.directions)
        mu_new = min(self.growth * mu, 1e10)
        # X: least squares over both constraints, one division in the Fourier domain.
        right = paste(X_old.copy(), data)
        right += V  # zero off O
        for i, n in enumerate(modes):
            right += circular_adjoint(G_old[i] - W[i], n)
        sizes = [X_old.shape[n] for n in modes]
        F = np.fft.rfftn(right, axes=modes)
        F /= 1.0 + circular_spectrum(X_old.shape, modes)
        X = np.fft.irfftn(F, s=sizes, axes=modes)

        G, W_new, value, moves = np.empty_like(G_old), np.empty_like(W), 0.0, []
        for i, n in enumerate(modes):
            P = np.add(circular_difference(X, n), W[i], out=W_new[i])
            G[i], norm = prox_tubal(P, 1.0 / (len(modes) * mu), self.transform)
            P -= G[i]
            moves += [largest_gap(P, W[i]), largest_gap(G[i], G_old[i])]  # D_i X - G_i, and the change of G_i
            value += norm / len(modes)
        W_new *= mu / mu_new
        R = data.T - X
        R *= data.O
        residual = max(largest_gap(X, X_old), largest_gap(R, 0.0), *moves)
        R += V
        R *= mu / mu_new
        return State({"X": X, "V": R, "G": G, "W": W_new}, {"mu": mu_new, "residual": residual}, value)

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        return Status.CONVERGED if state.numbers["residual"] < self.tol else None
