"""Where the noise of counts turns: below it counts scatter like Poisson's, above it in proportion to their size.

Counts of mean m and variance m + m^2 / bend (a negative binomial) have even noise after asinh(sqrt(t / bend)). A short
chain of low rank on square roots tells the means; the bend is the one under which the data are likeliest around them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.models.posterior import Posterior
from tensorfill.solvers.entries import entries
from tensorfill.solvers.gibbs.likelihoods import COUNT_SHIFT, family
from tensorfill.solvers.gibbs.sampler import Gibbs
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.loop import run as run_loop
from tensorfill.typing import Array

MOST = 2**17  # observations that are looked at
RANK, BURN, DRAWS = 10, 12, 12  # the means need not be the best: a few per cent of a whole run's time
BENDS = np.geomspace(0.5, 1e6, 64)  # from logarithms alone to square roots alone


def bend_of(obs: Observations, smooth: frozenset[int], threads: int | None = None) -> float:
    """The bend of these counts."""
    if obs.nnz > MOST:
        some = np.sort(np.random.default_rng(0).choice(obs.nnz, MOST, replace=False))
        weights = None if obs.weights is None else obs.weights[some]
        obs = replace(obs, indices=obs.indices[some], values=obs.values[some], weights=weights, source=None)
    emission, likelihood, _ = family(obs, None, "sqrt")
    gibbs = Gibbs(entries(obs, threads), (likelihood,), RANK, smooth, BURN, DRAWS, DRAWS)
    outcome = run_loop(gibbs, stopping=Stopping(tol=0.0), rng=np.random.default_rng(0))
    draws, _, parameters, _ = gibbs.kept(outcome.state)
    mean = Posterior(obs.shape, np.stack(draws), parameters, emission).at(obs.indices)
    return most_likely(np.asarray(obs.values, dtype=np.float64), mean, obs.weights)


def most_likely(t: Array, mean: Array, weights: Array | None = None) -> float:
    """The bend, of BENDS, under which t is likeliest: normal around the mean in the transformed unit (Box and Cox)."""
    t, m = t + COUNT_SHIFT, np.maximum(mean, 0) + COUNT_SHIFT
    loss = []
    for bend in BENDS:
        square = (np.arcsinh(np.sqrt(t / bend)) - np.arcsinh(np.sqrt(m / bend))) ** 2
        slope = np.log(t * (t + bend))  # -2 ln of d asinh(sqrt(t / bend)) / dt, but for a constant
        loss.append(np.log(np.average(square, weights=weights)) + np.average(slope, weights=weights))
    return float(BENDS[int(np.argmin(loss))])
