"""Extract: a sample of many observations, with what is known of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Extract(Observations):
    """Some of the observations, drawn at random, standing for all of them: coordinates, values and weights are those of
    the sample, everything else is of the whole.

    Attributes
    ----------
    whole : how many observations there are
    counts : per mode how many of those in blocks each slice has, (I_n,)
    labels : {dimension: (I_n,)}, where the data have them
    """

    whole: int = 0
    counts: tuple[Array, ...] = field(default=(), repr=False)
    labels: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def nnz(self) -> int:
        return self.whole

    @cached_property
    def _seen(self) -> tuple[NDArray[np.bool_], ...]:
        return tuple(count > 0 for count in self.counts)

    @cached_property
    def flat(self) -> NDArray[np.intp]:
        msg = (
            "the known entries of a run on blocks are not kept with its answer, so that the data cannot be handed back "
            "completed; use done.at(coordinates), done.top(k, mode=...), or done.estimate, which is the model alone."
        )
        raise MemoryError(msg)
