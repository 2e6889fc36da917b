"""Other low-rank forms than CP: Tucker, tensor train, tensor ring and tubal models. Each finds its ranks by growing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.interelement.base import InterElementPrior
from tensorfill.interelement.quadratic import Ridge, penalties
from tensorfill.methods.base import METHODS, Method, Run, Variants
from tensorfill.methods.lowrank.grow import Growth, ladder
from tensorfill.methods.lowrank.low_rank import LowRank
from tensorfill.methods.lowrank.search import ASIDE, FEWEST, SOFTER, STIFFER, may_be_standardised
from tensorfill.models import MODELS
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Outcome
from tensorfill.solvers.multiplicative import Multiplicative
from tensorfill.transforms import Standardised

BURST = 40  # iterations of L-BFGS-B between looks at entries set aside
EVALUATIONS = 200  # of one fit, about


@dataclass(frozen=True)
class OtherModel(LowRank):
    """A low-rank model of another form than CP; its ranks grow as long as entries set aside gain by it.

    Parameters
    ----------
    effort : "best": a contest tries it in any case
    coarse : are ranks grown in large steps?
    others : as `low-rank`; rank as the model has it, (8, 8, 3)
    """

    own_form: ClassVar[str]
    every_start = True  # rings of the exact rank have many poor minima

    effort: str = "normal"
    coarse: bool = False

    @property
    def form(self) -> str:
        return self.own_form

    def refuses(self, obs: Observations) -> str | None:
        return None if self.model in (None, self.form) else f"a {self.model} model was asked for"

    def suits(self, facts: Facts) -> str | None:
        if self.model not in (None, self.form):
            return f"a {self.model} model was asked for"
        if self.model is None and self.rank is not None:
            return "the rank was given without a model: it is that of CP"
        if len(facts.shape) < 3 and self.model is None:
            return "low-rank matrices have but one form"
        return None

    def initial_variants(self, facts: Facts) -> int:
        """One; two if asked for or with much time."""
        return 2 if self.model is not None or self.effort == "best" else 1

    def variants(self, facts: Facts) -> Variants:
        """As the numbers are (a level would be one rank more); then in other units, and stiffer."""
        first, best, least = replace(self, as_given=True), None, np.inf
        ways = [Standardised(first, centred=False) if may_be_standardised(facts, self.prior) else first]
        if may_be_standardised(facts, self.prior):
            ways += [Standardised(first)] + ([Standardised(first, facts.uneven)] if facts.uneven is not None else [])
        for now in ways:
            loss = yield now
            if loss < least:
                best, least = now, loss
        if self.ridge is not None or best is None:
            return
        softer = SOFTER if self.rank is not None else ()  # what grows finds that by itself
        for ridges in (softer, STIFFER):
            for times in ridges:
                inner = replace(first, stiffer=times)
                loss = yield replace(best, method=inner) if isinstance(best, Standardised) else inner
                if loss >= least:
                    break
                least = loss

    @property
    def label(self) -> str:
        rank = "" if self.rank is None else f" {self.rank}".replace("(", "").replace(")", "").replace(",", " x")
        plain = "low rank" if self.rank is None else f"low rank {self.rank}"
        return super().label.replace(plain, f"{self.form}{rank}")

    def cost(self, facts: Facts) -> float:
        """Of growing, fits of some ranks of the ladder, of each rank by itself, and of softer ridges."""
        ranks = ladder(facts.shape, facts.observed, self.form, self.coarse) if self.rank is None else [self.rank]
        middle = ranks[len(ranks) // 2]
        fits = min(len(ranks), 5) + (1 if self.coarse else np.size(middle) + 3) if self.rank is None else 2
        inner, leaf, branch = MODELS[self.form].contraction(facts.shape, middle).costs()
        dense = facts.share > 0.05 and facts.dense
        entries = facts.size * (2e-9 + 1.2e-10 * inner) if dense else facts.observed * (1e-8 + 1e-9 * (leaf + branch))
        return 0.02 + EVALUATIONS * fits * (3e-4 + entries + 2e-8 * facts.observed)

    def shorter(self, facts: Facts, seconds: float) -> Method:
        """Enough to know whether the form serves."""
        return self if self.rank is not None or self.cost(facts) <= seconds else replace(self, coarse=True)

    def _solver(self, problem: Problem) -> Solver:
        """As of CP, but of those that know other models; in longer bursts, as less is forgotten between them."""
        if self.solver is not None:
            return SOLVERS.make(self.solver)
        positive = problem.prior.majoriser and problem.prior.x_domain.low >= 0
        return Multiplicative() if positive else LBFGSB(burst=BURST, memory=20)

    def _smooth(self, obs: Observations, prior: Any, facts: Facts) -> dict[int, float]:
        own = MODELS[self.form].modes(obs.ndim)
        return {n: rho for n, rho in super()._smooth(obs, prior, facts).items() if n < own}

    def penalties(self, ndim: int, smooth: dict[int, float], ridge: float) -> dict[Any, InterElementPrior]:
        """With a ridge on every parameter, lest the scale wander to one without."""
        form = MODELS[self.form]
        core: dict[Any, InterElementPrior] = dict.fromkeys(form.others(), Ridge(ridge)) if ridge > 0 else {}
        return {**penalties(form.modes(ndim), smooth, ridge), **core}

    def _found(
        self, data: Observations, prior: NumericalPrior, smooth: dict[int, float], ridge: float, run: Run
    ) -> tuple[Problem, Outcome]:
        share = ASIDE if self.held_out is None else self.held_out
        if self.rank is not None:
            return super()._found(data, prior, smooth, ridge, run)
        if share == 0 or data.nnz < FEWEST:  # nothing to grow by: a middling rank
            ranks = ladder(data.shape, data.nnz, self.form)
            return replace(self, rank=ranks[len(ranks) // 2])._found(data, prior, smooth, ridge, run)

        def make(obs: Observations, rank: Any, softer: float) -> Problem:
            return self._problem(obs, rank, prior, smooth, softer * ridge)

        rng = np.random.default_rng([run.seed, 1 + self.start])
        first = make(data, ladder(data.shape, data.nnz, self.form)[0], 1.0)
        growth = Growth(make, data, self.form, self._solver(first), run, rng, smooth, share)
        return growth.grown(soften=self.ridge is None, coarse=self.coarse)


@METHODS.register("tt")
@dataclass(frozen=True)
class TensorTrain(OtherModel):
    """A tensor train model; as `low-rank` otherwise."""

    own_form = "tt"
    reference = "Oseledets: Tensor-train decomposition, SIAM Journal on Scientific Computing 2011"
    assumes = "neighbouring modes are tied by few components; three modes or more"
    use_when = "tensors of three modes or more that CP does not fit"


@METHODS.register("tubal")
@dataclass(frozen=True)
class Tubal(OtherModel):
    """A tubal model; as `low-rank` otherwise."""

    own_form = "tubal"
    reference = "Kilmer, Martin: Factorization strategies for third-order tensors, 2011"
    assumes = "slices along the last mode are low-rank after a Fourier transform"
    use_when = "video and series of matrices that repeat along the last mode"


@METHODS.register("tucker")
@dataclass(frozen=True)
class Tucker(OtherModel):
    """A Tucker model; as `low-rank` otherwise."""

    own_form = "tucker"
    reference = "Tucker: Some mathematical notes on three-mode factor analysis, Psychometrika 1966"
    assumes = "every mode has few components, and any of them may be tied to any other"
    use_when = "tensors whose modes have different ranks"


@METHODS.register("tr")
@dataclass(frozen=True)
class TensorRing(OtherModel):
    """A tensor ring model; as `low-rank` otherwise."""

    own_form = "tr"
    reference = "Zhao et al.: Tensor ring decomposition, 2016"
    assumes = "as a tensor train, the last mode tied to the first"
    use_when = "tensors without a first and a last mode"
