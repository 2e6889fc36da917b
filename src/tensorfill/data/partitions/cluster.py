"""Blocks with the workers of a Dask cluster: read, numbered and sorted there once, and worked on where they lie.

    source -> piece -> rows as the tensor has them -> a part for each block -> blocks        all of it tasks on workers

What all blocks share goes to every worker once per evaluation, rows go to and come from the block that owns them, and
sums are added in pairs on the workers. A block is the result of tasks that the scheduler remembers: those of a worker
that dies are made again from their source. `distributed` is imported only where a cluster is in use.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.partitions import tasks
from tensorfill.data.partitions.base import BLOCK, Partitions, Work
from tensorfill.data.partitions.batches import Batch, shuffled
from tensorfill.data.partitions.disk import ask_lengths, check_length
from tensorfill.data.partitions.draw import Draw
from tensorfill.data.partitions.labels import Numbering
from tensorfill.data.partitions.pieces import Piece

Array = NDArray[Any]

ATTEMPTS = 5  # at an evaluation, as long as there is a scheduler
BLOCKS = 2  # for each thread of the cluster at least, so that all have work
SMALL = 2**16  # bytes that go along with every task; more goes to a worker once
KNOCK = 2.0  # seconds


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


# --- the home -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClusterPartitions(Partitions):
    """Observations with the workers of a Dask cluster.

    Blocks that follow one another lie with one worker, as many with each as it has threads for: sums of neighbours,
    which come first, need no wire.
    """

    client: Any = field(default=None, repr=False)
    rows: Sequence[Any] = field(default=(), repr=False)  # futures of Rows
    copies: dict[int, list[Any]] = field(default_factory=dict, repr=False)  # by mode: futures of Blocks
    batches: dict[tuple[int, int], list[Any]] = field(default_factory=dict, repr=False)  # futures of Shuffled
    direct: bool = True  # can workers be talked to without the scheduler in between?

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
        return _survived(self.client, lambda: self._gather(work, shared, mode, own, keep, batch))

    def _gather(
        self, work: Work, shared: Any, mode: int, own: Sequence[Any] | None, keep: bool, batch: Batch | None
    ) -> tuple[Any, list[Any]]:
        from dask.sizeof import sizeof

        client = self.client
        blocks, homes = self._blocks(mode)
        if batch is not None:
            blocks = self._shuffled(mode, batch.of, blocks, homes)
        if large := sizeof(shared) > SMALL:
            shared = client.scatter(shared, hash=False, direct=self.direct)  # to one worker, from which others have it
        each = [None] * len(blocks) if own is None else self._dealt(own, homes)
        done = [
            client.submit(tasks.apply, work, block, shared, mine, batch, pure=False, **_at(home))
            for block, mine, home in zip(blocks, each, homes, strict=True)
        ]
        sums = [client.submit(tasks.take, pair, 0, pure=False) for pair in done]
        parts = [client.submit(tasks.take, pair, 1, pure=False) for pair in done]
        while len(sums) > 1:  # in pairs, always the same ones: the same rounding every time
            pairs = [client.submit(tasks.plus, a, b, pure=False) for a, b in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + ([sums[-1]] if len(sums) % 2 else [])
        if not keep:
            total, *own_parts = client.gather([sums[0], *parts], direct=self.direct)
            return total, own_parts
        total = client.gather(sums[0], direct=self.direct)
        if large:  # what was sent for it is gone with a worker, and so is what was made of it
            self._twice(parts)
        return total, parts

    def place(self, mode: int, A: Array) -> list[Any]:
        """Handles (futures) of the rows of A, each with its block."""

        def task() -> list[Any]:
            parts = self._dealt(self.own(mode, A), self._blocks(mode)[1])
            self._twice(parts)
            return parts

        return _survived(self.client, task)

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        return _survived(self.client, lambda: self.client.gather(list(handles), direct=self.direct))

    def secure(self, handles: Sequence[Any]) -> Sequence[Any]:
        _survived(self.client, lambda: self._twice(handles))
        return handles

    @property
    def room(self) -> float:
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return min((w["memory_limit"] or math.inf for w in workers), default=math.inf)

    def _twice(self, parts: Sequence[Any]) -> None:
        """With two workers each, so that the death of one is survived."""
        from distributed import wait

        wait(parts)
        if len(self.client.nthreads()) > 1:
            self.client.replicate(list(parts), n=2)

    def _dealt(self, own: Sequence[Any], homes: Sequence[str]) -> list[Any]:
        """What each block alone is given, with it; handles are there already."""
        from distributed import Future

        if any(isinstance(v, Future) for v in (own[0] if isinstance(own[0], tuple) else own[:1])):
            return list(own)
        client = self.client

        async def send(home: str) -> dict[int, Any]:
            mine = [k for k, h in enumerate(homes) if h == home]
            what = [own[k] for k in mine]
            there = await client.scatter(what, workers=[home], hash=False, direct=self.direct, asynchronous=True)
            return dict(zip(mine, there, strict=True))

        async def send_all() -> list[dict[int, Any]]:
            return await asyncio.gather(*map(send, dict.fromkeys(homes)))

        found: dict[int, Any] = {}
        for some in client.sync(send_all):
            found |= some
        return [found[k] for k in range(len(own))]

    def _blocks(self, mode: int) -> tuple[list[Any], list[str]]:
        """(futures of the blocks along a mode, the workers that have them, or shall)."""
        client = self.client
        alive = client.nthreads()
        if mode not in self.copies:
            edges = self.edges(mode)
            split = [client.submit(tasks.dealt, rows, mode, edges, pure=False) for rows in self.rows]
            self.copies[mode] = [
                client.submit(
                    tasks.joined,
                    [client.submit(tasks.take, parts, k, pure=False) for parts in split],
                    mode,
                    a,
                    b,
                    self.extract.dims,
                    pure=False,
                    **_at(home),
                )
                for k, ((a, b), home) in enumerate(zip(pairwise(edges), shares(alive, len(edges) - 1), strict=True))
            ]
        blocks = self.copies[mode]
        there = client.who_has(blocks)
        planned = shares(alive, len(blocks))
        found = [next((w for w in there.get(b.key, ()) if w in alive), p) for b, p in zip(blocks, planned, strict=True)]
        return blocks, found

    def _shuffled(self, mode: int, batches: int, blocks: Sequence[Any], homes: Sequence[str]) -> list[Any]:
        if (mode, batches) not in self.batches:
            self.batches.clear()  # one number of batches at a time is enough
            self.batches[mode, batches] = [
                self.client.submit(shuffled, block, batches, pure=False, **_at(home))
                for block, home in zip(blocks, homes, strict=True)
            ]
        return self.batches[mode, batches]

    def settle(self) -> None:
        for mode in set(self.copies) - {self.main}:
            del self.copies[mode]
        self.batches.clear()

    def close(self) -> None:
        self.copies.clear()
        self.batches.clear()


def shares(threads: Mapping[str, int], blocks: int) -> list[str]:
    """Which worker has which block: ranges, as long as its share of all threads."""
    if not threads:
        msg = "no worker is there"
        raise OSError(msg)
    each = [worker for worker in sorted(threads) for _ in range(threads[worker])]
    return [each[k * len(each) // blocks] for k in range(blocks)]


def _at(home: str) -> dict[str, Any]:
    return {"workers": [home], "allow_other_workers": True}


def reachable(client: Any) -> bool:
    """Can this process talk to the workers itself? Those of some clusters are behind the scheduler."""
    from distributed.comm import connect

    async def knock(address: str) -> None:
        comm = await connect(address, timeout=KNOCK, **client.connection_args)
        await comm.close()

    try:
        for address in list(client.nthreads())[:1]:
            client.sync(knock, address)
    except (OSError, TimeoutError):
        return False
    return True


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
            client.submit(tasks.rows_of, piece, number, fitted, self.shape, dtype, pure=False)
            for piece, number in zip(self.pieces, self.numbers, strict=True)
        ]
        rows = [client.submit(tasks.take, pair, 0, pure=False) for pair in made]
        tallies = client.gather([client.submit(tasks.take, pair, 1, pure=False) for pair in made])
        tally = tallies[0]
        for other in tallies[1:]:
            tally.merge(other)
        extract, held, digest = tally.finish(self.dims, self.labels)
        threads = max(1, sum(client.nthreads().values()))
        inside = extract.nnz - (0 if held is None else len(held.values))
        each = max(BLOCKS, math.ceil(inside / (size_of_block * threads)))  # blocks: as many for every thread
        size = max(1, inside // (each * threads))
        return ClusterPartitions(
            extract, held, digest, size_of_block=size, threads=1, client=client, rows=rows, direct=reachable(client)
        )

    def local(self) -> Iterator[Piece]:
        """The pieces, here."""
        yield from (piece for piece in self.client.gather(list(self.pieces)) if piece is not None)


def on_cluster(
    client: Any, pieces: Sequence[Any], dims: Sequence[str] | None, shape: Sequence[int] | None = None
) -> OnCluster:
    """Number the labels of pieces (futures), in the order in which a single machine would."""
    known = client.gather([client.submit(tasks.about, piece, pure=False) for piece in pieces])
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
