"""Files that can crash the library that reads them (MATLAB, NetCDF 4, HDF5) are read in a separate process, within
limits of time and memory, so that a damaged file gives an error message and nothing worse.

Design: one helper process, started when first needed and kept until this process ends; it reads each file in a fork.
What comes back is plain values and arrays, and nothing else is unpickled.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tensorfill.data.memory import BudgetError, ask, budget
from tensorfill.io.formats.base import FileError, Request
from tensorfill.io.formats.worker import END, LENGTH, READY, TASKS

SECONDS = 8.0  # of the processor for any file, plus one second for each
PER_SECOND = 4e6  # bytes of it
PATIENCE = 5  # times as long by the clock: other programs want the processor, too
START = 120.0  # seconds for the helper to load its libraries on a busy machine
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "HDF5_USE_FILE_LOCKING": "FALSE",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve a gigabyte of addresses, which makes any limit a guess
    "MALLOC_ARENA_MAX": "1",  # and so does one arena for every thread
}
GONE = "it is damaged: the library that reads it {how}."

# what a plain answer is made of, besides Python's own types
ALLOWED = {
    "numpy": {"ndarray", "dtype"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.numeric": {"_frombuffer"},
    "scipy.io.matlab._mio5_params": {"MatlabFunction", "MatlabObject", "MatlabOpaque"},
    "scipy.sparse._csc": {"csc_matrix", "csc_array"},
}

_lock = threading.Lock()


class PlainUnpickler(pickle.Unpickler):
    """Unpacks arrays and plain values, and refuses anything else."""

    def find_class(self, module: str, name: str) -> Any:
        if name in ALLOWED.get(module, ()):
            return super().find_class(module, name)
        msg = f"{module}.{name} is not a plain value"
        raise pickle.UnpicklingError(msg)


def read_isolated(task: str, request: Request, **options: Any) -> Any:
    """What `TASKS[task].read(path or bytes, **options)` gives, from a process of its own."""
    if not sys.executable:
        return TASKS[task].read(request.bytes() if request.path is None else str(request.path), **options)
    size = request.length() if request.file is not None else _size_of(request.path)
    seconds = SECONDS + size / PER_SECOND
    data = request.bytes() if request.path is None else b""
    path = None if request.path is None else os.path.abspath(request.path)
    order = {"task": task, "path": path, "length": len(data), "options": options}
    with _lock:
        result = _helper().ask({**order, "limit": budget(), "seconds": seconds}, data, PATIENCE * seconds)
    kind, value = result
    if kind == "ok":
        return value
    kinds = {"FileError": FileError, "ImportError": ImportError, "BudgetError": BudgetError, "MemoryError": MemoryError}
    raise kinds.get(kind, ValueError)(value)


def _size_of(folder: Path | None) -> int:
    """Bytes of all files in a directory."""
    return 0 if folder is None else sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Helper:
    """The helper process."""

    def __init__(self) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; import tensorfill.io.formats; "  # which fills TASKS
        code += "from tensorfill.io.formats.worker import serve; serve()"
        self.pid, self.stopped = os.getpid(), False
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **SETTINGS},
            start_new_session=True,  # Ctrl-C is for us; and its forks end with it
        )

    def ask(self, order: dict[str, Any], data: bytes, seconds: float) -> tuple[str, Any]:
        """Send a request and wait for the answer; whatever happens to the helper is a FileError."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.stop()

        timer = threading.Timer(START, stop)
        timer.start()
        try:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps(order).encode() + b"\n" + data)
            self.process.stdin.flush()
            if _number(self.process.stdout) != READY:
                raise EOFError
            timer.cancel()
            timer = threading.Timer(seconds, stop)
            timer.start()
            return _receive(self.process.stdout)
        except FileError:
            raise
        except BaseException as error:  # also Ctrl-C: after half an answer the helper cannot be used again
            self.stop()
            if not isinstance(error, OSError | EOFError | pickle.UnpicklingError):
                raise
            how = f"did not come to an end in {seconds:.0f} seconds" if late.is_set() else "broke down"
            raise FileError(GONE.format(how=how)) from error
        finally:
            timer.cancel()

    def stop(self) -> None:
        """End the helper and its fork; it may still be there for a moment, but is asked no more."""
        self.stopped = True
        try:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, 9)
            else:
                self.process.kill()
        except (ProcessLookupError, PermissionError):
            pass

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


_current: list[Helper] = []


def _helper() -> Helper:
    """The helper that there is, or a new one."""
    if _current and not _current[0].alive:
        old = _current.pop()
        if old.pid == os.getpid():  # a fork of us must leave the helper to its parent
            old.close()
    if not _current:
        _current.append(Helper())
        atexit.register(_leave)
    return _current[0]


def _leave() -> None:
    if _current and _current[0].pid == os.getpid():
        _current.pop().close()


def _receive(stream: IO[bytes]) -> tuple[str, Any]:
    """One answer."""
    count = _number(stream)
    if count == END:
        raise FileError(GONE.format(how=_how(_number(stream))))
    lengths = [_number(stream) for _ in range(count)]
    ask(sum(lengths), "what is in it, unpacked,")
    head, *arrays = (_exactly(stream, length) for length in lengths)
    if _number(stream) != END:
        raise EOFError
    _number(stream)
    kind, value = PlainUnpickler(io.BytesIO(head), buffers=arrays).load()
    return kind, value


def _how(code: int) -> str:
    """Why a fork ended without an answer, in words; `waitpid` gives the number."""
    killed = code & 127
    return "takes too long" if killed == 24 else f"broke down (signal {killed})" if killed else "ran out of memory"


def _number(stream: IO[bytes]) -> int:
    return int(LENGTH.unpack(_exactly(stream, LENGTH.size))[0])


def _exactly(stream: IO[bytes], length: int) -> bytearray:
    """Exactly so many bytes of the stream, in new memory that arrays may keep using."""
    out = bytearray(length)
    view, at = memoryview(out), 0
    while at < length:
        count = stream.readinto(view[at:])  # type: ignore[attr-defined]  # IO[bytes] does not declare it
        if not count:
            raise EOFError
        at += count
    return out
