"""Non-smooth inter-element priors and constraints: they act through their prox.

Design: those with a `prox_order` compose. Total variation couples neighbours; L1 and intervals treat every entry
alike by a function h of one number. prox_h is non-decreasing, so it never reverses the order of two neighbours; the
subgradients of TV at prox_TV(A) therefore remain subgradients of TV after it, and prox_{TV + h} = prox_h o prox_TV
(for L1: the fused lasso, Friedman et al. 2007; in general: Yu 2013, "On decomposing the proximal map").
In one dimension clipping the minimiser of a convex function minimises it over the interval: prox of L1 then clip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.interelement.base import INTERELEMENT, Array, InterElementPrior, Weighted
from tensorfill.registry import check_setting


@INTERELEMENT.register("total-variation")
@dataclass(frozen=True)
class TotalVariation(Weighted):
    """Columns are piecewise constant: rho sum_i |a_i - a_{i+1}|, entry by entry."""

    prox_order = 0

    def value(self, A: Array) -> float:
        return self.rho * _sum_of_sizes(A[1:] - A[:-1])

    def prox(self, A: Array, step: float) -> Array:
        """The exact solution of 1-D total variation denoising, column by column, in O(I_n) each."""
        from tensorfill.interelement._tv_kernels import tv_prox_columns

        if step * self.rho == 0.0 or A.size == 0:
            return A.copy()
        Z = np.empty(A.shape, dtype=A.dtype)
        tv_prox_columns(np.ascontiguousarray(A), float(step) * self.rho, Z)
        return Z


@INTERELEMENT.register("l1")
@dataclass(frozen=True)
class L1(Weighted):
    """Many entries are zero: rho sum |a|."""

    prox_order = 1

    def value(self, A: Array) -> float:
        return self.rho * _sum_of_sizes(A)

    def prox(self, A: Array, step: float) -> Array:
        """Soft threshold: towards 0 by step rho, and not past it."""
        threshold = float(step) * self.rho
        return A - np.clip(A, -threshold, threshold)


@dataclass(frozen=True)
class _Interval(InterElementPrior):
    """Every entry lies between two numbers."""

    prox_order = 2

    @property
    def only_bounds(self) -> bool:
        return True

    def value(self, A: Array) -> float:
        low, high = self.bounds
        return 0.0 if bool(np.all((low <= A) & (high >= A))) else math.inf

    def prox(self, A: Array, step: float) -> Array:
        """The nearest point inside, whatever the step."""
        return np.clip(A, *self.bounds)

    def merge_with(self, other: InterElementPrior) -> InterElementPrior:
        low, high = max(self.bounds[0], other.bounds[0]), min(self.bounds[1], other.bounds[1])
        if low > high:
            msg = (
                f"the constraints leave nothing: entries must be >= {low:g} and <= {high:g}. "
                f"Give intervals that overlap."
            )
            raise ValueError(msg)
        return Box(low, high)

    def scaled(self, factor: float) -> InterElementPrior:
        """A constraint is the same whatever its weight."""
        if factor == 0.0:
            msg = f"the factor in front of {type(self).__name__} must be > 0; got 0. Leave the constraint out."
            raise ValueError(msg)
        return self


@INTERELEMENT.register("nonnegative")
@dataclass(frozen=True)
class NonNegative(_Interval):
    """Every entry is >= 0."""

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, np.inf)


@INTERELEMENT.register("box")
@dataclass(frozen=True)
class Box(_Interval):
    """Every entry is between `low` and `high`; None leaves that side open."""

    low: float | None = 0.0
    high: float | None = 1.0

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            check_setting(f"{name} of Box", getattr(self, name), "float | None")
        low = -math.inf if self.low is None else float(self.low)
        high = math.inf if self.high is None else float(self.high)
        if not (low <= high and low < math.inf and high > -math.inf):
            msg = f"Box must have low <= high; got low={self.low!r}, high={self.high!r}."
            raise ValueError(msg)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def bounds(self) -> tuple[float, float]:
        assert self.low is not None  # set in __post_init__; said for the type checker
        assert self.high is not None
        return (self.low, self.high)

    def settings(self) -> dict[str, Any]:
        """Open ends as None: JSON has no infinity."""
        low, high = (end if math.isfinite(end) else None for end in self.bounds)
        return {"name": self.name, "low": low, "high": high}


def _sum_of_sizes(D: Array) -> float:
    return float(np.abs(D).sum(dtype=np.float64))
