"""Complete a field by its recipe: a fit on a fixed schedule, then passes of self-similarity.

Whether passes suit the data at all is decided by the contest of `auto`, where models without them compete.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.methods.image.non_local import Refinement, available_threads, default_denoiser, default_sigmas
from tensorfill.methods.image.pyramid import coarse_to_fine, doubled, halved
from tensorfill.methods.image.recipe import FieldRecipe, can_refine, field_problem, schedule, start_recipe
from tensorfill.methods.image.windows import InWindows
from tensorfill.models.unseen import fill_unseen
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status
from tensorfill.solvers.base import State
from tensorfill.solvers.fit import ENDED_EARLY, solve
from tensorfill.solvers.loop import Stopping
from tensorfill.typing import Array

# Share observed below which a picture of half the size is completed first, and no entry is spared to weigh starts.
FEW = 0.08
SMALLEST = 16  # pixels: least side of a picture that is worth completing for that
HELD_OUT = 0.1  # of the entries, by which starts are weighed


def complete_field(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """Make the passes from their start, or the fit alone where there are none."""
    began = time.monotonic()
    cut_short = run.max_iter is not None and run.max_iter < schedule(recipe.solver)
    if recipe.passes == 0 or cut_short or not can_refine(obs, recipe.prior, tuple(recipe.smooth)):
        return fit_field(obs, recipe, run, method)
    start = _start_of_picture if recipe.exact and obs.weights is None else _fit_to_start
    done = start(obs, recipe, run, method)
    return refine(done, recipe, run.rest(began)) if completed(done) else done


def _fit_to_start(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    return fit_field(obs, start_recipe(obs, recipe), run, method)


def _start_of_picture(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """A fit, which knows its long lines (courses of bricks: 2 to 3 dB), and a rough fill, which does not mind gaps in a
    grid (one colour per pixel behind a Bayer mask: 1 to 5 dB), weighed by entries that are held out. With few entries
    observed: the fit, and the picture completed at half the size.
    """
    began, few = time.monotonic(), obs.share < FEW
    kept = obs if few else obs.split(HELD_OUT, np.random.default_rng(run.seed))[0]
    done = replace(_fit_to_start(kept, recipe, run, method), observations=obs)
    if not completed(done):
        return done
    if few:
        return _with_half_the_size(done, recipe, run.rest(began))
    T, modes, held_out = obs.dense(0.0, np.float64), positions(recipe), obs.mask & ~kept.mask
    fitted = _brought(done.full, T, kept.mask, modes)[held_out]
    rough = coarse_to_fine(T, kept.mask, modes)[held_out]
    apart = fitted - rough
    weight = np.clip(apart @ (T[held_out] - rough) / max(apart @ apart, np.finfo(float).tiny), 0.0, 1.0)
    fitted, rough = _brought(done.full, T, obs.mask, modes), coarse_to_fine(T, obs.mask, modes)
    return done.with_estimate(rough + weight * (fitted - rough))


def _brought(X: Array, T: Array, mask: NDArray[np.bool_], modes: tuple[int, int]) -> Array:
    """X brought to what the mask shows of T, from coarse to fine."""
    return X + coarse_to_fine(T - X, mask, modes)


def _with_half_the_size(done: Completion, recipe: FieldRecipe, run: Run) -> Completion:
    """The mean of the fit and of the picture completed at half the size, where more of each patch is known, so that
    look-alikes are found.
    """
    obs, modes = done.observations, positions(recipe)
    T = obs.dense(0.0, np.float64)
    X = _brought(done.full, T, obs.mask, modes)
    if min(obs.shape[m] for m in modes) < 2 * SMALLEST:
        return done.with_estimate(X)
    half = Observations.from_dense(*halved(T, obs.mask, modes))
    own = replace(showing(run, X), checkpoint=None, resume=False)  # it is soon done again
    small = complete_field(half, recipe, own, done.method)
    X = (X + np.where(obs.mask, T, doubled(small.full, obs.shape, modes))) / 2
    return replace(done.with_estimate(X), status=done.status if completed(small) else small.status)


def showing(run: Run, X: Array) -> Run:
    """The run with a callback that is shown the whole picture, as it is by now, while a part of it is completed."""
    callback = run.callback
    if callback is None:
        return run
    return replace(run, callback=lambda state, history: callback(State({"X": X}, state.numbers), history))


def positions(recipe: FieldRecipe) -> tuple[int, int]:
    """Rows and columns."""
    first, second = sorted(tuple(recipe.smooth)[:2])
    return first, second


def _append(first: History, second: History) -> History:
    """The rows of both, iterations and seconds counted on."""
    k, seconds = first.rows[-1].iteration, first.rows[-1].seconds
    more = tuple(replace(r, iteration=k + r.iteration, seconds=seconds + r.seconds) for r in second.rows[1:])
    return History(first.rows + more)


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


def refine(done: Completion, recipe: FieldRecipe, run: Run, *, in_windows: bool = False) -> Completion:
    """Make passes of self-similarity over the first two smooth modes of a completion; its history goes on. `run` says
    how long the passes may take.
    """
    obs = done.observations
    t = obs.values.astype(np.float64)
    passes = Refinement(
        t,
        obs.mask,
        done.full,
        default_denoiser(obs.share, positions(recipe), recipe.frames),
        default_sigmas(t, recipe.passes, share=obs.share),
        noise=recipe.noise,
        turned=recipe.passes // 2,
        coarse=recipe.passes // 4 * 2,
        threads=available_threads(),
    )
    procedure = InWindows.of(passes) if in_windows else passes
    steps = recipe.passes * (procedure.steps if isinstance(procedure, InWindows) else 1)
    fingerprint = f"refine {obs.shape} {obs.nnz} {float(done.full.sum())!r} {passes.sigmas}"
    stopping = Stopping(max_iter=steps, tol=0.0, seconds=run.seconds)
    own = replace(run, checkpoint=run.section("refine"))
    outcome = own.drive(procedure, stopping, np.random.default_rng(run.seed), fingerprint)
    settings = {**done.settings, "passes": int(outcome.state.numbers["k"])}
    refined = done.with_estimate(outcome.state.arrays["X"])
    return replace(refined, history=_append(done.history, outcome.history), status=outcome.status, settings=settings)
