"""NetCDF and Zarr through xarray: dimensions, coordinates, attributes, other variables and packing are kept.

Packed integers (scale_factor, add_offset, _FillValue) are read as floats with NaN, as xarray does, and packed again in
the same way; estimates are kept inside the range that packs, and off the number that means missing.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.apart import read_apart
from tensorfill.io.formats.arrays import choose
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.long import dim_names
from tensorfill.io.formats.worker import task
from tensorfill.io.optional import attempt_import

UNPACKED = "what is in it, unpacked,"
UNNAMED = "/"  # no name of an array


def load_dataset(format: str, dataset: Any, request: Request, extra: dict[str, Any]) -> Loaded:
    """One variable of an xarray Dataset; the rest is kept for writing."""
    numbers = {str(k): _shape(v) for k, v in sorted(dataset.data_vars.items()) if v.dtype.kind in "biuf" and v.ndim > 0}
    name = choose(numbers, request.variable)
    chosen = dataset[name]
    values = np.asarray(chosen.values)
    labels = {str(d): list(chosen.coords[d].values) for d in chosen.dims if d in chosen.coords}
    return Loaded(
        format=format,
        shape=values.shape,
        dtype=values.dtype,
        values=values,
        dims=tuple(str(d) for d in chosen.dims),
        labels=labels or None,
        extra={**extra, "dataset": dataset, "name": name},
    )


def _shape(variable: Any) -> str:
    return "(" + ", ".join(f"{d}: {n}" for d, n in variable.sizes.items()) + ")"


def fill_dataset(array: Array, like: Loaded) -> Any:
    """The dataset that was read with the completed variable in it, or a new one."""
    xr = attempt_import("xarray", "writing NetCDF or Zarr", "xarray")
    if "dataset" not in like.extra:
        names = [d.replace("/", "_") for d in dim_names(like)]  # to NetCDF "date/time" is a time in a group date
        coords = {d.replace("/", "_"): _coordinate(x) for d, x in (like.labels or {}).items()}
        return xr.DataArray(array, dims=names, coords=coords, name=str(like.extra.get("name") or "values")).to_dataset()
    dataset, name = like.extra["dataset"], like.extra["name"]
    old = dataset[name]
    encoding = {} if like.extra.get("floating") else dict(old.encoding)
    new = old.copy(data=_packable(array, encoding))
    new.encoding = encoding
    return dataset.assign({name: new})


def _coordinate(labels: list[Any]) -> Array:
    """Labels as numbers where all are, else as text."""
    try:
        number = np.array([float(x) for x in labels])
        return number.astype(np.int64) if (number == np.rint(number)).all() and np.abs(number).max() < 2**53 else number
    except (TypeError, ValueError, OverflowError):
        out = np.array(labels)
        return out if out.dtype.kind in "UM" else np.array([str(x) for x in labels])


def _packable(array: Array, encoding: dict[str, Any]) -> Array:
    """Estimates moved to the nearest numbers that can be packed; numbers that were packed stay as they are."""
    kind = np.dtype(encoding.get("dtype") or array.dtype)
    if kind.kind not in "iu" or array.dtype.kind != "f":
        return array
    if str(encoding.get("_Unsigned", "")).lower() == "true":
        kind = np.dtype(f"u{kind.itemsize}")
    scale, offset = float(encoding.get("scale_factor", 1)), float(encoding.get("add_offset", 0))
    limits = np.iinfo(kind)
    packed = np.clip(np.rint((array.astype(np.float64) - offset) / scale), limits.min, limits.max)
    for key in ("_FillValue", "missing_value"):
        if encoding.get(key) is not None:
            fill = float(np.asarray(encoding[key]).ravel()[0])
            packed[packed == fill] += -1 if fill >= limits.max else 1
    return (packed * scale + offset).astype(array.dtype)


def check_names(dataset: Any, title: str) -> None:
    """Refuse names that the file would take for a path inside it."""
    for name in (*dataset.variables, *dataset.dims):
        if "/" in str(name):
            msg = f"{title} has no '/' in a name; got {str(name)!r}. Rename it, or write .csv, .parquet or .npy."
            raise FileError(msg)


@FORMATS.register("netcdf")
class NetCDF(Format):
    """NetCDF 3 through SciPy, NetCDF 4 through h5netcdf."""

    title = "a NetCDF file"
    description = "labelled arrays by name (--variable); coordinates and attributes kept; needs xarray"
    endings = (".nc", ".nc4", ".cdf", ".netcdf")
    magic = (b"CDF\x01", b"CDF\x02", b"\x89HDF")
    streams = False
    options = frozenset({"variable"})

    @classmethod
    def looks(cls, head: bytes) -> bool:
        return head.startswith(b"CDF") or (cls.begins(head) and b"_NCProperties" in head)  # else any HDF5 file

    def read(self, request: Request) -> Loaded:
        assert request.file is not None
        xr = attempt_import("xarray", "reading NetCDF", "xarray")
        engine = "scipy" if request.file.read(3) == b"CDF" else "h5netcdf"
        if engine == "h5netcdf":
            for module in ("h5netcdf", "h5py"):
                attempt_import(module, "reading NetCDF 4", "xarray")
        raw = read_apart("netcdf", request, engine=engine)
        variables = {name: xr.Variable(*parts) for name, parts in raw["variables"].items()}
        dataset = xr.Dataset(variables, attrs=raw["attrs"])
        dataset.encoding = raw["encoding"]
        return load_dataset("netcdf", xr.decode_cf(dataset), request, {"engine": engine})

    def write_path(self, path: Path, array: Array, like: Loaded) -> None:
        engine = like.extra.get("engine") or _engine()
        # NetCDF 3 has no unsigned numbers: the next wider type holds them
        wider = (
            {"u1": np.int16, "u2": np.int32, "u4": np.float64}.get(array.dtype.str[1:]) if engine == "scipy" else None
        )
        dataset = fill_dataset(array if wider is None else array.astype(wider), like)
        check_names(dataset, "NetCDF")
        try:
            dataset.to_netcdf(path, engine=engine)
        except (ValueError, TypeError) as error:
            version = 3 if engine == "scipy" else 4
            msg = f"NetCDF {version} cannot hold these {array.dtype} values; write .zarr or .npy instead."
            raise FileError(msg) from error


@task("netcdf", "xarray", "scipy.io", "h5netcdf", "h5py")
def raw_of(source: str, engine: str) -> dict[str, Any]:
    """The variables of a NetCDF file as they are stored: {name: (dims, values, attributes, encoding)}."""
    import xarray as xr

    if engine == "h5netcdf":
        from tensorfill.io.formats.hdf5 import open_hdf5

        with open_hdf5(source, "reading NetCDF 4"):
            pass  # refuses what reaches into other files
    with xr.open_dataset(source, engine=engine, decode_cf=False) as file:
        ask(2 * file.nbytes, UNPACKED)
        variables = {
            str(name): (tuple(map(str, v.dims)), np.asarray(v.values), dict(v.attrs), _plain(v.encoding))
            for name, v in file.variables.items()
        }
        return {"variables": variables, "attrs": dict(file.attrs), "encoding": _plain(file.encoding)}


def _plain(encoding: Any) -> dict[str, Any]:
    """How values are stored, as plain values. Types of text and the like are not plain; xarray finds them again."""
    kept = (bool, int, float, str, tuple, list, set, np.dtype, np.generic, np.ndarray, type(None))
    return {k: v for k, v in encoding.items() if isinstance(v, kept)}


def _engine() -> str:
    """h5netcdf (NetCDF 4) where it works; NetCDF 3 needs nothing more."""
    try:
        for module in ("h5netcdf", "h5py"):
            attempt_import(module, "writing NetCDF 4", "xarray")
    except ImportError:
        return "scipy"
    return "h5netcdf"


@FORMATS.register("zarr")
class Zarr(Format):
    """A Zarr directory store, version 2 or 3, as xarray writes it."""

    title = "a Zarr store"
    description = "directory of labelled, chunked arrays by name (--variable); needs xarray and zarr"
    endings = (".zarr",)
    streams = False
    store = True
    options = frozenset({"variable"})

    @classmethod
    def is_store(cls, path: Path) -> bool:
        return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))

    def read(self, request: Request) -> Loaded:
        xr = attempt_import("xarray", "reading Zarr", "xarray")
        attempt_import("zarr", "reading Zarr", "xarray")
        assert request.path is not None
        version, consolidated = _version(request.path)
        # what a chunk unpacks to is known only once it is: that is done where memory is limited
        values = read_apart("zarr", request, consolidated=consolidated)
        if values.pop(UNNAMED, False):
            unnamed = xr.Dataset({k: ([f"{k}_{n}" for n in range(v.ndim)], v) for k, v in values.items()})
            loaded = load_dataset("zarr", unnamed, request, {"zarr_format": version})
            return replace(loaded, dims=None, labels=None)
        with _store(str(request.path), consolidated) as store:
            lazy, attrs = store.load()
            variables = {k: xr.Variable(v.dims, values[k], v.attrs, v.encoding) for k, v in lazy.items()}
        dataset = xr.decode_cf(xr.Dataset(variables, attrs=attrs))
        return load_dataset("zarr", dataset, request, {"zarr_format": version})

    def write_path(self, path: Path, array: Array, like: Loaded) -> None:
        attempt_import("zarr", "writing Zarr", "xarray")
        dataset = fill_dataset(array, like)
        check_names(dataset, "Zarr")
        version = like.extra.get("zarr_format", 2)  # version 3 knows no text labels yet
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*does not have a Zarr V3 specification")  # it was so before
            # consolidated metadata are part of version 2 only
            dataset.to_zarr(path, mode="w-", consolidated=version == 2, zarr_format=version)


def _store(path: str, consolidated: bool | None) -> Any:
    """A Zarr group as xarray has it, of which nothing is read but what it says of itself."""
    from contextlib import closing

    from xarray.backends import ZarrStore

    return closing(ZarrStore.open_group(path, mode="r", consolidated=consolidated))


@task("zarr", "xarray", "zarr")
def chunks_of(source: str, consolidated: bool | None) -> dict[str, Any]:
    """All values of a Zarr group, or of a single array, as they are stored; with UNNAMED if dims have no names."""
    import zarr

    if consolidated is not None:
        try:
            with _store(source, consolidated) as store:
                variables, _ = store.load()
                ask(2 * sum(v.nbytes for v in variables.values()), UNPACKED)
                return {str(name): np.asarray(v.values) for name, v in variables.items()}
        except KeyError as error:
            if "dimension" not in str(error).lower():
                raise
    root: Any = zarr.open(source, mode="r")
    arrays = {"values": root} if consolidated is None else {str(name): array for name, array in root.arrays()}
    ask(2 * sum(array.nbytes for array in arrays.values()), UNPACKED)
    return {**{name: np.asarray(array[...]) for name, array in arrays.items()}, UNNAMED: True}


def _version(path: Path) -> tuple[int, bool | None]:
    """(Zarr version, has it consolidated metadata?); None for a single array, which is no group."""
    if (path / "zarr.json").is_file():
        notes = json.loads((path / "zarr.json").read_text())
        return 3, bool(notes.get("consolidated_metadata")) if notes.get("node_type") == "group" else None
    return 2, (path / ".zmetadata").is_file() if (path / ".zgroup").is_file() else None
