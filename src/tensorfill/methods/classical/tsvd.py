"""t-SVD: the tubal nuclear norm, by Zhang's accelerated ADMM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tensorfill.methods.arrays import Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above
from tensorfill.methods.classical.nuclear import NuclearMethod, paste
from tensorfill.methods.classical.thresholding import prox_tubal
from tensorfill.result.record import Status
from tensorfill.solvers.base import State


@METHODS.register("t-svd")
@dataclass(frozen=True)
class TSVD(NuclearMethod):
    """min over X of the tubal nuclear norm of X, with X = T on O.

    The norm transforms the third mode by a DFT and averages the nuclear norms of the frontal slices. A matrix is one
    slice; of more than three modes, each from the third on is transformed (the t-SVD of order N).

    Attributes
    ----------
    rho : the penalty, for data whose largest value is 1; his code has 0.01, which takes 5 to 10 times the
        iterations to the same answer
    tol : relative tolerance
    """

    room: ClassVar[float] = 140.0
    reference: ClassVar[str] = "Zhang, Aeron: Exact tensor completion using t-SVD, IEEE TSP 2017"
    assumes: ClassVar[str] = (
        "slices share structure along the third mode (low tubal rank), e.g. video, bands of a picture"
    )
    use_when: ClassVar[str] = "the third mode is shift-like (time, bands) and up to about 70 % is missing"
    peak: ClassVar[float | None] = 1.0

    rho: float = 0.1
    max_iter: int = 1000
    tol: float = 5e-4

    def __post_init__(self) -> None:
        check_above(self, 0, "rho", "tol")

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        zero = np.zeros_like(data.T)
        names = ("z", "u", "zh", "uh")
        numbers = {"a": 1.0, "r": np.inf, "s": np.inf, "worst": np.inf}
        return State({"X": data.T, **dict.fromkeys(names, zero)}, numbers)

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        z_old, u_old, zh, uh = (state.arrays[name] for name in ("z", "u", "zh", "uh"))
        shift = uh / self.rho
        x = paste(zh - shift, data)
        z, value = prox_tubal(x + shift, 1.0 / self.rho)
        gap = x - z
        u = uh + self.rho * gap
        dz = z - z_old
        r, s = float(np.linalg.norm(gap)), self.rho * float(np.linalg.norm(dz))
        worst, a = max(r, s), state.numbers["a"]
        if worst < state.numbers["worst"]:
            a_new = (1 + np.sqrt(1 + 4 * a * a)) / 2
            c = (a - 1) / a_new
            zh, uh = z + c * dz, u + c * (u - u_old)
        else:  # restart the extrapolation
            a_new, zh, uh = 1.0, z, u
        numbers = {"a": float(a_new), "r": r, "s": s, "worst": worst}
        return State({"X": x, "z": z, "u": u, "zh": zh, "uh": uh}, numbers, value)

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        if previous is None:
            return None
        norm, floor = np.linalg.norm, np.sqrt(data.T.size) * self.tol / 100
        x, z, u = state.arrays["X"], state.arrays["z"], state.arrays["u"]
        primal = floor + self.tol * max(norm(x), norm(z))
        dual = floor + self.tol * self.rho * norm(u)
        return Status.CONVERGED if state.numbers["r"] < primal and state.numbers["s"] < dual else None
