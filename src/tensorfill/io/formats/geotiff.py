"""Maps: TIFF pictures that say where they lie, through rasterio (GDAL) in a process of its own.

(H, W) or (H, W, bands): each band is a measurement with its own gaps. What the file calls nodata is missing, in each
band by itself; so is what its mask leaves out. Reference system, transform, nodata, names of bands, tags, tiling and
compression are written back.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.apart import read_apart
from tensorfill.io.formats.base import Array, FileError, Loaded, Request
from tensorfill.io.formats.worker import task
from tensorfill.io.optional import attempt_import

GEO = {33550, 33922, 34264, 34735, 42113}  # scale, tie points, transform, keys, GDAL's nodata
LAYOUT = ("blockxsize", "blockysize", "tiled", "compress", "interleave", "photometric")


def is_map(data: bytes) -> bool:
    """Does the first page of a TIFF have a tag of a map?"""
    return bool(GEO & set(_tags(data)))


def _tags(data: bytes) -> list[int]:
    """The numbers of the tags of the first page; none where the file is too damaged to tell."""
    order = "<" if data[:2] == b"II" else ">"
    big = data[2:4] in (b"+\0", b"\0+")
    try:
        (at,) = struct.unpack_from(order + ("Q" if big else "I"), data, 8 if big else 4)
        (count,) = struct.unpack_from(order + ("Q" if big else "H"), data, at)
        start, step = (at + 8, 20) if big else (at + 2, 12)
        return [struct.unpack_from(order + "H", data, start + step * k)[0] for k in range(min(count, 4096))]
    except struct.error:
        return []


def read_map(request: Request) -> Loaded:
    """A map with gaps where it says nodata."""
    found = read_apart("geotiff", request)
    values, seen = np.moveaxis(found["values"], 0, -1), np.moveaxis(found["seen"], 0, -1)
    names = [name or f"band {k + 1}" for k, name in enumerate(found["descriptions"])]
    dims: tuple[str, ...] = ("y", "x", "band")
    labels = _places(found["transform"], values.shape)
    if values.shape[-1] == 1:
        values, seen, dims = values[..., 0], seen[..., 0], ("y", "x")
    else:
        labels["band"] = names
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "f":
        seen = seen & ~np.isnan(values)
    extra = {"axes": "HWC"[: values.ndim], "alpha": None, "colour": False, "geo": found}
    mask = None if seen.all() else np.ascontiguousarray(seen)
    return Loaded("tiff", values.shape, values.dtype, values, mask, dims=dims, labels=labels or None, extra=extra)


def _places(transform: tuple[float, ...], shape: tuple[int, ...]) -> dict[str, list[Any]]:
    """The middles of rows and columns in the units of the map; none for a map that is turned."""
    a, b, c, d, e, f = transform[:6]
    if b or d or (a, e) == (1.0, 1.0):
        return {}
    rows, columns = np.arange(shape[0]) + 0.5, np.arange(shape[1]) + 0.5
    return {"y": (f + e * rows).tolist(), "x": (c + a * columns).tolist()}


@task("geotiff", "rasterio")
def bands_of(source: str | bytes) -> dict[str, Any]:
    """All of a map, by its path or its bytes, in plain values."""
    from contextlib import ExitStack

    import rasterio
    from rasterio.enums import ColorInterp
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
        alpha = [k for k, kind in enumerate(file.colorinterp, start=1) if kind == ColorInterp.alpha]
        bands = [k for k in range(1, file.count + 1) if k not in alpha]
        if not bands:
            msg = "it has no band but transparency."
            raise FileError(msg)
        crs = file.crs
        return {
            "values": file.read(bands),
            "seen": file.read_masks(bands) != 0,
            "alpha": file.read(alpha) if alpha else None,
            "crs": None if crs is None else crs.to_wkt(),
            "transform": tuple(file.transform),
            "nodata": file.nodata,
            "descriptions": [file.descriptions[k - 1] for k in bands],
            "units": [file.units[k - 1] for k in bands],
            "scales": [file.scales[k - 1] for k in bands],
            "offsets": [file.offsets[k - 1] for k in bands],
            "colours": [int(kind) for kind in file.colorinterp],
            "tags": file.tags(),
            "band_tags": [file.tags(k) for k in bands],
            "layout": {k: v for k, v in file.profile.items() if k in LAYOUT},
        }


def write_map(array: Array, like: Loaded) -> bytes:
    """The same map with its gaps filled."""
    rasterio = attempt_import("rasterio", "writing a map (GeoTIFF)", "geo")
    from affine import Affine
    from rasterio.enums import ColorInterp
    from rasterio.io import MemoryFile

    geo = like.extra["geo"]
    bands = np.moveaxis(array if array.ndim == 3 else array[..., None], -1, 0)
    stored = bands.astype(np.uint8) if bands.dtype == np.bool_ else _off_nodata(bands, geo, like)
    alpha = geo["alpha"]
    whole = stored if alpha is None else np.concatenate([stored, alpha.astype(stored.dtype)])
    nodata = geo["nodata"] if geo["nodata"] is not None and _holds(stored.dtype, geo["nodata"]) else None
    settings = {
        **geo["layout"],
        "driver": "GTiff",
        "height": array.shape[0],
        "width": array.shape[1],
        "count": len(whole),
        "dtype": whole.dtype,
        "crs": None if geo["crs"] is None else rasterio.crs.CRS.from_wkt(geo["crs"]),
        "transform": Affine(*geo["transform"][:6]),
        "nodata": nodata,
    }
    with MemoryFile() as memory:
        with memory.open(**settings) as file:
            file.write(whole)
            file.update_tags(**geo["tags"])
            if len(whole) == len(geo["colours"]):
                file.colorinterp = [ColorInterp(kind) for kind in geo["colours"]]
            for k, name in enumerate(geo["descriptions"], start=1):
                if name:
                    file.set_band_description(k, name)
                file.update_tags(k, **geo["band_tags"][k - 1])
                if geo["units"][k - 1]:
                    file.set_band_unit(k, geo["units"][k - 1])
            more = [1.0] * (len(whole) - len(stored))
            file.scales = (*geo["scales"], *more)
            file.offsets = (*geo["offsets"], *(0.0 for _ in more))
        return bytes(memory.getbuffer())


def _holds(dtype: np.dtype[Any], number: float) -> bool:
    """Can a band of that type have this nodata?"""
    if dtype.kind == "f":
        return True
    limits = np.iinfo(dtype)
    return number == int(number) and limits.min <= number <= limits.max if np.isfinite(number) else False


def _off_nodata(bands: Array, geo: dict[str, Any], like: Loaded) -> Array:
    """Estimates that happen to be the number for nodata, moved to the next one: they are known now."""
    nodata = geo["nodata"]
    if nodata is None or np.isnan(nodata) or not _holds(bands.dtype, nodata):
        return bands
    seen = like.observed()
    hit = ~np.moveaxis(seen if seen.ndim == 3 else seen[..., None], -1, 0) & (bands == bands.dtype.type(nodata))
    if not hit.any():
        return bands
    number = bands.dtype.type(nodata)
    if bands.dtype.kind == "f":
        beside = number + max(abs(number) * 1e-5, np.finfo(bands.dtype).eps)  # its neighbours pass for it
    else:
        beside = number - 1 if number >= np.iinfo(bands.dtype).max else number + 1
    return np.where(hit, beside, bands).astype(bands.dtype)
