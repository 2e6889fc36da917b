"""Rows that look alike: the mean of the nearest rows, by what two rows both know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import METHODS, Run, Variants, unlimited
from tensorfill.methods.checks import check_whole
from tensorfill.methods.tabular.table import TableMethod
from tensorfill.typing import Array

FEWEST_ROWS, MOST_ROWS = 20, 5000  # few rows have no look-alikes; all pairs of rows are compared
NEAREST = (5, 15)  # held-out entries choose
BLOCK = 2**25  # distances that are held at once


@METHODS.register("knn")
@dataclass(frozen=True)
class KNN(TableMethod):
    """The weighted mean of the nearest rows that know the entry.

    Parameters
    ----------
    nearest : number of rows
    columns : the mode whose slices are the columns of the table, or several; None: the last
    """

    reference = "Troyanskaya et al.: Missing value estimation methods for DNA microarrays, Bioinformatics 2001"
    assumes = "rows come in kinds, so that many a row has others like it"
    use_when = "questionnaires, patients, measurements of things that come in kinds"
    suited = f"{FEWEST_ROWS} to {MOST_ROWS} rows"
    nearest: int = NEAREST[0]

    def __post_init__(self) -> None:
        check_whole(self, 1, "nearest")

    def fits(self, rows: float, columns: int) -> bool:
        return FEWEST_ROWS <= rows <= MOST_ROWS

    def tables(self, facts: Facts) -> list[tuple[int, ...]]:
        """Those with few rows first."""
        return sorted(super().tables(facts), key=lambda columns: -np.prod([facts.shape[n] for n in columns]))

    def variants(self, facts: Facts) -> Variants:
        best = yield from self.readings(facts)
        if best is not None:
            yield replace(best, nearest=NEAREST[1])

    @property
    def label(self) -> str:
        return f"{super().label}, {self.nearest} rows"

    def cost(self, facts: Facts) -> float:
        p = self.column_count(facts)
        return 1e-3 + 4e-5 * p + 8e-9 * (facts.size / p) ** 2 * p

    def fill(self, X: Array, obs: Observations, run: Run) -> Array:
        return nearest_rows(X, self.nearest, run.deadline())


def nearest_rows(X: Array, nearest: int, check_time: Callable[[], None] = unlimited) -> Array:
    """X (k, p), standardised, with NaN filled by the mean of the `nearest` rows that know the entry, 1 / distance."""
    known = ~np.isnan(X)
    M, T = known.astype(float), np.where(known, X, 0.0)
    S, out = T**2, np.array(T)
    for block in np.array_split(np.flatnonzero(~known.all(axis=1)), -(-len(X) * len(X) // BLOCK)):
        check_time()
        m, t = M[block], T[block]
        distance = S[block] @ M.T + m @ S.T - 2 * t @ T.T
        # rows that share little say little: each begins as far apart as two independent numbers, squared 2 in the mean
        distance = (np.maximum(distance, 0.0) + 2.0) / (m @ M.T + 1.0)
        for j in range(X.shape[1]):
            check_time()
            rows, donors = np.flatnonzero(~known[block, j]), np.flatnonzero(known[:, j])
            if not len(rows) or not len(donors):
                continue
            D = distance[np.ix_(rows, donors)]
            k = min(nearest, len(donors))
            pick = np.argpartition(D, k - 1, axis=1)[:, :k]
            weight = 1.0 / (np.sqrt(np.take_along_axis(D, pick, 1)) + 1e-9)
            out[block[rows], j] = (weight * T[donors[pick], j]).sum(axis=1) / weight.sum(axis=1)
    return out
