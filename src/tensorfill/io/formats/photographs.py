"""Single pictures through Pillow: PNG, JPEG, WebP, BMP, JPEG 2000, HEIC.

They are the way up that EXIF says, and are written back as they were stored.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.isolated import read_isolated, task
from tensorfill.io.formats.pictures import ask_room, load_picture, pixels, planes, stack_alpha, to_image
from tensorfill.io.optional import attempt_import

ORIENTATION = 274  # the number of the tag in EXIF
KEPT = ("icc_profile", "dpi", "exif")  # metadata of a picture that is written back
# how Pillow turns upright pixels into those that EXIF says this orientation of
TURNS = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE"}
TURNS |= {6: "ROTATE_90", 7: "TRANSVERSE", 8: "ROTATE_270"}


@task("picture", "PIL.Image")
def decode_picture(source: str | bytes, formats: list[str]) -> dict[str, Any]:
    """A single picture, by its path or its bytes, in plain values, upright."""
    from PIL import Image, ImageOps

    if "HEIF" in formats:
        attempt_import("pillow_heif", "reading HEIC", "heic").register_heif_opener()
    data = Path(source).read_bytes() if isinstance(source, str) else source
    with Image.open(io.BytesIO(data), formats=formats) as image:
        if getattr(image, "n_frames", 1) > 1 and image.format not in ("MPO", "HEIF"):
            msg = f"it is an animated {image.format}; save it as multi-page TIFF."
            raise FileError(msg)
        ask_room(image, len(data))
        turn = TURNS.get(image.getexif().get(ORIENTATION, 1)) if image.format != "HEIF" else None
        kept = {k: image.info[k] for k in KEPT if image.info.get(k)}
        values, alpha = pixels(image if turn is None else ImageOps.exif_transpose(image))
    return {"values": values, "alpha": alpha, "save": kept, "turn": turn}


class Picture(Format):
    """A single picture through Pillow, 8 bits; subclasses say what it is called."""

    whole = True
    pillow: ClassVar[tuple[str, ...]]  # what Pillow calls it
    isolated: ClassVar[bool] = True  # is it read in the process for fragile files?
    saves: ClassVar[dict[str, Any]] = {}  # settings of Pillow for writing
    keeps: ClassVar[tuple[str, ...]] = KEPT
    alpha: ClassVar[bool] = True  # does it hold alpha?
    options = frozenset({"alpha_missing"})

    def read(self, request: Request) -> Loaded:
        formats = list(self.pillow)
        found = (
            read_isolated("picture", request, formats=formats)
            if self.isolated
            else decode_picture(request.bytes(), formats)
        )
        values, alpha = found.pop("values"), found.pop("alpha")
        return load_picture(request, self.name, values, alpha, video=False, extra=found)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        name = self.pillow[0].replace("JPEG2000", "JPEG 2000")
        if array.dtype == np.uint16:
            msg = f"{name} holds 8 bits per sample and these values have 16; write .png or .tif instead."
            raise FileError(msg)
        values, alpha, axes = planes(array, like, name, deep=False)
        if alpha is not None and not self.alpha:
            msg = f"{name} holds no alpha channel; write .png or .tif instead."
            raise FileError(msg)
        self._save(sink, stack_alpha(values, alpha, axes), like)

    def _save(self, sink: IO[bytes], pixel: Array, like: Loaded) -> None:
        from PIL import Image

        kept = {k: v for k, v in like.extra.get("save", {}).items() if k in self.keeps}
        picture, turn = to_image(pixel), like.extra.get("turn")
        if "exif" in kept and turn is not None:  # which says that the pixels lie on their side
            picture = picture.transpose(Image.Transpose[turn])
        out = io.BytesIO()
        picture.save(out, self.pillow[0], **self.saves, **kept)
        sink.write(out.getbuffer())


@FORMATS.register("png")
class PNG(Picture):
    """PNG through Pillow; 16 bits per sample in grey only, as Pillow cuts 16-bit colours to 8 bits without a word."""

    title = "a PNG picture"
    description = "picture: grey of 8 or 16 bits, or colour of 8 bits, alpha kept"
    endings = (".png",)
    magic = (b"\x89PNG\r\n\x1a\n",)
    pillow = ("PNG",)
    isolated = False

    def read(self, request: Request) -> Loaded:
        data = request.bytes()
        deep, grey = data[24:25] == b"\x10", data[25:26] == b"\0"  # bit depth and colour type in IHDR, the first chunk
        if deep and (not grey or b"tRNS" in data):
            msg = "its colours or its transparency have 16 bits, of which 8 would be lost; save it as TIFF."
            raise FileError(msg)
        return super().read(replace(request, file=io.BytesIO(data)))

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        if array.dtype == np.bool_ and array.ndim == 2 and like.format in ("png", "tiff"):
            values, alpha, axes = array, like.extra.get("alpha"), "HW"  # a 1-bit picture stays one
        else:
            values, alpha, axes = planes(array, like, "PNG")
        pixel = stack_alpha(values, alpha, axes)
        if pixel.dtype == np.uint16 and pixel.ndim > 2:
            msg = "PNG holds 16 bits per sample in grey pictures only; write .tif instead."
            raise FileError(msg)
        self._save(sink, pixel, like)


@FORMATS.register("jpeg")
class JPEG(Picture):
    """JPEG through Pillow."""

    title = "a JPEG picture"
    description = "picture: grey or RGB, 8 bits; lossy"
    endings = (".jpg", ".jpeg", ".jpe")
    magic = (b"\xff\xd8\xff",)
    note = "JPEG is lossy: observed values change a little when it is written; use PNG to keep them."
    pillow = ("JPEG", "MPO")
    isolated = False
    # 4:4:4: halving the colour resolution would blur exactly the pixels that were filled in
    saves: ClassVar[dict[str, Any]] = {"quality": 95, "subsampling": 0}
    alpha = False
    options = frozenset()


@FORMATS.register("webp")
class WebP(Picture):
    """WebP through Pillow, written without loss."""

    title = "a WebP picture"
    description = "picture: RGB, 8 bits, alpha kept; written without loss"
    endings = (".webp",)
    magic = (b"RIFF",)
    pillow = ("WEBP",)
    keeps = ("icc_profile", "exif")
    saves: ClassVar[dict[str, Any]] = {"lossless": True, "exact": True}

    @classmethod
    def begins(cls, head: bytes) -> bool:
        return head.startswith(b"RIFF") and head[8:12] == b"WEBP"


@FORMATS.register("bmp")
class BMP(Picture):
    """Windows bitmaps through Pillow."""

    title = "a BMP picture"
    description = "picture: grey or RGB, 8 bits"
    endings = (".bmp", ".dib")
    magic = (b"BM",)
    pillow = ("BMP", "DIB")
    keeps = ("dpi",)
    alpha = False

    @classmethod
    def looks(cls, head: bytes) -> bool:
        return cls.begins(head) and head[14:18] in (b"\x28\0\0\0", b"\x6c\0\0\0", b"\x7c\0\0\0")  # else any text


@FORMATS.register("jpeg2000")
class JPEG2000(Picture):
    """JPEG 2000 through Pillow, written without loss."""

    title = "a JPEG 2000 picture"
    description = "picture: grey or RGB, 8 bits, alpha kept; written without loss"
    endings = (".jp2", ".j2k", ".jpf", ".jpx")
    magic = (b"\0\0\0\x0cjP  ", b"\xff\x4f\xff\x51")
    pillow = ("JPEG2000",)
    keeps = ()


@FORMATS.register("heic")
class HEIC(Picture):
    """HEIC, as telephones take photographs, through pillow-heif; read only."""

    title = "a HEIC picture"
    description = "picture: RGB, 8 bits, alpha kept; read only; needs pillow-heif"
    endings = (".heic", ".heif", ".hif")
    magic = (b"ftyp",)
    pillow = ("HEIF",)
    writes = False

    @classmethod
    def begins(cls, head: bytes) -> bool:
        return head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1")

    def read(self, request: Request) -> Loaded:
        attempt_import("pillow_heif", "reading HEIC", "heic")
        return super().read(request)
