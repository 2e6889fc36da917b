"""Who may talk to the server: this computer's own browser, from the page whose address was printed."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
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


class Guard:
    """Refuses every request without the token, or from a page that is not ours; and has nothing cached or framed."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: Collection[str]) -> None:
        self.app, self.token, self.hosts = app, token, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        why = self.refusal(scope)
        if why is None:
            await self.app(scope, receive, with_headers)
        elif scope["type"] == "http":
            await PlainTextResponse(why + "\n", 403)(scope, receive, with_headers)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def refusal(self, scope: Scope) -> str | None:
        """Why a request is refused, or None."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:  # a foreign name that was made to point here
            return "This server answers to its own address only."
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return "Requests of other pages are refused."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "Requests of other pages are refused."
        given = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return "The address lacks its key: use the one that `tensorfill app` printed."
        return None
