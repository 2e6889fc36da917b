"""STDC: simultaneous tensor decomposition and completion (Chen, Hsu, Liao 2014).

Minimise sum_k alpha ||V_k||_* + sum_k trace(V_k A_k V_k') + gamma ||Z||^2 with X = Z x_1 V_1' x_2 V_2' ... and X = T
where observed: a Tucker form whose square factors V_k are of low rank and follow a graph of neighbouring indices.
Inexact augmented Lagrangian; every constant is a ratio, so the scale of the data does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.methods.arrays import ArrayMethod, Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above
from tensorfill.methods.classical.thresholding import safe_svd, unfold
from tensorfill.methods.defaults import long_modes
from tensorfill.result.record import Status
from tensorfill.solvers.base import State, check_time
from tensorfill.typing import Array

LARGEST = 1e150  # kappa, which is squared

LONGEST = 4096  # a factor is square: beyond this side its decomposition takes minutes per iteration


def default_omega(share: float) -> float:
    """Weight of the core by the observed share: 0.16 from 20 % on, 2 at 10 %, 10 at 5 %, 30 up to 1 %.

    The authors' scripts use 0.1 .. 4 from 60 to 90 % missing: the sparser the data, the more the core must be held.
    """
    return _between(share, [0.01, 0.05, 0.1, 0.2], [30.0, 10.0, 2.0, 0.16])


def default_kappa(share: float) -> float:
    """Weight of the graphs by the observed share: the authors' 10^0.2 down to 5 %, then rising to 40 at 1 %.

    With the authors' value the zeros that X starts from in the gaps stay there when 1 % is observed.
    """
    return _between(share, [0.01, 0.05], [40.0, 10**0.2])


def _between(share: float, shares: Sequence[float], values: Sequence[float]) -> float:
    """Log-linear interpolation, constant outside."""
    return float(np.exp(np.interp(share, shares, np.log(values))))


@METHODS.register("stdc")
@dataclass(frozen=True)
class STDC(ArrayMethod):
    """Tucker completion with low-rank graph-smooth factors on the modes longer than 4 (on all if none is).

    State: X, Z, Y (multiplier), full shape; the factors as thin decompositions V_k = U_k diag(s_k) W_k'.
    """

    omega: float | None = None  # weight of ||Z||^2; None: `default_omega` of the observed share
    tau: float = 0.1  # the paper's delta
    kappa: float | None = None  # weight of the graphs; None: `default_kappa` of the observed share
    growth: float = 1.1  # of the penalty mu
    max_iter: int = 50  # accuracy peaks early and then sinks: more iterations are not better

    room: ClassVar[float] = 120.0
    reference: ClassVar[str] = (
        "Chen, Hsu, Liao: Simultaneous tensor decomposition and completion using factor priors, "
        "IEEE Trans. Pattern Analysis and Machine Intelligence 2014"
    )
    assumes: ClassVar[str] = "low Tucker rank, and neighbouring indices of the modes longer than 4 are related"
    use_when: ClassVar[str] = "pictures with 50 to 90 % missing, in seconds"
    peak: ClassVar[float] = 1.0  # scale-free: any value would do

    def __post_init__(self) -> None:
        check_above(self, 0, "tau", "max_iter")
        check_above(self, 1, "growth", included=True)
        for name, most in (("omega", math.inf), ("kappa", LARGEST)):
            if getattr(self, name) is not None:
                check_above(self, 0, name, most=most)

    def refuses(self, obs: Observations) -> str | None:
        for n in long_modes(obs.shape):
            if obs.shape[n] > LONGEST:
                return (
                    f"mode {obs.dims[n]} has length {obs.shape[n]}, and its square factor is limited to {LONGEST}; "
                    "cut the tensor into pieces or use another method"
                )
        return None

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        arrays = {"X": data.T, "Z": data.T, "Y": np.zeros_like(data.T)}
        for n in long_modes(data.T.shape):
            side = data.T.shape[n]
            arrays |= {f"U{n}": np.eye(side), f"s{n}": np.ones(side), f"W{n}": np.eye(side)}
        s1 = np.linalg.norm(unfold(data.T, long_modes(data.T.shape)[0]), 2) ** 2
        mu = 1.0 / (self.tau * s1) if s1 > 0 else 1.0
        return State(arrays, {"k": 0, "mu": float(mu)})

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        X, Z, Y = (state.arrays[name] for name in "XZY")
        mu = state.numbers["mu"]
        modes = long_modes(X.shape)
        V = {n: (state.arrays[f"U{n}"], state.arrays[f"s{n}"], state.arrays[f"W{n}"]) for n in modes}
        target = mu * X + Y
        for n in modes:
            others = {m: (V[m][2] * V[m][1]) @ V[m][0].T for m in modes if m != n}
            B = unfold(multiply(Z, others), n)
            V[n] = self.factor_step(data, V[n], B, unfold(target, n), mu)
        Z, Xt = self.core(data, target, V, mu)
        X = np.where(data.O, data.T, Xt - Y / mu)
        Y = Y + mu * (X - Xt)  # stays 0 off the mask, where X = Xt
        arrays = {"X": X, "Z": Z, "Y": Y}
        for n, (U, s, W) in V.items():
            arrays |= {f"U{n}": U, f"s{n}": s, f"W{n}": W}
        return State(arrays, {"k": state.numbers["k"] + 1, "mu": self.growth * mu})

    def factor_step(
        self, data: Dense, V: tuple[Array, Array, Array], B: Array, target: Array, mu: float
    ) -> tuple[Array, Array, Array]:
        """One proximal gradient step on V_k: U, s, W of the new factor."""
        U, s, W = V
        full = (U * s) @ W.T
        kappa = default_kappa(data.share) if self.kappa is None else self.kappa
        graph = kappa**2 / self.tau  # ||2 A_k||_2, the Laplacian being of norm 1
        G = B @ B.T
        check_time()
        grad = graph * full @ neighbour_laplacian(len(full)) + mu * G @ full - B @ target.T
        check_time()
        lip = graph + mu * np.linalg.eigvalsh(G)[-1]
        U, s, Vh = safe_svd(full - grad / lip)
        s = s - 1.0 / lip
        rank = np.count_nonzero(s > 0)
        if rank == 0:  # the factor would vanish: keep the old one
            return V
        return U[:, :rank], s[:rank], Vh[:rank].T

    def core(
        self, data: Dense, target: Array, V: dict[int, tuple[Array, Array, Array]], mu: float
    ) -> tuple[Array, Array]:
        """The core Z in closed form, diagonal in the factors' singular bases, and Z x_1 V_1' x_2 V_2' ..."""
        omega = default_omega(data.share) if self.omega is None else self.omega
        squared = float(np.sum(data.T**2))
        gamma = omega / self.tau / squared if squared > 0 else 1.0
        inner = multiply(target, {n: (W * s).T for n, (U, s, W) in V.items()})
        gain = np.full(inner.shape, mu)
        for n, (_, s, _) in V.items():
            gain *= (s**2).reshape([-1 if m == n else 1 for m in range(inner.ndim)])
        inner = inner / (gain + 2 * gamma)
        Z = multiply(inner, {n: U for n, (U, s, W) in V.items()})
        return Z, multiply(inner, {n: W * s for n, (U, s, W) in V.items()})

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["k"] >= self.max_iter else None


@lru_cache(maxsize=8)
def neighbour_laplacian(length: int) -> Array:
    """D - W of the weights exp(-|i - j|), scaled to spectral norm 1: (I, I)."""
    i = np.arange(length)
    W = np.exp(-np.abs(i[:, None] - i).astype(np.float64))
    np.fill_diagonal(W, 0.0)
    L = np.diag(W.sum(axis=1)) - W
    largest = np.linalg.eigvalsh(L)[-1]
    L = L / largest if largest > 0 else L
    L.setflags(write=False)  # shared by all runs
    return L


def multiply(X: Array, matrices: dict[int, Array]) -> Array:
    """X x_n M for every mode n given: unfold_n of the result is M unfold_n(X)."""
    for n, M in matrices.items():
        check_time()
        X = np.moveaxis(np.tensordot(M, X, axes=(1, n)), 0, n)
    return X
