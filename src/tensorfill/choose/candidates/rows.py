"""Rows that look alike: the mean of the nearest rows, by what two rows both know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import (
    CANDIDATES,
    Candidate,
    Fitted,
    Search,
    dense_table,
    dims_of,
    from_table,
    never,
    tables,
    watch,
)
from tensorfill.choose.candidates.columns import standardised
from tensorfill.choose.candidates.means import means_table
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled

Array = NDArray[Any]

FEWEST_ROWS, MOST_ROWS = 20, 5000  # few rows have no look-alikes; all pairs of rows are compared
NEAREST = (5, 15)  # held-out entries choose


@CANDIDATES.register("rows")
@dataclass(frozen=True)
class Rows(Candidate):
    """The weighted mean of the nearest rows that know the entry."""

    assumes = "rows come in kinds, so that many a row has others like it"

    columns: tuple[int, ...] = (1,)
    dim: str = ""
    nearest: int = NEAREST[0]

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        return True if _tables(facts) else f"it is no table of {FEWEST_ROWS} to {MOST_ROWS} rows"

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        best, least = None, np.inf
        for columns in _tables(facts):
            loss = yield cls(columns, dims_of(facts, columns))
            if loss < least:
                best, least = columns, loss
        if best is not None:
            yield cls(best, dims_of(facts, best), NEAREST[1])

    @property
    def label(self) -> str:
        return f"{self.nearest} nearest rows of {self.dim}"

    def cost(self, facts: Facts) -> float:
        p = int(np.prod([facts.shape[n] for n in self.columns]))
        return 1e-3 + 4e-5 * p + 8e-9 * (facts.size / p) ** 2 * p

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        look = watch(run)
        X, level, scale = standardised(dense_table(obs.dense(dtype=np.float64), self.columns))
        filled = nearest_rows(X, self.nearest, look) * scale + level
        blank = np.isnan(X).all(axis=1)  # it has no look by which others could be like it
        if blank.any():
            filled[blank] = means_table(obs, facts, run, self.columns)[blank]
        return Fitted(Filled(from_table(filled, obs.shape, self.columns)))


def _tables(facts: Facts) -> list[tuple[int, ...]]:
    """Ways to read the data as a table whose rows can all be compared."""
    if not facts.dense:
        return []
    rows = {way: facts.size / np.prod([facts.shape[n] for n in way]) for way in tables(facts)}
    return sorted((way for way in rows if FEWEST_ROWS <= rows[way] <= MOST_ROWS), key=lambda way: rows[way])


def nearest_rows(X: Array, nearest: int, look: Callable[[], None] = never) -> Array:
    """X (k, p), standardised, with NaN filled by the mean of the `nearest` rows that know the entry, 1 / distance."""
    known = ~np.isnan(X)
    M, T = known.astype(float), np.where(known, X, 0.0)
    both = M @ M.T
    squares = (T**2) @ M.T
    distance = squares + squares.T - 2 * T @ T.T
    # rows that share little say little: each begins as far apart as two independent numbers, squared 2 in the mean
    distance = (np.maximum(distance, 0.0) + 2.0) / (both + 1.0)
    np.fill_diagonal(distance, np.inf)
    out = np.array(T)
    for j in range(X.shape[1]):
        look()
        rows, donors = np.flatnonzero(~known[:, j]), np.flatnonzero(known[:, j])
        if not len(rows) or not len(donors):
            continue
        D = distance[np.ix_(rows, donors)]
        k = min(nearest, len(donors))
        pick = np.argpartition(D, k - 1, axis=1)[:, :k]
        weight = 1.0 / (np.sqrt(np.take_along_axis(D, pick, 1)) + 1e-9)
        out[rows, j] = (weight * T[donors[pick], j]).sum(axis=1) / weight.sum(axis=1)
    return out
