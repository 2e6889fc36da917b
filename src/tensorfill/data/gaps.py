"""Setting known entries aside in the way in which others are missing.

Single entries hidden at random are easily guessed from their neighbours. Where whole days, pixels or clouds are
missing that says little about the answer there; entries under the same gaps, moved elsewhere, say more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import DENSE_LIMIT, Observations

Array = NDArray[Any]

CLUSTERED = 0.3  # how much likelier than by chance the neighbour of a gap is one
FEWEST = 10  # gaps before one can speak of groups
TRIES = 8  # moves of the gaps, to find one that empties no slice


def clustering(obs: Observations) -> list[float]:
    """Per mode: how much likelier than by chance the neighbour of a missing entry is missing; 0 by chance, 1 always."""
    missing = ~obs.mask
    share = missing.mean()
    out = []
    for n, length in enumerate(obs.shape):
        here, next_one = np.delete(missing, -1, axis=n), np.delete(missing, 0, axis=n)
        together = (here & next_one).sum() / max(here.sum(), 1)
        out.append(float((together - share) / max(1 - share, 1e-12)) if length > 1 else 0.0)
    return out


def clustered(obs: Observations) -> bool:
    """Do gaps come in groups along some mode: whole pixels, whole days, clouds?"""
    return obs.size - obs.nnz >= FEWEST and obs.size <= DENSE_LIMIT and max(clustering(obs)) > CLUSTERED


def split_like_gaps(obs: Observations, share: float, rng: np.random.Generator) -> tuple[Observations, Observations]:
    """(kept, held out), as `Observations.split`; where gaps are clustered, so are the entries held out."""
    if clustered(obs):
        free = [n for n, c in enumerate(clustering(obs)) if c <= CLUSTERED]
        for _ in range(TRIES):
            out = _under_moved_gaps(obs, share, free, rng)
            kept = obs.subset(~out)
            if out.sum() >= 0.5 * share * obs.nnz and len(kept.empty_slices()) == len(obs.empty_slices()):
                return kept, obs.subset(out)
    return obs.split(share, rng)


def _under_moved_gaps(obs: Observations, share: float, free: list[int], rng: np.random.Generator) -> Array:
    """Which observations (nnz,) lie under the gaps moved round by a random distance; if these are too many, some of
    the gaps, whole: `free` are the modes along which they do not extend.
    """
    moves = [int(rng.integers(length)) for length in obs.shape]
    hidden: Array = np.roll(~obs.mask, moves, axis=tuple(range(obs.ndim))).reshape(-1)[obs.flat]
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
