"""Eight visitors of the page at once: slow and huge uploads, downloads, stops and closings race, each to its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "app"))
from light_worker import LightWorker

from attack.arena import Wrong
from tensorfill.app.process import RequestError, WorkerProcess
from tensorfill.app.serve import hosts
from tensorfill.app.server import create_app
from tensorfill.app.sessions import Limits

TOKEN, PORT, VISITORS, ROUNDS = "key", 4325, 8, 6
LARGEST = 2**20  # bytes of an upload
HOME = f"http://127.0.0.1:{PORT}/{TOKEN}/"
ODD = [
    "/files/nobody/close",
    "/files/../../etc/passwd",
    "/files?name=" + "a" * 5000,
    "/files/%00/download/mask",
    "/nothing",
]


class Racing(LightWorker):
    """As a worker process, which tells the server of errors: its folder may be gone, and it may have been ended."""

    @staticmethod
    async def start(temporary: Path) -> Racing:
        await asyncio.sleep(0.002)
        return Racing()

    async def call(self, method: str, **given: Any) -> Any:
        try:
            return {} if method == "stop" else await super().call(method, **given)
        except OSError:
            msg = "the file was closed."
            raise RequestError(msg, code=410) from None


class Cases:
    """Case k: eight visitors, each of whom does what the k-th seed says."""

    hang = 60.0

    def __init__(self, seed: int) -> None:
        self.seed = seed
        WorkerProcess.start = Racing.start  # type: ignore[method-assign]

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        return f"#{k}", lambda: asyncio.run(self.use(k))

    async def use(self, k: int) -> None:
        app = create_app(token=TOKEN, hosts=hosts(PORT), limits=Limits(sessions=VISITORS, upload=LARGEST, stalled=1.0))
        async with app.router.lifespan_context(app):
            seeds = np.random.SeedSequence([self.seed, k]).spawn(VISITORS)
            await asyncio.gather(*(visit(app, n, np.random.default_rng(s)) for n, s in enumerate(seeds)))
            left = sorted(path.name for path in app.state.sessions.storage.path.iterdir())
            if left != ["lock"]:
                raise Wrong(f"all files are closed, and {left} are left")


async def parts(many: int, *, stops: bool = False) -> AsyncIterator[bytes]:
    """A body that comes slowly: in many parts, or not to its end."""
    for _ in range(many):
        yield bytes(2**16)
        await asyncio.sleep(0)
    if stops:
        await asyncio.sleep(60.0)


async def refused(browser: httpx.AsyncClient, rng: np.random.Generator) -> None:
    """An upload that is too large, or never ends."""
    stops = rng.random() < 0.2
    body = parts(int(rng.integers(9)), stops=True) if stops else parts(LARGEST // 2**16 + 1)
    answer = await browser.post(f"{HOME}files?name=b.csv", content=body)
    if answer.status_code != (408 if stops else 413):
        raise Wrong(f"an upload that {'stops' if stops else 'is too large'} gave {answer.status_code}")


async def visit(app: Any, number: int, rng: np.random.Generator) -> None:
    """Open files, race the calls about them, close."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=HOME) as browser:
        await browser.get(HOME)
        for k in range(ROUNDS):
            if rng.random() < 0.2:
                await refused(browser, rng)
            own = f"visitor {number}, round {k}, ".encode() * int(rng.integers(1, 2000))
            opened = await browser.post(f"{HOME}files?name=a{number}.csv", content=own)
            if opened.status_code != 200:
                raise Wrong(f"upload refused with {opened.status_code}: {opened.text[:80]}")
            key = opened.json()["key"]
            calls = [browser.get(f"{HOME}files/{key}/download/mask") for _ in range(int(rng.integers(1, 4)))]
            if rng.random() < 0.5:
                calls.append(browser.post(f"{HOME}files/{key}/stop"))
            if rng.random() < 0.3:
                calls.append(browser.get(HOME.rstrip("/") + ODD[int(rng.integers(len(ODD)))]))
            if rng.random() < 0.3:
                calls.append(browser.post(f"{HOME}files/{key}/close"))
            for answer in await asyncio.gather(*calls):
                mine = answer.url.path.endswith("download/mask") and key in answer.url.path
                if answer.status_code >= 500 or (mine and answer.status_code == 200 and answer.content != own):
                    raise Wrong(f"{answer.url.path[:60]} gave {answer.status_code}: {answer.content[:80]!r}")
            await browser.post(f"{HOME}files/{key}/close")
