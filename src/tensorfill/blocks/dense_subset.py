"""A dense subset of a large tensor: few observations, to try settings on, but many for each row.

A random sample would leave a handful of observations in every row, too few to learn from. Instead the most observed
rows of every mode are taken, about as many of each, and all observations in the subtensor that they make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tensorfill.blocks.base import Block, Partitions, in_unit
from tensorfill.blocks.rows import Rows, join
from tensorfill.data.facts import Facts, compute_facts
from tensorfill.data.observations import Observations
from tensorfill.typing import Array

SIZE = 2**20  # observations in a subset, whatever the size of the data
TRIES = 4  # at the number of rows: it is not known before how many observations meet there


def dense_subset(parts: Partitions, size: int = SIZE) -> tuple[Observations, list[Array]]:
    """About `size` observations of the most observed rows, as a tensor of its own, in the unit of the fit; and which
    rows of every mode these are.
    """
    found = Rows(np.empty((0, len(parts.shape)), dtype=np.int32), np.empty(0), None)

    def gather(numbers: list[Array]) -> int:
        nonlocal found
        found = join(parts.gather(inside, (numbers, parts.shift, parts.spread), parts.main)[1])
        return len(found.values)

    rows = densest_rows(parts.sample.counts, gather, size)
    lengths = tuple(len(row) for row in rows)
    return Observations(lengths, *found.take(np.lexsort(found.indices.T[::-1])), parts.sample.dims), rows


def densest_rows(counts: Sequence[Array], meet: Callable[[list[Array]], int], size: int) -> list[Array]:
    """The most observed rows of every mode, such that about `size` observations lie where they meet; `meet` counts
    these, given for every mode the number of each row among those taken, or -1 (I_n,). `counts`: observations of each
    row of every mode.

    Modes are cut to one length, as far as they are longer; those that are not keep all of their rows, in order.
    """
    shape, order = [len(count) for count in counts], [np.argsort(-count, kind="stable") for count in counts]
    length = _row_limit(shape, int(counts[0].sum()), size)
    for _ in range(TRIES):
        rows = [np.sort(o[: max(2, min(length, n))]) for o, n in zip(order, shape, strict=True)]
        numbers = [np.full(n, -1, dtype=np.int32) for n in shape]
        for number, row in zip(numbers, rows, strict=True):
            number[row] = np.arange(len(row))
        count = meet(numbers)
        cut = sum(len(row) < n for row, n in zip(rows, shape, strict=True))
        if size / 2 <= count <= 2 * size or not cut:
            break
        length = int(length * (size / max(count, 1)) ** (1 / cut))
    return rows


def facts_in_blocks(parts: Partitions, small: Observations) -> Facts:
    """Facts of a dense subset as those of all observations: of a mode that was cut only some rows are there, so that
    their neighbours say nothing, and what has to be known of each slice is not known of all.
    """
    facts, modes = compute_facts(small), []
    for mode, count in zip(facts.modes, parts.sample.counts, strict=True):
        whole = replace(mode, length=len(count), seen=int(np.count_nonzero(count)), spreads=1.0, units=False)
        cut = mode.length < len(count)
        modes.append(replace(whole, rough=1.0, smoothest=1.0, period=None, steps=1.0) if cut else whole)
    return replace(facts, shape=parts.shape, observed=parts.nnz, modes=tuple(modes), gaps={}, in_blocks=True)


def _row_limit(shape: Sequence[int], nnz: int, size: int) -> int:
    """The one length that leaves `size` observations if they were spread evenly."""
    low, high = 2, max(shape)
    while low < high:
        middle = (low + high) // 2
        share = np.prod([min(1.0, middle / n) for n in shape])
        low, high = (middle + 1, high) if nnz * share < size else (low, middle)
    return low


def inside(block: Block, shared: tuple[list[Array], float, float], own: None) -> tuple[None, Rows]:
    """(nothing, what of the block lies in the subset)."""
    numbers, shift, spread = shared
    where = block.coordinates()
    keep = np.ones(len(where), dtype=bool)
    for n, number in enumerate(numbers):
        keep &= number[where[:, n]] >= 0
    taken = np.stack([number[where[keep, n]] for n, number in enumerate(numbers)], axis=1)
    values = in_unit(block, shift, spread, np.float64)[keep]
    return None, Rows(taken, values, None if block.weights is None else block.weights[keep])
