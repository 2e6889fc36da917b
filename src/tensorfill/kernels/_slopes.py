"""Slopes of the rows of factors on features of their slices, in a sweep of the Gibbs sampler."""

from __future__ import annotations

import math

import numpy as np

from tensorfill.kernels._augment import Hyper
from tensorfill.kernels._chain import Chain, Slopes, Structure
from tensorfill.kernels._numba import addressed


@addressed
def draw_slopes(
    structure: Structure, slopes: Slopes, hyper: Hyper, chain: Chain, n: int, rng: np.random.Generator
) -> None:
    """The slopes of every free column of mode n on the features of its rows, given these rows, and their precision; and
    where they put the rows.

    Features are orthogonal: so each slope has a draw of its own. The standard deviation of the slopes of a column has a
    half-Cauchy prior, as that of a main effect: features that say nothing about it may be as good as absent.
    """
    C, R, mode = chain.F.shape[1], len(chain.size), structure.modes[n]
    for c in range(mode.free):
        column = structure.columns[n, c]
        size = chain.size[column - C + R] if mode.sized and column >= C - R else 1.0
        ridge, stiff, squares = chain.ridge[n, column], slopes.stiff[n, column], 0.0
        for i in range(mode.begin, mode.end):
            chain.lean[i, column] = 0
        for p in range(mode.features):
            total = 0.0
            for i in range(mode.begin, mode.end):
                total += slopes.features[i, p] * chain.F[i, column]
            precision = ridge * slopes.energy[n, p] + stiff
            slope = ridge * total / size / precision + rng.standard_normal() / math.sqrt(precision)
            slopes.slope[n, p, column] = slope
            squares += slope**2
            for i in range(mode.begin, mode.end):
                chain.lean[i, column] += slopes.features[i, p] * slope
        rate = rng.standard_gamma(2 * hyper.effect_shape) / (hyper.effect_rate + stiff)
        stiff = rng.standard_gamma(hyper.effect_shape + 0.5 * mode.features) / (rate + 0.5 * squares)
        slopes.stiff[n, column] = stiff


@addressed
def no_slopes(
    structure: Structure, slopes: Slopes, hyper: Hyper, chain: Chain, n: int, rng: np.random.Generator
) -> None:
    """Stand in for `draw_slopes` where no mode has features: it need not be compiled."""
