"""How a contest is run: all methods on the opening folds, then those that have a part in the answer on the others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.auto.ahead import Task
from tensorfill.auto.contest import ENOUGH, Contest, Trial
from tensorfill.auto.ensemble import MEANS, heaviest
from tensorfill.auto.limits import LONGEST_FIT
from tensorfill.auto.portfolio import Portfolio
from tensorfill.methods.base import Method, Variants
from tensorfill.problem import DataWarning

LARGEST_PART = 0.2  # of the budget: most that one trial may take on all folds
CHEAP = 0.02  # of the budget: what costs less is tried even when the budget is spent
SOLVED = 1e-6  # of the standard deviation of the validation entries: the contest ends at an error below


@dataclass(eq=False)
class Family:
    """The variants of one method: the next one, and how well the best did."""

    name: str
    search: Variants
    first: int  # variants to try before any family gets more
    sure: bool  # are these first ones tried whatever they cost?
    least: float = np.inf
    next: Method | None = None

    def __post_init__(self) -> None:
        self.next = next(self.search, None)

    def send(self, loss: float) -> None:
        """Tell it how the last one did, and ask for the next."""
        self.least = min(self.least, loss)
        try:
            self.next = self.search.send(loss)
        except StopIteration:
            self.next = None


def run_contest(contest: Contest) -> None:
    """Run the contest, some of its fits side by side where data are large."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of slices that are empty only because they were held out
        try:
            _run(contest)
        finally:
            contest.ahead.end()


def _run(contest: Contest) -> None:
    """First the first variants of every method, in the order of the portfolio, then further variants of the method that
    leads, as long as the budget lasts: on the opening folds. Then those that have a part in the answer, on the others.
    """
    families = _families(contest)
    usual = len(families) > 1 and families[1].name in Portfolio.load().decisive  # it may need no others beside it
    for k, family in enumerate(families):
        if k == (2 if usual else 0):
            contest.ahead.begin(list(_first_variants(contest, families[k:])))
        for _ in range(family.first):
            if not _solved(contest):
                _try(contest, family)
        family.sure = False
        if k == 1 and usual:
            contest.usual = family.name
            short, full = Portfolio.load().decisive[family.name]
            clear = _leads_clearly(contest, family, short)
            if not clear:
                _repeat(contest, family)
            if clear or _leads_clearly(contest, family, full):
                contest.left_out |= {f.name: (f.name, f"{family.name} leads clearly") for f in families[2:]}
                families, contest.decided = [family], True
                break
    while contest.ended is None and (going := [f for f in families if f.next is not None]) and not _solved(contest):
        _try(contest, min(going, key=lambda family: family.least))
    if contest.opening < len(contest.folds):
        _other_folds(contest)
    _at_length(contest)


def _first_variants(contest: Contest, families: Sequence[Family]) -> Iterator[Task]:
    """The fits of the first variant of each family that the budget allows for, if no other is tried."""
    left = contest.left
    for family in families if contest.cache is None else ():
        method = family.next
        if method is not None and not _too_long(contest, family, method):
            shorter = _shorter(contest, method)
            cost = shorter.cost(contest.part_facts) * contest.opening
            if family.sure or cost <= max(left, CHEAP * contest.budget):
                left -= cost
                yield from ((shorter, fold.training, contest.run_on(fold)) for fold in contest.folds[: contest.opening])


def _too_long(contest: Contest, family: Family, method: Method) -> bool:
    """Does a fit to all of large data take longer than any trial is worth?"""
    if family.sure or contest.part is contest.obs:
        return False
    return method.cost(contest.facts) > LONGEST_FIT * contest.budget


def _families(contest: Contest) -> list[Family]:
    """The methods that may take part, in the order of the portfolio; why not goes to `left_out`."""
    facts, given = contest.part_facts, contest.given
    _, refused = given.competitors(contest.facts)
    methods, refused_here = given.competitors(facts)
    contest.left_out |= {name: (name, why) for name, why in (refused | refused_here).items()}
    portfolio = Portfolio.load()
    able = portfolio.sort([m for m in methods if m.name not in refused], facts)
    needless = [m for m in able if given.candidates is None and not portfolio.needs(m, facts)]
    if len(needless) < len(able):
        contest.left_out |= {m.name: (m.name, "it never helped on similar data") for m in needless}
        able = [m for m in able if m not in needless]
    families = []
    for k, method in enumerate(able):
        first = method.initial_variants(facts)
        first = max(first, 1) if given.candidates is not None else first
        families.append(Family(method.name, method.variants(facts), first, given.restricts or k < 2))
    return families


def _solved(contest: Contest) -> bool:
    """Does the leader predict the entries that choose exactly, first on the opening folds, then on all?"""
    leader = next(iter(contest.ranking()), None)
    if contest.ended is not None or leader is None or not _meets(contest, leader):
        return False
    whole = contest.enter(leader, len(contest.folds))
    contest.put(leader, whole)
    return not whole.note and _meets(contest, whole)


def _leads_clearly(contest: Contest, family: Family, share: float) -> bool:
    """Has the method that such data begin with less than this share of the error of the means, so that no other comes
    near it?
    """
    means = [contest.off(trial) for trial in contest.trials if trial.family == MEANS]
    own = [contest.off(trial) for trial in contest.trials if trial.family == family.name]
    return bool(means and own) and bool(np.nanmin(own) < share * np.nanmin(means))


def _repeat(contest: Contest, family: Family) -> None:
    """Its trials at full length: shorter ones are enough to see a clear lead, not to compare with other methods."""
    for trial in [e for e in contest.trials if e.family == family.name and not e.note]:
        if contest.ended is None and contest.has_time(trial.method.cost(contest.part_facts)):
            contest.put(trial, contest.enter(replace(trial, shorter=trial.method, parts=()), contest.opening))


def _meets(contest: Contest, trial: Trial) -> bool:
    """Is its error on the entries that choose below SOLVED of their spread, and are there enough of them?"""
    x = trial.predictions
    here = contest.selection[: len(x)]
    truth = contest.truth[: len(x)][here]
    if len(truth) < ENOUGH or np.ptp(truth) == 0:
        return False
    return bool(np.sqrt(np.mean((x[here] - truth) ** 2)) <= SOLVED * truth.std())


def _shorter(contest: Contest, method: Method) -> Method:
    """The variant of it that is tried: shorter, where there is a shorter one."""
    return method.shorter(contest.part_facts, LARGEST_PART * contest.budget / len(contest.folds))


def _try(contest: Contest, family: Family) -> None:
    """The next variant of a family on the opening folds, unless there is no time for it."""
    method, facts = family.next, contest.part_facts
    if method is None or contest.ended is not None:
        return
    shorter = _shorter(contest, method)
    cost = shorter.cost(facts) * contest.opening
    if not contest.has_time(cost):
        contest.left_out[method.label] = (family.name, "out of time")
        contest.late = True
        family.next = None
        return
    if _too_long(contest, family, method):
        later = f"a fit to everything would take about {method.cost(contest.facts):.0f} s"
        contest.left_out[method.label] = (family.name, later)
        family.send(np.inf)
        return
    if cost > max(contest.left, CHEAP * contest.budget) and not family.sure:
        contest.left_out[method.label] = (family.name, 'out of budget; try effort="best"')
        family.next = None
        return
    contest.left -= cost
    trial = contest.enter(Trial(family.name, method, shorter), contest.opening)
    contest.trials.append(trial)
    family.send(contest.loss(trial) if not trial.note else np.inf)
    contest.run.tell(method.label, contest.off(trial), 1 - max(contest.left, 0.0) / contest.budget)


def _other_folds(contest: Contest) -> None:
    """The members of an ensemble of what ran on the opening folds, the leader and the means go on to the others. If
    there is no time even for the leader, the contest is decided on the opening folds.
    """
    ranking = contest.ranking()
    if not ranking:
        return
    chosen = {id(e) for e in (*heaviest(contest), *ranking[:1], *(e for e in ranking if e.family == MEANS))}
    going, further = [e for e in ranking if id(e) in chosen], contest.folds[contest.opening :]
    if contest.cache is None and contest.ended is None:
        contest.ahead.begin([(e.shorter, f.training, contest.run_on(f)) for e in going for f in further])
    for trial in ranking:
        cost = trial.shorter.cost(contest.part_facts) * (len(contest.folds) - contest.opening)
        if contest.ended is not None or not contest.has_time(cost):
            contest.put(trial, replace(trial, note="there was no time for all folds"))
        elif id(trial) in chosen:
            contest.put(trial, contest.enter(trial, len(contest.folds)))
        else:
            contest.put(trial, replace(trial, note="dropped early"))
    if not any(contest.whole(e) for e in contest.trials):
        contest.narrow()


def _at_length(contest: Contest) -> None:
    """The leader once more, if it is a mean of draws and its trial was short, with as many draws as all trials together
    had time for: by a short trial its weight would be too small. Of several folds each is short anyway.
    """
    leader = next(iter(contest.ranking()), None)
    if leader is None or not leader.method.averages or contest.ended is not None or len(contest.folds) > 1:
        return
    longer = leader.method.shorter(contest.part_facts, contest.budget)
    cost = longer.cost(contest.part_facts)
    if cost > leader.shorter.cost(contest.part_facts) and contest.has_time(cost):
        again = contest.enter(replace(leader, shorter=longer, parts=()), 1)
        if contest.whole(again):
            contest.put(leader, again)
