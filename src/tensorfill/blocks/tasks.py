"""What the workers of a Dask cluster do: functions of a module, which every one of them can find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfill.blocks.base import Block, make_block
from tensorfill.blocks.disk import refuse_repeats
from tensorfill.blocks.draw import Draw, Tally
from tensorfill.blocks.filling import check_piece
from tensorfill.blocks.labels import Numbering
from tensorfill.blocks.pieces import Columns, Piece, dense_piece, from_arrow, pieces_of
from tensorfill.blocks.rows import Rows, join
from tensorfill.typing import Array


def join_pieces(pieces: Sequence[Piece]) -> Piece | None:
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
    return join_pieces(list(pieces_of(file, columns)))


def read_frame(frame: Any, columns: Columns) -> Piece | None:
    """A partition of a table."""
    import pyarrow as pa

    return join_pieces(list(from_arrow(pa.Table.from_pandas(frame[columns.names], preserve_index=False), columns)))


def read_chunk(part: Any, corner: Sequence[int]) -> Piece | None:
    """A chunk of an array, whose first entry lies at `corner`."""
    return join_pieces(list(dense_piece(np.asarray(part), corner)))


def describe_piece(piece: Piece | None) -> Any:
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
        return Rows(np.empty((0, len(shape)), dtype=np.int32), np.empty(0, dtype), None), tally
    where = np.empty((len(piece.values), len(shape)), dtype=np.int32)
    for n, ((_, which), number) in enumerate(zip(piece.axes, numbers, strict=True)):
        where[:, n] = which if number is None else number[which]
    rows = Rows(where, piece.values.astype(np.float64), piece.weights)
    kept = rows.take(tally.take(rows))
    return kept._replace(values=kept.values.astype(dtype)), tally


def join_parts(parts: Sequence[Rows], mode: int, first: int, last: int, dims: Sequence[str]) -> Block:
    """A block from its parts."""
    rows = join(parts).sort(mode)
    refuse_repeats(rows.indices, dims, {})
    return make_block(rows, mode, first, last - first)


def add_results(a: Any, b: Any) -> Any:
    """The sum of two partial results, in new memory: those of tasks must not change."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, list | tuple):
        return [add_results(x, y) for x, y in zip(a, b, strict=True)]
    return a + b
