"""bayes: the posterior of a CP model with main effects, by Gibbs sampling; every weight is learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tensorfill.data.facts import kind_of_numbers, look
from tensorfill.data.fold import Fold, fold_of
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.checks import check_whole
from tensorfill.methods.modes import long_modes
from tensorfill.models.emission import TRANSFORMS, Emission
from tensorfill.models.posterior import Posterior
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.result.answer import Answer, InUnits, Refolded
from tensorfill.result.completion import Completion
from tensorfill.solvers.gibbs import Gibbs
from tensorfill.solvers.gibbs_bend import bend_of
from tensorfill.solvers.gibbs_data import entries
from tensorfill.solvers.gibbs_family import ceiling, family, units
from tensorfill.solvers.gibbs_likelihood import Likelihood
from tensorfill.solvers.gibbs_trace import summary
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.loop import run as run_loop

KEEP_LIMIT = 2**27  # numbers in all kept draws: half a GiB
RANK = 20  # of a matrix
# Of tensors. Hangzhou set A, whole days missing, masks of seeds 2000 to 2003: MAPE .181 -> .172, twice the time
RANK_OF_TENSORS = 40
MEASURED = ("reals", "amounts")  # kinds of numbers that have a unit
RING = 2  # a mode must be longer to be a ring: of two rows each is the neighbour of the other already
STRAIGHT = 10  # a bend this many times the largest count has no effect
CHAIN = 40  # steps a chain must have to be worth its burn-in
MOST_COMPONENTS = 10_000  # each row needs a square matrix of this side
MOST_STEPS = 10**7  # of all chains; their trace is kept
Kind = tuple[Emission, Likelihood, str]  # how data follow from the model, the same for the sampler, and both in words


@METHODS.register("bayes")
@dataclass(frozen=True)
class Bayes(Method):
    """The mean of the posterior of a low-rank model, with error bars and draws.

    Parameters
    ----------
    prior : numerical prior; None: normal, after `transform`, columns with units of their own standardised. Counts are
        taken as negative binomial, yes/no as logistic; priors without a sampler of their own have a stand-in, which
        `settings` names
    rank : components beside the main effects; more than needed shrink away. None: 20 for a matrix, else 40
    smooth : modes (or names) whose neighbours may be alike; how much is learned. None: every mode longer than 4
    time : modes that are one time axis together, from the outer to the inner: ("day", "hour"). The end of each inner
        one goes over into the start of the next turn: its last row is a neighbour of the first. A period that is seen
        along the outermost (a week of days) is one more turn: weeks x days of the week
    transform : "none", "sqrt", "asinh" (counts: square roots of small ones, logarithms of large ones; where one turns
        into the other is learned), "log" (positive values); "auto": as the prior asks for; without a prior, for counts
        up to more than 20, sqrt, and where whole fibres are missing asinh too: as many chains of each
    draws, burn : steps sampled, and steps thrown away before; both shared out among the chains of one transform
    chains : independent runs, one after the other, fewer where steps are few; their average is better than one long
        run's
    effects, pairs : main effects, and how many columns for each pair of modes, constant along the others
    keep : at most this many draws are kept, spread evenly
    threads : None: as many as Numba may use. The answer does not depend on it
    """

    reference: ClassVar[str] = "Salakhutdinov, Mnih: Bayesian probabilistic matrix factorization using MCMC, ICML 2008"
    assumes: ClassVar[str] = "low CP rank beside main effects; smooth along modes where neighbours are alike"
    use_when: ClassVar[str] = "tables: ratings, counts, sensors over time; when error bars or several draws are wanted"

    learns_smooth: ClassVar[bool] = True

    prior: NumericalPrior | str | None = None
    rank: int | None = None
    smooth: Collection[int | str] | None = None
    time: Sequence[int | str] | None = None
    transform: str = "auto"
    draws: int = 120
    burn: int = 80
    keep: int = 60
    effects: bool = True
    pairs: int = 0
    chains: int = 4
    threads: int | None = None

    def __post_init__(self) -> None:
        check_whole(self, 0, "pairs", *(["rank"] if self.rank is not None else []), most=MOST_COMPONENTS)
        check_whole(self, 0, "burn", most=MOST_STEPS)
        check_whole(self, 1, "draws", "keep", "chains", most=MOST_STEPS)
        if self.rank == 0 and not self.effects:
            msg = "a model must have components or main effects; got rank=0, effects=False."
            raise ValueError(msg)
        if isinstance(self.smooth, Mapping | str) and self.smooth:
            msg = f'smooth must be a list of modes, e.g. ["hour"], for bayes learns their weights; got {self.smooth!r}.'
            raise TypeError(msg)
        if self.transform not in ("auto", *TRANSFORMS):
            msg = f"transform must be auto, {', '.join(TRANSFORMS)}; got {self.transform!r}."
            raise ValueError(msg)

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

    def fit(self, obs: Observations, run: Run | None = None) -> tuple[Posterior, Outcome]:
        """Draw from the posterior."""
        run = run or Run()
        self.check(obs)
        smooth = frozenset(self.smooth_modes(obs))
        kinds = self._kinds(obs, smooth)
        gibbs = self._sampler(obs, kinds, smooth)
        steps = gibbs.chains * gibbs.length if run.max_iter is None else run.max_iter
        outcome = run_loop(
            gibbs,
            stopping=Stopping(max_iter=steps, tol=0.0, seconds=run.seconds),
            rng=np.random.default_rng(run.seed),
            callback=run.callback,
            checkpoint=run.checkpoint,
            resume=run.resume,
            fingerprint=f"{self!r} {obs.digest()} seed {run.seed}",
        )
        return _posterior(obs, kinds, gibbs, outcome), outcome

    def _sampler(self, obs: Observations, kinds: Sequence[Kind], smooth: frozenset[int]) -> Gibbs:
        """The sampler of these data: as many chains as there are steps for, of each of the `kinds`."""
        table = entries(obs, self.threads)
        rank = default_rank(obs.ndim) if self.rank is None else self.rank
        width = int(table.first[-1]) * (rank + obs.ndim * self.effects)
        chains = max(1, min(self.chains, self.draws, (self.draws + self.burn) // CHAIN))
        emission, likelihood, _ = kinds[0]
        return Gibbs(
            table,
            likelihood,
            rank,
            smooth,
            burn=self.burn // chains,
            draws=self.draws // chains,
            keep=max(1, min(self.keep, KEEP_LIMIT // max(width, 1))),
            effects=self.effects,
            means=emission.linear,
            pairs=self.pairs,
            chains=chains * len(kinds),
            others=tuple(other for _, other, _ in kinds[1:]),
            views=tuple(partial(e.mean, parameter=0.0) for e, _, _ in kinds),
            rings=self.rings(obs) & smooth,
        )

    def _kinds(self, obs: Observations, smooth: frozenset[int]) -> list[Kind]:
        """How data follow from the model, in each unit that is drawn in."""
        prior, bend = self.numerical_prior, partial(bend_of, obs, smooth, self.threads)
        kinds = [family(obs, prior, transform, bend) for transform in units(obs, prior, self.transform)]
        if len(kinds) > 1 and kinds[1][0].bend > STRAIGHT * obs.values.max():  # the same twice
            kinds = kinds[:1]
        return kinds

    def complete(self, obs: Observations, run: Run) -> Completion:
        units, fold = self._units(obs), self._fold(obs)
        recipe, data = self, obs if units is None else units.take_out(obs)
        if fold is not None:
            data = fold.apply(data)
            recipe = replace(self, time=fold.spread([obs.mode(key) for key in self.time or ()]))
            if self.smooth is not None:
                recipe = replace(recipe, smooth=fold.spread(self.smooth_modes(obs)))
        posterior, outcome = recipe.fit(data, run)
        settings = {"seed": run.seed, **self.settings(), **posterior.numbers}
        settings |= {"units": None if units is None else obs.dims[units.mode]}
        settings |= {"period": None if fold is None else fold.lengths[1]}
        answer: Answer = posterior if fold is None else Refolded(posterior, fold.mode, fold.codes)
        return Completion(
            observations=obs,
            method=self.name,
            status=outcome.status,
            history=outcome.history,
            settings=settings,
            answer=answer if units is None else InUnits(answer, units),
        )

    def _fold(self, obs: Observations) -> Fold | None:
        """By the period along the outermost mode of time, where there is one."""
        if not self.time:
            return None
        outer = obs.mode(self.time[0])
        period = look(obs).modes[outer].period
        return None if period is None else fold_of(obs, {outer: period})

    def _units(self, obs: Observations) -> Units | None:
        """Columns in metres and columns in pascal are fitted by their spread; a prior or a transform has its unit."""
        if self.prior is not None or self.transform != "auto" or kind_of_numbers(obs.values) not in MEASURED:
            return None
        facts = look(obs)
        mode = facts.uneven
        if mode is None or facts.modes[mode].smooth:  # days that differ are no columns
            return None
        return Units.of_slices(obs, mode)

    def settings(self) -> dict[str, Any]:
        out = super().settings()
        prior = self.numerical_prior
        out["prior"] = None if prior is None else {"name": prior.name, **prior.settings()}
        out["smooth"] = None if self.smooth is None else list(self.smooth)
        out["time"] = None if self.time is None else list(self.time)
        return out


def _posterior(obs: Observations, kinds: Sequence[Kind], gibbs: Gibbs, outcome: Outcome) -> Posterior:
    """The draws that the sampler kept, as a posterior."""
    draws, means, parameters = gibbs.kept(outcome.state)
    emission = kinds[0][0]
    numbers = summary(outcome.state.arrays["trace"], gibbs.draws) | {
        "steps": int(outcome.state.numbers["k"]),
        "chains": gibbs.chains,
        "rank": gibbs.rank,
        "likelihood": " and ".join(words for _, _, words in kinds),
    }
    return Posterior(
        obs.shape,
        np.stack(draws),
        parameters[:, 0],
        emission,
        np.stack(means) if means else None,
        gibbs.sequence[-1],
        ceiling(obs, emission),
        numbers,
        tuple(other for other, _, _ in kinds[1:]),
        parameters[:, -1].astype(np.int8) if len(kinds) > 1 else None,
    )


def default_rank(modes: int) -> int:
    """Components beside the main effects, for as many modes."""
    return RANK if modes == 2 else RANK_OF_TENSORS


def fit_posterior(obs: Observations, run: Run | None = None, **settings: Any) -> tuple[Posterior, Outcome]:
    """The posterior of `obs`; settings as `Bayes`."""
    return Bayes(**settings).fit(obs, run)
