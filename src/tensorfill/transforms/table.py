"""Ordinary tables: columns that are no data are left out of the fit, the others are brought to one unit, and the answer
is turned back: every estimate, interval and draw in the unit of its column and inside its domain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.columns import ColumnFacts, column_facts, is_table, of_several_kinds
from tensorfill.data.facts import compute_facts
from tensorfill.data.observations import Observations
from tensorfill.data.sources import LabelledSource
from tensorfill.data.units import Units
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import COLUMN_MEANS, mean_error
from tensorfill.result.transformed import InUnits

LEAST_GAIN = 0.01  # of the error of the column means: by less an answer may be better by chance


@dataclass(frozen=True, eq=False)
class TableTransform:
    """From the observations of a table to those that a method sees, and from its completion back.

    Attributes
    ----------
    columns : facts of every column
    units : level and scale of every column, to divide by; of one that is left out its one value, and 0
    index : which column of the fit serves each column; of one that is left out, 0
    """

    columns: tuple[ColumnFacts, ...]
    units: Units
    index: NDArray[np.intp]

    @classmethod
    def fit(cls, obs: Observations, *, standardize: bool) -> Self | None:
        """Learn it from these observations; None where it would change nothing."""
        if not is_table(obs) or obs.dims[1] in obs.features:  # columns with features are items of one kind
            return None
        columns = column_facts(obs)
        data = np.array([c.is_data for c in columns])
        if not data.any():
            return None
        level, scale = np.zeros(len(columns)), np.ones(len(columns))
        if standardize and of_several_kinds(obs, columns):
            own = Units.of_slices(obs, 1)
            level, scale = own.level, own.scale
        index = np.cumsum(data) - 1
        for n, column in enumerate(columns):
            if column.copy_of is not None:
                index[n], level[n], scale[n] = (a[column.copy_of] for a in (index, level, scale))
            elif not column.is_data:
                index[n], scale[n] = 0, 0.0
                level[n] = column.low if column.kind == "constant" else np.nan
        made = cls(columns, Units(1, level, scale), index)
        ends = np.array([(c.low, c.high) for c in columns])
        return made if not data.all() or made.standardizes or np.isfinite(ends).any() else None

    @property
    def standardizes(self) -> bool:
        """Is anything divided by more than 1?"""
        data = [n for n, c in enumerate(self.columns) if c.is_data]
        return bool((self.units.scale[data] != 1).any())

    def transform(self, obs: Observations) -> Observations:
        """The columns that are data, each by its mean and standard deviation where they have units of their own."""
        data = np.array([c.is_data for c in self.columns])
        if data.all() and not self.standardizes:
            return obs
        here = data[obs.indices[:, 1]]
        where = obs.indices[here].copy()
        values = obs.values[here].astype(np.float64)
        if self.standardizes:
            values = (values - self.units.level[where[:, 1]]) / self.units.scale[where[:, 1]]
        where[:, 1] = self.index[where[:, 1]]
        names = [c.name for c in self.columns if c.is_data]
        positions = None if obs.positions is None else (obs.positions[0], None)
        return Observations(
            shape=(obs.shape[0], len(names)),
            indices=where,
            values=values,
            weights=None if obs.weights is None else obs.weights[here],
            dims=obs.dims,
            source=LabelledSource(np.empty((0, 0)), np.empty((0, 0), dtype=bool), labels={obs.dims[1]: names}),
            positions=positions if positions is None or positions[0] is not None else None,
            unordered=obs.unordered,
            features=obs.features,
            periods=obs.periods,
        )

    def inverse_transform(self, done: Completion, obs: Observations) -> Completion:
        """The completion of `transform(obs)` as that of `obs`."""
        low, high = np.array([(max(c.low, c.floor), c.high) for c in self.columns]).T
        bars, done = done.bars, self._not_worse_than_means(done)
        if bars is not None:
            bars = replace(bars, half=bars.half[:, self.index] * self.units.scale)
        return replace(
            done,
            observations=obs,
            answer=InUnits(done.answer, self.units, self.index, low, high),
            facts=done.facts if done.facts is None or not self.standardizes else compute_facts(obs),
            error_units=self._error_units(done.error_units),
            bars=bars,
            problem=None if self.standardizes or len(set(self.index)) < len(self.index) else done.problem,
            columns=self.columns,
        )

    def _not_worse_than_means(self, done: Completion) -> Completion:
        """The column means instead of an answer that is hardly better on the held-out entries of all columns."""
        if not done.by_column or not self.standardizes or done.bars is not None:
            return done
        error, means = mean_error(done.by_column)
        if error < (1 - LEAST_GAIN) * means:
            return done
        return replace(
            done,
            answer=Filled(np.zeros(done.observations.shape)),
            error=means,
            by_column=tuple(replace(c, error=c.means) for c in done.by_column),
            tried=tuple(replace(row, weight=0.0) for row in done.tried),
            settings={**done.settings, "candidate": COLUMN_MEANS},
        )

    def _error_units(self, units: Units | None) -> Units | None:
        """What errors are measured by, of every column."""
        if self.standardizes:
            return replace(self.units, scale=np.where(self.units.scale > 0, self.units.scale, 1.0))
        if units is None or units.mode != 1:
            return units
        return replace(units, level=units.level[self.index], scale=units.scale[self.index])
