"""Centre and scale: slices that are quantities of their own, or all entries alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tensorfill.blocks import Partitions
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import Run
from tensorfill.result.answer import in_units
from tensorfill.result.completion import Completion
from tensorfill.result.packing import Answer
from tensorfill.transforms.base import Transform


@dataclass(frozen=True)
class Standardised(Transform):
    """Fit data centred and divided by their standard deviation.

    Parameters
    ----------
    mode : whose slices are standardised, each by itself; None: all entries by one mean and one standard deviation
    centred, scaled : whether the mean is subtracted, and whether there is a division; for mode None
    """

    mode: int | None = None
    centred: bool = True
    scaled: bool = True

    @property
    def words(self) -> str:
        """Said of slices only; one unit for all is nothing to speak of, unless the mean stays in."""
        if self.mode is not None:
            return "slices standardised"
        return "" if self.centred else "not centred"

    def apply(self, obs: Observations) -> tuple[Observations, Units]:
        if self.mode is not None:
            units = Units.of_slices(obs, self.mode)
        else:
            units = Units.of_all(obs, centred=self.centred, scaled=self.scaled)
        return units.transform(obs), units

    def invert(self, answer: Answer, state: Units) -> Answer:
        return in_units(answer, state)

    def fit_blocks(self, parts: Partitions, run: Run) -> Completion:
        units = Units.of_all(parts.sample, centred=self.centred, scaled=self.scaled)
        level, scale = float(units.level[0]), float(units.scale[0])
        done = self.method.fit_blocks(parts.in_units(level, scale), run)
        return replace(done, answer=self.invert(done.answer, units), error=done.error * scale)
