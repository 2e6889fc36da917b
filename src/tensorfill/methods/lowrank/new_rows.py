"""New slices along the first mode of a model that is fitted already: only their own rows of A_1 are found.

Each slice is a problem of its own, R numbers under the same numerical prior and penalties, so that the answer for one
does not depend on which others it comes with. The other factors are read, never changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.interelement.base import InterElementPrior
from tensorfill.interelement.quadratic import Ridge
from tensorfill.interelement.tensorspace import TensorSpacePrior
from tensorfill.methods.defaults import stiffness
from tensorfill.models.cp import CP
from tensorfill.problem import Problem
from tensorfill.result.completion import Completion
from tensorfill.typing import Array

BLOCK = 4096  # observations whose Khatri-Rao rows are formed at a time
MAX_ITER = 500  # of L-BFGS for one row: a bound on time, which convergence comes before


class Rows:
    """Rows of the first factor for new slices, given a Completion that has factors.

    The penalties are those of the run: its ridge on the row and, for fields, its total variation over the other
    modes. A run with smoothness along the first mode ties slices together and is refused.
    """

    def __init__(self, done: Completion) -> None:
        problem = done.problem
        if problem is None:
            msg = "new slices need the problem behind a run, and this one was read from a file or had none."
            raise ValueError(msg)
        if problem.model != "cp":
            msg = f"new slices can be added to a CP model; got a {problem.model} model."
            raise ValueError(msg)
        self.penalty: InterElementPrior | None = problem.interelement.get(0)
        if self.penalty is not None and self.penalty.couples(problem.shape[0]):
            msg = f"the first mode must have no smoothness if new slices are to be added along it; got {self.penalty}."
            raise ValueError(msg)
        obs, prior = problem.observations, problem.prior
        self.prior = prior
        self.factors = [np.asarray(A, dtype=np.float64) for A in done.model.by_mode]
        self.average: Array = self.factors[0].mean(axis=0)  # (R,): X of the average slice
        self.tensorspace: TensorSpacePrior | None = problem.tensorspace
        information, entry = stiffness(obs, prior)
        self._curvature = information / entry ** (2 * obs.ndim)
        self._ridge = self.penalty.rho if isinstance(self.penalty, Ridge) else 0.0
        self.units = done.units

    def check(self, T: Array) -> None:
        """A sentence if slices T (k, I_2, ..., I_N), NaN = missing, have values that the prior cannot produce."""
        level, scale = self._level_and_scale(T)
        Observations.from_dense((T - level) / scale).check_domain(self.prior.t_domain, type(self.prior).__name__)

    def fit(self, T: Array) -> Array:
        """The rows (k, R) of slices T (k, I_2, ..., I_N), NaN = missing; the average row where nothing is known."""
        out = np.empty((len(T), len(self.average)))
        for i in range(len(T)):
            out[i] = self._row(T[i : i + 1]) if not np.isnan(T[i]).all() else self.average
        return out

    def estimate(self, rows: Array, T: Array) -> Array:
        """The model's mean for rows (k, R) of slices T (k, I_2, ..., I_N): shape of T."""
        out = np.empty(T.shape)
        for i, a in enumerate(rows):  # one at a time: the same bits whatever stands beside it
            out[i] = self.prior.mean(_slice(a, self.factors[1:]))
        level, scale = self._level_and_scale(T)
        return level + scale * out

    def _level_and_scale(self, T: Array) -> tuple[Any, Any]:
        """Units of the fit for slices T (k, I_2, ..., I_N), in shapes that broadcast to it. Where slices of the first
        mode have units of their own, so have the new ones: their own mean and spread, or those of a usual slice.
        """
        units = self.units
        if units is None:
            return 0.0, 1.0
        if units.mode:
            along = [-1 if n == units.mode else 1 for n in range(T.ndim)]
            return units.level.reshape(along), units.scale.reshape(along)
        if not units.own:
            return float(units.level[0]), float(units.scale[0])
        flat = T.reshape(len(T), -1)
        count = (~np.isnan(flat)).sum(axis=1)
        mean = np.nansum(flat, axis=1) / np.maximum(count, 1)
        spread = np.sqrt(np.nansum((flat - mean[:, None]) ** 2, axis=1) / np.maximum(count, 1))
        level = np.where(count > 0, mean, np.median(units.level))
        scale = np.where((count > 1) & (spread > 0), spread, np.median(units.scale))
        ones = (-1, *[1] * (T.ndim - 1))
        return level.reshape(ones), scale.reshape(ones)

    def problem(self, T: Array) -> Problem:
        """The objective of one slice T (1, I_2, ..., I_N) as a function of its row; constants left out."""
        level, scale = self._level_and_scale(T)
        return Problem(
            Observations.from_dense((T - level) / scale),
            rank=len(self.average),
            prior=self.prior,
            interelement={} if self.penalty is None else {0: self.penalty},
            tensorspace=self.tensorspace,
            dtype=np.float64,
            quiet=True,
        )

    def _row(self, T: Array) -> Array:
        """The row that minimises `problem(T)`: L-BFGS in coordinates in which the Hessian is about the identity."""
        from scipy.linalg import solve_triangular
        from scipy.optimize import minimize

        problem = self.problem(T)
        L = self._cholesky(problem.observations)

        def row(b: Array) -> Array:
            return solve_triangular(L, b, lower=True, trans="T", check_finite=False)

        def value_and_grad(b: Array) -> tuple[float, Array]:
            value, G = problem.value_and_grad_mode([row(b)[None, :], *self.factors[1:]], 0)
            return value, solve_triangular(L, G[0], lower=True, check_finite=False)

        # a gradient of 1 here is one standard deviation of the row: 1e-6 is far beyond what data can tell
        options = {"maxiter": MAX_ITER, "ftol": 1e-14, "gtol": 1e-6, "maxls": 50}
        found = minimize(value_and_grad, L.T @ self.average, jac=True, method="L-BFGS-B", options=options)
        return row(found.x) if np.isfinite(found.fun) else self.average

    def _cholesky(self, obs: Observations) -> Array:
        """L with L L' = c K'K + ridge, K the Khatri-Rao rows at the observed entries: the Hessian where the loss has
        curvature c throughout, as Normal has.
        """
        rank = len(self.average)
        H = np.zeros((rank, rank))
        for i in range(0, obs.nnz, BLOCK):
            where = obs.indices[i : i + BLOCK]
            K = np.ones((len(where), rank))
            for n, A in enumerate(self.factors[1:], start=1):
                K *= A[where[:, n]]
            H += K.T @ K
        H *= self._curvature
        H[np.diag_indices(rank)] += self._ridge + 1e-8 * max(float(H.trace()) / rank, 1e-300)
        return np.linalg.cholesky(H)


def _slice(a: Array, factors: list[Array]) -> Array:
    """X of one slice, (I_2, ..., I_N)."""
    first = factors[0] * a
    return CP([first, *factors[1:]]).full() if len(factors) > 1 else first.sum(axis=1)
