"""Bodies of requests: files as they arrive, and JSON."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from starlette.requests import Request

from tensorfill.app.process import RequestError
from tensorfill.app.sessions import Limits

LARGEST_JSON = 64 << 10  # bytes


def check_size(size: int, limits: Limits) -> None:
    """Refuse files that are too large."""
    if size > limits.upload:
        msg = f"the file is larger than {limits.upload >> 20} MB, the limit of this page; use the command line."
        raise RequestError(msg, code=413)


def check_length(request: Request, limits: Limits) -> None:
    """Refuse a body that announces itself as too long."""
    length = request.headers.get("content-length", "0")
    check_size(int(length) if length.isdigit() else 0, limits)


async def save_body(request: Request, path: Path, limits: Limits) -> None:
    """Write the body into a file as it arrives; refuse it when it is too long, or when nothing more comes."""
    clock = asyncio.get_running_loop().time
    size = 0
    try:
        with open(path, "wb") as file:
            async with asyncio.timeout(limits.stalled) as deadline:
                async for part in request.stream():
                    size += len(part)
                    check_size(size, limits)
                    file.write(part)
                    deadline.reschedule(clock() + limits.stalled)
    except TimeoutError as error:
        msg = f"the upload stalled for {limits.stalled:g} s and was given up; try again."
        raise RequestError(msg, code=408) from error


async def json_body(request: Request) -> dict[str, Any]:
    """The body of the request: a JSON object of plain values and lists of texts."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_JSON:
            msg = "the request is too long."
            raise RequestError(msg, code=413)
    try:
        given = json.loads(body or b"{}")
        json.dumps(given, ensure_ascii=False).encode()  # half a character (a lone surrogate) cannot be shown
    except (ValueError, RecursionError) as error:
        msg = "the request is not valid JSON."
        raise RequestError(msg, code=400) from error
    values = list(given.values()) if isinstance(given, dict) else [{}]
    if any(isinstance(v, dict) or (isinstance(v, list) and not all(isinstance(x, str) for x in v)) for v in values):
        msg = "the request must be a JSON object of plain values."
        raise RequestError(msg, code=400)
    return dict(given)
