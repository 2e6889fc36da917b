"""Keep an answer within reach of what was observed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.transforms.base import Transform
from tensorfill.typing import Array


@dataclass(frozen=True)
class Clipped(Transform):
    """The answer of `method`, nowhere far outside of what its slice was seen to be; see `clip_to_reach`."""

    def fit(self, obs: Observations, run: Run) -> Completion:
        done = self.method.fit(obs, run)
        return replace(done, answer=Filled(clip_to_reach(done.answer.full(), obs, run.facts_of(obs))))


def clip_to_reach(X: Array, obs: Observations, facts: Facts) -> Array:
    """Clip X, full shape, to the observed range of its slice, widened by that range on either side.

    In a table whose columns have units of their own, one row with a huge number in one of them throws others off by
    thousands of standard deviations, and validation entries seldom meet that row.
    """
    mode = facts.uneven or 0
    i = np.zeros(obs.nnz, dtype=np.intp) if facts.uneven is None else obs.indices[:, mode]
    low, high = np.full(obs.shape[mode], np.inf), np.full(obs.shape[mode], -np.inf)
    np.minimum.at(low, i, obs.values)
    np.maximum.at(high, i, obs.values)
    seen = low <= high  # slices without an entry are limited by what all are
    low, high = np.where(seen, low, low[seen].min()), np.where(seen, high, high[seen].max())
    along = [-1 if n == mode else 1 for n in range(X.ndim)]
    width = high - low
    return np.clip(X, (low - width).reshape(along), (high + width).reshape(along))
