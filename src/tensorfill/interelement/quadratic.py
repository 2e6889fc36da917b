"""Quadratic inter-element priors: value = 1/2 tr(A' Q A) with a symmetric, positive semi-definite, sparse Q.

Design: a new one needs `matrix(n)` only; value and grad follow from it. The built-in ones override what they can do
faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tensorfill.interelement.base import INTERELEMENT, Array, InterElementPrior, Weighted
from tensorfill.registry import check_setting


def sum_of_squares(D: Array) -> float:
    """|D|^2; rows in the dtype of D (short sums, fast), their total in float64."""
    return float(np.einsum("ir,ir->i", D, D).sum(dtype=np.float64))


@dataclass(frozen=True)
class Quadratic(Weighted):
    """A prior that is known by its matrix; subclasses give `matrix(n)`, rho included."""

    def value(self, A: Array) -> float:
        return 0.5 * float(np.einsum("ir,ir->i", A, self.grad(A)).sum(dtype=np.float64))

    def grad(self, A: Array) -> Array:
        """Its derivative in A, (I, R)."""
        try:
            Q = _matrix(self, len(A), A.dtype.str)
        except TypeError:  # a user's prior that cannot be hashed: no cache knows it
            Q = _matrix.__wrapped__(self, len(A), A.dtype.str)
        return Q @ A


@lru_cache(maxsize=16)
def _matrix(prior: Quadratic, n: int, dtype: str) -> Any:
    """The matrix of a prior, which never changes, for n rows."""
    return prior.matrix(n).tocsr().astype(np.dtype(dtype))


@INTERELEMENT.register("ridge")
@dataclass(frozen=True)
class Ridge(Quadratic):
    """rho/2 |A|^2: keeps a factor small, and the problem well-posed."""

    def matrix(self, n: int) -> Any:
        """The matrix of the quadratic form."""
        from scipy.sparse import eye_array

        return self.rho * eye_array(n, format="csr")

    def value(self, A: Array) -> float:
        return 0.5 * self.rho * sum_of_squares(A)

    def grad(self, A: Array) -> Array:
        """Its derivative in A, (I, R)."""
        return self.rho * A


@INTERELEMENT.register("quadratic-variation")
@dataclass(frozen=True)
class QuadraticVariation(Quadratic):
    """Neighbouring rows are alike: rho/2 sum_i |a_i - a_{i+1}|^2 (Eq. 15 of the paper, from Yokota et al. 2016).

    With order=2, rho/2 sum_i |a_i - 2 a_{i+1} + a_{i+2}|^2: straight lines cost nothing. Ends are free (no difference
    reaches past them), so a constant column costs nothing either; with periodic=True the last row neighbours the first.
    """

    order: int = 1
    periodic: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_setting("order of QuadraticVariation", self.order, "int")
        check_setting("periodic of QuadraticVariation", self.periodic, "bool | int")
        if self.order not in (1, 2):
            msg = f"order of QuadraticVariation must be 1 (differences) or 2 (second differences); got {self.order!r}."
            raise ValueError(msg)
        object.__setattr__(self, "order", int(self.order))
        object.__setattr__(self, "periodic", bool(self.periodic))

    def matrix(self, n: int) -> Any:
        """Rho D'D with D the differences, (n, n)."""
        from scipy.sparse import csr_array

        if not self.periodic and n <= self.order:
            return csr_array((n, n))
        D = _difference_matrix(n, self.periodic)
        if self.order == 2:
            D = _difference_matrix(D.shape[0], self.periodic) @ D
        return (self.rho * (D.T @ D)).tocsr()

    def value(self, A: Array) -> float:
        """rho/2 |D A|^2, Eq. 15."""
        return 0.5 * self.rho * sum_of_squares(self._differences(A))

    def grad(self, A: Array) -> Array:
        """S, end rows included, Eq. 18 (scalc): rho D'D A."""
        D = self._differences(A)  # an array of our own
        if not len(D):  # too few rows for a single difference
            return np.zeros_like(A)
        D *= self.rho
        for _ in range(self.order):
            D = _difference_adjoint(D, self.periodic)
        return D

    def _differences(self, A: Array) -> Array:
        for _ in range(self.order):
            A = _difference(A, self.periodic)
        return A


def _difference(A: Array, periodic: bool) -> Array:
    """d_i = a_{i+1} - a_i; one row fewer than A, or as many when periodic."""
    if not periodic:
        return A[1:] - A[:-1]
    D = np.empty_like(A, order="C")
    np.subtract(A[1:], A[:-1], out=D[:-1])
    np.subtract(A[:1], A[-1:], out=D[-1:])
    return D


def _difference_adjoint(D: Array, periodic: bool) -> Array:
    """g_i = d_{i-1} - d_i, with nothing beyond free ends."""
    if periodic:
        G = np.empty_like(D)
        np.subtract(D[-1:], D[:1], out=G[:1])
        np.subtract(D[:-1], D[1:], out=G[1:])
        return G
    G = np.empty((D.shape[0] + 1, *D.shape[1:]), dtype=D.dtype)
    np.negative(D[0], out=G[0])
    np.subtract(D[:-1], D[1:], out=G[1:-1])
    G[-1] = D[-1]
    return G


def _difference_matrix(n: int, periodic: bool) -> Any:
    """`_difference` as a sparse matrix: (n - 1, n), or (n, n) when periodic."""
    from scipy.sparse import coo_array

    rows = np.arange(n if periodic else n - 1)
    ones = np.ones(len(rows))
    i, j = np.concatenate([rows, rows]), np.concatenate([rows, (rows + 1) % n])
    return coo_array((np.concatenate([-ones, ones]), (i, j)), shape=(len(rows), n)).tocsr()


@INTERELEMENT.register("autoregressive")
@dataclass(frozen=True)
class Autoregressive(Quadratic):
    """A row follows from those some steps before it: rho/2 sum_i |a_i - sum_k theta_k a_(i - l_k)|^2.

    Along a mode that is time, with a lag for every rhythm: lags=(1, 24) for hours in days. The first rows, which lack a
    predecessor, are free (Yu, Rao and Dhillon 2016 learn theta; here it is given).

    Parameters
    ----------
    rho
        Weight of the whole.
    lags
        Steps back, whole numbers >= 1, each once.
    theta
        One coefficient per lag; by default all alike and 1 together, so that a constant column costs nothing.
    """

    lags: Any = (1,)
    theta: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        lags = _lags(self.lags)
        object.__setattr__(self, "lags", lags)
        object.__setattr__(self, "theta", _theta(self.theta, lags))

    def matrix(self, n: int) -> Any:
        """Rho D'D with D the errors of prediction, (n, n)."""
        from scipy.sparse import csr_array, eye_array

        longest = max(self.lags)
        rows = n - longest
        if rows <= 0:
            return csr_array((n, n))
        D = eye_array(rows, n, k=longest, format="csr")
        for lag, theta in zip(self.lags, self.theta, strict=True):
            D = D - theta * eye_array(rows, n, k=longest - lag, format="csr")
        return (self.rho * (D.T @ D)).tocsr()


def _lags(given: Any) -> tuple[int, ...]:
    items = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    good = all(isinstance(lag, int | float | np.number) and float(lag).is_integer() and lag >= 1 for lag in items)
    if not items or not good or len(set(items)) < len(items):
        msg = f"lags of Autoregressive must be whole numbers >= 1, each once, such as (1, 24); got {given!r}."
        raise ValueError(msg)
    return tuple(int(lag) for lag in items)


def _theta(given: Any, lags: tuple[int, ...]) -> tuple[float, ...]:
    if given is None:
        return (1.0 / len(lags),) * len(lags)
    try:
        numbers = np.atleast_1d(given)
        theta = tuple(float(number) for number in numbers) if numbers.ndim == 1 and numbers.dtype.kind != "c" else ()
    except (TypeError, ValueError):
        theta = ()
    if len(theta) != len(lags) or not np.isfinite(theta).all():
        msg = f"theta of Autoregressive must be one finite number per lag, {len(lags)} of them; got {given!r}."
        raise ValueError(msg)
    return theta


def penalties(ndim: int, smooth: Mapping[int, float], ridge: float) -> dict[int, InterElementPrior]:
    """The usual pair for each of `ndim` modes: QuadraticVariation(smooth[n]) where it is named, Ridge(ridge) on all."""
    out: dict[int, InterElementPrior] = {}
    for n in range(ndim):
        parts: list[InterElementPrior] = []
        if smooth.get(n, 0) > 0:
            parts.append(QuadraticVariation(smooth[n]))
        if ridge > 0:
            parts.append(Ridge(ridge))
        if parts:
            out[n] = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return out
