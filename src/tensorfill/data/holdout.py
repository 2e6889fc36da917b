"""Hold out known entries with the same pattern as the missing ones.

Single entries hidden at random are easily guessed from their neighbours. Where whole days, pixels or clouds are
missing, the error on such entries says little about the error in the gaps. Entries under the same gaps, moved to
another place, say more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.gaps import CLUSTERED, clustering, find_scattered_gaps, has_clustered_gaps, slice_modes
from tensorfill.data.observations import DENSE_LIMIT, Observations, check_share
from tensorfill.typing import Array

TRIES = 8  # ways to move the gaps, to find one that empties no slice
MOVES = 32  # times that few gaps are moved, to hide enough entries under them
SLIGHTLY = 0.25  # of a gap's length that gaps it meets may have: single entries missing here and there are everywhere
NEARLY = 0.05  # of the validation entries that may be left out, rather than move the gaps once more
FEWEST = 8  # validation entries that are worth a fit
TELLING = 60  # entries under moved gaps that are evidence enough, even if they are a small share of all
MOSTLY = 0.5  # of the gaps that must lie at ends for them to be set aside at ends
DEEPEST = 0.3  # of a series that may be set aside at its end


def split_like_gaps(obs: Observations, share: float, rng: np.random.Generator) -> tuple[Observations, Observations]:
    """(training, validation), as `Observations.split`; where gaps are clustered, so are the entries held out, and where
    whole slices were never seen, whole slices are among them.
    """
    check_share(share)
    if obs.size > DENSE_LIMIT:
        return obs.split(share, rng)
    whole = _whole_slices(obs, share, rng)
    rest = obs.subset(~whole)
    share = (share * obs.nnz - whole.sum()) / rest.nnz
    if whole.any() and share < 0.01:
        return rest, obs.subset(whole)
    training = _around_moved_gaps(obs, rest, share, rng) if has_clustered_gaps(obs) else None
    if training is None:
        out = ~np.isin(rest.flat, rest.split(share, rng)[0].flat)
        training = rest.subset(~_keep_one_per_slice(rest, out, rng))
        if training.nnz == obs.nnz:  # each entry is the only one of a slice
            training = rest.subset(~out)
    return training, obs.subset(~np.isin(obs.flat, training.flat))


def gap_numbers(obs: Observations, training: Observations, validation: Observations) -> Array:
    """Which gap each validation entry of `obs` belongs to, (k,). Errors within one gap are alike, so that it is gaps,
    not entries, that are evidence of their own.
    """
    if obs.size > DENSE_LIMIT or not has_clustered_gaps(obs):
        return np.arange(validation.nnz)
    number = _label_gaps(~training.mask, _modes_without_extent(obs)).reshape(-1)[validation.flat]
    return np.asarray(np.unique(number, return_inverse=True)[1])


def _modes_without_extent(obs: Observations) -> list[int]:
    """The modes along which gaps do not extend."""
    return [n for n, c in enumerate(clustering(obs)) if c <= CLUSTERED or obs.shape[n] == 1]


def _around_moved_gaps(
    obs: Observations, rest: Observations, share: float, rng: np.random.Generator
) -> Observations | None:
    """`rest` without what lies under the gaps of `obs`, moved; None if none of TRIES ways to move them hides enough.
    Ways that empty no slice come first; if there is none, as with few series, one entry of each such slice stays. Of
    blots, the way whose entries are as deep inside them as those missing: most of a moved blot may be missing already.
    """
    missing, free = find_scattered_gaps(obs), _modes_without_extent(obs)
    wanted, best, least = 0.0 if free else _depth(~obs.mask, missing), None, (True, np.inf)
    for _ in range(TRIES):
        out = _under_moved_gaps(rest, missing, share, free, rng)
        if not FEWEST <= out.sum() <= min(2 * share, 0.5) * rest.nnz:
            continue
        training = rest.subset(~out)
        off = 0.0 if free else abs(_depth(~training.mask, obs.mask & ~training.mask) - wanted)
        if best is None or (_empties_slice(training, rest), off) < least:
            best, least = out, (_empties_slice(training, rest), off)
        if least == (False, 0.0):
            break
    if best is None:
        return None
    return rest.subset(~(_keep_one_per_slice(rest, best, rng) if least[0] else best))


def _depth(gaps: NDArray[np.bool_], here: NDArray[np.bool_]) -> float:
    """How far, on average, entries `here` are from the nearest entry that is in no gap."""
    from scipy.ndimage import distance_transform_edt

    return float(distance_transform_edt(gaps)[here].mean())


def _empties_slice(training: Observations, obs: Observations) -> bool:
    """Does a slice have entries in `obs`, but none in `training`?"""
    return any((obs.seen(n) & ~training.seen(n)).any() for n in slice_modes(obs.shape))


def _keep_one_per_slice(obs: Observations, out: Array, rng: np.random.Generator) -> Array:
    """`out` (nnz,), but so that each slice that would be held out completely keeps one entry. With few series,
    moved gaps soon cover all of them at some time.
    """
    out = out.copy()
    for n in slice_modes(obs.shape):
        i, length = obs.indices[:, n], obs.shape[n]
        emptied = np.bincount(i[~out], minlength=length) == 0
        at = rng.permutation(np.flatnonzero(out & emptied[i]))
        out[at[np.unique(i[at], return_index=True)[1]]] = False
    return out


def _whole_slices(obs: Observations, share: float, rng: np.random.Generator) -> Array:
    """Which observations (nnz,) to hide with their whole slice. Their share of the held-out entries is the share of
    never observed slices among the gaps, and they come in runs of the same lengths. Runs that meet others, or an end
    that no real one meets, are more difficult than real ones: the former are taken last, the latter never.
    """
    out = np.zeros(obs.nnz, dtype=bool)
    gaps = obs.size - obs.nnz
    for n in slice_modes(obs.shape):
        seen, length = obs.seen(n), obs.shape[n]
        unseen = length - np.count_nonzero(seen)
        if unseen == 0 or seen.sum() < 4:
            continue
        wanted = share * obs.nnz * min(1.0, unseen * (obs.size // length) / gaps)
        hidden = np.zeros(length, dtype=bool)
        count, total = np.bincount(obs.indices[~out, n], minlength=length), int(out.sum())
        at_ends, beside = _gaps_at_ends(~seen, [0], rng)
        inwards = sorted(np.flatnonzero(beside), key=lambda j: int(np.abs(j - np.flatnonzero(at_ends)).min()))
        for j in inwards:
            if total < wanted:
                total += int(count[j])
                hidden[j] = True
        for _ in range(3):  # each time the runs are moved by another distance; one move may hide too little
            moved = seen & np.roll(~seen & ~at_ends, int(rng.integers(1, length)))
            moved[[0, -1]] = False
            starts = rng.permutation(np.flatnonzero(moved & ~np.roll(moved, 1)))
            meets = np.convolve(~seen | hidden, [1, 1, 1], "same") > 0
            for start in starts[np.argsort(meets[starts], kind="stable")]:
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
    """Which observations (nnz,) lie under the gaps `missing`, moved round by random distances: about `share` of them.

    Moved gaps that meet others, or an end that no real one meets, are more difficult than real ones. They are taken
    only where gaps lie so densely that there are hardly any others. Gaps do not extend along the modes `free`.
    """
    count = max(1, round(share * obs.nnz))
    if free:
        hidden = _under_separate_gaps(missing, free, obs, count, rng)
        if hidden.any():
            return hidden
    moved = _shift_gaps(missing, rng)
    for _ in range(MOVES):
        if np.count_nonzero(moved.reshape(-1)[obs.flat]) >= count:
            break
        moved |= _shift_gaps(missing, rng)
    hidden = moved.reshape(-1)[obs.flat]
    if hidden.sum() <= count:
        return hidden
    if free:
        gap = _label_gaps(moved, free).reshape(-1)[obs.flat]
        order = rng.permutation(int(gap.max()) + 1)[gap]
    else:  # gaps are blots, which may all be one: take what lies within a stretch of the longest mode
        longest = int(np.argmax(obs.shape))
        order = (obs.indices[:, longest] - rng.integers(obs.shape[longest])) % obs.shape[longest]
    last = np.partition(order[hidden], count - 1)[count - 1]
    return hidden & (order <= last)


def _under_separate_gaps(
    missing: NDArray[np.bool_], free: Sequence[int], obs: Observations, count: int, rng: np.random.Generator
) -> Array:
    """Which observations (nnz,) lie under gaps that were moved by random distances and meet no other gap, nor an end
    that no real one meets: about `count` of them; none, if there are far less. Where gaps are mostly at an end, entries
    beside them are set aside, however few, and the same gaps of other fibres.
    """
    extend = [n for n in range(obs.ndim) if n not in free]
    at_ends, beside = _gaps_at_ends(missing, extend, rng)
    least = FEWEST
    if at_ends.sum() < MOSTLY * missing.sum():
        at_ends, beside = np.zeros_like(missing), np.zeros_like(missing)
        least = min(count // 2, TELLING)
    copies = np.roll(at_ends, [int(rng.integers(obs.shape[n])) for n in free], axis=tuple(free))
    inner, gaps = missing & ~at_ends, max(int(missing.sum()), 1)
    nothing = np.zeros_like(missing)
    taken = _clear_of_others(beside, inner, free, nothing) | _clear_of_others(copies, missing, free, nothing)
    hidden = _pick_fibres(taken.reshape(-1)[obs.flat], obs, free, round(count * (1 - int(inner.sum()) / gaps)), rng)
    taken = np.zeros_like(missing)
    taken.reshape(-1)[obs.flat[hidden]] = True
    borders = np.zeros_like(missing)
    for n, end in ((n, end) for n in extend for end in (0, -1) if not inner.take(end, axis=n).any()):
        borders[(slice(None),) * n + (end,)] = True
    left = _entries_by_size(_label_gaps(inner, free)) * (count - int(hidden.sum())) / max(int(inner.sum()), 1)
    for made_up in (False, True):
        for _ in range(MOVES if inner.any() else 0):
            gap = _label_gaps(_clear_of_others(_shift_gaps(inner, rng), taken | borders, free, ~obs.mask), free)
            chosen = _choose_by_length(gap, left, rng, made_up=made_up)
            taken |= np.isin(gap, chosen)
            if left.sum() <= NEARLY * count or len(chosen) == 0:
                break
    hidden = taken.reshape(-1)[obs.flat]
    return hidden if hidden.sum() >= least else np.zeros_like(hidden)


def _entries_by_size(number: NDArray[np.int32]) -> Array:
    """Entries in numbered gaps of 1, of 2 and 3, of 4 to 7, ... entries."""
    size = np.bincount(number.ravel())[1:]
    return np.bincount(_size_class(size), weights=size) if len(size) else np.zeros(1)


def _size_class(size: Array) -> NDArray[np.intp]:
    """How often 1 must be doubled to reach a size."""
    return np.asarray(np.frexp(size)[1] - 1, dtype=np.intp)


def _choose_by_length(number: NDArray[np.int32], left: Array, rng: np.random.Generator, *, made_up: bool) -> Array:
    """Which of the numbered gaps to take, so that gaps of each length get as many entries as are `left` for them (see
    `_entries_by_size`), which is lowered in place. Most places are too narrow for long gaps, so taking what fits would
    favour short ones. With `made_up`, what longer ones have left goes to shorter ones.
    """
    size = np.bincount(number.ravel())
    length, chosen = _size_class(size), []
    for k in reversed(range(len(left))):
        own = rng.permutation(np.flatnonzero((length == k) & (np.arange(len(size)) > 0)))
        room, total = left[k], np.cumsum(size[own])
        # the last one is taken as often as a part of it would be, and then whole
        take = own[total - size[own] * rng.random(len(own)) <= room] if room > 0 else own[:0]
        chosen.append(take)
        left[k] = max(room - size[take].sum(), 0.0)
        if made_up and k > 0:
            left[k - 1 : k + 1] += left[k], -left[k]
    return np.concatenate(chosen)


def _clear_of_others(
    gaps: NDArray[np.bool_], others: NDArray[np.bool_], free: Sequence[int], known_gaps: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Those of the gaps that meet none of the others, and only so little of the known gaps that it hardly makes them
    longer, full shape.
    """
    number = _label_gaps(gaps | others | known_gaps, free)
    count = int(number.max()) + 1
    own, met = (np.bincount(number[where], minlength=count) for where in (gaps, known_gaps))
    meets = met > SLIGHTLY * own
    meets[number[others]] = True
    return np.asarray(gaps & ~meets[number])


def _gaps_at_ends(
    missing: NDArray[np.bool_], modes: Sequence[int], rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(gaps at the ends of fibres along these modes, entries beside them that would make them longer by about their own
    length), full shape each. Fibres that are missing as a whole have none.
    """
    at_ends, beside = np.zeros_like(missing), np.zeros_like(missing)
    for n in modes:
        length = missing.shape[n]
        for end in (False, True):
            turned = np.flip(missing, n) if end else missing
            gap = np.argmin(turned, axis=n, keepdims=True)  # its length; 0 also where all is missing
            more = np.minimum(np.ceil(gap * rng.uniform(0.5, 1.5)), np.floor(DEEPEST * length))
            place = np.arange(length).reshape([-1 if m == n else 1 for m in range(missing.ndim)])
            for out, first, last in ((at_ends, 0, gap), (beside, gap, gap + more)):
                part = (gap > 0) & (place >= first) & (place < last)
                out |= np.flip(part, n) if end else part
    return at_ends, beside & ~missing


def _pick_fibres(hidden: Array, obs: Observations, free: Sequence[int], count: int, rng: np.random.Generator) -> Array:
    """Of the observations `hidden` (nnz,) about `count`, all or none with the same indices along the modes `free`."""
    if hidden.sum() <= count:
        return hidden
    fibre = np.ravel_multi_index(tuple(obs.indices[:, n] for n in free), [obs.shape[n] for n in free])
    order = rng.permutation(int(fibre.max()) + 1)[fibre]
    last = np.partition(order[hidden], count - 1)[count - 1] if count > 0 else -1
    return np.asarray(hidden & (order <= last))


def _shift_gaps(missing: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """The gaps moved round by a random distance along every mode."""
    return np.roll(missing, [int(rng.integers(length)) for length in missing.shape], axis=tuple(range(missing.ndim)))


def _label_gaps(missing: NDArray[np.bool_], free: Sequence[int]) -> NDArray[np.int32]:
    """The number (from 1) of the gap that each missing entry belongs to, 0 elsewhere: full shape. Entries
    are of one gap if they are neighbours along a mode that is not free: a stretch of a series, a fibre, a slice.
    """
    from scipy.ndimage import generate_binary_structure, label

    joined = generate_binary_structure(missing.ndim, 1)
    for n in free:
        joined[(slice(None),) * n + ([0, 2],)] = False
    return np.asarray(label(missing, joined)[0])
