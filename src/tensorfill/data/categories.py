"""Categories without an order (city, colour, brand): one yes/no slice for every level.

Design: a multinomial logit loss ties the latent values of all levels of an entry together, while losses here are
functions of one entry: batches, blocks, hold-outs and second-order rows rest on that. So every level is asked for
by itself (one against the rest, `BernoulliLogit`), and the probabilities are divided by their sum. Its loss is a bound:
ln sum_l e^(x_l) <= sum_l ln(1 + e^(x_l)), so what lowers it lowers the multinomial loss too (Bouchard 2007).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.numerical.base import Interval, NumericalPrior
from tensorfill.numerical.binary import BernoulliLogit
from tensorfill.numerical.slices import PerSlice
from tensorfill.typing import Array


@dataclass(frozen=True)
class Categories:
    """Which slices of a mode hold categories, as codes 0, 1, ..., and how many levels each has.

    Parameters
    ----------
    mode
        Number of the mode.
    levels
        {position of a slice: number of its levels}, at least 2.
    length
        How many slices the mode has.
    """

    mode: int
    levels: Mapping[int, int]
    length: int

    def __post_init__(self) -> None:
        for i, count in self.levels.items():
            if not (0 <= i < self.length and count >= 2):
                msg = (
                    f"levels must be {{slice: number of levels >= 2}} with slices 0 .. {self.length - 1}; "
                    f"got {count} for slice {i}."
                )
                raise ValueError(msg)

    @property
    def _widths(self) -> Array:
        """How many slices stand for each."""
        return np.array([self.levels.get(i, 1) for i in range(self.length)])

    @property
    def _starts(self) -> Array:
        return np.concatenate([[0], np.cumsum(self._widths)])

    def expand(self, obs: Observations) -> Observations:
        """The observations with a yes/no slice (1 or 0) for every level; other slices as they are, in their order."""
        self._check(obs)
        n, slot = self.mode, obs.indices[:, self.mode]
        copies = self._widths[slot]
        source = np.repeat(np.arange(obs.nnz), copies)
        level = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
        indices = np.array(obs.indices)[source]
        indices[:, n] = self._starts[slot[source]] + level
        yes = (obs.values[source] == level).astype(obs.values.dtype)
        values = np.where(copies[source] > 1, yes, obs.values[source])
        order = np.lexsort(indices.T[::-1])
        shape = tuple(int(self._starts[-1]) if m == n else length for m, length in enumerate(obs.shape))
        weights = None if obs.weights is None else obs.weights[source][order]
        positions = (
            obs.positions
            if obs.positions is None
            else tuple(None if m == n else p for m, p in enumerate(obs.positions))
        )
        return replace(
            obs,
            shape=shape,
            indices=indices[order],
            values=values[order],
            weights=weights,
            source=None,
            positions=positions,
        )

    def prior(self, priors: Sequence[NumericalPrior | str | None]) -> PerSlice:
        """The prior of the expanded slices, from those of the slices before; what it says of categories is not used."""
        made: list[Any] = []
        for i, prior in enumerate(priors):
            made += [BernoulliLogit()] * self.levels[i] if i in self.levels else [prior]
        return PerSlice(self.mode, tuple(made))

    def probabilities(self, estimate: Array, i: int) -> Array:
        """Of every level of slice i, along the last axis, from an estimate of the expanded tensor: they sum to 1."""
        P = np.moveaxis(np.take(estimate, self._range(i), axis=self.mode), self.mode, -1)
        P = np.clip(P.astype(np.float64), np.finfo(np.float64).tiny, 1)
        return P / P.sum(axis=-1, keepdims=True)

    def collapse(self, estimate: Array) -> Array:
        """The estimate with the slices before the expansion: of categories the code of the likeliest level."""
        parts = [
            self.probabilities(estimate, i).argmax(axis=-1)
            if i in self.levels
            else np.take(estimate, self._starts[i], axis=self.mode)
            for i in range(self.length)
        ]
        return np.stack(parts, axis=self.mode).astype(estimate.dtype)

    def _range(self, i: int) -> Array:
        return np.arange(self._starts[i], self._starts[i + 1])

    def _check(self, obs: Observations) -> None:
        if obs.shape[self.mode] != self.length:
            msg = f"the tensor must have {self.length} slices along mode {self.mode}; got shape {obs.shape}."
            raise ValueError(msg)
        for i, count in self.levels.items():
            chosen = np.flatnonzero(obs.indices[:, self.mode] == i)
            if len(chosen):
                obs.subset(chosen).check_domain(
                    Interval(0.0, count - 1.0, whole=True), f"a category of {count} levels", "codes 0, 1, ..."
                )
