"""The recipe for tables: tensors whose modes are not lines of pixels. Held-out entries decide everything.

A few starts differ in rank and ridge. All begin at the per-mode means, so iteration 0 is that model; a fit must beat it
on held-out entries by more than chance, or the means are what is returned. The winner is fitted again to all entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.completion import Completion
from tensorfill.data.observations import Observations
from tensorfill.defaults import interelement_priors
from tensorfill.methods.base import Run
from tensorfill.models.cp import CP
from tensorfill.models.init import initial_factors
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.record import History, Status
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import Fit, solve
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.loop import run as run_loop

Array = NDArray[Any]

FEWEST = 30  # with fewer observations nothing can be held out: the means it is
STOPPING = Stopping(max_iter=200, tol=1e-7, patience=5)


@dataclass(frozen=True)
class Recipe:
    """What to fit: every field decided, by the user or by the defaults."""

    prior: NumericalPrior
    rank: int
    smooth: Mapping[int, float]
    ridge: float
    solver: Solver
    held_out: float
    starts: int
    rank_given: bool = False
    ridge_given: bool = False

    def variants(self) -> list[tuple[int, float]]:
        """(rank, ridge) of each start: as chosen, stiffer, smaller; what the user gave stays as it is."""
        smaller = self.rank if self.rank_given else max(2, self.rank // 3)
        stiffer = self.ridge if self.ridge_given else 10 * self.ridge
        ladder = [(self.rank, self.ridge), (self.rank, stiffer), (smaller, self.ridge), (smaller, stiffer)]
        return [ladder[k % len(ladder)] for k in range(self.starts)]


def complete_table(obs: Observations, recipe: Recipe, run: Run, method: str) -> Completion:
    """Fit, choose and refit."""
    if obs.nnz < FEWEST or recipe.held_out == 0:
        return _without_held_out(obs, recipe, run, method)
    split_rng, *rngs = (np.random.default_rng(s) for s in np.random.SeedSequence(run.seed).spawn(1 + recipe.starts))
    kept, aside = obs.split(recipe.held_out, split_rng)
    stopping = replace(STOPPING, max_iter=run.max_iter or STOPPING.max_iter, seconds=run.seconds)
    tried = []
    for k, (rank, ridge) in enumerate(recipe.variants()):
        problem = _problem(obs, recipe, rank, ridge, quiet=k > 0)
        fit = Fit(problem.on(kept), recipe.solver, initial_factors(problem.on(kept), "means", rngs[k]), aside)
        outcome = run_loop(fit, stopping=stopping, rng=rngs[k], callback=run.callback, **_file(run, k, fit))
        tried.append((fit.score(outcome.state), k, problem, fit, outcome))
        if outcome.status in (Status.INTERRUPTED, Status.CALLBACK):
            break
    score, k, problem, fit, outcome = min(tried, key=lambda item: item[:2])
    iterations = outcome.best_iteration
    if not _beats_start(fit, outcome, aside):
        iterations, score = 0, fit.score(run_start(fit))
    again = _again(problem, recipe, run, k, iterations, outcome)
    settings = {
        "rank": problem.rank,
        "ridge": recipe.variants()[k][1],
        "smooth": {str(n): v for n, v in recipe.smooth.items()},
    }
    settings |= {"solver": recipe.solver.name, "held_out": recipe.held_out, "starts": recipe.starts, "seed": run.seed}
    status = outcome.status if outcome.status in (Status.INTERRUPTED, Status.TIME, Status.CALLBACK) else again.status
    return replace(again, method=method, held_out=score, settings=settings, status=status, history=outcome.history)


def _problem(obs: Observations, recipe: Recipe, rank: int, ridge: float, quiet: bool) -> Problem:
    penalties = interelement_priors(obs, dict(recipe.smooth), ridge)
    return Problem(obs, rank=rank, prior=recipe.prior, interelement=penalties, dtype=np.float64, quiet=quiet)


def run_start(fit: Fit) -> Any:
    """The state of iteration 0."""
    return fit.init(np.random.default_rng(0))


def _beats_start(fit: Fit, outcome: Outcome, aside: Observations) -> bool:
    """Is the fit better than the means on held-out entries, by more than one standard error of the difference?"""
    prior, t = fit.problem.prior, aside.values.astype(np.float64)
    before, after = (
        prior.nll(t, CP(factors).at(aside.indices).astype(np.float64))  # type: ignore[union-attr]
        for factors in (run_start(fit).factors, outcome.state.factors)
    )
    gain = before - after
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def _again(problem: Problem, recipe: Recipe, run: Run, k: int, iterations: int, outcome: Outcome) -> Completion:
    """The winner on all observations, for as many iterations as served it best; at most as long as it took before."""
    rng = np.random.default_rng(np.random.SeedSequence(run.seed).spawn(1 + recipe.starts)[1 + k])
    done = solve(
        problem,
        recipe.solver,
        init=initial_factors(problem, "means", rng),
        stopping=Stopping(max_iter=iterations, tol=0.0),
        seed=run.seed,
    )
    status = Status.HELD_OUT if done.status in (Status.ITERATIONS, Status.FINISHED) else done.status
    return replace(done, status=status, history=History(outcome.history.rows))


def _without_held_out(obs: Observations, recipe: Recipe, run: Run, method: str) -> Completion:
    """Too few observations to hold any out (or the user said so): a short fit if the user did, else the means."""
    problem = _problem(obs, recipe, recipe.rank, recipe.ridge, quiet=False)
    limit = 0 if recipe.held_out > 0 else (run.max_iter or STOPPING.max_iter)
    done = solve(
        problem,
        recipe.solver,
        init="means",
        stopping=Stopping(max_iter=limit, tol=STOPPING.tol, seconds=run.seconds),
        seed=run.seed,
        callback=run.callback,
        checkpoint=run.checkpoint,
        resume=run.resume,
    )
    return replace(done, method=method)


def _file(run: Run, k: int, fit: Fit) -> dict[str, Any]:
    """Each start has a checkpoint of its own beside the one named: run.npz.0, run.npz.1, ..."""
    if run.checkpoint is None:
        return {}
    name = f"{fit.problem.fingerprint()} {fit.solver!r} {run.seed} {k}"
    return {"checkpoint": f"{run.checkpoint}.{k}", "resume": run.resume, "fingerprint": name}


def make_solver(given: Solver | str | None) -> Solver:
    """The user's, or L-BFGS-B in short bursts, so that held-out entries are looked at often."""
    from tensorfill.solvers.lbfgsb import LBFGSB

    return LBFGSB(burst=5, memory=10) if given is None else SOLVERS.make(given)
