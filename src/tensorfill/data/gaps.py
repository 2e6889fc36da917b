"""What the gaps of a tensor look like: in groups or alone, deep or shallow, near known entries or far from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.typing import Array

CLUSTERED = 0.3  # how much likelier than by chance the neighbour of a gap is one
GAPS_FOR_GROUPS = 4  # gaps before one can speak of groups; two of them beside each other are no group yet


def find_scattered_gaps(obs: Observations) -> NDArray[np.bool_]:
    """True at missing entries of slices that have an observed one, full shape."""
    missing = obs.gaps
    for n in slice_modes(obs.shape):
        missing[(slice(None),) * n + (~obs.seen(n),)] = False
    return missing


def slice_modes(shape: Sequence[int]) -> list[int]:
    """The modes whose slices have more than one entry. The steps of a single series are no slices but its entries."""
    size = np.prod(shape, dtype=np.float64)
    return [n for n, length in enumerate(shape) if size > length]


def clustering(obs: Observations) -> list[float]:
    """Per mode: how much likelier than by chance the neighbour of a missing entry is missing; 0 by chance, 1 always.
    Slices never seen do not count.
    """
    whole = slice_modes(obs.shape)
    seen = [obs.seen(n) if n in whole else np.ones(length, dtype=bool) for n, length in enumerate(obs.shape)]
    missing = obs.gaps
    return _clustering(missing if all(s.all() for s in seen) else missing[np.ix_(*seen)])


def _clustering(missing: NDArray[np.bool_]) -> list[float]:
    """`clustering`, given where entries are missing."""
    share = missing.mean()
    out = []
    for n, length in enumerate(missing.shape):
        before = (slice(None),) * n
        here, next_one = missing[(*before, slice(None, -1))], missing[(*before, slice(1, None))]
        together = (here & next_one).sum() / max(here.sum(), 1)
        out.append(float((together - share) / max(1 - share, 1e-12)) if length > 1 else 0.0)
    return out


def has_clustered_gaps(obs: Observations) -> bool:
    """Do gaps come in groups along some mode: whole pixels, whole days at a station, clouds?"""
    if obs.size > DENSE_LIMIT or obs.size - obs.nnz < GAPS_FOR_GROUPS:
        return False
    return int(find_scattered_gaps(obs).sum()) >= GAPS_FOR_GROUPS and max(clustering(obs)) > CLUSTERED


# --- gaps in pictures -----------------------------------------------------------------------------------------------

HALF = 0.5  # a picture of which less than this share is known counts as sampled at random, not as one with gaps
BY_CHANCE = 1e-6  # a gap is real if fewer than this many gaps as deep are expected by chance


def depth(obs: Observations) -> float:
    """The largest distance, in pixels, from a missing pixel of a picture (rows x columns x channels) to the nearest
    known one; 0 if single channels are missing, or if pixels missing at random could have left gaps as deep.
    """
    from scipy.ndimage import distance_transform_edt

    known = obs.mask.reshape(*obs.shape[:2], -1)
    missing: NDArray[np.bool_] = np.asarray(~known.any(axis=2))
    share = missing.mean()
    if not 0 < share < 1 - HALF or (missing != ~known.all(axis=2)).any():
        return 0.0
    deepest = float(distance_transform_edt(missing).max())
    side = np.arange(-int(deepest), int(deepest) + 1)
    closer = np.count_nonzero(np.hypot(*np.meshgrid(side, side)) < deepest)  # pixels, all of them missing
    by_chance = missing.size * share**closer
    return deepest if by_chance < BY_CHANCE or max(_clustering(missing)) > CLUSTERED else 0.0


# --- kinds of gaps ------------------------------------------------------------------------------------------------

GAPS = ("next to a known entry", "2 or 3 steps from one", "further from any", "in slices without a known entry")
STEPS = (1, 3)  # distances at which one kind of gap ends and the next begins


def kinds_at(observed: NDArray[np.bool_], at: Array, ordered: Sequence[int]) -> NDArray[np.uint8]:
    """Say what kind of gap the missing entries at the flat positions `at`, (k,), are: numbers of GAPS.

    The kind depends on the distance to the nearest known entry along one of the modes `ordered`, all other indices
    equal: an entry one hour away predicts well, one a week away does not. Without an ordered mode there is no distance.
    """
    where = np.unravel_index(at, observed.shape)
    kinds = np.full(len(at), len(STEPS) if ordered else 0, dtype=np.uint8)
    for step in range(max(STEPS), 0, -1) if ordered else ():
        for n in ordered:
            for other in (where[n] - step, where[n] + step):
                inside = (other >= 0) & (other < observed.shape[n])
                there = tuple(np.where(inside, other, 0) if m == n else w for m, w in enumerate(where))
                kinds[inside & observed[there]] = np.searchsorted(STEPS, step)
    for n in slice_modes(observed.shape):
        others, i = tuple(m for m in range(observed.ndim) if m != n), where[n]
        kinds[~np.asarray(observed.any(axis=others))[i]] = len(GAPS) - 1
    return kinds


def steps_to_known(observed: NDArray[np.bool_], mode: int) -> NDArray[np.int32]:
    """Steps from each entry to the nearest known one in its fibre along `mode`, full shape: 0 at an observed entry, a
    huge number in a fibre without any.
    """
    never = np.iinfo(np.int32).max // 2
    length = observed.shape[mode]
    along = np.arange(length, dtype=np.int32).reshape([-1 if n == mode else 1 for n in range(observed.ndim)])
    before = np.maximum.accumulate(np.where(observed, along, -never), axis=mode)
    after = np.flip(np.minimum.accumulate(np.flip(np.where(observed, along, never), mode), axis=mode), mode)
    return np.minimum(np.minimum(along - before, after - along), never).astype(np.int32)
