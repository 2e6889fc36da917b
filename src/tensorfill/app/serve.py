"""Start the server: an address with a key, on this computer alone, until Ctrl-C."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import webbrowser
from dataclasses import dataclass

from tensorfill.data.optional import attempt_import
from tensorfill.terminal import BAD_DATA, BAD_USAGE, OK, UserError, as_user_error

LOOPBACK = "127.0.0.1"
USUAL = 8765  # the port where none is asked for; any free one where this is taken


@dataclass(frozen=True)
class App:
    """`tensorfill app`."""

    port: int | None = None
    no_open: bool = False
    command: str = "tensorfill app"

    def run(self) -> int:
        """Serve; returns the exit code when it is over."""
        if self.port is not None and not 0 <= self.port <= 65535:
            msg = f"--port must be between 0 (any free one) and 65535; got {self.port}."
            raise UserError(msg, BAD_USAGE)
        with as_user_error(BAD_DATA):
            for module in ("starlette", "uvicorn"):
                attempt_import(module, "the page in the browser", "app")
        sock = listening(self.port)
        token = secrets.token_urlsafe(18)
        address = f"http://{LOOPBACK}:{sock.getsockname()[1]}/{token}/"
        print(f"tensorfill app: {address}")
        print("It is for this computer alone, and nothing leaves it. Ctrl-C ends it.", flush=True)
        serve(sock, token, then=None if self.no_open else address)
        return OK


def listening(port: int | None) -> socket.socket:
    """A socket on loopback, at this port; without one at the usual, or any that is free."""
    for wanted in (port,) if port is not None else (USUAL, 0):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((LOOPBACK, wanted))
        except OSError as error:
            sock.close()
            reason = error.strerror or str(error)
            continue
        sock.listen(64)
        return sock
    msg = f"port {port} cannot be used ({reason.lower()}); leave --port out for a free one."
    raise UserError(msg, BAD_DATA)


def hosts(port: int) -> set[str]:
    """The names that a browser on this computer has for the server."""
    return {f"{name}:{port}" for name in (LOOPBACK, "localhost", "[::1]")}


def serve(sock: socket.socket, token: str, *, then: str | None) -> None:
    """Serve until Ctrl-C; `then` is the address to open in the browser."""
    import uvicorn

    from tensorfill.app.server import build

    app = build(token=token, hosts=hosts(sock.getsockname()[1]))
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, timeout_graceful_shutdown=1, lifespan="on"
    )
    if then is not None:
        threading.Thread(target=webbrowser.open, args=(then,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        uvicorn.Server(config).run(sockets=[sock])
