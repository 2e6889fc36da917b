"""A multivariate normal distribution of the rows of a table, by EM: it fills what a row lacks from what it knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from tensorfill.typing import Array

ROUNDS = 12  # of EM; the fill hardly moves after some ten
BLOCK = 2**22  # numbers in the matrices of one block of rows


def _unlimited() -> None:
    """A deadline that never comes."""


@dataclass(frozen=True, eq=False)
class Normal:
    """Mean (p,) and covariance (p, p) of the columns."""

    mean: Array
    S: Array

    @classmethod
    def standard(cls, columns: int) -> Self:
        """Columns of mean 0 and variance 1 that have nothing to do with each other."""
        return cls(np.zeros(columns), np.eye(columns))

    def fit(self, X: Array, shrink: float, check_time: Callable[[], None] = _unlimited, rounds: int = ROUNDS) -> Normal:
        """The distribution after rounds of EM on X (k, p), NaN = missing, which begin with this one; correlations are
        drawn to none by a share `shrink` in each.
        """
        known = ~np.isnan(X)
        T = np.where(known, X, 0.0)
        some = known.any(axis=1)
        gaps = list(_patterns(known))
        now = self
        for _ in range(rounds):
            F, spread = now._conditional(T, known, gaps, check_time)
            mean = F[some].mean(axis=0)
            D = F[some] - mean
            S = (D.T @ D + spread) / max(int(some.sum()), 1)
            diagonal = np.maximum(np.diag(S), 1e-9)
            now = Normal(mean, (1 - shrink) * S + shrink * np.diag(diagonal))
        return now

    def fill(self, X: Array, check_time: Callable[[], None] = _unlimited) -> Array:
        """X (k, p) with NaN replaced by its mean given the rest of the row; each row by itself, to the bit."""
        known = ~np.isnan(X)
        return self._conditional(np.where(known, X, 0.0), known, list(_patterns(known)), check_time)[0]

    def _conditional(
        self, T: Array, known: Array, gaps: list[tuple[Array, Array]], check_time: Callable[[], None]
    ) -> tuple[Array, Array]:
        """(rows filled by their conditional means (k, p), sum over rows of the conditional covariances (p, p)).

        With the inverse K of S the covariance of a row's gaps g given the rest is the inverse of K_gg: small where gaps
        are few.
        """
        p = T.shape[1]
        K = np.linalg.inv(self.S)
        out, spread = np.array(T), np.zeros(p * p)
        pull = np.where(known, T - self.mean, 0.0)
        step = max(1, BLOCK // (p * p))
        for start in range(0, len(pull), step):
            check_time()
            rows = pull[start : start + step]
            rows[:] = (rows[:, None, :] @ K)[:, 0]  # row by row: as many beside it as may be
        for rows, g in gaps:
            check_time()
            C = np.linalg.inv(K[g[:, :, None], g[:, None, :]])
            out[rows[:, None], g] = self.mean[g] - (C @ pull[rows[:, None], g][:, :, None])[:, :, 0]
            spread += np.bincount((g[:, :, None] * p + g[:, None, :]).ravel(), C.ravel(), p * p)
        return out, spread.reshape(p, p)


def _patterns(known: Array) -> Iterator[tuple[Array, Array]]:
    """Rows of a mask (k, p) with equally many gaps, in blocks that fit: (rows (b,), columns of their gaps (b, m))."""
    count = np.count_nonzero(~known, axis=1)
    for m in np.unique(count[count > 0]):
        rows = np.flatnonzero(count == m)
        size = max(1, BLOCK // int(m * m))
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            yield block, np.nonzero(~known[block])[1].reshape(len(block), m)
