"""Cells that have no value at any time: land in a sea cube, a station that never measures one of the quantities."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.facts import CHANNELS, is_picture, smooth_modes
from tensorfill.data.labels import axis_labels, plain_labels
from tensorfill.data.observations import DENSE_LIMIT, DataWarning, Observations
from tensorfill.data.stacklevel import find_stacklevel

Mask = NDArray[np.bool_]

TIME_NAMES = re.compile(r"(^|_)(time|date|day|week|month|year|hour|minute|second)s?(_|$)|^datetime$", re.IGNORECASE)
BY_CHANCE = 0.01  # cells expected to be never seen by chance, up to which those that are have another reason
SMALLEST = 3  # cells along either side of a region in arrays whose modes have no names


def time_axes(obs: Observations) -> tuple[int, ...]:
    """The modes of dates, or named like time; of three smooth modes without names the first."""
    labels = axis_labels(obs)
    dated = [n for n, d in enumerate(obs.dims) if d in labels and plain_labels(labels[d]).dtype.kind == "M"]
    found = dated or [n for n, d in enumerate(obs.dims) if TIME_NAMES.search(d)]
    unnamed = obs.dims == tuple(f"mode{n}" for n in range(3))
    return (0,) if not found and unnamed and len(smooth_modes(_plain(obs))) == obs.ndim else tuple(found)


def _plain(obs: Observations) -> Observations:
    """The observations in a unit in which squares of them are finite; smoothness is the same in any."""
    power = int(np.frexp(np.abs(obs.values).max(initial=0.0))[1])
    return obs if abs(power) < 400 else replace(obs, values=np.ldexp(obs.values.astype(np.float64), -power))


def never_observed(obs: Observations) -> Mask | None:
    """True at entries of cells without a value at any time, full shape; None where there are none. Pictures have holes
    instead, and slices without any entry are questions: a new user, a day to predict.
    """
    if obs.ndim < 3 or obs.size > DENSE_LIMIT or obs.nnz == obs.size or is_picture(obs):
        return None
    times = time_axes(obs)
    if not times or len(times) > obs.ndim - 2 or math.prod(obs.shape[n] for n in times) <= CHANNELS:
        return None
    seen: Mask = np.asarray(obs.mask.any(axis=times, keepdims=True))
    unseen: Mask = np.asarray(~seen)
    for n in set(range(obs.ndim)) - set(times):
        unseen[(slice(None),) * n + (~obs.seen(n),)] = False
    rate = obs.nnz / (obs.size * seen.mean())
    chance = seen.size * (1 - rate) ** math.prod(obs.shape[n] for n in times)
    named = obs.dims != tuple(f"mode{n}" for n in range(obs.ndim))
    if not unseen.any() or chance > BY_CHANCE or not (named or _is_region(unseen)):
        return None
    return np.array(np.broadcast_to(unseen, obs.shape))


def _is_region(cells: Mask) -> bool:
    """Do cells hold a square, as land does, and as a scratch or a stripe does not?"""
    from scipy.ndimage import minimum_filter

    flat = np.squeeze(cells)
    return bool(minimum_filter(flat, SMALLEST, mode="constant", cval=False).any())


def without_unseen(obs: Observations) -> Observations:
    """The observations, told which cells are no gaps; warns of these."""
    outside = never_observed(obs) if getattr(obs.source, "leaves_gaps", True) else None
    if outside is None:
        return obs
    share = outside.mean()
    words = f"{share:.0%}" if share >= 0.01 else f"{100 * share:.1g}%"
    note = f"{words} of the cells have no value at any time: left empty; fill_unseen=True (--fill-unseen) fills them."
    warnings.warn(note, DataWarning, stacklevel=find_stacklevel())
    return replace(obs, outside=outside)
