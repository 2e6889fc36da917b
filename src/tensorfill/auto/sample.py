"""A part of large data on which the contest is held: which candidate serves shows there as well, in less time than one
fit to everything takes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorfill.auto.limits import FEWEST_SLICES, PART, SIDE, SPARSE
from tensorfill.blocks import Sample
from tensorfill.blocks.dense_subset import dense_subset, densest_rows
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.methods.image.field import is_clean, large, positions
from tensorfill.methods.image.large import busiest
from tensorfill.typing import Array

SUBSET = "dense subset"  # its name in the memo of a run


def subset_of(obs: Sample, run: Run) -> Observations:
    """The most observed rows of observations in blocks, gathered once for a run."""
    if SUBSET not in run.memo:
        run.memo[SUBSET] = dense_subset(obs.all, PART)[0]
    found: Observations = run.memo[SUBSET]
    return found


def take_part(obs: Observations, facts: Facts, run: Run) -> tuple[Observations, Facts]:
    """The part of the data on which the contest is held, and its facts."""
    if not isinstance(obs, Sample):
        return sample_slices(obs, facts, run.seed)
    part = subset_of(obs, run)
    seen = [int(np.count_nonzero(part.seen(n))) for n in range(part.ndim)]
    lengths = zip(facts.modes, part.shape, seen, strict=True)
    modes = tuple(replace(m, length=length, seen=known) for m, length, known in lengths)
    return part, replace(facts, shape=part.shape, observed=len(part.values), modes=modes)


def sample_slices(obs: Observations, facts: Facts, seed: int) -> tuple[Observations, Facts]:
    """Some slices of the longest mode, with all of their entries: a stretch where neighbours are alike, else any; of a
    picture or a video a window with most gaps, of sparse data the densest rows of every mode. Few
    data, fields, and those without such a mode come back whole.

    Single entries drawn from everything would make every row sparser than it is, and favour what needs little.
    """
    if large(facts) or is_clean(facts):
        rows, columns = positions(facts) or (0, 1)
        part = busiest(obs, SIDE, (rows, columns))
        modes = tuple(replace(m, length=length) for m, length in zip(facts.modes, part.shape, strict=True))
        return part, replace(facts, shape=part.shape, observed=part.nnz, modes=modes)
    if obs.nnz <= PART or len(facts.smooth) > 1:
        return obs, facts
    if facts.share < SPARSE and not facts.ordered:
        return _densest(obs, facts)
    units = facts.units
    mode = max((n for n in range(obs.ndim) if n != units), key=lambda n: obs.shape[n])
    chosen = _slices(obs, mode, facts.modes[mode].ordered, np.random.default_rng([seed, 6]))
    if np.count_nonzero(chosen) < FEWEST_SLICES:
        return obs, facts
    part = obs.subset(chosen[obs.indices[:, mode]])
    return _without_empty(part, obs, facts, units)


def _densest(obs: Observations, facts: Facts) -> tuple[Observations, Facts]:
    """The most observed rows of every mode: slices of one would leave little in the rows of the others."""
    inside = np.empty(0, dtype=bool)

    def meet(numbers: list[Array]) -> int:
        nonlocal inside
        inside = np.all([number[i] >= 0 for number, i in zip(numbers, obs.indices.T, strict=True)], axis=0)
        return int(np.count_nonzero(inside))

    densest_rows(obs.counts, meet, PART)
    return _without_empty(obs.subset(inside), obs, facts, None)


def _slices(obs: Observations, mode: int, ordered: bool, rng: np.random.Generator) -> Array:
    """Which slices along a mode are taken, (I_n,)."""
    count = obs.counts[mode]
    if ordered:
        behind = np.cumsum(count[::-1])[::-1]  # entries from each slice on
        order = np.arange(int(rng.integers(np.count_nonzero(behind >= PART))), len(count))
    else:
        order = rng.permutation(len(count))
    chosen = np.zeros(len(count), dtype=bool)
    chosen[order[np.cumsum(count[order]) <= PART]] = True
    return chosen


def _without_empty(
    part: Observations, obs: Observations, facts: Facts, whole: int | None
) -> tuple[Observations, Facts]:
    """The part in a tensor without the slices that it alone has nothing of: those of which nobody knows stay, and all
    of the mode `whole`.
    """
    indices, positions, modes, features = part.indices.copy(), [], [], dict(obs.features)
    for n, where in enumerate(obs.positions or (None,) * obs.ndim):
        seen = part.seen(n)
        stay = np.ones_like(seen) if n == whole else seen | ~obs.seen(n)
        indices[:, n] = (np.cumsum(stay) - 1)[part.indices[:, n]]
        positions.append(None if where is None else where[stay])
        count = int(np.count_nonzero(stay))
        if (d := obs.dims[n]) in features:
            features[d] = features[d][stay]
        modes.append(replace(facts.modes[n], length=count, seen=int(np.count_nonzero(seen))))
    shape = tuple(m.length for m in modes)
    lie = None if obs.positions is None else tuple(positions)
    small = replace(part, shape=shape, indices=indices, source=None, positions=lie, features=features)
    return small, replace(facts, shape=shape, observed=part.nnz, modes=tuple(modes))
