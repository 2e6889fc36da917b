"""Extremely randomised trees: each column predicted from all others, by how rows that look alike differ."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import METHODS, Method, Run, Variants
from tensorfill.methods.checks import check_whole
from tensorfill.methods.tabular.table import TableMethod
from tensorfill.models.forest import Forest, evidence
from tensorfill.models.normal import Normal
from tensorfill.typing import Array

MOST_COLUMNS = 60  # of a table: one forest is grown for each
FEWEST_ROWS = 30
MOST_TREES = 10_000  # in a forest; rounds, too
SHRINK = 0.1  # of the correlations by which gaps are filled before any tree is grown


@METHODS.register("trees")
@dataclass(frozen=True)
class Trees(TableMethod):
    """Extra trees for each column, on the others, gaps in which are first filled by a normal distribution of the rows.

    Parameters
    ----------
    trees : in the forest of each column
    rounds : over all columns; from the second on, gaps are filled by the trees of the round before
    columns : the mode whose slices are the columns of the table, or several; None: the last
    """

    reference = "Geurts, Ernst, Wehenkel: Extremely randomized trees, 2006; Stekhoven, Buehlmann: MissForest, 2012"
    assumes = "columns are related in any way, the same in every row; more rows than columns"
    use_when = "ordinary tables of mixed units: thresholds, interactions, kinds of rows"
    suited = f"2 to {MOST_COLUMNS} columns and more rows than that"
    trees: int = 50
    rounds: int = 1

    def __post_init__(self) -> None:
        check_whole(self, 1, "trees", "rounds", most=MOST_TREES)

    def fits(self, rows: float, columns: int) -> bool:
        return 2 <= columns <= MOST_COLUMNS and rows >= max(FEWEST_ROWS, 2 * columns)

    def variants(self, facts: Facts) -> Variants:
        best = yield from self.readings(facts)
        if best is not None:
            yield replace(best, rounds=self.rounds + 1)

    @property
    def label(self) -> str:
        return super().label + (f", {self.rounds} rounds" if self.rounds > 1 else "")

    def cost(self, facts: Facts) -> float:
        p = self.column_count(facts)
        rows = facts.size / p
        known = facts.share * rows
        split = 3.5e-8 * known * np.log2(known + 2) * p**0.7
        return 5e-3 + self.rounds * p * (3e-3 + self.trees * (4.5e-4 + split))

    def shorter(self, facts: Facts, seconds: float) -> Method:
        fewer = self.trees
        while fewer > 10 and replace(self, trees=fewer).cost(facts) > seconds:
            fewer //= 2
        return replace(self, trees=max(fewer, 10))

    def fill(self, X: Array, obs: Observations, run: Run) -> Array:
        check_time = run.deadline()
        known = ~np.isnan(X)
        filled = Normal.standard(X.shape[1]).fit(X, SHRINK, check_time).fill(X, check_time)
        seeds = np.random.default_rng(run.seed).integers(2**31, size=(self.rounds, X.shape[1]))
        others = evidence(known)
        for turn in seeds:
            before = filled.copy()  # every column sees the others as they were: their order does not matter
            for j in np.flatnonzero(~known.all(axis=0) & known.any(axis=0)):
                check_time()
                Z, rows = before[:, others[j]], known[:, j]
                filled[~rows, j] = Forest.grow(Z[rows], X[rows, j], self.trees, int(turn[j])).predict(Z[~rows])
        return filled
