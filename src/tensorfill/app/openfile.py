"""A file that is open on the page; of a large photograph a grid of its pixels is looked at."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tensorfill.app.options import Options
from tensorfill.data.facts import Facts, compute_facts
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.io.files import Loaded
from tensorfill.io.mixed import MixedTable
from tensorfill.io.observe import observe
from tensorfill.terminal import collect_warnings

LOOKED_AT = 1_500_000  # entries of a photograph that are looked at to describe it
ENOUGH = 1000  # known ones among them


def paintable(loaded: Loaded) -> bool:
    """Is it one picture, to be painted on?"""
    return loaded.extra.get("axes") in ("HW", "HWC") and loaded.values is not None


@dataclass(frozen=True)
class OpenFile:
    """A file as it was read, with the mask in use; replaced as a whole, so that a refusal changes nothing."""

    options: Options
    whole: Loaded  # as read
    loaded: Loaded  # without what the mask takes away
    mask_file: Path | None = None
    mask_name: str | None = None
    table: MixedTable | None = None  # with text, categories or dates

    @cached_property
    def obs(self) -> Observations:
        """The known entries; of a table with text its columns as numbers."""
        return self.loaded.observations() if self.table is None else observe(self.table.frame)

    @cached_property
    def sample(self) -> Observations:
        """The entries to look at: all of them, but of a large photograph the pixels of a coarser grid."""
        step = math.ceil(math.sqrt(self.loaded.size / LOOKED_AT)) if paintable(self.loaded) else 1
        grid = (slice(None, None, step),) * 2
        if step == 1 or self.loaded.observed()[grid].sum() < ENOUGH:
            return self.obs
        assert self.loaded.values is not None
        values, known = self.loaded.values[grid], self.loaded.observed()[grid]
        with collect_warnings(DataWarning):  # which counts slices of the grid: told when all entries are used
            return dataclasses.replace(self.loaded, shape=values.shape, values=values, mask=known).observations()

    @cached_property
    def facts(self) -> Facts:
        """The facts, with the size of the whole file."""
        found, shape = compute_facts(self.sample), self.loaded.shape
        if self.table is not None or found.shape == shape:
            return found
        known = self.loaded.observed_values()
        return dataclasses.replace(
            found,
            shape=shape,
            observed=len(known),
            low=float(known.min()),
            high=float(known.max()),
            modes=tuple(dataclasses.replace(mode, length=n) for mode, n in zip(found.modes, shape, strict=True)),
            depth=found.depth * shape[0] / found.shape[0],
        )
