"""A child process as the server sees it: each question has one answer; the child also sends news of its own accord."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

LONGEST = 1 << 24  # bytes of a line; what is larger goes through files
LOST = "the process that held this file ended, most likely for want of memory; open a smaller file, or less of it."


class Refused(Exception):
    """What the child could not do, as one sentence for the page; `more` is what the page can make of it."""

    def __init__(self, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.sentence, self.more = sentence, more


class Child:
    """One process of `tensorfill.app.worker`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.news: Callable[[dict[str, Any]], None] = lambda message: None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0
        self._reader = asyncio.create_task(self._read())

    @staticmethod
    async def start() -> Child:
        """A new child, outside of the terminal's process group: Ctrl-C there reaches the server alone."""
        options: dict[str, Any] = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
        if sys.platform == "win32":
            options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
        else:
            options["start_new_session"] = True
        command = (sys.executable, "-m", "tensorfill.app.worker")
        env = {**os.environ, "MPLBACKEND": "Agg"}
        return Child(await asyncio.create_subprocess_exec(*command, **options, env=env, limit=LONGEST))

    async def ask(self, do: str, **given: Any) -> dict[str, Any]:
        """The answer to a question; raises Refused if the child could not do what was asked."""
        self._count += 1
        answer = self._waiting[self._count] = asyncio.get_running_loop().create_future()
        self.tell(do, number=self._count, **given)
        return await answer

    def tell(self, do: str, **given: Any) -> None:
        """Say something that needs no answer."""
        assert self.process.stdin is not None
        if self.process.stdin.is_closing() or self.process.returncode is not None:
            self._lose()
            return
        self.process.stdin.write(json.dumps({"do": do, **given}).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        with suppress(ValueError, ConnectionError):
            while line := await self.process.stdout.readline():
                message = json.loads(line)
                waiting = self._waiting.pop(message.get("to", 0), None)
                if waiting is None:
                    self.news(message)
                elif not waiting.done() and message["is"] == "refused":
                    waiting.set_exception(Refused(message["sentence"], **message.get("more", {})))
                elif not waiting.done():
                    waiting.set_result(message)
        self._lose()

    def _lose(self) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Refused(LOST))
        self._waiting.clear()
        self.news({"is": "lost", "sentence": LOST})

    async def end(self) -> None:
        """End it now, and with it all it holds."""
        self.news = lambda message: None
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader
        self._lose()
