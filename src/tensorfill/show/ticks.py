"""Few readable ticks along an axis whose positions 0, 1, 2, ... have labels: round values, or else some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.show.labels import escape_dollars, format_labels, shorten
from tensorfill.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LETTERS, LINES = 13.0, 4.0  # letters along x, and lines above one another along y, that fit into an inch
MOST_TICKS = 10  # along one axis
YEARS = (-719_162, 2_932_896)  # days from 1970 to the years 1 and 9999, between which matplotlib can count


def along_x(axes: Axes, labels: Array, inches: float) -> None:
    """Ticks of the x axis; names that do not fit side by side are turned upright."""
    room = int(min(LINES * 1.5 * inches, 2 * MOST_TICKS))
    if labels.dtype.kind == "U" and (len(labels) > room or not fit(_all(labels)[1], inches)):
        places, texts = _all(labels) if len(labels) <= room else _some(labels, room)
        axes.set_xticks(places, list(map(escape_dollars, texts)), rotation=90)
    else:
        places, texts = choose(labels, lambda texts: fit(texts, inches))
        axes.set_xticks(places, list(map(escape_dollars, texts)))


def along_y(axes: Axes, labels: Array, inches: float) -> None:
    """As many labels up the axis as have room."""
    places, texts = choose(labels, lambda texts: len(texts) <= LINES * inches)
    axes.set_yticks(places, list(map(escape_dollars, texts)))


def fit(texts: list[str], inches: float) -> bool:
    """Do they fit side by side?"""
    return len(texts) * (2 + max(map(len, texts), default=0)) <= LETTERS * inches


def choose(labels: Array, fits: Callable[[list[str]], bool]) -> tuple[Array, list[str]]:
    """(positions, texts): every label if they fit, else as many round ones, or evenly picked ones, as do."""
    every = _all(labels) if len(labels) <= 4 * MOST_TICKS else None
    if every is not None and fits(every[1]):
        return every
    for count in range(MOST_TICKS, 1, -1):
        found = _round(labels, count) or _some(labels, count)
        if fits(found[1]):
            return found
    return _some(labels, 2) if len(labels) else (np.empty(0), [])


def _all(labels: Array) -> tuple[Array, list[str]]:
    return np.arange(len(labels)), _texts(labels, slice(None))


def _some(labels: Array, count: int) -> tuple[Array, list[str]]:
    at = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), count)).round().astype(int))
    return at, _texts(labels, at)


def _texts(labels: Array, at: Any) -> list[str]:
    texts = format_labels(labels, at)
    return [shorten(t) for t in texts] if labels.dtype.kind == "U" else texts


def _round(labels: Array, count: int) -> tuple[Array, list[str]] | None:
    """Round values between the first label and the last, where they would stand; None if that would mislead."""
    kind = labels.dtype.kind
    if kind not in "Miuf" or len(labels) < 3:
        return None
    numbers = _days(labels) if kind == "M" else labels.astype(np.float64)
    steps = np.diff(numbers)
    if not ((steps > 0).all() or (steps < 0).all()):  # also where one is NaN
        return None
    sizes = np.abs(steps)
    if kind != "M" and sizes.max() > 2.01 * sizes.min():  # uneven: identity numbers, levels, ...
        return None
    if kind == "M" and not (YEARS[0] < numbers.min() and numbers.max() < YEARS[1] and sizes.sum() > 1e-3):
        return None
    values = _locate(numbers, count, kind)
    values = values[(values >= numbers.min()) & (values <= numbers.max())]
    order = np.argsort(numbers)
    at = np.interp(values, numbers[order], np.arange(len(labels), dtype=float)[order])
    crowded = len(at) > 1 and np.abs(np.diff(at)).min() < len(labels) / (4 * count)
    if not 2 <= len(at) <= count or crowded:
        return None
    texts = format_labels(_moments(values) if kind == "M" else values.round().astype(int) if kind in "iu" else values)
    return at, texts


def _days(moments: Array) -> Array:
    """Moments as days since 1970, as matplotlib counts them."""
    out = moments.astype("M8[us]").astype(np.int64) / 86.4e9
    return np.where(np.isnat(moments), np.nan, out)


def _moments(days: Array) -> Array:
    return np.round(days * 86400).astype(np.int64).astype("M8[s]")  # ticks are at whole seconds


def _locate(numbers: Array, count: int, kind: str) -> Array:
    from matplotlib import dates, ticker

    low, high = float(numbers.min()), float(numbers.max())
    if kind == "M":
        locator = dates.AutoDateLocator(minticks=2, maxticks=count)
        return np.asarray(locator.tick_values(dates.num2date(low), dates.num2date(high)), dtype=np.float64)
    return np.asarray(ticker.MaxNLocator(count, integer=kind in "iu", steps=[1, 2, 2.5, 5, 10]).tick_values(low, high))
