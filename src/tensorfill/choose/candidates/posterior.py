"""The posterior of a low-rank model with main effects (method `bayes`): every weight is learned, not searched for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import Run
from tensorfill.methods.bayes import Bayes, default_rank
from tensorfill.result.answer import Answer, Folded, InUnits, fold_indices
from tensorfill.solvers.gibbs_family import FEW_COUNTS

DRAWS, BURN = Bayes.draws, Bayes.burn  # draws that are kept, and those thrown away before them
# Draws of a trial in the contest, at least. With 24, a small picture tried in a fifth of the
# usual time had none left for its field (demosaic.py --quick); with 12 a posterior that leads no longer did.
TRIAL = 16


@CANDIDATES.register("posterior")
@dataclass(frozen=True)
class PosteriorMean(Candidate):
    """The mean of draws from the posterior."""

    assumes = "low rank beside one effect per slice; smooth along modes where neighbours are alike"
    weighs = True
    tells_unseen = True
    averages = True
    takes = frozenset({"prior"})

    rank: int | None = None  # None: that of `bayes`
    transform: str = "auto"
    standardise: int | None = None  # a mode whose slices are centred and scaled
    fold: tuple[int, int] | None = None  # (mode, period)
    prior: Any = None
    time: tuple[int, ...] = ()  # modes that are one time axis
    draws: int = DRAWS
    words: str = ""

    @classmethod
    def first(cls, facts: Facts, given: Given) -> int:
        return 1 + (_apart(facts, given) is not None)  # with the units of slices taken out, and without

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        first = cls(prior=given.prior, standardise=_apart(facts, given), time=given.time)
        best, least = first, (yield first)
        units: list[dict[str, Any]] = [
            {"transform": o.transform, "standardise": o.standardise} for o in _others(first, facts, given)
        ]
        folds: list[dict[str, Any]] = [
            {"fold": (n, m.period), "words": f"{m.dim} folded by {m.period}"}
            for n, m in enumerate(facts.modes)
            if m.period is not None
        ]
        for change in [*folds, *units] if given.time else [*units, *folds]:  # of a time axis its periods say most
            if "fold" in change and best.fold is not None:
                continue
            other = replace(best, **change)
            loss = yield other
            if loss < least:
                best, least = other, loss

    @property
    def label(self) -> str:
        words = ["posterior"] + ([] if self.rank is None else [f"rank {self.rank}"])
        words += {"auto": [], "none": ["as they are"]}.get(self.transform, [self.transform])
        words += ["slices standardised"] if self.standardise is not None else []
        words += [self.words] if self.words else []
        return ", ".join(words)

    def step_cost(self, facts: Facts) -> float:
        """Seconds of one draw: twice what was measured with 2 and 3 modes, ranks 10 to 80, 160 to 400,000 entries."""
        lengths = list(facts.shape)
        if self.fold is not None:
            mode, period = self.fold
            lengths[mode : mode + 1] = [-(-lengths[mode] // period), period]
        columns = (default_rank(len(lengths)) if self.rank is None else self.rank) + len(lengths)
        entries = len(lengths) * facts.observed * (3.3e-8 + 1.1e-10 * columns**2)
        return 1.3e-3 + entries + sum(lengths) * (2.6e-6 + 3.9e-10 * columns**3)

    def cost(self, facts: Facts) -> float:
        return (1 + BURN / DRAWS) * self.draws * self.step_cost(facts)

    def shorter(self, facts: Facts, seconds: float) -> Candidate:
        draws = int(seconds / ((1 + BURN / DRAWS) * self.step_cost(facts)))
        return replace(self, draws=max(min(self.draws, draws), TRIAL))

    def _time(self) -> tuple[int, ...]:
        """The time axis of the data as they are fitted; a period along it is one more turn within it."""
        if self.fold is None:
            return self.time
        mode = self.fold[0]
        return tuple(k for n in self.time for k in ((n, n + 1) if n == mode else (n + (n > mode),)))

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        units = None if self.standardise is None else Units.of_slices(obs, self.standardise)
        data = obs if units is None else units.take_out(obs)
        data = data if self.fold is None else folded(data, *self.fold)
        recipe = Bayes(
            prior=self.prior,
            rank=self.rank,
            transform=self.transform,
            time=self._time() or None,
            draws=self.draws,
            burn=self.draws * BURN // DRAWS,
        )
        posterior, outcome = recipe.fit(data, run)
        answer: Answer = posterior
        if self.fold is not None:
            answer = Folded(answer, *self.fold, length=obs.shape[self.fold[0]])
        if units is not None:
            answer = InUnits(answer, units)
        settings = {"transform": self.transform, "draws": self.draws, **posterior.numbers}
        return Fitted(answer, outcome.status, outcome.history, settings=settings)


def _apart(facts: Facts, given: Given) -> int | None:
    """The mode whose slices may have units of their own."""
    return facts.uneven if given.prior is None and facts.numbers in ("reals", "amounts") else None


def _others(first: PosteriorMean, facts: Facts, given: Given) -> list[PosteriorMean]:
    """The same in other units: roots or logarithms of what is positive, slices standardised."""
    if given.prior is not None or facts.numbers == "yes/no":
        return []
    out = []
    if facts.numbers == "counts":
        out.append(replace(first, transform="none" if facts.high > FEW_COUNTS else "sqrt"))
    if facts.numbers == "amounts":
        out += [replace(first, transform="sqrt"), replace(first, transform="log")]
    if first.standardise is not None:
        out = [replace(first, standardise=None), *(replace(other, standardise=None) for other in out)]
    return out


def folded(obs: Observations, mode: int, period: int) -> Observations:
    """The observations with one mode folded into periods x place in the period; one mode more."""
    count = -(-obs.shape[mode] // period)
    shape = (*obs.shape[:mode], count, period, *obs.shape[mode + 1 :])
    dims = (*obs.dims[:mode], f"{obs.dims[mode]} // {period}", f"{obs.dims[mode]} % {period}", *obs.dims[mode + 1 :])
    return replace(
        obs, shape=shape, indices=fold_indices(obs.indices, mode, period), dims=dims, source=None, positions=None
    )
