"""Main effects of observations in blocks: a number for each slice of every mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfill.blocks.base import Block, Partitions, in_unit
from tensorfill.typing import Array

SWEEPS = 3  # each passes over all observations once for every mode


def main_effects(parts: Partitions) -> tuple[float, list[Array]]:
    """(level, [(I_n,) what each slice adds to it]). Each sweep fits the slices of one mode to what the others leave; of
    few or noisy entries they are drawn to 0, as in `models.init.mode_effects`.
    """
    effects = [np.zeros(length) for length in parts.shape]

    def sums(n: int, level: float) -> tuple[Array, float, Array]:
        effects[n] = np.zeros(parts.shape[n])
        shared = effects, n, parts.shift + parts.spread * level, parts.spread
        found: tuple[Array, float, Array] = parts.gather(slice_sums, shared, parts.main)[0]
        return found

    total, _, mass = sums(0, 0.0)
    level = float(total.sum() / mass.sum())
    for _ in range(SWEEPS):
        for n in range(len(effects)):
            total, squares, mass = sums(n, level)
            seen = mass > 0
            means = total / np.where(seen, mass, 1.0)
            noise = max(float(squares - mass @ means**2), 0.0) / float(mass.sum())
            between = float(np.mean(means[seen] ** 2 - noise / mass[seen]))
            trust = mass * between / np.where(seen, mass * between + noise, 1.0)
            effects[n] = trust * means if between > 0 else effects[n]
    return level, effects


def slice_sums(block: Block, shared: tuple[Sequence[Array], int, float, float], own: None) -> tuple[list[Any], None]:
    """([per slice of mode n the sum of what the effects leave, the sum of its squares over all, and the number of
    entries], None), weighted.
    """
    effects, n, shift, spread = shared
    where = block.coordinates()
    rest = in_unit(block, shift, spread, np.float64) - sum(e[where[:, m]] for m, e in enumerate(effects))
    w = np.ones(len(rest)) if block.weights is None else block.weights.astype(np.float64)
    length = len(effects[n])
    return [np.bincount(where[:, n], w * rest, length), float(w @ rest**2), np.bincount(where[:, n], w, length)], None
