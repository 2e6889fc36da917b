"""HDF5 through h5py, in a process of its own: a data set by its name (--variable a/b/c); all else is written back.

Nothing outside the file is read: links to other files, data kept in them, and virtual data sets are refused.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.arrays import array_and_file, choose_variable, fill_isolated
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.isolated import read_isolated
from tensorfill.io.formats.long import dim_names
from tensorfill.io.formats.worker import task
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
    description = "data sets by name (--variable group/name), labels of dimension scales; needs h5py"
    endings = (".h5", ".hdf5", ".hdf", ".he5")
    magic = (b"\x89HDF",)
    options = frozenset({"variable"})

    def read(self, request: Request) -> Loaded:
        attempt_import("h5py", "reading HDF5", "xarray")
        data = request.bytes()
        found = read_isolated("hdf5", replace(request, file=io.BytesIO(data)))
        numbers = {
            name: str(part["values"].shape)
            for name, part in found.items()
            if part["values"].dtype.kind in "biuf" and part["values"].ndim > 0 and not part["scale"]
        }
        name = choose_variable(numbers, request.variable)
        values, names = found[name]["values"], found[name]["dims"]
        dims = tuple(d or f"mode{n}" for n, d in enumerate(names)) if any(names) else None
        labels = {d: found[s]["values"].tolist() for d, s in zip(dims or (), found[name]["scales"], strict=False) if s}
        labels = {d: [_text(x) for x in axis] for d, axis in labels.items()}
        extra = {"file": data, "name": name}
        return Loaded("hdf5", values.shape, values.dtype, values, dims=dims, labels=labels or None, extra=extra)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        h5py = attempt_import("h5py", "writing HDF5", "xarray")
        if like.format == "hdf5":
            sink.write(fill_isolated("hdf5 filled", array, like.extra["file"], name=like.extra["name"]))
            return
        out = io.BytesIO()
        with h5py.File(out, "w", track_order=True) as file:
            _write_new(file, array, like)
        sink.write(out.getbuffer())


@task("hdf5", "h5py")
def datasets_of(source: str | bytes) -> dict[str, dict[str, Any]]:
    """All data sets of plain values: {path: values, class (of MATLAB), dims, scales (paths), scale (is it one?)}."""
    import h5py

    out: dict[str, dict[str, Any]] = {}

    def take(path: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or item.shape is None:
            return
        text = h5py.check_string_dtype(item.dtype) is not None
        pairs = item.dtype.names == ("real", "imag")  # complex numbers of MATLAB
        if item.dtype.kind not in "biufc" and not text and not pairs:
            return
        values = np.asarray(item.asstr()[()] if text else item[()])
        values = values["real"] + 1j * values["imag"] if pairs else values
        scales = [d[0].name.lstrip("/") if len(d) else "" for d in item.dims] if item.ndim else []
        names = [d.label or scale.rpartition("/")[2] for d, scale in zip(item.dims, scales, strict=True)]
        kind = item.attrs.get("MATLAB_class")
        out[path] = {"values": values, "class": kind, "dims": names, "scales": scales, "scale": item.is_scale}

    with open_hdf5(source, "reading HDF5") as file:
        file.visititems(take)
    return out


def _text(label: Any) -> Any:
    return label.decode("utf-8", "replace") if isinstance(label, bytes) else label


@task("hdf5 filled", "h5py")
def fill_dataset(source: bytes, name: str) -> bytes:
    """A copy of a file with the completed array as the data set of that name."""
    import h5py

    array, data = array_and_file(source)
    out = io.BytesIO(data)
    with h5py.File(out, "r+") as file:
        if file[name].dtype == array.dtype:
            file[name][...] = array
        else:
            _replace(file, name, array)
    return out.getvalue()


def _replace(file: Any, name: str, array: Array) -> None:
    """The data set again, in another type: attributes, labels and scales along its modes are kept."""
    old = file[name]
    file.move(name, f"{name} as read")
    made = file.create_dataset(name, data=array)
    for key, value in old.attrs.items():
        if key not in ("DIMENSION_LIST", "DIMENSION_LABELS"):
            made.attrs[key] = value
    for dim, before in zip(made.dims, old.dims, strict=True):
        dim.label = before.label
        for scale in before.values():
            dim.attach_scale(scale)
            before.detach_scale(scale)
    del file[f"{name} as read"]


def _write_new(file: Any, array: Array, like: Loaded) -> None:
    """One data set, with names and labels along its modes."""
    made = file.create_dataset(str(like.extra.get("name") or "values").replace("/", "_"), data=array)
    known = like.labels or {}
    for dim, name in zip(made.dims, dim_names(like), strict=True):
        dim.label = name
        if name in known:
            scale = file.create_dataset(f"labels/{name.replace('/', '_')}", data=_as_stored(known[name]))
            scale.make_scale(name)
            dim.attach_scale(scale)


def _as_stored(labels: list[Any]) -> Any:
    """Labels as numbers where all are, else as text."""
    array = np.array(labels)
    return array if array.dtype.kind in "biuf" else [str(x) for x in labels]
