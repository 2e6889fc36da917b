"""Sessions: one for each file that a browser has opened, with the worker process that holds it."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorfill.app.process import RequestError, WorkerProcess
from tensorfill.app.storage import PrivateFolder

TOLD = 0.6  # share of a run after which the time left is not told: a small error of the whole is a large one of it
UNSAFE = re.compile(r"[^\w.()+ -]+")


@dataclass(frozen=True)
class Limits:
    """How much is served at once.

    Parameters
    ----------
    upload : bytes of one file
    sessions, running : open files, and runs at the same time
    stalled : seconds without a byte after which an upload is given up
    idle : seconds without a sign of life after which a file is closed
    away : seconds that a file stays open for a page that was left (a reload comes back at once)
    silent : the same after which it may have to make room for another
    """

    upload: int = 512 << 20
    sessions: int = 6
    running: int = 2
    stalled: float = 30.0
    idle: float = 3600.0
    away: float = 60.0
    silent: float = 180.0  # browsers let pages in the background speak once a minute


@dataclass(eq=False)
class Session:
    """An open file: its folder, its worker process, and the state of its run."""

    name: str
    folder: Path
    worker: WorkerProcess
    state: str = "open"  # open, running, done, failed
    described: dict[str, Any] = field(default_factory=dict)  # the last description of the file
    news: dict[str, Any] = field(default_factory=dict)
    heard: float = field(default_factory=time.monotonic)
    left: float | None = None
    began: float = 0.0
    ended: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.worker.on_event = self.on_event

    @property
    def key(self) -> str:
        return self.folder.name

    @property
    def source(self) -> Path:
        """The upload, in a folder of its own: whatever its name, nothing else is ever written there."""
        return self.folder / "upload" / self.name

    def begin(self) -> None:
        """Note that a run starts."""
        self.state, self.news, self.began = "running", {}, time.monotonic()

    async def describe(self, method: str, **params: Any) -> dict[str, Any]:
        """Read the file or its mask anew; the answer so far no longer belongs to it."""
        described = await self.worker.call(method, **params)
        self.state, self.news, self.described = "open", {}, described | {"key": self.key}
        return self.described

    def on_event(self, event: str, values: dict[str, Any]) -> None:
        """Take in an event of the worker's run."""
        self.news |= values
        if event in ("done", "failed", "lost"):
            self.state, self.ended = ("done" if event == "done" else "failed"), time.monotonic()

    def status(self) -> dict[str, Any]:
        """The state of the run for the page, asked for several times a second."""
        now = self.ended if self.state in ("done", "failed") else time.monotonic()
        seconds = round(now - self.began, 2) if self.began else 0.0
        told = self.news.get("sure") and seconds < TOLD * self.news["expected"]
        left = round(self.news["expected"] - seconds, 1) if told else None
        return {"state": self.state, "seconds": seconds, "left": left, **self.news}

    def is_expired(self, limits: Limits) -> bool:
        """Has no page spoken of the file for long, or was its page left for good?"""
        now = time.monotonic()
        return now - self.heard > limits.idle or (self.left is not None and now - self.left > limits.away)

    async def close(self) -> None:
        """End the worker process and remove the folder."""
        await self.worker.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Sessions:
    """All sessions, and a spare worker process, so that the next file need not wait for Python to start."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.by_key: dict[str, Session] = {}
        self._starting = 0

    @asynccontextmanager
    async def serve(self, app: object) -> AsyncIterator[None]:
        """As long as the server runs; then end every worker process, and leave nothing on the disk."""
        self.storage = PrivateFolder()
        self._spare = self._start_worker()
        cleaner = asyncio.create_task(self._close_expired())
        try:
            yield
            cleaner.cancel()
            for session in list(self.by_key.values()):
                await self.close(session)
            await (await self._spare).kill()
        finally:  # also where no process could be started
            self.storage.remove()

    def new_folder(self) -> Path:
        """Make the folder of a session to come, with one for its upload."""
        folder = self.storage.path / secrets.token_urlsafe(9)
        (folder / "upload").mkdir(parents=True)  # within one that is private
        return folder

    async def make_room(self) -> None:
        """If too many files are open, close one whose page was left or fell silent; RequestError if there is none."""
        while len(self.by_key) + self._starting >= self.limits.sessions:
            silent = time.monotonic() - self.limits.silent
            idle = [s for s in self.by_key.values() if s.state != "running"]
            quiet = [s for s in idle if s.left is not None or s.heard < silent]
            if not quiet:
                msg = f"{self.limits.sessions} files are open already, which is the limit; close one in another page."
                raise RequestError(msg, code=429)
            await self.close(min(quiet, key=lambda s: s.heard))

    async def create(self, name: str, folder: Path) -> Session:
        """Open a session for an upload that has arrived in full."""
        await self.make_room()
        self._starting += 1
        try:
            worker = await self._take_worker()
        finally:
            self._starting -= 1
        session = self.by_key[folder.name] = Session(name, folder, worker)
        return session

    async def _take_worker(self) -> WorkerProcess:
        spare, self._spare = self._spare, self._start_worker()  # before anyone else can take it
        worker = await spare
        return worker if worker.alive else await self._start_worker()

    def _start_worker(self) -> asyncio.Task[WorkerProcess]:
        return asyncio.create_task(WorkerProcess.start(self.storage.path))

    def find(self, key: str) -> Session | None:
        """The session of that random key, which only the page that opened the file was given."""
        session = self.by_key.get(key)
        if session is not None:
            session.heard, session.left = time.monotonic(), None
        return session

    def running(self) -> int:
        return sum(session.state == "running" for session in self.by_key.values())

    async def close(self, session: Session) -> None:
        if self.by_key.pop(session.key, None) is not None:
            await session.close()

    async def _close_expired(self) -> None:
        while True:
            await asyncio.sleep(min(10.0, self.limits.idle, self.limits.away))
            for session in list(self.by_key.values()):
                if session.is_expired(self.limits):
                    await self.close(session)


def safe_name(name: str) -> str:
    """The name of an uploaded file, safe to have in a folder: no path, nothing hidden, not too long."""
    last = UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).lstrip(".") or "file"
    stem, dot, ending = last.rpartition(".")
    return last if len(last) <= 80 else f"{stem[: 79 - len(ending)]}{dot}{ending}"[:120]
