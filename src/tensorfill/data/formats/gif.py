"""GIF encoding, frame by frame.

Pillow compresses each frame; the frames are put together here, because Pillow merges equal neighbouring frames, which
would change the length of a video, and picks palettes that change colours even where 256 would do.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence

import numpy as np

from tensorfill.data.formats.base import Array


def encode(
    frames: Sequence[Array], alphas: Sequence[Array] | None, durations: Sequence[int], loop: int | None
) -> bytes:
    """A GIF from frames (H, W) or (H, W, 3) uint8; alpha 0 is transparent; durations in milliseconds.

    `loop`: None plays once, 0 for ever, k repeats k times.
    """
    height, width = frames[0].shape[:2]
    out = [b"GIF89a", struct.pack("<HHBBB", width, height, 0, 0, 0)]
    if loop is not None:
        out.append(b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", loop) + b"\x00")
    for k, frame in enumerate(frames):
        clear = None if alphas is None else alphas[k] == 0
        index, palette, key = _index(frame, clear)
        bits = max(2, int(np.ceil(np.log2(max(len(palette), 2)))))
        # disposal 2 clears before the next frame, so that transparent pixels do not show the frame before
        flags = (2 << 2 | 1) if key is not None else (1 << 2)
        out.append(b"\x21\xf9\x04" + struct.pack("<BHBB", flags, round(durations[k] / 10), key or 0, 0))
        out.append(b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0x80 | (bits - 1)))
        table = np.zeros((2**bits, 3), dtype=np.uint8)
        table[: len(palette)] = palette
        out += [table.tobytes(), _compressed(index)]
    return b"".join(out) + b"\x3b"


def _index(frame: Array, clear: Array | None) -> tuple[Array, Array, int | None]:
    """(index (H, W), palette (n, 3), transparent index or None): exact when the colours fit, else quantised."""
    colour = np.repeat(frame[..., None], 3, axis=2) if frame.ndim == 2 else frame
    room = 256 if clear is None else 255
    packed = colour.astype(np.uint32) @ np.array([65536, 256, 1], dtype=np.uint32)
    unique, index = np.unique(packed, return_inverse=True)
    if len(unique) <= room:
        palette = np.stack([unique >> 16, unique >> 8 & 255, unique & 255], axis=1).astype(np.uint8)
        index = index.reshape(packed.shape).astype(np.uint8)
    else:
        from PIL import Image

        height, width = packed.shape
        image = Image.frombytes("RGB", (width, height), np.ascontiguousarray(colour).tobytes())
        image = image.quantize(room, method=Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
        index = np.array(image)
        palette = np.array(image.getpalette(), dtype=np.uint8).reshape(-1, 3)[:room]
    if clear is None:
        return index, palette, None
    key = len(palette)
    return np.where(clear, np.uint8(key), index), np.concatenate([palette, np.zeros((1, 3), np.uint8)]), key


def _compressed(index: Array) -> bytes:
    """The LZW data of one frame, minimum code size first, cut out of a one-frame GIF by Pillow."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(index))
    image.putpalette(bytes(768))
    file = io.BytesIO()
    image.save(file, "GIF", optimize=False, interlace=0)
    data = file.getvalue()
    at = 13 + (3 * 2 ** ((data[10] & 7) + 1) if data[10] & 0x80 else 0)
    while data[at] == 0x21:  # extension: label, then blocks of (length, bytes) up to an empty one
        at = _after_blocks(data, at + 2)
    table = 3 * 2 ** ((data[at + 9] & 7) + 1) if data[at + 9] & 0x80 else 0
    start = at + 10 + table
    return data[start : _after_blocks(data, start + 1)]


def _after_blocks(data: bytes, at: int) -> int:
    while data[at]:
        at += 1 + data[at]
    return at + 1
