"""Likelihoods of the Gibbs sampler: what makes x conditionally normal given the data.

`augment` draws the likelihood's own parameters and latent variables given x, and answers the working data: z ~
N(x, 1 / w) entry by entry. All in the standardised unit: t (after its transform) = level + scale * x + noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Numbers = dict[str, Any]

NOISE = (1.0, 0.1)  # Gamma prior of the noise precision: shape and rate


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Base: y (nnz,) the data in the unit of x, weights (nnz,) or None."""

    y: Array
    weights: Array | None = None

    def start(self, x: Array, rng: np.random.Generator) -> Numbers:
        """The first parameters, JSON-able."""
        return {}

    def augment(self, x: Array, numbers: Numbers, rng: np.random.Generator) -> tuple[Numbers, Array, Array]:
        """(parameters, z (nnz,), w (nnz,))."""
        raise NotImplementedError

    def nll(self, x: Array, numbers: Mapping[str, Any]) -> float:
        """Minus log likelihood, terms without x and parameters dropped."""
        raise NotImplementedError

    def parameters(self, numbers: Mapping[str, Any]) -> list[float]:
        """What a kept draw remembers: [spread or dispersion]."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class NormalNoise(Likelihood):
    """y = x + noise / sqrt(weight), its precision drawn."""

    prior: tuple[float, float] = field(default=NOISE)

    def start(self, x: Array, rng: np.random.Generator) -> Numbers:
        return {"noise": 1.0}

    def augment(self, x: Array, numbers: Numbers, rng: np.random.Generator) -> tuple[Numbers, Array, Array]:
        shape, rate = self.prior
        noise = float(rng.standard_gamma(shape + 0.5 * len(x)) / (rate + 0.5 * self._squares(x)))
        w = np.full(len(x), noise) if self.weights is None else noise * self.weights
        return numbers | {"noise": noise}, self.y, w

    def nll(self, x: Array, numbers: Mapping[str, Any]) -> float:
        noise = numbers["noise"]
        return 0.5 * (noise * self._squares(x) - len(x) * float(np.log(noise)))

    def parameters(self, numbers: Mapping[str, Any]) -> list[float]:
        return [numbers["noise"] ** -0.5]

    def _squares(self, x: Array) -> float:
        off = self.y - x
        return float(off @ off if self.weights is None else (self.weights * off) @ off)
