"""Are intervals from several completed data sets honest? Rubin's rules on simulated tables, how often they miss."""

from __future__ import annotations

import numpy as np

from tensorfill.api import complete

SIMULATIONS, SETS, LEVEL = 200, 20, 0.95
ROWS, COLUMNS, RANK, KNOWN, NOISE = 40, 8, 2, 0.7, 0.5


def missed(seed: int) -> float:
    """Share of tables for which the interval of a column's mean, by 20 completed sets, misses the true mean."""
    return float(np.mean([not _covers(seed, k) for k in range(SIMULATIONS)]))


def _covers(seed: int, k: int) -> bool:
    """One table of a superpopulation: rows are drawn anew, the column's mean is what is asked for."""
    from scipy.stats import t as student

    rng = np.random.default_rng([seed, k])
    mean = rng.normal(size=COLUMNS)
    T = (
        mean
        + rng.normal(size=(ROWS, RANK)) @ rng.normal(size=(RANK, COLUMNS))
        + NOISE * rng.normal(size=(ROWS, COLUMNS))
    )
    T[rng.random(T.shape) > KNOWN] = np.nan
    done = complete(T, method="bayes", rank=2 * RANK, smooth=[], seed=k)
    column = np.array(done.sample(SETS, seed=k))[:, :, 0]
    within, between = (column.var(axis=1, ddof=1) / ROWS).mean(), (1 + 1 / SETS) * column.mean(axis=1).var(ddof=1)
    missing = between / (within + between)
    known = (ROWS - 1) * ROWS / (ROWS + 2) * (1 - missing)  # Barnard and Rubin: what 40 rows can tell of a spread
    degrees = 1 / (missing**2 / (SETS - 1) + 1 / known)
    reach = student.ppf(0.5 + LEVEL / 2, degrees) * np.sqrt(within + between)
    return bool(abs(column.mean() - mean[0]) <= reach)
