"""The server: a page, its files, and what the page asks of them. It relays; the work is done in the children."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from tensorfill.app.child import Refused
from tensorfill.app.choice import offered
from tensorfill.app.guard import Guard
from tensorfill.app.rooms import House, Limits, Room
from tensorfill.data.files import FORMATS, format_of
from tensorfill.registry import did_you_mean

TICK = 0.25  # seconds between two messages about a run
LARGEST_REQUEST = 64 << 10  # bytes of anything but a file
SESSION = "session"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HOLES = {"black": 0, "white": 255}  # colours of pixels that may be taken for missing
PICTURES = {"given.png": "image/png", "now.jpg": "image/jpeg"}  # what a child draws under a fixed name for the page

Handler = Callable[[Request, Room], Awaitable[Response]]


def build(*, token: str, hosts: set[str], limits: Limits | None = None) -> Starlette:
    """The application; `hosts` are the names it answers to, with their port."""
    house = House(limits or Limits())

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        await house.open()
        yield
        await house.close()

    pages = Pages(house)
    inner = [
        Route("/", pages.index),
        Route("/assets/{name}", pages.asset),
        Route("/choices", pages.choices),
        Route("/files", pages.upload, methods=["POST"]),
        Route("/files/{key}/look", pages.room(pages.look), methods=["POST"]),
        Route("/files/{key}/mask", pages.room(pages.mask), methods=["POST"]),
        Route("/files/{key}/run", pages.room(pages.run), methods=["POST"]),
        Route("/files/{key}/events", pages.room(pages.events)),
        Route("/files/{key}/stop", pages.room(pages.stop), methods=["POST"]),
        Route("/files/{key}/formats", pages.room(pages.formats)),
        Route("/files/{key}/details", pages.room(pages.details)),
        Route("/files/{key}/pictures/{name}", pages.room(pages.picture)),
        Route("/files/{key}/download/{what}", pages.room(pages.download)),
        Route("/files/{key}/close", pages.room(pages.close), methods=["POST"]),
    ]
    app = Starlette(
        routes=[Mount(f"/{token}", routes=inner), Route(f"/{token}", lambda request: RedirectResponse(f"/{token}/"))],
        middleware=[Middleware(Guard, token=token, hosts=hosts)],
        exception_handlers={Refused: _refused},
        lifespan=life,
    )
    app.state.house = house
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    more = dict(error.more)
    return JSONResponse({"error": error.sentence, **more}, more.pop("code", 422))


def _assets() -> dict[str, tuple[bytes, str]]:
    """Everything the page is made of, in memory: the app's own, and what it shares with the report."""
    folders = [files("tensorfill.show") / "assets", files("tensorfill.app") / "assets"]
    found = [f for folder in folders for f in folder.iterdir() if Path(f.name).suffix in KINDS]
    return {f.name: (f.read_bytes(), KINDS[Path(f.name).suffix]) for f in found}


class Pages:
    """What is answered to each request."""

    def __init__(self, house: House) -> None:
        self.house, self.assets = house, _assets()

    # --- the page -----------------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        body, kind = self.assets["app.html"]
        response = Response(body, media_type=kind)
        if SESSION not in request.cookies:
            path = request.url.path
            response.set_cookie(SESSION, secrets.token_urlsafe(18), path=path, httponly=True, samesite="strict")
        return response

    async def asset(self, request: Request) -> Response:
        body, kind = self.assets.get(request.path_params["name"], (b"", ""))
        return Response(body, media_type=kind) if kind else Response(status_code=404)

    async def choices(self, request: Request) -> Response:
        """What there is to choose from."""
        return JSONResponse(offered())

    # --- files --------------------------------------------------------------------------------------------------

    def room(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """A handler that is given the room named in the address; rooms of other sessions are not found."""

        async def handle(request: Request) -> Response:
            room = self.house.find(request.cookies.get(SESSION, ""), request.path_params["key"])
            if room is None:
                msg = "this file is no longer open here; open it again."
                raise Refused(msg, code=404)
            return await handler(request, room)

        return handle

    async def upload(self, request: Request) -> Response:
        """A new file: its bytes are the body, its name is in the address. The answer says what it is."""
        session = request.cookies.get(SESSION)
        if not session:
            msg = "this page has lost its session (cookies are off?); load it again."
            raise Refused(msg, code=403)
        name = request.query_params.get("name", "")
        check_kind(name)
        self._check_length(request)
        room = await self.house.enter(session, name)
        try:
            await self._save(request, room.source)
            facts = await room.child.ask("look", path=str(room.source), name=room.name)
        except Refused as error:
            if error.more.get("columns"):  # the page can ask which columns are meant
                error.more["key"] = room.key
            else:
                await self.house.leave(room)
            raise
        except Exception:  # the browser is gone, or the disk is full
            await self.house.leave(room)
            raise
        return JSONResponse({**facts, "key": room.key})

    def _check_length(self, request: Request) -> None:
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self.house.limits.upload:
            raise too_large(self.house.limits.upload)

    async def _save(self, request: Request, path: Path) -> None:
        """The body into a file, as it comes; refused as soon as it is too long."""
        size = 0
        with open(path, "wb") as file:
            async for part in request.stream():
                size += len(part)
                if size > self.house.limits.upload:
                    raise too_large(self.house.limits.upload)
                file.write(part)

    async def look(self, request: Request, room: Room) -> Response:
        """The same file read again with what the user said about it: columns, a value that means missing, ..."""
        self._refuse_running(room)
        facts = await room.child.ask("look", path=str(room.source), name=room.name, given=await json_body(request))
        return JSONResponse({**facts, "key": room.key})

    async def mask(self, request: Request, room: Room) -> Response:
        """A mask: a picture or an array as the body, its name in the address; none to take it off again."""
        self._refuse_running(room)
        name = request.query_params.get("name", "")
        if not name:
            return JSONResponse(await room.child.ask("mask"))
        if name in HOLES:
            return JSONResponse(await room.child.ask("hole", colour=HOLES[name]))
        check_kind(name)
        self._check_length(request)
        painted = "painted" in request.query_params
        path = room.folder / f"mask{Path(name).suffix.lower()}"
        await self._save(request, path)
        return JSONResponse(await room.child.ask("mask", path=str(path), name=name, painted=painted))

    # --- a run --------------------------------------------------------------------------------------------------

    async def run(self, request: Request, room: Room) -> Response:
        given = await json_body(request)
        self._refuse_running(room)
        limit = self.house.limits.running
        if self.house.running() >= limit:
            runs = "a run is" if limit == 1 else f"{limit} runs are"
            msg = f"{runs} under way already, which is the limit; stop one, or wait."
            raise Refused(msg, code=429)
        room.begin()
        try:
            answer = await room.child.ask("run", given=given)
        except Refused:
            room.state = "open"
            raise
        return JSONResponse(answer, 202)

    async def events(self, request: Request, room: Room) -> Response:
        """How the run goes, as server-sent events, until it is over."""

        async def stream() -> AsyncIterator[str]:
            while True:
                status = room.status()
                yield f"data: {json.dumps(status)}\n\n"
                if status["state"] != "running":
                    return
                await asyncio.sleep(TICK)

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def stop(self, request: Request, room: Room) -> Response:
        """End the run; what it has so far is its answer."""
        if room.state == "running":
            room.child.tell("stop")
        return JSONResponse({}, 202)

    async def close(self, request: Request, room: Room) -> Response:
        """End everything about this file."""
        await self.house.leave(room)
        return JSONResponse({})

    # --- the answer ---------------------------------------------------------------------------------------------

    async def picture(self, request: Request, room: Room) -> Response:
        name = request.path_params["name"]
        if name not in PICTURES or not (room.folder / name).exists():
            return Response(status_code=404)
        return Response((room.folder / name).read_bytes(), media_type=PICTURES[name])

    async def formats(self, request: Request, room: Room) -> Response:
        """In which formats the answer can be had."""
        self._refuse_unfinished(room)
        async with room.lock:
            return JSONResponse(await room.child.ask("formats"))

    async def details(self, request: Request, room: Room) -> Response:
        """The result in words, pictures and tables."""
        self._refuse_unfinished(room)
        async with room.lock:
            answer = await room.child.ask("details", folder=str(room.folder))
        return Response(Path(answer["path"]).read_bytes(), media_type="text/html")

    async def download(self, request: Request, room: Room) -> Response:
        """The answer as a file: in a format by its name, or `report`, `error-bars`, `mask`."""
        what = request.path_params["what"]
        if what != "mask":
            self._refuse_unfinished(room)
        async with room.lock:
            answer = await room.child.ask("write", what=what, folder=str(room.folder))
        return FileResponse(answer["path"], filename=answer["name"], media_type="application/octet-stream")

    def _refuse_running(self, room: Room) -> None:
        if room.state == "running":
            msg = "this file is being filled right now; stop the run first."
            raise Refused(msg, code=409)

    def _refuse_unfinished(self, room: Room) -> None:
        if room.state != "done":
            msg = "there is no answer yet; fill the gaps first."
            raise Refused(msg, code=409)


def check_kind(name: str) -> None:
    """Refuse files of a kind that cannot be read."""
    kind = format_of(name)
    if kind is not None and kind.name != "zarr":
        return
    endings = [e for _, k in FORMATS.items() for e in k.endings if k.name != "zarr"]
    ending = Path(name).suffix
    if not ending:
        msg = f"{name!r} has no ending that says what it is; name it with one of {' '.join(endings)}"
        raise Refused(msg, code=415)
    hint = did_you_mean(ending, endings)
    msg = f"files that end in {ending} cannot be read here.{hint} These can: {' '.join(endings)}"
    raise Refused(msg, code=415)


def too_large(limit: int) -> Refused:
    """The refusal of a file larger than `limit` bytes."""
    msg = f"the file is larger than {limit >> 20} MB, the limit of this page; use the command line: tensorfill complete"
    return Refused(msg, code=413)


async def json_body(request: Request) -> dict[str, Any]:
    """The body of the request, which must be a JSON object."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_REQUEST:
            msg = "the request is too long."
            raise Refused(msg, code=413)
    try:
        given = json.loads(body or b"{}")
    except ValueError as error:
        msg = "the request is not JSON."
        raise Refused(msg, code=400) from error
    if not isinstance(given, dict):
        msg = "the request must be a JSON object."
        raise Refused(msg, code=400)
    return given
