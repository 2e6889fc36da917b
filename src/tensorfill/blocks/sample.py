"""A sample of many observations, with what is known of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.blocks.base import Partitions


GONE = (
    "the known entries of a run on blocks are with the run alone, not with a copy of it or in a file, so that they "
    "cannot be handed back or left out; use done.at(coordinates) or done.estimate, which are the model's, or "
    "done.top(..., new=False)."
)


@dataclass(frozen=True, eq=False)
class Sample(Observations):
    """Some of the observations, drawn at random, standing for all of them: coordinates, values and weights are those of
    the sample, everything else is of the whole.

    Attributes
    ----------
    whole : how many observations there are
    counts : per mode how many of those in blocks each slice has, (I_n,)
    labels : {dimension: (I_n,)}, where the data have them
    blocks : where all of them are, for as long as this process has them; None in a run read from a file
    """

    whole: int = 0
    counts: tuple[Array, ...] = field(default=(), repr=False)
    labels: Mapping[str, Any] = field(default_factory=dict, repr=False)
    blocks: Partitions | None = field(default=None, repr=False)

    @property
    def nnz(self) -> int:
        return self.whole

    def empty_slices(self) -> list[tuple[int, int]]:
        """As of Observations, without modes that have labels: labels come from rows, so that each of them has an
        observation, though perhaps one that is held out.
        """
        return [(n, i) for n, i in super().empty_slices() if self.dims[n] not in self.labels]

    @property
    def all(self) -> Partitions:
        """Where all of them are."""
        if self.blocks is None:
            raise MemoryError(GONE)
        return self.blocks

    @cached_property
    def flat(self) -> NDArray[np.intp]:
        raise MemoryError(GONE)

    def paste(self, out: Array) -> None:
        for where, values in self.all.entries():
            out[tuple(where.T)] = values

    def at(self, where: Array) -> Array:
        return self.all.known(where)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "blocks": None}  # a copy elsewhere is without them, like one on disk
