"""Setting known entries aside in the way in which others are missing.

Single entries hidden at random are easily guessed from their neighbours. Where whole days, pixels or clouds are
missing that says little about the answer there; entries under the same gaps, moved elsewhere, say more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import DENSE_LIMIT, Observations, check_share

Array = NDArray[Any]

CLUSTERED = 0.3  # how much likelier than by chance the neighbour of a gap is one
GAPS_FOR_GROUPS = 10  # gaps before one can speak of groups
TRIES = 8  # moves of the gaps, to find one that empties no slice


def scattered(obs: Observations) -> NDArray[np.bool_]:
    """True at missing entries of slices that have an observed one, full shape."""
    missing = ~obs.mask
    for n, i in obs.empty_slices():
        missing[(slice(None),) * n + (i,)] = False
    return missing


def clustering(obs: Observations) -> list[float]:
    """Per mode: how much likelier than by chance the neighbour of a missing entry is missing; 0 by chance, 1 always.
    Slices never seen do not count.
    """
    seen = [obs.seen(n) for n in range(obs.ndim)]
    missing = ~obs.mask
    return _together(missing if all(s.all() for s in seen) else missing[np.ix_(*seen)])


def _together(missing: NDArray[np.bool_]) -> list[float]:
    """`clustering`, given where entries are missing."""
    share = missing.mean()
    out = []
    for n, length in enumerate(missing.shape):
        before = (slice(None),) * n
        here, next_one = missing[(*before, slice(None, -1))], missing[(*before, slice(1, None))]
        together = (here & next_one).sum() / max(here.sum(), 1)
        out.append(float((together - share) / max(1 - share, 1e-12)) if length > 1 else 0.0)
    return out


def clustered(obs: Observations) -> bool:
    """Do gaps come in groups along some mode: whole pixels, whole days at a station, clouds?"""
    if obs.size > DENSE_LIMIT or obs.size - obs.nnz < GAPS_FOR_GROUPS:
        return False
    return int(scattered(obs).sum()) >= GAPS_FOR_GROUPS and max(clustering(obs)) > CLUSTERED


def split_like_gaps(obs: Observations, share: float, rng: np.random.Generator) -> tuple[Observations, Observations]:
    """(kept, held out), as `Observations.split`; where gaps are clustered, so are the entries held out, and where whole
    slices were never seen, whole slices are among them.
    """
    check_share(share)
    if obs.size > DENSE_LIMIT:
        return obs.split(share, rng)
    whole = _whole_slices(obs, share, rng)
    rest = obs.subset(~whole)
    share = (share * obs.nnz - whole.sum()) / rest.nnz
    if whole.any() and share < 0.01:
        return rest, obs.subset(whole)
    kept = _around_moved_gaps(obs, rest, share, rng) if clustered(obs) else None
    if kept is None:
        kept, _ = rest.split(share, rng)
    return kept, obs.subset(~np.isin(obs.flat, kept.flat))


def _around_moved_gaps(
    obs: Observations, rest: Observations, share: float, rng: np.random.Generator
) -> Observations | None:
    """`rest` without what lies under the gaps of `obs`, moved; None if none of TRIES moves hides about the share. Moves
    that empty no slice come first; if there is none, as with few series, one entry of each such slice stays.
    """
    missing, spoilt = scattered(obs), None
    free = [n for n, c in enumerate(clustering(obs)) if c <= CLUSTERED and obs.shape[n] > 1]
    for _ in range(TRIES):
        out = _under_moved_gaps(rest, missing, share, free, rng)
        if 0.5 * share <= out.mean() <= min(2 * share, 0.5):
            kept = rest.subset(~out)
            if len(kept.empty_slices()) == len(rest.empty_slices()):
                return kept
            spoilt = out if spoilt is None else spoilt
    return None if spoilt is None else rest.subset(~_but_one(rest, spoilt, rng))


def _but_one(obs: Observations, out: Array, rng: np.random.Generator) -> Array:
    """One entry less of slices of which all would be set aside: of few series, moved gaps soon meet at some time."""
    for n, length in enumerate(obs.shape):
        i = obs.indices[:, n]
        emptied = np.bincount(i[~out], minlength=length) == 0
        at = rng.permutation(np.flatnonzero(out & emptied[i]))
        out[at[np.unique(i[at], return_index=True)[1]]] = False
    return out


def _whole_slices(obs: Observations, share: float, rng: np.random.Generator) -> Array:
    """Which observations (nnz,) to hide with their whole slice: as large a part of those held out as slices never seen
    are of the gaps, in the runs in which these come.
    """
    out = np.zeros(obs.nnz, dtype=bool)
    gaps = obs.size - obs.nnz
    for n, length in enumerate(obs.shape):
        seen = obs.seen(n)
        unseen = length - np.count_nonzero(seen)
        if unseen == 0 or seen.sum() < 4:
            continue
        wanted = share * obs.nnz * min(1.0, unseen * (obs.size // length) / gaps)
        hidden = np.zeros(length, dtype=bool)
        count, total = np.bincount(obs.indices[~out, n], minlength=length), int(out.sum())
        for _ in range(3):  # each time the runs are moved by another distance; one move may hide too little
            moved = seen & np.roll(~seen, int(rng.integers(1, length)))
            starts = np.flatnonzero(moved & ~np.roll(moved, 1))
            for start in rng.permutation(starts):
                for i in range(start, length):
                    if total >= wanted or not moved[i] or hidden.sum() >= 0.3 * seen.sum():
                        break
                    total += 0 if hidden[i] else int(count[i])
                    hidden[i] = True
        out |= hidden[obs.indices[:, n]]
    return out


def _under_moved_gaps(
    obs: Observations, missing: NDArray[np.bool_], share: float, free: list[int], rng: np.random.Generator
) -> Array:
    """Which observations (nnz,) lie under the gaps `missing` moved round by a random distance; if these are too many,
    some of the gaps, whole: `free` are the modes along which they do not extend.
    """
    moves = [int(rng.integers(length)) for length in obs.shape]
    hidden: Array = np.roll(missing, moves, axis=tuple(range(obs.ndim))).reshape(-1)[obs.flat]
    count = max(1, round(share * obs.nnz))
    if hidden.sum() <= count:
        return hidden
    if free:  # gaps are fibres or slices, one for each index along the free modes: draw from them
        gap = np.ravel_multi_index(tuple(obs.indices[:, n] for n in free), [obs.shape[n] for n in free])
        order = rng.permutation(int(gap.max()) + 1)[gap]
    else:  # gaps are blots: take what lies within a stretch of the longest mode
        longest = int(np.argmax(obs.shape))
        order = (obs.indices[:, longest] - rng.integers(obs.shape[longest])) % obs.shape[longest]
    last = np.partition(order[hidden], count - 1)[count - 1]
    return hidden & (order <= last)


# --- gaps in pictures -----------------------------------------------------------------------------------------------

HALF = 0.5  # a picture of which less than this share is known is not one with gaps in it
BY_CHANCE = 1e-6  # a gap is not one of chance if fewer than this many so deep are expected by chance


def depth(obs: Observations) -> float:
    """How far it is, in pixels, from the inside of the deepest gap of a picture (rows x columns x channels) to a known
    pixel; 0 where whole pixels are not what is missing, and where single pixels missing at random look the same.
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
    return deepest if by_chance < BY_CHANCE or max(_together(missing)) > CLUSTERED else 0.0


# --- kinds of gaps ------------------------------------------------------------------------------------------------

GAPS = ("next to a known entry", "2 or 3 steps from one", "further from any", "in slices never seen")
STEPS = (1, 3)  # distances at which one kind of gap ends and the next begins


def gap_kinds(observed: NDArray[np.bool_], ordered: Sequence[int]) -> NDArray[np.uint8]:
    """What kind of gap each entry is (or, if observed, would be as a single gap): numbers of GAPS, full shape.

    How far it is to the nearest known entry along one of the modes `ordered`, all other indices equal: across an hour a
    neighbour knows most, across a week it knows nothing. Without an ordered mode nothing is near or far.
    """
    kinds = np.zeros(observed.shape, dtype=np.uint8)
    if ordered:
        distance = np.full(observed.shape, np.iinfo(np.int32).max, dtype=np.int32)
        for n in ordered:
            np.minimum(distance, steps_to_known(observed, n), out=distance)
        kinds = np.searchsorted(STEPS, distance, side="left").astype(np.uint8)
    for n in range(observed.ndim):
        others = tuple(m for m in range(observed.ndim) if m != n)
        unseen = ~observed.any(axis=others, keepdims=True)
        kinds[np.broadcast_to(unseen, observed.shape)] = len(GAPS) - 1
    return kinds


def kinds_at(observed: NDArray[np.bool_], at: Array, ordered: Sequence[int]) -> NDArray[np.uint8]:
    """As `gap_kinds`, of the missing entries at these positions in the whole, (k,): where they are few, or a sample."""
    where = np.unravel_index(at, observed.shape)
    kinds = np.full(len(at), len(STEPS) if ordered else 0, dtype=np.uint8)
    for step in range(max(STEPS), 0, -1) if ordered else ():
        for n in ordered:
            for other in (where[n] - step, where[n] + step):
                inside = (other >= 0) & (other < observed.shape[n])
                there = tuple(np.where(inside, other, 0) if m == n else w for m, w in enumerate(where))
                kinds[inside & observed[there]] = np.searchsorted(STEPS, step)
    for n, i in enumerate(where):
        others = tuple(m for m in range(observed.ndim) if m != n)
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
