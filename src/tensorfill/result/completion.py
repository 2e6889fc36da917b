"""Completion: the result of a run, whichever method made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensorfill.data.columns import ColumnFacts
from tensorfill.data.facts import Facts, kind_of_numbers
from tensorfill.data.labels import coordinates_of
from tensorfill.data.observations import Observations
from tensorfill.data.sources import ArraySource, EncodedSource, encoded_source
from tensorfill.data.units import Units
from tensorfill.models import Model
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors, Filled, draws_of, factors_of
from tensorfill.result.disk import load, save
from tensorfill.result.exported import Exports
from tensorfill.result.intervals import bounds, fill_missing
from tensorfill.result.packing import Answer, Draws
from tensorfill.result.quality import quality
from tensorfill.result.record import Bars, ColumnError, History, Leaderboard, LeaderboardRow, Status
from tensorfill.result.rows import RowModel, extend
from tensorfill.result.top import Top, top
from tensorfill.result.transformed import Refolded, unfold
from tensorfill.typing import Array

AT_ONCE = 2**20  # coordinates that `at` serves at a time: each needs a row of every factor in memory


@dataclass(frozen=True, eq=False, repr=False)
class Completion(Exports):
    """A completed tensor, and how it came about.

    Attributes
    ----------
    observations : what was known
    method : the recipe that ran
    status : why it stopped; `status.sentence` says it in words
    history : objective and held-out error over the iterations
    answer : what was found: predictions at any coordinates, see `result.answer`
    problem : what was minimised, in the units of the fit; None where nothing was, and in a run read from a file
    settings : what made this result, JSON-able; for information, no code depends on it
    facts : properties of the observations (kind of numbers, smooth modes, gaps), where the method measured them
    tried : the leaderboard of methods, best first, where there was a contest
    held_out : mean loss on validation entries, observed ones hidden from the fit; NaN if none were
    error : root mean square error on such entries, in the unit of the data or in `error_units`; NaN if none were
    by_gap : {kind of gap: the same error for it}
    error_units : what errors are measured by, where slices have units of their own; else None
    bars : error bars, where they were asked for; see `interval`
    unfilled : True where a gap has no value in `completed`, full shape: longer than `max_gap`, or in a cell without a
        value at any time; None for nowhere
    columns, by_column : facts of every column, and its errors, where the data are a table
    took : seconds, with everything that was tried on the way
    """

    observations: Observations
    method: str
    status: Status
    history: History
    answer: Answer
    settings: Mapping[str, Any] = field(default_factory=dict)
    problem: Problem | None = None
    facts: Facts | None = None
    tried: tuple[LeaderboardRow, ...] = Leaderboard()
    held_out: float = np.nan
    error: float = np.nan
    by_gap: Mapping[str, float] = field(default_factory=dict)
    error_units: Units | None = None
    bars: Bars | None = None
    unfilled: Array | None = None
    columns: tuple[ColumnFacts, ...] = ()
    by_column: tuple[ColumnError, ...] = ()
    took: float = np.nan

    @cached_property
    def full(self) -> Array:
        """The model's mean at every entry, observed or not, as a plain array: full shape, float."""
        self.observations.refuse_huge("the estimate")
        return self.answer.full()

    @property
    def estimate(self) -> Any:
        """The model's mean at every entry, observed or not: floats, in the type of the input."""
        return self._like_input(self.full)

    def _like_input(self, array: Array) -> Any:
        source: Any = self.observations.source
        return array if source is None else source.wrap(array)

    @cached_property
    def completed(self) -> Any:
        """The input with its gaps filled, Eq. 3 (tstar), Eq. 9, in its own type; observed entries bit for bit. Yes
        and no (1 and 0) stay yes and no, by what is likelier: the probabilities are in `estimate`. Of a table, columns
        of whole numbers get whole numbers.
        """
        obs = self.observations
        filled = self.full
        if self.columns:
            latent = getattr(obs.source, "latent", ())
            whole = [n for n, c in enumerate(self.columns) if c.step == 1 and c.name not in latent]
            filled = np.array(filled)
            filled[:, whole] = np.rint(filled[:, whole])
        elif kind_of_numbers(obs.values) == "yes/no":
            filled = np.rint(np.clip(filled, 0, 1))
        if obs.source is not None:
            return obs.source.fill(filled, self.unfilled)
        out = np.array(filled, dtype=obs.values.dtype)
        obs.paste(out)
        return out if self.unfilled is None else ArraySource(out, ~self.unfilled).fill(out, self.unfilled)

    def probabilities(self, column: Any) -> Any:
        """Of every level of a category, normalised: a table with a row for each row and a column for each level."""
        source = encoded_source(self.observations.source)
        if not isinstance(source, EncodedSource):
            msg = f"probabilities are of a column of text or categories in a pandas table; got {column!r} of none."
            raise ValueError(msg)
        return source.probabilities(self.full, column)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """`completed` as a plain array: numpy.asarray(done). Whole numbers become floats, with NaN, where gaps stay."""
        done = self.completed
        if not isinstance(done, np.ma.MaskedArray) or not np.ma.is_masked(done):
            return np.array(done, dtype=dtype)
        wanted = np.dtype(np.float64 if dtype is None else dtype)
        if wanted.kind not in "fc":
            msg = (
                f"gaps that stay have no value of type {wanted}. Take floats, or done.completed, where they are masked."
            )
            raise ValueError(msg)
        return np.ma.filled(done.astype(wanted), np.nan)

    @cached_property
    def row_model(self) -> RowModel:
        """What fills rows that arrive later; made when it is first asked for."""
        return RowModel.of(self)

    def extend(self, new_rows: Any) -> Completion:
        """Fill rows that arrive later, by what this run found, without another fit: a table with the same columns, an
        array, or a long table of new labels along the first dimension. Returns a Completion of these rows.
        """
        return extend(self, new_rows)

    def unfolded(self, obs: Observations, mode: int, codes: Array) -> Completion:
        """The same run, of data that were folded along `mode` for it: an answer for `obs`, as they were before."""
        bars = None if self.bars is None else replace(self.bars, half=unfold(self.bars.half, mode, codes))
        answer = Refolded(self.answer, mode, codes)
        return replace(self, observations=obs, answer=answer, bars=bars, problem=None, error_units=None)

    def with_factors(self, factors: Sequence[Array]) -> Completion:
        """The same run with other factors."""
        found = self._factors()
        return replace(self, answer=replace(found, model=found.model.with_parameters(factors)))

    def with_estimate(self, X: Array) -> Completion:
        """The same run with its estimate refined to X, full shape; the factors stay those of the fit behind it."""
        return replace(self, answer=Filled(X, factors_of(self.answer)))

    def at(self, indices: Any, *, known: bool = False) -> Array:
        """The estimate at the coordinates (k, N), without forming the whole tensor: (k,). Of data with labels also by
        them, one column for each dimension: a table, or {"user": [...], "item": [...]}. `known`: what is known comes
        back as it was given, as in `completed`.
        """
        obs = self.observations
        where = coordinates_of(obs, indices)
        parts = [where[k : k + AT_ONCE] for k in range(0, len(where), AT_ONCE)] or [where]
        out = np.concatenate([self.answer.at(part) for part in parts])
        if not known:
            return out
        given = np.concatenate([obs.at(part) for part in parts])
        return np.where(np.isnan(given), out, given)

    def top(self, k: int, mode: int | str, *, at: ArrayLike | None = None, new: bool | None = None) -> Top:
        """Of every row the k entries along `mode` with the largest estimate: done.top(10, mode="item") for each user.

        at : which rows, their coordinates along all other modes, (rows, N - 1); of a matrix by default all
        new : leave out what is known? By default where that is there: not in a run on blocks that was read from a file
        """
        return top(self, k, mode, at, new)

    @property
    def interval(self) -> tuple[Any, Any]:
        """(low, high): where the truth lies at `bars.level` of the unknown entries; the known are known. Each end is in
        the type of the input; `bounds` has them as plain arrays.
        """
        low, high = self.bounds
        return self._like_input(low), self._like_input(high)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """(low, high) of `interval` as plain arrays, full shape."""
        return bounds(self)

    def _factors(self) -> Factors:
        found = factors_of(self.answer)
        if found is None:
            msg = f"method {self.method!r} has no factors here: its answer is {_words(self.answer)}; use done.estimate."
            raise AttributeError(msg)
        return found

    # --- draws ----------------------------------------------------------------------------------------------------

    def _draws(self) -> Draws:
        found = draws_of(self.answer)
        if found is None:
            msg = f'this run has no draws: its answer is {_words(self.answer)}. Use complete(T, method="bayes").'
            raise AttributeError(msg)
        return found

    def sample(self, m: int, *, seed: int = 0) -> list[Any]:
        """m completed data sets in the type of the data, for multiple imputation: observed entries as they are, missing
        ones drawn from the posterior, noise included.
        """
        obs, draws = self.observations, self._draws()
        where = np.argwhere(~obs.mask)
        values = draws.sample(m, np.random.default_rng(seed), where)
        return [replace(self, answer=Filled(fill_missing(obs, where, row))).completed for row in values]

    @cached_property
    def std(self) -> Any:
        """Standard deviation of each missing entry by the posterior, noise included; 0 where observed: in the type of
        the input.
        """
        where = np.argwhere(~self.observations.mask)
        return self._like_input(fill_missing(self.observations, where, self._draws().std_at(where), known=0.0))

    @property
    def model(self) -> Model:
        """The low-rank model behind the estimate, in the units of the fit; of a blend that of its heaviest part with
        one, of a posterior its last draw.
        """
        return self._factors().model

    @property
    def factors(self) -> list[Array] | None:
        """Its factors, one matrix (I_n, R) per mode; None where the answer is not one low-rank model. Of other models
        than CP: of every mode that has a parameter, the parameter as a matrix with a row for each index; see `model`.
        """
        try:
            return self.model.by_mode
        except AttributeError:
            return None

    @property
    def prior(self) -> NumericalPrior | None:
        """The numerical prior, or None for methods without one."""
        try:
            return self._factors().prior
        except AttributeError:
            return getattr(self.answer, "prior", None)

    @property
    def units(self) -> Units | None:
        """Units of the fit, where they are not those of the data."""
        return getattr(self.answer, "units", None)

    @property
    def refined(self) -> bool:
        """Was the estimate refined after the fit, so that it is no longer the factors' own?"""
        return isinstance(self.answer, Filled)

    @property
    def rank(self) -> int | tuple[int, ...] | None:
        """Of the model; None where the answer is not one."""
        return None if self.factors is None else self.model.rank

    @property
    def seconds(self) -> float:
        """How long the run took."""
        if np.isfinite(self.took):
            return self.took
        return float(self.history["seconds"][-1]) if len(self.history) else np.nan

    @property
    def iterations(self) -> int:
        """How many iterations the last fit took."""
        return int(self.history["iteration"][-1]) if len(self.history) else 0

    @property
    def quality(self) -> str:
        """How good the fill is, judged on validation entries; empty where there were none."""
        return quality(self)

    # --- disk ---------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write to `path` (npz, no pickle), replacing in one move a run that was saved there."""
        save(self, path)

    @staticmethod
    def load(path: str | Path, *, prior: NumericalPrior | None = None) -> Completion:
        """Read back what `save` wrote; its data are plain arrays, also where they came as a table or with xarray.
        `prior` is needed only when it was a Custom one made from a function.
        """
        return load(Completion, path, prior)


def _words(answer: Answer) -> str:
    """What kind of answer it is."""
    inner = getattr(answer, "inner", None)
    if inner is not None:  # in another unit, or folded by a period: what it is of
        return _words(inner)
    kinds = {"dense": "an array", "blend": "an ensemble of methods", "factors": "one fit of a low-rank model"}
    return kinds.get(answer.kind, f"of kind {answer.kind!r}")
