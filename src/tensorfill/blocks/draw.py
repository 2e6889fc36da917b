"""Which observations are held out, and which are kept as a sample: decided in one pass, in whatever order they come."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.blocks.base import hash_indices
from tensorfill.blocks.rows import Rows, join
from tensorfill.blocks.sample import Sample
from tensorfill.data.observations import Observations, check_dims

# So many of either at most, however many there are: the mean of 2^18 losses is known to 0.2 % of their spread.
MOST = 2**18
SHARE = 0.1  # of the observations, where there are few


@dataclass(frozen=True)
class Draw:
    """Shares of the observations to set aside (`held`) and to keep as a sample (`sample`), by a seed."""

    seed: int = 0
    held: float | None = None  # the usual SHARE
    sample: float = 1.0


class Tally:
    """Statistics of all `count` observations, gathered in one pass, part by part: counts per slice, a digest, and which
    are held out or kept as a sample.
    """

    def __init__(self, shape: Sequence[int], draw: Draw, count: int) -> None:
        self.shape, self.seed, most = tuple(shape), draw.seed, MOST / max(count, 1)
        self.below = [_threshold(min(x, most)) for x in (SHARE if draw.held is None else draw.held, draw.sample)]
        self.counts = [np.zeros(n, dtype=np.int64) for n in self.shape]
        self.whole, self.sum = 0, 0
        self.held: list[Rows] = []
        self.kept: list[Rows] = []

    def take(self, rows: Rows) -> NDArray[np.bool_]:
        """Look at some observations; which of them belong into blocks, (n,)."""
        indices, values, weights = rows
        aside, sample = (hash_indices(indices, 2 * self.seed + 1 + k) < self.below[k] for k in (0, 1))
        sample &= ~aside
        for chosen, into in ((aside, self.held), (sample, self.kept)):
            if chosen.any():
                into.append(rows.take(chosen))
        for n, count in enumerate(self.counts):
            count += np.bincount(indices[~aside, n] if aside.any() else indices[:, n], minlength=len(count))
        self.whole += len(values)
        bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
        if weights is not None:
            bits = bits ^ (np.ascontiguousarray(weights, dtype=np.float64).view(np.uint64) * np.uint64(3))
        sums = np.sum((hash_indices(indices, 0) | np.uint64(1)) * (bits + np.uint64(1)), dtype=np.uint64)
        self.sum = (self.sum + int(sums)) % 2**64
        return ~aside

    def finish(
        self, dims: Sequence[str], labels: Mapping[str, Any], positions: Any = None
    ) -> tuple[Sample, Observations | None, str]:
        """(a sample with the statistics of all, the held-out observations or None, a digest of all)."""
        names = check_dims(dims, len(self.shape))
        kept = _join(self.kept or self.held, len(self.shape))
        sample = Sample(self.shape, *kept, names, None, positions, self.whole, tuple(self.counts), dict(labels))
        held = Observations(self.shape, *_join(self.held, len(self.shape)), names) if self.held else None
        digest = hashlib.sha256(f"{self.shape} {self.whole} {self.sum}".encode()).hexdigest()[:16]
        return sample, held, digest


def _threshold(share: float) -> np.uint64:
    return np.uint64(min(int(share * 2**64), 2**64 - 1))


def _join(parts: list[Rows], ndim: int) -> Rows:
    """All parts in the order of their coordinates."""
    rows = join(parts or [Rows(np.empty((0, ndim), dtype=np.int32), np.empty(0), None)])
    return rows.take(np.lexsort(rows.indices.T[::-1]))
