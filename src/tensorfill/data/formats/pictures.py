"""Single pictures: PNG and JPEG, and what pictures of all formats share.

Grey pictures are (H, W), colour ones (H, W, 3), CMYK (H, W, 4); a palette is expanded to RGB. Alpha is not data: it is
kept aside and written back unchanged. 16-bit PNG goes through `png16.py`, since Pillow cuts 16-bit colour to 8 bits.
"""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np

from tensorfill.data.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.data.memory import ask

DIMS = {"F": "frame", "H": "row", "W": "column", "C": "channel"}
DENSEST = 10_000  # pixels in a byte: deflate packs 1032 to 1, of up to 8 pixels each, and nothing else does better
KEPT = ("icc_profile", "dpi", "exif")  # metadata of a picture that is written back


def ask_room(image: Any, length: int, frames: int = 1) -> None:
    """Before anything is unpacked: refuse frames that `length` bytes cannot hold, or that take too much memory."""
    width, height = image.size
    if width * height * frames > DENSEST * length:
        msg = f"it is damaged: {length:,} bytes cannot hold the {width} x {height} pixels that it claims."
        raise FileError(msg)
    deep = 4 if image.mode.startswith(("I", "F")) else max(len(image.getbands()), 3)
    several = f"{frames} pictures of" if frames > 1 else "a picture of"
    ask(3 * deep * width * height * frames, f"{several} {width} x {height} pixels")


def pixels(image: Any) -> tuple[Array, Array | None]:
    """(values, alpha or None) of one Pillow image; palettes and colour keys expanded."""
    if image.mode in ("P", "PA") or "transparency" in image.info:
        clear = image.mode == "PA" or "transparency" in image.info
        grey = image.mode in ("L", "LA")
        image = image.convert(("L" if grey else "RGB") + ("A" if clear else ""))
    bands = image.getbands()
    if bands not in (("1",), ("L",), ("L", "A"), ("R", "G", "B"), ("R", "G", "B", "A"), ("C", "M", "Y", "K")) and (
        image.mode not in ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")
    ):
        msg = f"it has colour mode {image.mode}; convert it to grey, RGB or CMYK first."
        raise FileError(msg)
    array = np.array(image)
    array = array.astype(array.dtype.newbyteorder("="))
    if bands[-1] != "A":
        return array, None
    values = array[..., 0] if len(bands) == 2 else array[..., :-1]
    return np.ascontiguousarray(values), np.ascontiguousarray(array[..., -1])


def loaded_picture(
    request: Request, format: str, values: Array, alpha: Array | None, *, video: bool, extra: dict[str, Any]
) -> Loaded:
    """A Loaded from pixels: axes named, and transparent pixels missing if the user wants that."""
    axes = ("F" if video else "") + "HW"
    axes += "C" if values.ndim > len(axes) else ""
    mask = None
    if request.alpha_missing:
        if alpha is None:
            msg = "it has no alpha channel that could mark what is missing; leave --alpha-missing out."
            raise FileError(msg)
        seen = alpha > 0
        mask = np.array(np.broadcast_to(seen[..., None] if "C" in axes else seen, values.shape))
    return Loaded(
        format=format,
        shape=values.shape,
        dtype=values.dtype,
        values=values,
        mask=mask,
        dims=tuple(DIMS[a] for a in axes),
        extra={**extra, "axes": axes, "alpha": alpha},
    )


def guess_axes(shape: tuple[int, ...], title: str) -> str:
    """What the modes of an array mean that did not come from a picture."""
    if len(shape) == 2:
        return "HW"
    if len(shape) == 3:
        return "HWC" if shape[-1] in (1, 3, 4) else "FHW"
    if len(shape) == 4 and shape[-1] in (1, 3, 4):
        return "FHWC"
    msg = f"{title} holds (H, W) or (H, W, 3 or 4), and frames of these; got shape {shape}; write .npy instead."
    raise FileError(msg)


def samples(array: Array, like: Loaded, title: str, *, deep: bool) -> Array:
    """The array as uint8 or, where the format is `deep`, uint16 samples; never rescaled.

    Numbers of another type must already lie in 0..255 (or 0..65535): a picture scaled by guesswork is a wrong picture.
    """
    allowed = [np.dtype(np.uint8)] + ([np.dtype(np.uint16)] if deep else [])
    if array.dtype in allowed:
        return array
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    top = 65535 if deep else 255
    known = like.observed_values()
    low, high = known.min(), known.max()
    if low < 0 or high > top:
        msg = f"{title} holds whole numbers 0..{top}; got values from {low:g} to {high:g}; write .npy or .tif instead."
        raise FileError(msg)
    if array.dtype.kind == "f" and high <= 1:
        msg = (
            f"{title} holds whole numbers 0..255; got fractions up to {high:g}; multiply by 255, or write .npy or .tif."
        )
        raise FileError(msg)
    dtype, limit = (np.uint8, 255) if high <= 255 else (np.uint16, 65535)
    return np.clip(np.rint(array), 0, limit).astype(dtype)


def planes(
    array: Array, like: Loaded, title: str, *, deep: bool = True, video: bool = False
) -> tuple[Array, Array | None, str]:
    """(samples, alpha or None, axes) for writing; refuses what the format cannot hold."""
    axes = like.extra.get("axes") or guess_axes(array.shape, title)
    alpha = like.extra.get("alpha")
    if "F" in axes and not video:
        msg = f"{title} holds one picture and this is a video of {array.shape[0]} frames; write .tif or .gif instead."
        raise FileError(msg)
    out = samples(array, like, title, deep=deep)
    if "C" in axes and out.shape[-1] == 1:
        out, axes = out[..., 0], axes[:-1]
    if "C" in axes and out.shape[-1] == 4 and like.extra.get("mode") != "CMYK":
        out, alpha = out[..., :3], out[..., 3]  # an array (H, W, 4) from elsewhere: red, green, blue, alpha
    if "C" in axes and out.shape[-1] not in (3, 4):
        msg = f"{title} holds 1, 3 or 4 channels; got {out.shape[-1]}; write .npy instead."
        raise FileError(msg)
    if alpha is not None and alpha.dtype != out.dtype:
        msg = f"{title} needs alpha and colour of one type; got {alpha.dtype} and {out.dtype}; write .tif instead."
        raise FileError(msg)
    return out, alpha, axes


def stack_alpha(values: Array, alpha: Array | None, axes: str) -> Array:
    """Colour and alpha as one array of pixels."""
    if alpha is None:
        return values
    colour = values if "C" in axes else values[..., None]
    return np.concatenate([colour, alpha[..., None]], axis=-1)


def to_image(pixel: Array, cmyk: bool = False) -> Any:
    """One picture as a Pillow image: (H, W) or (H, W, 2..4)."""
    from PIL import Image

    if pixel.ndim == 2:
        return Image.fromarray(np.ascontiguousarray(pixel))
    height, width, channels = pixel.shape
    mode = "CMYK" if cmyk else {2: "LA", 3: "RGB", 4: "RGBA"}[channels]
    return Image.frombytes(mode, (width, height), np.ascontiguousarray(pixel).tobytes())


def refuse_cmyk(like: Loaded, title: str) -> None:
    """CMYK must not be taken for RGB and alpha."""
    if like.extra.get("mode") == "CMYK":
        msg = f"{title} holds no CMYK colours; write .jpg or .tif instead."
        raise FileError(msg)


@FORMATS.register("png")
class PNG(Format):
    """PNG through Pillow, or `png16` when it has 16 bits per sample."""

    title = "a PNG picture"
    description = "picture: grey or colour, 8 or 16 bits, alpha kept"
    endings = (".png",)
    magic = (b"\x89PNG\r\n\x1a\n",)
    whole = True
    options = frozenset({"alpha_missing"})

    def read(self, request: Request) -> Loaded:
        from PIL import Image

        data = request.bytes()
        if len(data) > 24 and data[24] == 16:  # the bit depth in IHDR, always the first chunk
            from tensorfill.data.formats import png16

            values, alpha, chunks = png16.decode(data)
            return loaded_picture(request, "png", values, alpha, video=False, extra={"chunks": chunks})
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if getattr(image, "n_frames", 1) > 1:
                msg = "it is an animated PNG; save it as GIF or multi-page TIFF."
                raise FileError(msg)
            ask_room(image, len(data))
            values, alpha = pixels(image)
            kept = {k: image.info[k] for k in KEPT if image.info.get(k)}
        return loaded_picture(request, "png", values, alpha, video=False, extra={"save": kept})

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        refuse_cmyk(like, "PNG")
        if array.dtype == np.bool_ and array.ndim == 2 and like.format in ("png", "tiff"):
            values, alpha, axes = array, like.extra.get("alpha"), "HW"  # a 1-bit picture stays one
        else:
            values, alpha, axes = planes(array, like, "PNG")
        pixel = stack_alpha(values, alpha, axes)
        if pixel.dtype == np.uint16:
            from tensorfill.data.formats import png16

            sink.write(png16.encode(pixel, like.extra.get("chunks", [])))
            return
        out = io.BytesIO()
        to_image(pixel).save(out, "PNG", **like.extra.get("save", {}))
        sink.write(out.getbuffer())


@FORMATS.register("jpeg")
class JPEG(Format):
    """JPEG through Pillow."""

    title = "a JPEG picture"
    description = "picture: grey, RGB or CMYK, 8 bits; lossy"
    endings = (".jpg", ".jpeg", ".jpe")
    magic = (b"\xff\xd8\xff",)
    whole = True
    note = "JPEG is lossy: observed values change a little when it is written; use PNG to keep them."

    def read(self, request: Request) -> Loaded:
        from PIL import Image

        data = request.bytes()
        with Image.open(io.BytesIO(data), formats=["JPEG", "MPO"]) as image:
            ask_room(image, len(data))
            values, alpha = pixels(image)
            extra = {"save": {k: image.info[k] for k in KEPT if image.info.get(k)}, "mode": image.mode}
        return loaded_picture(request, "jpeg", values, alpha, video=False, extra=extra)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        if array.dtype == np.uint16:
            msg = "JPEG holds 8 bits per sample and these values have 16; write .png or .tif instead."
            raise FileError(msg)
        values, alpha, _ = planes(array, like, "JPEG", deep=False)
        if alpha is not None:
            msg = "JPEG holds no alpha channel; write .png or .tif instead."
            raise FileError(msg)
        out = io.BytesIO()
        # 4:4:4: halving the colour resolution would blur exactly the pixels that were filled in
        to_image(values, like.extra.get("mode") == "CMYK").save(
            out, "JPEG", quality=95, subsampling=0, **like.extra.get("save", {})
        )
        sink.write(out.getbuffer())
