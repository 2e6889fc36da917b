"""Arrays: NumPy's .npy and .npz. NaN marks what is missing; other variables are written back."""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO, Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.registry import did_you_mean


def choose_variable(names: dict[str, str], wanted: str | None) -> str:
    """The variable to complete: the wanted one, or the only one. `names` maps each to its shape, for the sentence."""
    if wanted is not None:
        if wanted in names:
            return wanted
        msg = f"it has no variable {wanted!r}; it has {', '.join(names) or 'none'}.{did_you_mean(wanted, list(names))}"
        raise FileError(msg)
    if len(names) == 1:
        return next(iter(names))
    if not names:
        msg = "it holds no array of numbers; only real numbers can be completed."
        raise FileError(msg)
    listed = ", ".join(f"{name} {shape}".strip() for name, shape in names.items())
    msg = f"it holds several variables ({listed}); choose one with --variable."
    raise FileError(msg, names)


def read_array(file: IO[bytes], length: int) -> Array:
    """One array in NumPy's own format, of a file of `length` bytes.

    Objects are refused, since reading them may run code; so is an array that the file is too short for.
    """
    try:
        shape, _, dtype = _header(file)
        size = math.prod(shape) * dtype.itemsize
        if size > length and not dtype.hasobject:
            msg = f"it is damaged: {length:,} bytes cannot hold the array of shape {shape} that it claims."
            raise FileError(msg)
        ask(2 * size, f"an array of shape {shape}")
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        if "Object arrays" in str(error):
            msg = "it holds Python objects, not numbers; save it as an array of floats or integers."
            raise FileError(msg) from error
        raise


def read_archive(file: IO[bytes]) -> tuple[dict[str, Array], bool]:
    """(arrays by name, are they packed?) of a .npz archive, once it is sure that there is room for all of them."""
    arrays, packed = {}, False
    with zipfile.ZipFile(file) as archive:
        ask(2 * sum(entry.file_size for entry in archive.infolist()), "what is in it, unpacked,")
        for entry in archive.infolist():
            with archive.open(entry) as part:
                arrays[entry.filename.removesuffix(".npy")] = read_array(part, entry.file_size)
            packed |= entry.compress_type != zipfile.ZIP_STORED
    return arrays, packed


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """(shape, in Fortran's order?, type) that an array in NumPy's format claims; the file is left at its start."""
    start = file.tell()
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    found = read(file)
    file.seek(start)
    return found


@FORMATS.register("npy")
class NPY(Format):
    """NumPy array."""

    title = "a NumPy array"
    description = "NumPy array of any shape and number type"
    endings = (".npy",)
    magic = (b"\x93NUMPY",)

    def read(self, request: Request) -> Loaded:
        data = request.bytes()
        values = read_array(io.BytesIO(data), len(data))
        return Loaded("npy", values.shape, values.dtype, values)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        np.lib.format.write_array(sink, np.ascontiguousarray(array), allow_pickle=False)


@FORMATS.register("npz")
class NPZ(Format):
    """Several NumPy arrays in a zip file; `values` and `mask` together are taken as data and mask."""

    title = "a NumPy .npz archive"
    description = "NumPy arrays by name (--variable); arrays `values` and `mask` (True = observed) belong together"
    endings = (".npz",)
    magic = (b"PK\x03\x04", b"PK\x05\x06")
    options = frozenset({"variable"})

    @classmethod
    def begins(cls, head: bytes) -> bool:
        name = head[30 : 30 + int.from_bytes(head[26:28], "little")]  # of the first file in the archive
        return head.startswith(b"PK\x05\x06") or (super().begins(head) and name.endswith(b".npy"))

    def read(self, request: Request) -> Loaded:
        arrays, packed = read_archive(io.BytesIO(request.bytes()))
        pair = request.variable is None and set(arrays) == {"values", "mask"}
        name = "values" if pair else choose_variable({k: str(a.shape) for k, a in arrays.items()}, request.variable)
        values, mask = arrays[name], None
        if pair:
            mask = arrays["mask"]
            if mask.dtype != np.bool_ or mask.shape != values.shape:
                msg = f"its mask must be True/False of shape {values.shape}; got {mask.dtype} of shape {mask.shape}."
                raise FileError(msg)
            mask = mask & ~np.isnan(values) if values.dtype.kind == "f" else mask
        extra = {"arrays": arrays, "name": name, "packed": packed}
        return Loaded("npz", values.shape, values.dtype, values, mask, extra=extra)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        name = like.extra.get("name") or "values"
        arrays = {**like.extra.get("arrays", {}), name: array} if like.format == "npz" else {name: array}
        if set(arrays) == {"values", "mask"} and name == "values" and arrays["mask"].dtype == np.bool_:
            arrays["mask"] = np.ones(array.shape, dtype=bool)  # or a reader would take what was filled for missing
        method = zipfile.ZIP_STORED if like.extra.get("packed") is False else zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(sink, "w", method) as archive:
            for key, part in arrays.items():
                entry = zipfile.ZipInfo(f"{key}.npy")  # dated 1980: the same data make the same bytes
                entry.compress_type = method
                with archive.open(entry, "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.ascontiguousarray(part), allow_pickle=False)
