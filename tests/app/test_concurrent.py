"""Many visitors at once: nobody ever sees a byte of another's file. Light workers stand in for the processes."""

import asyncio

import pytest
from light_worker import LightWorker

pytest.importorskip("starlette", reason="the extra [app] is not installed")
import httpx2 as httpx

from tensorfill.app.process import WorkerProcess
from tensorfill.app.serve import hosts
from tensorfill.app.server import create_app
from tensorfill.app.sessions import Limits

TOKEN, PORT = "key", 4324
HOME = f"http://127.0.0.1:{PORT}/{TOKEN}/"
VISITORS, ROUNDS = 8, 20


async def visit(app, number, made):
    """Open a file, download what the worker holds, close; many times."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url=HOME) as browser:
        await browser.get(HOME)
        for k in range(ROUNDS):
            own = f"visitor {number}, round {k}".encode()
            opened = (await browser.post(f"{HOME}files?name=a{number}.csv", content=own)).json()
            assert opened["text"].encode() == own
            got = await browser.get(f"{HOME}files/{opened['key']}/download/mask")
            assert got.content == own
            made.add(opened["key"])
            assert (await browser.post(f"{HOME}files/{opened['key']}/close")).status_code == 200


def test_every_visitor_gets_their_own_bytes(monkeypatch):
    monkeypatch.setattr(WorkerProcess, "start", LightWorker.start)
    made = set()

    async def all_at_once():
        app = create_app(token=TOKEN, hosts=hosts(PORT), limits=Limits(sessions=VISITORS))
        async with app.router.lifespan_context(app):
            await asyncio.gather(*(visit(app, number, made) for number in range(VISITORS)))

    asyncio.run(all_at_once())
    assert len(made) == VISITORS * ROUNDS
