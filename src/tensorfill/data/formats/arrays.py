"""Arrays: NumPy's .npy and .npz, MATLAB's .mat. NaN marks what is missing; other variables are written back."""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO, Any

import numpy as np

from tensorfill.data.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.data.memory import ask
from tensorfill.data.optional import attempt_import
from tensorfill.registry import did_you_mean

WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
TYPES = {"double": "f8", "single": "f4", "logical": "?", **dict(zip(WHOLE, WHOLE, strict=True))}  # MATLAB's names


def choose(names: dict[str, str], wanted: str | None) -> str:
    """The variable to complete: the wanted one, or the only one. `names` maps each to its shape, for the sentence."""
    if wanted is not None:
        if wanted in names:
            return wanted
        msg = f"it has no variable {wanted!r}; it has {', '.join(names) or 'none'}.{did_you_mean(wanted, list(names))}"
        raise FileError(msg)
    if len(names) == 1:
        return next(iter(names))
    if not names:
        msg = "it holds no array of numbers."
        raise FileError(msg)
    listed = ", ".join(f"{name} {shape}".strip() for name, shape in names.items())
    msg = f"it holds several variables ({listed}); choose one with --variable."
    raise FileError(msg)


def no_pickle(file: IO[bytes], length: int) -> Array:
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
        values = no_pickle(io.BytesIO(data), len(data))
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

    def read(self, request: Request) -> Loaded:
        arrays, packed = {}, False
        with zipfile.ZipFile(io.BytesIO(request.bytes())) as archive:
            ask(2 * sum(entry.file_size for entry in archive.infolist()), "what is in it, unpacked,")
            for entry in archive.infolist():
                with archive.open(entry) as file:
                    arrays[entry.filename.removesuffix(".npy")] = no_pickle(file, entry.file_size)
                packed |= entry.compress_type != zipfile.ZIP_STORED
        pair = request.variable is None and set(arrays) == {"values", "mask"}
        name = "values" if pair else choose({k: str(a.shape) for k, a in arrays.items()}, request.variable)
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
            arrays["mask"] = np.ones(array.shape, dtype=bool)  # or whoever reads it takes what was filled for missing
        method = zipfile.ZIP_STORED if like.extra.get("packed") is False else zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(sink, "w", method) as archive:
            for key, part in arrays.items():
                entry = zipfile.ZipInfo(f"{key}.npy")  # dated 1980: the same data make the same bytes
                entry.compress_type = method
                with archive.open(entry, "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.ascontiguousarray(part), allow_pickle=False)


@FORMATS.register("mat")
class MAT(Format):
    """MATLAB through SciPy; version 7.3 files, which are HDF5, through h5py. Written as version 5."""

    title = "a MATLAB file"
    description = "MATLAB variables by name (--variable); version 7.3 needs h5py, written as version 5"
    endings = (".mat",)
    magic = (b"MATLAB 5.0", b"MATLAB 7.3")
    options = frozenset({"variable"})

    def read(self, request: Request) -> Loaded:
        data = request.bytes()
        variables = _read_hdf5(data) if data.startswith(b"MATLAB 7.3") else _read_mat(data)
        numbers = {
            k: str(v.shape)
            for k, v in variables.items()
            if isinstance(v, np.ndarray) and v.dtype.kind in "biuf" and (v.size > 1 or k == request.variable)
        }
        odd = [k for k, v in variables.items() if isinstance(v, np.ndarray) and v.dtype.kind == "c"]
        if request.variable in odd or (odd and not numbers):
            msg = f"{request.variable or odd[0]} holds complex numbers; only real numbers can be completed."
            raise FileError(msg)
        name = choose(numbers, request.variable)
        values = variables[name]
        return Loaded("mat", values.shape, values.dtype, values, extra={"variables": variables, "name": name})

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        from scipy.io import savemat

        name = str(like.extra.get("name") or "values")
        if not name.isidentifier():  # MATLAB names are letters, digits and underscores
            name = "values"
        variables = {**like.extra.get("variables", {}), name: array} if like.format == "mat" else {name: array}
        out = io.BytesIO()
        # SciPy turns a vector into a row of its own accord, and refuses names over 31 letters unless told
        savemat(out, variables, do_compression=True, long_field_names=True)
        sink.write(out.getbuffer())


def _read_mat(data: bytes) -> dict[str, Any]:
    from scipy.io import loadmat, whosmat

    # a double that MATLAB stored as small integers to save room is still a double, and a logical no integer; SciPy's
    # own way to say so, mat_dtype=True, takes the imaginary part away from complex numbers
    found = loadmat(io.BytesIO(data), mat_dtype=False)
    kinds = {name: TYPES.get(kind) for name, _, kind in whosmat(io.BytesIO(data))}
    out = {k: v for k, v in found.items() if not k.startswith("__")}
    for name, values in out.items():
        dtype = kinds.get(name)
        if dtype is not None and isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            out[name] = values.astype(dtype, copy=False)
    return out


def _read_hdf5(data: bytes) -> dict[str, Any]:
    h5py = attempt_import("h5py", "a MATLAB 7.3 file", "xarray")
    out = {}
    with h5py.File(io.BytesIO(data), "r") as file:
        for name, item in file.items():
            if name.startswith("#") or not hasattr(item, "dtype"):
                continue
            if item.dtype.names == ("real", "imag"):
                out[name] = (item["real"] + 1j * item["imag"]).T
            if item.dtype.kind not in "biuf":
                continue
            kind = item.attrs.get("MATLAB_class", b"double")
            values = np.asarray(item).T  # MATLAB counts columns first, HDF5 rows
            out[name] = values.astype(bool) if kind == b"logical" else values
    return {k: np.ascontiguousarray(v) for k, v in out.items()}
