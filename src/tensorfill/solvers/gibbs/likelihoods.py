"""The likelihood that the sampler uses for a numerical prior, in the unit of x: t, transformed, is level + scale x."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.models.emission import Emission
from tensorfill.numerical.base import NumericalPrior
from tensorfill.numerical.ordinal import Ordinal

Array = NDArray[Any]

LOGIT = ("bernoulli", "bernoulli-odds", "bernoulli-logit", "binomial")
COUNTS = ("poisson", "poisson-log", "negative-binomial", "geometric")
HEAVY = ("student-t", "laplace", "huber")  # outliers: Student's t stands for all
POSITIVE = ("gamma", "exponential", "rayleigh", "lognormal", "beta-divergence")  # normal on logarithms

WORDS = {
    "sqrt": " on square roots",
    "log": " on logarithms",
    "asinh": " on square roots that turn into logarithms at about {bend:.3g}",
}
COUNT_SHIFT = 0.375  # Anscombe's: it makes the noise of counts even down to small ones
LARGEST = 2**62  # entries whose places can be numbered
FEW_COUNTS = 20  # up to it counts are taken as they are, unless a prior says otherwise
LEVELS = 20  # data with at most this many different values are marks of a scale, whose ends are the least and largest
ENOUGH = 30  # observations of a slice from which on its largest value limits the others
MARGIN = 0.25  # means may exceed the largest value by this share of the range of the data


@dataclass(frozen=True, eq=False)
class Likelihood:
    """What the sampler knows about the data, in the unit of x.

    Attributes
    ----------
    kind : "normal", "student-t", "ordinal", "binomial" or "negative-binomial"
    y : (nnz,); of ordered levels their numbers from 0
    weights : (nnz,) or None
    degrees : of freedom of Student's t
    trials : of a binomial
    level : added to x; of counts to the logarithm of their mean
    cuts : between ordered levels, in the unit of x
    slices : (nnz,), the slice that each entry is in, where `slices_in_all` slices have noise of their own
    """

    kind: str
    y: Array
    weights: Array | None = None
    degrees: float = 4.0
    trials: int = 1
    level: float = 0.0
    cuts: tuple[float, ...] = ()
    slices: Array | None = None
    slices_in_all: int = 0

    def by_slice(self, obs: Observations, mode: int) -> Likelihood:
        """The same with noise of its own size in every slice of a mode; as it is where noise has no size of its own."""
        if self.kind not in ("normal", "student-t"):
            return self
        slices = np.ascontiguousarray(obs.indices[:, mode], dtype=np.int64)
        return replace(self, slices=slices, slices_in_all=obs.shape[mode])

    @property
    def start(self) -> Array:
        """The first parameters: the precision of the noise, and that of each slice relative to it, or the dispersion of
        counts.
        """
        first = 5.0 if self.kind == "negative-binomial" else 1.0
        return np.array([first] + [1.0] * self.slices_in_all)

    def parameter(self, drawn: Array) -> Array:
        """What a kept draw remembers: the standard deviation of the noise, or of each slice its own, or the dispersion
        of counts.
        """
        if self.kind not in ("normal", "student-t", "ordinal"):
            return drawn
        return (drawn[0] * (drawn[1:] if self.slices_in_all else np.ones(1))) ** -0.5

    @cached_property
    def data(self) -> Any:
        """As the compiled sweeps read it."""
        from tensorfill.kernels import _augment  # Numba is slow to import

        counts, often = np.array(self.cuts, dtype=np.float64), np.empty(0)
        if self.kind == "negative-binomial":
            counts, place = np.unique(self.y, return_inverse=True)
            often = np.bincount(place, weights=self.weights).astype(float)
        weights = np.empty(0) if self.weights is None else self.weights
        degrees = float(self.degrees) if self.kind == "student-t" else 0.0
        slices = np.empty(0, dtype=np.int64) if self.slices is None else self.slices
        return _augment.Data(self.y, weights, degrees, float(self.trials), float(self.level), counts, often, slices)

    @property
    def augment(self) -> Any:
        """The compiled function that makes x conditionally normal."""
        from tensorfill.kernels import _augment

        others = {
            "binomial": _augment.draw_binomial,
            "negative-binomial": _augment.draw_counts,
            "ordinal": _augment.draw_ordinal,
        }
        return others.get(self.kind, _augment.draw_noise)


def family(
    obs: Observations, prior: NumericalPrior | None, transform: str, bend: Callable[[], float] = lambda: 1.0
) -> tuple[Emission, Likelihood, str]:
    """How data follow from the model, the same for the sampler, and both in words.

    `bend` is asked where counts are taken by asinh.
    """
    if prior is not None:
        obs.check_domain(prior.t_domain, type(prior).__name__)
    t = np.array(obs.values, dtype=np.float64)
    w = None if obs.weights is None else np.array(obs.weights, dtype=np.float64)
    name = "normal" if prior is None else prior.name
    if name in LOGIT:
        return _logit(t, w, int(getattr(prior, "n", 1)))
    if isinstance(prior, Ordinal):
        emission = Emission(
            "ordinal", cuts=prior.cuts, low=float(prior.first), high=float(prior.first + len(prior.cuts))
        )
        return emission, Likelihood("ordinal", np.rint(t) - prior.first, w, cuts=prior.cuts), "ordered probit"
    if name in COUNTS and transform not in ("sqrt", "asinh"):
        return _counts(t, w)
    if transform == "auto":
        transform = "log" if name in POSITIVE else "none"
    degrees = float(getattr(prior, "nu", 4.0)) if name in HEAVY else math.inf
    emission, likelihood = _noise(t, w, transform, degrees, bend)
    words = "Student's t" if name in HEAVY else "normal"
    if transform != "none":
        words += WORDS[transform].format(bend=emission.bend)
    known = ("normal", "student-t", "lognormal")
    return emission, likelihood, words if name in known else f"{words}, standing for {name}"


def _logit(t: Array, w: Array | None, trials: int) -> tuple[Emission, Likelihood, str]:
    share = float(np.clip(np.average(t, weights=w) / trials, 0.5 / len(t), 1 - 0.5 / len(t)))
    level = math.log(share / (1 - share))
    emission = Emission("binomial", level=level, trials=trials, low=0.0, high=float(trials))
    return emission, Likelihood("binomial", t, w, trials=trials, level=level), "binomial, by Polya-Gamma variables"


def _counts(t: Array, w: Array | None) -> tuple[Emission, Likelihood, str]:
    level = math.log(max(float(np.average(t, weights=w)), 0.5 / len(t)))
    emission = Emission("negative-binomial", level=level, low=0.0, high=_range(t, "log")[1])
    return emission, Likelihood("negative-binomial", t, w, level=level), "negative binomial, by Polya-Gamma variables"


def _noise(
    t: Array, w: Array | None, transform: str, degrees: float, bend: Callable[[], float]
) -> tuple[Emission, Likelihood]:
    kind = "student-t" if math.isfinite(degrees) else "normal"
    emission = Emission(kind, transform, shift=_shift(t, transform), degrees=degrees if kind == "student-t" else 4.0)
    if transform == "asinh":
        emission = replace(emission, bend=bend())
    y = emission.forward(t)
    level = float(np.average(y, weights=w))
    scale = float(np.sqrt(np.average((y - level) ** 2, weights=w))) or 1.0
    low, high = _range(t, transform)
    emission = replace(emission, level=level, scale=scale, low=low, high=high)
    return emission, Likelihood(kind, (y - level) / scale, w, degrees=emission.degrees)


def _shift(t: Array, transform: str) -> float:
    """What is added before the transform: 3/8 makes the noise of counts even; logarithms of zero need something."""
    low = float(t.min())
    if transform != "none" and low < 0:
        msg = f'values must be >= 0 for transform="{transform}"; got {low}. Use transform="none".'
        raise ValueError(msg)
    if transform in ("sqrt", "asinh"):
        return COUNT_SHIFT
    return 0.5 * float(t[t > 0].min(initial=1.0)) if transform == "log" and low == 0 else 0.0


def _range(t: Array, transform: str) -> tuple[float, float]:
    """Between which means may lie: the ends of a scale (ratings), and not far beyond the largest where squares or
    powers would carry a small error of an extreme row times an extreme column far off.
    """
    low, high = float(t.min()), float(t.max())
    if transform != "none":
        return 0.0, high + MARGIN * (high - low)
    few = min(len(t), 10_000)
    scale = len(np.unique(t[:: max(1, len(t) // few)])) <= LEVELS < len(t) / 5
    return (low, high) if scale else (-math.inf, math.inf)


def ceiling(obs: Observations, emission: Emission) -> Array | None:
    """Twice the largest value seen in every slice of every mode, (sum of I_n,); infinite where little was seen.

    None where data are linear in the model.
    """
    if emission.linear or emission.family in ("binomial", "ordinal"):
        return None
    out, usual = [], float(obs.values.mean(dtype=np.float64))
    for n, length in enumerate(obs.shape):
        largest = np.full(length, usual)
        np.maximum.at(largest, obs.indices[:, n], obs.values)
        count = obs.counts[n]
        out.append(np.where(count >= ENOUGH, 2 * largest, np.inf))
    return np.concatenate(out)


def transforms_of(obs: Observations, prior: NumericalPrior | None, transform: str) -> tuple[str, ...]:
    """The transforms to draw with: the one given; for counts square roots, where whole fibres are missing asinh, too.

    Square roots make the noise of counts even, asinh also that of large ones which scatter in proportion to their size.
    Hours of a carrier's day in flights from New York, three masks each: with 30 % of the days hidden the mean of four
    chains of either has .661, .680, .670 where eight on square roots have .671, .680, .673; with 40 % of the entries
    hidden .630, .652, .660 and .620, .649, .655: next to known entries square roots alone are better.
    """
    t = obs.values
    counts = prior is None and t.min() >= 0 and t.max() > FEW_COUNTS and bool((t == np.floor(t)).all())
    if transform != "auto" or not counts:
        return (transform,)
    return ("sqrt", "asinh") if empty_fibres(obs) > 0.5 else ("sqrt",)


def empty_fibres(obs: Observations) -> float:
    """The share of the missing entries that lie in fibres (all entries along one mode) without a known one; the mode of
    which it is largest.
    """
    if obs.nnz == obs.size or obs.size >= LARGEST:
        return 0.0
    share = 0.0
    for n, length in enumerate(obs.shape):
        rest = [m for m in range(obs.ndim) if m != n]
        fibre = np.ravel_multi_index(tuple(obs.indices[:, rest].T), [obs.shape[m] for m in rest])
        empty = obs.size // length - len(np.unique(fibre))
        share = max(share, empty * length / (obs.size - obs.nnz))
    return share
