"""How a contest is held: a first round on the opening folds, a second of those that may have a part in the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.choose.candidates.base import Candidate, Search, refused
from tensorfill.choose.contest import ENOUGH, Contest, Entry

LARGEST_PART = 0.15  # of the budget: most that one candidate may take on all folds
FINALISTS = 6  # candidates that run on all folds: a blend has no more parts
YARDSTICK = "means"  # what every answer is compared with
EXACT = 1e-4  # of the variance: a family with less loss tries all its variants, as the data may have no noise
SOLVED = 1e-6  # of the spread of the held-out entries: the contest ends at an error below
LONGEST_FIT = 20.0  # times the budget: a candidate whose fit to all of large data takes longer is not tried
AT_ONCE = 0.1  # seconds: what costs less is never put off, however small the budget
CHEAP = 0.02  # of the budget: candidates that cost less are tried even when the budget is spent
LIGHT = 0.05  # of the budget: the best of each family goes on to the other folds if that takes less


@dataclass(eq=False)
class Family:
    """The variants of one family: the next one, and how well the best did."""

    search: Search
    first: int  # variants to try before any family gets more
    sure: bool  # are these first ones tried whatever they cost?
    least: float = np.inf
    next: Candidate | None = None

    def __post_init__(self) -> None:
        self.next = next(self.search, None)

    def send(self, loss: float) -> None:
        """Tell it how the last one did, and ask for the next."""
        self.least = min(self.least, loss)
        try:
            self.next = self.search.send(loss)
        except StopIteration:
            self.next = None


def hold(contest: Contest, families: Iterable[type[Candidate]], *, always: frozenset[str]) -> None:
    """Run the contest.

    First round, on the opening folds: the first variants of every family, cheapest first, without expensive ones; then
    further variants of the family that leads, and at last the expensive ones, as long as the budget lasts. The first
    variants of families in `always` (of all families, if the user gave a setting) are tried whatever they cost.
    Second round, on the other folds: candidates that may have a part in the answer.
    """
    able = []
    for cls in families:
        facts, given = contest.part_facts, contest.given
        why = refused(cls, contest.facts, given) or refused(cls, facts, given)
        if why is None:
            sure = given.anything or cls.name in always
            able.append(Family(cls.search(facts, given), cls.first(facts, given), sure))
        else:
            contest.left_out[cls.name] = why
    for family in sorted(able, key=lambda family: family.next.cost(contest.part_facts) if family.next else 0.0):
        for _ in range(family.first):
            if (family.sure or not _dear(contest, family)) and not _solved(contest):
                _try(contest, family)
        family.sure = False
    while contest.ended is None and (going := [f for f in able if f.next is not None]) and not _solved(contest):
        _try(contest, min(going, key=lambda family: family.least))
    if contest.opening < len(contest.folds):
        _second_round(contest)
    _at_length(contest)


def _solved(contest: Contest) -> bool:
    """Does the leader predict the entries that choose exactly, first on the opening folds, then on all?"""
    leader = next(iter(contest.ranking()), None)
    if contest.ended is not None or leader is None or not _meets(contest, leader):
        return False
    whole = contest.enter(leader, len(contest.folds))
    contest.put(leader, whole)
    return not whole.note and _meets(contest, whole)


def _meets(contest: Contest, entry: Entry) -> bool:
    """Is its error on the entries that choose below SOLVED of their spread, and are there enough of them?"""
    x = entry.predictions
    here = contest.judges[: len(x)]
    truth = contest.truth[: len(x)][here]
    if len(truth) < ENOUGH or np.ptp(truth) == 0:
        return False
    return bool(np.sqrt(np.mean((x[here] - truth) ** 2)) <= SOLVED * truth.std())


def _dear(contest: Contest, family: Family) -> bool:
    """Is its next variant so expensive that it waits until the leading family has had its turn?"""
    if family.next is None:
        return False
    cost = _trial(contest, family.next).cost(contest.part_facts) * contest.opening
    return cost > max(LARGEST_PART * contest.budget, AT_ONCE)


def _trial(contest: Contest, candidate: Candidate) -> Candidate:
    """The variant of it that is tried: shorter, where there is a shorter one."""
    return candidate.shorter(contest.part_facts, LARGEST_PART * contest.budget / len(contest.folds))


def _try(contest: Contest, family: Family) -> None:
    """The next variant of a family on the opening folds, unless there is no time for it."""
    candidate, facts = family.next, contest.part_facts
    if candidate is None or contest.ended is not None:
        return
    trial = _trial(contest, candidate)
    cost = trial.cost(facts) * contest.opening
    if not contest.has_time(cost):
        contest.left_out[candidate.label] = "there was no time for it"
        contest.late = True
        family.next = None
        return
    later = candidate.cost(contest.facts)
    if later > LONGEST_FIT * contest.budget and contest.part is not contest.obs and not family.sure:
        contest.left_out[candidate.label] = f"a fit to everything would take about {later:.0f} s"
        family.send(np.inf)
        return
    exact = contest.judge is None and family.least < EXACT and cost < contest.budget
    if cost > max(contest.left - _second_cost(contest), CHEAP * contest.budget) and not (family.sure or exact):
        contest.left_out[candidate.label] = f"it would take about {cost:.1f} s more"
        family.next = None
        return
    contest.left -= cost
    entry = contest.enter(Entry(candidate, trial), contest.opening)
    contest.entries.append(entry)
    family.send(contest.loss(entry) if not entry.note else np.inf)
    contest.run.tell(candidate.label, contest.off(entry), 1 - max(contest.left, 0.0) / contest.budget)


def _second_cost(contest: Contest) -> float:
    """What the second round of the few best would take."""
    rest = len(contest.folds) - contest.opening
    return rest * sum(e.trial.cost(contest.part_facts) for e in contest.ranking()[:FINALISTS]) if rest else 0.0


def _second_round(contest: Contest) -> None:
    """On all folds, the best first: the leader, the means to compare with, cheap candidates, the best of each family if
    there is time, and those that would add something to a blend with the leader. If there is no time even for the
    leader, the contest is decided on the opening folds.
    """
    ranking = contest.ranking()
    leader = ranking[0].predictions if ranking else np.empty(0)
    finalists, families = 0, set()
    for k, entry in enumerate(ranking):
        cost = entry.trial.cost(contest.part_facts) * (len(contest.folds) - contest.opening)
        sure = k == 0 or entry.candidate.name == YARDSTICK or cost <= CHEAP * contest.budget
        if entry.candidate.name not in families:
            sure = sure or cost <= min(LIGHT * contest.budget, contest.left)
            families.add(entry.candidate.name)
        if contest.ended is not None or not contest.has_time(cost):
            note = "there was no time for all folds"
        elif not sure and contest.adds_nothing(entry.predictions, leader):
            note = f"it adds nothing, as {contest.opening} of {len(contest.folds)} folds say"
        elif not sure and (finalists >= FINALISTS or cost > contest.left):
            note = "better ones went on to all folds"
        else:
            contest.left -= cost
            finalists += not sure or k == 0
            contest.put(entry, contest.enter(entry, len(contest.folds)))
            continue
        contest.put(entry, replace(entry, note=note))
    if ranking and not any(contest.whole(e) for e in contest.entries):
        contest.narrow()


def _at_length(contest: Contest) -> None:
    """The leader once more, if it is a mean of draws and its trial was short, with as many draws as all trials together
    had time for: by a short trial its part in a blend would be too small. Of several folds each is short anyway.
    """
    leader = next(iter(contest.ranking()), None)
    if leader is None or not leader.candidate.averages or contest.ended is not None or len(contest.folds) > 1:
        return
    longer = leader.candidate.shorter(contest.part_facts, contest.budget)
    cost = longer.cost(contest.part_facts)
    if cost > leader.trial.cost(contest.part_facts) and contest.has_time(cost):
        again = contest.enter(replace(leader, trial=longer, parts=()), 1)
        if contest.whole(again):
            contest.put(leader, again)
