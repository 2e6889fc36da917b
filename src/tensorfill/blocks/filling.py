"""A temporary store filled with all rows of a source: labels are numbered and rows checked as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.blocks.base import BLOCK
from tensorfill.blocks.cluster import ClusterPartitions, block_size, can_reach_workers
from tensorfill.blocks.disk import CHUNK, DiskPartitions, Store, Tell
from tensorfill.blocks.draw import Draw, Tally
from tensorfill.blocks.pieces import Piece
from tensorfill.blocks.rows import Rows
from tensorfill.data.memory import ask
from tensorfill.io.formats.long import natural_order
from tensorfill.typing import Array

LONGEST = 2**31 - 1  # coordinates are int32
ROW = 64  # bytes that every slice of a mode takes before the first factor: counts, cuts, labels


class Numbering:
    """The labels of one dimension, numbered in the order of their first appearance."""

    def __init__(self) -> None:
        self.seen: dict[Any, int] = {}

    def codes(self, labels: Sequence[Any], which: Array) -> Array:
        """Numbers of `labels[which]`, (n,); labels are different from one another."""
        seen = self.seen
        numbers = np.fromiter((seen.setdefault(label, len(seen)) for label in labels), np.int64, len(labels))
        return numbers[which]

    def finish(self) -> tuple[Array, Array]:
        """(labels (I_n,) in the order of the tensor, for each number its place in it)."""
        found = list(self.seen)
        order = natural_order(found)
        rank = np.empty(len(found), dtype=np.int32)
        rank[order] = np.arange(len(found), dtype=np.int32)
        labels = [found[k] for k in order]
        whole = all(type(label) is int for label in labels)
        return np.array(labels) if whole else np.fromiter(labels, dtype=object), rank


@dataclass(frozen=True, eq=False)
class Filled:
    """A store with all rows of a source as they came."""

    store: Store
    shape: tuple[int, ...]
    labels: dict[str, Array]
    ranks: tuple[Array | None, ...]
    dims: tuple[str, ...]

    def partitions(
        self, draw: Draw, *, size_of_block: int = BLOCK, tell: Tell | None = None, client: Any = None
    ) -> DiskPartitions:
        """Blocks on disk of all rows but those set aside; with the workers of a Dask cluster, if one is given."""
        store = self.store
        tally = Tally(self.shape, draw, store.rows)
        dtype = np.float32 if store.exact else np.float64
        with store.removed_on_failure():
            for k, rows in enumerate(self.chunks()):
                kept = rows.take(tally.take(rows))
                store.append("kept", kept._replace(values=kept.values.astype(dtype)))
                if tell is not None:
                    tell("numbering", min((k + 1) * CHUNK, store.rows))
            store.drop("raw")
            sample, held, digest = tally.finish(self.dims, self.labels)
            home: Any = {"store": store, "tell": tell}
            if client is None:
                made = DiskPartitions(sample, held, digest, size_of_block=size_of_block, **home)
            else:
                size = block_size(client, sample.nnz - (0 if held is None else len(held.values)), size_of_block)
                home |= {"threads": 1, "client": client, "direct": can_reach_workers(client)}
                made = ClusterPartitions(sample, held, digest, size_of_block=size, **home)
            made.make_copy(made.main)  # a repeated entry shows now
        return made

    def chunks(self) -> Iterator[Rows]:
        """All rows, a few at a time, with indices as the tensor has them."""
        for rows in self.store.chunks("raw", self.store.rows):
            for n, rank in enumerate(self.ranks):
                if rank is not None:
                    rows.indices[:, n] = rank[rows.indices[:, n]]
            yield rows


def fill(
    pieces: Iterable[Piece],
    dims: Sequence[str] | None = None,
    *,
    folder: str | None = None,
    shape: Sequence[int] | None = None,
    tell: Tell | None = None,
) -> Filled:
    """A store of all pieces; `tell(what, rows so far)` is called after each."""
    store = Store(folder)
    with store.removed_on_failure():
        numberings, largest = _store_pieces(store, pieces, tell)
        names = tuple(dims) if dims else tuple(f"mode{n}" for n in range(store.ndim))
        lengths = tuple(int(n) for n in (largest + 1 if shape is None else shape))
        if shape is None:  # taken from the largest indices, of which one may be wrong
            ask(ROW * sum(lengths), f"a tensor of {' x '.join(f'{n:,}' for n in lengths)}")
        known = [None if numbering is None else numbering.finish() for numbering in numberings]
    labels = {name: found[0] for name, found in zip(names, known, strict=False) if found is not None}
    ranks = tuple(None if found is None else found[1] for found in known)
    return Filled(store, lengths, labels, ranks, names)


def _store_pieces(store: Store, pieces: Iterable[Piece], tell: Tell | None) -> tuple[list[Numbering | None], Array]:
    """Append all pieces; (the numbers that labels were given, the largest index of each mode)."""
    numberings: list[Numbering | None] = []
    largest = np.empty(0, dtype=np.int64)
    for piece in pieces:
        if not store.ndim:
            store.ndim, store.weighted = len(piece.axes), piece.weights is not None
            numberings = [None if labels is None else Numbering() for labels, _ in piece.axes]
            largest = np.full(store.ndim, -1)
        if len(piece.axes) != store.ndim:
            msg = f"all files must have the same modes; got {store.ndim} and {len(piece.axes)}."
            raise ValueError(msg)
        if any((labels is None) != (known is None) for (labels, _), known in zip(piece.axes, numberings, strict=True)):
            msg = "all files must be tables, or all be arrays and coordinates; got some of both."
            raise ValueError(msg)
        check_piece(piece, store.rows)
        where = np.empty((len(piece.values), store.ndim), dtype=np.int32)
        for n, ((labels, which), numbering) in enumerate(zip(piece.axes, numberings, strict=True)):
            codes = which if labels is None or numbering is None else numbering.codes(labels, which)
            largest[n] = codes.max(initial=largest[n])
            if largest[n] >= LONGEST:
                msg = (
                    f"a mode may be up to {LONGEST:,} long; got an index of {largest[n]:,}. Number its entries from 0."
                )
                raise ValueError(msg)
            where[:, n] = codes
        store.append("raw", Rows(where, piece.values.astype(np.float64, copy=False), piece.weights))
        with np.errstate(over="ignore"):
            store.exact = store.exact and bool((piece.values.astype(np.float32) == piece.values).all())
        store.rows += len(piece.values)
        if tell is not None:
            tell("reading", store.rows)
    if not store.rows:
        msg = "the data hold no observed value: no row, or everything is missing."
        raise ValueError(msg)
    return numberings, largest


def check_piece(piece: Piece, before: int) -> None:
    """Refuse values that are not finite, and weights that are not finite and > 0."""
    bad = np.flatnonzero(~np.isfinite(piece.values))
    if len(bad):
        row = before + int(bad[0]) + 1
        msg = f"observed values must be finite; got {piece.values[bad[0]]} in row {row:,}. Leave that row out."
        raise ValueError(msg)
    if piece.weights is not None:
        bad = np.flatnonzero(~(np.isfinite(piece.weights) & (piece.weights > 0)))
        if len(bad):
            row = before + int(bad[0]) + 1
            msg = f"weights must be finite and > 0; got {piece.weights[bad[0]]} in row {row:,}. Leave that row out."
            raise ValueError(msg)
