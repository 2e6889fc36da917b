"""The server: a page, its files, and the page's requests. It relays; the work is done in worker processes."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from tensorfill.app.bodies import check_length, json_body, save_body
from tensorfill.app.guard import Guard
from tensorfill.app.options import COLOURS, list_choices
from tensorfill.app.process import RequestError
from tensorfill.app.sessions import Limits, Session, Sessions, safe_name
from tensorfill.io.files import FORMATS, format_of
from tensorfill.io.formats.output import reason

TICK = 0.25  # seconds between two messages about a run
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# Drawn by a worker under a fixed name for the page
PICTURES = {"given.png": "image/png", "given.jpg": "image/jpeg", "now.jpg": "image/jpeg"}

Handler = Callable[[Request, Session], Awaitable[Response]]


def create_app(*, token: str, hosts: set[str], code: str | None = None, limits: Limits | None = None) -> Starlette:
    """Build the application; `hosts` are the names it answers to, with their port, `code` opens it once."""
    sessions = Sessions(limits or Limits())
    pages = Pages(sessions)
    asked = {
        "": pages.resume,
        "/events": pages.events,
        "/details": pages.details,
        "/pictures/{name}": pages.picture,
        "/download/{what}": pages.download,
    }
    done = [pages.read, pages.mask, pages.run, pages.stop, pages.leave, pages.close]
    inner = [
        Route("/", pages.index),
        Route("/assets/{name}", pages.asset),
        Route("/choices", pages.choices),
        Route("/alive", pages.alive),
        Route("/files", pages.upload, methods=["POST"]),
        *(Route(f"/files/{{key}}{place}", pages.with_session(page)) for place, page in asked.items()),
        *(Route(f"/files/{{key}}/{p.__name__}", pages.with_session(p), methods=["POST"]) for p in done),
    ]
    app = Starlette(
        routes=[Mount(f"/{token}", routes=inner), Route(f"/{token}", lambda request: RedirectResponse(f"/{token}/"))],
        middleware=[Middleware(Guard, token=token, hosts=hosts, code=code)],
        exception_handlers={RequestError: _error_response, OSError: _error_response},
        lifespan=sessions.serve,
    )
    app.state.sessions = sessions
    return app


async def _error_response(request: Request, error: Exception) -> Response:
    if isinstance(error, OSError):  # of the server's own: the disk is full, no process can be started
        error = RequestError(f"this computer refused: {reason(error)}.", code=507)
    assert isinstance(error, RequestError)
    return JSONResponse({"error": error.sentence, **error.more}, error.code)


def _load_assets() -> dict[str, tuple[bytes, str]]:
    """Read the files of the page into memory: the app's own, and those it shares with the report."""
    folders = [files("tensorfill.show") / "assets", files("tensorfill.app") / "assets"]
    found = [f for folder in folders for f in folder.iterdir() if Path(f.name).suffix in MEDIA_TYPES]
    return {f.name: (f.read_bytes(), MEDIA_TYPES[Path(f.name).suffix]) for f in found}


class Pages:
    """One method for each request."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions, self.assets = sessions, _load_assets()

    # --- the page -----------------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        body, kind = self.assets["app.html"]
        return Response(body, media_type=kind)

    async def asset(self, request: Request) -> Response:
        body, kind = self.assets.get(request.path_params["name"], (b"", ""))
        return Response(body, media_type=kind) if kind else Response(status_code=404)

    async def choices(self, request: Request) -> Response:
        """List the priors and methods to choose from."""
        return JSONResponse(list_choices())

    async def alive(self, request: Request) -> Response:
        """Tell the page that the server runs, and whether its file is still open; keep note of the page."""
        key = request.query_params.get("key")
        return JSONResponse({"open": not key or self.sessions.find(key) is not None})

    # --- files --------------------------------------------------------------------------------------------------

    def with_session(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Pass the session named in the address to the handler; a key that nobody was given is not found."""

        async def handle(request: Request) -> Response:
            session = self.sessions.find(request.path_params["key"])
            if session is None:
                msg = "this file is no longer open here; open it again."
                raise RequestError(msg, code=404)
            return await handler(request, session)

        return handle

    async def upload(self, request: Request) -> Response:
        """Open a new file: its bytes are the body, its name is in the address. The answer describes it."""
        name = safe_name(request.query_params.get("name", ""))
        check_kind(name)
        check_length(request, self.sessions.limits)
        await self.sessions.make_room()
        folder = self.sessions.new_folder()
        try:
            await save_body(request, folder / "upload" / name, self.sessions.limits)
            session = await self.sessions.create(name, folder)
        except BaseException:  # also where the browser is gone, or the disk is full
            shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            return JSONResponse(await session.describe("open", path=str(session.source), folder=str(folder)))
        except RequestError as error:
            if {"columns", "variables"} & set(error.more):  # the page asks which ones are meant
                return JSONResponse({"error": error.sentence, "key": session.key, **error.more})
            await self.sessions.close(session)
            raise

    async def resume(self, request: Request, session: Session) -> Response:
        """Everything that a reloaded page needs to go on."""
        return JSONResponse({"file": session.described, "status": session.status()})

    async def read(self, request: Request, session: Session) -> Response:
        """Read the same file again with other options: columns, a value that means missing, ..."""
        given = await json_body(request)
        async with session.lock:
            _refuse_running(session)
            described = await session.describe(
                "open", path=str(session.source), folder=str(session.folder), given=given
            )
        return JSONResponse(described)

    async def mask(self, request: Request, session: Session) -> Response:
        """Use a mask: a picture or an array as the body, its name in the address; without a name, use none."""
        name = request.query_params.get("name", "")
        call: dict[str, Any] = {"method": "mask"}
        if name in COLOURS:
            call = {"method": "mask_colour", "colour": COLOURS[name]}
        elif name:
            check_kind(name)
            path = session.folder / f"mask-{secrets.token_hex(4)}{Path(name).suffix.lower()}"
            await save_body(request, path, self.sessions.limits)
            call |= {"path": str(path), "name": safe_name(name), "painted": "painted" in request.query_params}
        async with session.lock:
            _refuse_running(session)
            return JSONResponse(await session.describe(**call))

    # --- a run --------------------------------------------------------------------------------------------------

    async def run(self, request: Request, session: Session) -> Response:
        given = await json_body(request)
        async with session.lock:
            _refuse_running(session)
            limit = self.sessions.limits.running
            if self.sessions.running() >= limit:
                runs = "another run is" if limit == 1 else f"{limit} other runs are"
                msg = f"{runs} in progress, which is the limit; stop one, or wait."
                raise RequestError(msg, code=429)
            before = session.state, session.news
            session.begin()
            try:
                answer = await session.worker.call("run", given=given)
                session.news |= answer
            except RequestError:
                session.state, session.news = before
                raise
        return JSONResponse(answer, 202)

    async def events(self, request: Request, session: Session) -> Response:
        """Stream the progress of the run as server-sent events until it ends."""

        async def stream() -> AsyncIterator[str]:
            while True:
                status = session.status()
                session.heard = time.monotonic()
                yield f"data: {json.dumps(status)}\n\n"
                if status["state"] != "running":
                    return
                await asyncio.sleep(TICK)

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def stop(self, request: Request, session: Session) -> Response:
        """Stop the run; its best answer so far is kept."""
        if session.state == "running":
            session.worker.notify("stop")
        return JSONResponse({}, 202)

    async def leave(self, request: Request, session: Session) -> Response:
        """Note that the page was closed or reloaded: the file is kept for a while."""
        session.left = time.monotonic()
        return JSONResponse({})

    async def close(self, request: Request, session: Session) -> Response:
        """Close the file."""
        await self.sessions.close(session)
        return JSONResponse({})

    # --- the answer ---------------------------------------------------------------------------------------------

    async def picture(self, request: Request, session: Session) -> Response:
        name = request.path_params["name"]
        if name not in PICTURES or not (session.folder / name).exists():
            return Response(status_code=404)
        return Response((session.folder / name).read_bytes(), media_type=PICTURES[name])

    async def details(self, request: Request, session: Session) -> Response:
        """The result in words, pictures and tables, as HTML."""
        async with session.lock:
            _refuse_unfinished(session)
            return HTMLResponse((await session.worker.call("details"))["html"])

    async def download(self, request: Request, session: Session) -> Response:
        """The answer as a file: in a format by its name, or `report`, `error-bars`, `mask`."""
        what = request.path_params["what"]
        folder = session.folder / f"download-{secrets.token_hex(4)}"  # its own: others may be written meanwhile
        folder.mkdir()
        try:
            async with session.lock:
                if what != "mask":
                    _refuse_unfinished(session)
                answer = await session.worker.call("write", what=what, folder=str(folder))
        except RequestError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        sent = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(
            answer["path"], filename=answer["name"], media_type="application/octet-stream", background=sent
        )


def _refuse_running(session: Session) -> None:
    if session.state == "running":
        msg = "a run is in progress on this file; stop it first."
        raise RequestError(msg, code=409)


def _refuse_unfinished(session: Session) -> None:
    if session.state != "done":
        msg = "there is no answer yet; fill the gaps first."
        raise RequestError(msg, code=409)


def check_kind(name: str) -> None:
    """Refuse files of a kind that cannot be read."""
    kind = format_of(name)
    if kind is None or kind.name == "zarr":
        endings = [e for _, k in FORMATS.items() for e in k.endings if k.name != "zarr"]
        what = f"files that end in {ending}" if (ending := Path(name).suffix) else f"files without an ending ({name})"
        msg = f"{what} cannot be read here. These can: {' '.join(endings)}"
        raise RequestError(msg, code=415)
