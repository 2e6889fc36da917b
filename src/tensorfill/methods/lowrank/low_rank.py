"""One low-rank fit under a numerical prior: ranks x stiffness x smoothness, decided on held-out entries."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from tensorfill.blocks import Partitions
from tensorfill.data.facts import Facts
from tensorfill.data.holdout import split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.interelement.base import InterElementPrior
from tensorfill.interelement.nonsmooth import NonNegative
from tensorfill.interelement.quadratic import penalties
from tensorfill.methods.base import METHODS, Method, Run, Variants
from tensorfill.methods.checks import check_whole
from tensorfill.methods.defaults import (
    PRIOR_OF,
    default_ridge,
    default_smooth,
    dispersion,
    negative_binomial,
    prior_for,
)
from tensorfill.methods.lowrank.blocks import fit_in_blocks
from tensorfill.methods.lowrank.search import (
    ASIDE,
    FEWEST,
    FIRM,
    MANY,
    Search,
    may_be_normal,
    may_be_overdispersed,
    may_be_standardised,
    middle_rank,
)
from tensorfill.models.init import initial_factors
from tensorfill.models.unseen import fill_unseen
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors
from tensorfill.result.completion import Completion
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import ENDED_EARLY, Fit
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.multiplicative import Multiplicative
from tensorfill.solvers.newton import Newton
from tensorfill.transforms import Standardised
from tensorfill.typing import Array

NOISE = 0.3  # components that start too near zero stay there for long: it is a saddle
STARTS = 2  # fits from different starts that may be averaged
STOPPING = Stopping(max_iter=500, tol=1e-7, patience=20)
HIGHEST = 26  # rank at which a firm ridge was measured; the time of a Newton sweep grows with its square
BURST, EVALUATIONS = 20, 300  # iterations of L-BFGS-B in one step of the loop; evaluations that a fit takes, about
BURSTS = 4  # patience with it, in such steps
STRIDES = 5  # patience with Newton within bounds, of which as many sweeps lead as far as dozens of multiplicative ones
SWEEPS = 20  # that it takes, about
ROUGH = 8  # sweeps that tell how much counts scatter
TRIES = 3  # starts, if the first leads nowhere
LAST = 4  # the last fit, to all entries, goes on for a quarter of the iterations that led there


@METHODS.register("low-rank")
@dataclass(frozen=True)
class LowRank(Method):
    """A CP model with ridge, and quadratic variation along smooth modes; stopped early by validation entries.

    Parameters
    ----------
    prior : numerical prior, an object or its name; None: as the kind of numbers has it
    model : "cp"
    rank : R; None: a middling one
    smooth : {mode or dimension name: rho} of quadratic variation along that mode; {} for none
    ridge : weight of the ridge on every factor
    solver : a Solver or its name
    held_out : share of entries set aside to know when to stop
    starts : how many fits from different starts a contest tries
    stiffer, smoother : times the default ridge, and times the default smoothness
    start : which of the random starts
    overdispersed : are they counts that vary more than Poisson's?
    as_given : fit the numbers as they are, neither centred nor scaled
    bursts : of L-BFGS-B at most, in a trial; a soft ridge may ask for hundreds
    """

    reference = "Hong, Kolda, Duersch: Generalized canonical polyadic tensor decomposition, SIAM Review 2020"
    assumes = "low CP rank under the numerical prior; smooth along the smooth modes"
    use_when = "the factors themselves are wanted, or a numerical prior of your own"
    competes = True
    uses_weights = True
    fills_unseen = True
    fits_blocks = True
    takes = frozenset({"prior", "model", "rank", "smooth", "ridge", "solver"})
    every_start: ClassVar[bool] = False  # are all starts tried, also if the first leads somewhere?

    prior: NumericalPrior | str | None = None
    model: str | None = None
    rank: Any = None
    smooth: Mapping[int | str, float] | None = None
    ridge: float | None = None
    solver: Solver | str | None = None
    held_out: float | None = None
    starts: int | None = None
    stiffer: float = 1.0
    smoother: float = 1.0
    start: int = 0
    overdispersed: bool = False
    as_given: bool = False
    bursts: int | None = None

    def __post_init__(self) -> None:
        check_whole(self, 0, "start")
        check_whole(self, 1, "starts", "bursts")

    @property
    def form(self) -> str:
        """Of the model."""
        return self.model or "cp"

    def suits(self, facts: Facts) -> str | None:
        return None if self.form == "cp" else f"a {self.model} model was asked for"

    def initial_variants(self, facts: Facts) -> int:
        if may_be_standardised(facts, self.prior):
            return 2 + (facts.uneven is not None)  # one in each unit
        return 2 if may_be_overdispersed(facts, self.prior) or may_be_normal(facts, self.prior) else 1

    def variants(self, facts: Facts) -> Variants:
        search = Search(self, facts)
        yield from search.units(facts)
        yield from search.ranks()
        yield from search.stiffness()
        yield from search.smoothness(facts)
        for start in range(1, STARTS if self.starts is None else self.starts):
            yield search.wrap(replace(search.best, start=start))

    @property
    def label(self) -> str:
        words = [f"low rank {self.rank}" if self.rank is not None else "low rank"]
        words += [f"{self.stiffer:g} x ridge"] if self.stiffer != 1 else []
        words += [f"{self.smoother:g} x smooth"] if self.smoother != 1 else []
        words += [str(self.prior)] if isinstance(self.prior, str) else []
        words += ["overdispersed"] if self.overdispersed else []
        words += [f"start {self.start}"] if self.start else []
        return ", ".join(words)

    def cost(self, facts: Facts) -> float:
        rank = self._rank(facts)
        sweeps = facts.numbers == "counts" or facts.observed >= MANY  # of Newton
        if sweeps and self.solver is None and self.form == "cp" and rank <= HIGHEST:
            rows = 1e-9 * sum(facts.shape) * rank**3
            count = SWEEPS + ROUGH * self.overdispersed
            return 0.02 + count * (1e-4 + rows + facts.observed * (8.5e-8 + 7e-9 * rank))
        return 0.02 + (EVALUATIONS if facts.numbers in ("reals", "scale", "yes/no") else 150) * self._evaluation(facts)

    def _rank(self, facts: Facts) -> Any:
        return middle_rank(facts, None) if self.rank is None else self.rank

    def _evaluation(self, facts: Facts) -> float:
        """Seconds that an evaluation of loss and gradient takes; twice what was measured, as all costs are."""
        entry = 1.2e-9 * facts.size if facts.share > 0.05 and facts.dense else 1.2e-8 * facts.observed
        return 2 * (1e-4 + entry * self._rank(facts) + 2e-8 * facts.observed)

    def shorter(self, facts: Facts, seconds: float) -> Method:
        evaluations = max(EVALUATIONS, seconds / self._evaluation(facts)) if self.form == "cp" else np.inf
        return replace(self, bursts=int(evaluations / BURST)) if evaluations < STOPPING.max_iter * BURST else self

    def fit(self, obs: Observations, run: Run) -> Completion:
        if self.rank is None and self.form == "cp":
            return replace(self, rank=middle_rank(run.facts_of(obs), None)).fit(obs, run)
        if not self.as_given and prior_for(obs, self.prior).location:
            return self._standardised(replace(self, as_given=True)).fit(obs, run)
        began, facts = time.monotonic(), run.facts_of(obs)
        prior = self._overdispersed(obs, facts, run) if self.overdispersed else prior_for(obs, self.prior)
        obs.check_domain(prior.t_domain, type(prior).__name__)
        smooth = self._smooth(obs, prior, facts)
        ridge = default_ridge(obs, prior) * self.stiffer if self.ridge is None else float(self.ridge)
        problem, outcome = self._found(obs, prior, smooth, ridge, run.rest(began))
        factors = fill_unseen(obs, outcome.state.factors, smooth)
        settings = {
            "model": self.form,
            "rank": problem.rank,
            "ridge": ridge,
            "smooth": {str(n): rho for n, rho in smooth.items()},
            "solver": self._solver(problem).name,
        }
        return self.completion(
            obs,
            run,
            Factors(problem.model_of(factors), prior),
            status=outcome.status,
            history=outcome.history,
            problem=problem,
            settings=settings,
        )

    def fit_blocks(self, parts: Partitions, run: Run) -> Completion:
        if not self.as_given and prior_for(parts.sample, self.prior).location:
            return self._standardised(replace(self, as_given=True)).fit_blocks(parts, run)
        return fit_in_blocks(self, parts, run)

    def _standardised(self, inner: LowRank) -> Method:
        """Real numbers are fitted centred, and by their standard deviation: neither level nor unit changes what
        weights mean. A prior that came with its own scale keeps the unit of the data.
        """
        return Standardised(inner, scaled=not isinstance(self.prior, NumericalPrior))

    def _overdispersed(self, obs: Observations, facts: Facts, run: Run) -> NumericalPrior:
        """A negative binomial, its dispersion as entries set aside have it around the means of a short Poisson fit: of
        a middling rank, so that it is found out once for the same observations.
        """
        plain = replace(self, overdispersed=False, stiffer=1.0, smoother=1.0, start=0, bursts=None)
        rough = replace(plain, rank=middle_rank(facts, None))
        key = f"dispersion {run.seed} {rough!r}"
        if key not in run.memo:
            kept, aside = split_like_gaps(obs, ASIDE, np.random.default_rng([run.seed, 9]))
            fitted = rough.fit(kept, replace(run, max_iter=ROUGH))
            r = dispersion(aside.values, fitted.answer.at(aside.indices), aside.weights)
            if fitted.status in ENDED_EARLY:
                return negative_binomial(obs, r)
            run.memo[key] = r
        return negative_binomial(obs, run.memo[key])

    def _found(
        self, data: Observations, prior: NumericalPrior, smooth: dict[int, float], ridge: float, run: Run
    ) -> tuple[Problem, Outcome]:
        """What was solved in the end, and how."""
        problem = self._problem(data, self.rank, prior, smooth, ridge)
        return problem, self._fit(problem, smooth, run)

    def _problem(
        self, data: Observations, rank: Any, prior: NumericalPrior, smooth: dict[int, float], ridge: float
    ) -> Problem:
        weights = self.penalties(data.ndim, smooth, ridge)
        if self._bounded(prior, rank):
            bound = NonNegative()
            weights = {n: weights[n] + bound if n in weights else bound for n in range(data.ndim)}
        return Problem(
            data, rank=rank, prior=prior, interelement=weights, dtype=np.float64, quiet=True, model=self.form
        )

    def _bounded(self, prior: NumericalPrior, rank: Any) -> bool:
        """Are factors kept positive by bounds, within which Newton goes? Of counts, where on the best rank of ten
        tables it ended 1 to 17 % lower than multiplicative steps (one: 1 % higher), in half of the time.
        """
        return (
            self.form == "cp"
            and self.solver is None
            and prior.name in (PRIOR_OF["counts"], "negative-binomial")
            and isinstance(rank, Integral)  # the model refuses anything else
            and int(rank) <= HIGHEST
        )

    def penalties(self, ndim: int, smooth: dict[int, float], ridge: float) -> dict[Any, InterElementPrior]:
        """The inter-element prior of every mode."""
        return dict(penalties(ndim, smooth, ridge))

    def _smooth(self, obs: Observations, prior: NumericalPrior, facts: Facts) -> dict[int, float]:
        if self.smooth is not None:
            return {obs.mode(n): float(rho) for n, rho in self.smooth.items() if rho}
        return {n: self.smoother * rho for n, rho in default_smooth(obs, prior, facts.smooth).items()}

    def _solver(self, problem: Problem) -> Solver:
        """The user's; else, where x must be positive, Newton within bounds or multiplicative sweeps, for a loss that is
        steep towards zero leads line searches astray; else Newton under a firm ridge, and L-BFGS-B in bursts, after
        each of which entries set aside are looked at, under a soft one.
        """
        if self.solver is not None:
            return SOLVERS.make(self.solver)
        if problem.prior.majoriser and problem.prior.x_domain.low >= 0:
            bounded = self._bounded(problem.prior, problem.rank) and Newton().refused(problem) is None
            return Newton() if bounded else Multiplicative()
        firm = self.stiffer >= FIRM or problem.observations.nnz >= MANY
        if firm and self.rank <= HIGHEST and Newton().refused(problem) is None:
            return Newton()
        return LBFGSB(burst=BURST, memory=20)

    def _fit(self, problem: Problem, smooth: dict[int, float], run: Run) -> Outcome:
        """From several starts where the first leads nowhere: it may lie at a saddle."""
        best, least, began = None, np.inf, time.monotonic()
        for k in range(TRIES):  # the starts share the time
            now = self._from_start(
                problem, smooth, run.rest(began), np.random.default_rng([run.seed, 1 + self.start, k])
            )
            value = problem.value(now.state.factors)
            if best is None or value < least:
                best, least = now, value
            few = self.every_start or problem.observations.nnz < FEWEST  # where a fit takes a moment, all are tried
            if now.status in ENDED_EARLY or (now.best_iteration > 0 and not few):
                break
        assert best is not None
        return best

    def _from_start(self, problem: Problem, smooth: dict[int, float], run: Run, rng: np.random.Generator) -> Outcome:
        """To the best on entries set aside, then on for a while with all of them; without any, to convergence."""
        obs, solver, began = problem.observations, self._solver(problem), time.monotonic()
        longest = STOPPING.max_iter if run.max_iter is None else run.max_iter
        if self.bursts is not None and isinstance(solver, LBFGSB):
            longest = min(longest, self.bursts)
        share = ASIDE if self.held_out is None else self.held_out
        mend = partial(fill_unseen, smooth=smooth)
        if share == 0 or obs.nnz < FEWEST:
            start = mend(obs, first_factors(problem, rng))
            stopping = replace(STOPPING, max_iter=longest, seconds=run.rest(began).seconds)
            return run.drive(Fit(problem, solver, start), stopping, rng)
        kept, aside = split_like_gaps(obs, share, np.random.default_rng([run.seed, 2]))
        train = problem.on(kept)
        strides = isinstance(solver, Newton) and self._bounded(problem.prior, problem.rank)
        patience = BURSTS if isinstance(solver, LBFGSB) else STRIDES if strides else STOPPING.patience
        last_steps = 0 if run.max_iter is None else -(-longest // (LAST + 1))  # a limit is for both
        fit = Fit(train, solver, mend(kept, first_factors(train, rng)), aside, partial(mend, kept))
        left, most = run.rest(began).seconds, longest - last_steps
        stopping = replace(STOPPING, patience=patience, max_iter=most, seconds=left)
        first = run.drive(fit, stopping, rng)
        if first.status in ENDED_EARLY or first.best_iteration == 0:
            return first
        start = mend(kept, first.state.factors)
        steps = min(-(-first.best_iteration // LAST), last_steps or longest)
        if isinstance(solver, LBFGSB) and first.best_iteration < LAST:  # a quarter of few bursts: as many shorter ones
            solver, steps = replace(solver, burst=solver.burst // LAST), first.best_iteration
        stopping = Stopping(max_iter=steps, tol=0.0, seconds=run.rest(began).seconds)
        last = run.drive(Fit(problem, solver, start), stopping, rng)
        status = last.status if last.status in ENDED_EARLY else first.status
        return Outcome(last.state, status, first.history, first.best_iteration)


def first_factors(problem: Problem, rng: np.random.Generator) -> Sequence[Array]:
    """Of CP the per-mode means where the rank can hold them (one component if x > 0, else one per mode), and noise; of
    other models the mean, around which they find the rest more surely.
    """
    if problem.model != "cp":
        return initial_factors(problem, "constant", rng, noise=NOISE)
    needed = 1 if problem.prior.x_domain.low >= 0 else len(problem.shape)
    return initial_factors(problem, "means" if problem.rank >= needed else "constant", rng, noise=NOISE)
