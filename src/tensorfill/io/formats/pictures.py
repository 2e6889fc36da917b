"""What pictures of all formats share.

Grey pictures are (H, W), colour ones (H, W, 3); a palette is expanded to RGB. Alpha is not data: it
is kept aside and written back, opaque where transparent pixels were missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.base import Array, FileError, Loaded, Request

DIMS = {"F": "frame", "H": "row", "W": "column", "C": "channel"}
DENSEST = 10_000  # pixels in a byte: deflate packs 1032 to 1, of up to 8 pixels each, and nothing else does better
DENSE = ("PNG", "JPEG", "MPO", "BMP", "DIB", "TIFF")  # formats that this holds for
MODES = ("1", "L", "LA", "RGB", "RGBA", "I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # of Pillow


def ask_room(image: Any, length: int, frames: int = 1) -> None:
    """Before anything is unpacked: refuse frames that `length` bytes cannot hold, or that take too much memory."""
    width, height = image.size
    if width * height * frames > DENSEST * length and image.format in DENSE:
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
    if image.mode not in MODES:
        msg = f"it has colour mode {image.mode}; convert it to grey or RGB first."
        raise FileError(msg)
    array = np.array(image)
    array = array.astype(array.dtype.newbyteorder("="))
    if image.mode not in ("LA", "RGBA"):
        return array, None
    values = array[..., 0] if image.mode == "LA" else array[..., :-1]
    return np.ascontiguousarray(values), np.ascontiguousarray(array[..., -1])


def load_picture(
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
        alpha = np.where(seen, alpha, np.iinfo(alpha.dtype).max).astype(alpha.dtype)  # what is filled can be seen
    return Loaded(
        format=format,
        shape=values.shape,
        dtype=values.dtype,
        values=values,
        mask=mask,
        dims=tuple(DIMS[a] for a in axes),
        extra={**extra, "axes": axes, "alpha": alpha},
    )


def guess_axes(shape: tuple[int, ...]) -> str:
    """What the modes of an array mean that did not come from a picture; "" where it is none, nor frames of one."""
    colour = "C" if len(shape) > 2 and shape[-1] in (1, 3, 4) else ""
    return {2: "HW", 3: "FHW"}.get(len(shape) - len(colour), "") + colour


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
    axes = like.extra.get("axes") or guess_axes(array.shape)
    alpha = like.extra.get("alpha")
    if "HW" not in axes:
        msg = (
            f"{title} holds (H, W) or (H, W, 3 or 4), and frames of these; got shape {array.shape}; write .npy instead."
        )
        raise FileError(msg)
    if "F" in axes and not video:
        msg = f"{title} holds one picture and this is a video of {array.shape[0]} frames; write .tif instead."
        raise FileError(msg)
    out = samples(array, like, title, deep=deep)
    if "C" in axes and out.shape[-1] == 1:
        out, axes = out[..., 0], axes[:-1]
    if "C" in axes and out.shape[-1] == 4:
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


def to_image(pixel: Array) -> Any:
    """One picture as a Pillow image: (H, W) or (H, W, 2..4)."""
    from PIL import Image

    if pixel.ndim == 2:
        return Image.fromarray(np.ascontiguousarray(pixel))
    height, width, channels = pixel.shape
    return Image.frombytes({2: "LA", 3: "RGB", 4: "RGBA"}[channels], (width, height), pixel.tobytes())
