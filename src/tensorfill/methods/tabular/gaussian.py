"""Regression of each column on the others: rows as draws from one multivariate normal distribution, by EM.

The columns are the slices along one mode, standardised; with `beside`, also those of the rows before and after, where
rows have an order: what a sensor shows follows from what the others and itself show around that moment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import METHODS, Run, Variants
from tensorfill.methods.checks import check_above
from tensorfill.methods.tabular.table import TableMethod
from tensorfill.models.normal import ROUNDS, Normal
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.transforms.clip import clip_to_reach
from tensorfill.typing import Array

MOST_COLUMNS = 250  # a round of EM takes time as their number cubed
SHRINK = (0.01, 0.1)  # of the correlations towards none; held-out entries choose


@METHODS.register("gaussian")
@dataclass(frozen=True)
class Gaussian(TableMethod):
    """A multivariate normal distribution of the rows, fitted by EM: the regression of each column on the others.

    Parameters
    ----------
    shrink : how far correlations are drawn to none, 0 to 1
    columns : the mode whose slices are the columns of the table, or several; None: the last
    beside : a mode along which neighbouring rows count as columns too
    """

    reference = "Schneider: Analysis of incomplete climate data, Journal of Climate 2001"
    assumes = "columns (slices along one mode) are related linearly, in the same way in every row"
    use_when = "tables of related measurements with more rows than columns"
    suited = f"2 to {MOST_COLUMNS} columns and more rows than that"
    shrink: float = SHRINK[0]
    beside: int | str | None = None

    def __post_init__(self) -> None:
        check_above(self, 0, "shrink", included=True, most=1)

    def fits(self, rows: float, columns: int) -> bool:
        return 2 <= columns <= min(MOST_COLUMNS, rows)

    def variants(self, facts: Facts) -> Variants:
        for columns in self.tables(facts):
            now, losses = self.reading(columns, facts), []
            for shrink in SHRINK:
                losses.append((yield replace(now, shrink=shrink)))
            rows = [n for n in facts.ordered if n not in columns]
            if rows and 3 * now.column_count(facts) <= MOST_COLUMNS:
                line = min(rows, key=lambda n: facts.modes[n].rough)  # along which neighbours are most alike
                yield replace(now, shrink=SHRINK[int(np.argmin(losses))], beside=line)

    @property
    def label(self) -> str:
        beside = "" if self.beside is None else ", with neighbouring rows"
        return f"{super().label}, shrinkage {self.shrink:g}{beside}"

    def cost(self, facts: Facts) -> float:
        p = self.column_count(facts)
        rows, p = facts.size // p, p if self.beside is None else 3 * p
        return em_cost(rows, p, facts.share)

    def fill(self, X: Array, obs: Observations, run: Run) -> Array:
        p = X.shape[1]
        if self.beside is not None:
            beside, columns = obs.mode(self.beside), self.column_modes(obs)
            if beside in columns:
                msg = f"beside of method 'gaussian' must not be a mode of the columns; got {self.beside!r}."
                raise ValueError(msg)
            X = _with_neighbours(X, obs.shape, columns, beside)
        check_time = run.deadline()
        return Normal.standard(X.shape[1]).fit(X, self.shrink, check_time).fill(X, check_time)[:, :p]

    def fit(self, obs: Observations, run: Run) -> Completion:
        done = super().fit(obs, run)
        return replace(done, answer=Filled(clip_to_reach(done.answer.full(), obs, run.facts_of(obs))))


def em_cost(rows: int, columns: int, share: float) -> float:
    """About how many seconds EM takes on a table of which this share is known, a tenth of that held out."""
    gaps = columns * (1 - 0.9 * share)
    return 2e-3 + ROUNDS * rows * (6e-7 * gaps + 2.5e-8 * gaps**2 + 2.5e-10 * gaps**3)


def _with_neighbours(X: Array, shape: tuple[int, ...], columns: tuple[int, ...], beside: int) -> Array:
    """X (rows, p) with the columns of the rows before and after along the mode `beside`: (rows, 3 p)."""
    others = [n for n in range(len(shape)) if n not in columns]
    axis = others.index(beside)
    cube = X.reshape(*(shape[n] for n in others), -1)
    parts = [X]
    for step in (1, -1):
        moved = np.roll(cube, step, axis=axis)
        edge = [slice(None)] * cube.ndim
        edge[axis] = slice(0, 1) if step > 0 else slice(-1, None)
        moved[tuple(edge)] = np.nan  # there is nothing before the first and after the last
        parts.append(moved.reshape(X.shape))
    return np.hstack(parts)
