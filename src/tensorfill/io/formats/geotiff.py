"""Maps: TIFF pictures that say where they lie, through rasterio (GDAL), read in a process of its own.

(H, W) or (H, W, bands): each band is a measurement with its own gaps. What the file calls nodata is missing, in each
band by itself; so is what its mask leaves out. All else in the file is written back.
"""

from __future__ import annotations

import io
import warnings
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.base import Array, FileError, Loaded, Request
from tensorfill.io.formats.isolated import read_isolated, task
from tensorfill.io.optional import attempt_import

GEO = {33550, 33922, 34264, 34735, 42113}  # scale, tie points, transform, keys, GDAL's nodata


def is_map(data: bytes) -> bool:
    """Does the first page of a TIFF have a tag of a map?"""
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    tags: set[int] = set()
    with warnings.catch_warnings(action="ignore"), suppress(Exception):  # whatever is damaged is told by the reader
        page = ImageFileDirectory_v2(data[:16] if data[2:4] in (b"+\0", b"\0+") else data[:8])
        stream = io.BytesIO(data)
        stream.seek(page.next)
        page.load(stream)
        tags = set(page)
    return bool(GEO & tags)


def read_map(data: bytes, request: Request) -> Loaded:
    """A map with gaps where it says nodata."""
    found = read_isolated("geotiff", request)
    values, seen = np.moveaxis(found["values"], 0, -1), np.moveaxis(found["seen"], 0, -1)
    dims: tuple[str, ...] = ("y", "x", "band")
    labels = _pixel_centres(found["transform"], values.shape)
    if values.shape[-1] == 1:
        values, seen, dims = values[..., 0], seen[..., 0], ("y", "x")
    else:
        labels["band"] = [name or f"band {k + 1}" for k, name in enumerate(found["names"])]
    if values.dtype.kind == "f":
        seen = seen & ~np.isnan(values)
    values, mask = np.ascontiguousarray(values), None if seen.all() else np.ascontiguousarray(seen)
    extra = {"axes": "HWC"[: values.ndim], "alpha": None, "colour": False, "map": data, "nodata": found["nodata"]}
    return Loaded("tiff", values.shape, values.dtype, values, mask, dims=dims, labels=labels or None, extra=extra)


def _pixel_centres(transform: tuple[float, ...], shape: tuple[int, ...]) -> dict[str, list[Any]]:
    """The middles of rows and columns in the units of the map; none for a map that is turned."""
    a, b, c, d, e, f = transform[:6]
    if b or d or (a, e) == (1.0, 1.0):
        return {}
    rows, columns = np.arange(shape[0]) + 0.5, np.arange(shape[1]) + 0.5
    return {"y": (f + e * rows).tolist(), "x": (c + a * columns).tolist()}


def _bands(file: Any) -> list[int]:
    """The numbers of the bands that are no transparency."""
    return [k for k, kind in zip(file.indexes, file.colorinterp, strict=True) if kind.name != "alpha"]


@task("geotiff", "rasterio")
def bands_of(source: str | bytes) -> dict[str, Any]:
    """The bands of a map, by its path or its bytes, in plain values."""
    import rasterio
    from rasterio.io import MemoryFile

    with ExitStack() as stack:
        stack.enter_context(rasterio.Env(GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR"))  # no files beside it
        if isinstance(source, bytes):
            file = stack.enter_context(stack.enter_context(MemoryFile(source)).open(driver="GTiff"))
        else:
            file = stack.enter_context(rasterio.open(source, driver="GTiff"))
        size = file.count * file.height * file.width
        wide = max(np.dtype(kind).itemsize for kind in file.dtypes)
        ask(size * (3 * wide + 2), f"a map of {file.height} x {file.width} pixels in {file.count} bands")
        bands = _bands(file)
        if not bands:
            msg = "it has no band but transparency."
            raise FileError(msg)
        return {
            "values": file.read(bands),
            "seen": file.read_masks(bands) != 0,
            "transform": tuple(file.transform),
            "nodata": file.nodata,
            "names": [file.descriptions[k - 1] for k in bands],
        }


def write_map(array: Array, like: Loaded) -> bytes:
    """The same map with its gaps filled; it was read once in a process of its own, so it is sound."""
    rio = attempt_import("rasterio.io", "writing a map (GeoTIFF)", "geo")
    values = np.moveaxis(array if array.ndim == 3 else array[..., None], -1, 0)
    values = values.astype(np.uint8) if values.dtype == np.bool_ else _avoid_nodata(values, like.extra["nodata"], like)
    with rio.MemoryFile(like.extra["map"]) as given, given.open(driver="GTiff") as old, rio.MemoryFile() as made:
        bands, nodata = _bands(old), old.nodata
        if nodata is not None and not _can_hold(values.dtype, nodata):
            nodata = None
        with made.open(**{**old.profile, "dtype": values.dtype, "nodata": nodata}) as new:
            new.write(values, bands)
            for k in set(old.indexes) - set(bands):
                new.write(old.read(k).astype(values.dtype), k)
            for name in ("colorinterp", "descriptions", "units", "scales", "offsets"):
                setattr(new, name, getattr(old, name))
            for k in (0, *old.indexes):  # 0: of the file
                new.update_tags(k, **old.tags(k))
        return bytes(made.getbuffer())


def _can_hold(dtype: np.dtype[Any], number: float) -> bool:
    """Can a band of that type have this nodata?"""
    if dtype.kind == "f":
        return True
    return float(number).is_integer() and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def _avoid_nodata(bands: Array, nodata: float | None, like: Loaded) -> Array:
    """Estimates that happen to be the number for nodata, moved to the next one: they are known now."""
    if nodata is None or np.isnan(nodata) or not _can_hold(bands.dtype, nodata):
        return bands
    seen, number = like.observed(), bands.dtype.type(nodata)
    hit = ~np.moveaxis(seen if seen.ndim == 3 else seen[..., None], -1, 0) & (bands == number)
    if bands.dtype.kind == "f":
        beside = number + max(abs(number) * 1e-5, np.finfo(bands.dtype).eps)  # its neighbours pass for it
    else:
        beside = number - 1 if number >= np.iinfo(bands.dtype).max else number + 1
    return np.where(hit, beside, bands).astype(bands.dtype)
