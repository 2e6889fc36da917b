"""The other side of `apart`: a process that reads fragile files, each in a fork of its own, until its input ends.

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
from typing import IO, Any

from tensorfill.data.formats.base import FileError
from tensorfill.data.memory import BudgetError, limited

NEEDED = {"mat": ("scipy.io", "h5py"), "netcdf": ("xarray", "scipy.io", "h5netcdf", "h5py"), "hdf5": ("h5py",)}
NEEDED |= {
    "zarr": ("xarray", "zarr"),
    "feather": ("pyarrow",),
    "video": ("av",),
    "geotiff": ("rasterio",),
    "tiff": ("tifffile",),
}
LENGTH = struct.Struct("<Q")
SLACK = 2**28  # addresses that libraries reserve and hardly use: stacks of threads, arenas
READY = 2**64 - 2  # in place of a length: from here on the file is read
END = 2**64 - 1  # in place of a length: the fork has ended, and its exit code follows


def tasks() -> dict[str, Callable[..., Any]]:
    """What can be read apart, by name: f(path or bytes, **options)."""
    from tensorfill.data.formats import geotiff, hdf5, mat, movies, parquet, video, xarrays

    return {
        "mat": mat.variables_of,
        "netcdf": xarrays.raw_of,
        "zarr": xarrays.chunks_of,
        "hdf5": hdf5.datasets_of,
        "feather": parquet.unpacked,
        "video": video.frames_of,
        "geotiff": geotiff.bands_of,
        "tiff": movies.pages_of,
    }


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


def _warm(task: str) -> None:
    """Import what the task needs in this process, so that not every fork must do it again."""
    for module in NEEDED[task]:
        with suppress(ImportError):
            importlib.import_module(module)
    if "xarray" in NEEDED[task] and "xarray" in sys.modules:
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
        with limited(request["limit"]):
            source = data if request["path"] is None else request["path"]
            result = ("ok", tasks()[request["task"]](source, **request["options"]))
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
