"""A table with entries hidden, and the measures of how well they were filled: small is good in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill_benchmarks.choose_data import DataSet

Array = NDArray[Any]
Mask = NDArray[np.bool_]

TOP = 10  # films of a user that ranking measures look at


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A table with entries hidden.

    Attributes
    ----------
    data : all values, and what a person would know about them
    hidden : entries nobody is shown
    scored : those of them that count
    prior : what the numbers are, where `bayes` is told; None where it finds out
    """

    data: DataSet
    hidden: Mask
    scored: Mask
    prior: str | None = None

    @cached_property
    def where(self) -> Array:
        """(k, N) coordinates of the scored entries."""
        return np.argwhere(self.scored)

    @cached_property
    def truth(self) -> Array:
        """(k,) values there."""
        return self.data.values[self.scored].astype(np.float64)

    @property
    def observed(self) -> Mask:
        return self.data.known & ~self.hidden

    @cached_property
    def observations(self) -> Observations:
        mask = self.observed
        return Observations.from_dense(np.where(mask, self.data.values, 0).astype(np.float64), mask)

    @cached_property
    def gapped(self) -> Array:
        """The values, NaN where nothing may be seen."""
        return np.where(self.observed, self.data.values, np.nan).astype(np.float64)


def rmse(puzzle: Puzzle, x: Array) -> float:
    """Root mean square error, in standard deviations of the column where columns have units of their own."""
    return float(np.sqrt(np.mean(_off(puzzle, x) ** 2)))


def mae(puzzle: Puzzle, x: Array) -> float:
    """Mean absolute error, as `rmse`."""
    return float(np.mean(np.abs(_off(puzzle, x))))


def mape(puzzle: Puzzle, x: Array) -> float:
    """Mean of |error| / truth."""
    return float(np.mean(np.abs(x - puzzle.truth) / puzzle.truth))


def precision(puzzle: Puzzle, x: Array) -> float:
    """1 - average precision of the yes among the hidden, ranked by x: small is good, as with all others."""
    order = np.argsort(-x, kind="stable")
    yes = puzzle.truth[order] > 0
    hits = np.cumsum(yes)
    return float(1 - (hits / np.arange(1, len(yes) + 1))[yes].mean())


def ranking(puzzle: Puzzle, x: Array) -> float:
    """1 - NDCG of the first ten hidden films of each user, ranked by x, with the gains 2^stars - 1."""
    scores = []
    for truth, guess in _by_row(puzzle, x):
        gain = 2.0**truth - 1
        discount = 1 / np.log2(np.arange(2, min(len(gain), TOP) + 2))
        best = np.sort(gain)[::-1][: len(discount)] @ discount
        scores.append(gain[np.argsort(-guess, kind="stable")][: len(discount)] @ discount / best)
    return float(1 - np.mean(scores))


def hits(puzzle: Puzzle, x: Array) -> float:
    """1 - hit rate: users with more than ten hidden films, of whose favourites one is among the first ten by x."""
    found = [
        (truth[np.argsort(-guess, kind="stable")][:TOP] == truth.max()).any()
        for truth, guess in _by_row(puzzle, x)
        if len(truth) > TOP
    ]
    return float(1 - np.mean(found)) if found else float("nan")


def _by_row(puzzle: Puzzle, x: Array) -> Iterator[tuple[Array, Array]]:
    """(truth, guess) of the scored entries of each row of the first mode that has two different ones."""
    rows = puzzle.where[:, 0]
    order = np.argsort(rows, kind="stable")
    for one in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1):
        if np.ptp(puzzle.truth[one]) > 0:
            yield puzzle.truth[one], x[one]


def _off(puzzle: Puzzle, x: Array) -> Array:
    unit = np.ones(()) if puzzle.data.units is None else puzzle.data.spread()
    return (x - puzzle.truth) / np.broadcast_to(unit, puzzle.data.shape)[puzzle.scored]


MEASURES: dict[str, Callable[[Puzzle, Array], float]] = {
    "RMSE": rmse,
    "MAE": mae,
    "MAPE": mape,
    "1 - AP": precision,
    "1 - NDCG@10": ranking,
    "1 - HR@10": hits,
}
