"""The folds of a contest: entries held out as the gaps lie, and what an error at each of them weighs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorfill.auto.limits import FEW, HANDFUL, SMALL
from tensorfill.data.facts import TWO_ENDS, Facts
from tensorfill.data.gaps import kinds_at
from tensorfill.data.holdout import gap_numbers, split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.data.units import slice_statistics
from tensorfill.methods.defaults import default_held_out
from tensorfill.typing import Array

TURNS, FOLDS = 4, 2  # folds for a handful and small data, and for few; a fit to a picture takes long
# Folds with more effort, where data are no field. In 18 cells of nine tables with 700 numbers and more (in neither half
# of `bench choose`) the same trials on six had .98 +- .01 of the error that they had on one or two.
MOST_FOLDS = 6


@dataclass(frozen=True, eq=False)
class Split:
    """What methods see, and what they are judged by."""

    training: Observations
    validation: Observations
    kinds: Array  # (k,) kind of gap of each entry held out
    gaps: Array  # (k,) which gap each is in, numbered from 0
    memo: dict[str, Any] = field(default_factory=dict)  # what fits to the same training entries share


def make_folds(
    obs: Observations, facts: Facts, held_out: float | None, seed: int, effort: str = "normal"
) -> tuple[Split, ...]:
    """Folds drawn as the gaps lie; `held_out` of the entries in each, or the usual share."""
    share = default_held_out(obs) if held_out is None else held_out
    if obs.nnz < HANDFUL:
        turn = np.random.default_rng([seed, 0]).permutation(obs.nnz) % min(TURNS, obs.nnz)
        pairs = [(obs.subset(turn != k), obs.subset(turn == k)) for k in range(turn.max() + 1)]
    else:
        count = TURNS if obs.nnz < SMALL else FOLDS if obs.nnz < FEW and not facts.picture else 1
        if effort == "best" and len(facts.smooth) < 2:
            count = MOST_FOLDS
        pairs = [split_like_gaps(obs, share, np.random.default_rng([seed, 0, k])) for k in range(count)]
    return tuple(Split(*pair, _kinds(*pair, facts), gap_numbers(obs, *pair)) for pair in pairs)


def loss_weights(aside: Observations, obs: Observations, facts: Facts) -> Array:
    """What the squared error of each held-out entry is multiplied by, (k,): half by the variance of all data, half by
    that of its slice along the mode whose slices differ most. Where all spread alike the halves are one; where they do
    not, neither the large slices alone decide nor the small ones. Yes and no, and scales with two ends, are of one unit
    whatever slice they are in: an error of a star is an error of a star.
    """
    whole = facts.spread**2 or 1.0
    w = np.full(aside.nnz, 1.0 / whole)
    if facts.uneven is not None and facts.numbers not in TWO_ENDS:
        count, _, spread = slice_statistics(obs, facts.uneven)
        own = np.where((count > 1) & (spread > 1e-50 * facts.spread), spread**2, whole)  # as if constant: 1 / 0 below
        w = 0.5 * w + 0.5 / own[aside.indices[:, facts.uneven]]
    return w if aside.weights is None else w * aside.weights / obs.weights.mean()  # type: ignore[union-attr]


def _kinds(kept: Observations, aside: Observations, facts: Facts) -> Array:
    """Kind of gap of each entry held out, as the entries kept have it."""
    if not facts.dense:
        return np.zeros(aside.nnz, dtype=np.uint8)
    return kinds_at(kept.mask, aside.flat, facts.ordered)
