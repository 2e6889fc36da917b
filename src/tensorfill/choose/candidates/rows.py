"""Rows that look alike: the mean of the nearest rows, by what two rows both know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search, dense_table, from_table
from tensorfill.choose.candidates.columns import MOST_COLUMNS, standardised
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled

Array = NDArray[Any]

MOST_ROWS = 5000
NEAREST = (5, 15)  # held-out entries choose


@CANDIDATES.register("rows")
@dataclass(frozen=True)
class Rows(Candidate):
    """The weighted mean of the nearest rows that know the entry."""

    assumes = "rows come in kinds, so that many a row has others like it"

    mode: int = 1
    dim: str = ""
    nearest: int = NEAREST[0]

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        return True if _modes(facts) else f"no mode has 2 to {MOST_COLUMNS} slices of 20 to {MOST_ROWS} entries"

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        for n in _modes(facts):
            for nearest in NEAREST:
                yield cls(n, facts.modes[n].dim, nearest)

    @property
    def label(self) -> str:
        return f"{self.nearest} nearest rows of {self.dim}"

    def cost(self, facts: Facts) -> float:
        p = facts.shape[self.mode]
        rows = facts.size / p
        return 1e-3 + 6e-9 * rows**2 * p

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        X, level, scale = standardised(dense_table(obs, self.mode))
        filled = nearest_rows(X, self.nearest)
        return Fitted(Filled(from_table(filled * scale + level, obs.shape, self.mode)))


def _modes(facts: Facts) -> list[int]:
    """Modes whose slices may be columns, the fewest first."""
    fits = [n for n, p in enumerate(facts.shape) if 2 <= p <= MOST_COLUMNS and 20 <= facts.size // p <= MOST_ROWS]
    return sorted(fits, key=lambda n: facts.shape[n])


def nearest_rows(X: Array, nearest: int) -> Array:
    """X (k, p), standardised, with NaN filled by the mean of the `nearest` rows that know the entry, 1 / distance."""
    known = ~np.isnan(X)
    M, T = known.astype(float), np.where(known, X, 0.0)
    both = M @ M.T
    squares = (T**2) @ M.T
    distance = squares + squares.T - 2 * T @ T.T
    # rows that share little say little: the missing part counts as two independent numbers would, squared 2
    p = X.shape[1]
    distance = (np.maximum(distance, 0.0) + 2.0 * (p - both)) / p
    np.fill_diagonal(distance, np.inf)
    out = np.array(T)
    for j in range(p):
        rows, donors = np.flatnonzero(~known[:, j]), np.flatnonzero(known[:, j])
        if not len(rows) or not len(donors):
            continue
        D = distance[np.ix_(rows, donors)]
        k = min(nearest, len(donors))
        pick = np.argpartition(D, k - 1, axis=1)[:, :k]
        weight = 1.0 / (np.sqrt(np.take_along_axis(D, pick, 1)) + 1e-9)
        out[rows, j] = (weight * T[donors[pick], j]).sum(axis=1) / weight.sum(axis=1)
    return out
