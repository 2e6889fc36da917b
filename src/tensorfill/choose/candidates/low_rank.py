"""One low-rank fit under a numerical prior: ranks x stiffness x smoothness, decided on held-out entries."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search
from tensorfill.choose.candidates.field import in_units
from tensorfill.choose.defaults import PRIOR_OF, default_rank, default_ridge, default_smooth, prior_for
from tensorfill.choose.dispersion import dispersion, scattered
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.holdout import split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.interelement.base import InterElementPrior
from tensorfill.interelement.nonsmooth import NonNegative
from tensorfill.interelement.quadratic import penalties
from tensorfill.methods.base import Run
from tensorfill.models.init import initial_factors
from tensorfill.models.unseen import fill_unseen
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import ENDED_EARLY, Fit
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.loop import run as run_loop
from tensorfill.solvers.multiplicative import Multiplicative
from tensorfill.solvers.newton import Newton

Array = NDArray[Any]

NOISE = 0.3  # components that start too near zero stay there for long: it is a saddle
# Ranks that are tried, about one and a half times as large from step to step.
LADDER = (1, 2, 3, 4, 6, 8, 12, 18, 26, 38, 55, 80)
SOFTER = (1e-2, 1e-4, 1e-8)  # times the default ridge, for the rank that did best
STIFFER = (10.0, 100.0)  # the same, where softer ridges did not help
SMOOTHER = (10.0, 100.0)  # times the default smoothness
STARTS = 2  # fits from different starts that may be averaged
STOPPING = Stopping(max_iter=500, tol=1e-7, patience=20)
# Times the default ridge, from which on the ridge, not stopping early, keeps a fit from following the noise: Newton
# then ends where L-BFGS-B does or lower, in a third of the time. Below, it may end higher on yes/no. Measured on the
# normal and yes/no tables of `bench solvers`, seeds 0 and 1.
FIRM = 100.0
HIGHEST = 26  # rank at which that was measured; the time of a Newton sweep grows with its square
BURST, EVALUATIONS = 20, 300  # iterations of L-BFGS-B in one step of the loop; evaluations that a fit takes, about
BURSTS = 4  # patience with it, in such steps
STRIDES = 5  # patience with Newton within bounds, of which as many sweeps lead as far as dozens of multiplicative ones
SWEEPS = 20  # that it takes, about
ROUGH = 8  # sweeps that tell how much counts scatter
ASIDE = 0.1  # of the entries, to know when to stop
FEWEST = 60  # with fewer entries none can be spared to know when to stop
TRIES = 3  # starts, if the first leads nowhere
LAST = 4  # the last fit, to all entries, goes on for a quarter of the iterations that led there

_DISPERSIONS: WeakKeyDictionary[Observations, dict[str, float]] = WeakKeyDictionary()


@CANDIDATES.register("low-rank")
@dataclass(frozen=True)
class LowRank(Candidate):
    """A CP model with ridge, and quadratic variation along smooth modes; stopped when entries set aside say so."""

    assumes = "low CP rank under the numerical prior; smooth along the smooth modes"
    weighs = True
    tells_unseen = True
    takes = frozenset({"prior", "form", "rank", "smooth", "ridge", "solver"})
    every_start: ClassVar[bool] = False  # are all starts tried, also if the first leads somewhere?

    given: Given = field(default_factory=Given)
    rank: Any = 1
    stiffer: float = 1.0
    smoother: float = 1.0
    start: int = 0
    form: str = "cp"
    standardise: int | None = None  # a mode whose slices are centred and scaled, where numbers have no zero
    centred: bool = True  # is the level taken out of such numbers? It may be part of the low-rank model
    scattered: bool = False  # are they counts that scatter more than Poisson's?
    bursts: int | None = None  # of L-BFGS-B at most, in a trial; a soft ridge may ask for hundreds

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        return True if given.form in (None, "cp") else f"a {given.form} model was asked for"

    @classmethod
    def first(cls, facts: Facts, given: Given) -> int:
        if has_no_zero(facts, given):
            return 2 + (facts.uneven is not None)  # one in each unit
        return 2 if may_scatter(facts, given) else 1

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        apart = facts.uneven if has_no_zero(facts, given) else None
        search = _Climb(cls(given, standardise=apart), given, facts)
        yield from search.units(facts)
        yield from search.ranks()
        yield from search.stiffness()
        yield from search.smoothness(facts)
        for start in range(1, STARTS if given.starts is None else given.starts):
            yield replace(search.best, start=start)

    @property
    def label(self) -> str:
        words = [f"low rank {self.rank}"]
        words += [f"{self.stiffer:g} x ridge"] if self.stiffer != 1 else []
        words += [f"{self.smoother:g} x smooth"] if self.smoother != 1 else []
        words += ["slices standardised"] if self.standardise is not None else []
        words += [] if self.centred else ["with its level"]
        words += ["scattered"] if self.scattered else []
        words += [f"start {self.start}"] if self.start else []
        return ", ".join(words)

    def cost(self, facts: Facts) -> float:
        if facts.numbers == "counts" and self.given.solver is None and self.rank <= HIGHEST:
            rows = 1e-9 * sum(facts.shape) * self.rank**3
            sweeps = SWEEPS + ROUGH * self.scattered
            return 0.02 + sweeps * (1e-4 + rows + facts.observed * (8.5e-8 + 7e-9 * self.rank))
        return 0.02 + (EVALUATIONS if facts.numbers in ("reals", "scale", "yes/no") else 150) * self._evaluation(facts)

    def _evaluation(self, facts: Facts) -> float:
        """Seconds that an evaluation of loss and gradient takes; twice what was measured, as all costs are."""
        entry = 1.2e-9 * facts.size if facts.share > 0.05 and facts.dense else 1.2e-8 * facts.observed
        return 2 * (1e-4 + entry * self.rank + 2e-8 * facts.observed)

    def shorter(self, facts: Facts, seconds: float) -> Candidate:
        evaluations = max(EVALUATIONS, seconds / self._evaluation(facts)) if self.form == "cp" else np.inf
        return replace(self, bursts=int(evaluations / BURST)) if evaluations < STOPPING.max_iter * BURST else self

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        began = time.monotonic()
        given = self._scattered(obs, facts, run) if self.scattered else prior_for(obs, self.given.prior)
        units = self._units(obs, given)
        data = obs if units is None else units.take_out(obs)
        prior = given if units is None else prior_for(data, self.given.prior or given.name)
        smooth = self._smooth(data, prior, facts)
        ridge = default_ridge(data, prior) * self.stiffer if self.given.ridge is None else float(self.given.ridge)
        problem, outcome = self._found(data, prior, smooth, ridge, run.rest(began))
        factors = fill_unseen(data, outcome.state.factors, smooth)
        answer: Any = Factors(problem.model_of(factors), prior)
        answer = answer if units is None else in_units(answer, units)
        settings = {
            "model": self.form,
            "rank": problem.rank,
            "ridge": ridge,
            "smooth": {str(n): rho for n, rho in smooth.items()},
        }
        settings |= {"solver": self._solver(problem).name}
        return Fitted(answer, outcome.status, outcome.history, problem, settings)

    def _scattered(self, obs: Observations, facts: Facts, run: Run) -> NumericalPrior:
        """A negative binomial, its dispersion as entries set aside have it around the means of a short Poisson fit: of
        a middling rank, so that it is found out once for the same observations.
        """
        middling = LowRank(self.given, _middling(facts, self.given))
        known, key = _DISPERSIONS.setdefault(obs, {}), f"{run.seed} {middling!r}"
        if key in known:
            return scattered(obs, known[key])
        kept, aside = split_like_gaps(obs, ASIDE, np.random.default_rng([run.seed, 9]))
        fitted = middling.fit(kept, facts, replace(run, max_iter=ROUGH))
        r = dispersion(aside.values, fitted.answer.at(aside.indices), aside.weights)
        if fitted.status not in ENDED_EARLY:
            known[key] = r
        return scattered(obs, r)

    def _found(
        self, data: Observations, prior: NumericalPrior, smooth: dict[int, float], ridge: float, run: Run
    ) -> tuple[Problem, Outcome]:
        """What was solved in the end, and how."""
        problem = self._problem(data, self.rank, prior, smooth, ridge)
        return problem, self._fit(problem, smooth, run)

    def _problem(
        self, data: Observations, rank: Any, prior: NumericalPrior, smooth: dict[int, float], ridge: float
    ) -> Problem:
        weights = self._penalties(data.ndim, smooth, ridge)
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
            and self.given.solver is None
            and prior.name in (PRIOR_OF["counts"], "negative-binomial")
            and bool(rank <= HIGHEST)
        )

    def _penalties(self, ndim: int, smooth: dict[int, float], ridge: float) -> dict[Any, InterElementPrior]:
        return dict(penalties(ndim, smooth, ridge))

    def _units(self, obs: Observations, prior: NumericalPrior) -> Units | None:
        """Real numbers are fitted centred, and by their spread: neither level nor unit changes what weights mean. A
        prior that came with its own scale keeps the unit of the data.
        """
        if not prior.location:
            return None
        if self.standardise is not None:
            return Units.of_slices(obs, self.standardise)
        return Units.of_all(obs, centred=self.centred, scaled=not isinstance(self.given.prior, NumericalPrior))

    def _smooth(self, obs: Observations, prior: NumericalPrior, facts: Facts) -> dict[int, float]:
        if self.given.smooth is not None:
            return dict(self.given.smooth)
        return {n: self.smoother * rho for n, rho in default_smooth(obs, prior, facts.smooth).items()}

    def _solver(self, problem: Problem) -> Solver:
        """The user's; else, where x must be positive, Newton within bounds or multiplicative sweeps, for a loss that is
        steep towards zero leads line searches astray; else Newton under a firm ridge, and L-BFGS-B in bursts, after
        each of which entries set aside are looked at, under a soft one.
        """
        if self.given.solver is not None:
            return SOLVERS.make(self.given.solver)
        if problem.prior.majoriser and problem.prior.x_domain.low >= 0:
            bounded = self._bounded(problem.prior, problem.rank) and Newton().refused(problem) is None
            return Newton() if bounded else Multiplicative()
        if self.stiffer >= FIRM and self.rank <= HIGHEST and Newton().refused(problem) is None:
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
        share = ASIDE if self.given.held_out is None else self.given.held_out
        mend = partial(fill_unseen, smooth=smooth)
        if share == 0 or obs.nnz < FEWEST:
            start = mend(obs, first_factors(problem, rng))
            stopping = replace(STOPPING, max_iter=longest, seconds=run.rest(began).seconds)
            return _run(Fit(problem, solver, start), stopping, rng, run)
        kept, aside = split_like_gaps(obs, share, np.random.default_rng([run.seed, 2]))
        train = problem.on(kept)
        strides = isinstance(solver, Newton) and self._bounded(problem.prior, problem.rank)
        patience = BURSTS if isinstance(solver, LBFGSB) else STRIDES if strides else STOPPING.patience
        last_steps = 0 if run.max_iter is None else -(-longest // (LAST + 1))  # a limit is for both
        fit = Fit(train, solver, mend(kept, first_factors(train, rng)), aside, partial(mend, kept))
        left, most = run.rest(began).seconds, longest - last_steps
        stopping = replace(STOPPING, patience=patience, max_iter=most, seconds=left)
        first = _run(fit, stopping, rng, run)
        if first.status in ENDED_EARLY or first.best_iteration == 0:
            return first
        start = mend(kept, first.state.factors)
        steps = min(-(-first.best_iteration // LAST), last_steps or longest)
        if isinstance(solver, LBFGSB) and first.best_iteration < LAST:  # a quarter of few bursts: as many shorter ones
            solver, steps = replace(solver, burst=solver.burst // LAST), first.best_iteration
        left = run.rest(began).seconds
        last = _run(Fit(problem, solver, start), Stopping(max_iter=steps, tol=0.0, seconds=left), rng, run)
        status = last.status if last.status in ENDED_EARLY else first.status
        return Outcome(last.state, status, first.history, first.best_iteration)


def _run(fit: Fit, stopping: Stopping, rng: np.random.Generator, run: Run) -> Outcome:
    return run_loop(fit, stopping=stopping, rng=rng, callback=run.callback)


def first_factors(problem: Problem, rng: np.random.Generator) -> Sequence[Array]:
    """Of CP the per-mode means where the rank can hold them (one component if x > 0, else one per mode), and noise; of
    other models the mean, around which they find the rest more surely.
    """
    if problem.model != "cp":
        return initial_factors(problem, "constant", rng, noise=NOISE)
    needed = 1 if problem.prior.x_domain.low >= 0 else len(problem.shape)
    return initial_factors(problem, "means" if problem.rank >= needed else "constant", rng, noise=NOISE)


def has_no_zero(facts: Facts, given: Given) -> bool:
    """Real numbers under a prior that was chosen by name or not at all: their level and unit may be taken out."""
    if isinstance(given.prior, NumericalPrior):
        return False
    return PRIORS[given.prior or PRIOR_OF[facts.numbers]].location


def may_scatter(facts: Facts, given: Given) -> bool:
    """Counts of which nobody said what they are, enough to tell by a few of them how they scatter."""
    return given.prior is None and facts.numbers == "counts" and ASIDE * facts.observed >= FEWEST


def _ladder(facts: Facts, given: Given) -> list[int]:
    """The ranks to try: the one given, else those that the data can bear."""
    if isinstance(given.rank, int | np.integer):
        return [int(given.rank)]
    most = default_rank(facts.observed, facts.shape, facts.smooth[:1] if len(facts.smooth) == 1 else ())
    return [r for r in LADDER if r <= most] or [1]


def _middling(facts: Facts, given: Given) -> int:
    """The rank that is tried first."""
    ladder = _ladder(facts, given)
    return ladder[len(ladder) // 2]


class _Climb:
    """The search for rank, then stiffness, then smoothness; remembers the best."""

    def __init__(self, first: LowRank, given: Given, facts: Facts) -> None:
        self.given = given
        self.best, self.least = first, np.inf
        self.counts = facts.numbers == "counts"
        self.ladder = _ladder(facts, given)

    def _seen(self, candidate: LowRank, loss: float) -> bool:
        """Is it the best so far?"""
        if loss < self.least:
            self.best, self.least = candidate, loss
            return True
        return False

    def ranks(self) -> Search:
        """Higher ranks than the best, until two in a row are worse; if the first was, lower ones."""
        if not np.isfinite(self.least):
            return
        at = self.ladder.index(self.best.rank)
        climbed = yield from self._along(self.ladder[at + 1 :])
        if not climbed:
            yield from self._along(self.ladder[:at][::-1])

    def _along(self, ranks: list[int]) -> Generator[LowRank, float, bool]:
        """One rank after the other, until two in a row are worse than the best. Was any better?"""
        worse, better = 0, False
        for rank in ranks:
            now = replace(self.best, rank=rank)
            if self._seen(now, (yield now)):
                worse, better = 0, True
            else:
                worse += 1
            if worse == 2:
                break
        return better

    def units(self, facts: Facts) -> Search:
        """A middling rank in every unit: slices standardised, all centred, as they are; counts as scattered, too."""
        first = replace(self.best, rank=_middling(facts, self.given))
        ways = [first] if first.standardise is None else [first, replace(first, standardise=None)]
        if has_no_zero(facts, self.given):
            ways.append(replace(first, standardise=None, centred=False))
        if may_scatter(facts, self.given):
            ways.append(replace(first, scattered=True))
        for now in ways:
            self._seen(now, (yield now))

    def stiffness(self) -> Search:
        """Softer ridges, down to none for data without noise, which counts have; or else stiffer ones, under which
        there is room for more components.
        """
        if self.given.ridge is not None:
            return
        for times in () if self.counts else SOFTER:
            now = replace(self.best, stiffer=times)
            if not self._seen(now, (yield now)):
                break
        if self.best.stiffer < 1:
            return
        for times in STIFFER:
            now = replace(self.best, stiffer=times)
            if not self._seen(now, (yield now)):
                return
            yield from self.ranks()

    def smoothness(self, facts: Facts) -> Search:
        for times in () if self.given.smooth is not None or not facts.smooth else SMOOTHER:
            now = replace(self.best, smoother=times)
            if not self._seen(now, (yield now)):
                return
