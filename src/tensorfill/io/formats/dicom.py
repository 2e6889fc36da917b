"""DICOM through pydicom, in a process of its own: one file, or a directory with the slices of one series, (slice, row,
column). Values are as stored; pixels outside the picture (PixelPaddingValue) are missing. It is read and not written:
a DICOM file says whose picture it is and what made it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.apart import read_apart
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.worker import task
from tensorfill.io.optional import attempt_import

START = b"DICM"
PLACE = 128  # where it stands


@FORMATS.register("dicom")
class DICOM(Format):
    """DICOM files and series."""

    title = "a DICOM picture"
    description = "medical picture, or the directory of a series; padding is missing; read only; needs pydicom"
    endings = (".dcm", ".dicom")
    magic = (START,)
    streams = False
    store = True
    writes = False

    @classmethod
    def begins(cls, head: bytes) -> bool:
        return head[PLACE : PLACE + 4] == START

    @classmethod
    def is_store(cls, path: Path) -> bool:
        return any(True for _ in _members(path))

    def read(self, request: Request) -> Loaded:
        attempt_import("pydicom", "reading DICOM", "medical")
        found = read_apart("dicom", request)
        values, padding = found["values"], found["padding"]
        inside: Any = True if padding is None else (values < min(padding)) | (values > max(padding))
        names = ("frame", "row", "column", "channel")[: 4 if found["colour"] else 3]
        page = names[len(names) - values.ndim + found["series"] :]
        dims = (*(("slice",) if found["series"] else ()), *page)
        mask = None if np.all(inside) else inside
        return Loaded("dicom", values.shape, values.dtype, values, mask, dims=dims)


def _members(path: Path) -> Iterator[Path]:
    """The DICOM files of a directory, by how they start."""
    for item in path.iterdir():
        if item.is_file() and not item.name.startswith("."):
            with open(item, "rb") as file:
                if DICOM.begins(file.read(PLACE + 4)):
                    yield item


@task("dicom", "pydicom")
def slices_of(source: str | bytes) -> dict[str, Any]:
    """The slices of a series in their order, in plain values, by the path of its file or directory, or its bytes."""
    import pydicom

    if isinstance(source, bytes):
        parts = [pydicom.dcmread(io.BytesIO(source))]
    else:
        path = Path(source)
        parts = [pydicom.dcmread(one) for one in (sorted(_members(path)) if path.is_dir() else [path])]
    series = {part.get("SeriesInstanceUID") for part in parts}
    if len(series) > 1:
        msg = f"it holds {len(series)} series; put one of them into a directory of its own."
        raise FileError(msg)
    parts.sort(key=_order)
    pages = [_pixels(part) for part in parts]
    shapes = {page.shape for page in pages}
    if len(shapes) > 1:
        sizes = ", ".join(map(str, sorted(shapes)))
        msg = f"its slices must be of one size; got {sizes}. Put those of one size into a directory of their own."
        raise FileError(msg)
    low = parts[0].get("PixelPaddingValue")
    return {
        "values": np.stack(pages) if len(pages) > 1 else pages[0],
        "series": len(pages) > 1,
        "padding": None if low is None else (int(low), int(parts[0].get("PixelPaddingRangeLimit", low))),
        "colour": parts[0].get("SamplesPerPixel", 1) > 1,
    }


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
