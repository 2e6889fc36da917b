"""Kinds of gaps for `bench choose`: True = hidden, drawn from a seeded Generator.

Only known entries are hidden, and every slice of every mode keeps one where it had one: what nothing could tell is
not asked. The one exception is `blackout`, where all series are off at the same times.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.registry import did_you_mean
from tensorfill_benchmarks.choose_data import DataSet

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Rng = np.random.Generator

SHORTEST, LONGEST = 3, 24  # steps of a run


def single(share: float) -> Callable[[DataSet, Rng], Mask]:
    """Single entries, all equally likely."""

    def draw(data: DataSet, rng: Rng) -> Mask:
        return rng.random(data.shape) < share

    return draw


def runs(data: DataSet, rng: Rng, share: float = 0.3) -> Mask:
    """Each series on its own is off for stretches of 3 to 24 steps."""
    steps, count = flat_time(data, np.zeros(data.shape)).shape
    hidden = np.zeros((steps, count), dtype=bool)
    for k in range(count):
        hidden[:, k] = _stretches(steps, share, rng, LONGEST)
    return from_flat_time(data, hidden)


def blackout(data: DataSet, rng: Rng) -> Mask:
    """All series are off at the same times, for 3 to 12 steps."""
    steps, count = flat_time(data, np.zeros(data.shape)).shape
    off = _stretches(steps, 0.2, rng, LONGEST // 2)
    return from_flat_time(data, np.repeat(off[:, None], count, axis=1))


def slices(data: DataSet, rng: Rng, share: float = 0.25) -> Mask:
    """What goes missing as one: whole fibres of a tensor, half the columns of some rows, a quarter of some series."""
    if data.values.ndim > 2 and data.fibres:
        thin = tuple(1 if n in data.fibres else length for n, length in enumerate(data.shape))
        return np.array(np.broadcast_to(rng.random(thin) < share, data.shape))
    if data.time:
        return _outages(data, rng, share)
    rows, columns = data.shape
    together = rng.permutation(columns) < columns // 2
    return (rng.random((rows, 1)) < 2 * share * 0.8) & together


def mix(data: DataSet, rng: Rng) -> Mask:
    """Single entries, runs where there is time, and slices: about a tenth each."""
    out = single(0.1)(data, rng) | slices(data, rng, 0.1)
    return out | runs(data, rng, 0.1) if data.time else out


KINDS: dict[str, Callable[[DataSet, Rng], Mask]] = {
    "single20": single(0.2),
    "single50": single(0.5),
    "single80": single(0.8),
    "runs": runs,
    "slices": slices,
    "blackout": blackout,
    "mix": mix,
}


def hide(data: DataSet, name: str, gaps: str, draw: int = 0) -> Mask:
    """The hidden entries of a set: the same for the same name, kind and draw, on every machine."""
    if gaps not in KINDS:
        msg = f"a kind of gaps must be one of {', '.join(KINDS)}; got {gaps!r}.{did_you_mean(gaps, list(KINDS))}"
        raise ValueError(msg)
    if gaps in ("runs", "blackout") and not data.time:
        msg = f"{gaps} need a mode that is time; {name} has none."
        raise ValueError(msg)
    rng = np.random.default_rng([draw, zlib.crc32(f"{name} {gaps}".encode())])
    known = data.known
    hidden = KINDS[gaps](data, rng) & known
    for mode in range(hidden.ndim):
        if not (gaps == "blackout" and mode in data.time):
            _keep_one(hidden, known, mode, rng)
    return hidden


def _keep_one(hidden: Mask, known: Mask, mode: int, rng: Rng) -> None:
    """Uncover one entry of each slice of which nothing is left, in place."""
    others = tuple(n for n in range(hidden.ndim) if n != mode)
    for k in np.flatnonzero(~(known & ~hidden).any(axis=others) & known.any(axis=others)):
        here = np.moveaxis(hidden, mode, 0)[k]
        at = np.argwhere(here)
        here[tuple(at[rng.integers(len(at))])] = False


def _stretches(steps: int, share: float, rng: Rng, longest: int) -> Mask:
    """(steps,): stretches at random places until the share is reached."""
    off = np.zeros(steps, dtype=bool)
    most = max(SHORTEST, min(longest, steps // 4))
    while off.sum() < share * steps:
        start = int(rng.integers(-SHORTEST, steps))  # a gap may lie at either end
        off[max(start, 0) : start + int(rng.integers(SHORTEST, most + 1))] = True
    return off


def _outages(data: DataSet, rng: Rng, share: float) -> Mask:
    """Some series are off for a quarter of the time in one piece; `share` of all entries, but never all series."""
    steps, count = flat_time(data, np.zeros(data.shape)).shape
    length = max(1, steps // 4)
    hidden = np.zeros((steps, count), dtype=bool)
    for k in rng.permutation(count)[: max(1, min(count - 1, round(4 * share * count * 0.6)))]:
        start = int(rng.integers(0, steps - length + 1))
        hidden[start : start + length, k] = True
    return from_flat_time(data, hidden)


def flat_time(data: DataSet, values: Array) -> Array:
    """(steps, series): the time modes as one, all others as one."""
    rest = [n for n in range(values.ndim) if n not in data.time]
    steps = int(np.prod([data.shape[n] for n in data.time]))
    return values.transpose(*data.time, *rest).reshape(steps, -1)


def from_flat_time(data: DataSet, values: Array) -> Array:
    """`flat_time` undone."""
    order = [*data.time, *(n for n in range(len(data.shape)) if n not in data.time)]
    return values.reshape([data.shape[n] for n in order]).transpose(np.argsort(order))
