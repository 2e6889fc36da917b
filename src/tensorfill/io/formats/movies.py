"""TIFF: pictures that may have many frames. One frame is a picture, several are a video (F, H, W[, 3]).

What Pillow reads faithfully from a TIFF goes through Pillow; 16-bit colour, floats in colour, many bands and the like
through tifffile, an optional library.
"""

from __future__ import annotations

import io
import struct
from dataclasses import replace
from typing import IO, Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats import geotiff
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.isolated import read_isolated, task
from tensorfill.io.formats.pictures import ask_room, guess_axes, load_picture, pixels, planes, stack_alpha, to_image
from tensorfill.io.optional import attempt_import

COLOURS = (2, 6)  # photometric: RGB, YCbCr; bands of anything else are measurements
LOSSLESS = ("raw", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits", "group3", "group4")


def frames_of(image: Any, length: int) -> tuple[Array, Array | None, bool]:
    """(values, alpha, are there several?) of all frames of a Pillow image in a file of `length` bytes; (F, ...) if
    there are several; they must agree in size and mode.
    """
    parts: list[tuple[Array, Array | None]] = []
    count = getattr(image, "n_frames", 1)
    ask_room(image, length, count)
    for k in range(count):
        image.seek(k)
        ask_room(image, length)  # this one may claim another size
        parts.append(pixels(image))
        one, this = parts[0][0], parts[-1][0]
        if (this.shape, this.dtype) != (one.shape, one.dtype):
            msg = f"its pages differ: page 1 is {one.shape} {one.dtype}, page {k + 1} is {this.shape} {this.dtype}; "
            msg += "a video needs pages of one size and type."
            raise FileError(msg)
    if count == 1:
        return *parts[0], False
    values, alphas = zip(*parts, strict=True)
    return np.stack(values), None if any(a is None for a in alphas) else np.stack(alphas), True


@FORMATS.register("tiff")
class TIFF(Format):
    """TIFF through Pillow, or tifffile for what Pillow would change."""

    title = "a TIFF picture"
    description = "picture, video (several pages) or map (GeoTIFF, needs rasterio): 8 or 16 bits, float, alpha kept"
    endings = (".tif", ".tiff")
    magic = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
    options = frozenset({"alpha_missing"})

    def read(self, request: Request) -> Loaded:
        data = request.bytes()
        note = ""
        if geotiff.is_map(data):
            try:
                attempt_import("rasterio", "keeping where a map lies (GeoTIFF)", "geo")
                return geotiff.read_map(data, replace(request, file=io.BytesIO(data)))
            except ImportError as error:
                note = f"{error}; without it the picture is read, but where it lies and what is nodata is not."
        loaded = self._picture(data, request)
        return replace(loaded, notes=(*loaded.notes, note)) if note else loaded

    def _picture(self, data: bytes, request: Request) -> Loaded:
        from PIL import Image

        try:
            with Image.open(io.BytesIO(data), formats=["TIFF"]) as image:
                if _pillow_keeps_all(image):
                    values, alpha, video = frames_of(image, len(data))
                    kept = {k: image.info[k] for k in ("icc_profile", "dpi") if image.info.get(k)}
                    if image.info.get("compression") in LOSSLESS:
                        kept["compression"] = image.info["compression"]
                    return load_picture(request, "tiff", values, alpha, video=video, extra={"save": kept})
        except Image.UnidentifiedImageError:
            pass  # a kind of TIFF that Pillow does not know, e.g. 64-bit floats
        return _read_tifffile(data, request)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        if "map" in like.extra:
            sink.write(geotiff.write_map(array, like))
            return
        axes = like.extra.get("axes") or guess_axes(array.shape)
        alpha = like.extra.get("alpha")
        if array.dtype == np.bool_ and "C" in axes:  # one bit per sample is for black and white only
            array = array.astype(np.uint8) * np.uint8(255)
        if "tifffile" in like.extra or not _pillow_writes(array, axes, alpha):
            sink.write(_write_tifffile(array, axes, like))
            return
        if array.dtype == np.uint8:
            array, alpha, axes = planes(array, like, "TIFF", video=True)
        pixel = stack_alpha(array, alpha, axes)
        images = [to_image(frame) for frame in (pixel if "F" in axes else pixel[None])]
        given = like.extra.get("save", {})
        keep = {k: given[k] for k in ("compression", "icc_profile", "dpi") if k in given}
        out = io.BytesIO()
        settings = {"compression": "tiff_adobe_deflate", **keep}
        images[0].save(out, "TIFF", save_all=len(images) > 1, append_images=images[1:], **settings)
        sink.write(out.getbuffer())


def _pillow_keeps_all(image: Any) -> bool:
    """Does Pillow give back every bit of all pages? Grey 1, 8, 16, int32, float32, and 8-bit colour."""
    for k in range(getattr(image, "n_frames", 1)):
        image.seek(k)
        tags = image.tag_v2
        bits, kinds = tuple(tags.get(258, (1,))), set(tags.get(339, (1,)))
        white_is_zero = tags.get(262) == 0 and max(bits) > 8  # Pillow inverts these only up to 8 bits
        allowed = {"1": (1,), "I;16": (16,), "I;16B": (16,), "I": (32,), "F": (32,)}.get(image.mode, (8,) * len(bits))
        kind = {"I": {2}, "F": {3}}.get(image.mode, {1})
        if bits != allowed or kinds != kind or white_is_zero or len(bits) > 4:
            return False
    return True


def _pillow_writes(array: Array, axes: str, alpha: Array | None) -> bool:
    if axes in ("HW", "FHW"):
        deep = (np.bool_, np.uint16, np.int32, np.float32)
        return array.dtype == np.uint8 or (array.dtype in deep and alpha is None)
    return array.dtype == np.uint8 and axes in ("HWC", "FHWC") and array.shape[-1] in (3, 4)


@task("tiff", "tifffile")
def pages_of(source: str | bytes) -> dict[str, Any]:
    """All of a TIFF, by its path or its bytes, in plain values."""
    tifffile = attempt_import("tifffile", "this kind of TIFF (16-bit colour, many bands, 64 bits)", "tiff")
    with tifffile.TiffFile(io.BytesIO(source) if isinstance(source, bytes) else source) as file:
        series, page = file.series[0], file.pages[0]
        if len(file.series) > 1:
            msg = f"its pages are of {len(file.series)} kinds; a video needs pages of one size and type."
            raise FileError(msg)
        ask(3 * series.nbytes, f"a picture of shape {series.shape}")
        values = np.array(series.asarray())
        keep = {
            "photometric": int(page.photometric),
            "extrasamples": [int(e) for e in page.extrasamples],
            "compression": "zlib" if page.compression > 1 else None,
        }
        if "S" in series.axes:
            keep["planarconfig"] = "contig" if series.axes.endswith("S") else "separate"
    return {"values": values, "keep": keep}


def _read_tifffile(data: bytes, request: Request) -> Loaded:
    attempt_import("tifffile", "this kind of TIFF (16-bit colour, many bands, 64 bits)", "tiff")
    found = read_isolated("tiff", replace(request, file=io.BytesIO(data)))
    values, keep, alpha = found["values"], found["keep"], None
    values = values.astype(values.dtype.newbyteorder("="))
    samples = keep.get("planarconfig")
    if samples == "contig" and any(e in (1, 2) for e in keep["extrasamples"][-1:]):  # the last sample is alpha
        values, alpha = values[..., :-1], values[..., -1]
        values = values[..., 0] if values.shape[-1] == 1 else values
    modes = values.ndim - (samples == "contig" and values.ndim == found["values"].ndim)
    if samples == "separate" or modes not in (2, 3):
        return Loaded("tiff", values.shape, values.dtype, values, extra={"tifffile": keep, "alpha": alpha})
    extra = {"tifffile": keep, "colour": keep["photometric"] in COLOURS}
    return load_picture(request, "tiff", values, alpha, video=modes == 3, extra=extra)


def _write_tifffile(array: Array, axes: str, like: Loaded) -> bytes:
    tifffile = attempt_import("tifffile", f"a TIFF of {array.dtype} with shape {array.shape}", "tiff")
    alpha = like.extra.get("alpha")
    photometric = "rgb" if "C" in axes and array.shape[-1] in (3, 4) else "minisblack"
    new = {"photometric": photometric, "compression": "zlib"}
    settings = like.extra.get("tifffile") or {**new, **({} if alpha is None else {"extrasamples": ["unassalpha"]})}
    out = io.BytesIO()
    try:
        tifffile.imwrite(out, stack_alpha(array, alpha, axes), **settings)
    except (ValueError, struct.error) as error:
        msg = f"TIFF cannot hold {array.dtype} values of shape {array.shape} ({error}); write .npy instead."
        raise FileError(msg) from error
    return out.getvalue()
