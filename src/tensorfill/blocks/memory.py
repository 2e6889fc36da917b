"""Blocks in memory: views of arrays sorted once along each mode that is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tensorfill.blocks.base import (
    BLOCK,
    Block,
    Partitions,
    Work,
    add,
    sort_indices,
)
from tensorfill.blocks.batches import Batch, Shuffled, shuffle_block
from tensorfill.blocks.draw import Draw, Tally
from tensorfill.data.observations import Observations
from tensorfill.typing import Array

Arrays = tuple[Array, Array, Array | None]


@dataclass(frozen=True, eq=False)
class MemoryPartitions(Partitions):
    """Observations in memory, seen as blocks."""

    arrays: Arrays = field(default=(np.empty((0, 0)), np.empty(0), None), repr=False)  # of all blocks
    copies: dict[int, Arrays] = field(default_factory=dict, repr=False)  # by mode
    batches: dict[tuple[int, int], list[Shuffled]] = field(default_factory=dict, repr=False)  # by mode and number

    def gather(
        self,
        work: Work,
        shared: Any,
        mode: int,
        own: Sequence[Any] | None = None,
        *,
        keep: bool = False,
        batch: Batch | None = None,
    ) -> tuple[Any, list[Any]]:
        total, parts = None, []
        blocks = (
            self._blocks(mode) if batch is None else [b.batch(batch.number) for b in self._shuffled(mode, batch.of)]
        )
        for k, block in enumerate(blocks):
            summand, part = work(block, shared, None if own is None else own[k])
            total = add(total, summand)
            parts.append(part)
        return total, parts

    def _shuffled(self, mode: int, batches: int) -> list[Shuffled]:
        if (mode, batches) not in self.batches:
            self.batches.clear()  # one number of batches at a time is enough
            self.batches[mode, batches] = [shuffle_block(block, batches) for block in self._blocks(mode)]
        return self.batches[mode, batches]

    def _blocks(self, mode: int) -> list[Block]:
        indices, values, weights = self._copy(mode)
        edges = self.edges(mode)
        ends = np.concatenate([[0], np.cumsum(self.sample.counts[mode])])
        out = []
        for a, b in itertools.pairwise(edges):
            part = slice(int(ends[a]), int(ends[b]))
            where = indices[part] if a == 0 else _count_from(indices[part], mode, a)
            out.append(
                Block(mode, a, where, values[part], None if weights is None else weights[part],
                      (ends[a : b + 1] - ends[a]).astype(np.int64))
            )  # fmt: skip
        return out

    def _copy(self, mode: int) -> Arrays:
        if mode not in self.copies:
            indices, values, weights = self.arrays
            if mode == 0:
                self.copies[0] = self.arrays  # Observations are sorted so
            else:
                order = sort_indices(indices, mode)
                self.copies[mode] = (indices[order], values[order], None if weights is None else weights[order])
        return self.copies[mode]

    def settle(self) -> None:
        for mode in set(self.copies) - {self.main}:
            del self.copies[mode]
        self.batches.clear()

    def close(self) -> None:
        self.copies.clear()
        self.batches.clear()


def _count_from(indices: Array, mode: int, first: int) -> Array:
    out = np.array(indices)
    out[:, mode] -= first
    return out


def in_memory(obs: Observations, draw: Draw, *, labels: Any = None, size_of_block: int = BLOCK) -> MemoryPartitions:
    """Observations as blocks in memory, those that `draw` sets aside left out."""
    tally = Tally(obs.shape, draw.fitted(obs.nnz))
    keep = tally.take(obs.indices, obs.values, obs.weights)
    kept = replace(obs, source=None) if keep.all() else replace(obs, source=None).subset(keep)
    sample, held, digest = tally.finish(obs.dims, labels or {}, obs.positions)
    arrays = (np.ascontiguousarray(kept.indices), kept.values, kept.weights)
    return MemoryPartitions(sample, held, digest, size_of_block=size_of_block, arrays=arrays)
