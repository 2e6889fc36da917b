"""The server with its children: sessions, limits, a run that is watched and stopped, memory that is given back."""

import json
import os
import time

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra [app] is not installed")
from starlette.testclient import TestClient

from tensorfill.app.serve import hosts
from tensorfill.app.server import create_app
from tensorfill.app.sessions import Limits

TOKEN, PORT = "key", 4322
HOME = f"http://127.0.0.1:{PORT}/{TOKEN}/"


def array(path, size=60):
    rng = np.random.default_rng(0)
    T = np.einsum("ir,jr,kr->ijk", *(rng.uniform(0, 1, (n, 5)) for n in (size, size, 3)))
    T[rng.random(T.shape) < 0.5] = np.nan
    np.save(path, T)
    return path.read_bytes()


def processor_seconds(pid):
    """What a process has used so far: unlike the clock, no matter what others do."""
    if not os.path.exists("/proc/self/stat"):
        return 0.0
    with open(f"/proc/{pid}/stat") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


LONG = {"method": "sptc", "prior": "normal"}


def test_a_life(tmp_path):
    made = create_app(token=TOKEN, hosts=hosts(PORT), limits=Limits(upload=10_000_000, sessions=2, running=1))
    data = array(tmp_path / "a.npy")
    with TestClient(made, base_url=HOME) as one:

        def ask(method, place, **options):
            return one.request(method, HOME + place, **options)

        a = ask("POST", "files?name=a.npy", content=data).json()
        assert a["shape"] == [60, 60, 3]
        b = ask("POST", "files?name=b.npy", content=data).json()
        assert ask("GET", f"files/{a['key']}/pictures/given.png").status_code == 200
        assert ask("GET", f"files/{a['key']}/pictures/..%2fa.npy").status_code == 404
        # so many files, so many runs
        full = ask("POST", "files?name=c.npy", content=data)
        assert full.status_code == 429
        assert "2 files are open already" in full.json()["error"]
        assert ask("GET", f"files/{a['key']}/download/npy").status_code == 409
        refused = ask("POST", f"files/{a['key']}/run", content=json.dumps({"rank": "many"}))
        assert refused.status_code == 422
        assert refused.json()["error"] == "rank must be a whole number or None; got 'many'."
        for wrong in ({"method": "bays"}, {"effort": "fast"}, {"method": "knn", "effort": "best"}, {"prior": "poison"}):
            refused = ask("POST", f"files/{a['key']}/run", content=json.dumps(wrong))
            assert refused.status_code == 422, wrong
            assert any(str(value) in refused.json()["error"] for value in wrong.values())
        assert ask("POST", f"files/{a['key']}/run", content=json.dumps(LONG)).status_code == 202
        busy = ask("POST", f"files/{b['key']}/run", content=json.dumps(LONG))
        assert busy.status_code == 429
        assert "another run is in progress" in busy.json()["error"]
        assert ask("POST", f"files/{a['key']}/mask").status_code == 409
        # progress, and a stop that keeps the best
        session = made.state.sessions.by_key[a["key"]]
        while session.state == "running" and session.news.get("iteration", 0) < 4:
            time.sleep(0.05)
        asked = processor_seconds(session.worker.process.pid)
        ask("POST", f"files/{a['key']}/stop")
        events = [json.loads(line[6:]) for line in ask("GET", f"files/{a['key']}/events").text.split("\n\n") if line]
        took = processor_seconds(session.worker.process.pid) - asked
        assert events[-1]["state"] == "done"
        assert events[-1]["stopped"]
        assert took < 1.0
        filled = ask("GET", f"files/{a['key']}/download/npy")
        assert 'filename="a-filled.npy"' in filled.headers["content-disposition"]
        (tmp_path / "f.npy").write_bytes(filled.content)
        assert np.isfinite(np.load(tmp_path / "f.npy")).all()
        # closing gives everything back
        pid, folder = session.worker.process.pid, session.folder
        assert folder.exists()
        assert ask("POST", f"files/{a['key']}/close").status_code == 200
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert not folder.exists()
        # a worker that dies takes nothing with it, and says so
        lost = made.state.sessions.by_key[b["key"]]
        lost.worker.process.kill()
        answer = ask("POST", f"files/{b['key']}/read", content=b"{}")
        assert answer.status_code == 422
        assert "because memory ran out" in answer.json()["error"]
        storage = made.state.sessions.storage.path
    assert not storage.exists()


def test_an_upload_that_cannot_be_saved_leaves_no_file_open(monkeypatch):
    async def full_disk(request, path, limits):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tensorfill.app.server.save_body", full_disk)
    made = create_app(token=TOKEN, hosts=hosts(PORT))
    with TestClient(made, base_url=HOME, raise_server_exceptions=False) as one:
        one.get(HOME)
        answer = one.post(HOME + "files?name=a.npy", content=b"x")
        assert (answer.status_code, answer.json()) == (507, {"error": "this computer refused: the disk is full."})
        assert made.state.sessions.by_key == {}
