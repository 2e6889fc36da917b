"""Low rank without noise: no ridge, from anywhere, until nothing is left over."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import TWO_ENDS, Facts
from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import penalties
from tensorfill.methods.base import METHODS, Method, Run, Unsuited
from tensorfill.methods.checks import check_whole
from tensorfill.models.cp import CP
from tensorfill.models.init import unit
from tensorfill.models.unseen import fill_unseen
from tensorfill.numerical.base import NumericalPrior
from tensorfill.numerical.continuous import Normal
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.fit import ENDED_EARLY, Fit
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.newton import Newton
from tensorfill.transforms import Standardised
from tensorfill.typing import Array

RIDGE = 1e-12  # in units in which the data are about one: enough to keep a sweep from dividing by zero, and no more
TOP_RANK = 16  # rank that is looked for
PER_NUMBER = 1.5  # observations for each free number of the model: with fewer, noise is fitted as well as data
# What a short fit with more components than needed may leave over, in parts of the spread of the data, to be worth
# more, and what the last one may leave over to be called exact. On simulated data of ranks 2 to 8 of two to four modes,
# signed and positive, 40 of 40 short fits left 0.001 or less without noise, and the last ones less than 1e-8.
PROMISING, NOTHING = 2e-3, 1e-6
NEAR = 1e-5  # what a long one with more components may leave over: they are slow to the very end
# Times the observations for each row of factors: ridges under which components that are not needed shrink to nothing.
# From so few large ones a fit of the right rank reaches the end (40 of 40 of the data above), which it does from random
# ones in three of four.
SHEDDING = (2e-4, 2e-5)
SHORT, LONG = 40, 300  # sweeps
STARTS = 3  # random starts of the short fit


@METHODS.register("exact")
@dataclass(frozen=True)
class Exact(Method):
    """A CP model of the lowest rank that leaves nothing over, by alternating least squares.

    Parameters
    ----------
    prior, model : normal, and CP; nothing else is exact
    rank : R; None: the lowest at which nothing is left over
    as_given : fit the numbers as they are, neither centred nor scaled
    """

    reference = "alternating least squares: Carroll, Chang, Psychometrika 1970"
    assumes = "low CP rank and no noise at all"
    use_when = "computed or simulated numbers"
    competes = True
    uses_weights = True
    takes = frozenset({"prior", "model", "rank"})

    prior: NumericalPrior | str | None = None
    model: str | None = None
    rank: int | Sequence[int] | None = None  # several are of another model, which is refused below
    as_given: bool = False

    def __post_init__(self) -> None:
        if self.model in (None, "cp"):
            check_whole(self, 1, "rank")

    def refuses(self, obs: Observations) -> str | None:
        return self._given_others()

    def _given_others(self) -> str | None:
        """Why what was given is nothing for it."""
        if self.model not in (None, "cp"):
            return f"a {self.model} model was asked for"
        prior = self.prior.name if isinstance(self.prior, NumericalPrior) else self.prior
        return None if prior in (None, "normal") else f"{prior} numbers have noise"

    def suits(self, facts: Facts) -> str | None:
        why = self._given_others()
        if why is not None:
            return why
        if facts.numbers in TWO_ENDS:
            return "ratings, and yes and no, have noise"
        return None if self.ranks(facts.shape, facts.observed) else "there are too few observations"

    @property
    def label(self) -> str:
        return "exact low rank" if self.rank is None else f"exact low rank {self.rank}"

    def cost(self, facts: Facts) -> float:
        """Of finding out that there is noise."""
        rank = max(self.ranks(facts.shape, facts.observed), default=1)
        return 0.02 + STARTS * SHORT * len(facts.shape) * facts.observed * (1e-8 + 1.6e-10 * rank**2)

    def ranks(self, shape: tuple[int, ...], observed: int) -> list[int]:
        """Those that the observations can tell from noise; the one given."""
        if self.rank is not None:
            return [int(np.max(self.rank))]
        return [R for R in range(1, TOP_RANK + 1) if PER_NUMBER * CP.free(shape, R) <= observed]

    def fit(self, obs: Observations, run: Run) -> Completion:
        if not self.as_given:
            t = obs.values.astype(np.float64)
            far = self.rank is None and abs(t.mean()) > t.std()  # a level that large hides the rest from the sweeps
            return Standardised(replace(self, as_given=True), centred=bool(far)).fit(obs, run)
        problem, outcome = _RankSearch(obs, run).lowest(self.ranks(obs.shape, obs.nnz))
        factors = fill_unseen(problem.observations, outcome.state.factors, {})
        return self.completion(
            obs,
            run,
            Factors(problem.model_of(factors), problem.prior),
            status=outcome.status,
            history=outcome.history,
            problem=problem,
            settings={"model": "cp", "rank": problem.rank, "ridge": RIDGE, "smooth": {}, "solver": "newton"},
        )


class _RankSearch:
    """Fits of several ranks to the same data, and what they leave over."""

    def __init__(self, data: Observations, run: Run) -> None:
        self.data, self.run, self.began = data, run, time.monotonic()
        self.spread = float(data.values.std()) or 1.0
        self.rng = np.random.default_rng([run.seed, 21])
        self.last: tuple[Problem, Outcome] | None = None
        self.ended: Status | None = None

    def lowest(self, ranks: list[int]) -> tuple[Problem, Outcome]:
        """The fit of the lowest rank that leaves nothing over; of a run that ends early, the one it was at."""
        if not ranks:
            msg = "there are too few observations"
            raise Unsuited(msg)
        for _ in range(STARTS):
            most = min(TOP_RANK, int(self.data.nnz / PER_NUMBER / CP.free(self.data.shape, 1)))
            components = self._with_spare_components(max(ranks[-1], min(2 * ranks[-1], most)))
            found = None if components is None else self._lowest_rank(ranks, components)
            if self.ended is not None:
                found = self.last
            if found is not None:
                return found
        msg = "the data have noise"
        raise Unsuited(msg)

    def _with_spare_components(self, rank: int) -> list[Array] | None:
        """Factors of an exact fit with more components than needed, the largest first and the others next to nothing;
        None if it leaves too much over. More components than needed lead there from almost anywhere.
        """
        problem = self._problem(rank, RIDGE)
        factors, over = self._continue(problem, self._random_start(problem), SHORT)
        if over <= PROMISING:
            factors, over = self._continue(problem, factors, LONG)
        if over > NEAR:
            return None
        for ridge in SHEDDING:
            each = self.data.nnz / sum(self.data.shape)
            factors, _ = self._continue(self._problem(rank, ridge * each), factors, SHORT)
        order = np.argsort(-np.prod([np.linalg.norm(A, axis=0) for A in factors], axis=0))
        return [A[:, order] for A in factors]

    def _lowest_rank(self, ranks: list[int], components: list[Array]) -> tuple[Problem, Outcome] | None:
        """The lowest of these ranks at which so many components leave nothing over, by bisection."""
        low, high, found = 0, len(ranks), None
        while self.ended is None and low < high:
            middle = (low + high) // 2
            rank = ranks[middle]
            problem = self._problem(rank, RIDGE)
            # random ones, too: small components may be shed but needed
            starts = ([A[:, :rank] for A in components], self._random_start(problem))
            if any(self._continue(problem, start, LONG)[1] <= NOTHING for start in starts):
                high, found = middle, self.last
            else:
                low = middle + 1
        return found

    def _random_start(self, problem: Problem) -> list[Array]:
        """Random factors; a sum of so many products is as large as the data."""
        size = unit(problem) * problem.rank ** (-0.5 / self.data.ndim)
        return [size * self.rng.standard_normal(shape) for shape in problem.parameter_shapes]

    def _problem(self, rank: int, ridge: float) -> Problem:
        weights = penalties(self.data.ndim, {}, ridge)
        return Problem(self.data, rank=rank, prior=Normal(), interelement=weights, dtype=np.float64, quiet=True)

    def _continue(self, problem: Problem, factors: list[Array], sweeps: int) -> tuple[list[Array], float]:
        """(factors, what they leave over: root mean square, in parts of the spread of the data)"""
        if self.ended is not None:
            return factors, np.inf
        most = sweeps if self.run.max_iter is None else min(sweeps, self.run.max_iter)
        stopping = Stopping(max_iter=most, tol=1e-6, seconds=self.run.rest(self.began).seconds)
        outcome = self.run.drive(Fit(problem, Newton(exchange=False), factors), stopping, self.rng)
        self.last = problem, outcome
        self.ended = outcome.status if outcome.status in ENDED_EARLY else None
        off = problem.model_of(outcome.state.factors).at(self.data.indices) - self.data.values
        return list(outcome.state.factors), float(np.sqrt(np.mean(off**2))) / self.spread
