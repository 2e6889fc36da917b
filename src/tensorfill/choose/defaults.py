"""Every default of `complete`, as a named function of the data. Each may be called to see what would be chosen."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.models.init import typical
from tensorfill.numerical.base import PRIORS, NumericalPrior

Array = NDArray[Any]

SHORT = 8  # a mode shorter than this is a set of channels, not a line of positions
SMOOTH_BELOW = 0.6  # a mode is smooth if near entries differ less than this share of what far ones do
PAIRS = 30  # at least so many neighbouring pairs before believing it
GRAINY = 0.45  # clean pictures stay below 0.4, at any share observed
UNITS = 5.0  # slices have units of their own if the widest spreads so many times as much as the narrowest,
AWAY = 2.0  # the typical one lies so many spreads away from zero,
UNEVEN = 2.5  # and the furthest so many times as far as the nearest
FEW_PER_SLICE = 10  # entries to tell a spread by
ROBUST = {"huber": 0.05, "student-t": 0.2}  # what is noise to them, as a part of how the data spread
LONGEST_SCALE = 100  # beyond, whole numbers are amounts even if a detector is saturated
SURE = 200  # pairs of direct neighbours that settle how grainy a field is


def default_prior(obs: Observations) -> NumericalPrior:
    """Yes/no -> Bernoulli (logit link), whole numbers >= 0 -> Poisson, positive reals -> Gamma, else Normal.

    Whole numbers on a scale with two ends (`is_scale`: ratings) are no counts, and positive reals that vary by less
    than a tenth of their size (kelvin, hectopascal) no amounts counted from zero: Normal.
    """
    t = obs.values
    level, spread = float(t.mean(dtype=np.float64)), float(t.std(dtype=np.float64))
    whole = bool(np.all(t == np.floor(t)) and np.abs(t).max() <= 2**53)  # beyond, every number is whole
    if whole and t.min() >= 0 and t.max() <= 1 and t.min() < t.max():
        return prior_for(obs, "bernoulli-logit")
    if whole and t.min() >= 0:
        return prior_for(obs, "normal" if is_scale(t) else "poisson")
    return prior_for(obs, "gamma" if t.min() > 0 and (spread >= 0.1 * level or spread == 0) else "normal")


def is_scale(t: Array) -> bool:
    """Are these whole numbers >= 0 a scale with two ends (stars, marks, grey levels of 0..16) rather than counts?

    They vary clearly less than counts of their size can, or they pile up at the upper end, where counts thin out.
    """
    level, variance, top = float(t.mean(dtype=np.float64)), float(t.var(dtype=np.float64)), float(t.max())
    # the variance of counts is their mean at least; that of n of them is off by a share of sqrt(2/n)
    if 0 < variance < level * (1 - max(0.2, 4 * np.sqrt(2 / t.size))):
        return True
    at_top, below = int(np.count_nonzero(t == top)), int(np.count_nonzero(t == top - 1))
    return variance > 0 and top <= LONGEST_SCALE and at_top > max(10, 0.01 * t.size, 1.5 * below)


def prior_for(obs: Observations, given: NumericalPrior | str | None) -> NumericalPrior:
    """The prior that was given, made from its name, or chosen. One made here fits the unit of the data: Normal has
    their spread as sigma, Huber and Student's t a part of what the middle half of them spreads by, and losses with a
    floor are exact from a thousandth of a typical value upwards.
    """
    if given is None:
        return default_prior(obs)
    prior = PRIORS.make(given)
    if not isinstance(given, str):
        return prior
    spread = float(obs.values.astype(np.float64).std())
    if prior.name == "normal" and spread > 0:
        return dataclasses.replace(prior, sigma=spread)  # type: ignore[call-arg]
    if prior.name in ROBUST and spread > 0:
        t = obs.values.astype(np.float64)
        middle = float(np.subtract(*np.quantile(t, (0.75, 0.25)))) / 1.349  # of a normal distribution: its sigma
        return dataclasses.replace(prior, scale=ROBUST[prior.name] * (middle or spread))  # type: ignore[call-arg]
    sizes = np.abs(obs.values[obs.values != 0])
    if hasattr(prior, "floor") and prior.x_domain.high == np.inf and len(sizes):
        size = float(np.median(sizes))
        low = dataclasses.replace(prior, floor=1e-3 * size)  # type: ignore[call-arg]
        return dataclasses.replace(low, floor=1e-3 * low.start(size))  # type: ignore[call-arg]
    return prior


def default_held_out(obs: Observations) -> float:
    """A fifth of the observed entries when there are few, a tenth from 5,000 on."""
    return 0.2 if obs.nnz < 5000 else 0.1


def roughness(obs: Observations, mode: int) -> tuple[float, int]:
    """How much near entries along a mode differ, relative to far ones: (ratio, near pairs seen). 1 = no more alike.

    Mean squared difference of observed pairs in one fibre (all other indices equal) up to three steps apart (further if
    there are too few), over the same for pairs at a third to two thirds of the mode's length.
    """
    length = obs.shape[mode]
    near, pairs = _mean_square_difference(obs, mode, (1, 2, 3))
    if pairs < PAIRS:  # few entries observed: look further, as long as it is still near
        near, pairs = _mean_square_difference(obs, mode, tuple(range(1, max(3, length // 6) + 1)))
    far, enough = _mean_square_difference(obs, mode, tuple(sorted({length // 3, length // 2, 2 * length // 3} - {0})))
    return (near / far if pairs and enough and far > 0 else 1.0), pairs


def _mean_square_difference(
    obs: Observations, mode: int, lags: tuple[int, ...], most: int = 200_000
) -> tuple[float, int]:
    """Over observed pairs that differ by one of `lags` along `mode` and in nothing else: (mean, number of pairs)."""
    keys, values = obs.flat, obs.values.astype(np.float64)
    stride = int(np.prod(obs.shape[mode + 1 :], dtype=np.int64))
    pick = slice(None) if len(keys) <= most else np.linspace(0, len(keys) - 1, most).astype(np.intp)
    total, pairs = 0.0, 0
    for lag in lags:
        inside = obs.indices[pick, mode] + lag < obs.shape[mode]
        wanted = keys[pick][inside] + lag * stride
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[at] == wanted
        difference = values[at[found]] - values[pick][inside][found]
        total += float(difference @ difference)
        pairs += int(found.sum())
    return total / max(pairs, 1), pairs


def smooth_modes(obs: Observations) -> tuple[int, ...]:
    """The modes along which neighbours are alike: lines of pixels, hours, wavelengths."""
    out = []
    for n, length in enumerate(obs.shape):
        if length >= SHORT and obs.size <= DENSE_LIMIT:
            ratio, pairs = roughness(obs, n)
            if pairs >= PAIRS and ratio < SMOOTH_BELOW:
                out.append(n)
    return tuple(out)


def unit_mode(obs: Observations) -> int | None:
    """The mode whose slices are quantities with units of their own (pressure, temperature, rain), if there is one.

    Their spreads differ by more than a factor, and so does how far from zero they lie, measured by it, most of them
    far: amounts of one kind that differ in size (busy and quiet stations) spread in proportion to it.
    """
    found: dict[int, float] = {}
    for n, length in enumerate(obs.shape):
        count, mean, spread = slice_statistics(obs, n)
        seen = (count >= FEW_PER_SLICE) & (spread > 0)
        if length < 2 or np.count_nonzero(seen) < max(2, 0.9 * length):
            continue
        ratio = float(spread[seen].max() / spread[seen].min())
        away = np.abs(mean[seen]) / spread[seen]
        uneven = away.max() > UNEVEN * away.min()
        if ratio > UNITS and uneven and np.median(away) > AWAY and n not in smooth_modes(obs):
            found[n] = ratio
    return max(found, key=lambda n: found[n], default=None)


def slice_statistics(obs: Observations, mode: int) -> tuple[Array, Array, Array]:
    """(number, mean, standard deviation) of the observed entries of each slice along a mode, (I_n,) each; 0 if none."""
    i, length = obs.indices[:, mode], obs.shape[mode]
    t = obs.values.astype(np.float64)
    count = np.bincount(i, minlength=length)
    at_least = np.maximum(count, 1)
    mean = np.bincount(i, t, length) / at_least
    return count, mean, np.sqrt(np.bincount(i, (t - mean[i]) ** 2, length) / at_least)


def grain(obs: Observations, modes: tuple[int, ...]) -> tuple[float, float]:
    """How much of what sets neighbours apart is noise: (ratio, its standard deviation).

    The ratio is that of mean squared differences of direct neighbours and of entries three or four steps apart along
    `modes`: those of a picture grow with the distance, those of noise do not. NaN with too few pairs to tell. The noise
    is what the line through both leaves at distance zero.
    """
    near: tuple[int, ...] = (1,)
    far: tuple[int, ...] = (3, 4)
    if _over(obs, modes, near)[1] < SURE:  # few observed: look further
        near, far = (1, 2, 3), tuple(range(6, 13))
    (a, pairs), (b, _) = _over(obs, modes, near), _over(obs, modes, far)
    if pairs < PAIRS or b <= 0:
        return np.nan, 0.0
    step = float(np.mean(near) / (np.mean(far) - np.mean(near)))
    return a / b, float(np.sqrt(max(a - step * (b - a), 0.0) / 2))


def _over(obs: Observations, modes: tuple[int, ...], lags: tuple[int, ...]) -> tuple[float, int]:
    """`_mean_square_difference` over several modes."""
    parts = [_mean_square_difference(obs, n, lags) for n in modes]
    pairs = sum(k for _, k in parts)
    return sum(mean * k for mean, k in parts) / max(pairs, 1), pairs


def default_rank(obs: Observations, smooth: tuple[int, ...] = ()) -> int:
    """Up to 300 where two modes or more are smooth (pictures: smoothness ties the numbers together), else the largest
    rank worth trying: two observations per free number, at most 80. Numbers along a smooth mode are not all free.
    """
    if len(smooth) >= 2:
        return int(min(300, max(obs.shape) * 2))
    free = sum(length / 8 if n in smooth else length for n, length in enumerate(obs.shape))
    return int(np.clip(obs.nnz // (2 * free), 1, 80))


def stiffness(obs: Observations, prior: NumericalPrior) -> tuple[float, float]:
    """(information of one entry about its relative size, typical size of a factor entry).

    Penalties on factors are in units of loss per squared factor entry. `information / entry^2` carries a penalty that
    means the same for counts of 5 and of 5000, for reals of any unit and for log-odds.
    """
    x0, size = typical(obs, prior)
    mean = float(np.average(obs.values.astype(np.float64), weights=obs.weights))
    h = 0.05 * size
    at = np.array([x0 - h, x0 + h])
    slope = prior.grad(np.full(2, mean), at)
    information = float(slope[1] - slope[0]) / (2 * h) * size**2
    return information if 0 < information < np.inf else 1e-12, size ** (1.0 / obs.ndim)


def default_ridge(obs: Observations, prior: NumericalPrior) -> float:
    """A little ridge on every factor: it makes the problem well-posed (scale cannot wander between modes)."""
    information, entry = stiffness(obs, prior)
    return 0.02 * information / entry**2


def default_smooth(obs: Observations, prior: NumericalPrior) -> dict[int, float]:
    """Quadratic variation for each mode found smooth, none for the others."""
    information, entry = stiffness(obs, prior)
    return {n: 0.4 * information / entry**2 for n in smooth_modes(obs)}
