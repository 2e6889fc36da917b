"""Blocks on disk: a temporary store, filled once from pieces of any source, one file per block and array.

    pieces -> rows as they come (labels numbered) -> rows as the tensor has them, less those set aside -> blocks

Nothing here ever holds more than a block and a piece. The store is removed when nobody uses it any more, at the end of
the process, and, where that was killed, when the next one begins.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.blocks.base import Block, Partitions
from tensorfill.blocks.rows import Rows
from tensorfill.data.memory import words
from tensorfill.io.atomic import HOST, is_running
from tensorfill.io.formats.base import FileError
from tensorfill.typing import Array

Tell = Callable[[str, int], None]  # what is being done, and rows done so far

PREFIX = f"tensorfill-store-{HOST}-"  # with the machine: others may share the folder, and their processes are unknown
CHUNK = 2**20  # rows read at a time
SPARE = 2**28  # bytes that stay free on the disk


class Store:
    """A folder of rows in files. `exact`: does float32 hold every value?"""

    def __init__(self, folder: str | None = None) -> None:
        base = folder or tempfile.gettempdir()
        sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        self.ndim, self.rows, self.exact, self.weighted = 0, 0, True, False

    @contextmanager
    def removed_on_failure(self) -> Iterator[None]:
        """Whatever goes wrong inside removes the store: at once, since the traceback would keep it alive."""
        try:
            yield
        except BaseException:
            self.remove()
            raise

    def append(self, name: str, rows: Rows) -> None:
        """Add rows to the part `name`."""
        need = rows.indices.nbytes + rows.values.nbytes
        if need + SPARE > shutil.disk_usage(self.path).free:
            msg = (
                f"the temporary store in {self.path.parent} is full: {words(need + SPARE)} more are needed. Set TMPDIR "
                "to a folder with room: about 70 bytes for each observation of a tensor of three modes."
            )
            raise FileError(msg)
        for kind, array in zip("ivw", rows, strict=True):
            if array is not None:
                with open(self.path / f"{name}.{kind}", "ab") as file:
                    np.ascontiguousarray(array).tofile(file)

    def read(self, name: str, start: int = 0, count: int = -1, values: Any = np.float64) -> Rows:
        """Rows start ... start + count of a part; all by default."""
        N = self.ndim
        where = np.fromfile(
            self.path / f"{name}.i", np.int32, count if count < 0 else N * count, offset=4 * N * start
        ).reshape(-1, N)
        size = np.dtype(values).itemsize
        numbers = np.fromfile(self.path / f"{name}.v", values, count, offset=size * start)
        weights = np.fromfile(self.path / f"{name}.w", np.float64, count, offset=8 * start) if self.weighted else None
        return Rows(where, numbers, weights)

    def drop(self, name: str) -> None:
        """Remove a part."""
        for kind in "ivw":
            with suppress(FileNotFoundError):
                (self.path / f"{name}.{kind}").unlink()

    def chunks(self, name: str, rows: int, values: Any = np.float64) -> Iterator[Rows]:
        """A part of so many rows, a few at a time."""
        for start in range(0, rows, CHUNK):
            yield self.read(name, start, min(CHUNK, rows - start), values)


def sweep(folder: str) -> None:
    """Remove the stores of processes that no longer run."""
    for path in Path(folder).glob(f"{PREFIX}*"):
        pid = path.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not is_running(int(pid)):
            shutil.rmtree(path, ignore_errors=True)  # that of another user cannot be removed


@dataclass(frozen=True, eq=False)
class DiskPartitions(Partitions):
    """Observations on disk, of which one block at a time is in memory."""

    store: Store = field(kw_only=True, repr=False)
    copies: set[int] = field(default_factory=set, repr=False)
    tell: Tell | None = field(default=None, repr=False)

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float32 if self.store.exact else np.float64)

    def blocks(self, mode: int) -> Iterator[Block]:
        self.make_copy(mode)
        for k in range(len(self.edges(mode)) - 1):
            yield self.block(mode, k)

    def block(self, mode: int, k: int) -> Block:
        """Block k of the copy along `mode`, which is there."""
        first, last = self.edges(mode)[k : k + 2]
        return Block.of(self.store.read(f"m{mode}-{k}", values=self.dtype), mode, first, last)

    def make_copy(self, mode: int) -> None:
        """Write the copy along `mode`: rows are distributed to blocks, then each block is sorted."""
        if mode in self.copies:
            return
        edges, done = self.edges(mode), 0
        for rows in self.store.chunks("kept", self.nnz, self.dtype):
            for k, part in enumerate(rows.deal(mode, edges)):
                if len(part.values):
                    self.store.append(f"m{mode}-{k}", part)
            done += len(rows.values)
            if self.tell is not None:
                self.tell(f"sorting along {self.sample.dims[mode]}", done)
        for number in range(len(edges) - 1):
            rows = self.store.read(f"m{mode}-{number}", values=self.dtype).sort(mode)
            refuse_repeats(rows.indices, self.sample.dims, self.sample.labels)
            self.store.drop(f"m{mode}-{number}")
            self.store.append(f"m{mode}-{number}", rows)
        self.copies.add(mode)

    def settle(self) -> None:
        self.make_copy(self.main)
        for mode in self.copies - {self.main}:
            for k in range(len(self.edges(mode)) - 1):
                self.store.drop(f"m{mode}-{k}")
        self.store.drop("kept")
        self.copies.intersection_update({self.main})

    def close(self) -> None:
        self.store.remove()


def refuse_repeats(where: Array, dims: Sequence[str], labels: Mapping[str, Any]) -> None:
    """Raise ValueError if the sorted coordinates (n, N) hold one more than once."""
    same = np.flatnonzero((where[1:] == where[:-1]).all(axis=1))
    if len(same):
        at = zip(dims, where[same[0]], strict=True)
        key = ", ".join(f"{d}={labels[d][i] if d in labels else int(i)}" for d, i in at)
        msg = f"the entry ({key}) appears more than once; keep one row for each entry."
        raise ValueError(msg)
