"""The recipe for fields: pictures, video, cubes: tensors with two smooth modes or more.

Signed factors under a loss that reaches below zero, quadratic variation on the factors of the smooth modes, a little
ridge on all, and a little isotropic total variation on X itself; Adam on a cosine schedule from one constant component
and small noise. Where passes of self-similarity follow, a quarter of the steps is enough: the passes forget the start,
and a fit that has gone further hands its own texture to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tensorfill.choose.defaults import stiffness
from tensorfill.choose.non_local import Refinement, available_threads, default_denoiser, default_sigmas
from tensorfill.choose.windows import InWindows
from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import penalties
from tensorfill.interelement.selfsimilarity import SelfSimilarity
from tensorfill.interelement.tensorspace import IsotropicTV, opponent
from tensorfill.methods.base import Run
from tensorfill.models.init import typical
from tensorfill.models.unseen import fill_unseen
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status
from tensorfill.solvers.adam import Adam
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import ENDED_EARLY, solve
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.loop import run as run_loop

# Dimensionless: times what one entry tells about itself (`defaults.stiffness`). Tuned on three pictures at 60, 90 and
# 99 % missing with masks of their own; nothing here looks at what is being scored.
RIDGE, SMOOTH, TV = 0.004, 0.4, 0.006
RATE, EVALUATIONS = 0.008, 600  # of a fit that stands alone
START_RATE, START_EVALUATIONS = 0.016, 150  # of one that passes of self-similarity start from, on data without noise
# Passes of self-similarity by effort. More than 10 add nothing: `non_local` names the data they were set on.
PASSES = {"quick": 2, "normal": 6, "best": 10}
# Do passes pay? The first one lowers the mean square at held-out entries to .4 to .86 of what it was on photographs
# (house, tree, barbara, jellybeans, bricks; 60 to 95 % missing), and leaves it on a drawn facade, where the long fit
# alone is 4 dB better.
HELD_OUT, WORTH = 0.04, 0.92
SPARE = 0.03  # share observed below which all entries are needed
GREY = 1 / 128  # one grey level of an ordinary picture, relative to a typical value


@dataclass(frozen=True)
class FieldRecipe:
    """What to fit: every field decided, by the user or by the defaults."""

    prior: NumericalPrior
    rank: int
    smooth: Mapping[int, float]
    ridge: float
    tv: float
    solver: Solver
    passes: int
    noise: float = 0.0  # standard deviation of the data, for self-similarity; 0: they are exact
    frames: int | None = None  # the mode that is time, of a video
    proven: bool = False  # is it known that passes pay?


def field_recipe(
    obs: Observations,
    prior: NumericalPrior,
    *,
    prior_given: bool,
    modes: tuple[int, ...],
    smooth: Mapping[int, float] | None,
    rank: int,
    ridge: float | None,
    tv: float | None,
    solver: Solver | str | None,
    passes: int,
    strength: float = 1.0,
    noise: float = 0.0,
) -> FieldRecipe:
    """What the user gave, and the defaults for the rest; `modes` are the smooth ones. `strength` multiplies the weights
    that were not given: more for noisy data.
    """
    information, entry = stiffness(obs, prior)
    if not prior_given and hasattr(prior, "floor"):
        # Signed factors overshoot below zero at first: a loss that is straight below one grey level lets them pass.
        prior = replace(prior, floor=GREY * entry**obs.ndim)  # type: ignore[call-arg]
    unit = information / entry**2
    # With few entries observed the same total variation outweighs them: let it fall with their share.
    few = min(1.0, (obs.share / 0.1) ** 0.7)
    return FieldRecipe(
        prior,
        rank,
        dict.fromkeys(modes, SMOOTH * unit * strength) if smooth is None else smooth,
        RIDGE * unit * strength if ridge is None else float(ridge),
        TV * few * strength if tv is None else float(tv),
        default_solver(starts=passes > 0 and noise == 0 and can_refine(obs, prior, modes))
        if solver is None
        else SOLVERS.make(solver),
        passes,
        noise,
    )


def default_solver(*, starts: bool) -> Solver:
    """Adam: on its long schedule, or on the short one of a fit that only `starts` passes of self-similarity."""
    if starts:
        return Adam(rate=START_RATE, steps=START_EVALUATIONS)
    return Adam(rate=RATE, steps=EVALUATIONS)


def field_problem(obs: Observations, recipe: FieldRecipe) -> Problem:
    """The problem this recipe minimises, in float32 unless squares of the data would leave its range."""
    size = typical(obs, recipe.prior)[1]
    return Problem(
        obs,
        rank=recipe.rank,
        prior=recipe.prior,
        interelement=penalties(obs.ndim, recipe.smooth, recipe.ridge),
        tensorspace=tensorspace_tv(obs, tuple(recipe.smooth), recipe.tv, recipe.prior),
        dtype=np.float32 if 1e-14 < size < 1e14 else np.float64,
    )


def tensorspace_tv(
    obs: Observations, modes: tuple[int, ...], weight: float, prior: NumericalPrior
) -> IsotropicTV | None:
    """TV over the first two smooth modes, in opponent colours if the data are of the kind of red, green and blue."""
    if weight <= 0 or len(modes) < 2:
        return None
    colours = has_colours(obs, modes)
    information, entry = stiffness(obs, prior)
    size = entry**obs.ndim
    return IsotropicTV(
        weight * information / size,
        modes=modes[:2],
        corner=GREY * size,
        transform=opponent(2.0) if colours else None,
        transform_mode=obs.ndim - 1 if colours else None,
    )


def has_colours(obs: Observations, modes: tuple[int, ...]) -> bool:
    """Red, green and blue: the last mode has three entries, positions come before it, and nothing is below zero. Three
    sensors, or three days, are no colours.
    """
    last = obs.ndim - 1
    return obs.shape[last] == 3 and last not in modes and bool(obs.values.min() >= 0)


def schedule(solver: Solver) -> int:
    """How many iterations a field is given."""
    return int(getattr(solver, "steps", EVALUATIONS))


def complete_field(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """Fit on a fixed schedule, then make the passes. If they are worth it: a picture that is low-rank as a whole, such
    as a facade, is better served by a long fit alone. The first pass decides, on a few entries that the fit and this
    pass do not see; at 99 % missing there are none to spare.
    """
    cut_short = run.max_iter is not None and run.max_iter < schedule(recipe.solver)
    refines = recipe.passes > 0 and not cut_short and can_refine(obs, recipe.prior, tuple(recipe.smooth))
    usual = recipe.solver == default_solver(starts=True) and recipe.passes > 1
    decides = refines and usual and obs.share >= SPARE and not recipe.proven
    if not decides:
        done = fitted(obs, recipe, run, method)
        return refined(done, recipe, rest(run, done)) if refines and goes_on(done) else done
    kept, aside = obs.split(HELD_OUT, np.random.default_rng([run.seed, 1]))
    done = fitted(kept, recipe, run, method)
    whole = partial(replace, observations=obs, problem=field_problem(obs, recipe))
    if not goes_on(done):
        return whole(done)
    once = refined(done, recipe, replace(rest(run, done), checkpoint=None, resume=False), stop=1)
    if not goes_on(once):
        return whole(once)
    before, after = (float(np.mean((c.at(aside.indices) - aside.values) ** 2)) for c in (done, once))
    if after < WORTH * before:
        done = refined(whole(once), recipe, rest(run, once), start=1)
        return replace(done, error=float(np.sqrt(after)))  # of the first pass: the others lower it
    alone = replace(recipe, solver=default_solver(starts=False), passes=0)
    done = fitted(obs, alone, replace(rest(run, once), checkpoint=run.section("alone")), method)
    return replace(done, error=float(np.sqrt(before)))


def goes_on(done: Completion) -> bool:
    """Did this part of a run end well, and in its own time?"""
    return done.status.ok and done.status not in ENDED_EARLY


def rest(run: Run, done: Completion) -> Run:
    """The run after what is done."""
    return run if run.seconds is None else replace(run, seconds=max(run.seconds - done.seconds, 1e-9))


def fitted(obs: Observations, recipe: FieldRecipe, run: Run, method: str) -> Completion:
    """The fit alone, without passes."""
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


def can_refine(obs: Observations, prior: NumericalPrior, modes: tuple[int, ...]) -> bool:
    """Can self-similarity serve? It needs two modes that are positions, room for a patch, and values to compare: a yes
    or a no is none.
    """
    if len(modes) < 2 or np.isfinite(prior.t_domain.high):
        return False
    return min(obs.shape[m] for m in modes[:2]) >= SelfSimilarity.patch


def refined(
    done: Completion,
    recipe: FieldRecipe,
    run: Run,
    *,
    start: int = 0,
    stop: int | None = None,
    in_windows: bool = False,
) -> Completion:
    """The completion after passes of self-similarity over its first two smooth modes, from number `start` to before
    `stop`; its history goes on. `run` says how long the passes may take.
    """
    obs, rows = done.observations, done.history.rows
    first, second = sorted(tuple(recipe.smooth)[:2])
    t = obs.values.astype(np.float64)
    passes = Refinement(
        t,
        obs.mask,
        done.full,
        default_denoiser(obs.share, (first, second), recipe.passes, recipe.frames),
        default_sigmas(t, recipe.passes, share=obs.share),
        noise=recipe.noise,
        turned=recipe.passes // 2,
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
    k, seconds = rows[-1].iteration, rows[-1].seconds
    more = tuple(replace(r, iteration=k + r.iteration, seconds=seconds + r.seconds) for r in outcome.history.rows[1:])
    X, ran = outcome.state.arrays["X"], int(outcome.state.numbers["k"])
    settings = {**done.settings, "passes": ran}
    return replace(done.with_estimate(X), history=History(rows + more), status=outcome.status, settings=settings)
