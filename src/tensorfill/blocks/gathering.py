"""Pieces with the workers of a Dask cluster: labels are numbered in this process, rows on the workers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

import numpy as np

from tensorfill.blocks import tasks
from tensorfill.blocks.base import BLOCK
from tensorfill.blocks.cluster import BLOCKS, ClusterPartitions, can_reach_workers, collect
from tensorfill.blocks.draw import Draw
from tensorfill.blocks.filling import ask_lengths, check_length
from tensorfill.blocks.labels import Numbering
from tensorfill.blocks.pieces import Piece
from tensorfill.typing import Array


@dataclass(frozen=True, eq=False)
class OnCluster:
    """Pieces on workers, numbered; what the client knows of them."""

    client: Any
    pieces: Sequence[Any]
    numbers: Sequence[Sequence[Array | None]]  # per piece and mode
    labels: dict[str, Array]
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    count: int
    exact: bool

    def partitions(self, draw: Draw, size_of_block: int = BLOCK) -> ClusterPartitions:
        """Blocks of all rows but those set aside."""
        client, fitted = self.client, draw.fitted(self.count)
        dtype = np.float32 if self.exact else np.float64
        made = [
            client.submit(tasks.rows_of, piece, number, fitted, self.shape, dtype, pure=False)
            for piece, number in zip(self.pieces, self.numbers, strict=True)
        ]
        rows = [client.submit(getitem, pair, 0, pure=False) for pair in made]
        tallies = collect(client, [client.submit(getitem, pair, 1, pure=False) for pair in made])
        tally = tallies[0]
        for other in tallies[1:]:
            tally.merge(other)
        sample, held, digest = tally.finish(self.dims, self.labels)
        threads = max(1, sum(client.nthreads().values()))
        inside = sample.nnz - (0 if held is None else len(held.values))
        # as many blocks for every thread, a power of two: sums in pairs are then of one worker's for as long as can be
        each = 2 ** math.ceil(math.log2(max(BLOCKS, inside / (size_of_block * threads))))
        size = max(1, inside // (each * threads))
        return ClusterPartitions(
            sample,
            held,
            digest,
            size_of_block=size,
            threads=1,
            client=client,
            rows=rows,
            direct=can_reach_workers(client),
        )

    def local(self) -> Iterator[Piece]:
        """The pieces, here."""
        yield from (piece for piece in collect(self.client, self.pieces) if piece is not None)


def on_cluster(
    client: Any, pieces: Sequence[Any], dims: Sequence[str] | None, shape: Sequence[int] | None = None
) -> OnCluster:
    """Number the labels of pieces (futures), in the order in which a single machine would."""
    known = collect(client, [client.submit(tasks.describe_piece, piece, pure=False) for piece in pieces])
    there = [k for k in known if k is not None]
    if not there:
        msg = "the data hold no observed value: no row, or everything is missing."
        raise ValueError(msg)
    N = len(there[0][1])
    names = tuple(dims) if dims else tuple(f"mode{n}" for n in range(N))
    numbers: list[list[Array | None]] = [[None] * N for _ in known]
    labels, lengths = {}, []
    for n in range(N):
        if isinstance(there[0][1][n], int):
            lengths.append(max(k[1][n] for k in there) + 1 if shape is None else int(shape[n]))
            continue
        numbering = Numbering()
        found = [None if k is None else numbering.codes(k[1][n], np.arange(len(k[1][n]))) for k in known]
        labels[names[n]], rank = numbering.finish()
        lengths.append(len(rank))
        for number, codes in zip(numbers, found, strict=True):
            number[n] = None if codes is None else rank[codes]
    if shape is None:
        check_length(max(lengths))
        ask_lengths(lengths)
    count, exact = sum(k[0] for k in there), all(k[2] for k in there)
    return OnCluster(client, pieces, numbers, labels, tuple(lengths), names, count, exact)
