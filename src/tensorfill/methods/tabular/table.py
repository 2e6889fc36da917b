"""What methods for tables share: modes that are its columns, standardised, and rows of which nothing is known."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.data.unfolding import join_dims, refold_modes, unfold_modes, unfoldings
from tensorfill.methods.base import Method, Run
from tensorfill.methods.tabular.means import means_table
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.typing import Array


@dataclass(frozen=True)
class TableMethod(Method):
    """Data as a matrix, (rows, columns): its gaps are filled by `fill`, in columns of mean 0 and standard deviation 1.

    Parameters
    ----------
    columns : the mode whose slices are the columns of the table, or several, by number or name; None: the last
    """

    columns: int | str | tuple[int | str, ...] | None = None
    dim: str = ""

    competes = True
    suited: ClassVar[str]  # sizes of the tables that it is for, in words

    @abstractmethod
    def fits(self, rows: float, columns: int) -> bool:
        """Is it for tables of this size?"""

    @abstractmethod
    def fill(self, X: Array, obs: Observations, run: Run) -> Array:
        """Return X (rows, columns), NaN = missing, without gaps. What it says of rows that are all NaN is not used."""

    def suits(self, facts: Facts) -> str | None:
        if not facts.dense:
            return "the tensor is too large to hold every entry"
        return None if self.tables(facts) else f"not a table of {self.suited}"

    def tables(self, facts: Facts) -> list[tuple[int, ...]]:
        """Ways to read the data as a table that it is for: the modes that are the columns."""
        counts = {way: int(np.prod([facts.shape[n] for n in way])) for way in unfoldings(facts.shape)}
        return [way for way, columns in counts.items() if self.fits(facts.size / columns, columns)]

    def readings(self, facts: Facts) -> Generator[Method, float, Self | None]:
        """Yield a variant for each of the tables; return the best of them."""
        best, least = None, np.inf
        for columns in self.tables(facts):
            now = self.reading(columns, facts)
            loss = yield now
            if loss < least:
                best, least = now, loss
        return best

    def fit(self, obs: Observations, run: Run) -> Completion:
        columns = self.column_modes(obs)
        X, level, scale = standardise(unfold_modes(obs.dense(dtype=np.float64), columns))
        filled = self.fill(X, obs, run) * scale + level
        blank = np.isnan(X).all(axis=1)  # the rest of the row is all there is to go by
        if blank.any():
            filled[blank] = means_table(obs, run, columns)[blank]
        return self.completion(obs, run, Filled(refold_modes(filled, obs.shape, columns)), settings=self.settings())

    def column_modes(self, obs: Observations) -> tuple[int, ...]:
        """The numbers of the modes that are the columns."""
        given = obs.ndim - 1 if self.columns is None else self.columns
        modes = tuple(obs.mode(n) for n in (given if isinstance(given, tuple | list) else (given,)))
        if not modes:
            msg = f"columns of method {self.name!r} must name at least one mode; got {given!r}."
            raise ValueError(msg)
        return modes

    def column_count(self, facts: Facts) -> int:
        """Number of columns: of variants, whose modes are numbers; of the last mode otherwise."""
        modes = self.columns if isinstance(self.columns, tuple) else (-1,)
        return int(np.prod([facts.shape[n] for n in modes if isinstance(n, int)]))

    def reading(self, columns: tuple[int, ...], facts: Facts) -> Self:
        """The same with these modes as its columns."""
        return replace(self, columns=columns, dim=join_dims([m.dim for m in facts.modes], columns))

    @property
    def label(self) -> str:
        return f"{self.name} of {self.dim}" if self.dim else self.name


def standardise(X: Array) -> tuple[Array, Array, Array]:
    """Columns of X (k, p), NaN = missing, centred and scaled: (X, level (p,), scale (p,))."""
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    T = np.where(known, X, 0.0)
    level = T.sum(axis=0) / count
    level = np.where(known.any(axis=0), level, level[known.any(axis=0)].mean())
    scale = np.sqrt((np.where(known, X - level, 0.0) ** 2).sum(axis=0) / count)
    scale = np.where(scale > 0, scale, 1.0)
    return (X - level) / scale, level, scale
