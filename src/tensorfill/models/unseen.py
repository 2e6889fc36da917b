"""Rows of factors for slices without a single observation: a day without data, a station not yet built."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.typing import Array


def fill_unseen(
    obs: Observations, factors: Sequence[Array], smooth: Collection[int] = (), *, leave: Collection[int] = ()
) -> list[Array]:
    """The factors [(I_n, R)] with new rows for slices that were never observed: along the modes `smooth` by linear
    interpolation between the nearest rows that were (to which quadratic variation converges), else their average (ridge
    alone would pull them to zero, a bad guess for a day without data). The modes `leave` stay as they are.
    """
    out = list(factors)
    for n in set(range(min(obs.ndim, len(out)))) - set(leave):  # tubes of a tubal model have no rows of their own
        seen = obs.seen(n)
        if seen.all():
            continue
        known, unseen = np.flatnonzero(seen), np.flatnonzero(~seen)
        A = np.array(out[n])
        if n in smooth:
            left, right = _nearest(known, unseen)
            share = np.clip((unseen - left) / np.maximum(right - left, 1), 0.0, 1.0)[:, None]
            A[unseen] = (1 - share) * A[left] + share * A[right]
        else:
            A[unseen] = A[known].mean(axis=0)
        out[n] = A
    return out


def distance_to_seen(obs: Observations, mode: int) -> Array:
    """Steps from each index along a mode to the nearest slice with an observation, (I_n,); 0 where there is one."""
    here = np.arange(obs.shape[mode])
    left, right = _nearest(np.flatnonzero(obs.seen(mode)), here)
    return np.minimum(np.abs(here - left), np.abs(right - here))


def _nearest(known: Array, at: Array) -> tuple[Array, Array]:
    """Two neighbours among `known` (sorted) around each index: the first or last two beyond the ends, twice the same
    where only one is known.
    """
    after = np.clip(np.searchsorted(known, at), min(1, len(known) - 1), len(known) - 1)
    return known[np.maximum(after - 1, 0)], known[after]
