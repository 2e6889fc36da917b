"""DICOM through pydicom: one file, or a directory with the slices of one series, (slice, row, column).

Values are as stored; pixels outside the picture (PixelPaddingValue) are missing. The answer goes into copies of the
files, which keep all they say but are named as derived pictures of their own.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.data.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.data.memory import ask
from tensorfill.data.optional import attempt_import

START = b"DICM"
PLACE = 128  # where it stands
HEAD = PLACE + 4 + 12  # with the element that tells how long the rest of the head is
DEFLATED = b"1.2.840.10008.1.2.1.99"
STEP = 2**20  # bytes unpacked at a time


@FORMATS.register("dicom")
class DICOM(Format):
    """DICOM files and series."""

    title = "a DICOM picture"
    description = "medical picture, or the directory of a series; padding is missing; needs pydicom"
    endings = (".dcm", ".dicom")
    magic = (START,)
    streams = False
    store = True

    @classmethod
    def begins(cls, head: bytes) -> bool:
        return head[PLACE : PLACE + 4] == START

    @classmethod
    def is_store(cls, path: Path) -> bool:
        return any(True for _ in _members(path))

    def read(self, request: Request) -> Loaded:
        pydicom = attempt_import("pydicom", "reading DICOM", "medical")
        assert request.path is not None
        paths = sorted(_members(request.path)) if request.path.is_dir() else [request.path]
        ask(3 * sum(path.stat().st_size for path in paths), f"a series of {len(paths)} files")
        for path in paths:
            _ask_inflated(path)
        parts = [(path.name, pydicom.dcmread(path)) for path in paths]
        if len(parts) > 1:
            series = {part.get("SeriesInstanceUID") for _, part in parts}
            if len(series) > 1:
                msg = f"it holds {len(series)} series; put one of them into a directory of its own."
                raise FileError(msg)
            parts.sort(key=lambda part: _order(part[1]))
        pages = [_pixels(part) for _, part in parts]
        shapes = {page.shape for page in pages}
        if len(shapes) > 1:
            sizes = ", ".join(map(str, sorted(shapes)))
            msg = f"its slices must be of one size; got {sizes}. Put those of one size into a directory of their own."
            raise FileError(msg)
        values = np.stack(pages) if len(pages) > 1 else pages[0]
        mask = _inside(values, parts[0][1])
        colour = parts[0][1].get("SamplesPerPixel", 1) > 1
        dims = ("frame", "row", "column")[-(pages[0].ndim - colour) :]
        dims = (*(("slice",) if len(pages) > 1 else ()), *dims, *(("channel",) if colour else ()))
        return Loaded("dicom", values.shape, values.dtype, values, mask, dims=dims, extra={"parts": parts})

    def makes_store(self, like: Loaded) -> bool:
        return len(like.extra.get("parts", ())) > 1

    def write_path(self, path: Path, array: Array, like: Loaded) -> None:
        if like.format != "dicom":
            msg = "DICOM is written from DICOM only, since it says whose picture it is; write .nii instead."
            raise FileError(msg)
        parts = like.extra["parts"]
        pydicom = attempt_import("pydicom", "writing DICOM", "medical")
        if array.dtype.kind == "f":
            msg = "DICOM holds whole numbers; write .nii or .npy instead."
            raise FileError(msg)
        if len(parts) == 1:
            _derived(pydicom, parts[0][1], array).save_as(path)
            return
        path.mkdir()
        for (name, part), page in zip(parts, array, strict=True):
            _derived(pydicom, part, page).save_as(path / name)


def _members(path: Path) -> Iterator[Path]:
    """The DICOM files of a directory, by how they start."""
    for item in path.iterdir():
        if item.is_file() and not item.name.startswith("."):
            with open(item, "rb") as file:
                if DICOM.begins(file.read(PLACE + 4)):
                    yield item


def _ask_inflated(path: Path) -> None:
    """Refuse a deflated file, which pydicom unpacks at once, if that takes too much memory; unpacks it bit by bit."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
        (length,) = struct.unpack("<I", head[-4:]) if len(head) == HEAD else (0,)  # of the rest of the head
        if DEFLATED not in file.read(min(length, 2**16)):
            return
        file.seek(HEAD + length)
        inflate, total = zlib.decompressobj(-15), 0
        while part := inflate.unconsumed_tail or file.read(STEP):
            total += len(inflate.decompress(part, STEP))
            ask(3 * total, "unpacked it")
            if inflate.eof:
                return


def _order(part: Any) -> tuple[float, float]:
    """Where a slice lies along the patient, else its number."""
    position, axes = part.get("ImagePositionPatient"), part.get("ImageOrientationPatient")
    number = float(part.get("InstanceNumber") or 0)
    if position is None or axes is None or len(position) != 3 or len(axes) != 6:
        return 0.0, number
    across = np.cross(np.array(axes[:3], dtype=float), np.array(axes[3:], dtype=float))
    return float(across @ np.array(position, dtype=float)), number


def _pixels(part: Any) -> Array:
    rows, columns = int(part.get("Rows", 0)), int(part.get("Columns", 0))
    frames = int(part.get("NumberOfFrames") or 1) * int(part.get("SamplesPerPixel") or 1)
    ask(6 * rows * columns * frames, f"a picture of {rows} x {columns} pixels in {frames} planes")
    values = np.array(part.pixel_array)
    return values.astype(values.dtype.newbyteorder("="))


def _inside(values: Array, part: Any) -> Array | None:
    """True where a pixel is not padding; None where all are."""
    low = part.get("PixelPaddingValue")
    if low is None:
        return None
    high = part.get("PixelPaddingRangeLimit", low)
    inside = (values < min(low, high)) | (values > max(low, high))
    return None if inside.all() else inside


def _derived(pydicom: Any, part: Any, page: Array) -> Any:
    """A copy with other pixels, not packed, and a name of its own that follows from the old one."""
    file = io.BytesIO()
    part.save_as(file)
    file.seek(0)
    out = pydicom.dcmread(file)
    old = str(out.get("SOPInstanceUID", ""))
    new = pydicom.uid.generate_uid(entropy_srcs=[old, "tensorfill"])
    photometric = out.PhotometricInterpretation if page.ndim == 2 or out.get("SamplesPerPixel", 1) == 1 else "RGB"
    out.set_pixel_data(np.ascontiguousarray(page), photometric, int(out.BitsStored), generate_instance_uid=False)
    out.SOPInstanceUID = out.file_meta.MediaStorageSOPInstanceUID = new
    kinds = list(out.get("ImageType", ["ORIGINAL", "PRIMARY"]))
    out.ImageType = ["DERIVED", *kinds[1:]]
    out.DerivationDescription = "missing pixels estimated"
    return out
