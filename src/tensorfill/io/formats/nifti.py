"""NIfTI volumes of medical imaging through nibabel: (x, y, z[, t]); affine and header are written back."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.optional import attempt_import

DIMS = ("x", "y", "z", "t", "u", "v", "w")
STARTS = (b"n+1\0", b"n+2\0")
WIDER = {"b1": np.uint8, "f2": np.float32}  # types that NIfTI has not


@contextmanager
def _silent() -> Iterator[None]:
    """Silence what nibabel logs about headers that it repairs."""
    logger = logging.getLogger("nibabel.global")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@FORMATS.register("nifti")
class NIfTI(Format):
    """NIfTI 1 and 2, in one file, possibly gzipped."""

    title = "a NIfTI volume"
    description = "medical volume (x, y, z, t), possibly gzipped; affine and header kept; needs nibabel"
    endings = (".nii",)
    magic = STARTS
    packs = True

    @classmethod
    def begins(cls, head: bytes) -> bool:
        return head[344:348] in STARTS or head[4:8] in STARTS

    def read(self, request: Request) -> Loaded:
        nibabel = attempt_import("nibabel", "reading NIfTI", "medical")
        data = request.bytes()
        second = data[4:8] in STARTS
        with _silent():
            image = (nibabel.Nifti2Image if second else nibabel.Nifti1Image).from_bytes(data)
        size = math.prod(image.shape) * image.get_data_dtype().itemsize
        if size > len(data):
            msg = f"it is damaged: {len(data):,} bytes cannot hold the volume of shape {image.shape} that it claims."
            raise FileError(msg)
        ask(2 * size + 8 * math.prod(image.shape), f"a volume of shape {image.shape}")
        values = np.array(image.dataobj[...])  # scaled, where it says how
        values = values.astype(values.dtype.newbyteorder("="))
        slope, intercept = image.header.get_slope_inter()
        extra = {"image": image, "scaled": (slope or 1.0, intercept or 0.0) != (1.0, 0.0)}
        return Loaded("nifti", values.shape, values.dtype, values, dims=DIMS[: values.ndim], extra=extra)

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        nibabel = attempt_import("nibabel", "writing NIfTI", "medical")
        wider: Any = WIDER.get(array.dtype.str[1:])
        array = array if wider is None else array.astype(wider)
        if array.ndim > len(DIMS):
            msg = f"NIfTI holds up to {len(DIMS)} modes; got {array.ndim}; write .npy instead."
            raise FileError(msg)
        old = like.extra.get("image") if like.format == "nifti" else None
        header = None if old is None else old.header.copy()
        kind = nibabel.Nifti1Image if old is None else type(old)
        if old is None and max(array.shape) > np.iinfo(np.int16).max:
            kind = nibabel.Nifti2Image
        if header is not None:
            header.set_slope_inter(1.0, 0.0)
        # nibabel refuses 64-bit integers, which few readers expect, unless the type is given
        made = kind(array, np.eye(4) if old is None else old.affine, header, dtype=array.dtype)
        made.set_data_dtype(array.dtype)
        sink.write(made.to_bytes())
