"""The best k of every row: which entries along a mode the model puts highest, without forming the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tensorfill.blocks import Sample
from tensorfill.blocks.base import entries_in_rows
from tensorfill.data.coordinates import check_inside
from tensorfill.data.labels import axis_labels
from tensorfill.models import CP
from tensorfill.result.answer import Factors
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion


CHUNK = 2**23  # entries at a time


class Top(NamedTuple):
    """Of every row the k entries with the largest estimate, best first.

    indices, values : (rows, k); where a row has fewer than k to choose from, index -1 and NaN
    labels : as `indices`, where the mode has labels; None where it has none
    rows : {dimension: labels or indices of each row along it}
    mode : the name of the mode
    """

    indices: Array
    values: Array
    labels: Array | None
    rows: dict[str, Array]
    mode: str

    def __repr__(self) -> str:
        return str(self.to_frame())

    def to_frame(self) -> Any:
        """A pandas table with a row for each entry: names along every dimension, place (1 is best) and estimate."""
        import pandas as pd

        there, k = self.indices.ravel() >= 0, self.indices.shape[1]
        names = self.indices if self.labels is None else self.labels
        columns = {dim: np.repeat(row, k)[there] for dim, row in self.rows.items()}
        place = np.tile(np.arange(1, k + 1), len(self.indices))[there]
        best = {"place": place, self.mode: names.ravel()[there], "estimate": self.values.ravel()[there]}
        return pd.DataFrame({**columns, **best})


def top(done: Completion, k: int, mode: int | str, at: ArrayLike | None, new: bool | None) -> Top:
    """See `Completion.top`."""
    obs = done.observations
    n = obs.mode(mode)
    length = obs.shape[n]
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        msg = f"k must be a whole number >= 1; got {k!r}."
        raise ValueError(msg)
    if new is not None and not isinstance(new, bool):
        msg = f"new must be True, False or None; got {new!r}."
        raise TypeError(msg)
    if new is None:
        new = not isinstance(obs, Sample) or obs.blocks is not None
    k = min(int(k), length)
    rows = _rows(done, n, at)
    indices, values = np.full((len(rows), k), -1), np.full((len(rows), k), np.nan)
    step = max(1, CHUNK // length)
    known = _find_known(done, n, rows) if new else None
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        X = _estimates(done, n, part)
        if known is not None:
            X = np.where(known[start : start + step].toarray(), -np.inf, X)
        best = np.argpartition(-X, k - 1, axis=1)[:, :k]
        value = np.take_along_axis(X, best, axis=1)
        order = np.argsort(-value, axis=1, kind="stable")
        best, value = (np.take_along_axis(a, order, axis=1) for a in (best, value))
        there = value > -np.inf
        indices[start : start + step] = np.where(there, best, -1)
        values[start : start + step] = np.where(there, value, np.nan)
    every = axis_labels(obs)
    labels, named = every.get(obs.dims[n]), None
    if labels is not None:
        named = np.asarray(labels)[indices]
        named = np.where(indices >= 0, named.astype(object), None)
    others = [d for m, d in enumerate(obs.dims) if m != n]
    where = {d: np.asarray(every[d])[i] if d in every else i for d, i in zip(others, rows.T, strict=True)}
    return Top(indices, values, named, where, obs.dims[n])


def _rows(done: Completion, n: int, at: ArrayLike | None) -> Array:
    """Coordinates (rows, N - 1) along all other modes: those given, or of a matrix all."""
    obs = done.observations
    others = [m for m in range(obs.ndim) if m != n]
    if at is None:
        if obs.ndim > 2:
            names = ", ".join(obs.dims[m] for m in others)
            msg = f"top needs to know the rows: give their coordinates along {names}, at=(rows, {len(others)})."
            raise ValueError(msg)
        return np.arange(obs.shape[others[0]])[:, None]
    rows = np.asarray(at)
    rows = rows[:, None] if rows.ndim == 1 and len(others) == 1 else np.atleast_2d(rows)
    lengths = tuple(obs.shape[m] for m in others)
    if rows.ndim != 2 or rows.shape[1] != len(others) or rows.dtype.kind not in "iu":
        msg = f"at must be whole numbers (rows, {len(others)}), a column for each other mode; got shape {rows.shape}, "
        msg += f"dtype {rows.dtype}."
        raise ValueError(msg)
    check_inside(rows, lengths, "at")
    return rows


def _coordinates(n: int, rows: Array, length: int) -> Array:
    """All entries along mode n of the rows, (rows x length, N)."""
    return np.insert(np.repeat(rows, length, axis=0), n, np.tile(np.arange(length), len(rows)), axis=1)


def _estimates(done: Completion, n: int, rows: Array) -> Array:
    """The estimate at all entries along mode n of these rows (rows, N - 1): (rows, I_n)."""
    answer, length = done.answer, done.observations.shape[n]
    if not (isinstance(answer, Factors) and isinstance(answer.model, CP) and answer.prior.uniform):
        return answer.at(_coordinates(n, rows, length)).reshape(len(rows), length)
    factors = answer.model.factors
    others = [m for m in range(len(factors)) if m != n]
    B = np.ones((len(rows), factors[n].shape[1]))
    for column, m in enumerate(others):
        B *= factors[m][rows[:, column]]
    X = answer.prior.mean(B @ factors[n].T)
    units = answer.units
    if units is None:
        return X
    if units.mode == n:
        return units.level + units.scale * X
    i = rows[:, others.index(units.mode)]
    return units.level[i, None] + units.scale[i, None] * X


def _find_known(done: Completion, n: int, rows: Array) -> Any:
    """What is known along mode n in these rows (rows, N - 1): a sparse matrix (rows, I_n)."""
    from scipy.sparse import csr_array

    obs = done.observations
    different, which = np.unique(rows, axis=0, return_inverse=True)
    if isinstance(obs, Sample):
        row, index = obs.all.known_in(n, different)
    else:
        lengths = tuple(length for m, length in enumerate(obs.shape) if m != n)
        row, index = entries_in_rows(obs.indices, n, different, lengths)
    known = csr_array((np.ones(len(row), dtype=bool), (row, index)), shape=(len(different), obs.shape[n]))
    return known[which.reshape(-1)]
