"""bayes: the posterior of a CP model with main effects, by Gibbs sampling; every weight is learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tensorfill.data.facts import Facts, compute_facts, kind_of_numbers
from tensorfill.data.fold import Fold, fold_of
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import METHODS, Method, Run, Variants
from tensorfill.methods.checks import check_one_of, check_whole
from tensorfill.methods.defaults import long_modes
from tensorfill.models.emission import TRANSFORMS
from tensorfill.models.posterior import Posterior
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.result.completion import Completion
from tensorfill.result.packing import Answer
from tensorfill.result.transformed import InUnits, Refolded
from tensorfill.solvers.entries import entries
from tensorfill.solvers.gibbs.bend import bend_of
from tensorfill.solvers.gibbs.likelihoods import FEW_COUNTS, family, transforms_of
from tensorfill.solvers.gibbs.posterior import Kind, make_posterior, sampler_rank
from tensorfill.solvers.gibbs.sampler import Gibbs
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.transforms import Folded, Standardised

KEEP_LIMIT = 2**27  # numbers in all kept draws: half a GiB
MEASURED = ("reals", "amounts")  # kinds of numbers that have a unit
RING = 2  # a mode must be longer to be a ring: of two rows each is the neighbour of the other already
APART = 100  # times that columns may differ in size and still be tried as given; of others only the largest would count
STRAIGHT = 10  # a bend this many times the largest count has no effect
# Steps a chain of a table, and of a tensor, must have to be worth its burn-in, and steps of burn-in for each draw. Of
# 200, two chains have .97 of the error of four on ten sets, most of them tables, of the tuned half of `bench choose`.
# On tensors each stays near the components that it found first: on kinetic and cytokines four have .95 of that of two.
CHAIN, CHAIN_OF_TENSOR, BURN = 100, 40, 1.5
MOST_DRAWS, LEAST_DRAWS, SECONDS = 320, 80, 1.2  # if not given: as many draws as take so long, by `step_cost`
MOST_COMPONENTS = 10_000  # each row needs a square matrix of this side
MOST_STEPS = 10**7  # of all chains; their trace is kept
TRIAL = 10  # draws of a trial in a contest, at least


@METHODS.register("bayes")
@dataclass(frozen=True)
class Bayes(Method):
    """The mean of the posterior of a low-rank model, with error bars and draws.

    Parameters
    ----------
    prior : numerical prior; None: normal, after `transform`, columns with units of their own standardised. Counts are
        taken as negative binomial, yes/no as logistic, ordered levels as ordered probit; priors without a sampler of
        their own have a stand-in, which `settings` names
    rank : components beside the main effects; more than needed shrink away. None: 20 for a matrix, else 40, or 80
        where data are many; at most what any tensor of that shape has: 8 for a table of 8 columns
    smooth : modes (or names) whose neighbours may be alike; how much is learned. None: every mode longer than 4
    time : modes that are one time axis together, from the outer to the inner: ("day", "hour"). The end of each inner
        one goes over into the start of the next turn: its last row is a neighbour of the first. A period that is seen
        along the outermost (a week of days) is one more turn: weeks x days of the week
    transform : "none", "sqrt", "asinh" (counts: square roots of small ones, logarithms of large ones; where one turns
        into the other is learned), "log" (positive values); "auto": as the prior asks for; without a prior, for counts
        up to more than 20, sqrt, and where whole fibres are missing asinh too: as many chains of each
    draws, burn : steps sampled, and steps thrown away before; both shared out among the chains of one transform. None:
        320 draws, fewer where data are many, 80 at least; and half as many again before
    chains : independent runs, fewer where steps are few; their average is better than one long run's
    effects : has the model main effects?
    keep : at most this many draws are kept, spread evenly
    threads : None: as many as Numba may use. The answer does not depend on it
    noise : mode (or name) whose slices have noise of a size of their own, which is learned; None: all alike
    as_given : fit the data as they are: columns not standardised, no period folded

    Rows of factors whose slices have features (`complete(..., features=...)`) are regressed on these: slopes are drawn
    with all else, and shrink where features say nothing (Simm et al.: Macau, 2017). These modes are not smooth.
    """

    reference: ClassVar[str] = "Salakhutdinov, Mnih: Bayesian probabilistic matrix factorization using MCMC, ICML 2008"
    assumes: ClassVar[str] = "low CP rank beside main effects; smooth along modes where neighbours are alike"
    use_when: ClassVar[str] = "tables: ratings, counts, sensors over time; when error bars or several draws are wanted"
    competes: ClassVar[bool] = True
    uses_weights: ClassVar[bool] = True
    uses_features: ClassVar[bool] = True
    fills_unseen: ClassVar[bool] = True
    averages: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"prior"})
    learns_smooth: ClassVar[bool] = True

    prior: NumericalPrior | str | None = None
    rank: int | None = None
    smooth: Collection[int | str] | None = None
    time: Sequence[int | str] | None = None
    transform: str = "auto"
    draws: int | None = None
    burn: int | None = None
    keep: int = 60
    effects: bool = True
    chains: int = 4
    threads: int | None = None
    noise: int | str | None = None
    as_given: bool = False

    def __post_init__(self) -> None:
        check_whole(self, 0, "rank", most=MOST_COMPONENTS)
        check_whole(self, 0, "burn", most=MOST_STEPS)
        check_whole(self, 1, "draws", "keep", "chains", most=MOST_STEPS)
        if self.rank == 0 and not self.effects:
            msg = "a model must have components or main effects; got rank=0, effects=False."
            raise ValueError(msg)
        if isinstance(self.smooth, Mapping | str) and self.smooth:
            msg = f'smooth must be a list of modes, e.g. ["hour"], for bayes learns their weights; got {self.smooth!r}.'
            raise TypeError(msg)
        check_one_of(self, "transform", "auto", *TRANSFORMS)

    @property
    def numerical_prior(self) -> NumericalPrior | None:
        """The prior as an object."""
        return None if self.prior is None else PRIORS.make(self.prior)

    def smooth_modes(self, obs: Observations) -> list[int]:
        """The modes along which neighbours may be alike."""
        return long_modes(obs.shape) if self.smooth is None else sorted({obs.mode(key) for key in self.smooth})

    def rings(self, obs: Observations) -> frozenset[int]:
        """The modes whose last row is a neighbour of their first: all of `time` but the outermost."""
        found = {obs.mode(key) for key in (self.time or ())[1:]}
        return frozenset(n for n in found if obs.shape[n] > RING)

    def sample(self, obs: Observations, run: Run | None = None) -> tuple[Posterior, Outcome]:
        """Draw from the posterior."""
        run = run or Run()
        self.check(obs)
        smooth = frozenset(n for n in self.smooth_modes(obs) if obs.dims[n] not in obs.features)
        kinds = self._kinds(obs, smooth)
        gibbs = self._sampler(obs, kinds, smooth)
        steps = gibbs.chains * gibbs.length
        if run.max_iter is not None:  # sweeps, one by one
            gibbs, steps = replace(gibbs, entries=replace(gibbs.entries, threads=1), burst=1), run.max_iter
        stopping = Stopping(max_iter=steps, tol=0.0, seconds=run.seconds)
        fingerprint = f"{self!r} {obs.digest()} seed {run.seed}"
        outcome = run.drive(gibbs, stopping, np.random.default_rng(run.seed), fingerprint)
        return make_posterior(obs, kinds, gibbs, outcome, self.noise), outcome

    def _sampler(self, obs: Observations, kinds: Sequence[Kind], smooth: frozenset[int]) -> Gibbs:
        """The sampler of these data: as many chains as there are steps for, of each of the `kinds`."""
        table = entries(obs, self.threads)
        rank = sampler_rank(obs.shape, obs.nnz) if self.rank is None else self.rank
        width = int(table.first[-1]) * (rank + obs.ndim * self.effects)
        draws, burn = self.steps(obs.shape, obs.nnz)
        shortest = CHAIN if obs.ndim == 2 else CHAIN_OF_TENSOR
        chains = max(1, min(self.chains, draws, (draws + burn) // shortest))
        return Gibbs(
            table,
            tuple(likelihood for _, likelihood, _ in kinds),
            rank,
            smooth,
            burn=burn // chains,
            draws=draws // chains,
            keep=max(1, min(self.keep, KEEP_LIMIT // max(width, 1))),
            effects=self.effects,
            means=kinds[0][0].linear,
            chains=chains * len(kinds),
            views=tuple(partial(e.mean, parameter=0.0) for e, _, _ in kinds) if len(kinds) > 1 else (),
            rings=self.rings(obs) & smooth,
            features={obs.mode(d): X for d, X in obs.features.items()},
        )

    def _kinds(self, obs: Observations, smooth: frozenset[int]) -> list[Kind]:
        """How data follow from the model, in each unit that is drawn in."""
        prior, bend = self.numerical_prior, partial(bend_of, obs, smooth, self.threads)
        if prior is not None and isinstance(self.prior, str):  # its domain may depend on the data: levels, ends
            prior = prior.fitted(obs.values.astype(np.float64), weights=obs.weights)
        kinds = [family(obs, prior, transform, bend) for transform in transforms_of(obs, prior, self.transform)]
        if self.noise is not None:
            mode = obs.mode(self.noise)
            kinds = [(emission, likelihood.by_slice(obs, mode), words) for emission, likelihood, words in kinds]
        if len(kinds) > 1 and kinds[1][0].bend > STRAIGHT * obs.values.max():  # the same twice
            kinds = kinds[:1]
        return kinds

    def fit(self, obs: Observations, run: Run) -> Completion:
        units, fold = self._units(obs), self._fold(obs)
        recipe, data = self, obs if units is None else units.transform(obs)
        if units is not None and self.noise is None:
            recipe = replace(self, noise=_own_noise(obs.ndim, units.mode))
        if fold is not None:
            data = fold.apply(data)
            recipe = replace(recipe, time=fold.spread([obs.mode(key) for key in self.time or ()]))
            if recipe.noise is not None:
                recipe = replace(recipe, noise=fold.spread([obs.mode(recipe.noise)])[0])
            if self.smooth is not None:
                recipe = replace(recipe, smooth=fold.spread(self.smooth_modes(obs)))
        posterior, outcome = recipe.sample(data, run)
        draws, burn = recipe.steps(data.shape, data.nnz)
        settings = {"seed": run.seed, **self.settings(), "draws": draws, "burn": burn, **posterior.numbers}
        settings |= {"units": None if units is None else obs.dims[units.mode]}
        settings |= {"period": None if fold is None else fold.lengths[1]}
        answer: Answer = posterior if fold is None else Refolded(posterior, fold.mode, fold.codes)
        answer = answer if units is None else InUnits(answer, units)
        return self.completion(obs, run, answer, status=outcome.status, history=outcome.history, settings=settings)

    def _fold(self, obs: Observations) -> Fold | None:
        """By the period along the outermost mode of time, where there is one."""
        if not self.time or self.as_given:
            return None
        outer = obs.mode(self.time[0])
        if obs.dims[outer] in obs.features:
            return None
        period = compute_facts(obs).modes[outer].period
        return None if period is None else fold_of(obs, {outer: period})

    def _units(self, obs: Observations) -> Units | None:
        """Columns in metres and columns in pascal are fitted by their spread; a prior or a transform has its unit."""
        if (
            self.as_given
            or self.prior is not None
            or self.transform != "auto"
            or kind_of_numbers(obs.values) not in MEASURED
        ):
            return None
        facts = compute_facts(obs)
        mode = facts.uneven
        if mode is None or facts.modes[mode].smooth:  # days that differ are no columns
            return None
        return Units.of_slices(obs, mode)

    # --- what a contest asks ------------------------------------------------------------------------------------

    def initial_variants(self, facts: Facts) -> int:
        folded = any(m.period is not None for m in facts.modes) and max(facts.shape) < facts.size
        return 1 + folded + self._worth_as_given(facts) + self._bears_outliers(facts)  # see `variants`

    def variants(self, facts: Facts) -> Variants:
        """In the unit that such numbers have, then folded by a period, then in other units; each change on the best."""
        mode = self._slices(facts)
        best: dict[str, Any] = {"mode": mode, "transform": self.transform, "fold": None, "prior": None}
        best["noise"] = None if mode is None else _own_noise(len(facts.shape), mode)
        folds = [{"fold": n} for n, m in enumerate(facts.modes) if m.period is not None]
        if folds and max(facts.shape) == facts.size:  # a single series, unfolded, has no second mode to learn from
            best |= folds[0]
        least = yield self._variant(facts, **best)
        for change in [*folds, *self._other_units(facts, best)]:  # of data that repeat, periods say most
            if "fold" in change and best["fold"] is not None:
                continue
            now = best | change
            loss = yield self._variant(facts, **now)
            if loss < least:
                best, least = now, loss

    def _variant(
        self,
        facts: Facts,
        mode: int | None,
        transform: str,
        fold: int | None,
        prior: str | None,
        noise: int | None,
    ) -> Method:
        """With slices along `mode` standardised, and the mode `fold` folded by its period."""
        if noise is not None and fold is not None:
            noise += noise > fold
        plain = replace(self, transform=transform, prior=prior or self.prior, noise=noise, as_given=True)
        method: Method = plain
        if fold is not None:
            modes = (int(n) for n in self.time or ())  # by number, as the settings of a contest have them
            time = tuple(k for n in modes for k in ((n, n + 1) if n == fold else (n + (n > fold),)))
            period = facts.modes[fold].period
            assert period is not None
            method = Folded(replace(plain, time=time or None), fold, period, facts.modes[fold].dim)
        return method if mode is None else Standardised(method, mode)

    def _slices(self, facts: Facts) -> int | None:
        """The mode whose slices may have units of their own."""
        return facts.uneven if self.prior is None and facts.numbers in MEASURED else None

    def _worth_as_given(self, facts: Facts) -> bool:
        """Are there slices that are standardised first, and might be of one unit all the same?"""
        mode = self._slices(facts)
        return mode is not None and facts.modes[mode].spreads <= APART

    def _other_units(self, facts: Facts, first: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Roots or logarithms of what is positive, and slices as they are."""
        if self.prior is not None or facts.numbers == "yes/no":
            return []
        names = {"amounts": ["sqrt", "log"], "counts": ["none" if facts.high > FEW_COUNTS else "sqrt"]}
        others = [{"transform": name} for name in names.get(facts.numbers, [])]
        robust = [{"prior": "student-t"}] if self._bears_outliers(facts) else []
        if first["mode"] is None:
            return [*robust, *others]
        if not self._worth_as_given(facts):
            return robust
        as_given = {"mode": None, "noise": None}
        return [*robust, as_given, *(other | as_given for other in others)]

    def _bears_outliers(self, facts: Facts) -> bool:
        """Is Student's t worth a trial?"""
        return self.prior is None and facts.numbers in MEASURED and facts.outliers > 0

    @property
    def label(self) -> str:
        words = ["bayes"] + ([] if self.rank is None else [f"rank {self.rank}"])
        words += ["Student's t"] if self.prior == "student-t" else []
        words += ["own noise"] if self.noise is not None else []
        words += {"auto": [], "none": ["not transformed"]}.get(self.transform, [self.transform])
        return ", ".join(words)

    def steps(self, shape: tuple[int, ...], observed: int) -> tuple[int, int]:
        """(draws, burn): what was given, or as many as data of this size have time for."""
        usual = min(max(self._draws_in(SECONDS, shape, observed), LEAST_DRAWS), MOST_DRAWS)
        draws = usual if self.draws is None else self.draws
        return draws, int(BURN * draws) if self.burn is None else self.burn

    def _draws_in(self, seconds: float, shape: tuple[int, ...], observed: int) -> int:
        return int(seconds / ((1 + BURN) * self.step_cost(shape, observed)))

    def step_cost(self, shape: tuple[int, ...], observed: int) -> float:
        """Seconds of one draw: twice what was measured with 2 and 3 modes, ranks 5 to 80, 1,900 to 130,000 entries."""
        columns = (sampler_rank(shape, observed) if self.rank is None else self.rank) + len(shape)
        entries = len(shape) * observed * (2.4e-8 + 5.5e-11 * columns**2)
        return 2e-4 + entries + sum(shape) * (5e-7 + 8e-11 * columns**3)

    def cost(self, facts: Facts) -> float:
        return sum(self.steps(facts.shape, facts.observed)) * self.step_cost(facts.shape, facts.observed)

    def shorter(self, facts: Facts, seconds: float) -> Method:
        most, _ = self.steps(facts.shape, facts.observed)
        draws = max(min(most, self._draws_in(seconds, facts.shape, facts.observed)), TRIAL)
        return replace(self, draws=draws, burn=int(BURN * draws))

    def settings(self) -> dict[str, Any]:
        out = super().settings()
        prior = self.numerical_prior
        out["prior"] = None if prior is None else {"name": prior.name, **prior.settings()}
        out["smooth"] = None if self.smooth is None else list(self.smooth)
        out["time"] = None if self.time is None else list(self.time)
        return out


def _own_noise(modes: int, mode: int) -> int | None:
    """`mode`, of tensors. In a table a component may fit a standardised column alone: no noise is left (Heywood)."""
    return mode if modes > 2 else None
