"""Odd names, odd requests, slow uploads, reloads, and what a killed server leaves behind."""

import asyncio
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette", reason="the extra [app] is not installed")
import httpx2 as httpx
from light_worker import LightWorker
from starlette.testclient import TestClient

from tensorfill.app import serve, storage
from tensorfill.app.process import RequestError, WorkerProcess
from tensorfill.app.server import create_app
from tensorfill.app.sessions import Limits
from tensorfill.app.worker import Worker
from tensorfill.app.workspace import Workspace
from tensorfill.io.files import FileError

TOKEN, PORT = "key", 4325
HOME = f"http://127.0.0.1:{PORT}/{TOKEN}/"


def make_app(**limits):
    return create_app(token=TOKEN, hosts=serve.hosts(PORT), code="once", limits=Limits(**limits))


@pytest.fixture
def light(monkeypatch):
    monkeypatch.setattr(WorkerProcess, "start", LightWorker.start)


def visit(visitor, **limits):
    """Run `visitor(browser, app)` against an app of its own."""

    async def main():
        app = make_app(**limits)
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url=HOME) as browser:
                await browser.get(HOME)
                await visitor(browser, app)

    asyncio.run(main())


def png(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "png")
    return file.getvalue()


def test_no_name_of_an_upload_collides_with_files_of_the_app():
    picture = np.random.default_rng(0).integers(20, 200, (12, 10, 3)).astype(np.uint8)
    mask = np.full((12, 10), 255, np.uint8)
    mask[2:5, 3:6] = 0
    with TestClient(make_app(), base_url=HOME) as browser:
        browser.get(HOME)
        for name in ("mask.png", "given.png", "new-given.png", "colour-0.png"):
            opened = browser.post(f"{HOME}files?name={name}", content=png(picture)).json()
            place = f"{HOME}files/{opened['key']}"
            masked = browser.post(f"{place}/mask?name={name}&painted=1", content=png(mask)).json()
            assert masked["missing"] == 27
            again = browser.post(f"{place}/read", content=b"{}").json()
            assert (again["missing"], again["shape"]) == (0, [12, 10, 3])
            source = browser.app.state.sessions.by_key[opened["key"]].source
            assert source.read_bytes() == png(picture)
            browser.post(f"{place}/close")


def test_a_reply_of_any_length_arrives_and_garbage_ends_the_worker():
    script = (
        "import json, struct, sys\n"
        "for line in sys.stdin:\n"
        "    call = json.loads(line)\n"
        "    if call['method'] == 'garbage':\n"
        "        sys.stdout.buffer.write(struct.pack('>Q', 3) + b'{{{')\n"
        "    else:\n"
        "        text = 'x' * call['params']['size']\n"
        "        body = json.dumps({'event': 'reply', 'id': call['id'], 'text': text}).encode()\n"
        "        sys.stdout.buffer.write(struct.pack('>Q', len(body)) + body)\n"
        "    sys.stdout.buffer.flush()\n"
    )

    async def main():
        pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
        worker = WorkerProcess(await asyncio.create_subprocess_exec(sys.executable, "-c", script, **pipes))
        for size in (20_000_000, 3):
            assert len((await worker.call("text", size=size))["text"]) == size
        for method in ("garbage", "text"):  # the second must not wait for ever
            with pytest.raises(RequestError, match="memory ran out"):
                await asyncio.wait_for(worker.call(method, size=1), 100)
        assert not worker.alive
        await worker.kill()

    asyncio.run(main())


ODD_BODIES = [b"[" * 60_000, b'{"a":' * 12_000, b'{"dims": [["a"]]}', b'{"value": "\\ud800"}', b"\xff\xfe", b"[]"]


def test_odd_requests_are_refused_not_failed(light):
    async def visitor(browser, app):
        opened = (await browser.post("files?name=a.csv", content=b"x")).json()
        for body in ODD_BODIES:
            for place in ("read", "run"):
                assert (await browser.post(f"files/{opened['key']}/{place}", content=body)).status_code == 400

    visit(visitor)


def test_a_refused_option_keeps_the_open_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day,a,b,c\n" + "".join(f"d{k},{k},{2 * k},{'' if k == 3 else 3 * k}\n" for k in range(9)))
    workspace = Workspace(lambda event, **news: None)
    workspace.open(str(path), str(tmp_path))
    workspace.check({"method": "halrtc"})
    workspace.fit()
    with pytest.raises(FileError, match="no column 'nope'"):
        workspace.open(str(path), str(tmp_path), {"dims": ["nope", "a"], "value": "b"})
    np.save(tmp_path / "m.npy", np.ones((4, 4)))
    with pytest.raises(FileError, match="read mask"):
        workspace.mask(str(tmp_path / "m.npy"), "m.npy")
    assert workspace.summary()["filled"] == 1
    assert workspace.mask()["missing"] == 1


def test_unfinished_uploads_block_nobody(light):
    async def drip():
        yield b"x"
        await asyncio.sleep(30)

    async def visitor(browser, app):
        slow = [asyncio.create_task(browser.post("files?name=a.csv", content=drip())) for _ in range(6)]
        await asyncio.sleep(0.05)
        assert (await browser.post("files?name=b.csv", content=b"y")).status_code == 200
        for answer in await asyncio.gather(*slow):
            assert answer.status_code == 408
            assert "stalled" in answer.json()["error"]
        assert len(list(app.state.sessions.storage.path.iterdir())) == 2  # the open file, and the lock

    visit(visitor, sessions=2, stalled=0.3)


def test_a_reload_finds_the_file_again_and_a_closed_page_gives_it_back(light):
    async def visitor(browser, app):
        key = (await browser.post("files?name=a.csv", content=b"own")).json()["key"]
        session = app.state.sessions.by_key[key]
        assert (await browser.post(f"files/{key}/leave")).status_code == 200
        session.left += 1000  # however busy the machine is, it comes back in time
        back = (await browser.get(f"files/{key}")).json()
        assert back["file"] == {"text": "own", "key": key}
        assert back["status"]["state"] == "open"
        await asyncio.sleep(0.3)
        assert (await browser.get(f"alive?key={key}")).json() == {"open": True}
        await browser.post(f"files/{key}/leave")
        while key in app.state.sessions.by_key:
            await asyncio.sleep(0.01)
        assert (await browser.get(f"alive?key={key}")).json() == {"open": False}
        assert (await browser.get(f"files/{key}")).status_code == 404

    visit(visitor, away=0.1)


def test_a_page_that_fell_silent_or_was_left_makes_room(light):
    async def visitor(browser, app):
        first = (await browser.post("files?name=a.csv", content=b"1")).json()["key"]
        assert (await browser.post("files?name=b.csv", content=b"2")).status_code == 429
        app.state.sessions.by_key[first].heard -= 1000
        second = (await browser.post("files?name=b.csv", content=b"2")).json()["key"]
        assert (await browser.get(f"files/{first}")).status_code == 404
        await browser.post(f"files/{second}/leave")
        assert (await browser.post("files?name=c.csv", content=b"3")).status_code == 200

    visit(visitor, sessions=1)


def test_the_code_of_the_browser_works_once():
    browser = TestClient(make_app(), base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)
    assert browser.get("/open/wrong").status_code == 403
    first = browser.get("/open/once")
    assert (first.status_code, first.headers["location"]) == (303, f"/{TOKEN}/")
    assert browser.get("/open/once").status_code == 403


def test_the_token_is_in_no_command_line(monkeypatch):
    import uvicorn

    links = []
    monkeypatch.setattr(serve.webbrowser, "open", links.append)
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: time.sleep(0.2))
    before = signal.getsignal(signal.SIGHUP)
    with serve.listen(0) as sock:
        serve.serve(sock, "the-secret-token", open_browser=True)
    signal.signal(signal.SIGHUP, before)
    (link,) = links
    assert "/open/" in link
    assert "the-secret-token" not in link


def test_the_folder_of_a_killed_server_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = (
        "import os, signal; from tensorfill.app.storage import PrivateFolder; folder = PrivateFolder().path\n"
        "(folder / 'data').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)})
    (left,) = tmp_path.glob("tensorfill-app-*")
    assert (left / "data").exists()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    os.utime(left / "lock", (0, 0))
    alive = storage.PrivateFolder()
    assert not left.exists()
    os.utime(alive.path / "lock", (0, 0))
    storage.remove_abandoned()
    assert alive.path.exists()
    alive.remove()
    assert not list(tmp_path.iterdir())


def test_a_worker_that_is_killed_leaves_no_temporary_files(tmp_path, monkeypatch):
    """What it tried out lay in the system's folder for ever: parts of the data of a visitor."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def note(*command, env, **options):
        raise OSError(env["TMPDIR"])

    monkeypatch.setattr(asyncio, "create_subprocess_exec", note)
    with pytest.raises(OSError, match="private"):
        asyncio.run(WorkerProcess.start(tmp_path / "private"))
    folder = tmp_path / "session"
    folder.mkdir()
    np.save(tmp_path / "a.npy", np.ones((3, 4)))
    Workspace(lambda *args, **values: None).open(str(tmp_path / "a.npy"), str(folder))
    assert tempfile.gettempdir() == str(folder)


def test_without_a_worker_nothing_stays_either(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def refuse(temporary):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(WorkerProcess, "start", refuse)

    async def visitor(browser, app):
        answer = await browser.post(f"{HOME}files?name=a.csv", content=b"a,b\n1,2\n")
        assert answer.status_code == 507
        assert "temporarily unavailable" in answer.json()["error"]

    with pytest.raises(OSError, match="unavailable"):
        visit(visitor)
    assert not list(tmp_path.iterdir())


def test_a_stop_before_the_run_has_begun_stops_it(monkeypatch):
    """It was lost: the run went on until its end."""
    said, calls = io.BytesIO(), io.StringIO('{"method": "run", "id": 1}\n{"method": "stop", "id": 0}\n')
    worker = Worker(calls, said)
    ended = []
    worker.workspace.fit = lambda: ended.append("fit")
    worker.workspace.fit_means = lambda: ended.append("means")
    worker.workspace.summary = dict
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit):
        worker.listen()
    monkeypatch.undo()
    worker.fit()
    assert ended == ["means"]
    worker.listen_to({"method": "run", "id": 2})
    worker.fit()
    assert ended == ["means", "fit"]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP here")
def test_a_closed_terminal_leaves_nothing(tmp_path):
    command = (sys.executable, "-m", "tensorfill", "app", "--no-open", "--port", "0")
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        server.stdout.readline()
        end = time.monotonic() + 100
        while not list(tmp_path.glob("tensorfill-app-*")) and time.monotonic() < end:
            time.sleep(0.02)
        server.send_signal(signal.SIGHUP)
        server.wait(100)
    assert not list(tmp_path.glob("tensorfill-app-*"))
