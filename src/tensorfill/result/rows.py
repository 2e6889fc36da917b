"""Rows that arrive later, filled by a model of the completed table: nothing is fitted again.

What a run found is all that is needed: its completed table says how columns hang together. Two models of it are made
when they are first asked for: the normal distribution of its rows (regression of what a row lacks on what it knows,
whichever that is), and trees on every column. They are mixed as comes nearest to the run's own answers in its gaps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.io.newrows import observe_rows
from tensorfill.models.forest import Forest, evidence
from tensorfill.models.normal import Normal
from tensorfill.result.answer import Filled
from tensorfill.result.intervals import ends
from tensorfill.result.record import History
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion


MOST_COLUMNS = 250  # of which the covariance is taken whole; of more, that of the leading components
COMPONENTS = 50
TREES = 50
TREE_COLUMNS, TREE_ROWS, FEWEST_ROWS = 60, 20_000, 40  # tables on which trees are grown
MOST_ROWS, ROUNDS = 2000, 4  # of EM, which starts near its end


@dataclass(frozen=True, eq=False)
class RowModel:
    """What fills new rows of the table that a run completed; rows are (I_2 ... I_N,) numbers, NaN = missing.

    Attributes
    ----------
    table : (n, p), completed
    known : (n, p), True = observed
    estimate : (n, p), by the run, everywhere
    grown : {column: its trees}, of the columns that were asked for so far
    """

    table: Array
    known: NDArray[np.bool_]
    estimate: Array
    grown: dict[int, Forest] = field(default_factory=dict)

    @classmethod
    def of(cls, done: Completion) -> RowModel:
        """From a run on data that fit into memory."""
        obs, X = done.observations, np.array(done.full, dtype=np.float64)
        table = X.copy()
        obs.paste(table)
        n = len(X)
        return cls(table.reshape(n, -1), obs.mask.reshape(n, -1), X.reshape(n, -1))

    def fill(self, rows: Array) -> Array:
        """Rows (k, p) with NaN filled, as far as there is a column to learn from. None depends on those beside it."""
        gaps, out = np.isnan(rows) & self.used, np.array(rows, dtype=np.float64)
        some = gaps.any(axis=1)
        if not some.any():
            return out
        Z = np.where(self.used, (out[some] - self.level) / self.scale, np.nan)
        filled = self.normal.fill(Z)
        if self.tree_weight > 0:
            filled += self.tree_weight * (self._by_trees(filled, np.flatnonzero(gaps.any(axis=0))) - filled)
        spread = np.where(self.constant, 0.0, self.scale)
        out[gaps] = (filled * spread + self.level)[gaps[some]]
        return out

    # --- parts ----------------------------------------------------------------------------------------------------

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Which columns have a value everywhere, (p,)."""
        return np.asarray(np.isfinite(self.table).all(axis=0))

    @cached_property
    def level(self) -> Array:
        """Mean of each column."""
        return np.where(self.used, self.table.mean(axis=0), 0.0)

    @cached_property
    def constant(self) -> NDArray[np.bool_]:
        """Which columns do not vary, or are not used, (p,)."""
        return ~self.used | (np.ptp(self.table, axis=0) == 0)

    @cached_property
    def scale(self) -> Array:
        """Standard deviation of each column, 1 of a constant one."""
        return np.where(self.constant, 1.0, self.table.std(axis=0))

    @cached_property
    def normal(self) -> Normal | Components:
        """The distribution of standardised rows; columns that do not vary are independent of all others."""
        Z = np.where(self.used, (self.table - self.level) / self.scale, 0.0)
        if Z.shape[1] > MOST_COLUMNS:
            off = np.where(self.known & self.used, (self.table - self.estimate) / self.scale, 0.0)
            count = np.maximum(self.known.sum(axis=0), 1)
            # what is filled varies less than what it stands for: by as much as the run is off where something is known
            return Components.of(Z, np.minimum((off**2).sum(axis=0) / count, 1.0) * (1 - count / len(Z)))
        columns, now = np.flatnonzero(~self.constant), Normal.standard(Z.shape[1])
        if not len(columns):
            return now
        from sklearn.covariance import ledoit_wolf_shrinkage  # slow to import

        Z, known = Z[:, columns], self.known[:, columns]
        some = np.linspace(0, len(Z) - 1, min(len(Z), MOST_ROWS)).astype(int)  # they tell as much as all
        shrink = float(ledoit_wolf_shrinkage(Z))
        start = Normal(np.zeros(len(columns)), (1 - shrink) * (Z.T @ Z) / len(Z) + shrink * np.eye(len(columns)))
        # what is filled varies less than what it stands for, which EM knows
        found = start.fit(np.where(known, Z, np.nan)[some], shrink, rounds=ROUNDS)
        now.mean[columns], now.S[np.ix_(columns, columns)] = found.mean, found.S
        return now

    @cached_property
    def rows(self) -> tuple[Array, Array]:
        """The standardised rows (n, p) of the table with its gaps, and filled as new ones are before any tree."""
        Z = np.where(self.known & self.used, (self.table - self.level) / self.scale, np.nan)
        return Z, self.normal.fill(Z)

    @cached_property
    def others(self) -> dict[int, Array]:
        """{column that trees predict: the columns that they know}."""
        columns = np.flatnonzero(~self.constant)
        if len(columns) > TREE_COLUMNS or len(columns) < 2 or not FEWEST_ROWS <= len(self.table) <= TREE_ROWS:
            return {}
        enough = self.known[:, columns].sum(axis=0) >= FEWEST_ROWS
        from_ = evidence(self.known[:, columns])
        return {int(n): columns[at] for n, at, some in zip(columns, from_, enough, strict=True) if some}

    def _forest(self, n: int) -> Forest:
        """The trees of a column, grown when they are first asked for."""
        if n not in self.grown:
            (Z, filled), here = self.rows, self.known[:, n]
            self.grown[n] = Forest.grow(filled[np.ix_(here, self.others[n])], Z[here, n], TREES, n)
        return self.grown[n]

    @cached_property
    def tree_weight(self) -> float:
        """The share of the trees that comes nearest to the run's own answers in the gaps of its table, 0 to 1."""
        at = np.flatnonzero((~self.known & self.used).any(axis=1))[:200]
        if not len(at) or not self.others:
            return 0.0
        gaps, first = (~self.known & self.used)[at], self.rows[1][at]
        second = self._by_trees(first, np.flatnonzero(gaps.any(axis=0)))
        target = ((self.estimate - self.level) / self.scale)[at]
        ahead, wanted = (second - first)[gaps], (target - first)[gaps]
        return float(np.clip((ahead @ wanted) / max(float(ahead @ ahead), 1e-300), 0.0, 1.0))

    def _by_trees(self, filled: Array, columns: Array) -> Array:
        """Standardised rows (k, p) without gaps, the columns of these numbers predicted from the others."""
        out = filled.copy()
        for n in columns.tolist():
            if n in self.others:
                out[:, n] = self._forest(n).predict(filled[:, self.others[n]])
        return out


class LowRankRows(RowModel):
    """The same for a run whose estimate is of low rank: a new row lies where the rows of the estimate do, and is as far
    off as known entries are.
    """

    tree_weight = 0.0

    @cached_property
    def level(self) -> Array:
        return self.estimate.mean(axis=0)

    @cached_property
    def normal(self) -> Components:
        X = (self.estimate - self.level) / self.scale
        _, s, Vt = np.linalg.svd(X, full_matrices=False)
        count = min(COMPONENTS, np.count_nonzero(s > 1e-8 * s[0]))
        noise = np.mean(((self.table - self.estimate) / self.scale)[self.known] ** 2)
        B = (Vt[:count].T * s[:count]) / np.sqrt(len(X))
        return Components(B, np.full(len(B), max(noise, 1e-12 * X.var(), np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class Components:
    """Rows z = B s + noise with s standard normal; B (p, r), `noise` (p,) is its variance."""

    B: Array
    noise: Array

    @classmethod
    def of(cls, Z: Array, lost: Array) -> Components:
        """The leading components of standardised rows (n, p); `lost` (p,) is variance that they lack."""
        _, s, Vt = np.linalg.svd(Z, full_matrices=False)
        B = (Vt[:COMPONENTS].T * s[:COMPONENTS]) / np.sqrt(len(Z))
        return cls(B, np.maximum(np.maximum(Z.var(axis=0) - (B**2).sum(axis=1), 0.0) + lost, 1e-6))

    def fill(self, Z: Array) -> Array:
        """Rows (k, p) with NaN replaced by their means given the rest; each by itself, to the bit."""
        out = np.array(Z)
        for z, known in zip(out, ~np.isnan(Z), strict=True):
            weighted = self.B[known].T / self.noise[known]
            s = np.linalg.solve(weighted @ self.B[known] + np.eye(self.B.shape[1]), weighted @ z[known])
            z[~known] = self.B[~known] @ s
        return out


def extend(done: Completion, new: Any) -> Completion:
    """The run's answer for rows that arrive later; see `Completion.extend`."""
    began = perf_counter()
    obs = observe_rows(done.observations, new, [c.name for c in done.columns])
    rows = obs.dense(dtype=np.float64).reshape(obs.shape[0], -1)
    X = done.row_model.fill(rows)
    for n, column in enumerate(done.columns):
        if column.copy_of is not None:  # it is what the other column is, where that is known
            other = X[:, column.copy_of]
            X[:, n] = np.where(np.isnan(rows[:, n]), other, X[:, n])
    low, high = ends(done)
    X = np.where(np.isnan(rows), np.clip(X.reshape(obs.shape), low, high).reshape(rows.shape), rows)
    return replace(
        done,
        observations=obs,
        answer=Filled(X.reshape(obs.shape)),
        history=History(),
        problem=None,
        facts=None,
        bars=None,
        unfilled=None,
        took=perf_counter() - began,
    )
