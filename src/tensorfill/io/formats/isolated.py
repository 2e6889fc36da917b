"""Files that can crash the library that reads them (MATLAB, NetCDF 4, HDF5) are read in a separate process, within
limits of time and memory, so that a damaged file gives an error message and nothing worse.

Design: one helper process, started when first needed and kept until this process ends; it reads each file in a fork.
Requests and answers are pickles through its pipes: to a request it answers None once the libraries are loaded, then
what was read, in a tuple, and then the exit code of the fork. What libraries print is discarded.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from tensorfill.data.memory import BudgetError, ask, budget, limit_memory
from tensorfill.io.formats.base import FileError, Request

SECONDS = 8.0  # of the processor for any file, plus one second for each
PER_SECOND = 4e6  # bytes of it
PATIENCE = 5  # times as long by the clock: other programs want the processor, too
START = 120.0  # seconds for the helper to load its libraries on a busy machine
SLACK = 2**28  # addresses that libraries reserve and hardly use: stacks of threads, arenas
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "HDF5_USE_FILE_LOCKING": "FALSE",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve a gigabyte of addresses, which makes any limit a guess
    "MALLOC_ARENA_MAX": "1",  # and so does one arena for every thread
}


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


# --- in this process ----------------------------------------------------------------------------------------------


_lock = threading.Lock()
_current: list[Helper] = []


def read_isolated(name: str, request: Request, **options: Any) -> Any:
    """What `TASKS[name].read(path or bytes, **options)` gives, from a process of its own."""
    path = request.path
    if request.file is None:  # a directory
        size = sum(part.stat().st_size for part in path.rglob("*") if part.is_file()) if path else 0
    else:
        size = request.length()
    source = request.bytes() if path is None else os.path.abspath(path)
    if not sys.executable:  # a program that Python is embedded in cannot start another
        return TASKS[name].read(source, **options)
    order = {"task": name, "source": source, "options": options, "limit": budget()}
    with _lock:
        result = _helper().ask({**order, "seconds": SECONDS + size / PER_SECOND})
    if isinstance(result, Exception):
        raise result
    return result


class Helper:
    """The helper process."""

    def __init__(self) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; import tensorfill.io.formats; "  # which fills TASKS
        code += "from tensorfill.io.formats.isolated import serve; serve()"
        self.pid, self.stopped = os.getpid(), False
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **SETTINGS},
            start_new_session=True,  # Ctrl-C is for us; and its forks end with it
        )

    def ask(self, order: dict[str, Any]) -> Any:
        """What was read, or the error; whatever happens to the helper is a FileError."""
        seconds = PATIENCE * order["seconds"]
        try:
            assert self.process.stdin is not None
            pickle.dump(order, self.process.stdin)
            self.process.stdin.flush()
            self._receive(START)
            answer = self._receive(seconds)
            if isinstance(answer, tuple):
                self._receive(seconds)
                return answer[0]
            killed = answer & 127  # as `waitpid` has it
            how = (
                "takes too long" if killed == 24 else f"broke down (signal {killed})" if killed else "ran out of memory"
            )
        except BaseException as error:  # also Ctrl-C: after half an answer the helper cannot be used again
            how = f"did not come to an end in {seconds:.0f} seconds" if self.stopped else "broke down"
            self.stop()
            if not isinstance(error, OSError | EOFError | pickle.UnpicklingError):
                raise
        msg = f"it is damaged: the library that reads it {how}."
        raise FileError(msg)

    def _receive(self, seconds: float) -> Any:
        """The next that the helper says, which ends if that takes longer."""
        timer = threading.Timer(seconds, self.stop)
        timer.start()
        try:
            assert self.process.stdout is not None
            return pickle.load(self.process.stdout)
        finally:
            timer.cancel()

    def stop(self) -> None:
        """End the helper and its fork; it may still be there for a moment, but is asked no more."""
        self.stopped = True
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, 9)
            else:
                self.process.kill()

    def close(self) -> None:
        """The same, and leave nothing open."""
        self.stop()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self.process.wait()

    @property
    def alive(self) -> bool:
        return not self.stopped and self.pid == os.getpid() and self.process.poll() is None


def _helper() -> Helper:
    """The helper that there is, or a new one."""
    if _current and not _current[0].alive:
        _leave()
        _current.clear()
    if not _current:
        _current.append(Helper())
        atexit.register(_leave)
    return _current[0]


def _leave() -> None:
    if _current and _current[0].pid == os.getpid():  # a fork of us must leave the helper to its parent
        _current.pop().close()


# --- in the helper ------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer requests from standard input until it ends."""
    out, quiet = os.fdopen(os.dup(1), "wb"), os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    with suppress(EOFError):
        while True:
            order, code = pickle.load(sys.stdin.buffer), 0
            _warm(order["task"])
            out.write(pickle.dumps(None))
            out.flush()
            if hasattr(os, "fork"):
                child = os.fork()
                if child == 0:
                    _answer_and_leave(order, out)
                code = os.waitpid(child, 0)[1]
            else:  # Windows: a crash ends this process, which says as much
                _answer(order, out)
            out.write(pickle.dumps(code))
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


def _answer_and_leave(order: dict[str, Any], out: IO[bytes]) -> None:
    code = 1
    try:
        _limit(order["limit"], order["seconds"])
        _answer(order, out)
        code = 0
    finally:
        os._exit(code)


def _limit(size: int, seconds: float) -> None:
    """So much memory besides what is there already, and so many seconds of the processor."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    with suppress(OSError):  # macOS neither tells nor binds
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + size + SLACK,) * 2)


def _answer(order: dict[str, Any], out: IO[bytes]) -> None:
    """Read the file and send what is in it, or why not: libraries meet a damaged file with any exception at all."""
    try:
        with limit_memory(order["limit"]):
            answer = pickle.dumps((TASKS[order["task"]].read(order["source"], **order["options"]),), protocol=5)
            ask(len(answer), "what is in it, unpacked,")
    except Exception as error:
        known = (FileError, ImportError, BudgetError, MemoryError)
        kind: type[Exception] = next((kind for kind in known if isinstance(error, kind)), ValueError)
        answer = pickle.dumps((kind(str(error) or type(error).__name__),))
    out.write(answer)
    out.flush()
