"""What an answer is: predictions at any coordinates, which pack themselves into arrays and JSON for saving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from tensorfill.numerical.base import NumericalPrior
from tensorfill.typing import Array

Packed = tuple[dict[str, Array], dict[str, Any]]
KINDS: dict[str, Any] = {}  # {kind: the class of such answers}; each module of answers adds its own


class Answer(Protocol):
    """Predictions in the unit of the data."""

    kind: ClassVar[str]

    def at(self, indices: Array) -> Array:
        """The mean at coordinates (k, N): (k,)."""

    def full(self) -> Array:
        """The mean everywhere, full shape."""

    def pack(self) -> Packed:
        """Arrays, and a JSON-able rest."""


class Draws(Answer, Protocol):
    """An answer that has draws: a posterior, or one in other units or at other coordinates; see `draws_of`."""

    def std_at(self, indices: Array) -> Array:
        """The standard deviation of a datum at coordinates (k, N), noise included: (k,)."""

    def quantile_at(self, indices: Array, q: Any) -> Array:
        """Quantiles of a datum at coordinates (k, N): (k,), or (len(q), k) for several q."""

    def sample(self, m: int, rng: np.random.Generator, indices: Array) -> Array:
        """m data sets at coordinates (k, N), noise included: (m, k)."""


class PriorNeeded(ValueError):
    """A run cannot be read back without the prior that it had."""


def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None = None) -> Answer:
    """The answer that was packed, of whichever kind."""
    return KINDS[meta["kind"]].unpack(arrays, meta, prior)
