"""Other low-rank forms than CP: Tucker, tensor train, tensor ring and tubal models. Each finds its ranks by growing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorfill.choose.candidates.base import CANDIDATES, Search
from tensorfill.choose.candidates.low_rank import ASIDE, FEWEST, SOFTER, STIFFER, LowRank, has_no_zero
from tensorfill.choose.given import Given
from tensorfill.choose.grow import Growth, ladder
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.interelement.base import InterElementPrior
from tensorfill.interelement.quadratic import Ridge, penalties
from tensorfill.methods.base import Run
from tensorfill.models import MODELS
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Outcome
from tensorfill.solvers.multiplicative import Multiplicative

FORMS = ("tt", "tubal", "tucker", "tr")  # a train of some rank is all of the others but tubal: it speaks for them
BURST = 40  # iterations of L-BFGS-B between looks at entries set aside
EVALUATIONS = 200  # of one fit, about


@CANDIDATES.register("models")
@dataclass(frozen=True)
class OtherModels(LowRank):
    """A Tucker, tensor train, tensor ring or tubal model; its ranks grow as long as entries set aside gain by it."""

    assumes = "low rank in one of these forms under the numerical prior; three modes or more"
    every_start = True  # rings of the exact rank have many poor minima

    form: str = "tt"
    rank: Any = None  # as `Model.rank`; None: grown
    coarse: bool = False  # grown in large steps

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        if given.form == "cp":
            return "a CP model was asked for"
        if given.form is None and given.rank is not None:
            return "the rank was given without a model: it is that of CP"
        if len(facts.shape) < 3 and given.form is None:
            return "low-rank matrices have but one form"
        return True

    @classmethod
    def first(cls, facts: Facts, given: Given) -> int:
        """None, unless asked for or with much time: on most tables CP is as good in less, so they have what others
        leave.
        """
        asked = given.form is not None or "models" in (given.candidates or ())
        return 2 if asked or given.effort == "best" else 0

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        """Each form as the numbers are (a level would be one rank more); then the best of them in other units, and
        stiffer.
        """
        best, least = cls(given), np.inf
        for form in FORMS if given.form is None else (given.form,):
            now = cls(given, given.rank, form=form, centred=False)
            loss = yield now
            if loss < least:
                best, least = now, loss
        units = [replace(best, centred=True)] if has_no_zero(facts, given) else []
        units += [replace(best, standardise=facts.uneven)] if units and facts.uneven is not None else []
        for now in units:
            loss = yield now
            if loss < least:
                best, least = now, loss
        if given.ridge is not None:
            return
        softer = SOFTER if given.rank is not None else ()  # what grows finds that by itself
        for ridges in (softer, STIFFER):
            for times in ridges:
                loss = yield replace(best, stiffer=times)
                if loss >= least:
                    break
                least = loss

    @property
    def label(self) -> str:
        rank = "" if self.rank is None else f" {self.rank}".replace("(", "").replace(")", "").replace(",", " x")
        return super().label.replace(f"low rank {self.rank}", f"{self.form}{rank}")

    def cost(self, facts: Facts) -> float:
        """Of growing, fits of some ranks of the ladder, of each rank by itself, and of softer ridges."""
        ranks = ladder(facts.shape, facts.observed, self.form, self.coarse) if self.rank is None else [self.rank]
        middle = ranks[len(ranks) // 2]
        fits = min(len(ranks), 5) + (1 if self.coarse else np.size(middle) + 3) if self.rank is None else 2
        inner, leaf, branch = MODELS[self.form].contraction(facts.shape, middle).costs()
        dense = facts.share > 0.05 and facts.dense
        entries = facts.size * (2e-9 + 1.2e-10 * inner) if dense else facts.observed * (1e-8 + 1e-9 * (leaf + branch))
        return 0.02 + EVALUATIONS * fits * (3e-4 + entries + 2e-8 * facts.observed)

    def shorter(self, facts: Facts, seconds: float) -> OtherModels:
        """Enough to know whether the form serves."""
        return self if self.rank is not None or self.cost(facts) <= seconds else replace(self, coarse=True)

    def _solver(self, problem: Problem) -> Solver:
        """As of CP, but of those that know other models; in longer bursts, as less is forgotten between them."""
        if self.given.solver is not None:
            return SOLVERS.make(self.given.solver)
        positive = problem.prior.majoriser and problem.prior.x_domain.low >= 0
        return Multiplicative() if positive else LBFGSB(burst=BURST, memory=20)

    def _smooth(self, obs: Observations, prior: Any, facts: Facts) -> dict[int, float]:
        own = MODELS[self.form].modes(obs.ndim)
        return {n: rho for n, rho in super()._smooth(obs, prior, facts).items() if n < own}

    def _penalties(self, ndim: int, smooth: dict[int, float], ridge: float) -> dict[Any, InterElementPrior]:
        """A ridge on every parameter, lest the scale wander to one without."""
        form = MODELS[self.form]
        core: dict[Any, InterElementPrior] = dict.fromkeys(form.others(), Ridge(ridge)) if ridge > 0 else {}
        return {**penalties(form.modes(ndim), smooth, ridge), **core}

    def _found(
        self, data: Observations, prior: NumericalPrior, smooth: dict[int, float], ridge: float, run: Run
    ) -> tuple[Problem, Outcome]:
        share = ASIDE if self.given.held_out is None else self.given.held_out
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
        return growth.grown(soften=self.given.ridge is None, coarse=self.coarse)
