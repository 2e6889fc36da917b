"""The time axis of data: the modes that are it, from the outer to the inner (days, hours), and gaps along it that are
longer than one would fill.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.labels import as_datetimes, axis_labels
from tensorfill.data.observations import Observations

Mask = NDArray[np.bool_]


def time_modes(
    obs: Observations, time: Any, wanted: str = "time", labels: Mapping[str, Any] | None = None
) -> tuple[int, ...]:
    """The modes that `time` names: "hour", ("day", "hour") or numbers; if None, the one mode of dates or times.

    wanted : the setting that needs the time axis, named in the error message
    """
    if time is None:
        if (alone := only_mode(obs)) is not None:
            return (alone,)
        found = axis_labels(obs) if labels is None else labels
        dated = [n for n, d in enumerate(obs.dims) if d in found and as_datetimes(found[d]) is not None]
        if len(dated) == 1:
            return (dated[0],)
        told = "no mode has dates" if not dated else f"{' and '.join(obs.dims[n] for n in dated)} have dates"
        option = "--time" if wanted.startswith("--") else "time="
        msg = (
            f"{wanted} needs to know which modes are time, and {told}: give {option}, of {', '.join(obs.dims)}, "
            "from the outer to the inner."
        )
        raise ValueError(msg)
    names: Any = [time] if isinstance(time, str | int | np.integer) else time
    if not isinstance(names, Sequence) or not names:
        msg = f'time must name modes from the outer to the inner, e.g. ("day", "hour"); got {time!r}.'
        raise ValueError(msg)
    modes = tuple(obs.mode(name) for name in names)
    if len(set(modes)) < len(modes):
        msg = f"time must name each mode once; got {time!r}."
        raise ValueError(msg)
    return modes


def only_mode(obs: Observations) -> int | None:
    """The mode along which one series alone lies; None where there are several series."""
    long = [n for n, length in enumerate(obs.shape) if length > 1]
    return long[0] if len(long) == 1 else None


def check_steps(name: str, count: Any) -> int:
    """A number of steps, at least one."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        msg = f"{name} must be a whole number of steps >= 1; got {count!r}. Leave it out for none."
        raise ValueError(msg)
    return int(count)


def long_gaps(observed: Mask, modes: Sequence[int], most: int) -> Mask:
    """True in gaps of more than `most` steps along the time axis, of every series by itself; full shape.

    A gap goes from one day into the next where time is several modes.
    """
    rest = [n for n in range(observed.ndim) if n not in modes]
    order = [*rest, *modes]
    length = math.prod(observed.shape[n] for n in modes)
    missing = ~observed.transpose(order).reshape(-1, length)
    fenced = np.pad(missing, ((0, 0), (1, 1))).astype(np.int8)
    change = np.diff(fenced, axis=1)
    row, start = np.nonzero(change == 1)
    _, stop = np.nonzero(change == -1)
    long = stop - start > most
    edges = np.zeros((len(missing), length + 1), dtype=np.int8)
    edges[row[long], start[long]] = 1
    edges[row[long], stop[long]] = -1
    inside = np.cumsum(edges[:, :-1], axis=1) > 0
    return inside.reshape([observed.shape[n] for n in order]).transpose(np.argsort(order))
