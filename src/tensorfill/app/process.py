"""A worker process as the server sees it: every call gets one reply, and events arrive in between."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

HEADER = struct.Struct(">Q")  # a message is its length in bytes, then so many bytes of JSON: no line is too long
LOST = "the process that held this file ended, most likely because memory ran out; open a smaller file, or part of it."


class RequestError(Exception):
    """A request that cannot be met, as one sentence for the page; `more` helps it to ask for what is needed."""

    def __init__(self, sentence: str, code: int = 422, **more: Any) -> None:
        super().__init__(sentence)
        self.sentence, self.code, self.more = sentence, code, more


class WorkerProcess:
    """One process of `tensorfill.app.worker`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.on_event: Callable[[str, dict[str, Any]], None] = lambda event, values: None
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0
        self._lost = False
        self._reader = asyncio.create_task(self._read())

    @staticmethod
    async def start(temporary: Path) -> WorkerProcess:
        """Start a process outside of the terminal's process group: Ctrl-C there reaches the server alone. Temporary
        files of libraries go where the server removes them, however the process ends.
        """
        options: dict[str, Any] = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
        if sys.platform == "win32":
            options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
        else:
            options["start_new_session"] = True
        options["env"] = {**os.environ, "MPLBACKEND": "Agg", **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))}
        return WorkerProcess(
            await asyncio.create_subprocess_exec(sys.executable, "-m", "tensorfill.app.worker", **options)
        )

    @property
    def alive(self) -> bool:
        return not self._lost and self.process.returncode is None

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the workspace and return its reply; raises RequestError with the worker's refusal."""
        self._count += 1
        reply = self._pending[self._count] = asyncio.get_running_loop().create_future()
        self.notify(method, id=self._count, **params)
        return await reply

    def notify(self, method: str, *, id: int = 0, **params: Any) -> None:
        """Send a message that needs no reply."""
        assert self.process.stdin is not None
        if not self.alive or self.process.stdin.is_closing():
            self._lose()
            return
        self.process.stdin.write(json.dumps({"method": method, "id": id, "params": params}).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        with suppress(asyncio.IncompleteReadError, ConnectionError, ValueError):
            while True:
                (size,) = HEADER.unpack(await self.process.stdout.readexactly(HEADER.size))
                self._receive(**json.loads(await self.process.stdout.readexactly(size)))
        self._lose()

    def _receive(self, event: str, id: int, **values: Any) -> None:
        reply = self._pending.pop(id, None)
        if reply is None:
            self.on_event(event, values)
        elif not reply.done() and event == "error":
            reply.set_exception(RequestError(values["sentence"], **values.get("more", {})))
        elif not reply.done():
            reply.set_result(values)

    def _lose(self) -> None:
        self._lost = True
        for reply in self._pending.values():
            if not reply.done():
                reply.set_exception(RequestError(LOST))
        self._pending.clear()
        self.on_event("lost", {"sentence": LOST})

    async def kill(self) -> None:
        """End the process now, and free all it holds."""
        self.on_event = lambda event, values: None
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader
        self._lose()
