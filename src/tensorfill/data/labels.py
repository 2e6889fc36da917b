"""What stands along the modes: labels, and where they are numbers or moments, how far apart the entries lie.

Labels are brought to one of three forms: moments (datetime64), numbers and text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.data.coordinates import check_inside
from tensorfill.data.dates import parse_dates
from tensorfill.data.sources import LineSource
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.data.observations import Observations


DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = re.compile(DAY.pattern + r"([ T]\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?")  # without a time zone: NumPy has none
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")  # 007 is a name
ORDERED_NAME = re.compile(  # text that begins with a number, or by the calendar
    r"\d|(mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|"
    r"(quarter|day|week|month|year|hour|minute|time|step|[qdwmyht])[ _.-]?\d",
    re.IGNORECASE,
)
CALENDAR = ((7, 1, 1), (52, 7, 7), (12, 28, 31), (4, 89, 92))  # steps of a turn, and the days of a step, from and to
EVEN = 1.2  # steps are even if the widest is no more than so many times the narrowest: months, and quarters of a year


def axis_labels(obs: Observations) -> dict[str, Any]:
    """{dimension: labels} that the data came with: index, columns, coordinates."""
    if hasattr(obs, "labels"):  # of observations in blocks
        return dict(obs.labels)
    return {} if obs.source is None else obs.source.axis_labels(obs.dims)


def all_labels(obs: Observations) -> dict[str, Any]:
    """As `axis_labels`, with those that a file had beside its numbers."""
    beside = getattr(obs.source, "labels", None)
    return {**beside, **axis_labels(obs)} if isinstance(beside, Mapping) else axis_labels(obs)


def slice_name(obs: Observations, mode: int, i: int) -> str:
    """A slice by the label that the data came with, `column = 'rain'`, `day = 2024-03-01`; else by its position."""
    dim = obs.dims[mode]
    found = all_labels(obs).get(dim)
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
    check_inside(where, shape, "indices")
    return where


def _by_labels(obs: Observations, table: Any) -> Array:
    """The coordinates (k, N) that a table of labels names, one column for each dimension; indices where there are no
    labels.
    """
    known, columns = axis_labels(obs), []
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


def as_datetimes(labels: Any, *, clock: bool = False) -> Array | None:
    """Labels as moments (datetime64), (k,): of a time zone in UTC, or as the `clock` there shows them; durations count
    from 1970. None for labels that are not time, or not all of them.
    """
    if getattr(labels, "tz", None) is not None and not clock:
        labels = labels.tz_convert("UTC")
    array = labels.to_numpy() if getattr(labels, "dtype", np.dtype(object)).kind == "m" else plain_labels(labels)
    array = array.astype("m8[us]") + np.datetime64(0, "us") if array.dtype.kind == "m" else array
    return array if array.dtype.kind == "M" and not np.isnat(array).any() else None


def calendar_period(labels: Any) -> int | None:
    """Steps after which the calendar repeats, for even moments: a day of hours or parts of them, a week of days, a year
    of weeks, months or quarters. None for other labels, and for fewer than two turns.
    """
    at = as_datetimes(labels)
    if at is None or len(at) < 2:
        return None
    days = np.diff(at) / np.timedelta64(1, "D")
    step, parts = float(np.median(days)), round(1 / max(float(np.median(days)), 1e-9))
    if days.min() <= 0 or days.max() > EVEN * days.min():
        return None
    turn = next((turn for turn, low, high in CALENDAR if low <= step <= high), None)
    turn = parts if step < 0.5 and abs(parts * step - 1) < 1e-6 else turn
    return turn if turn is not None and 2 * turn <= len(at) else None


def plain_labels(labels: Any) -> Array:
    """Labels to be shown: moments (datetime64, as the clock there shows them), numbers or text."""
    if type(labels).__name__ == "PeriodIndex":  # when they start
        labels = labels.to_timestamp()
    if getattr(labels, "tz", None) is not None:
        labels = labels.tz_localize(None)
    array = labels.to_numpy() if hasattr(labels, "to_numpy") else _as_array(labels)
    if array.dtype.kind in "Miuf":
        return array
    if array.dtype.kind == "m":
        return np.array([_duration(x) for x in array.astype("m8[s]").astype(np.int64)])
    text = [", ".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in array]
    return _parse_texts(text)


def _as_array(labels: Sequence[Any]) -> Array:
    """A list as an array of one mode, also a list of tuples."""
    if isinstance(labels, np.ndarray):
        return labels
    kinds = {type(x) for x in labels}
    if kinds == {np.datetime64} or all(issubclass(k, np.number | int | float) for k in kinds):
        return np.asarray(labels)
    return np.fromiter(labels, dtype=object)


def _parse_texts(text: list[str]) -> Array:
    """Text from a file as numbers or moments where all of it can be read so."""
    if text and all(NUMBER.fullmatch(x) for x in text):
        whole = all("." not in x and len(x) < 18 for x in text)
        return np.array([int(x) for x in text]) if whole else np.array([float(x) for x in text])
    if text and all(MOMENT.fullmatch(x) for x in text):
        try:
            return np.array(text, dtype="M8[us]")
        except ValueError:  # 30 February, in a calendar of 360 days
            pass
    found = parse_dates(text)
    return np.array([x.removesuffix(" 00:00:00") if DAY.match(x) else x for x in text]) if found is None else found


def _duration(seconds: int) -> str:
    days, rest = divmod(int(seconds), 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}" + (f":{rest % 60:02d}" if rest % 60 else "")
    return clock if days == 0 else f"{days} d" + (f" {clock}" if rest else "")


def with_positions(obs: Observations, labels: Mapping[str, Any] | None = None) -> Observations:
    """The same, with `positions` of the modes whose labels (those given, else those the data carry) are numbers or
    moments that rise by uneven steps, with the `periods` of the calendar, and with the modes that have names alone as
    `unordered`.
    """
    found = axis_labels(obs) if labels is None else labels
    lengths = dict(zip(obs.dims, obs.shape, strict=True))
    told = {d: labels for d, labels in found.items() if d in lengths and len(labels) == lengths[d]}
    numbers = {d: as_numbers(labels) for d, labels in told.items()}
    places = tuple(_uneven_positions(numbers.get(d)) for d in obs.dims)
    made = replace(
        obs,
        positions=None if all(at is None for at in places) else places,
        unordered=frozenset(d for d, at in numbers.items() if at is None and not _have_an_order(told[d])),
        periods={d: turn for d, labels in told.items() if (turn := calendar_period(labels)) is not None},
    )
    if "mask" in vars(obs):  # of the same entries
        vars(made)["mask"] = obs.mask
    return made


def as_numbers(labels: Any) -> Array | None:
    """Labels that are numbers or moments as numbers that can be sorted, (k,); None for text."""
    moments_of = as_datetimes(labels)
    array = plain_labels(labels) if moments_of is None else moments_of.astype("M8[us]").astype(np.int64)
    return array if array.dtype.kind in "iuf" else None


def _have_an_order(labels: Any) -> bool:
    """Do labels in words have an order: 08:00, 10-19, 3rd, week 5, Q1, March? Other names have none."""
    if getattr(labels, "ordered", False):  # categories that were declared so
        return True
    return all(ORDERED_NAME.match(str(x).strip()) for x in labels)


def _uneven_positions(array: Array | None) -> Array | None:
    """Where these labels lie, in median steps from the first, (I_n,); None for text, and for even steps or a fall."""
    if array is None or len(array) < 3:
        return None
    at = array.astype(np.float64) - float(array[0])
    steps = np.diff(at)
    if not np.isfinite(at).all() or steps.min() <= 0 or steps.max() <= EVEN * steps.min():
        return None
    return at / np.median(steps)
