"""What a sweep of the Gibbs sampler reads, and the chain that it changes."""

from __future__ import annotations

from typing import NamedTuple

from tensorfill.kernels.base import Array


class Places(NamedTuple):
    """Where the observations are, see `solvers.entries`: rows (nnz, N); others (N, nnz, N - 1), order (N, nnz) and
    starts (sum of I_n + N,), mode after mode, sorted by the mode's row.
    """

    rows: Array
    others: Array
    order: Array
    starts: Array


class Structure(NamedTuple):
    """What the sampler draws: the `columns` of each mode (N, C), the first free[n] of them drawn, the others 1; those
    with a middle that `moves` (N, C); which are main `effects` (C,); the modes in the `sequence` of their draws; the
    `ratios` that columns may have, the first choices[n] of them in mode n, and log_det (N, ratios); `rings` (N,);
    `first` (N + 1,) where modes begin; `features` (sum of I_n, P) of the rows, orthogonal and centred within each mode,
    the first width[n] of them of mode n, and the sums of their squares, `energy` (N, P).
    """

    first: Array
    columns: Array
    free: Array
    moves: Array
    effects: Array
    sequence: Array
    ratios: Array
    choices: Array
    log_det: Array
    rings: Array
    features: Array
    width: Array
    energy: Array


class Chain(NamedTuple):
    """Where a chain is; sweeps change it in place.

    F (sum of I_n, C), the factors stacked along the modes; ridge, ratio, middle (N, C), hyperparameters of every column
    in every mode; size (R,) of the components, hold (R,) the precision of each; numbers (1 + P,): the scale that these
    precisions share, and the likelihood's parameters; slope (N, P, C) of the columns on the features, stiff (N, C) the
    precision of these slopes.
    """

    F: Array
    ridge: Array
    ratio: Array
    middle: Array
    size: Array
    hold: Array
    numbers: Array
    slope: Array
    stiff: Array
