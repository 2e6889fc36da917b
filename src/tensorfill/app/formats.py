"""The formats in which an answer is offered, the most useful first."""

from __future__ import annotations

import dataclasses

import numpy as np

from tensorfill.io.files import FORMATS, Loaded
from tensorfill.io.formats.output import can_write
from tensorfill.io.mixed import table_format
from tensorfill.typing import Array

USUAL = {"picture": ("png", "tiff", "jpeg", "npy"), "table": ("csv", "parquet", "npy"), "array": ("npy", "csv", "mat")}
SIDE = 16  # indices of each mode of the piece that is tried
KEPT = ("axes", "form", "floating")  # what of the private notes of a format says how to write a piece


def list_formats(completed: Array, like: Loaded, own: str) -> list[dict[str, str]]:
    """All formats that can hold the answer: the file's `own`, those that suit its kind of data, the others.

    PNG comes before JPEG, which changes known pixels. Whether a format can hold it is tried on a piece of the answer.
    """
    kind = "picture" if like.extra.get("axes") else "table" if like.labels else "array"
    first = USUAL[kind] if own == "jpeg" else (own, *USUAL[kind])
    names = [n for n in dict.fromkeys([*first, *(name for name, _ in FORMATS.items())]) if FORMATS[n].writes]
    piece = _piece(completed, like)
    return [_describe(n) for n in names if n == like.format or can_write(FORMATS[n](), *piece)]


def _piece(completed: Array, like: Loaded) -> tuple[Array, Loaded]:
    """A corner of the answer, with its extremes; coordinate data are written as they came."""
    if like.values is None or max(like.shape) <= SIDE:
        return completed, like
    corner = tuple(slice(SIDE) for _ in like.shape)
    names = like.dims or ()
    labels = None if like.labels is None else {d: x[:SIDE] if d in names else x for d, x in like.labels.items()}
    values = np.array(completed[corner])
    values.flat[:2] = np.nanmin(completed), np.nanmax(completed)  # pictures have ends
    extra = {key: like.extra[key] for key in KEPT if key in like.extra}
    none = np.zeros(values.shape, dtype=bool)
    return values, dataclasses.replace(
        like, format="npy", shape=values.shape, values=values, mask=none, labels=labels, extra=extra
    )


def table_formats(name: str) -> list[dict[str, str]]:
    """The formats that hold a table with text, the file's own first."""
    own = [table_format(name), *(table_format(kind.endings[0]) for _, kind in FORMATS.items())]
    return [_describe(name) for name in dict.fromkeys(kind.name for kind in own if kind is not None)]


def _describe(name: str) -> dict[str, str]:
    kind = FORMATS[name]
    return {"name": name, "ending": kind.endings[0], "title": kind.title}
