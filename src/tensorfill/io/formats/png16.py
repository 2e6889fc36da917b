"""PNG with 16 bits per sample through pypng, which keeps them; Pillow cuts 16-bit colour to 8 bits, silently."""

from __future__ import annotations

import io
import zlib
from itertools import islice
from typing import Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.base import Array, FileError

KEPT = (b"cHRM", b"gAMA", b"iCCP", b"sRGB", b"cICP", b"pHYs", b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf")
STEP = 2**20  # bytes unpacked at a time

Chunks = list[tuple[bytes, bytes]]


def decode(data: bytes) -> tuple[Array, Array | None, Chunks]:
    """(values (H, W) or (H, W, 3), alpha (H, W) or None, chunks to write back), all samples uint16."""
    import png

    try:
        chunks = list(png.Reader(bytes=data).chunks())
        reader = png.Reader(bytes=data)
        reader.preamble()
        width, height, planes = reader.width, reader.height, reader.planes
        ask(6 * width * height * planes, f"a picture of {width} x {height} pixels in {planes} channels of 16 bits")
        _check_length(chunks, 2 * width * height * planes, height)
        out = _pixels(reader)
    except (png.Error, zlib.error, EOFError) as error:
        msg = "the PNG is damaged or cut short."
        raise FileError(msg) from error
    alpha = None
    if planes in (2, 4):
        out, alpha = out[..., :-1], np.ascontiguousarray(out[..., -1])
    elif reader.transparent is not None:  # one colour is transparent
        alpha = np.where((out == np.array(reader.transparent)).all(axis=-1), 0, 65535).astype(np.uint16)
    values = out[..., 0] if out.shape[-1] == 1 else out
    return np.ascontiguousarray(values), alpha, [(bytes(kind), bytes(body)) for kind, body in chunks if kind in KEPT]


def _check_length(chunks: Chunks, samples: int, height: int) -> None:
    """Refuse pixels that inflate to less than the header claims, or to more, which pypng would take at once."""
    inflate, length = zlib.decompressobj(), 0
    least, most = samples + height, samples + 2 * height + 64  # a byte for each line; interlaced, there are more lines
    for part in (body for kind, body in chunks if kind == b"IDAT"):
        while part and length <= most:
            length += len(inflate.decompress(part, STEP))
            part = inflate.unconsumed_tail
    if not least <= length <= most:
        msg = f"the PNG is damaged: its pixels take {length:,} bytes, and its header claims {least:,}."
        raise FileError(msg)


def _pixels(reader: Any) -> Array:
    """(H, W, channels) uint16, row by row."""
    rows = [np.array(row, dtype=np.uint16) for row in islice(reader.read()[2], reader.height)]
    if len(rows) < reader.height:
        raise EOFError
    return np.stack(rows).reshape(reader.height, reader.width, reader.planes)


def encode(pixel: Array, chunks: Chunks) -> bytes:
    """A PNG from (H, W) or (H, W, 2..4) uint16, with `chunks` before its pixels."""
    import png

    array = pixel[..., None] if pixel.ndim == 2 else pixel
    height, width, planes = array.shape
    writer = png.Writer(width, height, greyscale=planes < 3, alpha=planes in (2, 4), bitdepth=16, compression=6)
    plain = io.BytesIO()
    writer.write(plain, array.reshape(height, -1))
    head, *rest = png.Reader(bytes=plain.getvalue()).chunks()
    out = io.BytesIO()
    png.write_chunks(out, [head, *chunks, *rest])
    return out.getvalue()
