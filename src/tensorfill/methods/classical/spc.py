"""SPC: smooth PARAFAC completion with total (TV) or quadratic (QV) variation (Yokota, Zhao, Cichocki 2016).

Minimise 0.5 ||X - Z||^2 + sum_r (g_r^2 / 2) sum_n rho_n ||L_n u_r^n||_p^p with Z = sum_r g_r u_r^1 o ... o u_r^N, unit
vectors u, X = T where observed and X = Z elsewhere; L_n the first difference, p = 1 (TV) or 2 (QV). Components are
added one at a time until Z fits the observed entries to `sdr` decibels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.methods.arrays import ArrayMethod, Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above
from tensorfill.methods.defaults import long_modes
from tensorfill.models.cp import CP
from tensorfill.result.record import Status
from tensorfill.solvers.base import State, check_time
from tensorfill.typing import Array

STIFFEST = 1e12  # beyond, vectors are constant to the last digit, and sums of them overflow


@dataclass(frozen=True)
class _SPC(ArrayMethod):
    """What both penalties share. `rho` for every mode longer than 4 (the others get 0), or one number per mode."""

    rho: float | tuple[float, ...]
    sdr: float = 25.0  # stop once 10 log10(||T||^2 / ||T - Z||^2) over observed entries exceeds this
    nu: float = 0.01  # a component is added when the error falls by less than this share of what is left
    sweep: int = 10  # components renewed per iteration, the weakest first
    tol: float = 1e-5  # a component is added when the mean squared error falls by less than this (data 0..255)
    max_iter: int = 1000

    room: ClassVar[float] = 170.0
    reference: ClassVar[str] = (
        "Yokota, Zhao, Cichocki: Smooth PARAFAC decomposition for tensor completion, IEEE Trans. Signal Processing 2016"
    )
    peak: ClassVar[float] = 255.0  # the inner loop's tolerances are absolute and written for 0..255
    total_variation: ClassVar[bool]

    def __post_init__(self) -> None:
        for value in np.atleast_1d(self.rho):
            if not isinstance(value, int | float | np.number) or not 0 <= value <= STIFFEST:
                msg = f"rho of method {self.name!r} must be >= 0, one number or one per mode, at most {STIFFEST:g}; "
                msg += f"got {self.rho}."
                raise ValueError(msg)
        check_above(self, 0, "nu", "tol", included=True)
        check_above(self, 0, "sdr", "sweep", "max_iter")

    def refuses(self, obs: Observations) -> str | None:
        if np.ndim(self.rho) and np.size(self.rho) != obs.ndim:
            return f"rho must be one number or {obs.ndim}, one per mode; got {np.size(self.rho)}"
        return None

    def rhos(self, shape: tuple[int, ...]) -> Array:
        """The penalty's weight for each mode, (N,)."""
        if np.ndim(self.rho):
            return np.asarray(self.rho, dtype=np.float64)
        smooth = long_modes(shape)
        return np.array([self.rho if n in smooth else 0.0 for n in range(len(shape))], dtype=np.float64)

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        u = self._random_vectors(data.T.shape, rng)
        filled = np.where(data.O, data.T, data.T[data.O].mean())
        g = float(_contract_all(filled, u))
        E, u, g = _subtract(data, data.T[data.O], u, g)
        arrays = {"E": E, "U": u[None, :], "g": np.array([g])}
        error = float(E @ E)
        return State(arrays, {"error": error, "fits": False}, value=error)

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        from tensorfill.methods.classical import _spc_kernels as kernels

        E, U, g = (state.arrays[name].copy() for name in ("E", "U", "g"))
        shape = data.T.shape
        weakest = np.argsort(np.abs(g), kind="stable")[: self.sweep]
        for r in weakest:
            check_time()
            one = np.array([r])
            kernels.sweep(E, _where(data), _offsets(shape), U, g, one, self.rhos(shape), self.total_variation)
        error = float(E @ E)
        goal = 10 ** (-self.sdr / 10) * float(np.sum(data.T**2))
        if error <= goal:  # tested before a component is added: a fresh one would spoil the fit
            return State({"E": E, "U": U, "g": g}, {"error": error, "fits": True}, value=error)
        change = abs(error - state.numbers["error"])
        if change < self.nu * (error - goal) or change < self.tol * len(E):
            u = self._random_vectors(shape, rng)
            offsets = _offsets(shape)
            y = np.zeros(len(u))
            kernels.contract(E, _where(data), u, 0, y)
            E, u, fresh = _subtract(data, E, u, float(y[: offsets[1]] @ u[: offsets[1]]))
            U, g = np.vstack([U, u]), np.append(g, fresh)
        return State({"E": E, "U": U, "g": g}, {"error": error, "fits": False}, value=error)

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        return Status.CONVERGED if state.numbers["fits"] else None

    def answer(self, data: Dense, state: State) -> Array:
        # Rebuilt from g and U, not accumulated: no drift.
        offsets = _offsets(data.T.shape)
        factors = [state.arrays["U"][:, a:b].T for a, b in pairwise(offsets)]
        return CP([factors[0] * state.arrays["g"], *factors[1:]]).full()

    def _random_vectors(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Fresh smooth unit vectors of every mode, side by side: (sum I_n,)."""
        from tensorfill.methods.classical import _spc_kernels as kernels

        rhos = self.rhos(shape)
        vectors = [kernels.smooth(rng.standard_normal(length), rho) for length, rho in zip(shape, rhos, strict=True)]
        return np.concatenate([v / np.linalg.norm(v) for v in vectors])


@METHODS.register("spc-tv")
@dataclass(frozen=True)
class SPCTV(_SPC):
    """Smooth PARAFAC completion with total variation of each component's vectors."""

    rho: float | tuple[float, ...] = 0.05

    assumes: ClassVar[str] = "neighbouring indices carry similar values, with jumps"
    use_when: ClassVar[str] = "smooth data with edges, up to 80 % missing; any order"
    total_variation: ClassVar[bool] = True


@METHODS.register("spc-qv")
@dataclass(frozen=True)
class SPCQV(_SPC):
    """Smooth PARAFAC completion with quadratic variation of each component's vectors."""

    rho: float | tuple[float, ...] = 1.0

    assumes: ClassVar[str] = "neighbouring indices carry similar values"
    use_when: ClassVar[str] = "pictures and fields with most entries missing; any order"
    total_variation: ClassVar[bool] = False


def _offsets(shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(shape)]).astype(np.int64)


def _where(data: Dense) -> NDArray[np.int32]:
    """Where each observed entry's N numbers lie in a row of U, (nnz, N)."""
    return (data.indices + _offsets(data.O.shape)[:-1]).astype(np.int32)


def _contract_all(X: Array, u: Array) -> Array:
    """<X, u^1 o ... o u^N>, X full."""
    offsets = _offsets(X.shape)
    for n in reversed(range(X.ndim)):
        X = X @ u[offsets[n] : offsets[n + 1]]
    return X


def _subtract(data: Dense, E: Array, u: Array, g: float) -> tuple[Array, Array, float]:
    """(E - g outer(u) at observed entries, u, g), signs turned so that g >= 0."""
    from tensorfill.methods.classical import _spc_kernels as kernels

    u = u.copy()
    if g < 0:
        u[: data.T.shape[0]] *= -1.0
        g = -g
    E = E.copy()
    kernels.deflate(E, _where(data), u, 0.0, u, g)
    return E, u, g
