"""NetCDF and Zarr through xarray: dimensions, coordinates, attributes, other variables and packing are kept.

Packed integers (scale_factor, add_offset, _FillValue) are read as floats with NaN, as xarray does, and packed again in
the same way; estimates are kept inside the range that packs, and off the number that means missing.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.arrays import choose_variable
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.hdf5 import open_hdf5
from tensorfill.io.formats.isolated import read_isolated, task
from tensorfill.io.formats.long import dim_names
from tensorfill.io.optional import attempt_import


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
    new = old.copy(data=_fit_packing(array, encoding))
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


def _fit_packing(array: Array, encoding: dict[str, Any]) -> Array:
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


class Labelled(Format):
    """Files that xarray reads and writes."""

    options = frozenset({"variable"})

    def open(self, request: Request, **options: Any) -> Loaded:
        """One variable of the file, which is read in a process of its own: what it unpacks to is known only then."""
        xr = attempt_import("xarray", f"reading {self.name}", "xarray")
        raw, named = read_isolated(self.name, request, engine=options["engine"])
        dataset = xr.decode_cf(raw)
        numbers = {k: v for k, v in sorted(dataset.data_vars.items()) if v.ndim > 0 and v.dtype.kind in "biuf"}
        lengths = {k: ", ".join(f"{d}: {n}" for d, n in v.sizes.items()) for k, v in numbers.items()}
        name = choose_variable({k: f"({told})" for k, told in lengths.items()}, request.variable)
        chosen = dataset[name]
        labels = {d: list(chosen.coords[d].values) for d in chosen.dims if named and d in chosen.coords}
        return Loaded(
            self.name,
            chosen.shape,
            chosen.dtype,
            np.asarray(chosen.values),
            dims=chosen.dims if named else None,
            labels=labels or None,
            extra={"dataset": dataset, "name": name, "options": options},
        )

    def dataset(self, array: Array, like: Loaded) -> tuple[Any, dict[str, Any]]:
        """(the dataset with the answer in it, the options of the file that was read, if it was of this kind)."""
        dataset = fill_dataset(array, like)
        for name in (*dataset.variables, *dataset.dims):
            if "/" in str(name):  # the file would take it for a path inside it
                title = self.title.split()[1]
                msg = f"{title} has no '/' in a name; got {str(name)!r}. Rename it, or write .csv, .parquet or .npy."
                raise FileError(msg)
        return dataset, like.extra["options"] if like.format == self.name else {}


@FORMATS.register("netcdf")
class NetCDF(Labelled):
    """NetCDF 3 through SciPy, NetCDF 4 through h5netcdf."""

    title = "a NetCDF file"
    description = "labelled arrays by name (--variable); coordinates and attributes kept; needs xarray"
    endings = (".nc", ".nc4", ".cdf", ".netcdf")
    magic = (b"CDF\x01", b"CDF\x02", b"\x89HDF")

    @classmethod
    def looks(cls, head: bytes) -> bool:
        return head.startswith(b"CDF") or (cls.begins(head) and b"_NCProperties" in head)  # else any HDF5 file

    def read(self, request: Request) -> Loaded:
        assert request.file is not None
        attempt_import("xarray", "reading NetCDF", "xarray")
        engine = "scipy" if request.file.read(3) == b"CDF" else "h5netcdf"
        request.file.seek(0)
        _require_engine(engine, "reading NetCDF 4")
        return self.open(request, engine=engine)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        dataset, options = self.dataset(array, like)
        engine = options.get("engine", "h5netcdf")
        _require_engine(engine, "writing NetCDF 4")
        if engine == "scipy":  # it has no unsigned numbers: the next wider type holds them
            wider = {"u1": np.int16, "u2": np.int32, "u4": np.float64}
            kinds = {name: wider.get(v.dtype.str[1:]) for name, v in dataset.data_vars.items()}
            dataset = dataset.assign({name: dataset[name].astype(kind) for name, kind in kinds.items() if kind})
        try:
            sink.write(dataset.to_netcdf(engine=engine))  # in memory: HDF5 itself crashes where the disk is full
        except (ValueError, TypeError) as error:
            version = 3 if engine == "scipy" else 4
            msg = f"NetCDF {version} cannot hold these values ({error}); write .zarr or .npy instead."
            raise FileError(msg) from error


def _require_engine(engine: str, what: str) -> None:
    for module in ("h5netcdf", "h5py") if engine == "h5netcdf" else ():
        attempt_import(module, what, "xarray")


@task("netcdf", "xarray", "scipy.io", "h5netcdf", "h5py")
@task("zarr", "xarray", "zarr")
def dataset_of(source: str | bytes, engine: str) -> tuple[Any, bool]:
    """(the Dataset of a file, by its path or its bytes, as it is stored, in memory; have its dimensions names?)."""
    import xarray as xr

    if engine == "h5netcdf":
        with open_hdf5(source, "reading NetCDF 4"):
            pass  # refuses what reaches into other files
    if isinstance(source, str) and engine == "zarr":
        file, named = _open_zarr(source)
    else:
        stream = io.BytesIO(source) if isinstance(source, bytes) else source
        file, named = xr.open_dataset(stream, engine=engine, decode_cf=False), True
    with file:
        ask(2 * file.nbytes, "what is in it, unpacked,")
        return file.load(), named


def _open_zarr(source: str) -> tuple[Any, bool]:
    """(a Dataset, True), or (that of the arrays of a group, or of one alone, whose dimensions have no names, False)."""
    import xarray as xr
    import zarr

    root: Any = zarr.open(source, mode="r")
    if hasattr(root, "arrays"):
        try:
            return xr.open_dataset(source, engine="zarr", decode_cf=False), True
        except KeyError as error:
            if "dimension" not in str(error).lower():
                raise
    arrays = dict(root.arrays()) if hasattr(root, "arrays") else {"values": root}
    ask(2 * sum(array.nbytes for array in arrays.values()), "what is in it, unpacked,")
    return xr.Dataset({k: ([f"{k}_{n}" for n in range(v.ndim)], v[...]) for k, v in arrays.items()}), False


@FORMATS.register("zarr")
class Zarr(Labelled):
    """A Zarr directory store, version 2 or 3, as xarray writes it."""

    title = "a Zarr store"
    description = "directory of labelled, chunked arrays by name (--variable); needs xarray and zarr"
    endings = (".zarr",)
    store = True

    def read(self, request: Request) -> Loaded:
        attempt_import("zarr", "reading Zarr", "xarray")
        assert request.path is not None
        return self.open(request, engine="zarr", version=3 if (request.path / "zarr.json").is_file() else 2)

    def write_path(self, path: Path, array: Array, like: Loaded) -> None:
        attempt_import("zarr", "writing Zarr", "xarray")
        dataset, options = self.dataset(array, like)
        version = options.get("version", 2)  # version 3 knows no text labels yet
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*does not have a Zarr V3 specification")  # it was so before
            # consolidated metadata are part of version 2 only
            dataset.to_zarr(path, mode="w-", consolidated=version == 2, zarr_format=version)
