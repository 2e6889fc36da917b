"""HDF5 through h5py, in a process of its own: arrays by name (--variable a/b/c), the others of which are kept.

Nothing outside the file is read: links to other files, data kept in them, and virtual data sets are refused.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.arrays import choose_variable
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.isolated import read_isolated, task
from tensorfill.io.optional import attempt_import


@contextmanager
def open_hdf5(source: str | bytes, purpose: str) -> Iterator[Any]:
    """An h5py.File, once it is sure that it reaches into no other file, and that there is room for it."""
    h5py = attempt_import("h5py", purpose, "xarray")
    with h5py.File(io.BytesIO(source) if isinstance(source, bytes) else source, "r") as file:
        sizes: list[int] = []
        _walk(h5py, file, set(), sizes)
        ask(2 * sum(sizes), "what is in it, unpacked,")
        yield file


def _walk(h5py: Any, group: Any, seen: set[int], sizes: list[int]) -> None:
    """Look at everything in a group once; `sizes` takes that of each data set."""
    for name in group:
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            _refuse(f"its {name!r} is a link into {link.filename}")
        item = group.get(name)  # None where a link leads nowhere
        if item is None or (place := h5py.h5o.get_info(item.id).addr) in seen:
            continue
        seen.add(place)
        if isinstance(item, h5py.Group):
            _walk(h5py, item, seen, sizes)
        elif isinstance(item, h5py.Dataset):
            if item.external:
                _refuse(f"the data of {name!r} lie in {item.external[0][0]}")
            if item.is_virtual and (others := {s.file_name for s in item.virtual_sources()} - {"."}):
                _refuse(f"the data of {name!r} lie in {min(others)}")
            sizes.append(item.size * item.dtype.itemsize if item.shape is not None else 0)


def _refuse(what: str) -> None:
    msg = f"{what}, another file, and those are not followed; copy the data into one file (h5repack)."
    raise FileError(msg)


@FORMATS.register("hdf5")
class HDF5(Format):
    """HDF5 data sets."""

    title = "an HDF5 file"
    description = "arrays of numbers by name (--variable group/name); others are kept, attributes are not; needs h5py"
    endings = (".h5", ".hdf5", ".hdf", ".he5")
    magic = (b"\x89HDF",)
    options = frozenset({"variable"})

    def read(self, request: Request) -> Loaded:
        attempt_import("h5py", "reading HDF5", "xarray")
        arrays, scales = read_isolated("hdf5", request)
        name = choose_variable({k: str(a.shape) for k, a in arrays.items() if k not in scales}, request.variable)
        values = arrays[name]
        return Loaded(
            "hdf5", values.shape, values.dtype, values, extra={"arrays": arrays, "scales": scales, "name": name}
        )

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        h5py = attempt_import("h5py", "writing HDF5", "xarray")
        name = str(like.extra.get("name") or "values")
        arrays = {**like.extra["arrays"], name: array} if like.format == "hdf5" else {name.replace("/", "_"): array}
        out = io.BytesIO()
        with h5py.File(out, "w", track_order=True) as file:
            for key, part in arrays.items():
                file[key] = part
            for key in like.extra.get("scales", ()):
                file[key].make_scale()
        sink.write(out.getbuffer())


@task("hdf5", "h5py")
def arrays_of(source: str | bytes) -> tuple[dict[str, Array], list[str]]:
    """(all arrays of numbers by their paths, the paths of those that are scales of others)."""
    import h5py

    arrays: dict[str, Array] = {}
    scales = []

    def take(path: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape and item.dtype.kind in "biuf":
            arrays[path] = np.asarray(item[()])
            scales.extend([path] * item.is_scale)

    with open_hdf5(source, "reading HDF5") as file:
        file.visititems(take)
    return arrays, scales
