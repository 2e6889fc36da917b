"""Ranks found by growing: higher ones as long as entries set aside gain by it.

Each rank starts anew: one that starts from the fit of the rank before stays near it (measured: of exact Tucker data
four of six were not found so, and all of them from the mean and noise).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tensorfill.data.holdout import split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.methods.lowrank.search import SOFTER
from tensorfill.models import MODELS
from tensorfill.models.init import initial_factors
from tensorfill.models.unseen import fill_unseen
from tensorfill.problem import Problem
from tensorfill.result.record import Status
from tensorfill.solvers.base import Solver
from tensorfill.solvers.fit import ENDED_EARLY, Fit
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.typing import Array

LADDER = (1, 2, 3, 4, 6, 8, 12, 18, 26, 38)  # of all ranks at once; then each by itself
PER_NUMBER = 1.1  # observations that a free number must have to be worth trying; the entries set aside do the rest
BETTER = 0.98  # of the loss on entries set aside that a larger rank must come to
SHORT = 3  # ranks of which none is left out
WORSE = 2  # ranks in a row that may gain nothing before growing ends
TRIFLE = 1e-4  # of the loss at the lowest rank: what saves less is not worth a rank
NOISE = 0.3  # of the first start, as in `low_rank`
BURSTS, SWEEPS = 6, 60  # iterations at most for one rank: each a burst of many for L-BFGS-B


def ladder(shape: Sequence[int], observed: int, model: str, coarse: bool = False) -> list[Any]:
    """Ranks of equal height, each once, that the observations can bear; at least one. `coarse`: every other, if there
    are many.
    """
    cls = MODELS[model]
    out: list[Any] = []
    for r in LADDER:
        rank = cls.check_rank(shape, r)
        if out and (PER_NUMBER * cls.free(shape, rank) > observed or rank == out[-1]):
            break
        out.append(rank)
    return out[::2] if coarse and len(out) > SHORT else out


@dataclass(frozen=True, eq=False)
class Stage:
    """A fit on the way: its rank, the ridge in parts of the usual one, and the loss on entries set aside."""

    rank: Any
    softer: float
    outcome: Outcome
    loss: float


@dataclass(eq=False)
class Growth:
    """One model, from rank one to the best.

    Parameters
    ----------
    make : (observations, rank, part of the ridge) -> problem
    share : of the entries that are set aside
    """

    make: Callable[[Observations, Any, float], Problem]
    obs: Observations
    model: str
    solver: Solver
    run: Run
    rng: np.random.Generator
    smooth: dict[int, float]
    share: float

    def __post_init__(self) -> None:
        self.mend = partial(fill_unseen, smooth=self.smooth)
        self.kept, self.aside = split_like_gaps(self.obs, self.share, np.random.default_rng([self.run.seed, 2]))
        self.began, self.iterations = time.monotonic(), 0
        self.best: Stage | None = None
        self.lowest = np.inf  # loss of the lowest rank
        self.ended: Status | None = None

    def grown(self, *, soften: bool, coarse: bool) -> tuple[Problem, Outcome]:
        """The problem of the rank found, on all observations, and its fit."""
        ranks = ladder(self.obs.shape, self.kept.nnz, self.model, coarse)
        self._climb(((rank, 1.0) for rank in ranks), WORSE, TRIFLE)
        assert self.best is not None
        if isinstance(self.best.rank, tuple) and not coarse:
            for n in range(len(self.best.rank)):
                self._climb(self._higher(n), 1, TRIFLE)
        if soften:
            self._climb(((self.best.rank, times) for times in (SOFTER[-1:] if coarse else SOFTER)), 1)
        return self._finish(self.best)

    def _climb(self, ways: Iterable[tuple[Any, float]], patience: int, trifle: float = 0.0) -> None:
        """One after the other, until `patience` in a row gain nothing."""
        worse = 0
        for rank, softer in ways:
            if self.ended is not None or worse == patience:
                return
            stage = self._stage(rank, softer)
            self.lowest = stage.loss if self.best is None else self.lowest
            if self.best is None or stage.loss < min(BETTER * self.best.loss, self.best.loss - trifle * self.lowest):
                self.best, worse = stage, 0
            else:
                worse += 1

    def _higher(self, n: int) -> Iterable[tuple[Any, float]]:
        """One rank further up, the others as they are, as far as the observations bear it."""
        cls, shape = MODELS[self.model], self.obs.shape
        while self.best is not None:
            rank = self.best.rank
            up = (*rank[:n], rank[n] + max(1, rank[n] // 3), *rank[n + 1 :])
            if PER_NUMBER * cls.free(shape, up) > self.kept.nnz or cls.beyond(shape, up):
                return
            yield up, 1.0

    def _stage(self, rank: Any, softer: float) -> Stage:
        """Fitted to the entries kept."""
        problem = self.make(self.kept, rank, softer)
        patience = 2 if isinstance(self.solver, LBFGSB) else 15
        start = self.mend(self.kept, self._start(problem))
        fit = Fit(problem, self.solver, start, self.aside, partial(self.mend, self.kept))
        outcome = self._run(fit, Stopping(max_iter=self._longest, tol=1e-7, patience=patience))
        return Stage(rank, softer, outcome, float(np.nanmin(outcome.history["held_out"])))

    @property
    def _longest(self) -> int:
        own = BURSTS if isinstance(self.solver, LBFGSB) else SWEEPS
        return own if self.run.max_iter is None else max(0, min(own, self.run.max_iter - self.iterations))

    def _start(self, problem: Problem) -> list[Array]:
        if self.best is not None and self.best.rank == problem.rank:  # only the ridge is another
            return self.best.outcome.state.factors
        return initial_factors(problem, "constant", self.rng, noise=NOISE)

    def _run(self, fit: Fit, stopping: Stopping) -> Outcome:
        stopping = replace(stopping, seconds=self.run.rest(self.began).seconds)
        outcome = self.run.drive(fit, stopping, self.rng)
        self.iterations += outcome.history.rows[-1].iteration
        limit = self.run.max_iter is not None and self.iterations >= self.run.max_iter
        if outcome.status in ENDED_EARLY or limit:
            self.ended = outcome.status
        return outcome

    def _finish(self, best: Stage) -> tuple[Problem, Outcome]:
        """On for a while with all entries."""
        problem = self.make(self.obs, best.rank, best.softer)
        if self.ended is not None:
            return problem, replace(best.outcome, status=self.ended)
        start = self.mend(self.kept, best.outcome.state.factors)
        last = self._run(Fit(problem, self.solver, start), Stopping(max_iter=max(1, self._longest // 2), tol=1e-9))
        status = last.status if last.status in ENDED_EARLY else Status.HELD_OUT
        return problem, Outcome(last.state, status, best.outcome.history, best.outcome.best_iteration)
