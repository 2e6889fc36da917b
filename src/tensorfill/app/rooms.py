"""Rooms: one for each file that a browser has opened, with the child that holds it. Each belongs to a session."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorfill.app.child import Child, Refused

UNSAFE = re.compile(r"[^\w.()+ -]+")


@dataclass(frozen=True)
class Limits:
    """How much is served at once: bytes of an upload, files open, runs at the same time, seconds until an unused file
    is closed.
    """

    upload: int = 512 << 20
    rooms: int = 6
    running: int = 2
    idle: float = 3600.0


@dataclass(eq=False)
class Room:
    """A file, its folder, its child, and what is known of its run."""

    key: str
    session: str
    name: str
    folder: Path
    child: Child
    state: str = "open"  # open, running, done, failed
    news: dict[str, Any] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)
    began: float = 0.0
    ended: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.child.news = self.hear

    def begin(self) -> None:
        """A run starts."""
        self.state, self.news, self.began = "running", {}, time.monotonic()

    def hear(self, message: dict[str, Any]) -> None:
        """News of the run, of the child's own accord."""
        kind = message.pop("is")
        self.news |= message
        if kind in ("done", "failed", "lost"):
            self.state, self.ended = ("done" if kind == "done" else "failed"), time.monotonic()

    def status(self) -> dict[str, Any]:
        """What the page is told, twice a second and more."""
        now = self.ended if self.state in ("done", "failed") else time.monotonic()
        return {"state": self.state, "seconds": round(now - self.began, 2) if self.began else 0, **self.news}

    @property
    def source(self) -> Path:
        return self.folder / self.name

    async def close(self) -> None:
        """Give everything back."""
        await self.child.end()
        shutil.rmtree(self.folder, ignore_errors=True)


class House:
    """All rooms, and a child that stands by, so that the next file need not wait for Python to start."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.rooms: dict[str, Room] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="tensorfill-app-"))  # for this user's eyes only
        self._spare: asyncio.Task[Child] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._coming = 0

    async def open(self) -> None:
        self._spare = asyncio.create_task(Child.start())
        self._keeper = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """End every child, and leave nothing on the disk."""
        if self._keeper is not None:
            self._keeper.cancel()
        if self._spare is not None:
            await (await self._spare).end()
        for room in list(self.rooms.values()):
            await self.leave(room)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def enter(self, session: str, name: str) -> Room:
        """A room for a new file; Refused where there are too many."""
        if len(self.rooms) + self._coming >= self.limits.rooms:
            msg = f"{self.limits.rooms} files are open already, which is the limit; start over in another page."
            raise Refused(msg, code=429)
        self._coming += 1
        try:
            child = await self._next_child()
        finally:
            self._coming -= 1
        key = secrets.token_urlsafe(9)
        folder = self.folder / key
        folder.mkdir(mode=0o700)
        room = self.rooms[key] = Room(key, session, plain_name(name), folder, child)
        return room

    async def _next_child(self) -> Child:
        assert self._spare is not None
        child, self._spare = await self._spare, asyncio.create_task(Child.start())
        return child if child.process.returncode is None else await Child.start()

    def find(self, session: str, key: str) -> Room | None:
        """The room of that key, for those whose it is."""
        room = self.rooms.get(key)
        if room is None or not session or not secrets.compare_digest(room.session, session):
            return None
        room.used = time.monotonic()
        return room

    def running(self) -> int:
        return sum(room.state == "running" for room in self.rooms.values())

    async def leave(self, room: Room) -> None:
        if self.rooms.pop(room.key, None) is not None:
            await room.close()

    def unused(self) -> Iterator[Room]:
        """Rooms that nobody has asked about for long."""
        limit = time.monotonic() - self.limits.idle
        return (room for room in list(self.rooms.values()) if room.used < limit)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(min(60.0, self.limits.idle))
            for room in self.unused():
                await self.leave(room)


def plain_name(name: str) -> str:
    """The name of an uploaded file, safe to have in a folder: no path, nothing hidden, not too long."""
    last = UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).lstrip(".") or "file"
    stem, dot, ending = last.rpartition(".")
    return last if len(last) <= 80 else f"{stem[: 79 - len(ending)]}{dot}{ending}"[:120]
