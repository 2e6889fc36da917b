"""How much counts vary beyond Poisson's: the r of variance = mean + mean^2 / r."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.methods.defaults import prior_for
from tensorfill.numerical.base import NumericalPrior
from tensorfill.typing import Array

DISPERSIONS = np.geomspace(0.1, 1e4, 41)  # from waiting times to Poisson's; steps of a third: weights hardly change
LEAST = 1e-3  # of the mean of all: no mean of a single entry is lower


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
