"""auto for millions of observations and more: chosen on a dense subset, fitted once to all of them, in blocks.

facts of a sample -> prior -> rank, ridge and smoothness tried on a subset -> one fit, stopped by entries set aside.
What is tried takes the same time however many observations there are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tensorfill.auto.block_fit import Corner, adapt_stopping, fit_blocks, keep_if_large, make_mend
from tensorfill.auto.settings import AutoSettings
from tensorfill.blocks import Partitions
from tensorfill.blocks.dense_subset import dense_subset
from tensorfill.blocks.draw import Draw
from tensorfill.blocks.memory import in_memory
from tensorfill.data.facts import Facts, compute_facts
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.interelement.quadratic import penalties
from tensorfill.methods.base import Run
from tensorfill.methods.defaults import default_rank, default_ridge, default_smooth, prior_for
from tensorfill.methods.lowrank.low_rank import first_factors
from tensorfill.models.init import initial_factors, typical, unit
from tensorfill.models.unseen import fill_unseen
from tensorfill.numerical.base import NumericalPrior
from tensorfill.partitioned import Partitioned
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors
from tensorfill.result.completion import Completion
from tensorfill.result.record import LeaderboardRow, Status
from tensorfill.solvers.adam import Adam
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import Fit, mean_loss, rms_error
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.loop import run as run_loop
from tensorfill.solvers.newton import Newton
from tensorfill.transforms.magnitude import power_of
from tensorfill.typing import Array

RIDGES = (1000.0, 100.0, 10.0, 1.0)  # times the default: from stiff, where components show one by one, to soft
BETWEEN = (3.16, 0.316)  # times the best of them: 2.4 % less error on 300,000 synthetic ratings, two seeds
LADDER = (4, 8, 16, 32, 64)  # ranks; the time of a sweep grows with their square
FIRST = 8  # the rank at which starts and ridges are compared
SMOOTHER = (1.0, 10.0)  # times the default smoothness, along modes that the subset shows to be smooth
ENOUGH = 0.01  # of all that is gained over the mean, what a higher rank must gain: it takes four times as long
GONE = 1e-3  # of a typical entry: a factor that has shrunk away
NOISE = 0.1  # of a typical entry: components that are new
TRIAL = Stopping(max_iter=12, tol=1e-4, patience=4)
LONG = Stopping(max_iter=20, tol=1e-4)
# Stochastic steps. On 200,000 counts a Tucker and a tensor train model had a lower held-out loss after half a second of
# them than after three of L-BFGS-B; a rate of 0.03 led less far, of 0.1 astray.
BATCHES, STEPS, RATE = 32, 400, 0.01
BURST = LBFGSB(burst=10, memory=8)  # at scale each of its vectors is as long as all factors together
TRYING = 0.4  # of a time limit may be used up by trials
UNUSED = ("tv", "starts", "passes", "texture", "candidates")


@dataclass(frozen=True)
class Choice:
    """A low-rank fit: rank, ridge and smoothness."""

    rank: Any
    ridge: float
    smooth: dict[int, float]

    @property
    def label(self) -> str:
        along = f", smooth {', '.join(f'{n}: {rho:.3g}' for n, rho in self.smooth.items())}" if self.smooth else ""
        return f"low rank {self.rank}, ridge {self.ridge:.3g}{along}"


def unused_settings(given: AutoSettings) -> list[str]:
    """What was given and means nothing for observations in blocks."""
    return [name for name in UNUSED if getattr(given, name) is not None]


def complete_blocks(parts: Partitions, given: AutoSettings, run: Run, method: str) -> Completion:
    """Fill what is asked for later: the answer is a model."""
    if unused := unused_settings(given):
        msg = f"{unused[0]} means nothing for observations in blocks, which get one low-rank fit; leave it out."
        raise ValueError(msg)
    began, whole = time.monotonic(), parts
    prior, units, parts = standardise(parts, given)
    choice, tried, facts, start, stopped, fast = choose(parts, prior, given, run)
    problem = Partitioned.on_blocks(
        parts,
        choice.rank,
        prior=prior,
        interelement=penalties(len(parts.shape), choice.smooth, choice.ridge),
        dtype=np.float64,
        model=given.model or "cp",
    )
    solver = stochastic(parts.nnz) if fast else choose_solver(problem, given)
    problem = keep_if_large(problem, solver)
    rest = run.rest(began)
    if stopped:  # what the subset says is the best so far
        rest = replace(rest, max_iter=0)
    outcome = fit_blocks(problem, solver, start, choice.smooth, rest)
    factors = [np.asarray(A) for A in make_mend(problem, choice.smooth)(outcome.state.factors)]
    problem = replace(problem, kept=False, quiet=True)  # they are here now
    held = parts.held
    whole.settle()
    return Completion(
        observations=replace(whole.sample, blocks=whole),
        method=method,
        status=Status.INTERRUPTED if stopped else outcome.status,
        history=outcome.history,
        answer=Factors(problem.model_of(factors), prior, units),
        settings=_settings(problem, choice, solver, run),
        facts=facts,
        tried=tried,
        held_out=np.nan if held is None else mean_loss(problem, factors, held),
        error=np.nan if held is None else rms_error(problem, factors, held) * parts.spread,
    )


def _settings(problem: Problem, choice: Choice, solver: Solver, run: Run) -> dict[str, Any]:
    return {
        "model": problem.model,
        "rank": problem.rank,
        "ridge": choice.ridge,
        "smooth": {str(n): rho for n, rho in choice.smooth.items()},
        "solver": solver.name,
        "prior": problem.prior.described(),
        "seed": run.seed,
    }


def standardise(parts: Partitions, given: AutoSettings) -> tuple[NumericalPrior, Units | None, Partitions]:
    """The prior, and the data in the unit in which they are fitted: real numbers about their mean, by their spread, and
    extreme ones of any kind by a power of two.
    """
    power = power_of(parts.sample)
    if power:
        parts = parts.in_units(0.0, math.ldexp(1.0, min(power, 1023)))
    prior = prior_for(parts.sample, given.prior)
    if prior.location:
        t = parts.sample.values.astype(np.float64)
        level, spread = float(t.mean()), float(t.std())
        if isinstance(given.prior, NumericalPrior):  # with a scale of its own
            spread = 1.0
        parts = parts.in_units(level, spread if spread > 0 else 1.0)
        prior = prior if isinstance(given.prior, NumericalPrior) else prior_for(parts.sample, prior.name)
    elif not power:
        return prior, None, parts
    full = np.ones(parts.shape[0])
    return prior, Units(0, full * parts.shift, full * parts.spread), parts


def choose_solver(problem: Problem, given: AutoSettings) -> Solver:
    """The user's; else second-order sweeps, and L-BFGS-B where they do not apply (other models than CP)."""
    if given.solver is not None:
        return SOLVERS.make(given.solver)
    return Newton() if Newton().refused(problem) is None else BURST


def stochastic(nnz: int) -> Adam:
    """Steps from one of BATCHES parts of all observations each; a dozen looks at every one of them in all."""
    return Adam(rate=RATE, batch=max(1, nnz // BATCHES), steps=STEPS)


# --- what is tried ------------------------------------------------------------------------------------------------


def choose(
    parts: Partitions, prior: NumericalPrior, given: AutoSettings, run: Run
) -> tuple[Choice, tuple[LeaderboardRow, ...], Facts, Corner, bool, bool]:
    """(what to fit, what was tried, facts of the subset, where the fit starts, was it interrupted?, are stochastic
    steps as good?); what was given is not tried.
    """
    small, rows = dense_subset(parts)
    facts = compute_facts(small)
    whole = [n for n in facts.smooth if small.shape[n] == parts.shape[n]]  # of others only some rows are there
    trials, stopped, fast = Trials(small, prior, given, run), False, False
    try:
        _try_out(trials, default_rank(parts.nnz, parts.shape), whole)
        fast = trials.stochastic()
    except KeyboardInterrupt:
        if not trials.factors:
            raise
        stopped = True
    return trials.best, trials.table(parts.spread), facts, Corner(trials.factors, rows), stopped, fast


def _try_out(trials: Trials, most: int, whole: Sequence[int]) -> None:
    """Starts and ridges, then smoothness along the modes `whole`, then ranks up to `most`."""
    given = trials.given
    ranks = [r for r in LADDER if r <= most] or [1]
    first = int(given.rank) if isinstance(given.rank, int) else max(r for r in ranks if r <= FIRST or r == ranks[0])
    trials.starts(first, {int(n): rho for n, rho in (given.smooth or {}).items()})
    if given.ridge is None:
        best = trials.best
        for times in BETWEEN:
            if trials.run(replace(best, ridge=times * best.ridge), trials.factors):
                break
    if given.smooth is None and whole:
        for times in SMOOTHER:
            rho = {n: times * r for n, r in default_smooth(trials.kept, trials.prior, whole).items()}
            if not trials.run(replace(trials.best, smooth=rho), trials.factors):
                break
    if given.rank is None:
        for rank in [r for r in ranks if r > first]:
            if not trials.run(replace(trials.best, rank=rank), trials.widen(rank), by=ENOUGH):
                break


class Trials:
    """Fits on a dense subset, judged on some of its entries; each goes on from one before it."""

    def __init__(self, small: Observations, prior: NumericalPrior, given: AutoSettings, run: Run) -> None:
        self.prior, self.given, self.told = prior, given, run
        self.kept, self.aside = small.split(0.1, np.random.default_rng([run.seed, 11]))
        self.rng = np.random.default_rng([run.seed, 12])
        self.until = np.inf if run.seconds is None else time.monotonic() + TRYING * run.seconds
        self.spread = float(small.values.std()) or 1.0
        self.rows: list[tuple[float, Choice, float, float]] = []  # loss, what, error, seconds
        self.least, self.best = np.inf, Choice(1, 0.0, {})
        self.factors: list[Array] = []
        t, level = self.aside.values.astype(np.float64), prior.start(float(np.mean(self.kept.values)))
        self.base = float(np.mean(prior.nll(t, np.full(len(t), level))))  # of the mean alone

    def problem(self, choice: Choice) -> Problem:
        return Problem(
            self.kept,
            choice.rank,
            prior=self.prior,
            interelement=penalties(self.kept.ndim, choice.smooth, choice.ridge),
            dtype=np.float64,
            quiet=True,
            model=self.given.model or "cp",
            layout="sampled",
        )

    def starts(self, rank: Any, smooth: dict[int, float]) -> None:
        """From the means, and from anywhere: ridges from stiff to soft, each from where the one before ended."""
        usual = default_ridge(self.kept, self.prior)
        ridges = [usual * times for times in RIDGES] if self.given.ridge is None else [float(self.given.ridge)]
        for kind in ("means", "random") if self.kept.ndim > 2 else ("means",):
            factors, least = None, np.inf
            for ridge in ridges:
                choice = Choice(rank, ridge, smooth)
                small = GONE * unit(self.problem(choice))
                if factors is None or any(np.abs(A).max() < small for A in factors):  # all shrunk away: anew
                    factors = list(self.start(choice, kind))
                loss, factors = self.fit(choice, factors, long=kind == "random")
                if loss > least:  # the same: too stiff to leave the start, which was kept
                    break
                least = loss

    def start(self, choice: Choice, kind: str) -> Sequence[Array]:
        problem = self.problem(choice)
        if kind == "means" or problem.model != "cp":
            return first_factors(problem, self.rng)
        if self.prior.x_domain.low >= 0:
            return initial_factors(problem, "scaled", self.rng)
        size = typical(self.kept, self.prior)[1] / np.sqrt(problem.rank)
        return [self.rng.normal(size=shape) * size ** (1 / len(problem.shape)) for shape in problem.parameter_shapes]

    def widen(self, rank: int) -> list[Array]:
        """The best factors with new components, of noise."""
        size = NOISE * unit(self.problem(self.best))
        more = [size * self.rng.normal(size=(len(A), rank - A.shape[1])) for A in self.factors]
        more = [np.abs(B) for B in more] if self.prior.x_domain.low >= 0 else more
        return [np.concatenate([A, B], axis=1) for A, B in zip(self.factors, more, strict=True)]

    def run(self, choice: Choice, start: Sequence[Array], by: float = 0.0) -> bool:
        """Is it the best so far, by that share?"""
        before = self.least
        loss, _ = self.fit(choice, start, by)
        return loss < before - by * (self.base - before)

    def fit(
        self, choice: Choice, start: Sequence[Array], by: float = 0.0, *, long: bool = False
    ) -> tuple[float, list[Array]]:
        """(loss on the entries set aside, factors). `long`: go on while they get worse: from anywhere, a fit follows
        the noise for a while before it finds what there is.
        """
        began = time.monotonic()
        if self.factors and began > self.until:
            return np.inf, self.factors
        self.told.tell(choice.label, np.nan, 0.0)
        problem = self.problem(choice)
        factors = self.minimise(problem, choose_solver(problem, self.given), start, choice, long=long)
        loss, error = (of(problem, factors, self.aside) for of in (mean_loss, rms_error))
        self.rows.append((loss, choice, error, time.monotonic() - began))
        if not self.factors or loss < self.least - by * (self.base - self.least):
            self.least, self.best, self.factors = loss, choice, factors
        self.told.tell(choice.label, error / self.spread, 0.0)
        return loss, factors

    def minimise(
        self, problem: Problem, solver: Solver, start: Sequence[Array], choice: Choice, *, long: bool = False
    ) -> list[Array]:
        """The factors where a solver ends."""
        mend = partial(fill_unseen, self.kept, smooth=choice.smooth)
        stopping = adapt_stopping(LONG if long else TRIAL, solver, len(self.kept.values))
        if np.isfinite(self.until):
            stopping = replace(stopping, seconds=max(self.until - time.monotonic(), 1e-3))
        fit = Fit(problem, solver, mend(start), None if long else self.aside, mend)
        outcome = run_loop(fit, stopping=stopping, rng=self.rng)
        if outcome.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return mend(outcome.state.factors)

    def stochastic(self) -> bool:
        """Do stochastic steps lead as far as the best fit, from the start that it had? They take a dozen looks at all
        observations, bursts of L-BFGS-B ten each. Sweeps, which lead further than either, are not up for it.
        """
        problem = self.problem(self.best)
        if (
            self.given.solver is not None
            or choose_solver(problem, self.given) is not BURST
            or time.monotonic() > self.until
        ):
            return False
        blocks = in_memory(self.kept, Draw(held=0.0))
        settings = {"prior": self.prior, "interelement": problem.interelement, "dtype": np.float64, "quiet": True}
        there = Partitioned.on_blocks(blocks, self.best.rank, model=problem.model, **settings)
        solver = stochastic(len(self.kept.values))
        factors = self.minimise(there, solver, self.start(self.best, "means"), self.best)
        loss = mean_loss(problem, factors, self.aside)
        if loss < self.least:
            self.least, self.factors = loss, factors
        return loss <= self.least + ENOUGH * (self.base - self.least)

    def table(self, unit: float) -> tuple[LeaderboardRow, ...]:
        """The leaderboard, best first; errors in the unit of the data, of which that of the fit is `unit`."""
        few = np.sqrt(2 * len(self.aside.values))
        return tuple(
            LeaderboardRow(choice.label, unit * error, unit * error / few, seconds, float(choice is self.best))
            for _, choice, error, seconds in sorted(self.rows, key=lambda row: row[0])
        )
