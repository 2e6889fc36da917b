"""Damage: bytes anywhere; inside what is packed, so that no checksum gives it away; and edits of saved runs."""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import zipfile
import zlib
from typing import Any

import numpy as np

ALARMING = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\0\0\0\0")
ODD = [None, -1, 0, 1e308, "", "x", [], {}, [1, [2]], {"a": None}, True, float("nan"), 2**70, "FINISHED", "NONFINITE"]
WORDS = (
    b"nan",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"4294967296",
    b"",
    b'"',
    b",",
    b"\n",
    b"\0",
    b"\xff",
    b"inf",
)
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    """The same with some damage."""
    some = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(some) + 1))
        end = min(len(some), at + int(rng.integers(1, 40)))
        match int(rng.integers(9)):
            case 0:
                if at < len(some):
                    some[at] ^= 1 << int(rng.integers(8))
            case 1:
                some[at : at + 1] = rng.bytes(1)
            case 2:
                del some[at:]
            case 3:
                del some[at:end]
            case 4:
                some[at:at] = some[at:end]
            case 5:
                some[at : at + 4] = ALARMING[int(rng.integers(len(ALARMING)))]
            case 6:
                some[at:at] = WORDS[int(rng.integers(len(WORDS)))]
            case 7:
                _number(some, rng)
            case _:
                some[at:end] = rng.bytes(end - at)
    return bytes(some)


def _number(some: bytearray, rng: np.random.Generator) -> None:
    """Another number where digits stand."""
    found = list(re.finditer(rb"\d+", bytes(some)))
    if found:
        one = found[int(rng.integers(len(found)))]
        some[one.start() : one.end()] = WORDS[int(rng.integers(5))]


def inside(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage to what is packed in a zip archive, in gzip or in a PNG, packed again as if it were whole."""
    try:
        if data.startswith(b"PK\x03\x04"):
            return _zip(data, rng)
        if data.startswith(b"\x1f\x8b"):
            return gzip.compress(mutant(gzip.decompress(data), rng), mtime=0)
        if data.startswith(SIGNATURE):
            return _png(data, rng)
    except (ValueError, OSError, struct.error, zlib.error, zipfile.BadZipFile):
        pass
    return mutant(data, rng)


def _zip(data: bytes, rng: np.random.Generator) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        entries = old.infolist()
        victim = int(rng.integers(len(entries)))
        for k, entry in enumerate(entries):
            body = old.read(entry)
            new.writestr(entry.filename, mutant(body, rng) if k == victim else body, entry.compress_type)
    return out.getvalue()


def _png(data: bytes, rng: np.random.Generator) -> bytes:
    """One chunk, its pixels unpacked first, with the right checksum."""
    chunks, at = [], len(SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    k = int(rng.integers(len(chunks)))
    kind, body = chunks[k]
    body = zlib.compress(mutant(zlib.decompress(body), rng)) if kind == b"IDAT" else mutant(body, rng)
    chunks[k] = (kind, body)
    parts = [struct.pack(">I", len(b)) + kind + b + struct.pack(">I", zlib.crc32(kind + b)) for kind, b in chunks]
    return SIGNATURE + b"".join(parts)


def edited(data: bytes, rng: np.random.Generator) -> bytes:
    """An .npz that is whole, but something in it is not what it should be."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {k: file[k] for k in file.files}
    name = list(arrays)[int(rng.integers(len(arrays)))]
    a = arrays[name]
    if name.endswith("meta") and rng.random() < 0.9:
        text = a.tobytes().decode()
        if rng.random() < 0.5:  # a value, by another
            meta = json.loads(text)
            meta[list(meta)[int(rng.integers(len(meta)))]] = ODD[int(rng.integers(len(ODD)))]
            text = json.dumps(meta)
        else:  # a word or a number anywhere
            words = re.split(r"(\W)", text)
            words[int(rng.integers(len(words)))] = str(ODD[int(rng.integers(len(ODD)))])
            text = "".join(words)
        arrays[name] = np.frombuffer(text.encode(), dtype=np.uint8)
    elif rng.random() < 0.3:
        del arrays[name]
    else:
        ways: list[Any] = [
            a[..., :-1] if a.ndim else a,
            a.astype(str),
            a.ravel(),
            np.zeros(0),
            a[None],
            np.float64(np.nan) * np.ones(a.shape),
            np.full(a.shape, -7),
            np.full(a.shape, 2**40),
            a[:1] if a.ndim else a,
        ]
        arrays[name] = ways[int(rng.integers(len(ways)))]
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()
