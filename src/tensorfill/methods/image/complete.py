"""Complete a field by its recipe: a fit on a fixed schedule, then passes of self-similarity.

Not every picture has look-alikes. Whether passes pay or a long fit alone, a few validation entries tell. A few hundred
are noisy, so it is not decided by which error is less: `stacking_weight` averages both answers, by least squares, and
draws the weight to the passes as far as its standard error goes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.methods.image.non_local import Refinement, available_threads, default_denoiser, default_sigmas
from tensorfill.methods.image.recipe import (
    SPARE,
    FieldRecipe,
    can_refine,
    default_solver,
    field_problem,
    schedule,
    start_recipe,
)
from tensorfill.methods.image.windows import InWindows
from tensorfill.models.unseen import fill_unseen
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status
from tensorfill.solvers.fit import ENDED_EARLY, solve
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.loop import run as run_loop

Array = NDArray[Any]

HELD_OUT = 0.04  # share of the observed entries that decide
# The first pass lowers the mean square at held-out entries to .2 to .92 of what it was on those crops and on walls of
# equal tiles. Above that, a long fit alone is tried on the same entries.
WORTH = 0.92
WITHOUT_PASSES = 1 / 50  # prior variance of the weight of a long fit alone: how often it is the better one
LEAST_WEIGHT = 0.05  # below that an answer is left out of an average


def complete_field(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """Fit, then make the passes; validation entries weigh what differs from picture to picture and was not given."""
    began = time.monotonic()
    cut_short = run.max_iter is not None and run.max_iter < schedule(recipe.solver)
    if recipe.passes == 0 or cut_short or not can_refine(obs, recipe.prior, tuple(recipe.smooth)):
        return fit_field(obs, recipe, run, method)
    usual = recipe.solver == default_solver(starts=True)
    if not usual or obs.share < SPARE or recipe.passes == 1 or recipe.proven:
        done = _start(obs, recipe, run, method)
        return refine(done, recipe, run.rest(began)) if completed(done) else done

    training, validation = obs.split(HELD_OUT, np.random.default_rng([run.seed, 1]))
    start = once = _start(training, recipe, run, method)
    if completed(start):
        once = refine(start, recipe, replace(run.rest(began), checkpoint=None, resume=False), stop=1)
    if not completed(once):
        return _whole(once, obs, recipe)
    before, after = (float(np.mean((c.at(validation.indices) - validation.values) ** 2)) for c in (start, once))
    if after >= WORTH * before:
        return _weigh_passes(start, once, obs, validation, recipe, run, began)
    # all passes anew: one that did not see the validation entries is still seen in the last (.4 dB on one mask in five)
    done = refine(_whole(start, obs, recipe), recipe, run.rest(began))
    return replace(done, error=float(np.sqrt(after)))  # of the first pass: the others lower it


def _start(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """Fit what the passes start from: where next to nothing is observed, the mean of fits with and without total
    variation, as it draws steps into slopes but holds texture together.
    """
    began, own = time.monotonic(), start_recipe(obs, recipe)
    done = fit_field(obs, own, run, method)
    usual = recipe.solver == default_solver(starts=True) and "tv" not in own.given
    if not usual or own.tv == 0 or obs.share >= SPARE or not completed(done):
        return done
    rest = replace(run.rest(began), checkpoint=run.section("without tv"))
    plain = fit_field(obs, replace(own, tv=0.0), rest, method)
    return average(done, plain, 0.5) if completed(plain) else replace(done, status=plain.status)


def _weigh_passes(
    start: Completion,
    once: Completion,
    obs: Observations,
    validation: Observations,
    recipe: FieldRecipe,
    run: Run,
    began: float,
) -> Completion:
    """Average passes with a long fit alone: a picture may be low-rank as a whole and have no look-alikes. Both are made
    twice: without the validation entries to weigh them, then with all.
    """
    whole = _whole(start, obs, recipe)
    alone = replace(recipe, solver=default_solver(starts=False), passes=0)
    unsaved = replace(run, checkpoint=None, resume=False)
    long = fit_field(once.observations, alone, unsaved.rest(began), whole.method)
    passed = refine(once, recipe, unsaved.rest(began), start=1) if completed(long) else long
    if not completed(passed):
        return replace(whole, status=passed.status)
    weight = stacking_weight(passed, long, validation, WITHOUT_PASSES)
    off = passed.at(validation.indices) * (1 - weight) + long.at(validation.indices) * weight - validation.values
    error = float(np.sqrt(np.mean(off**2)))
    done = whole
    if weight < 1 - LEAST_WEIGHT:
        done = refine(whole, recipe, run.rest(began))
    if weight > LEAST_WEIGHT and completed(done):
        own = replace(run.rest(began), checkpoint=run.section("alone"))
        long = fit_field(whole.observations, alone, own, whole.method)
        done = average(done, long, weight) if weight < 1 - LEAST_WEIGHT and completed(long) else long
    return replace(done, error=error)


def stacking_weight(usual: Completion, other: Completion, validation: Observations, variance: float) -> float:
    """Weight of the other answer in an average with the usual one, 0 to 1: least squares on the validation entries,
    shrunk to 0 by its standard error against the prior `variance`.
    """
    t = validation.values.astype(np.float64)
    off = t - usual.at(validation.indices)
    apart = other.at(validation.indices) - usual.at(validation.indices)
    squares = float(apart @ apart)
    if squares == 0:
        return 0.0
    weight = float(off @ apart) / squares
    error = np.square((off - weight * apart) * apart).sum() / squares**2
    return float(np.clip(weight * variance / (variance + error), 0.0, 1.0))


def average(done: Completion, other: Completion, weight: float) -> Completion:
    """Move the estimate of a completion by `weight` towards that of another; its history holds both."""
    X = done.full + weight * (other.full - done.full)
    rows = _append(done.history, other.history)
    settings = {**done.settings, "weights": [*done.settings.get("weights", []), round(weight, 3)]}
    return replace(done.with_estimate(X), history=rows, status=other.status, settings=settings)


def _append(first: History, second: History) -> History:
    """The rows of both, iterations and seconds counted on."""
    k, seconds = first.rows[-1].iteration, first.rows[-1].seconds
    more = tuple(replace(r, iteration=k + r.iteration, seconds=seconds + r.seconds) for r in second.rows[1:])
    return History(first.rows + more)


def _whole(done: Completion, obs: Observations, recipe: FieldRecipe) -> Completion:
    """A completion of the training entries as one of all."""
    return replace(done, observations=obs, problem=field_problem(obs, recipe))


def completed(done: Completion) -> bool:
    """Did this part of a run end well, and in its own time?"""
    return done.status.ok and done.status not in ENDED_EARLY


def fit_field(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """Fit the low-rank model alone, without passes."""
    problem = field_problem(obs, recipe)
    limit = schedule(recipe.solver)
    done = solve(
        problem,
        recipe.solver,
        init="constant",
        stopping=Stopping(max_iter=limit if run.max_iter is None else run.max_iter, tol=0.0, seconds=run.seconds),
        seed=run.seed,
        callback=run.callback,
        checkpoint=run.checkpoint,
        resume=run.resume,
    )
    settings = {"rank": recipe.rank, "smooth": {str(n): v for n, v in recipe.smooth.items()}, "ridge": recipe.ridge}
    settings |= {
        "tv": recipe.tv,
        "passes": 0,  # so far
        "noise": recipe.noise,
        "solver": recipe.solver.name,
        "seed": run.seed,
    }
    # along smooth modes the fit itself has drawn the rows never seen to their neighbours
    factors = fill_unseen(obs, done.factors or [], leave=tuple(recipe.smooth))
    # a field is fitted on a schedule that was set by how good it is then, not by how low the objective
    status = Status.FINISHED if done.status is Status.SCHEDULE and limit == schedule(recipe.solver) else done.status
    return replace(done.with_factors(factors), method=method, settings=settings, status=status)


def refine(
    done: Completion,
    recipe: FieldRecipe,
    run: Run,
    *,
    start: int = 0,
    stop: int | None = None,
    in_windows: bool = False,
) -> Completion:
    """Make passes of self-similarity over the first two smooth modes of a completion, from number `start` to before
    `stop`; its history goes on. `run` says how long the passes may take.
    """
    obs = done.observations
    first, second = sorted(tuple(recipe.smooth)[:2])
    t = obs.values.astype(np.float64)
    passes = Refinement(
        t,
        obs.mask,
        done.full,
        default_denoiser(obs.share, (first, second), recipe.frames),
        default_sigmas(t, recipe.passes, share=obs.share),
        noise=recipe.noise,
        turned=recipe.passes // 2,
        coarse=recipe.passes // 4 * 2,
        first=start,
        stop=stop,
        threads=available_threads(),
    )
    procedure = InWindows.of(passes) if in_windows else passes
    steps = recipe.passes * (procedure.steps if isinstance(procedure, InWindows) else 1)
    outcome = run_loop(
        procedure,
        stopping=Stopping(max_iter=steps, tol=0.0, seconds=run.seconds),
        rng=np.random.default_rng(run.seed),
        callback=run.callback,
        checkpoint=run.section("refine"),
        resume=run.resume,
        fingerprint=f"refine {obs.shape} {obs.nnz} {float(done.full.sum())!r} {passes.sigmas}",
    )
    settings = {**done.settings, "passes": int(outcome.state.numbers["k"])}
    refined = done.with_estimate(outcome.state.arrays["X"])
    return replace(refined, history=_append(done.history, outcome.history), status=outcome.status, settings=settings)
