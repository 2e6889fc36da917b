"""Who is let in: the page's own browser with the key in its address, and nobody else. No worker process is started."""

import re
import socket
import time

import pytest

pytest.importorskip("starlette", reason="the extra [app] is not installed")
from starlette.testclient import TestClient

from tensorfill.app.serve import hosts, listen
from tensorfill.app.server import create_app
from tensorfill.app.sessions import Limits, safe_name
from tensorfill.terminal import UserError

TOKEN = "a-key-that-nobody-guesses"
PORT = 4321
HOME = f"/{TOKEN}/"


@pytest.fixture(scope="module")
def client():
    app = create_app(token=TOKEN, hosts=hosts(PORT), limits=Limits(upload=1000))
    return TestClient(app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)


PLACES = ("", "assets/app.js", "choices", "files", "files/x/events", "files/x/download/png", "nonsense")


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("start", ["/", "/wrong/", f"/{TOKEN}x/", f"/{TOKEN[:-1]}/", f"//{TOKEN}/"])
def test_nothing_without_the_token(client, method, place, start):
    assert client.request(method, start + place).status_code == 403


def test_the_page_with_the_token(client):
    began = time.process_time()
    page = client.get(HOME)
    assert time.process_time() - began < 1.0
    assert page.status_code == 200
    assert "Choose a file" in page.text
    assert "set-cookie" not in page.headers
    assert client.get(HOME[:-1]).headers["location"] == HOME


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1.evil.example:{PORT}"]
)
def test_a_foreign_host_is_refused(client, host):
    assert client.get(HOME, headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"])
def test_the_own_names_are_not(client, host):
    assert client.get(HOME, headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(client, origin):
    assert client.post(HOME + "files", headers={"origin": origin}).status_code == 403
    assert client.get(HOME, headers={"origin": origin}).status_code == 403


def test_a_link_on_another_page_is_refused(client):
    assert client.get(HOME, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get(HOME, headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_every_answer_forbids_what_is_not_needed(client):
    for place in (HOME, HOME + "choices", "/", HOME + "nonsense"):
        headers = client.get(place).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_nothing_is_fetched_from_elsewhere(client):
    for name in ("", "assets/app.js", "assets/app.css", "assets/paint.js", "assets/report.css", "assets/mark.svg"):
        text = client.get(HOME + name).text
        foreign = re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text)
        assert set(foreign) <= {"http://www.w3.org"}


def test_assets_are_those_of_the_page_and_no_others(client):
    for name in ("nope.js", "..%2f..%2fserve.py", "%2e%2e/server.py", "app.py"):
        assert client.get(f"{HOME}assets/{name}").status_code == 404


def test_uploads_are_limited_by_kind_and_size(client):
    client.get(HOME)
    answer = client.post(HOME + "files?name=letter.docx", content=b"x")
    assert answer.status_code == 415
    assert "files that end in .docx cannot be read here" in answer.json()["error"]
    assert client.post(HOME + "files?name=README", content=b"x").status_code == 415
    large = client.post(HOME + "files?name=a.csv", content=b"x" * 1001)
    assert large.status_code == 413
    assert "larger than" in large.json()["error"]


def test_no_session_no_file(client):
    answer = client.post(HOME + "files/whatever/run")
    assert answer.status_code == 404
    assert answer.json()["error"].endswith("open it again.")


def test_it_listens_on_loopback_alone():
    with listen(0) as sock:
        assert sock.getsockname()[0] == "127.0.0.1"
        taken = sock.getsockname()[1]
        with pytest.raises(UserError, match=f"port {taken} cannot be used"):
            listen(taken)
        with listen(None) as other:
            assert other.getsockname()[1] != taken
        with pytest.raises(OSError, match=r"\w"):  # from another of this computer's addresses
            socket.create_connection((socket.gethostbyname("localhost").replace("127.0.0.1", "127.0.0.2"), taken), 1)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("photo.png", "photo.png"),
        ("../../etc/passwd.csv", "passwd.csv"),
        ("C:\\data\\a b.csv", "a b.csv"),
        (".hidden.npy", "hidden.npy"),
        ("naïve $(rm).csv", "naïve _(rm).csv"),
        ("x" * 300 + ".csv", "x" * 76 + ".csv"),
        ("..", "file"),
    ],
)
def test_names_are_made_safe(name, plain):
    assert safe_name(name) == plain
