"""Every default of a low-rank fit, as a named function of the data. Each may be called to see what would be chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.data.facts import CHANNELS, kind_of_numbers
from tensorfill.data.observations import Observations
from tensorfill.models.init import typical
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.typing import Array

DISPERSIONS = np.geomspace(0.1, 1e4, 41)  # from waiting times to Poisson's; steps of a third: weights hardly change
LEAST = 1e-3  # of the mean of all: no mean of a single entry is lower
PRIOR_OF = {"yes/no": "bernoulli-logit", "counts": "poisson", "amounts": "gamma", "scale": "normal", "reals": "normal"}


def default_prior(obs: Observations) -> NumericalPrior:
    """The prior for the kind of numbers these are: see `data.facts.kind_of_numbers`."""
    return prior_for(obs, PRIOR_OF[kind_of_numbers(obs.values.astype(np.float64))])


def prior_for(obs: Observations, given: NumericalPrior | str | None) -> NumericalPrior:
    """The prior that was given, made from its name, or chosen. One made here fits the unit of the data: its free
    parameters are estimated from them (`NumericalPrior.fitted`).
    """
    if given is None:
        return default_prior(obs)
    prior = PRIORS.make(given)
    if not isinstance(given, str):
        return prior
    return prior.fitted(obs.values.astype(np.float64), weights=obs.weights)


def default_held_out(obs: Observations) -> float:
    """A fifth of the observed entries when there are few, a tenth from 5,000 on."""
    return 0.2 if obs.nnz < 5000 else 0.1


def default_rank(observed: int, shape: Sequence[int], smooth: Sequence[int] = ()) -> int:
    """Up to 300 where two modes or more are smooth (pictures: smoothness ties the numbers together), else the largest
    rank worth trying: two observations per free number, at most 80. Numbers along a smooth mode are not all free.
    """
    if len(smooth) >= 2:
        return int(min(300, max(shape) * 2))
    free = sum(length / 8 if n in smooth else length for n, length in enumerate(shape))
    return int(np.clip(observed // (2 * free), 1, 80))


def long_modes(shape: Sequence[int]) -> list[int]:
    """The modes that are more than a handful of channels, whose neighbours may be alike; all modes if none is."""
    return [n for n, length in enumerate(shape) if length > CHANNELS] or list(range(len(shape)))


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


def default_smooth(obs: Observations, prior: NumericalPrior, modes: Sequence[int]) -> dict[int, float]:
    """Quadratic variation for each of the smooth `modes`, none for the others."""
    information, entry = stiffness(obs, prior)
    return dict.fromkeys(modes, 0.4 * information / entry**2)


def dispersion(t: Array, mean: Array, weights: Array | None = None) -> float:
    """The r, of DISPERSIONS, under which counts t (k,) are likeliest around these means."""
    from scipy.special import gammaln  # slow to import

    m = np.maximum(mean, LEAST * max(float(t.mean()), LEAST))
    loss = []
    for r in DISPERSIONS:
        each = (t + r) * np.log1p(m / r) - t * np.log(m / r) - gammaln(t + r) + math.lgamma(r)
        loss.append(np.average(each, weights=weights))
    return float(DISPERSIONS[int(np.argmin(loss))])


def negative_binomial(obs: Observations, r: float) -> NumericalPrior:
    """The negative binomial with this r, its floor in the unit of its x, which is mean / r."""
    prior: Any = prior_for(obs, "negative-binomial")
    return replace(prior, r=r, floor=prior.floor / r)
