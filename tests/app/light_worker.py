"""A stand-in for a worker process, so that tests of the server start none."""

import asyncio
from pathlib import Path


class LightWorker:
    """Holds one file, as a worker process does: hands back what it last read, after a moment."""

    def __init__(self):
        self.alive, self.held = True, b""

    @staticmethod
    async def start(temporary):
        await asyncio.sleep(0.002)
        return LightWorker()

    async def call(self, method, **given):
        if method == "open":
            self.held = Path(given["path"]).read_bytes()
            await asyncio.sleep(0.001)
            return {"text": self.held.decode()}
        await asyncio.sleep(0.001)
        path = Path(given["folder"]) / "answer"
        path.write_bytes(self.held)
        return {"path": str(path), "name": "answer"}

    async def kill(self):
        self.alive = False
