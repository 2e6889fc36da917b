"""PNG with 16 bits per sample: grey, grey + alpha, RGB, RGBA (W3C PNG specification, third edition).

Pillow reads 16-bit colour as 8 bits, silently. Decoding must undo row filters in which every byte depends on its left
and upper neighbours; all pixels of one anti-diagonal are independent, so the loop runs over H + W anti-diagonals.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from tensorfill.data.formats.base import Array, FileError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 4: 2, 2: 3, 6: 4}  # colour type -> samples per pixel
COLOUR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}
KEPT = (b"cHRM", b"gAMA", b"iCCP", b"sRGB", b"cICP", b"pHYs", b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf")
# Adam7: (first row, first column, row step, column step) of the seven passes
ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]

Chunks = list[tuple[bytes, bytes]]


def decode(data: bytes) -> tuple[Array, Array | None, Chunks]:
    """(values (H, W) or (H, W, 3), alpha (H, W) or None, chunks to write back), all samples uint16."""
    chunks = _chunks(data)
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", chunks[0][1])
    if depth != 16 or colour not in CHANNELS:
        msg = f"a PNG of 16 bits must be grey or colour; got colour type {colour} with {depth} bits."
        raise FileError(msg)
    raw = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
    channels = CHANNELS[colour]
    passes = ADAM7 if interlace else [(0, 0, 1, 1)]
    out = np.empty((height, width, channels), dtype=np.uint16)
    start = 0
    for row, column, down, right in passes:
        part = out[row::down, column::right]
        if part.size:
            start = _read_pass(raw, start, part)
    alpha = None
    if channels in (2, 4):
        out, alpha = out[..., :-1], np.ascontiguousarray(out[..., -1])
    for kind, body in chunks:
        if kind == b"tRNS":  # one colour is transparent
            key = np.frombuffer(body, dtype=">u2")
            alpha = np.where((out == key).all(axis=-1), 0, 65535).astype(np.uint16)
    values = out[..., 0] if out.shape[-1] == 1 else out
    return np.ascontiguousarray(values), alpha, [c for c in chunks if c[0] in KEPT]


def _chunks(data: bytes) -> Chunks:
    """(type, body) of every chunk, checksums checked."""
    out: Chunks = []
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        end = data[at + 8 + length : at + 12 + length]
        if len(body) != length or len(end) != 4 or struct.unpack(">I", end)[0] != zlib.crc32(kind + body):
            break
        out.append((kind, body))
        if kind == b"IEND":
            return out
        at += 12 + length
    msg = "the PNG is damaged or cut short."
    raise FileError(msg)


def _read_pass(raw: bytes, start: int, part: Array) -> int:
    """Decode one (interlace) pass from raw[start:] into `part` (h, w, channels); returns where it ends."""
    height, width, channels = part.shape
    step = 2 * channels  # bytes per pixel
    end = start + height * (1 + width * step)
    if end > len(raw):
        msg = "the PNG is damaged or cut short."
        raise FileError(msg)
    lines = np.frombuffer(raw, dtype=np.uint8, count=end - start, offset=start).reshape(height, 1 + width * step)
    plain = _unfilter(lines[:, 0], lines[:, 1:].reshape(height, width, step))
    part[...] = plain.view(">u2")
    return end


def _unfilter(kind: Array, coded: Array) -> Array:
    """Undo the row filters: kind (H,) in 0..4, coded (H, W, bytes per pixel) uint8.

    Storage is skewed, skew[d + 2, r + 1] = pixel (r, d - r), so that the left, upper and upper left neighbours of one
    anti-diagonal are slices of the two before it. The extra border of zeros is what lies outside the picture.
    """
    height, width, step = coded.shape
    if kind.max(initial=0) > 4:
        msg = "the PNG is damaged: unknown row filter."
        raise FileError(msg)
    skew = np.zeros((height + width + 1, height + 1, step), dtype=np.int16)
    row, column = np.arange(height)[:, None], np.arange(width)
    skew[row + column + 2, row + 1] = coded
    is_kind = [(kind == k).astype(np.int16)[:, None] for k in range(5)]
    for d in range(height + width - 1):
        first, last = max(0, d - width + 1), min(height, d + 1)  # the rows this anti-diagonal crosses
        left, up = skew[d + 1, first + 1 : last + 1], skew[d + 1, first:last]
        corner = skew[d, first:last]
        sub, above, average, paeth = (m[first:last] for m in is_kind[1:])
        guess = sub * left + above * up + average * ((left + up) >> 1)
        if paeth.any():
            guess += paeth * _paeth(left, up, corner)
        here = skew[d + 2, first + 1 : last + 1]
        np.bitwise_and(here + guess, 255, out=here)
    return np.ascontiguousarray(skew[row + column + 2, row + 1].astype(np.uint8))


def _paeth(left: Array, up: Array, corner: Array) -> Array:
    """The neighbour nearest to left + up - corner; ties go to left, then up (PNG specification, 9.4)."""
    to_left, to_up = np.abs(up - corner), np.abs(left - corner)
    to_corner = np.abs(left + up - 2 * corner)
    best = np.where(to_up <= to_corner, up, corner)
    return np.where((to_left <= to_up) & (to_left <= to_corner), left, best)


def encode(pixel: Array, chunks: Chunks) -> bytes:
    """A PNG from (H, W) or (H, W, 2..4) uint16; per row the filter with the smallest sum of absolute differences."""
    array = pixel[..., None] if pixel.ndim == 2 else pixel
    height, width, channels = array.shape
    byte = np.ascontiguousarray(array.astype(">u2")).view(np.uint8).astype(np.int16)  # (H, W, 2 channels)
    left, up, corner = np.zeros_like(byte), np.zeros_like(byte), np.zeros_like(byte)
    left[:, 1:], up[1:], corner[1:, 1:] = byte[:, :-1], byte[:-1], byte[:-1, :-1]
    guesses: tuple[Array | int, ...] = (0, left, up, (left + up) >> 1, _paeth(left, up, corner))
    lines = np.empty((height, 1 + byte[0].size), dtype=np.uint8)
    least = np.full(height, np.iinfo(np.int64).max)
    for kind, guess in enumerate(guesses):
        coded = (byte - guess).astype(np.uint8).reshape(height, -1)
        cost = np.abs(coded.view(np.int8)).view(np.uint8).sum(axis=1, dtype=np.int64)  # |-128| is 128 again
        better = cost < least
        least[better], lines[better, 0], lines[better, 1:] = cost[better], kind, coded[better]
    head = struct.pack(">IIBBBBB", width, height, 16, COLOUR_TYPE[channels], 0, 0, 0)
    body = [(b"IHDR", head), *chunks, (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b"")]
    return SIGNATURE + b"".join(
        struct.pack(">I", len(b)) + kind + b + struct.pack(">I", zlib.crc32(kind + b)) for kind, b in body
    )
