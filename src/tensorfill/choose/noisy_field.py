"""Noisy fields: held-out entries decide how stiff the priors are, and whether self-similarity serves.

The weights of a clean picture would follow the noise. A tenth of the entries is set aside; stiffer and stiffer fits of
half the usual length compete on them, then the passes of self-similarity, which are told how large the noise is. What
does not beat the per-mode means by more than chance is no field: the caller has another recipe.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.field import FieldRecipe, can_refine, complete_field, refined
from tensorfill.data.gaps import split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.models.cp import CP
from tensorfill.models.init import initial_factors
from tensorfill.problem import Problem
from tensorfill.result.completion import Completion
from tensorfill.solvers.adam import Adam
from tensorfill.solvers.fit import ENDED_EARLY

Array = NDArray[Any]

Rival = Callable[[Observations, Run], Completion]

STRENGTHS = (1.0, 3.0, 9.0, 27.0, 81.0)


def complete_noisy_field(
    obs: Observations,
    make: Callable[..., FieldRecipe],
    run: Run,
    method: str,
    *,
    share: float,
    sure: bool = False,
    rival: Rival | None = None,
) -> Completion | None:
    """The field, its weights decided on a share of the entries set aside; None if it is not one after all: the per-mode
    means are as good, or the `rival` is better.

    `make(strength=...)` gives the recipe with that strength. `sure` that it is a field: do not ask the means.
    """
    began = time.monotonic()

    def remaining(name: str = "") -> Run:
        """The rest of the time; each trial has a checkpoint of its own beside the one named."""
        left = None if run.seconds is None else max(run.seconds - (time.monotonic() - began), 1e-9)
        file = f"{run.checkpoint}.{name}" if run.checkpoint is not None and name else run.checkpoint
        return replace(run, seconds=left, checkpoint=file)

    kept, aside = split_like_gaps(obs, share, np.random.default_rng([run.seed, 0]))
    best, least, strength = None, np.empty(0), 1.0
    for s in STRENGTHS:
        trial = complete_field(kept, _shorter(make(strength=s)), remaining(f"strength-{s:g}"), method)
        if trial.status in ENDED_EARLY:
            return replace(best or trial, observations=obs, status=trial.status)
        squares = squared_errors(trial.at(aside.indices), aside)
        if best is not None and squares.mean() >= least.mean():
            break
        best, least, strength = trial, squares, s
    assert best is not None
    recipe = make(strength=strength)
    if recipe.passes and can_refine(obs, recipe.prior, tuple(recipe.smooth)):
        trial = refined(best, recipe, remaining("trial"))
        if trial.status in ENDED_EARLY:
            return replace(trial, observations=obs)
        squares = squared_errors(trial.at(aside.indices), aside)
        if squares.mean() < least.mean():
            least = squares
        else:
            recipe = replace(recipe, passes=0)
    gain = squared_errors(means_at(aside, kept, recipe), aside) - least
    chance = 2 * gain.std() / np.sqrt(len(gain))  # two standard errors of the paired difference
    if not sure and not gain.mean() > chance:
        return None
    if rival is not None:
        other = rival(kept, remaining("rival"))
        if other.status in ENDED_EARLY:
            return replace(best, observations=obs, status=other.status)
        if squared_errors(other.at(aside.indices), aside).mean() < least.mean():
            return None
    done = complete_field(obs, recipe, remaining(), method)
    return replace(done, error=float(np.sqrt(least.mean())), settings={**done.settings, "strength": strength})


def _shorter(recipe: FieldRecipe) -> FieldRecipe:
    """Half as many steps, and no passes: enough to tell which weights are better."""
    solver = recipe.solver
    steps = getattr(solver, "steps", None)
    if isinstance(solver, Adam) and steps is not None:
        solver = replace(solver, steps=max(steps // 2, 1))
    return replace(recipe, solver=solver, passes=0)


def squared_errors(estimate: Array, aside: Observations) -> Array:
    """(held out,), weighted."""
    squares = (estimate.astype(np.float64) - aside.values) ** 2
    return squares if aside.weights is None else squares * aside.weights / aside.weights.mean()


def means_at(aside: Observations, kept: Observations, recipe: FieldRecipe) -> Array:
    """The fill by per-mode means of the entries kept, at those set aside: (held out,)."""
    prior = recipe.prior
    problem = Problem(kept, rank=kept.ndim, prior=prior, quiet=True)
    factors = initial_factors(problem, "means", np.random.default_rng(0), noise=0.0)
    return prior.mean(CP(factors).at(aside.indices).astype(np.float64))
