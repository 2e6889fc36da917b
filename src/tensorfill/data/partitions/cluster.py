"""Blocks with the workers of a Dask cluster: read, numbered and sorted there once, and worked on where they lie.

    source -> piece -> rows as the tensor has them -> a part for each block -> blocks        all of it tasks on workers

What all blocks share goes to every worker once per evaluation, rows go to and come from the block that owns them, and
sums are added in pairs on the workers. A block is the result of tasks that the scheduler remembers: those of a worker
that dies are made again from their source. Nothing here is imported unless a cluster is in use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.partitions.base import BLOCK, Block, Partitions, Work, make_block, sorted_order
from tensorfill.data.partitions.disk import ask_lengths, check_length, check_piece, refuse_repeats
from tensorfill.data.partitions.draw import Draw, Tally
from tensorfill.data.partitions.labels import Numbering
from tensorfill.data.partitions.pieces import Columns, Piece, dense_piece, from_arrow, pieces_of

Array = NDArray[Any]
Rows = tuple[Array, Array, Array | None]  # coordinates, values, weights

ATTEMPTS = 5  # at an evaluation, as long as there is a scheduler
BLOCKS = 2  # for each thread of the cluster at least, so that all have work


class ClusterError(RuntimeError):
    """The cluster is gone; the message is a sentence."""


def active_client() -> Any:
    """The Dask client in use in this process, or None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        client = distributed.default_client()
    except ValueError:  # there is none
        return None
    return client if client.status == "running" else None


# --- work on the workers ------------------------------------------------------------------------------------------


def whole_piece(pieces: Sequence[Piece]) -> Piece | None:
    """Several pieces of one source as one."""
    if not pieces:
        return None
    axes: list[tuple[Any, Array]] = []
    for n in range(len(pieces[0].axes)):
        if pieces[0].axes[n][0] is None:
            axes.append((None, np.concatenate([p.axes[n][1] for p in pieces])))
            continue
        numbering = Numbering()
        which = np.concatenate([numbering.codes(p.axes[n][0] or (), p.axes[n][1]) for p in pieces])
        axes.append((list(numbering.seen), which))
    values = np.concatenate([p.values for p in pieces])
    weights = None if pieces[0].weights is None else np.concatenate([p.weights for p in pieces])
    return Piece(axes, values, weights)


def read_file(file: str, columns: Columns | None) -> Piece | None:
    """All of a file."""
    return whole_piece(list(pieces_of(file, columns)))


def read_frame(frame: Any, columns: Columns) -> Piece | None:
    """A partition of a table."""
    import pyarrow as pa

    return whole_piece(list(from_arrow(pa.Table.from_pandas(frame[columns.names], preserve_index=False), columns)))


def read_chunk(part: Any, corner: Sequence[int]) -> Piece | None:
    """A chunk of an array, whose first entry lies at `corner`."""
    return whole_piece(list(dense_piece(np.asarray(part), corner)))


def about(piece: Piece | None) -> Any:
    """What the client must know of a piece: its number of rows, and per mode its labels or its largest index."""
    if piece is None:
        return None
    check_piece(piece, 0)
    with np.errstate(over="ignore"):
        exact = bool((piece.values.astype(np.float32) == piece.values).all())
    axes = [labels if labels is not None else int(which.max(initial=-1)) for labels, which in piece.axes]
    return len(piece.values), axes, exact, piece.weights is not None


def rows_of(piece: Piece | None, numbers: Sequence[Array | None], draw: Draw, shape: Sequence[int], dtype: Any) -> Any:
    """((coordinates, values, weights) of what belongs into blocks, a tally of all)."""
    tally = Tally(shape, draw)
    if piece is None:
        empty = np.empty((0, len(shape)), dtype=np.int32), np.empty(0, dtype), None
        return empty, tally
    where = np.empty((len(piece.values), len(shape)), dtype=np.int32)
    for n, ((_, which), number) in enumerate(zip(piece.axes, numbers, strict=True)):
        where[:, n] = which if number is None else number[which]
    values = piece.values.astype(np.float64)
    keep = tally.take(where, values, piece.weights)
    return (where[keep], values[keep].astype(dtype), None if piece.weights is None else piece.weights[keep]), tally


def dealt(rows: Rows, mode: int, edges: Sequence[int]) -> list[Rows]:
    """The part of every block along `mode`."""
    where, values, weights = rows
    place = np.searchsorted(np.asarray(edges), where[:, mode], side="right") - 1
    order = np.argsort(place, kind="stable")
    cuts = np.searchsorted(place[order], np.arange(len(edges)))
    parts = [order[a:b] for a, b in pairwise(cuts)]
    return [(where[p], values[p], None if weights is None else weights[p]) for p in parts]


def joined(parts: Sequence[Rows], mode: int, first: int, last: int, dims: Sequence[str]) -> Block:
    """A block from its parts."""
    where, values = (np.concatenate([p[k] for p in parts]) for k in (0, 1))
    own: list[Any] = [p[2] for p in parts if len(p[1])]
    weights: Array | None = None if any(w is None for w in own) else np.concatenate(own)
    order = sorted_order(where, mode)
    where = where[order]
    refuse_repeats(where, dims, {})
    return make_block(where, values[order], None if weights is None else weights[order], mode, first, last - first)


def apply(work: Work, block: Block, shared: Any, own: Any) -> tuple[Any, Any]:
    """The work on a block: a function of this module, which every worker can find."""
    return work(block, shared, own)


def take(pair: Any, k: int) -> Any:
    """One of several results."""
    return pair[k]


def plus(a: Any, b: Any) -> Any:
    """The sum of two partial results, in new memory: those of tasks must not change."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, list | tuple):
        return [plus(x, y) for x, y in zip(a, b, strict=True)]
    return a + b


# --- the home -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClusterPartitions(Partitions):
    """Observations with the workers of a Dask cluster."""

    client: Any = field(default=None, repr=False)
    rows: Sequence[Any] = field(default=(), repr=False)  # futures of Rows
    copies: dict[int, list[Any]] = field(default_factory=dict, repr=False)  # by mode: futures of Blocks

    def gather(self, work: Work, shared: Any, mode: int, own: Sequence[Any] | None = None) -> tuple[Any, list[Any]]:
        return _survived(self.client, lambda: self._gather(work, shared, mode, own))

    def _gather(self, work: Work, shared: Any, mode: int, own: Sequence[Any] | None) -> tuple[Any, list[Any]]:
        client = self.client
        blocks = self._blocks(mode)
        everywhere = client.scatter(shared, hash=False)  # to one worker, from which the others have it
        each = [None] * len(blocks) if own is None else own
        done = [
            client.submit(apply, work, block, everywhere, mine, pure=False)
            for block, mine in zip(blocks, each, strict=True)
        ]
        sums = [client.submit(take, pair, 0, pure=False) for pair in done]
        parts = [client.submit(take, pair, 1, pure=False) for pair in done]
        while len(sums) > 1:  # in pairs, always the same ones: the same rounding every time
            pairs = [client.submit(plus, a, b, pure=False) for a, b in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + ([sums[-1]] if len(sums) % 2 else [])
        total, *own_parts = client.gather([sums[0], *parts])
        return total, own_parts

    def _blocks(self, mode: int) -> list[Any]:
        if mode not in self.copies:
            client, edges = self.client, self.edges(mode)
            split = [client.submit(dealt, rows, mode, edges, pure=False) for rows in self.rows]
            self.copies[mode] = [
                client.submit(
                    joined,
                    [client.submit(take, parts, k, pure=False) for parts in split],
                    mode,
                    a,
                    b,
                    self.extract.dims,
                    pure=False,
                )
                for k, (a, b) in enumerate(pairwise(edges))
            ]
        return self.copies[mode]

    def close(self) -> None:
        self.copies.clear()


def _survived(client: Any, task: Callable[[], Any]) -> Any:
    """The task's result, tried again where a worker died under it."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    lost: tuple[type[BaseException], ...] = (CancelledError, KilledWorker, CommClosedError, OSError)
    for _ in range(ATTEMPTS):
        if client.status != "running":
            break
        with suppress(*lost):
            return task()
    msg = (
        "the Dask cluster no longer answers; start it again and go on from the checkpoint: resume=True, or "
        "--resume. Without checkpoint=... begin anew."
    )
    raise ClusterError(msg)


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
            client.submit(rows_of, piece, number, fitted, self.shape, dtype, pure=False)
            for piece, number in zip(self.pieces, self.numbers, strict=True)
        ]
        rows = [client.submit(take, pair, 0, pure=False) for pair in made]
        tallies = client.gather([client.submit(take, pair, 1, pure=False) for pair in made])
        tally = tallies[0]
        for other in tallies[1:]:
            tally.merge(other)
        extract, held, digest = tally.finish(self.dims, self.labels)
        threads = max(1, sum(client.nthreads().values()))
        size = max(1, min(size_of_block, self.count // (BLOCKS * threads)))
        return ClusterPartitions(extract, held, digest, size_of_block=size, threads=1, client=client, rows=rows)

    def local(self) -> Iterator[Piece]:
        """The pieces, here."""
        yield from (piece for piece in self.client.gather(list(self.pieces)) if piece is not None)


def on_cluster(
    client: Any, pieces: Sequence[Any], dims: Sequence[str] | None, shape: Sequence[int] | None = None
) -> OnCluster:
    """Number the labels of pieces (futures), in the order in which a single machine would."""
    known = client.gather([client.submit(about, piece, pure=False) for piece in pieces])
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
