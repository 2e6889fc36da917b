"""The other side of `isolated`: a process that reads fragile files, each in a fork of its own, until its input ends.

A request is a line of JSON, followed by the bytes of the file if it has no path. An answer is READY (reading begins);
then the number of parts, their lengths, and the parts: a pickle and the arrays it refers to; then END and the exit code
of the fork. Nothing else is written to that pipe: what libraries print is discarded.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, TypeVar

from tensorfill.data.memory import BudgetError, limit_memory
from tensorfill.io.formats.base import FileError

LENGTH = struct.Struct("<Q")
SLACK = 2**28  # addresses that libraries reserve and hardly use: stacks of threads, arenas
READY = 2**64 - 2  # in place of a length: from here on the file is read
END = 2**64 - 1  # in place of a length: the fork has ended, and its exit code follows


@dataclass(frozen=True)
class Task:
    """What can be read there: `read(path or bytes, **options)`, and the libraries that it loads."""

    read: Callable[..., Any]
    needs: tuple[str, ...]


TASKS: dict[str, Task] = {}  # filled by the formats
F = TypeVar("F", bound=Callable[..., Any])


def task(name: str, *needs: str) -> Callable[[F], F]:
    """Decorator: a function that reads a file in a process of its own, and the libraries that it loads."""

    def add(function: F) -> F:
        TASKS[name] = Task(function, needs)
        return function

    return add


def serve() -> None:
    """Answer requests from standard input until it ends."""
    out, quiet = os.fdopen(os.dup(1), "wb"), os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        data = sys.stdin.buffer.read(request["length"]) if request["path"] is None else None
        code = 0
        _warm(request["task"])
        out.write(LENGTH.pack(READY))
        out.flush()
        if hasattr(os, "fork"):
            child = os.fork()
            if child == 0:
                _answer_and_leave(request, data, out)
            code = os.waitpid(child, 0)[1]
        else:  # Windows: a crash ends this process, which says as much
            _answer(request, data, out)
        out.write(LENGTH.pack(END) + LENGTH.pack(code))
        out.flush()


def _warm(name: str) -> None:
    """Import what the task needs in this process, so that not every fork must do it again."""
    needs = TASKS[name].needs
    for module in needs:
        with suppress(ImportError):
            importlib.import_module(module)
    if "xarray" in needs and "xarray" in sys.modules:
        xr = sys.modules["xarray"]
        xr.backends.list_engines()  # what it looks up when it first opens a file,
        xr.DataArray([0.0], coords={"x": [0.0]}, dims="x").copy(deep=True)  # and first makes an index


def _answer_and_leave(request: dict[str, Any], data: bytes | None, out: IO[bytes]) -> None:
    code = 1
    try:
        _limit(request["limit"], request["seconds"])
        _answer(request, data, out)
        code = 0
    finally:
        os._exit(code)


def _limit(size: int, seconds: float) -> None:
    """So much memory besides what is there already, and so many seconds of the processor."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    try:
        with open("/proc/self/statm") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # macOS neither tells nor binds
        return
    most = taken + size + SLACK
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _answer(request: dict[str, Any], data: bytes | None, out: IO[bytes]) -> None:
    """Read the file and send what is in it, or the sentence why not."""
    result: Any
    try:
        with limit_memory(request["limit"]):
            source = data if request["path"] is None else request["path"]
            result = ("ok", TASKS[request["task"]].read(source, **request["options"]))
    except Exception as error:  # libraries meet a damaged file with any exception at all
        known = (FileError, ImportError, BudgetError, MemoryError)
        name = next((kind.__name__ for kind in known if isinstance(error, kind)), "ValueError")
        result = (name, str(error) or type(error).__name__)
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(result, protocol=5, buffer_callback=arrays.append)
    parts = [memoryview(head), *(array.raw() for array in arrays)]
    out.write(LENGTH.pack(len(parts)) + b"".join(LENGTH.pack(part.nbytes) for part in parts))
    for part in parts:
        out.write(part)
    out.flush()
