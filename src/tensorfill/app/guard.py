"""Access to the server: only this computer's own browser, from the page whose address was printed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Nothing is fetched from elsewhere, nothing is sent elsewhere, and no other page may show this one in a frame. Styles
# may be inline for the drawings' sake: matplotlib writes them into its SVG.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


CODE_LIFETIME = 300.0  # seconds in which the browser must have started


class Guard:
    """Refuses every request without the token or from another page, and forbids caching and framing.

    The token is in the path, so that the browser does not send it to servers at other ports, as it would a cookie.
    Other users of this computer can read the command line that opens the browser: it holds a code instead, which the
    first request exchanges for the address with the token.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Collection[str], code: str | None = None) -> None:
        self.app, self.token, self.hosts = app, token, frozenset(hosts)
        self._code, self._until = code, time.monotonic() + CODE_LIFETIME

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the start and the end of the server, and websockets, which no route takes
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await (self.refusal(scope) or self.app)(scope, receive, with_headers)

    def refusal(self, scope: Scope) -> Response | None:
        """The response to a request that may not pass, or None."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:  # a foreign name that was made to point here
            return refuse_access("This server answers to its own address only.")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return refuse_access("Requests of other pages are refused.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return refuse_access("Requests of other pages are refused.")
        path = scope["path"].split("/")
        given = path[1] if len(path) > 1 else ""
        if secrets.compare_digest(given.encode(), self.token.encode()):
            return None
        if given == "open" and len(path) == 3 and scope.get("method") == "GET":
            return self._exchange(path[2])
        return refuse_access("The address lacks its key: use the one that `tensorfill app` printed.")

    def _exchange(self, given: str) -> Response:
        """Redirect to the page, once, for the right code."""
        code = self._code
        if code is None or not secrets.compare_digest(given.encode(), code.encode()) or time.monotonic() > self._until:
            return refuse_access(
                "This link works once, for a few minutes: use the address that `tensorfill app` printed."
            )
        self._code = None
        return RedirectResponse(f"/{self.token}/", 303)


def refuse_access(sentence: str) -> Response:
    """Answer with status 403."""
    return PlainTextResponse(sentence + "\n", 403)
