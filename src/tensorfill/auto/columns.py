"""How good the answer is for every column of a table, in its standard deviations and beside its mean."""

from __future__ import annotations

import numpy as np

from tensorfill.auto.contest import Contest
from tensorfill.data.columns import column_names, is_table
from tensorfill.data.units import slice_statistics
from tensorfill.result.record import ColumnError
from tensorfill.typing import Array


def column_errors(contest: Contest, predictions: Array) -> tuple[ColumnError, ...]:
    """Errors on the held-out entries of each column, of the answer and of the mean; () where there are no columns."""
    obs = contest.obs
    if not is_table(obs) or len(predictions) != len(contest.truth):
        return ()
    _, mean, spread = slice_statistics(obs, 1)
    column = contest.slices(1)
    scale = np.where(spread > 0, spread, 1.0)[column]
    off = {"error": predictions - contest.truth, "means": mean[column] - contest.truth}
    count = np.bincount(column, minlength=obs.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        error, means = (np.sqrt(np.bincount(column, (x / scale) ** 2, obs.shape[1]) / count) for x in off.values())
    rows = zip(column_names(obs), error.tolist(), means.tolist(), count.tolist(), strict=True)
    return tuple(ColumnError(*row) for row in rows)
