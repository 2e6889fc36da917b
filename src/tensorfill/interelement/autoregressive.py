"""Rows that follow from earlier rows: an autoregression along a mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.interelement.base import INTERELEMENT
from tensorfill.interelement.quadratic import Quadratic


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
