"""What is known at some entries, looked up in a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorfill.data.coordinates import match_rows
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.blocks.base import Block


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
    return None, within(block.coordinates(), n, rows, lengths)


def within(where: Array, n: int, rows: Array, lengths: tuple[int, ...]) -> tuple[Array, Array]:
    """Of the coordinates (k, N) that lie in the rows: (which row, the index along mode n)."""
    found = match_rows(rows, np.delete(where, n, axis=1), lengths)
    return found[found >= 0], where[found >= 0, n]
