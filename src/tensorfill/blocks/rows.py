"""Some observations as arrays: the form in which they are read, stored and dealt out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfill.typing import Array


class Rows(NamedTuple):
    """Coordinates (n, N), values (n,), weights (n,) or None."""

    indices: Array
    values: Array
    weights: Array | None

    def take(self, which: Any) -> Rows:
        """Those at these places: a slice, positions, or a mask."""
        weights = None if self.weights is None else self.weights[which]
        return Rows(self.indices[which], self.values[which], weights)

    def sort(self, mode: int) -> Rows:
        """In the order of `sort_indices`."""
        return self.take(sort_indices(self.indices, mode))

    def deal(self, mode: int, edges: Sequence[int]) -> list[Rows]:
        """The part of every block along `mode`, whose first rows are the `edges`."""
        place = np.searchsorted(np.asarray(edges), self.indices[:, mode], side="right") - 1
        order = np.argsort(place, kind="stable")
        cuts = np.searchsorted(place[order], np.arange(len(edges)))
        return [self.take(order[a:b]) for a, b in itertools.pairwise(cuts)]


def join(parts: Sequence[Rows]) -> Rows:
    """All of them as one; weights only where all parts that hold something have them."""
    some = [part for part in parts if len(part.values)] or parts
    indices, values = (np.concatenate([part[k] for part in some]) for k in (0, 1))
    weights: list[Any] = [part.weights for part in some]
    return Rows(indices, values, None if any(w is None for w in weights) else np.concatenate(weights))


def sort_indices(indices: Array, mode: int) -> Array:
    """The order of coordinates (n, N) along `mode` first, then along the others."""
    N = indices.shape[1]
    modes = [mode, *(n for n in range(N) if n != mode)]
    lengths = [int(indices[:, n].max(initial=0)) + 1 for n in modes]
    if math.prod(lengths) >= 2**63:
        return np.lexsort([indices[:, n] for n in reversed(modes)])
    key = np.zeros(len(indices), dtype=np.int64)  # one number for all coordinates: several times faster
    for n, length in zip(modes, lengths, strict=True):
        key *= length
        key += indices[:, n]
    return np.argsort(key)
