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
        places = np.arange(0, len(labels), -(-len(labels) // max(room, 1)))  # even steps: closer names would overlap
        texts = _texts(labels, places)
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
    from matplotlib import dates, ticker

    kind = labels.dtype.kind
    if kind not in "Miuf" or len(labels) < 3:
        return None
    numbers = dates.date2num(labels) if kind == "M" else labels.astype(np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    steps = np.diff(numbers)
    sizes = np.abs(steps)
    if not ((steps > 0).all() or (steps < 0).all()):  # also where one is NaN
        return None
    if kind != "M" and sizes.max() > 2.01 * sizes.min():  # uneven: identity numbers, levels, ...
        return None
    if kind == "M":
        if not (YEARS[0] < low and high < YEARS[1] and high - low > 1e-3):
            return None
        locator = dates.AutoDateLocator(minticks=2, maxticks=count)
        found = locator.tick_values(dates.num2date(low), dates.num2date(high))
    else:
        found = ticker.MaxNLocator(count, integer=kind in "iu", steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    values = np.asarray(found, dtype=np.float64)
    values = values[(values >= low) & (values <= high)]
    order = np.argsort(numbers)
    at = np.interp(values, numbers[order], np.arange(len(labels), dtype=float)[order])
    crowded = len(at) > 1 and np.abs(np.diff(at)).min() < len(labels) / (4 * count)
    if not 2 <= len(at) <= count or crowded:
        return None
    if kind == "M":  # ticks are at whole seconds
        return at, format_labels(np.round(values * 86400).astype(np.int64).astype("M8[s]"))
    return at, format_labels(values.round().astype(int) if kind in "iu" else values)
