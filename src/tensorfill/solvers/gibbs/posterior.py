"""From kept draws to a posterior, and the rank that a sampler has where none is given."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.models.emission import Emission
from tensorfill.models.posterior import Posterior
from tensorfill.solvers.gibbs.convergence import summary
from tensorfill.solvers.gibbs.likelihoods import Likelihood, ceiling
from tensorfill.solvers.gibbs.sampler import Gibbs
from tensorfill.solvers.loop import Outcome

RANK = 20  # of a matrix
# Of tensors. Hangzhou set A, whole days missing, masks of seeds 2000 to 2003: MAPE .181 -> .172, twice the time
RANK_OF_TENSORS = 40
# Observations for each number of the factors from which on twice that rank pays. Hangzhou, RMSE at rank 40 and 80: 24.4
# and 23.4 with 40 % of the entries hidden, 28.7 and 27.7 with 40 % of the days (7.6 for each number), but 28.0 and 28.0
# with 80 % of the entries (2.5); 2.6 times the time
PLENTY = 5
Kind = tuple[Emission, Likelihood, str]  # how data follow from the model, the same for the sampler, and both in words


def make_posterior(
    obs: Observations, kinds: Sequence[Kind], gibbs: Gibbs, outcome: Outcome, noise: int | str | None
) -> Posterior:
    """The draws that the sampler kept, as a posterior."""
    draws, means, parameters, units = gibbs.kept(outcome.state)
    emission = kinds[0][0]
    numbers = summary(gibbs.trace(outcome.state)) | {
        "steps": int(outcome.state.numbers["k"]),
        "chains": gibbs.chains,
        "rank": gibbs.rank,
        "likelihood": " and ".join(words for _, _, words in kinds),
    }
    return Posterior(
        obs.shape,
        np.stack(draws),
        parameters,
        emission,
        np.stack(means) if means else None,
        gibbs.sequence[-1],
        ceiling(obs, emission),
        numbers,
        tuple(other for other, _, _ in kinds[1:]),
        units.astype(np.int8) if len(kinds) > 1 else None,
        obs.mode(noise) if noise is not None and parameters.ndim > 1 else None,
    )


def default_rank(shape: Sequence[int], observed: int) -> int:
    """Components beside the main effects: as many as the data bear, and no more than any tensor of that shape has."""
    rank = RANK if len(shape) == 2 else RANK_OF_TENSORS
    if len(shape) > 2 and observed >= PLENTY * 2 * rank * sum(shape):
        rank *= 2
    return min(rank, math.prod(shape) // max(shape))
