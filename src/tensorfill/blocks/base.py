"""Partitions: observations in blocks, in memory, on disk or with the workers of a Dask cluster.

Design: whatever is done to all observations is a function of one block; partial results are added in the order of the
blocks. There is one copy of the observations for each mode that is worked on, sorted along it and cut between its rows.
So a block owns some rows of that mode's factor, and only the factors of the other modes are shared by all blocks.
Nothing else in the package knows where a block is stored.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tensorfill.blocks.rows import Rows
from tensorfill.blocks.sample import Sample
from tensorfill.data.coordinates import match_rows
from tensorfill.data.observations import Observations
from tensorfill.typing import Array

BLOCK = 2**22  # observations in a block: 64 MB of a tensor of three modes
# (block, what all blocks share, what this one alone is given) -> (what is added up, what is this block's own)
Work = Callable[["Block", Any, Any], tuple[Any, Any]]


class Sized:
    """Reports how much memory its arrays take, so that a scheduler can move the smaller of two things to the larger."""

    def __sizeof__(self) -> int:
        return 200 + sum(_bytes(value) for value in vars(self).values())


def _bytes(value: Any) -> int:
    if isinstance(value, list | tuple):
        return sum(_bytes(v) for v in value)
    return int(getattr(value, "nbytes", 0))


@dataclass(frozen=True, eq=False)
class Block(Sized):
    """Some observations, sorted along `mode` first: all of the rows first ... first + len(starts) - 2 of it.

    Attributes
    ----------
    indices : (n, N); along `mode` counted from `first`
    values, weights : (n,); weights may be None
    starts : (rows + 1,) where the observations of each row begin
    """

    mode: int
    first: int
    indices: Array
    values: Array
    weights: Array | None
    starts: Array

    @staticmethod
    def of(rows: Rows, mode: int, first: int, last: int) -> Block:
        """From the observations, sorted along `mode`, of its rows first ... last - 1."""
        starts = np.searchsorted(rows.indices[:, mode], np.arange(first, last + 1)).astype(np.int64)
        indices = rows.indices
        if first:
            indices = np.array(indices)
            indices[:, mode] -= first
        return Block(mode, first, indices, rows.values, rows.weights, starts)

    @property
    def data(self) -> Rows:
        """What it holds."""
        return Rows(self.indices, self.values, self.weights)

    @property
    def rows(self) -> slice:
        """Its rows of the factor of `mode`."""
        return slice(self.first, self.first + len(self.starts) - 1)

    def coordinates(self) -> Array:
        """(n, N) in the whole tensor."""
        out = np.array(self.indices)
        out[:, self.mode] += self.first
        return out


@dataclass(frozen=True, eq=False)
class Partitions(ABC):
    """Observations in blocks.

    Attributes
    ----------
    sample : some of them in memory, which knows how many there are, their labels, and how many each slice has
    held : observations that belong to no block, set aside to know when to stop; None for none
    digest : a short name for coordinates, values and weights, in whatever order and home
    size_of_block : observations in a block, about
    shift, spread : the unit of the fit: values go into it as (t - shift) / spread
    threads : for the work on one block; None for as many as pay
    """

    sample: Sample
    held: Observations | None
    digest: str
    size_of_block: int = BLOCK
    shift: float = 0.0
    spread: float = 1.0
    threads: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sample.shape

    @property
    def nnz(self) -> int:
        """Observations in the blocks."""
        return self.sample.nnz - (0 if self.held is None else len(self.held.values))

    @property
    def main(self) -> int:
        """The longest mode: blocks that own its rows send and receive the least."""
        return int(np.argmax(self.shape))

    def edges(self, mode: int) -> list[int]:
        """Where the rows of a mode are cut into blocks: first rows, and the number of rows."""
        return cut_rows(self.sample.counts[mode], self.size_of_block)

    def own(self, mode: int, A: Array) -> list[Array]:
        """The rows of A (I_n, ...) that belong to each block along `mode`."""
        edges = self.edges(mode)
        return [A[a:b] for a, b in itertools.pairwise(edges)]

    def in_units(self, shift: float, spread: float) -> Self:
        """The same observations with values (t - shift) / spread, t being those of the present unit: for priors in
        which zero has no special meaning.
        """
        held = self.held
        if held is not None:
            held = replace(held, values=(held.values.astype(np.float64) - shift) / spread)
        sample = replace(self.sample, values=(self.sample.values.astype(np.float64) - shift) / spread)
        shift, spread = self.shift + self.spread * float(shift), self.spread * float(spread)
        return replace(self, sample=sample, held=held, shift=shift, spread=spread)

    def blocks(self, mode: int) -> Iterator[Block]:
        """The blocks of the copy along `mode`, one after the other."""
        raise NotImplementedError

    def gather(self, work: Work, shared: Any, mode: int, own: Sequence[Any] | None = None) -> tuple[Any, list[Any]]:
        """Call work(block, shared, own[k]) for every block k of the copy along `mode`: (sum of the first results, list
        of the second ones).
        """
        total, parts = None, []
        for k, block in enumerate(self.blocks(mode)):
            summand, part = work(block, shared, None if own is None else own[k])
            total = add(total, summand)
            parts.append(part)
        return total, parts

    @abstractmethod
    def close(self) -> None:
        """Free the memory or disk space of the blocks."""

    @abstractmethod
    def settle(self) -> None:
        """After a fit: keep only the copy that is needed to look up known entries."""

    def entries(self) -> Iterator[tuple[Array, Array]]:
        """(coordinates (n, N), values (n,)) of all that is known, those set aside at the end."""
        yield from self.gather(read_entries, None, self.main)[1]
        if self.held is not None:
            yield self.held.indices, self.held.values

    def known_in(self, n: int, rows: Array) -> tuple[Array, Array]:
        """Known entries in some rows along mode n, which are given by their coordinates along all other modes,
        (rows, N - 1): (number of the row, index along n), (k,) each.
        """
        lengths = tuple(length for m, length in enumerate(self.shape) if m != n)
        found = self.gather(find_in_rows, (n, rows, lengths), self.main)[1]
        if self.held is not None:
            found = [*found, entries_in_rows(self.held.indices, n, rows, lengths)]
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    def known(self, where: Array) -> Array:
        """The values at the coordinates (k, N), NaN where nothing is known: (k,)."""
        out = np.full(len(where), np.nan)
        order = np.argsort(where[:, self.main], kind="stable")
        out[order] = np.concatenate(self.gather(look_up_values, where[order], self.main)[1])
        if self.held is not None:
            aside = self.held.at(where)
            out = np.where(np.isnan(aside), out, aside)
        return out


def in_unit(block: Block, shift: float, spread: float, dtype: Any) -> Array:
    """Values of a block in the unit of the fit."""
    if shift == 0 and spread == 1:
        return block.values.astype(dtype, copy=False)
    return ((block.values.astype(np.float64, copy=False) - shift) / spread).astype(dtype, copy=False)


def read_entries(block: Block, shared: None, own: None) -> tuple[None, tuple[Array, Array]]:
    """(nothing, (coordinates, values) of the block)."""
    return None, (block.coordinates(), block.values)


def look_up_values(block: Block, where: Array, own: None) -> tuple[None, Array]:
    """(nothing, the values at those of the coordinates (k, N), sorted along the block's mode, that are in its rows)."""
    ends = np.searchsorted(where[:, block.mode], (block.rows.start, block.rows.stop))
    mine = np.array(where[ends[0] : ends[1]])
    mine[:, block.mode] -= block.first
    lengths = tuple(
        int(max(block.indices[:, n].max(initial=0), mine[:, n].max(initial=0))) + 1 for n in range(where.shape[1])
    )
    found = match_rows(block.indices, mine, lengths)
    out = np.full(len(mine), np.nan)
    out[found >= 0] = block.values[found[found >= 0]]
    return None, out


def find_in_rows(
    block: Block, shared: tuple[int, Array, tuple[int, ...]], own: None
) -> tuple[None, tuple[Array, Array]]:
    """(nothing, of what is known in certain rows: which of them, and the index along mode n).

    `shared`: n, the rows by their coordinates along all other modes (rows, N - 1), and the lengths of those.
    """
    n, rows, lengths = shared
    return None, entries_in_rows(block.coordinates(), n, rows, lengths)


def entries_in_rows(where: Array, n: int, rows: Array, lengths: tuple[int, ...]) -> tuple[Array, Array]:
    """Of the coordinates (k, N) that lie in the rows: (which row, the index along mode n)."""
    found = match_rows(rows, np.delete(where, n, axis=1), lengths)
    return found[found >= 0], where[found >= 0, n]


def add(a: Any, b: Any) -> Any:
    """The sum of two partial results (numbers, arrays, lists of them, or None) in new memory: those of tasks stay."""
    if a is None or b is None:
        return b if a is None else a
    return [add(x, y) for x, y in zip(a, b, strict=True)] if isinstance(a, list | tuple) else a + b


def cut_rows(counts: Array, size: int) -> list[int]:
    """Edges of ranges of rows with about `size` observations each; a row is never cut."""
    ends = np.cumsum(counts)
    blocks = max(1, round(int(ends[-1]) / size))
    wanted = int(ends[-1]) * np.arange(1, blocks) // blocks
    inner = np.searchsorted(ends, wanted) + 1
    return sorted({0, *(int(i) for i in inner if i < len(counts)), len(counts)})


def hash_indices(indices: Array, seed: int) -> NDArray[np.uint64]:
    """A pseudo-random number for each coordinate (n, N), uniform over 64 bits: (n,). It depends on the coordinates and
    the seed alone, so that the same observations are drawn wherever they are stored and in whichever order they come.
    """
    out = np.full(len(indices), np.uint64((seed * 0x9E3779B97F4A7C15 + 0x1234567) % 2**64))
    for n in range(indices.shape[1]):
        out ^= indices[:, n].astype(np.uint64)
        _mix(out)
    return out


def _mix(h: NDArray[np.uint64]) -> None:
    """A bijection that spreads every bit over all others, in place: two multiplications and three shifts."""
    for shift, factor in ((31, 0xD6E8FEB86659FD93), (29, 0xCA9B0C7EBA1DA115), (32, None)):
        h ^= h >> np.uint64(shift)
        if factor is not None:
            h *= np.uint64(factor)
    h += np.uint64(0x632BE59BD9B4E019)
