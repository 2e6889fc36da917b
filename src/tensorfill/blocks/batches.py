"""Batches: all observations divided at random into parts of about one size, the same wherever they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tensorfill.blocks.base import Block, Sized, hash_indices
from tensorfill.blocks.rows import Rows
from tensorfill.typing import Array

SEED = 2**32 + 1  # of `hash_indices`; no Draw uses it


class Batch(NamedTuple):
    """Batch `number` of `of` batches."""

    number: int
    of: int


@dataclass(frozen=True, eq=False)
class Shuffled(Sized):
    """A block in the order of batches, within each sorted as before: batch k is edges[k] ... edges[k + 1]."""

    mode: int
    first: int
    count: int
    data: Rows
    edges: Array

    def batch(self, number: int) -> Block:
        """What the block has of a batch."""
        part = slice(int(self.edges[number]), int(self.edges[number + 1]))
        return Block.of(self.data.take(part), self.mode, self.first, self.count)


def shuffle_block(block: Block, batches: int) -> Shuffled:
    """The block in the order of so many batches, to which observations belong by their coordinates alone."""
    which = (hash_indices(block.coordinates(), SEED) % np.uint64(batches)).astype(
        np.uint16 if batches < 2**16 else np.int64
    )
    order = np.argsort(which, kind="stable")
    edges = np.searchsorted(which[order], np.arange(batches + 1))
    return Shuffled(block.mode, block.first, len(block.starts) - 1, block.data.take(order), edges)
