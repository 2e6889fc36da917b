"""How a run ended and how it got there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.facts import TWO_ENDS, kind_of_numbers
from tensorfill.numerical.base import Interval


class Status(Enum):
    """Why a run stopped; each with its sentence."""

    CONVERGED = "Converged: the objective stopped changing."
    HELD_OUT = "Stopped: the error on held-out entries no longer fell; the best model was kept."
    FINISHED = "Finished."
    SCHEDULE = "Its schedule ended while the objective was still falling; give it more steps, or use lbfgsb."
    NOTHING_MISSING = "Nothing was missing: the data are returned as they are."
    ITERATIONS = "Stopped at the iteration limit before converging; raise max_iter for more."
    TIME = "Stopped at the time limit; this is the best model so far."
    INTERRUPTED = "Interrupted; this is the best model so far."
    CALLBACK = "Stopped by the callback."
    NONFINITE = "A step gave infinite or undefined numbers; the last good model was kept."
    COLLAPSED = 'The step size was too large and the model collapsed to zero. Lower alpha, or use alpha="auto".'

    @property
    def sentence(self) -> str:
        return self.value

    @property
    def ok(self) -> bool:
        """Did the run end as intended?"""
        return self in (
            Status.CONVERGED,
            Status.HELD_OUT,
            Status.FINISHED,
            Status.SCHEDULE,
            Status.CALLBACK,
            Status.NOTHING_MISSING,
        )

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, eq=False)
class Bars:
    """Error bars: the truth lies within `half` (full shape, 0 where observed) of the estimate at `level` of the unknown
    entries.
    """

    level: float
    half: NDArray[Any]

    def around(
        self, middle: NDArray[Any], ends: tuple[float, float] = (-np.inf, np.inf)
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """(low, high) around `middle`, all full shape, inside `ends` (see `limits`) as far as `middle` is."""
        low, high = np.clip(middle - self.half, *ends), np.clip(middle + self.half, *ends)
        return np.minimum(low, middle), np.maximum(high, middle)


def limits(values: NDArray[Any], domain: Interval | None = None) -> tuple[float, float]:
    """(low, high) that numbers like the observed `values` (nnz,) keep to: what `domain`, that of the prior, allows,
    both ends of a scale (yes/no, stars), and the side of 0 on which all of them lie. Counts and lengths have no
    interval below 0, whichever method ran.
    """
    least, most = float(values.min()), float(values.max())
    low = 0.0 if least >= 0 and most > 0 else -np.inf
    high = 0.0 if most <= 0 and least < 0 else np.inf
    if kind_of_numbers(values) in TWO_ENDS:
        low, high = least, most
    return (low, high) if domain is None else (max(low, domain.low), min(high, domain.high))


@dataclass(frozen=True)
class LeaderboardRow:
    """A line of the leaderboard: how a candidate did on held-out entries, and its part in the answer.

    Attributes
    ----------
    name : of the candidate, with what sets this variant apart
    error : root mean square error on held-out entries
    standard_error : of `error`
    seconds : that its fits took
    weight : in the answer, 0 to 1
    note : why it was left out or ended early; empty otherwise
    method : name of the method that it is a variant of
    """

    name: str
    error: float
    standard_error: float
    seconds: float
    weight: float = 0.0
    note: str = ""
    method: str = ""

    @property
    def measured(self) -> str:
        """`0.558 ± 0.03`; empty where it has no error."""
        return f"{self.error:.3g} ± {float(f'{self.standard_error:.1g}'):g}" if np.isfinite(self.error) else ""


class Leaderboard(tuple[LeaderboardRow, ...]):
    """The rows of a contest, best first. It prints as a table, and pandas.DataFrame(done.tried) makes one."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [(row.name, row.measured, f"{row.weight:.0%}" if row.weight else "", row.note) for row in self]
        rows.insert(0, ("method", "error", "weight", "note"))
        widths = [max(len(row[n]) for row in rows) for n in range(3)]
        texts = ("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]) for row in rows)
        return "\n".join(text.rstrip() for text in texts)


COLUMN_MEANS = "column means"  # what the answer is called where nothing was better


@dataclass(frozen=True)
class ColumnError:
    """How good the answer is for one column: root mean square errors in its standard deviations (SD), on held-out
    entries; NaN where none were of it.

    Attributes
    ----------
    name : of the column
    error : of the answer
    means : of the mean of the column, at the same entries
    entries : how many these are
    """

    name: str
    error: float
    means: float
    entries: int

    def __str__(self) -> str:
        return f"{self.name}: {self.error:.2g} SD (column mean: {self.means:.2g} SD)"


def mean_error(columns: Sequence[ColumnError]) -> tuple[float, float]:
    """(error, error of the column means) over all columns, in standard deviations."""
    known = [c for c in columns if c.entries]
    count = sum(c.entries for c in known)
    squares = [sum(c.entries * getattr(c, which) ** 2 for c in known) for which in ("error", "means")]
    return (squares[0] / count) ** 0.5, (squares[1] / count) ** 0.5


@dataclass(frozen=True)
class Row:
    """One recorded iteration."""

    iteration: int
    seconds: float
    value: float
    held_out: float = np.nan


@dataclass(frozen=True)
class History:
    """The recorded iterations, oldest first; columns as arrays: `history["value"]`."""

    rows: tuple[Row, ...] = ()

    def __getitem__(self, column: str) -> NDArray[Any]:
        names = [f.name for f in fields(Row)]
        if not isinstance(column, str) or column not in names:
            msg = f"a column of the history must be one of {', '.join(names)}; got {column!r}."
            raise ValueError(msg)
        return np.array([getattr(row, column) for row in self.rows])

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)
