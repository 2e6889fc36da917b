"""Blocks on disk: a temporary store, filled once from pieces of any source, one file per block and array.

    pieces -> rows as they come (labels numbered) -> rows as the tensor has them, less those set aside -> blocks

Nothing here ever holds more than a block and a piece. The store is removed when nobody uses it any more, at the end of
the process, and, where that was killed, when the next one begins.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.atomic import HOST, is_running
from tensorfill.data.formats.base import FileError
from tensorfill.data.memory import ask, words
from tensorfill.data.partitions.base import (
    BLOCK,
    Block,
    Partitions,
    Work,
    add,
    block_of,
    make_block,
    sorted_order,
)
from tensorfill.data.partitions.batches import Batch, shuffled
from tensorfill.data.partitions.draw import Draw, Tally
from tensorfill.data.partitions.labels import Numbering
from tensorfill.data.partitions.pieces import Piece

Array = NDArray[Any]
Tell = Callable[[str, int], None]  # what is being done, and rows done so far

PREFIX = f"tensorfill-store-{HOST}-"  # other machines may share the folder: of theirs nothing is known
LONGEST = 2**31 - 1  # coordinates are int32
ROW = 64  # bytes that every slice of a mode takes before the first factor: counts, cuts, labels
CHUNK = 2**20  # rows passed on at a time
SPARE = 2**28  # bytes that stay free on the disk


class Store:
    """A folder of rows in files. `exact`: does float32 hold every value?"""

    def __init__(self, folder: str | None = None) -> None:
        base = folder or tempfile.gettempdir()
        sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        self.ndim, self.rows, self.exact, self.weighted = 0, 0, True, False

    def append(self, name: str, indices: Array, values: Array, weights: Array | None) -> None:
        """Add rows to the part `name`."""
        need = indices.nbytes + values.nbytes
        if need + SPARE > shutil.disk_usage(self.path).free:
            msg = (
                f"the temporary store in {self.path.parent} is full: {words(need + SPARE)} more are needed. Set TMPDIR "
                "to a folder with room: about 70 bytes for each observation of a tensor of three modes."
            )
            raise FileError(msg)
        for kind, array in (("i", indices), ("v", values), ("w", weights)):
            if array is not None:
                with open(self.path / f"{name}.{kind}", "ab") as file:
                    np.ascontiguousarray(array).tofile(file)

    def read(
        self, name: str, start: int = 0, count: int = -1, values: Any = np.float64
    ) -> tuple[Array, Array, Array | None]:
        """Rows start ... start + count of a part; all by default."""
        N = self.ndim
        where = np.fromfile(
            self.path / f"{name}.i", np.int32, count if count < 0 else N * count, offset=4 * N * start
        ).reshape(-1, N)
        size = np.dtype(values).itemsize
        numbers = np.fromfile(self.path / f"{name}.v", values, count, offset=size * start)
        weights = np.fromfile(self.path / f"{name}.w", np.float64, count, offset=8 * start) if self.weighted else None
        return where, numbers, weights

    def write(self, name: str, indices: Array, values: Array, weights: Array | None) -> None:
        """A part anew."""
        self.drop(name)
        self.append(name, indices, values, weights)

    def drop(self, name: str) -> None:
        """Remove a part."""
        for kind in "ivw":
            with suppress(FileNotFoundError):
                (self.path / f"{name}.{kind}").unlink()

    def chunks(self, name: str, rows: int, values: Any = np.float64) -> Iterator[tuple[Array, Array, Array | None]]:
        """A part of so many rows, a few at a time."""
        for start in range(0, rows, CHUNK):
            yield self.read(name, start, min(CHUNK, rows - start), values)


def sweep(folder: str) -> None:
    """Remove stores of processes that are no more."""
    for path in Path(folder).glob(f"{PREFIX}*"):
        pid = path.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not is_running(int(pid)):
            shutil.rmtree(path, ignore_errors=True)  # of another user: stays


@dataclass(frozen=True, eq=False)
class DiskPartitions(Partitions):
    """Observations on disk, of which one block at a time is in memory."""

    store: Store = field(default=None, repr=False)  # type: ignore[assignment]  # always given
    copies: set[int] = field(default_factory=set, repr=False)
    tell: Tell | None = field(default=None, repr=False)
    batches: dict[str, Array] = field(default_factory=dict, repr=False)  # parts of the store and their edges

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float32 if self.store.exact else np.float64)

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
        self._make(mode)
        edges, total, parts = self.edges(mode), None, []
        for k, (a, b) in enumerate(itertools.pairwise(edges)):
            block = self._block(mode, k, a, b) if batch is None else self._batch(mode, k, a, b, batch)
            summand, part = work(block, shared, None if own is None else own[k])
            total = add(total, summand)
            parts.append(part)
        return total, parts

    def _block(self, mode: int, k: int, a: int, b: int) -> Block:
        return make_block(*self.store.read(f"m{mode}-{k}", values=self.dtype), mode, a, b - a)

    def _batch(self, mode: int, k: int, a: int, b: int, batch: Batch) -> Block:
        """What block k has of a batch: shuffled and written when it is first asked for, of which a part is read."""
        name = f"b{mode}-{batch.of}-{k}"
        if name not in self.batches:
            made = shuffled(self._block(mode, k, a, b), batch.of)
            self.store.write(name, made.indices, made.values, made.weights)
            self.batches[name] = made.edges
        start, stop = (int(e) for e in self.batches[name][batch.number : batch.number + 2])
        return block_of(*self.store.read(name, start, stop - start, self.dtype), mode, a, b - a)

    def _make(self, mode: int) -> None:
        """The copy along `mode`: rows dealt out to blocks, then each block sorted."""
        if mode in self.copies:
            return
        edges, done = np.array(self.edges(mode)), 0
        for where, values, weights in self.store.chunks("kept", self.nnz, self.dtype):
            place = np.searchsorted(edges, where[:, mode], side="right") - 1
            order = np.argsort(place, kind="stable")
            cuts = np.searchsorted(place[order], np.arange(len(edges)))
            for k in np.flatnonzero(np.diff(cuts)):
                part = order[cuts[k] : cuts[k + 1]]
                own = None if weights is None else weights[part]
                self.store.append(f"m{mode}-{k}", where[part], values[part], own)
            done += len(values)
            if self.tell is not None:
                self.tell(f"sorting along {self.extract.dims[mode]}", done)
        for number in range(len(edges) - 1):
            where, values, weights = self.store.read(f"m{mode}-{number}", values=self.dtype)
            order = sorted_order(where, mode)
            where = where[order]
            refuse_repeats(where, self.extract.dims, self.extract.labels)
            self.store.write(f"m{mode}-{number}", where, values[order], None if weights is None else weights[order])
        self.copies.add(mode)

    def settle(self) -> None:
        self._make(self.main)
        for mode in self.copies - {self.main}:
            for k in range(len(self.edges(mode)) - 1):
                self.store.drop(f"m{mode}-{k}")
        for name in self.batches:
            self.store.drop(name)
        self.store.drop("kept")
        self.copies.intersection_update({self.main})
        self.batches.clear()

    def close(self) -> None:
        self.store.remove()


def refuse_repeats(where: Array, dims: Sequence[str], labels: Mapping[str, Any]) -> None:
    """A sentence for coordinates (n, N), sorted, that are there more than once."""
    same = np.flatnonzero((where[1:] == where[:-1]).all(axis=1))
    if len(same):
        at = zip(dims, where[same[0]], strict=True)
        key = ", ".join(f"{d}={labels[d][i] if d in labels else int(i)}" for d, i in at)
        msg = f"the entry ({key}) appears more than once; keep one row for each entry."
        raise ValueError(msg)


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
        for k, (where, values, weights) in enumerate(self.chunks()):
            keep = tally.take(where, values, weights)
            own = None if weights is None else weights[keep]
            store.append("kept", where[keep], values[keep].astype(dtype), own)
            if tell is not None:
                tell("numbering", min((k + 1) * CHUNK, store.rows))
        store.drop("raw")
        extract, held, digest = tally.finish(self.dims, self.labels)
        made = DiskPartitions(extract, held, digest, size_of_block=size_of_block, store=store, tell=tell)
        made._make(made.main)  # a repeated entry shows now
        return made

    def chunks(self) -> Iterator[tuple[Array, Array, Array | None]]:
        """All rows, a few at a time, with indices as the tensor has them."""
        for where, values, weights in self.store.chunks("raw", self.store.rows):
            for n, rank in enumerate(self.ranks):
                if rank is not None:
                    where[:, n] = rank[where[:, n]]
            yield where, values, weights


def fill(
    pieces: Iterable[Piece],
    dims: Sequence[str] | None = None,
    *,
    folder: str | None = None,
    shape: Sequence[int] | None = None,
    tell: Tell | None = None,
) -> Filled:
    """A store of all pieces; `tell` hears of every one."""
    store = Store(folder)
    try:
        return _fill(store, pieces, dims, shape, tell)
    except BaseException:
        store.remove()  # not when somebody forgets the error
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
        store.append("raw", where, piece.values.astype(np.float64, copy=False), piece.weights)
        with np.errstate(over="ignore"):
            store.exact = store.exact and bool((piece.values.astype(np.float32) == piece.values).all())
        store.rows += len(piece.values)
        if tell is not None:
            tell("reading", store.rows)
    if not store.rows:
        msg = "the data hold no observed value: no row, or everything is missing."
        raise ValueError(msg)
    return _filled(store, numberings, largest, dims, shape)


def _filled(
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
    if shape is None:  # told by the indices, of which one may be wrong
        ask_lengths(lengths)
    return Filled(store, tuple(numberings), tuple(lengths), labels, tuple(ranks), names)


def check_length(length: int) -> None:
    """A sentence for a mode that is longer than coordinates can be."""
    if length > LONGEST:
        msg = f"a mode may be up to {LONGEST:,} long here; got an index of {length - 1:,}."
        raise ValueError(msg)


def ask_lengths(lengths: Sequence[int]) -> None:
    """Refuse modes so long that what is kept for each slice takes too much memory."""
    ask(ROW * sum(lengths), f"a tensor of {' x '.join(f'{n:,}' for n in lengths)}")


def check_piece(piece: Piece, before: int) -> None:
    """Refuse values that are not finite, and weights that are not finite and > 0."""
    bad = np.flatnonzero(~np.isfinite(piece.values))
    if len(bad):
        msg = f"observed values must be finite; got {piece.values[bad[0]]} in row {before + int(bad[0]) + 1:,}."
        raise ValueError(msg)
    if piece.weights is not None:
        bad = np.flatnonzero(~(np.isfinite(piece.weights) & (piece.weights > 0)))
        if len(bad):
            msg = f"weights must be finite and > 0; got {piece.weights[bad[0]]} in row {before + int(bad[0]) + 1:,}."
            raise ValueError(msg)
