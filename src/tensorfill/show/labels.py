"""What stands along the modes: labels taken from the data (index, columns, coordinates), and how they are printed.

Design: labels are brought to one of three forms, moments (datetime64), numbers and text, because how one of them is
printed depends on all of them: days without 00:00, numbers in as few digits as tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.sources import FrameSource, MatrixSource, SeriesSource, XarraySource

if TYPE_CHECKING:
    from tensorfill.data.observations import Observations

Array = NDArray[Any]

DIGITS = 4  # significant, unless more are needed to tell neighbours apart
DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = re.compile(DAY.pattern + r"([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?")  # without a time zone, which NumPy has not
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")  # 007 is a name


def labels_of(obs: Observations, given: Mapping[str, Sequence[Any] | Array] | None = None) -> dict[str, Array]:
    """{dimension: its labels, (I_n,)}: those given, else those the data carry; nothing where there are none."""
    found = {**_from_source(obs), **(given or {})}
    out = {}
    for dim, length in zip(obs.dims, obs.shape, strict=True):
        if dim not in found:
            continue
        if len(found[dim]) != length:
            msg = f"labels of {dim!r} must be {length}, one for each index; got {len(found[dim])}."
            raise ValueError(msg)
        out[dim] = tidy(found[dim])
    return out


def _from_source(obs: Observations) -> dict[str, Any]:
    source: Any = obs.source
    if isinstance(source, SeriesSource):
        source = source.inner
    if isinstance(source, XarraySource):
        da = source.da
        return {str(d): da.indexes[d] for d in da.dims if d in da.indexes}
    if isinstance(source, FrameSource):
        return dict(zip(source.dims, source.labels, strict=True))
    if isinstance(source, MatrixSource):
        return dict(zip(obs.dims, (source.frame.index, source.frame.columns), strict=True))
    return {}


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
    """Text from a file may be days or numbers all the same."""
    if text and all(NUMBER.fullmatch(x) for x in text):
        whole = all("." not in x and len(x) < 18 for x in text)
        return np.array([int(x) for x in text]) if whole else np.array([float(x) for x in text])
    if text and all(MOMENT.fullmatch(x) for x in text):
        try:
            return np.array(text, dtype="M8[us]")
        except ValueError:  # 30 February, in a calendar of 360 days
            pass
    return np.array([x.removesuffix(" 00:00:00") if DAY.match(x) else x for x in text])


def _duration(seconds: int) -> str:
    days, rest = divmod(int(seconds), 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}" + (f":{rest % 60:02d}" if rest % 60 else "")
    return clock if days == 0 else f"{days} d" + (f" {clock}" if rest else "")


def words(labels: Array, at: Any = slice(None)) -> list[str]:
    """The labels at the indices `at` as text; how they are printed is decided by all of them."""
    chosen = labels[at]
    if labels.dtype.kind == "M":
        unit = _unit(labels)
        return [str(x).replace("T", " ") for x in np.datetime_as_string(chosen, unit=unit)]
    if labels.dtype.kind == "f":
        digits, zero = _digits(labels.astype(np.float64))
        return [_number(0.0 if abs(x) < zero else float(x), digits) for x in chosen]
    return [str(x) for x in chosen]


def _unit(moments: Array) -> Any:
    """The coarsest unit that loses nothing; a single midnight is a day."""
    seen = moments[~np.isnat(moments)]
    several = ("Y", "M") if len(np.unique(seen)) > 1 else ()
    for unit in (*several, "D", "m", "s", "ms"):
        if (seen == seen.astype(f"M8[{unit}]")).all():
            return unit
    return "us"


def _digits(numbers: Array) -> tuple[int, float]:
    """(significant digits that tell neighbours apart, what is 0 but for rounding)."""
    seen = np.unique(numbers[np.isfinite(numbers)])
    if len(seen) < 2:
        return DIGITS, 0.0
    step = float(np.median(np.diff(seen)))
    return int(np.clip(np.ceil(np.log10(np.abs(seen).max() / step)), DIGITS, 15)), 1e-9 * step


def _number(x: float, digits: int) -> str:
    text = f"{x:.{digits}g}"
    return f"{x:.0f}" if "e" in text and 1 <= abs(x) < 1e7 else text


def short(text: str, most: int = 16) -> str:
    """A label in at most so many letters: its start and its end, as names are often told apart there."""
    end = most // 3
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"


def plain(text: str) -> str:
    """Text that matplotlib shows as it is: a dollar sign in it begins no formula."""
    return text.replace("$", r"\$")
