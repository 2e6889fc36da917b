"""What stands along the modes: labels, and where they are numbers or moments, how far apart the entries lie.

Labels are brought to one of three forms: moments (datetime64), numbers and text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.dates import moments
from tensorfill.data.sources import CarriedSource, FrameSource, LineSource, MatrixSource, SeriesSource, XarraySource

if TYPE_CHECKING:
    from tensorfill.data.observations import Observations

Array = NDArray[Any]

DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = re.compile(DAY.pattern + r"([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?")  # without a time zone: NumPy has none
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")  # 007 is a name
EVEN = 1.2  # steps are even if the widest is no more than so many times the narrowest: months, and quarters of a year


def carried(obs: Observations) -> dict[str, Any]:
    """{dimension: labels} that the data came with: index, columns, coordinates."""
    if hasattr(obs, "labels"):  # of observations in blocks
        return dict(obs.labels)
    source: Any = obs.source
    if isinstance(source, SeriesSource | LineSource | CarriedSource):
        source = source.inner
    if isinstance(source, XarraySource):
        da = source.da
        return {str(d): da.indexes[d] for d in da.dims if d in da.indexes}
    if hasattr(source, "carried"):  # of polars, whose module is loaded for its tables alone
        return dict(source.carried)
    if isinstance(source, FrameSource):
        return dict(zip(source.dims, source.labels, strict=True))
    if isinstance(source, MatrixSource):
        return dict(zip(obs.dims, (source.frame.index, source.frame.columns), strict=True))
    return {}


def slice_name(obs: Observations, mode: int, i: int) -> str:
    """A slice by the label that the data came with, `column = 'rain'`, `day = 2024-03-01`; else by its position."""
    dim = obs.dims[mode]
    found = {**getattr(obs.source, "labels", {}), **carried(obs)}.get(dim) if obs.source is not None else None
    if found is None or len(found) != obs.shape[mode]:
        return f"{dim} = {i}"
    label = next(iter(found[i : i + 1]))
    if isinstance(label, str):
        return f"{dim} = {label!r}"
    return f"{dim} = {str(label).removesuffix(' 00:00:00')}"


def coordinates_of(obs: Observations, given: Any) -> Array:
    """The coordinates (k, N) that indices (k, N), or a table of labels, name; of one series alone also indices (k,)."""
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        given = _by_labels(obs, given)
    where, shape = np.atleast_2d(np.asarray(given)), obs.shape
    if isinstance(obs.source, LineSource) and where.shape != (1, 2) and 1 in where.shape:
        where = np.insert(where.reshape(-1, 1), 1, 0, axis=1)
    if where.ndim != 2 or where.shape[1] != len(shape) or where.dtype.kind not in "iu":
        msg = f"indices must be whole numbers (k, {len(shape)}), one column per mode; got shape {where.shape}, "
        msg += f"dtype {where.dtype}."
        raise ValueError(msg)
    outside = np.flatnonzero(((where < 0) | (where >= np.array(shape))).any(axis=1))
    if outside.size:
        first = tuple(int(i) for i in where[outside[0]])
        msg = f"indices must lie inside shape {shape}; got {first} in row {int(outside[0])}."
        raise ValueError(msg)
    return where


def _by_labels(obs: Observations, table: Any) -> Array:
    """The coordinates (k, N) that a table of labels names, one column for each dimension; indices where there are no
    labels.
    """
    known, columns = carried(obs), []
    for d, length in zip(obs.dims, obs.shape, strict=True):
        if d not in table:
            msg = f"the table must have a column for each of {', '.join(obs.dims)}; {d!r} is missing."
            raise ValueError(msg)
        given = np.asarray(table[d])
        if d not in known:
            columns.append(given)
            continue
        places = {label: k for k, label in enumerate(np.asarray(known[d]).tolist())}
        try:
            columns.append(np.fromiter((places[x] for x in given.tolist()), np.int64, len(given)))
        except KeyError as error:
            msg = f"{d} must be one of its {length:,} labels; got {error.args[0]!r}, which the data do not have."
            raise ValueError(msg) from error
    return np.stack(columns, axis=1)


def tidy(labels: Any) -> Array:
    """Labels as moments (datetime64), numbers (integer or float) or text."""
    if type(labels).__name__ == "PeriodIndex":  # when they start
        labels = labels.to_timestamp()
    if getattr(labels, "tz", None) is not None:  # moments as the clock there shows them
        labels = labels.tz_localize(None)
    array = labels.to_numpy() if hasattr(labels, "to_numpy") else _array(labels)
    if array.dtype.kind in "Miuf":
        return array
    if array.dtype.kind == "m":
        return np.array([_duration(x) for x in array.astype("m8[s]").astype(np.int64)])
    text = [", ".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in array]
    return _read(text)


def _array(labels: Sequence[Any]) -> Array:
    """A list as an array of one mode, also a list of tuples."""
    if isinstance(labels, np.ndarray):
        return labels
    kinds = {type(x) for x in labels}
    if kinds == {np.datetime64} or all(issubclass(k, np.number | int | float) for k in kinds):
        return np.asarray(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = list(labels)
    return out


def _read(text: list[str]) -> Array:
    """Text from a file as numbers or moments where all of it can be read so."""
    if text and all(NUMBER.fullmatch(x) for x in text):
        whole = all("." not in x and len(x) < 18 for x in text)
        return np.array([int(x) for x in text]) if whole else np.array([float(x) for x in text])
    if text and all(MOMENT.fullmatch(x) for x in text):
        try:
            return np.array(text, dtype="M8[us]")
        except ValueError:  # 30 February, in a calendar of 360 days
            pass
    found = moments(text)
    return np.array([x.removesuffix(" 00:00:00") if DAY.match(x) else x for x in text]) if found is None else found


def _duration(seconds: int) -> str:
    days, rest = divmod(int(seconds), 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}" + (f":{rest % 60:02d}" if rest % 60 else "")
    return clock if days == 0 else f"{days} d" + (f" {clock}" if rest else "")


def with_positions(obs: Observations, labels: Mapping[str, Any] | None = None) -> Observations:
    """The same, with `positions` of the modes whose labels (those given, else those the data carry) are numbers or
    moments that rise by uneven steps.
    """
    found = carried(obs) if labels is None else labels
    places = tuple(_places(found[d], n) if d in found else None for d, n in zip(obs.dims, obs.shape, strict=True))
    return obs if all(at is None for at in places) else replace(obs, positions=places)


def _places(labels: Any, length: int) -> Array | None:
    """Where these labels lie, in median steps from the first, (I_n,); None for text, and for even steps or a fall."""
    array = tidy(labels)
    if len(array) != length or length < 3 or array.dtype.kind not in "Miuf":
        return None
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            return None
        array = array.astype("M8[us]").astype(np.int64)
    at = array.astype(np.float64) - float(array[0])
    steps = np.diff(at)
    if not np.isfinite(at).all() or steps.min() <= 0 or steps.max() <= EVEN * steps.min():
        return None
    return at / np.median(steps)
