"""How long a run still takes, from what it has done so far; nothing is told before there is evidence."""

from __future__ import annotations

import time
from collections.abc import Callable

from tensorfill.auto.contest import BUDGET, usual_budget
from tensorfill.data.facts import Facts
from tensorfill.methods.image.continuation import Continuation
from tensorfill.methods.image.field import Field

PER_COST = 0.8  # seconds of processor time for each unit of `Method.cost`, with the trial before the fit
EVIDENCE = 0.15  # share of the budget of a contest, and seconds of a single fit, before anything is told
TOLD = 0.6  # share of the run after which nothing is told: a small error of the whole is a large one of the rest
FINAL_FITS = 1.3  # a contest with the fits that follow it, in times of the contest


class TimeLeft:
    """The time that is left of one run.

    A contest reports which share of its budget is used up, which grows evenly with time. A single fit has its cost in
    processor time, which passes more slowly than the clock where others use the computer, too.

    Parameters
    ----------
    planned : seconds of processor time, where one fit is all there is; None for a contest
    runs : how many contests follow one another (error bars take two); of several, nothing is told
    """

    def __init__(
        self,
        planned: float | None,
        runs: int = 1,
        clock: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.process_time,
    ) -> None:
        self.planned, self.runs, self.clock, self.processor = planned, runs, clock, processor
        self.began, self.used = clock(), processor()
        self.total: float | None = None

    def tried(self, share: float) -> None:
        """Take in how much of the budget of the contest is used up."""
        if share >= EVIDENCE and self.runs == 1:
            self.total = FINAL_FITS * (self.clock() - self.began) / share

    def seconds(self) -> tuple[float | None, float | None]:
        """The seconds that the whole run takes by the clock, and those left; None where they are not known."""
        passed, used = self.clock() - self.began, self.processor() - self.used
        total = self.total
        if total is None and self.planned is not None and used > EVIDENCE:
            total = self.planned * passed / used
        return total, None if total is None or passed > TOLD * total else total - passed


def plan_seconds(facts: Facts, effort: str) -> float | None:
    """Processor time of the one fit that fills the holes of a picture; None where there is a contest."""
    if Continuation().suits(facts) is None:
        return PER_COST * Continuation(effort=effort).whole(facts).cost(facts)
    if facts.picture and Field().suits(facts) is None:
        return PER_COST * Field(effort=effort).whole(facts).cost(facts)
    return None


def rough_seconds(facts: Facts, effort: str) -> float:
    """About how long a contest takes, for the pace of the bar."""
    return max(1.0, PER_COST * FINAL_FITS * BUDGET.get(effort, 1.0) * usual_budget(facts.observed))
