"""Intervals of a completion: from its error bars or its draws, inside what the data can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.result.answer import draws_of
from tensorfill.result.record import Status, limits
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion


LEVEL = 0.9  # of the intervals that a posterior gives by itself, and of error bars in files


def domain(done: Completion) -> tuple[Any, Any]:
    """(low, high) between which data can lie: by the domain of their column, or by the sign of those observed and the
    domain of the prior. To be broadcast to the full shape.
    """
    if done.columns:
        return np.array([c.low for c in done.columns]), np.array([c.high for c in done.columns])
    return limits(done.observations.values, None if done.prior is None else done.prior.t_domain)


def ends(done: Completion) -> tuple[Any, Any]:
    """(low, high) between which estimates lie: as `domain`, and of positive numbers above 0."""
    low, high = domain(done)
    return (np.maximum(low, [c.floor for c in done.columns]), high) if done.columns else (low, high)


def bounds(done: Completion) -> tuple[Array, Array]:
    """(low, high), full shape: the known entries are known."""
    obs, draws = done.observations, draws_of(done.answer)
    if done.bars is not None:
        middle = np.array(done.full, dtype=np.float64)
        middle.reshape(-1)[obs.flat] = obs.values
        return _of_columns(done, *done.bars.around(middle, domain(done)), middle)
    if draws is None:
        stopped = done.status in (Status.INTERRUPTED, Status.CALLBACK)
        why = "it was stopped before they were made" if stopped else "ask for them: complete(..., error_bars=0.9)"
        msg = f"this run has no error bars; {why}. Rows that are added later have none."
        raise AttributeError(msg)
    where = np.argwhere(~obs.mask)
    low, high = draws.quantile_at(where, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    mean = draws.at(where)  # of a skewed posterior it may lie outside
    ends = (np.minimum(low, mean), np.maximum(high, mean))
    bottom, top = (np.clip(fill_missing(obs, where, end), *domain(done)) for end in ends)
    return _of_columns(done, bottom, top, fill_missing(obs, where, mean))


def _of_columns(done: Completion, low: Array, high: Array, middle: Array) -> tuple[Array, Array]:
    """The ends in the type of their column: whole numbers for whole numbers, none for a level of a category."""
    latent = getattr(done.observations.source, "latent", ())
    for n, column in enumerate(done.columns):
        if column.name in latent:
            low[:, n], high[:, n] = (np.where(done.observations.mask[:, n], end[:, n], np.nan) for end in (low, high))
        elif column.step == 1:
            low[:, n] = np.minimum(np.ceil(low[:, n]), np.floor(middle[:, n]))
            high[:, n] = np.maximum(np.floor(high[:, n]), np.ceil(middle[:, n]))
    return low, high


def fill_missing(obs: Observations, where: Array, values: Array, known: float | None = None) -> Array:
    """Full shape: `values` (k,) at the missing entries `where` (k, N), the data (or `known`) elsewhere."""
    out = obs.dense(fill=0.0, dtype=np.float64) if known is None else np.full(obs.shape, known)
    out[tuple(where.T)] = values
    return out
