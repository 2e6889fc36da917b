"""Start the server on this computer alone, until Ctrl-C."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import threading
import webbrowser
from dataclasses import dataclass

from tensorfill.io.optional import attempt_import
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
        sock = listen(self.port)
        token = secrets.token_urlsafe(18)
        address = f"http://{LOOPBACK}:{sock.getsockname()[1]}/{token}/"
        print(f"tensorfill app: {address}")
        print("Only this computer can reach it, and no data leave it. Press Ctrl-C to stop.", flush=True)
        serve(sock, token, open_browser=not self.no_open)
        return OK


def listen(port: int | None) -> socket.socket:
    """Open a socket on loopback at this port; without one at the usual port, or any that is free."""
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


def serve(sock: socket.socket, token: str, *, open_browser: bool) -> None:
    """Serve until Ctrl-C, SIGTERM or SIGHUP (a closed terminal); each of them removes what was uploaded."""
    import uvicorn

    from tensorfill.app.server import create_app

    port = sock.getsockname()[1]
    code = secrets.token_urlsafe(18)
    config = uvicorn.Config(
        create_app(token=token, hosts=hosts(port), code=code),
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none; nohup has it ignored, which stays
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        signal.signal(hangup, server.handle_exit)
    if open_browser:
        link = f"http://{LOOPBACK}:{port}/open/{code}"  # others can read command lines: the code works once
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # the usual way to end it
        server.run(sockets=[sock])
