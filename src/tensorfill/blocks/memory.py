"""Blocks in memory: views of arrays sorted once along each mode that is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tensorfill.blocks.base import BLOCK, Block, Partitions
from tensorfill.blocks.draw import Draw, Tally
from tensorfill.blocks.rows import Rows
from tensorfill.data.observations import Observations


@dataclass(frozen=True, eq=False)
class MemoryPartitions(Partitions):
    """Observations in memory, seen as blocks."""

    copies: dict[int, Rows] = field(default_factory=dict, repr=False)  # by mode; that along the first is always there

    def blocks(self, mode: int) -> Iterator[Block]:
        if mode not in self.copies:
            self.copies[mode] = self.copies[0].sort(mode)
        ends = np.concatenate([[0], np.cumsum(self.sample.counts[mode])])
        for a, b in itertools.pairwise(self.edges(mode)):
            yield Block.of(self.copies[mode].take(slice(int(ends[a]), int(ends[b]))), mode, a, b)

    def settle(self) -> None:
        for mode in set(self.copies) - {0, self.main}:
            del self.copies[mode]

    def close(self) -> None:
        for mode in set(self.copies) - {0}:
            del self.copies[mode]


def blocks_memory(obs: Observations) -> float:
    """Bytes that a fit to observations in memory takes block by block."""
    copies = obs.ndim + 2  # one sorted along each mode, what was given, what is not set aside
    return copies * (4.0 * obs.ndim + 8.0) * obs.nnz + 1300.0 * sum(obs.shape)


def in_memory(obs: Observations, draw: Draw, *, size_of_block: int = BLOCK) -> MemoryPartitions:
    """Observations as blocks in memory, those that `draw` sets aside left out."""
    tally = Tally(obs.shape, draw, obs.nnz)
    keep = tally.take(Rows(obs.indices, obs.values, obs.weights))
    kept = replace(obs, source=None) if keep.all() else replace(obs, source=None).subset(keep)
    sample, held, digest = tally.finish(obs.dims, {}, obs.positions)
    rows = Rows(np.ascontiguousarray(kept.indices), kept.values, kept.weights)  # Observations are sorted so
    return MemoryPartitions(sample, held, digest, size_of_block=size_of_block, copies={0: rows})
