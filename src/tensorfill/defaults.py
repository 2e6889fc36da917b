"""Every default of `complete`, as a named function of the data. Each may be called to see what would be chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.interelement.base import InterElementPrior
from tensorfill.interelement.quadratic import QuadraticVariation, Ridge
from tensorfill.numerical.base import PRIORS, NumericalPrior

Array = NDArray[Any]

SHORT = 8  # a mode shorter than this is a set of channels, not a line of positions
SMOOTH_BELOW = 0.6  # a mode is smooth if neighbours differ less than this share of what strangers do
PAIRS = 30  # at least so many neighbouring pairs before believing it


def default_prior(obs: Observations) -> NumericalPrior:
    """Yes/no -> Bernoulli (logit link), whole numbers >= 0 -> Poisson, positive reals -> Gamma, else Normal."""
    t = obs.values
    whole = bool(np.all(t == np.floor(t)))
    if whole and t.min() >= 0 and t.max() <= 1 and t.min() < t.max():
        return PRIORS["bernoulli-logit"]()
    if whole and t.min() >= 0:
        return PRIORS["poisson"]()
    if t.min() > 0:
        return PRIORS["gamma"]()
    return PRIORS["normal"]()


def roughness(
    obs: Observations, mode: int, lags: tuple[int, ...] = (1, 2, 3), most: int = 200_000
) -> tuple[float, int]:
    """How much neighbours along a mode differ, relative to strangers: (ratio, pairs seen). 1 = not at all alike.

    The mean squared difference of observed pairs up to three steps apart, over twice the variance. For ratios it does
    not matter what the other indices are, so a sample of the observations serves.
    """
    keys = obs.flat
    values = obs.values.astype(np.float64)
    stride = int(np.prod(obs.shape[mode + 1 :], dtype=np.int64))
    pick = slice(None) if len(keys) <= most else np.linspace(0, len(keys) - 1, most).astype(np.intp)
    total, pairs = 0.0, 0
    for lag in lags:
        inside = obs.indices[pick, mode] + lag < obs.shape[mode]
        wanted = keys[pick][inside] + lag * stride
        at = np.searchsorted(keys, wanted)
        found = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] == wanted)
        difference = values[at[found]] - values[pick][inside][found]
        total += float(difference @ difference)
        pairs += int(found.sum())
    variance = float(values.var())
    return (total / pairs / (2 * variance) if pairs and variance > 0 else 1.0), pairs


def smooth_modes(obs: Observations) -> tuple[int, ...]:
    """The modes along which neighbours are alike: lines of pixels, hours, wavelengths."""
    out = []
    for n, length in enumerate(obs.shape):
        if length >= SHORT and obs.size < 2**62:
            ratio, pairs = roughness(obs, n)
            if pairs >= PAIRS and ratio < SMOOTH_BELOW:
                out.append(n)
    return tuple(out)


def default_rank(obs: Observations, smooth: tuple[int, ...] = ()) -> int:
    """Rank 300 where two modes or more are smooth (pictures: smoothness ties the numbers together), else about four
    observations per free number, between the number of modes + 1 and 30.
    """
    if len(smooth) >= 2:
        return int(min(300, max(obs.shape) * 2))
    return int(np.clip(obs.nnz // (4 * sum(obs.shape)), obs.ndim + 1, 30))


def stiffness(obs: Observations, prior: NumericalPrior) -> tuple[float, float]:
    """(information of one entry about its relative size, typical size of a factor entry).

    Penalties on factors are in units of loss per squared factor entry. `information / entry^2` carries a penalty that
    means the same for counts of 5 and of 5000, for reals of any unit and for log-odds.
    """
    t = obs.values.astype(np.float64)
    mean, x0 = float(t.mean()), float(prior.start(float(t.mean())))
    low, high = (float(prior.start(float(q))) for q in np.quantile(t, (0.1, 0.9)))
    size = max(abs(x0), abs(high - low) / 2)
    size = size if np.isfinite(size) and size > 0 else 1.0
    h = 0.05 * size
    at = np.array([x0 - h, x0 + h])
    slope = prior.grad(np.full(2, mean), at)
    curvature = max(float(slope[1] - slope[0]) / (2 * h), 1e-12 / size**2)
    return curvature * size**2, size ** (1.0 / obs.ndim)


def default_ridge(obs: Observations, prior: NumericalPrior) -> float:
    """A little ridge on every factor: it makes the problem well-posed (scale cannot wander between modes)."""
    information, entry = stiffness(obs, prior)
    return 0.02 * information / entry**2


def default_smooth(obs: Observations, prior: NumericalPrior) -> dict[int, float]:
    """Quadratic variation for each mode found smooth, none for the others."""
    information, entry = stiffness(obs, prior)
    return {n: 0.4 * information / entry**2 for n in smooth_modes(obs)}


def interelement_priors(obs: Observations, smooth: dict[int, float], ridge: float) -> dict[int, InterElementPrior]:
    """QuadraticVariation(smooth[n]) on the smooth modes and Ridge(ridge) on all."""
    out: dict[int, InterElementPrior] = {}
    for n in range(obs.ndim):
        parts: list[InterElementPrior] = []
        if smooth.get(n, 0) > 0:
            parts.append(QuadraticVariation(smooth[n]))
        if ridge > 0:
            parts.append(Ridge(ridge))
        if parts:
            out[n] = parts[0] if len(parts) == 1 else parts[0] + parts[1]  # type: ignore[operator]
    return out
