"""The search of a contest for a low-rank fit: unit, rank, then stiffness, then smoothness."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.methods.base import Method, Variants
from tensorfill.methods.defaults import PRIOR_OF, default_rank
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.transforms import Standardised

if TYPE_CHECKING:
    from tensorfill.methods.lowrank.low_rank import LowRank

# Ranks that are tried, about one and a half times as large from step to step.
LADDER = (1, 2, 3, 4, 6, 8, 12, 18, 26, 38, 55, 80)
SOFTER = (1e-2, 1e-4, 1e-8)  # times the default ridge, for the rank that did best
STIFFER = (10.0, 100.0)  # the same, where softer ridges did not help
# Times the default ridge, from which on the ridge, not stopping early, keeps a fit from following the noise: Newton
# then ends where L-BFGS-B does or lower, in a third of the time. Below, it may end higher on yes/no. Measured on the
# normal and yes/no tables of `bench solvers`, seeds 0 and 1. Many observations have Newton under any ridge, and
# begin with a firm one: 300,000 ratings, rank 8, error .8157 at 1, .8127 at 10, .8003 at 100, .7999 at 320.
FIRM, MANY = 100.0, 100_000
FIRM_SOFTER, FIRM_STIFFER = (0.3, 0.1, 0.01, 1e-4), (3.0, 10.0)  # times FIRM
SMOOTHER = (10.0, 100.0)  # times the default smoothness
ASIDE = 0.1  # of the entries, to know when to stop
FEWEST = 60  # with fewer entries none can be spared to know when to stop


def may_be_standardised(facts: Facts, prior: NumericalPrior | str | None) -> bool:
    """Real numbers under a prior that was chosen by name or not at all: their level and unit may be taken out."""
    if isinstance(prior, NumericalPrior):
        return False
    return PRIORS[prior or PRIOR_OF[facts.numbers]].location


def may_be_overdispersed(facts: Facts, prior: Any) -> bool:
    """Counts of which nobody said what they are, enough to tell by a few of them how they vary."""
    return prior is None and facts.numbers == "counts" and ASIDE * facts.observed >= FEWEST


def may_be_normal(facts: Facts, prior: Any) -> bool:
    """Positive numbers of which nobody said what they are: their noise may grow with them, or be the same for all."""
    return prior is None and facts.numbers == "amounts"


def _ladder(facts: Facts, rank: Any) -> list[int]:
    """The ranks to try: the one given, else those that the data can bear."""
    if isinstance(rank, int | np.integer):
        return [int(rank)]
    most = default_rank(facts.observed, facts.shape, facts.smooth[:1] if len(facts.smooth) == 1 else ())
    return [r for r in LADDER if r <= most] or [1]


def middle_rank(facts: Facts, rank: Any) -> int:
    """The rank that is tried first."""
    ladder = _ladder(facts, rank)
    return ladder[len(ladder) // 2]


class Search:
    """The search for rank, then stiffness, then smoothness; remembers the best, and the unit in which it was."""

    def __init__(self, first: LowRank, facts: Facts) -> None:
        self.given = first
        self.firm = facts.observed >= MANY and facts.numbers != "counts" and first.ridge is None
        self.level = FIRM if self.firm else first.stiffer
        self.best, self.least = replace(first, as_given=True, stiffer=self.level), np.inf
        self.wrap: Callable[[LowRank], Method] = lambda method: method
        self.counts = facts.numbers == "counts"
        self.ladder = _ladder(facts, first.rank)

    def _seen(self, method: LowRank, loss: float) -> bool:
        """Is it the best so far?"""
        if loss < self.least:
            self.best, self.least = method, loss
            return True
        return False

    def ranks(self) -> Variants:
        """Higher ranks than the best, until two in a row are worse; if the first was, lower ones."""
        if not np.isfinite(self.least):
            return
        at = self.ladder.index(self.best.rank)
        climbed = yield from self._along(self.ladder[at + 1 :])
        if not climbed:
            yield from self._along(self.ladder[:at][::-1])

    def _along(self, ranks: list[int]) -> Generator[Method, float, bool]:
        """One rank after the other, until two in a row are worse than the best. Was any better?"""
        worse, better = 0, False
        for rank in ranks:
            now = replace(self.best, rank=rank)
            if self._seen(now, (yield self.wrap(now))):
                worse, better = 0, True
            else:
                worse += 1
            if worse == 2:
                break
        return better

    def units(self, facts: Facts) -> Variants:
        """A middling rank in every unit: slices standardised, all centred, as they are; counts overdispersed, too."""
        first = replace(self.best, rank=middle_rank(facts, self.given.rank))
        for now, wrap in [(method, wrap) for method in _kinds(first, facts) for wrap in _units(method, facts)]:
            if self._seen(now, (yield wrap(now))):
                self.wrap = wrap

    def stiffness(self) -> Variants:
        """Softer ridges, down to none for data without noise, which counts have; or else stiffer ones, under which
        there is room for more components.
        """
        if self.given.ridge is not None:
            return
        softer, stiffer = (FIRM_SOFTER, FIRM_STIFFER) if self.firm else (() if self.counts else SOFTER, STIFFER)
        for times in softer:
            now = replace(self.best, stiffer=times * self.level)
            if not self._seen(now, (yield self.wrap(now))):
                break
        if self.best.stiffer < self.level:
            return
        for times in stiffer:
            now = replace(self.best, stiffer=times * self.level)
            if not self._seen(now, (yield self.wrap(now))):
                return
            yield from self.ranks()

    def smoothness(self, facts: Facts) -> Variants:
        for times in () if self.given.smooth is not None or not facts.smooth else SMOOTHER:
            now = replace(self.best, smoother=times)
            if not self._seen(now, (yield self.wrap(now))):
                return


def _kinds(method: LowRank, facts: Facts) -> list[LowRank]:
    """The method, and for counts also with a negative binomial, for amounts with a normal distribution."""
    others = [replace(method, overdispersed=True)] if may_be_overdispersed(facts, method.prior) else []
    return [method, *others, *([replace(method, prior="normal")] if may_be_normal(facts, method.prior) else [])]


def _units(method: LowRank, facts: Facts) -> list[Callable[[LowRank], Method]]:
    """Ways to standardise the data before the fit: each makes a method of one."""
    prior = method.prior
    if isinstance(prior, NumericalPrior):
        return [(lambda m: Standardised(m, scaled=False)) if prior.location else (lambda m: m)]
    if not may_be_standardised(facts, prior):
        return [lambda m: m]
    ways: list[Callable[[LowRank], Method]] = [lambda m: Standardised(m), lambda m: Standardised(m, centred=False)]
    mode = facts.uneven
    return ways if mode is None else [lambda m: Standardised(m, mode), *ways]
