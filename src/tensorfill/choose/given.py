"""What the user gave `auto`: it restricts the candidates, and wins over what would be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorfill.data.observations import Observations
from tensorfill.numerical.base import NumericalPrior
from tensorfill.solvers.base import Solver


@dataclass(frozen=True)
class Given:
    """None means "choose"; see `Auto` for what each is."""

    prior: NumericalPrior | str | None = None
    form: str | None = None  # of the model: cp, tucker, ...
    rank: Any = None  # a whole number, or as `Model.rank` has it
    smooth: Mapping[int, float] | None = None  # by mode number
    ridge: float | None = None
    tv: float | None = None
    solver: Solver | str | None = None
    held_out: float | None = None
    starts: int | None = None
    passes: int | None = None
    candidates: tuple[str, ...] | None = None
    time: tuple[int, ...] = ()  # modes that are one time axis, from the outer to the inner; () where that is not known
    effort: str = "normal"

    @property
    def model(self) -> bool:
        """Was something given that only a low-rank fit has?"""
        return any(
            v is not None for v in (self.form, self.rank, self.smooth, self.ridge, self.tv, self.solver, self.passes)
        )

    @property
    def anything(self) -> bool:
        """Was anything given at all?"""
        return self.model or self.prior is not None or self.candidates is not None or self.starts is not None

    def allows(self, name: str) -> bool:
        """May this candidate run?"""
        return self.candidates is None or name in self.candidates


def by_mode(obs: Observations, smooth: Mapping[int | str, float] | None) -> dict[int, float] | None:
    """{mode: rho} without zeros; a mode named twice is refused."""
    if smooth is None:
        return None
    modes = [obs.mode(k) for k in smooth]
    if len(set(modes)) < len(modes):
        msg = f"smooth must name each mode once; got {dict(smooth)}, of which two are the same mode."
        raise ValueError(msg)
    return {n: float(rho) for n, rho in zip(modes, smooth.values(), strict=True) if rho}
