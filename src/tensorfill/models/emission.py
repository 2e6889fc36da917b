"""Emission: how a datum follows from the value of a sampled model."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.numerical.binary import sigmoid
from tensorfill.typing import Array

TRANSFORMS = ("none", "sqrt", "asinh", "log")
EXPONENT = 40.0  # largest exponent of a mean: e^40 exceeds any real count


@dataclass(frozen=True)
class Emission:
    """The distribution of a datum t given x, the model's sum, and `parameter`, which is drawn along with the model.

    normal : transform(t) ~ Normal(level + scale x, scale * parameter)
    student-t : the same with `degrees` of freedom
    binomial : t ~ Binomial(trials, logit level + x)
    ordinal : t = low + the number of cuts below x + noise, the noise of standard deviation `parameter`
    negative-binomial : t of mean m = e^(level + scale x) and variance m + m^2 / parameter

    transform: none; sqrt, of t + 3/8 (counts); log, of t + shift; asinh: asinh of sqrt((t + 3/8) / bend), roots of
    what lies below `bend` and logarithms of what lies above. Means are kept within low and high.
    """

    family: str = "normal"
    transform: str = "none"
    level: float = 0.0
    scale: float = 1.0
    shift: float = 0.0
    bend: float = 1.0
    trials: int = 1
    degrees: float = 4.0
    low: float = -np.inf
    high: float = np.inf
    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "cuts", tuple(self.cuts))  # JSON has lists

    def settings(self) -> dict[str, Any]:
        """JSON-able."""
        out = dataclasses.asdict(self)
        return {k: v for k, v in out.items() if not (isinstance(v, float) and np.isinf(v))}

    @property
    def linear(self) -> bool:
        """Is the mean of a datum linear in x?"""
        return self.family in ("normal", "student-t") and self.transform == "none"

    def forward(self, t: Array) -> Array:
        """Data in the transformed unit."""
        if self.transform == "sqrt":
            return np.sqrt(t + self.shift)
        if self.transform == "asinh":
            return np.arcsinh(np.sqrt((t + self.shift) / self.bend))
        return np.log(t + self.shift) if self.transform == "log" else t

    def mean(self, x: Array, parameter: Array | float) -> Array:
        """E[t | x]; one parameter for all, or as many as x has."""
        value = self.level + self.scale * x
        if self.family == "ordinal":
            return self.low + self._above(x, parameter).sum(axis=0)
        if self.family == "binomial":
            return self.trials * sigmoid(value)
        if self.family == "negative-binomial":
            return np.minimum(np.exp(np.minimum(value, EXPONENT)), self.high)
        spread = (self.scale * parameter) ** 2 * self._inflation
        if self.transform == "sqrt":
            value = np.maximum(value, 0) ** 2 + (spread - self.shift)
        elif self.transform == "asinh":  # E cosh(2 (y + noise)) = cosh(2 y) e^(2 spread)
            square = np.sinh(np.clip(value, 0, EXPONENT)) ** 2
            value = self.bend * (square * np.exp(2 * spread) + 0.5 * np.expm1(2 * spread)) - self.shift
        elif self.transform == "log":
            value = np.exp(np.minimum(value + 0.5 * spread, EXPONENT)) - self.shift
        return np.clip(value, self.low, self.high)

    def variance(self, x: Array, parameter: Array | float) -> Array:
        """Var[t | x]."""
        value = self.level + self.scale * x
        if self.family == "ordinal":  # t - low counts events of which each implies those before it
            above = self._above(x, parameter)
            square = np.tensordot(2 * np.arange(len(above)) + 1, above, axes=1)
            return np.maximum(square - above.sum(axis=0) ** 2, 0)
        if self.family == "binomial":
            return self.trials * sigmoid(value) * sigmoid(-value)
        if self.family == "negative-binomial":
            mean = np.exp(np.minimum(value, EXPONENT))
            return mean + mean**2 / parameter
        spread = (self.scale * parameter) ** 2 * self._inflation
        if self.transform == "sqrt":
            return 4 * np.maximum(value, 0) ** 2 * spread + 2 * spread**2
        if self.transform == "asinh":
            square, more = np.sinh(2 * np.clip(value, 0, EXPONENT)) ** 2, np.expm1(4 * spread)
            return 0.125 * self.bend**2 * more * (2 * square * (1 + more) + more)
        if self.transform == "log":
            return np.exp(np.minimum(2 * value + spread, EXPONENT)) * np.expm1(spread)
        return np.broadcast_to(spread, np.shape(x)).copy()

    def sample(self, x: Array, parameter: Array | float, rng: np.random.Generator) -> Array:
        """Data around x."""
        value = self.level + self.scale * x
        if self.family == "binomial":
            return rng.binomial(self.trials, sigmoid(value)).astype(float)
        if self.family == "negative-binomial":
            rate = np.exp(np.minimum(value, EXPONENT)) * rng.standard_gamma(parameter, np.shape(x)) / parameter
            return rng.poisson(rate).astype(float)
        noise = rng.standard_normal(np.shape(x))
        if self.family == "ordinal":
            return self.low + np.searchsorted(self.cuts, x + parameter * noise).astype(float)
        if self.family == "student-t":
            noise /= np.sqrt(rng.chisquare(self.degrees, np.shape(x)) / self.degrees)
        value = value + self.scale * parameter * noise
        if self.transform == "sqrt":
            value = np.maximum(value, 0) ** 2 - self.shift
        elif self.transform == "asinh":
            value = self.bend * np.sinh(np.clip(value, 0, EXPONENT)) ** 2 - self.shift
        elif self.transform == "log":
            value = np.exp(np.minimum(value, EXPONENT)) - self.shift
        return value if self.transform == "none" else np.maximum(value, 0)

    def _above(self, x: Array, parameter: Array | float) -> Array:
        """Of every cut the probability that t is above it, (cuts, ...)."""
        from scipy.special import ndtr

        return np.asarray(ndtr(np.subtract.outer(-np.array(self.cuts), -x) / parameter))

    @property
    def _inflation(self) -> float:
        """Variance over squared scale of the noise; 1 for a Student t without a variance (two degrees or fewer)."""
        if self.family != "student-t" or self.degrees <= 2:
            return 1.0
        return self.degrees / (self.degrees - 2)
