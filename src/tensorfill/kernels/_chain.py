"""What a sweep of the Gibbs sampler reads, and the chain that it changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tensorfill.kernels.base import Array

# of each mode: its rows begin .. end of the stacked factors, how many of its `columns` are drawn, the first of how many
# ratios are its `choices`, how many `features` it has; is it a `ring`, does it hold the sizes (the first one drawn
# does)? turn of the k-th: which mode is drawn as the k-th
NAMES = ("begin", "end", "free", "choices", "features", "ring", "sized", "turn")
MODES = np.dtype([(name, np.int64) for name in NAMES], align=True)


class Places(NamedTuple):
    """Where the observations are, see `solvers.entries`: rows (nnz, N); others (N, nnz, N - 1), order (N, nnz) and
    starts (sum of I_n + N,), mode after mode, sorted by the mode's row.
    """

    rows: Array
    others: Array
    order: Array
    starts: Array


class Structure(NamedTuple):
    """What the sampler draws: `modes` (N,) of dtype `MODES`; the `columns` of each mode (N, C), the free ones first, as
    the others are 1; those with a middle that `moves` (N, C); which are main `effects` (C,); the `ratios` that columns
    may have, and log_det (N, ratios).
    """

    modes: Array
    columns: Array
    moves: Array
    effects: Array
    ratios: Array
    log_det: Array


class Chain(NamedTuple):
    """Where a chain is; sweeps change it in place.

    F (sum of I_n, C), the factors stacked along the modes; ridge, ratio, middle (N, C), hyperparameters of every column
    in every mode; size (R,) of the components, hold (R,) the precision of each; numbers (1 + P,): the scale that these
    precisions share, and the likelihood's parameters; lean (sum of I_n, C), where the features of a row put it, in the
    unit of the middle, or (0, C) where no mode has features.
    """

    F: Array
    ridge: Array
    ratio: Array
    middle: Array
    size: Array
    hold: Array
    numbers: Array
    lean: Array


class Slopes(NamedTuple):
    """Features of the rows (sum of I_n, P), orthogonal and centred within each mode, and the sums of their squares,
    `energy` (N, P); of a chain, the slope (N, P, C) of the columns on the features, and stiff (N, C), the precision of
    these slopes.
    """

    features: Array
    energy: Array
    slope: Array
    stiff: Array
