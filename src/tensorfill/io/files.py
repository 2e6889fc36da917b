"""Files in and out: the one place that knows formats. `read`, `read_mask`, `write`; every failure is one sentence.

What is missing: NaN, a value (`missing_value`), a mask file, a blank cell, an absent row; never the number 0.
What is written has the form and the type of what was read (integers rounded and clipped to their range), or the form
that the ending of the new name says. A file appears whole or not at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.memory import limit_memory
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.formats import FORMATS as FORMATS
from tensorfill.io.formats import FileError as FileError
from tensorfill.io.formats import FileWarning as FileWarning
from tensorfill.io.formats import Format as Format
from tensorfill.io.formats import Loaded as Loaded
from tensorfill.io.formats import output
from tensorfill.io.formats.base import Array, Request
from tensorfill.io.formats.long import guess_columns
from tensorfill.io.formats.opening import choose_output_format, load, open_file
from tensorfill.io.formats.opening import format_of as format_of
from tensorfill.io.formats.opening import sniff as sniff
from tensorfill.io.formats.output import file_errors
from tensorfill.io.formats.steps import step_note


def read(
    path: str | Path,
    *,
    dims: Sequence[str] | None = None,
    value: str | None = None,
    variable: str | None = None,
    missing_value: float | str | None = None,
    format: str | None = None,
    alpha_missing: bool = False,
    max_memory: int | str | None = None,
) -> Loaded:
    """Read a file, or standard input for "-".

    Parameters
    ----------
    dims : for tables, the columns that are dimensions (long form); for arrays, names for the modes
    value : the column of values of a long table
    variable : which array of a file with several
    missing_value : this number means missing, in each band by itself (a pixel of a photograph in whole-number colours
        is missing if all its channels have it); in text tables a text may, too
    format : a name in FORMATS, where the ending does not say it
    alpha_missing : fully transparent pixels are missing
    max_memory : so much may be taken, "4GB" or a number of bytes; by default half of what is free
    """
    with file_errors(path, "read"), limit_memory(max_memory):
        names = None if dims is None else tuple(dims)
        request = Request(dims=names, value=value, variable=variable, alpha_missing=alpha_missing)
        if isinstance(missing_value, str):
            request = replace(request, missing_value=missing_value)
            missing_value = None
        loaded = _check(load(path, request, format))
        if dims is not None and not loaded.coordinate:
            loaded = _name_modes(loaded, dims)
        if missing_value is not None:
            loaded = _mark_missing(loaded, missing_value)
        if not loaded.observed().any():
            msg = "it holds no observed value: everything is missing."
            raise FileError(msg)
    absent = (step_note(dim, labels) for dim, labels in (loaded.labels or {}).items())
    return replace(loaded, notes=(*loaded.notes, *(note for note in absent if note)))


def number_or_text(given: float | str | None) -> float | str | None:
    """What was typed as a missing value: a number where it is one; in a table a text may mean missing, too."""
    try:
        return None if given is None else float(given)
    except ValueError:
        return given


def columns_of(path: str | Path) -> dict[str, list[str]]:
    """The columns of a table as they stand in it, by their names: to choose from. Empty for other files."""
    if format_of(path) is None:
        return {}
    with file_errors(path, "read"), open_file(path) as (kind, request):
        return kind().columns(request)


def long_columns(path: str | Path) -> tuple[list[str], str] | None:
    """(dimension columns, value column) of a table that looks like one row for each entry; None for other files."""
    try:
        return guess_columns(columns_of(path))
    except FileError:
        return None


def read_mask(path: str | Path, shape: Sequence[int]) -> NDArray[np.bool_]:
    """A mask from a picture or an array, True = observed: where it is not zero (nor NaN).

    Of a picture in more than two greys (soft edges) only the brightest is observed, and a FileWarning says so.

    It must have the data's shape, or that of its first modes (a pixel mask for all channels), or of its last ones
    (one for all frames), tried in this order; the result has the full shape.
    """
    full = tuple(int(n) for n in shape)
    with file_errors(path, "read mask"):
        loaded = load(path, Request(), None)
        values = _dense_mask(loaded, full)
        if loaded.format == "jpeg" and not np.isin(values, (0, 255)).all():
            msg = "JPEG blurs the edges of a mask; save it as PNG."
            raise FileError(msg)
        with np.errstate(invalid="ignore"):
            given = (values != 0) & (values == values)
        greys = _grey_levels(loaded)
        if len(greys) > 2:
            given = values == greys[-1]
            msg = (
                f"mask {path} has {len(greys)} grey levels; only the brightest, {greys[-1]}, counts as known, "
                f"{given.mean():.1%} of the pixels. Save it in black and white to say otherwise."
            )
            warnings.warn(msg, FileWarning, stacklevel=find_stacklevel())
        mask = spread_mask(given, full, channels="C" in loaded.extra.get("axes", ""))
        if not mask.any():
            msg = "it marks no entry as observed; non-zero must mean observed."
            raise FileError(msg)
    return mask


def write(path: str | Path, completed: Array, like: Loaded, *, format: str | None = None) -> None:
    """Write the completed tensor in the form of `like`, or in another; "-" is standard output.

    Parameters
    ----------
    completed : dense, of the shape of `like`
    like : what was read
    format : a name in FORMATS; otherwise the ending of `path` says it, and without one the format is that of `like`
    """
    values = like.restore(completed)
    with file_errors(path, "write"):
        kind = choose_output_format(path, like, format)

        if not kind.store:
            packed = kind.text and str(path).lower().endswith(".gz")
            output.write_stream(path, lambda sink: kind.write(sink, values, like), packed=packed)
            return
        if str(path) == "-":
            msg = f"{kind.title} cannot be sent through a stream; give a file name."
            raise FileError(msg)
        with output.replace_path(Path(path), store=kind.store) as place:
            kind.write_path(place, values, like)


# --- what was read ------------------------------------------------------------------------------------------------


def _check(loaded: Loaded) -> Loaded:
    kind = loaded.dtype.kind
    if kind not in "biuf":
        what = {"c": "complex numbers", "V": "records", "U": "text", "S": "text", "M": "dates"}.get(
            kind, str(loaded.dtype)
        )
        msg = f"it holds {what}; only real numbers can be completed."
        raise FileError(msg)
    if len(loaded.shape) < 2:
        msg = f"it has shape {loaded.shape}; a file needs at least two modes, e.g. days x hours; Python takes one."
        raise FileError(msg)
    if loaded.size == 0:
        msg = f"it has shape {loaded.shape}, which holds no entries."
        raise FileError(msg)
    return loaded


def _name_modes(loaded: Loaded, dims: Sequence[str]) -> Loaded:
    names = tuple(str(d) for d in dims)
    if len(names) != len(loaded.shape) or len(set(names)) != len(names):
        msg = f"--dims must be {len(loaded.shape)} different names for shape {loaded.shape}; got {', '.join(names)}."
        raise FileError(msg)
    known = loaded.labels or {}
    labels = {new: known[old] for new, old in zip(names, loaded.dims or names, strict=True) if old in known}
    return replace(loaded, dims=names, labels=labels or None)


def _mark_missing(loaded: Loaded, missing_value: float) -> Loaded:
    kind = loaded.dtype.kind
    limits = np.iinfo(loaded.dtype) if kind in "iu" else None
    number = float(missing_value)
    if limits and not (number == np.rint(number) and limits.min <= number <= limits.max):
        msg = f"--missing-value {missing_value:g} cannot occur in {loaded.dtype} data; leave it out."
        raise FileError(msg)
    missing = loaded.given == loaded.given.dtype.type(missing_value)
    if loaded.values is None:
        return loaded.subset(~missing)
    if _is_colour(loaded):  # black marks a pixel, not every blue that is 0
        whole = np.broadcast_to(missing.all(axis=-1, keepdims=True), missing.shape)
        partly = np.count_nonzero(missing & ~whole)
        if partly:
            note = (
                f"{number:g} marks the pixels that have it in all channels; {partly:,} entries that have it in some "
                "are kept as colours. Give a mask (--mask F) to say otherwise."
            )
            loaded = replace(loaded, notes=(*loaded.notes, note))
        missing = whole
    return replace(loaded, mask=loaded.observed() & ~missing)


def _is_colour(loaded: Loaded) -> bool:
    """Are the channels one colour (red, green and blue of a photograph)? Else each band is a measurement of its own."""
    return "C" in loaded.extra.get("axes", "") and loaded.dtype.kind == "u" and bool(loaded.extra.get("colour", True))


# --- masks --------------------------------------------------------------------------------------------------------


def _grey_levels(loaded: Loaded) -> Array:
    """The grey levels of a picture, from dark to bright; none for an array, and for a picture in colours."""
    values = loaded.values
    if values is None or "axes" not in loaded.extra or values.dtype.kind not in "iuf":
        return np.empty(0)
    grey = values if "C" not in loaded.extra["axes"] else values[..., 0]
    if grey is not values and (values != grey[..., None]).any():
        return np.empty(0)
    return np.unique(grey[grey == grey])


def _dense_mask(loaded: Loaded, shape: tuple[int, ...]) -> Array:
    if loaded.values is not None:
        if loaded.values.dtype.kind not in "biuf":
            msg = f"a mask must hold numbers or True/False, non-zero = observed; got {loaded.values.dtype}."
            raise FileError(msg)
        return loaded.values
    assert loaded.indices is not None
    assert loaded.values_coo is not None
    larger = len(loaded.shape) != len(shape) or any(m > n for m, n in zip(loaded.shape, shape, strict=False))
    out = np.zeros(loaded.shape if larger else shape)  # the shape of a coordinate list is only a lower bound
    out[tuple(loaded.indices.T)] = loaded.values_coo
    return out


def spread_mask(given: NDArray[np.bool_], shape: tuple[int, ...], *, channels: bool) -> NDArray[np.bool_]:
    """The mask at the full shape."""
    if channels and given.shape not in (shape, shape[: given.ndim]):
        # a mask drawn in colour for data without channels: any colour but black is observed
        given = np.asarray(given.any(axis=-1))
    if given.shape == shape[: given.ndim]:
        return np.array(np.broadcast_to(given.reshape(given.shape + (1,) * (len(shape) - given.ndim)), shape))
    for trailing in (shape, shape[:-1]):
        if given.ndim > 1 and given.shape == trailing[len(trailing) - given.ndim :]:
            wide = given if trailing == shape else given[..., None]
            return np.array(np.broadcast_to(wide, shape))
    partial = f", or {shape[:-1]} to serve all of the last mode" if len(shape) > 2 else ""
    partial += f", or {shape[1:-1]} to serve all frames" if len(shape) > 3 else ""
    lies = len(shape) > 1 and given.shape[:2] == shape[1::-1]
    turn = " It seems to lie on its side: turn it by 90 degrees." if lies else ""
    msg = f"it has shape {given.shape}, but the data have {shape}; a mask must have that shape{partial}.{turn}"
    raise FileError(msg)
