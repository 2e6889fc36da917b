"""What `complete` was asked about time: modes of the time axis, gaps that stay, steps to predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tensorfill.data.fold import Fold
from tensorfill.data.observations import Observations
from tensorfill.data.timeaxis import check_steps, long_gaps, time_modes
from tensorfill.methods.base import Method


@dataclass(frozen=True)
class TimeOptions:
    """The options of `complete` about time and about what stays empty.

    Attributes
    ----------
    time : modes that are one time axis, from the outer to the inner: ("day", "hour"); see docs/tables.md
    fold : {"time": ("day", "hour")} makes a mode of dates days x hours for the fit
    max_gap : gaps of more steps along time stay gaps in `completed`
    horizon : predict so many steps after the last, too
    fill_unseen : fill cells without a value at any time, too
    """

    time: Any = None
    fold: Mapping[Any, Any] | Fold | None = None
    max_gap: int | None = None
    horizon: int | None = None
    fill_unseen: bool = False

    def check(self, recipe: Method) -> None:
        """Refuse numbers of steps below 1, and a horizon with methods that cannot predict."""
        for name in ("max_gap", "horizon"):
            if getattr(self, name) is not None:
                check_steps(name, getattr(self, name))
        if self.horizon is not None and not _knows_time(recipe):
            msg = f'horizon is for method "auto" and "bayes", which predict what was never seen; got {recipe.name!r}.'
            raise ValueError(msg)

    def modes(self, obs: Observations) -> tuple[int, ...]:
        """The modes that are time, () if nothing was asked."""
        if self.time is None and self.max_gap is None and self.horizon is None:
            return ()
        return time_modes(obs, self.time, "max_gap" if self.max_gap is not None else "horizon")

    def with_time(self, recipe: Method, modes: tuple[int, ...], folding: Fold | None) -> Method:
        """The method with its setting `time`, as mode numbers of the data after folding; unchanged if it has no such
        setting. A time axis that was given but would have no effect is refused.
        """
        modes = modes if folding is None else folding.spread(modes)
        if self.time is not None and self.max_gap is None and self.horizon is None:
            if len(modes) < 2:
                msg = (
                    f"time of one mode, {self.time!r}, says nothing by itself: leave it out, name modes that are one "
                    'time axis together, ("day", "hour"), or give max_gap or horizon.'
                )
                raise ValueError(msg)
            if not _knows_time(recipe):
                msg = f'time is for method "auto" and "bayes"; got {recipe.name!r}. Leave it out.'
                raise ValueError(msg)
        if not modes or not _knows_time(recipe):
            return recipe
        return replace(recipe, time=modes)  # type: ignore[call-arg]  # `_knows_time`: it has that field

    def unfilled(self, obs: Observations, modes: tuple[int, ...]) -> Any:
        """True in gaps of more than `max_gap` steps, in the shape of the data plus the horizon, and in cells without a
        value at any time; None for none.
        """
        if self.max_gap is None:
            return obs.outside
        if obs.source is not None and not obs.source.leaves_gaps:
            msg = f"max_gap cannot leave gaps in data of this kind, {type(obs.source).__name__}; "
            msg += "give an array, xarray, or a table whose columns are numbers."
            raise TypeError(msg)
        out = long_gaps(obs.mask, modes, self.max_gap) | (False if obs.outside is None else obs.outside)
        return np.pad(out, [(0, (self.horizon or 0) * (n == modes[0])) for n in range(obs.ndim)])


def _knows_time(recipe: Method) -> bool:
    return any(f.name == "time" for f in fields(recipe))
