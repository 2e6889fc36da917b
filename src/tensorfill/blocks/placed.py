"""Placed: a factor whose rows are stored with the blocks that own them, for a mode too long for one machine's memory.

Solvers treat it as an array: what they do entry by entry is done where the rows are. `np.asarray` fetches all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tensorfill.blocks.base import Block, Partitions, Work
from tensorfill.typing import Array


@dataclass(frozen=True, eq=False)
class Placed(NDArrayOperatorsMixin):
    """An array (I, R) in parts, one with each block along `mode`; `parts` are their handles."""

    partitions: Partitions = field(repr=False)
    mode: int
    parts: Sequence[Any] = field(repr=False)
    columns: int
    dtype: Any = np.dtype(np.float64)  # noqa: RUF009  # dtypes do not change

    @staticmethod
    def of(partitions: Partitions, mode: int, A: Array) -> Placed:
        """The rows of A (I, R), each sent to its block."""
        return Placed(partitions, mode, partitions.place(mode, A), A.shape[1], A.dtype)

    @staticmethod
    def start(partitions: Partitions, mode: int, usual: Array, rows: Array, own: Array) -> Placed:
        """`usual` (R,) in every row, save that `rows` have their `own` (len(rows), R)."""
        _, parts = partitions.gather(first_rows, (usual, rows, own), mode, keep=True)
        return Placed(partitions, mode, partitions.secure(parts), len(usual))

    @property
    def shape(self) -> tuple[int, int]:
        return self.partitions.shape[self.mode], self.columns

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.concatenate(self.partitions.fetch(self.parts)).astype(dtype or self.dtype, copy=False)

    def map_rows(self, work: Work, shared: Any, *others: Placed) -> Self:
        """The same rows after `work`, whose `own` is a tuple of the parts of this and the others."""
        own = list(zip(self.parts, *(o.parts for o in others), strict=True))
        return replace(self, parts=self.partitions.gather(work, shared, self.mode, own, keep=True)[1])

    def total(self, work: Work, shared: Any = None) -> Any:
        """The sum of the first results of `work`."""
        own = [(part,) for part in self.parts]
        return self.partitions.gather(work, shared, self.mode, own)[0]

    def secure(self) -> Self:
        """The same, in more than one place where there are several."""
        return replace(self, parts=self.partitions.secure(self.parts))

    # --- as an array ----------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        if method != "__call__" or settings:
            return NotImplemented
        there = [
            Placed.of(self.partitions, self.mode, x) if isinstance(x, np.ndarray) and x.shape == self.shape else x
            for x in inputs
        ]
        rows = [x for x in there if isinstance(x, Placed)]
        rest = [None if isinstance(x, Placed) else x for x in there]
        few = ufunc(*(np.ones((1, self.columns), x.dtype) if isinstance(x, Placed) else x for x in there))
        return replace(rows[0].map_rows(entry_by_entry, (ufunc, rest), *rows[1:]), dtype=few.dtype)

    def clip(self, low: float, high: float, out: None = None) -> Placed:
        """Between two ends."""
        if not (np.isfinite(low) or np.isfinite(high)):
            return self
        return np.minimum(np.maximum(self, low), high)  # type: ignore[return-value]  # it answers for itself

    def astype(self, dtype: Any) -> Placed:
        """In another precision."""
        return self if self.dtype == dtype else replace(self.map_rows(cast, np.dtype(dtype)), dtype=np.dtype(dtype))

    def all(self) -> bool:
        """Is every entry true?"""
        return self.total(count_false) == 0

    def squares(self) -> Array:
        """Sums of squares of the columns, (R,)."""
        return self.total(column_squares)

    def at_mean(self, unseen: int) -> Placed:
        """The same with its `unseen` rows, those without an observation, at the mean of the others."""
        mean = self.total(sum_seen) / max(len(self) - unseen, 1)
        return self.map_rows(replace_unseen, mean)


def first_rows(block: Block, shared: tuple[Array, Array, Array], own: None) -> tuple[None, Array]:
    """(nothing, the rows of the block at a start)."""
    usual, rows, values = shared
    out = np.tile(usual, (len(block.starts) - 1, 1))
    inside = (rows >= block.rows.start) & (rows < block.rows.stop)
    out[rows[inside] - block.first] = values[inside]
    return None, out


def entry_by_entry(block: Block, shared: tuple[Any, Sequence[Any]], own: Sequence[Array]) -> tuple[None, Array]:
    """(nothing, a ufunc of the parts in place of None among its inputs)."""
    ufunc, inputs = shared
    rows = iter(own)
    return None, ufunc(*(next(rows) if x is None else x for x in inputs))


def cast(block: Block, dtype: Any, own: Sequence[Array]) -> tuple[None, Array]:
    """(nothing, the rows in another precision)."""
    return None, own[0].astype(dtype)


def count_false(block: Block, shared: None, own: Sequence[Array]) -> tuple[int, None]:
    """(how many are false, nothing)."""
    return int(np.size(own[0]) - np.count_nonzero(own[0])), None


def column_squares(block: Block, shared: None, own: Sequence[Array]) -> tuple[Array, None]:
    """(sums of squares of the columns, nothing)."""
    A = own[0].astype(np.float64, copy=False)
    return np.einsum("ir,ir->r", A, A), None


def sum_seen(block: Block, shared: None, own: Sequence[Array]) -> tuple[Array, None]:
    """(the sum of the rows that have observations, nothing)."""
    return own[0][np.diff(block.starts) > 0].sum(axis=0), None


def replace_unseen(block: Block, row: Array, own: Sequence[Array]) -> tuple[None, Array]:
    """(nothing, the rows, those without observations replaced)."""
    return None, np.where((np.diff(block.starts) > 0)[:, None], own[0], row)
