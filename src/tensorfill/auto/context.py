"""What is known around an entry: how much of its row and of its series, how far away, and the column that it is in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.gaps import steps_to_known
from tensorfill.data.observations import Observations
from tensorfill.typing import Array

SHARES = np.array([1e-9, 0.25, 0.5, 0.75, 0.999])  # of a line through the entry that is known: none, some, ..., all
FARTHEST = 7  # distances are told apart up to 2^7 steps
LARGEST = 4_000_000  # entries of a tensor; of larger ones only the column counts
MOST_COLUMNS = 64  # slices of a mode that each have weights of their own


@dataclass(frozen=True)
class Context:
    """Which features entries have: those of lines along each mode, distances along the modes `ordered`, and the slice
    of the mode `column`; the first two only if `lines`.
    """

    shape: tuple[int, ...]
    ordered: tuple[int, ...]
    column: int | None
    lines: bool

    @staticmethod
    def of(facts: Facts, whole: tuple[int, ...]) -> Context:
        """For data with these facts, a part of data of shape `whole`."""
        few = [n for n, length in enumerate(facts.shape) if 1 < length <= MOST_COLUMNS and length == whole[n]]
        own = [n for n in few if n == facts.uneven] or [n for n in few if n not in facts.smooth]
        column = min(own, key=lambda n: facts.shape[n], default=None)
        lines = facts.dense and np.prod(whole, dtype=float) <= LARGEST
        return Context(facts.shape, tuple(facts.ordered), column, bool(lines))

    def at(self, obs: Observations, indices: Array) -> Array:
        """Features of entries at `indices` (k, N) beside what is known of `obs`: (k, f) small whole numbers."""
        where, found = tuple(indices.T), []
        mask = obs.mask if self.lines else None
        if mask is not None:
            for n in (n for n, length in enumerate(obs.shape) if length > 2):
                known = mask.sum(axis=n, keepdims=True)
                at = tuple(np.zeros_like(i) if m == n else i for m, i in enumerate(where))
                found.append(np.searchsorted(SHARES, (known[at] - mask[where]) / (obs.shape[n] - 1)))
            for n in self.ordered:
                steps = np.clip(steps_to_known(mask, n)[where], 1, 2**FARTHEST)
                found.append(np.ceil(np.log2(steps)))
        found.append(np.zeros(len(indices)) if self.column is None else where[self.column])
        return np.stack(found, axis=1).astype(np.int16)

    def design(self, features: Array) -> Array:
        """Features as numbers of like size, and one of zeros and ones for every column: (k, f)."""
        numbers = (features[:, :-1] - 2.0) / 2.0
        if self.column is None:
            return numbers
        return np.hstack([numbers, features[:, -1:] == np.arange(self.shape[self.column])])

    def everywhere(self, obs: Observations) -> tuple[Array, Array]:
        """(rows, features): the features that occur (rows, f), and which of them each entry has, full shape but 1 along
        modes that make no difference.
        """
        shape = obs.shape if self.lines else tuple(i if n == self.column else 1 for n, i in enumerate(obs.shape))
        indices = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
        found, rows = np.unique(self.at(obs, indices), axis=0, return_inverse=True)
        return rows.reshape(shape).astype(np.int32), found
