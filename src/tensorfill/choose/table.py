"""The recipe for tables: tensors whose modes are not lines of pixels. Held-out entries decide everything.

The per-mode means come first. Then fits of growing rank compete on held-out entries, each stopped when its own
held-out error no longer falls; then stiffer penalties and a few other random starts. The winner must beat the means by
more than chance, or the means are returned. From where it ended it goes on for a while with all entries.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.gaps import split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import penalties
from tensorfill.methods.base import Run
from tensorfill.models.cp import CP
from tensorfill.models.init import initial_factors
from tensorfill.models.unseen import fill_unseen
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import ENDED_EARLY, Fit, mean_loss, rms_error, solve
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.loop import run as run_loop
from tensorfill.solvers.multiplicative import Multiplicative

Array = NDArray[Any]

FEWEST = 8  # with fewer observations nothing can be held out: the means it is
HANDFUL = 60  # with fewer, each is held out once
FEW = 5000  # with fewer, one split leaves too much to chance
NOISE = 0.3  # components that start too near zero stay there for long: it is a saddle
LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 18, 26, 38, 55, 80)
STIFFER = (10.0, 100.0)  # times the default ridge, for the rank that did best
STIFF = (100.0, 30.0)  # for many components
SMOOTHER = (10.0, 100.0)  # times the default smoothness
STOPPING = Stopping(max_iter=500, tol=1e-7, patience=20)
LAST = 4  # the last fit, to all entries, goes on for a quarter of the iterations that led there
BURSTS = 4  # patience with L-BFGS-B, whose one iteration here is a burst of many


@dataclass(frozen=True)
class Recipe:
    """What to fit: every field decided, by the user or by the defaults; `rank` None means the ladder up to `most`."""

    prior: NumericalPrior
    rank: int | None
    most: int
    smooth: Mapping[int, float]
    ridge: float
    ridge_given: bool
    solver: Solver
    held_out: float
    starts: int
    smooth_given: bool = False

    def smoother(self, times: float) -> Recipe:
        """The same with `times` the smoothness."""
        return self if times == 1 else replace(self, smooth={n: times * rho for n, rho in self.smooth.items()})


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fit that took part, once per fold."""

    rank: int
    ridge: float
    smoother: float  # times the recipe's smoothness
    seed: int
    losses: Array  # of each held-out entry of every fold, weighted
    error: float  # root mean square error on them
    outcomes: tuple[Outcome, ...]

    @property
    def score(self) -> float:
        """Mean loss on held-out entries."""
        return float(self.losses.mean())

    @property
    def iterations(self) -> int:
        """How many iterations served it best: the median over folds."""
        return int(np.median([o.best_iteration for o in self.outcomes]))

    @property
    def ended_early(self) -> Status | None:
        """Why the whole contest should end now, if it should."""
        return next((o.status for o in self.outcomes if o.status in ENDED_EARLY), None)


def held_out_losses(fit: Fit, factors: Sequence[Array]) -> Array:
    """Weighted loss of the model at each held-out entry, (held out,)."""
    aside: Observations = fit.held_out  # type: ignore[assignment]
    x = CP(factors).at(aside.indices).astype(np.float64)
    losses = fit.problem.prior.nll(aside.values.astype(np.float64), x)
    return losses if aside.weights is None else losses * aside.weights / aside.weights.mean()


@dataclass(frozen=True, eq=False)
class Contest:
    """Splits of the observations made once, and fits that compete on the parts held out."""

    folds: tuple[tuple[Observations, Observations], ...]  # (kept, held out)
    recipe: Recipe
    run: Run
    began: float = field(default_factory=time.monotonic)
    spent: list[float] = field(default_factory=list)  # seconds of each fit, those before a resume included

    @staticmethod
    def on(obs: Observations, recipe: Recipe, run: Run) -> Contest:
        """One split; three where observations are few, so that chance decides less; of a handful each has its turn."""
        if obs.nnz < HANDFUL:
            turn = np.random.default_rng([run.seed, 0]).permutation(obs.nnz) % 6
            return Contest(tuple((obs.subset(turn != k), obs.subset(turn == k)) for k in range(6)), recipe, run)
        rngs = (np.random.default_rng([run.seed, 0, k]) for k in range(3 if obs.nnz < FEW else 1))
        return Contest(tuple(split_like_gaps(obs, recipe.held_out, rng) for rng in rngs), recipe, run)

    def left(self) -> float | None:
        """Seconds left for the rest of the contest; None without a limit."""
        if self.run.seconds is None:
            return None
        return self.run.seconds - max(sum(self.spent), time.monotonic() - self.began)

    def enter(
        self,
        rank: int,
        ridge: float,
        start: int,
        limit: int | None = None,
        *,
        smoother: float = 1.0,
        after: Candidate | None = None,
    ) -> Candidate:
        """One fit per fold; `limit` iterations at most. It goes on from where `after` ended, with components more."""
        losses, errors, outcomes = [], [], []
        for k, (kept, aside) in enumerate(self.folds):
            problem = table_problem(kept, self.recipe.smoother(smoother), rank, ridge)
            rng = np.random.default_rng([self.run.seed, 1 + start])
            mend = partial(fill_unseen, kept, smooth=self.recipe.smooth)
            start_at = mend(initial_factors(problem, first_guess(problem), rng, noise=NOISE))
            if after is not None and len(after.outcomes) > k:
                done = after.outcomes[k].state.factors
                start_at = [np.hstack([A, B[:, A.shape[1] :]]) for A, B in zip(done, start_at, strict=True)]
            fit = Fit(problem, self.recipe.solver, start_at, aside, mend)
            left = self.left()
            stopping = replace(
                STOPPING,
                patience=BURSTS if isinstance(self.recipe.solver, LBFGSB) else STOPPING.patience,
                max_iter=longest_of(self.run) if limit is None else limit,
                seconds=None if left is None else max(left, 1e-9),
            )
            # the start alone needs no file, and its name would be that of the fit that goes on from there
            file = {} if limit == 0 else self._file(f"{rank}-{ridge:.3g}-{smoother:g}-{start}-{k}", fit)
            callback = None if limit == 0 else self.run.callback  # a start is no step
            outcome = run_loop(fit, stopping=stopping, rng=rng, callback=callback, **file)
            outcomes.append(outcome)
            self.spent.append(outcome.history.rows[-1].seconds)
            factors = mend(outcome.state.factors)
            losses.append(held_out_losses(fit, factors))
            errors.append(rms_error(problem, factors, aside))
            if outcome.status in ENDED_EARLY:
                break
        error = float(np.sqrt(np.mean(np.square(errors))))
        return Candidate(rank, ridge, smoother, start, np.concatenate(losses), error, tuple(outcomes))

    def _file(self, name: str, fit: Fit) -> dict[str, Any]:
        """Each fit has a checkpoint of its own beside the one named: run.npz.2-0.1-0-0, ..."""
        if self.run.checkpoint is None:
            return {}
        mark = f"{fit.problem.fingerprint()} {fit.solver!r} {self.run.seed} {name}"
        return {"checkpoint": f"{self.run.checkpoint}.{name}", "resume": self.run.resume, "fingerprint": mark}

    def climb(self, ranks: Sequence[int], ridge: float, best: Candidate | None = None) -> Iterator[Candidate]:
        """Fits of growing rank, until two in a row are worse than the best."""
        worse, before = 0, best
        for rank in ranks:
            now = self.enter(rank, ridge, 0, after=before)
            before = now
            yield now
            worse = 0 if best is None or now.score < best.score else worse + 1
            best = now if worse == 0 else best
            if worse == 2:
                return

    def hold(self) -> Iterator[Candidate]:
        """All fits, in the order in which they are worth trying."""
        r = self.recipe
        ranks = [r.rank] if r.rank is not None else [k for k in LADDER if k <= r.most] or [1]
        tried: list[Candidate] = []

        def seen(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
            for candidate in candidates:
                tried.append(candidate)
                yield candidate

        def best() -> Candidate:
            return min(tried, key=lambda c: c.score)

        yield from seen(self.climb(ranks, r.ridge))
        for times in () if r.ridge_given else STIFFER:  # and under a stiffer ridge there is room for more components
            top = best()
            yield from seen([now := self.enter(top.rank, times * r.ridge, 0)])
            if now.score > top.score:
                break
            yield from seen(self.climb([k for k in ranks if k > now.rank], now.ridge, now))
        if r.rank is None and not r.ridge_given:  # many components, of which a stiff ridge keeps as many as it needs
            for times in STIFF:
                top = best()
                yield from seen([now := self.enter(min(2 * r.most, LADDER[-1]), times * r.ridge, 0)])
                if now.score > top.score:
                    break
        for times in () if r.smooth_given or not r.smooth else SMOOTHER:
            top = best()
            yield from seen([now := self.enter(top.rank, top.ridge, 0, smoother=times)])
            if now.score > top.score:
                break
        top = best()
        for start in range(1, r.starts):
            yield self.enter(top.rank, top.ridge, start, smoother=top.smoother)


def table_problem(obs: Observations, recipe: Recipe, rank: int, ridge: float, *, quiet: bool = True) -> Problem:
    """The problem of one fit."""
    interelement = penalties(obs.ndim, recipe.smooth, ridge)
    return Problem(obs, rank=rank, prior=recipe.prior, interelement=interelement, dtype=np.float64, quiet=quiet)


def first_guess(problem: Problem) -> str:
    """The per-mode means where the rank can hold them (one component if x > 0, else one per mode)."""
    needed = 1 if problem.prior.x_domain.low >= 0 else len(problem.shape)
    return "means" if problem.rank >= needed else "constant"


def complete_table(obs: Observations, recipe: Recipe, run: Run, method: str) -> Completion:
    """Hold the contest, then fit the winner to everything."""
    whole_problem = table_problem(obs, recipe, recipe.rank or 1, recipe.ridge, quiet=False)
    means_rank = 1 if recipe.prior.x_domain.low >= 0 else obs.ndim
    if recipe.held_out == 0 or (obs.nnz < FEWEST and recipe.rank is not None):
        return _fit_all(obs, recipe, run, method, recipe.rank or recipe.most, recipe.ridge, 0, None)
    if obs.nnz < FEWEST:
        done = _fit_all(obs, recipe, run, method, means_rank, recipe.ridge, 0, 0)
        return replace(done, status=Status.FINISHED)
    contest = Contest.on(obs, recipe, run)
    means = contest.enter(means_rank, recipe.ridge, 0, limit=0)
    tried = []
    for candidate in () if means.ended_early else contest.hold():
        tried.append(candidate)
        if candidate.ended_early:
            break
    whole = [c for c in tried if len(c.losses) == len(means.losses)]
    winner = min(whole or tried or [means], key=lambda c: c.score)
    gain = means.losses[: len(winner.losses)] - winner.losses
    # of a dozen fits the best is one standard error ahead by chance alone; ask for two, of a handful of entries three
    sure = 3 if obs.nnz < HANDFUL else 2
    if not gain.mean() > sure * gain.std() / np.sqrt(len(gain)):
        winner = means
    early = (tried or [means])[-1].ended_early
    left = contest.left()
    again = not early and (left is None or left > winner.outcomes[0].history.rows[-1].seconds)
    quiet = replace(run, checkpoint=None, callback=None, resume=False)
    # From where the best fold ended: another start would end elsewhere, where no held-out entry has looked.
    start = None if winner is means else best_fold(whole_problem, winner, contest)
    limit = 0 if winner is means or not again else max(-(-winner.iterations // LAST), LAST)
    chosen = recipe.smoother(winner.smoother)
    done = _fit_all(obs, chosen, quiet, method, winner.rank, winner.ridge, winner.seed, limit, start)
    return replace(
        done,
        held_out=winner.score,
        error=winner.error,
        history=winner.outcomes[0].history,
        status=early or (done.status if done.status in ENDED_EARLY else _status(winner, again)),
        settings={**done.settings, "held_out": recipe.held_out, "starts": recipe.starts},
    )


def _status(winner: Candidate, again: bool) -> Status:
    """How the contest ended: by held-out entries, unless every fold of the winner ran into the limit."""
    if not again:
        return Status.TIME
    ends = {o.status for o in winner.outcomes}
    return Status.ITERATIONS if ends == {Status.ITERATIONS} and winner.iterations else Status.HELD_OUT


def best_fold(whole: Problem, winner: Candidate, contest: Contest) -> list[Array]:
    """The factors of the winner's fold that suits all observations best."""
    folds = zip(winner.outcomes, contest.folds, strict=False)
    mended = [fill_unseen(kept, o.state.factors, contest.recipe.smooth) for o, (kept, _) in folds]
    return min(mended, key=lambda A: mean_loss(whole, A, whole.observations))


def _fit_all(
    obs: Observations,
    recipe: Recipe,
    run: Run,
    method: str,
    rank: int,
    ridge: float,
    seed: int,
    limit: int | None,
    start: list[Array] | None = None,
) -> Completion:
    """One fit to all observations, from `start` (None: a first guess) for `limit` iterations (None: to convergence)."""
    problem = table_problem(obs, recipe, rank, ridge)
    if start is None:
        rng = np.random.default_rng([run.seed, 1 + seed])
        start = initial_factors(problem, first_guess(problem), rng, noise=NOISE if limit != 0 else 0.0)
        start = fill_unseen(obs, start, recipe.smooth)
    done = solve(
        problem,
        recipe.solver,
        init=start,
        stopping=Stopping(max_iter=longest_of(run), tol=1e-7, seconds=run.seconds)
        if limit is None
        else Stopping(max_iter=limit, tol=0.0),
        seed=run.seed,
        callback=run.callback,
        checkpoint=run.checkpoint,
        resume=run.resume,
    )
    done = done.with_factors(fill_unseen(obs, done.factors or [], recipe.smooth))
    settings = {"rank": rank, "ridge": ridge, "smooth": {str(n): v for n, v in recipe.smooth.items()}}
    settings |= {"solver": recipe.solver.name, "seed": run.seed}
    return replace(done, method=method, settings=settings)


def longest_of(run: Run) -> int:
    """The limit on iterations of one fit."""
    return STOPPING.max_iter if run.max_iter is None else run.max_iter


def table_solver(given: Solver | str | None, prior: NumericalPrior) -> Solver:
    """The user's; else multiplicative sweeps where x must be positive, for a loss that is steep towards zero leads
    line searches astray; else L-BFGS-B in bursts, after each of which held-out entries are looked at.
    """
    if given is not None:
        return SOLVERS.make(given)
    return Multiplicative() if prior.majoriser and prior.x_domain.low >= 0 else LBFGSB(burst=20, memory=20)
