"""Pictures that may have many frames: TIFF and GIF. One frame is a picture, several are a video (F, H, W[, 3]).

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
from tensorfill.io.formats.apart import read_apart
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.pictures import (
    ask_room,
    load_picture,
    pixels,
    planes,
    refuse_cmyk,
    stack_alpha,
    to_image,
)
from tensorfill.io.formats.worker import task
from tensorfill.io.optional import attempt_import

COLOURS = (2, 5, 6)  # photometric: RGB, CMYK, YCbCr; bands of anything else are measurements
LOSSLESS = ("raw", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits", "group3", "group4")


def frames_of(image: Any, length: int) -> tuple[Array, Array | None, bool, list[Any]]:
    """(values, alpha, is it a video, durations) of all frames of a Pillow image of a file of `length` bytes; they must
    agree in size and mode.
    """
    parts: list[Array] = []
    alphas: list[Array] = []
    durations: list[Any] = []
    count = getattr(image, "n_frames", 1)
    ask_room(image, length, count)
    for k in range(count):
        image.seek(k)
        ask_room(image, length)  # this one may claim another size
        whole = image.convert("RGBA") if image.format == "GIF" else image  # frames of a GIF differ in mode
        values, alpha = pixels(whole)
        if parts and (values.shape, values.dtype) != (parts[0].shape, parts[0].dtype):
            msg = (
                f"its pages differ: page 1 is {parts[0].shape} {parts[0].dtype}, page {k + 1} is {values.shape} "
                f"{values.dtype}; a video needs pages of one size and type."
            )
            raise FileError(msg)
        parts.append(values)
        alphas += [] if alpha is None else [alpha]
        durations.append(image.info.get("duration", 0))
    video = len(parts) > 1
    values = np.stack(parts) if video else parts[0]
    if len(alphas) < len(parts):
        return values, None, video, durations
    return values, np.stack(alphas) if video else alphas[0], video, durations


@FORMATS.register("gif")
class GIF(Format):
    """GIF through Pillow, which joins equal neighbouring frames."""

    title = "a GIF picture"
    description = "picture or video in RGB, timing kept; lossy beyond 256 colours in a frame"
    endings = (".gif",)
    magic = (b"GIF87a", b"GIF89a")
    whole = True
    note = "GIF is lossy: a frame keeps 256 colours, so observed values may change when it is written; use TIFF."
    options = frozenset({"alpha_missing"})

    def read(self, request: Request) -> Loaded:
        from PIL import Image

        data = request.bytes()
        with Image.open(io.BytesIO(data), formats=["GIF"]) as image:
            values, alpha, video, durations = frames_of(image, len(data))
            extra = {"durations": durations, "loop": image.info.get("loop")}
        if alpha is not None and alpha.all():
            alpha = None
        return load_picture(request, "gif", values, alpha, video=video, extra=extra)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        refuse_cmyk(like, "GIF")
        if array.dtype == np.uint16:
            msg = "GIF holds 8 bits per sample and these values have 16; write .tif instead."
            raise FileError(msg)
        values, alpha, axes = planes(array, like, "GIF", deep=False, video=True)
        pixel = stack_alpha(values, alpha, axes)
        images = [to_image(frame).convert("RGB" if alpha is None else "RGBA") for frame in _frames(pixel, axes)]
        timing = {"duration": like.extra.get("durations") or [100] * len(images)}
        if like.extra.get("loop", 0 if len(images) > 1 else None) is not None:
            timing["loop"] = like.extra.get("loop", 0)
        # disposal 2 clears before the next frame, so that transparent pixels do not show the frame before
        timing |= {} if alpha is None else {"disposal": 2}
        out = io.BytesIO()
        images[0].save(out, "GIF", save_all=True, append_images=images[1:], optimize=False, **timing)
        sink.write(out.getbuffer())


def _frames(pixel: Array, axes: str) -> Array:
    return pixel if "F" in axes else pixel[None]


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
                if _faithful(image):
                    values, alpha, video, _ = frames_of(image, len(data))
                    kept = {k: image.info[k] for k in ("icc_profile", "dpi") if image.info.get(k)}
                    if image.info.get("compression") in LOSSLESS:
                        kept["compression"] = image.info["compression"]
                    extra = {"save": kept, "mode": image.mode}
                    return load_picture(request, "tiff", values, alpha, video=video, extra=extra)
        except Image.UnidentifiedImageError:
            pass  # a kind of TIFF that Pillow does not know, e.g. 64-bit floats
        return _read_tifffile(data, request)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        if "map" in like.extra:
            sink.write(geotiff.write_map(array, like))
            return
        axes = like.extra.get("axes") or _guess(array.shape)
        alpha = like.extra.get("alpha")
        if array.dtype == np.bool_ and "C" in axes:  # one bit per sample is for black and white only
            array = array.astype(np.uint8) * np.uint8(255)
        if "tifffile" in like.extra or not _pillow_writes(array, axes, alpha):
            sink.write(_write_tifffile(array, axes, like))
            return
        if array.dtype == np.uint8:
            array, alpha, axes = planes(array, like, "TIFF", video=True)
        pixel = stack_alpha(array, alpha, axes)
        images = [to_image(p, like.extra.get("mode") == "CMYK") for p in _frames(pixel, axes)]
        given = like.extra.get("save", {})
        keep = {k: given[k] for k in ("compression", "icc_profile", "dpi") if k in given}
        out = io.BytesIO()
        settings = {"compression": "tiff_adobe_deflate", **keep}
        images[0].save(out, "TIFF", save_all=len(images) > 1, append_images=images[1:], **settings)
        sink.write(out.getbuffer())


def _guess(shape: tuple[int, ...]) -> str:
    """What the modes of an array from elsewhere mean; "" for anything that is not a picture or a video."""
    colour = "C" if len(shape) > 2 and shape[-1] in (3, 4) else ""
    return {2: "HW", 3: "FHW"}.get(len(shape) - len(colour), "") + colour if len(shape) > 1 else ""


def _faithful(image: Any) -> bool:
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
            "planar": "S" in series.axes and not series.axes.endswith("S"),
            "axes": str(series.axes),
        }
    return {"values": values, "keep": keep}


def _read_tifffile(data: bytes, request: Request) -> Loaded:
    attempt_import("tifffile", "this kind of TIFF (16-bit colour, many bands, 64 bits)", "tiff")
    found = read_apart("tiff", replace(request, file=io.BytesIO(data)))
    values, keep = found["values"], found["keep"]
    axes, samples = keep["axes"], keep["extrasamples"]
    values = values.astype(values.dtype.newbyteorder("="))
    alpha = None
    if any(e in (1, 2) for e in samples[-1:]):  # the last sample is alpha
        last = axes.index("S")
        values, alpha = np.split(values, [values.shape[last] - 1], axis=last)
        alpha = np.squeeze(alpha, axis=last)
        values = np.squeeze(values, axis=last) if values.shape[last] == 1 else values
    colour = axes.endswith("S") and values.ndim == len(axes)
    if not keep["planar"] and values.ndim - colour in (2, 3):
        video = values.ndim - colour == 3
        extra = {"tifffile": keep, "colour": keep["photometric"] in COLOURS}
        return load_picture(request, "tiff", values, alpha, video=video, extra=extra)
    return Loaded("tiff", values.shape, values.dtype, values, extra={"tifffile": keep, "alpha": alpha})


def _write_tifffile(array: Array, axes: str, like: Loaded) -> bytes:
    tifffile = attempt_import("tifffile", f"a TIFF of {array.dtype} with shape {array.shape}", "tiff")
    keep = like.extra.get("tifffile")
    alpha = like.extra.get("alpha")
    settings: dict[str, Any]
    if keep is None:
        settings = {"photometric": "rgb" if "C" in axes and array.shape[-1] in (3, 4) else "minisblack"}
        if alpha is not None:
            array = stack_alpha(array, alpha, axes)
            settings["extrasamples"] = ["unassalpha"]
        settings["compression"] = "zlib"
    else:
        if alpha is not None:
            last = keep["axes"].index("S")
            colour = array if array.ndim > alpha.ndim else np.expand_dims(array, last)
            array = np.concatenate([colour, np.expand_dims(alpha, last)], axis=last)
        settings = {k: keep[k] for k in ("photometric", "extrasamples", "compression")}
        if "S" in keep["axes"]:
            settings["planarconfig"] = "separate" if keep["planar"] else "contig"
    out = io.BytesIO()
    try:
        tifffile.imwrite(out, array, **settings)
    except (ValueError, struct.error) as error:
        msg = f"TIFF cannot hold {array.dtype} values of shape {array.shape} ({error}); write .npy instead."
        raise FileError(msg) from error
    return out.getvalue()
