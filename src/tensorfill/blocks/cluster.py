"""Blocks with the workers of a Dask cluster, and worked on where they lie.

Data are read, numbered and sorted here, as without a cluster; the blocks go to the workers once. What all blocks share
goes to every worker once per evaluation, rows go to and come from the block that owns them, and sums are added in pairs
on the workers. Blocks of a worker that dies are sent again. `distributed` is imported only where a cluster is in use.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from operator import getitem
from typing import Any

from tensorfill.blocks.base import Work, add
from tensorfill.blocks.disk import DiskPartitions

ATTEMPTS = 5  # at an evaluation, as long as there is a scheduler
BLOCKS = 2  # for each thread of the cluster at least, so that all have work
SMALL = 2**16  # bytes that go along with every task; more goes to a worker once
PATIENCE = 30.0  # seconds between two looks at the workers while nothing comes from them
KNOCK = 2.0  # seconds to wait for a worker to answer


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


# --- blocks on workers --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClusterPartitions(DiskPartitions):
    """Observations with the workers of a Dask cluster; the store on disk here is what they come from, and come from
    again when a worker dies.

    Consecutive blocks are with one worker, as many with each as it has threads for, so that most sums of two
    neighbouring blocks need no transfer.
    """

    client: Any = field(default=None, repr=False)
    there: dict[int, list[Any]] = field(default_factory=dict, repr=False)  # by mode: futures of Blocks
    direct: bool = True  # can workers be talked to without the scheduler in between?

    def gather(self, work: Work, shared: Any, mode: int, own: Sequence[Any] | None = None) -> tuple[Any, list[Any]]:
        return _retry(self.client, lambda: self._gather(work, shared, mode, own))

    def _gather(self, work: Work, shared: Any, mode: int, own: Sequence[Any] | None) -> tuple[Any, list[Any]]:
        from dask.sizeof import sizeof

        client, submit = self.client, self._submit
        blocks, homes = self.send_blocks(mode)
        if sizeof(shared) > SMALL:
            shared = client.scatter(shared, hash=False, direct=self.direct)  # to one worker, from which others have it
        each = [None] * len(blocks) if own is None else self._send(own, homes)
        done = [submit(home, work, b, shared, mine) for b, mine, home in zip(blocks, each, homes, strict=True)]
        sums, parts = ([submit(home, getitem, pair, k) for pair, home in zip(done, homes, strict=True)] for k in (0, 1))
        while len(sums) > 1:  # in pairs, always the same ones: the same rounding every time
            neighbours = zip(sums[::2], sums[1::2], homes[::2], strict=False)
            pairs = [submit(home, add, a, b) for a, b, home in neighbours]
            sums, homes = pairs + ([sums[-1]] if len(sums) % 2 else []), homes[::2]
        total, *own_parts = collect(client, [sums[0], *parts], direct=self.direct)
        return total, own_parts

    def _submit(self, home: str, function: Callable[..., Any], *given: Any) -> Any:
        """A future of function(*given), at that worker if it is there."""
        return self.client.submit(function, *given, pure=False, workers=[home], allow_other_workers=True)

    def _send(self, own: Sequence[Any], homes: Sequence[str]) -> list[Any]:
        """Send each block's own data to the worker that holds the block."""
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

    def send_blocks(self, mode: int) -> tuple[list[Any], list[str]]:
        """(futures of the blocks along a mode, the worker that has each of them): sent where they are not there yet, or
        no longer.
        """
        self.make_copy(mode)
        client, K = self.client, len(self.edges(mode)) - 1
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ClusterError(LEFT) from error
        alive = client.nthreads()
        blocks, homes = self.there.setdefault(mode, [None] * K), assign_workers(alive, K)
        there = client.who_has([b for b in blocks if b is not None and b.status == "finished"])
        for k, block in enumerate(blocks):
            having = () if block is None else [w for w in there.get(block.key, ()) if w in alive]
            if having:
                homes[k] = having[0]
            else:
                blocks[k] = client.scatter(self.block(mode, k), workers=[homes[k]], hash=False, direct=self.direct)
        return blocks, homes

    def settle(self) -> None:
        super().settle()
        for mode in set(self.there) - {self.main}:
            del self.there[mode]

    def close(self) -> None:
        self.there.clear()
        super().close()


def block_size(client: Any, count: int, most: int) -> int:
    """Observations in a block, of so many in all: as many blocks for every thread, a power of two, so that sums in
    pairs are of one worker's for as long as can be.
    """
    threads = max(1, sum(client.nthreads().values()))
    each = 2 ** math.ceil(math.log2(max(BLOCKS, count / (most * threads))))
    return max(1, count // (each * threads))


def assign_workers(threads: Mapping[str, int], blocks: int) -> list[str]:
    """Which worker has which block: ranges, as long as its share of all threads."""
    each = [worker for worker in sorted(threads) for _ in range(threads[worker])]
    return [each[k * len(each) // blocks] for k in range(blocks)]


def can_reach_workers(client: Any) -> bool:
    """Can this process connect to the workers directly? In some clusters only the scheduler can."""
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


PAUSED = "every worker of the Dask cluster has paused for lack of memory; give them more, or take more of them."
LEFT = "no worker is left in the Dask cluster; start some, with the version of tensorfill that is installed here."
GONE = (
    "the Dask cluster no longer answers; start it again and go on from the checkpoint: resume=True, or --resume. "
    "Without checkpoint=... begin anew."
)


def collect(client: Any, futures: Sequence[Any], **how: Any) -> list[Any]:
    """What comes of futures."""
    await_results(client, futures)
    return list(client.gather(list(futures), **how))


def await_results(client: Any, futures: Sequence[Any]) -> None:
    """Wait for futures, as long as there is a worker to work: Dask would wait for ever for one that has no memory left,
    or that left because it could not read what it was sent.
    """
    from distributed import TimeoutError as LateError
    from distributed import wait

    idle = False
    while True:
        try:
            wait(futures, timeout=PATIENCE)
            return
        except LateError:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            was_idle, idle = idle, all(worker["status"] != "running" for worker in workers)
            if idle and was_idle:
                raise ClusterError(PAUSED if workers else LEFT) from None


@contextmanager
def cluster_errors(client: Any) -> Iterator[None]:
    """Whatever goes wrong inside because the cluster is gone becomes a ClusterError."""
    from distributed import CancelledError

    try:
        yield
    except ClusterError:
        raise
    except (Exception, CancelledError) as error:
        cancelled = isinstance(error, CancelledError) or "Cancelled" in type(error).__name__
        if client.status == "running" and not cancelled:
            raise
        raise ClusterError(GONE) from error


def _retry(client: Any, task: Callable[[], Any]) -> Any:
    """The result of the task, called anew up to ATTEMPTS times if a worker died meanwhile."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    lost: tuple[type[BaseException], ...] = (CancelledError, KilledWorker, CommClosedError, OSError)
    with cluster_errors(client):
        for _ in range(ATTEMPTS):
            if client.status == "running":
                with suppress(*lost):
                    return task()
    raise ClusterError(GONE)
