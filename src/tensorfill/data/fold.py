"""One mode of moments folded into several: the hours of a year into days x hours of the day, where a low-rank model
finds what days have in common. The answer goes back into the form of the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tensorfill.data.autocorrelation import period
from tensorfill.data.labels import as_datetimes, axis_labels
from tensorfill.data.observations import Observations
from tensorfill.data.timeaxis import only_mode
from tensorfill.typing import Array

# in seconds, years and months on average
LENGTH = {
    "year": 31_556_952.0,
    "month": 2_629_746.0,
    "week": 604_800.0,
    "day": 86_400.0,
    "hour": 3600.0,
    "minute": 60.0,
}
CODE = {"year": "Y", "month": "M", "week": "W", "day": "D", "hour": "h", "minute": "m"}  # NumPy's
SINCE = {"week": np.timedelta64(3, "D")}  # weeks begin on Mondays, NumPy's on Thursdays as 1970 did
FINEST = 60  # steps in the last unit: minutes of an hour
EXAMPLE = '{"time": ("day", "hour")}'


@dataclass(frozen=True, eq=False)
class Fold:
    """How one mode becomes several: index i becomes codes[i], of the modes `names` of these `lengths`."""

    mode: int
    names: tuple[str, ...]
    codes: Array
    lengths: tuple[int, ...]

    def spread(self, modes: Sequence[int]) -> tuple[int, ...]:
        """Mode numbers of the data as mode numbers of the folded tensor, where the folded one became several."""
        more = len(self.names) - 1
        own = range(self.mode, self.mode + more + 1)
        return tuple(k for n in modes for k in (own if n == self.mode else (n + more * (n > self.mode),)))

    def apply(self, obs: Observations) -> Observations:
        """The same entries of the folded tensor."""
        n = self.mode
        where = np.column_stack([obs.indices[:, :n], self.codes[obs.indices[:, n]], obs.indices[:, n + 1 :]])
        order = np.lexsort(where.T[::-1])
        places = obs.positions
        return replace(
            obs,
            shape=(*obs.shape[:n], *self.lengths, *obs.shape[n + 1 :]),
            indices=where[order].astype(obs.indices.dtype),
            values=obs.values[order],
            weights=None if obs.weights is None else obs.weights[order],
            dims=(*obs.dims[:n], *self.names, *obs.dims[n + 1 :]),
            source=None,
            positions=None if places is None else (*places[:n], *(None for _ in self.names), *places[n + 1 :]),
        )


def fold_of(obs: Observations, given: Fold | Mapping[Any, Any], labels: Mapping[str, Any] | None = None) -> Fold:
    """The fold that was asked for, e.g. {"time": ("day", "hour")}; {"time": 24} folds by so many steps."""
    if isinstance(given, Fold):
        return given
    if not isinstance(given, Mapping) or len(given) != 1:
        msg = f"fold must name one mode and what it becomes, e.g. {EXAMPLE}; got {given!r}."
        raise ValueError(msg)
    ((key, into),) = given.items()
    mode = obs.mode(key)
    dim, length = obs.dims[mode], obs.shape[mode]
    if isinstance(into, int | np.integer) and not isinstance(into, bool):
        if not 1 < into < length:
            msg = f"fold of {dim} must be by 2 to {length - 1} steps; got {into}."
            raise ValueError(msg)
        count = np.arange(length)
        codes = np.stack([count // into, count % into], axis=1)
        return Fold(mode, (f"{dim}/{into}", dim), codes, (-(-length // int(into)), int(into)))
    names = _units(into)
    if set(names) & {d for n, d in enumerate(obs.dims) if n != mode}:
        msg = f"fold of {dim} must make modes of other names than {', '.join(obs.dims)}; got {', '.join(names)}."
        raise ValueError(msg)
    found = axis_labels(obs) if labels is None else labels
    at = as_datetimes(found[dim], clock=True) if dim in found else None
    if at is None:
        first = f"; its first is {next(iter(found[dim]))!s}" if dim in found else ""
        msg = f"fold of {dim} needs dates or times along it{first}. Fold by a number of steps instead: {{{dim!r}: 24}}."
        raise ValueError(msg)
    if len(np.unique(at)) < len(at):  # an hour comes twice in autumn
        at = as_datetimes(found[dim])
    assert at is not None
    return _by_calendar(mode, dim, names, at.astype("M8[us]"))


def fold_of_line(obs: Observations) -> Fold | None:
    """One series alone folded by its period, to have a second mode; None where it has none, and for several."""
    mode = only_mode(obs)
    if mode is None or (obs.positions is not None and obs.positions[mode] is not None):
        return None
    size = float(np.abs(obs.values).max()) or 1.0
    found = period(replace(obs, values=obs.values / size), mode)  # scaled, since it squares values that may be huge
    return None if found is None else fold_of(obs, {mode: found})


def _units(given: Any) -> tuple[str, ...]:
    names = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
    lengths = [LENGTH.get(str(name), 0.0) for name in names]
    if len(names) < 2 or 0.0 in lengths or lengths != sorted(lengths, reverse=True) or len(set(names)) < len(names):
        msg = f"fold must go from long to short among {', '.join(LENGTH)}, e.g. {EXAMPLE}; got {given!r}."
        raise ValueError(msg)
    return names


def _by_calendar(mode: int, dim: str, names: tuple[str, ...], at: Array) -> Fold:
    step = _step(at)
    columns = [_number(at, names[0]) - _number(at, names[0]).min()]
    for outer, inner in pairwise(names):
        start = _start(at, outer)
        if inner == names[-1] and LENGTH[inner] / FINEST <= step < LENGTH[inner]:  # half hours count as such
            seconds = (at - start).astype(np.int64) / 1e6
            columns.append(np.floor(seconds / step + 1e-6).astype(np.int64))
        else:
            columns.append(_number(at, inner) - _number(start, inner))
    codes = np.stack(columns, axis=1)
    if len(np.unique(codes, axis=0)) < len(codes):
        msg = f"fold of {dim} into {', '.join(names)} puts two of its moments into one place; fold into shorter units."
        raise ValueError(msg)
    return Fold(mode, names, codes, tuple(int(n) for n in codes.max(axis=0) + 1))


def _step(at: Array) -> float:
    """The most frequent step, in seconds."""
    steps, counts = np.unique(np.abs(np.diff(np.sort(at)).astype(np.int64)), return_counts=True)
    return float(steps[np.argmax(counts)]) / 1e6 if len(steps) else math.inf


def _number(at: Array, unit: str) -> Array:
    """How many such units lie before each moment, since some fixed one."""
    return (at + SINCE.get(unit, np.timedelta64(0, "D"))).astype(f"M8[{CODE[unit]}]").astype(np.int64)


def _start(at: Array, unit: str) -> Array:
    """When the unit that each moment lies in began."""
    return _number(at, unit).astype(f"M8[{CODE[unit]}]").astype("M8[us]") - SINCE.get(unit, np.timedelta64(0, "D"))
