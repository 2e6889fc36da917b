"""A temporary store filled with all rows of a source: labels are numbered and rows checked as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tensorfill.blocks.base import BLOCK
from tensorfill.blocks.disk import CHUNK, DiskPartitions, Store, Tell
from tensorfill.blocks.draw import Draw, Tally
from tensorfill.blocks.labels import Numbering
from tensorfill.blocks.pieces import Piece
from tensorfill.blocks.rows import Rows
from tensorfill.data.memory import ask
from tensorfill.typing import Array

LONGEST = 2**31 - 1  # coordinates are int32
ROW = 64  # bytes that every slice of a mode takes before the first factor: counts, cuts, labels


@dataclass(frozen=True, eq=False)
class Filled:
    """A store with all rows of a source as they came."""

    store: Store
    numberings: tuple[Numbering | None, ...]
    shape: tuple[int, ...]
    labels: dict[str, Array]
    ranks: tuple[Array | None, ...]
    dims: tuple[str, ...]

    def partitions(self, draw: Draw, *, size_of_block: int = BLOCK, tell: Tell | None = None) -> DiskPartitions:
        """Blocks on disk of all rows but those set aside."""
        try:
            return self._partitions(draw, size_of_block, tell)
        except BaseException:
            self.store.remove()
            raise

    def _partitions(self, draw: Draw, size_of_block: int, tell: Tell | None) -> DiskPartitions:
        store = self.store
        tally = Tally(self.shape, draw.fitted(store.rows))
        dtype = np.float32 if store.exact else np.float64
        for k, rows in enumerate(self.chunks()):
            kept = rows.take(tally.take(rows))
            store.append("kept", kept._replace(values=kept.values.astype(dtype)))
            if tell is not None:
                tell("numbering", min((k + 1) * CHUNK, store.rows))
        store.drop("raw")
        sample, held, digest = tally.finish(self.dims, self.labels)
        made = DiskPartitions(sample, held, digest, size_of_block=size_of_block, store=store, tell=tell)
        made._make(made.main)  # a repeated entry shows now
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
    try:
        return _fill(store, pieces, dims, shape, tell)
    except BaseException:
        store.remove()  # now, since the traceback would keep it alive
        raise


def _fill(
    store: Store, pieces: Iterable[Piece], dims: Sequence[str] | None, shape: Sequence[int] | None, tell: Tell | None
) -> Filled:
    numberings: list[Numbering | None] = []
    largest: list[int] = []
    for piece in pieces:
        if not store.ndim:
            store.ndim, store.weighted = len(piece.axes), piece.weights is not None
            numberings = [None if labels is None else Numbering() for labels, _ in piece.axes]
            largest = [-1] * store.ndim
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
            largest[n] = max(largest[n], int(codes.max(initial=-1)))
            check_length(largest[n] + 1)
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
    return _finish(store, numberings, largest, dims, shape)


def _finish(
    store: Store,
    numberings: Sequence[Numbering | None],
    largest: Sequence[int],
    dims: Sequence[str] | None,
    shape: Sequence[int] | None,
) -> Filled:
    names = tuple(dims) if dims else tuple(f"mode{n}" for n in range(store.ndim))
    labels, ranks, lengths = {}, [], []
    for n, numbering in enumerate(numberings):
        rank = None
        if numbering is not None:
            labels[names[n]], rank = numbering.finish()
        ranks.append(rank)
        lengths.append(largest[n] + 1 if shape is None else int(shape[n]))
    if shape is None:  # taken from the largest indices, of which one may be wrong
        ask_lengths(lengths)
    return Filled(store, tuple(numberings), tuple(lengths), labels, tuple(ranks), names)


def check_length(length: int) -> None:
    """Raise ValueError for a mode that is longer than coordinates can be."""
    if length > LONGEST:
        msg = f"a mode may be up to {LONGEST:,} long; got an index of {length - 1:,}. Number its entries from 0."
        raise ValueError(msg)


def ask_lengths(lengths: Sequence[int]) -> None:
    """Refuse modes so long that what is kept for each slice takes too much memory."""
    ask(ROW * sum(lengths), f"a tensor of {' x '.join(f'{n:,}' for n in lengths)}")


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
