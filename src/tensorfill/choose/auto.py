"""auto: everything chosen from the data; what the user gives wins.  facts -> candidates -> contest -> answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tensorfill.choose import scale, size
from tensorfill.choose.answer import cut_short, from_contest, from_one, nothing_missing
from tensorfill.choose.blend import decide
from tensorfill.choose.candidates import CANDIDATES
from tensorfill.choose.checks import check_settings, refuse_strangers, restrictions
from tensorfill.choose.contest import Contest
from tensorfill.choose.rounds import hold
from tensorfill.choose.settled import settled
from tensorfill.choose.warn import warn
from tensorfill.data.facts import look
from tensorfill.data.observations import Observations
from tensorfill.data.partitions import Partitions
from tensorfill.data.partitions.draw import Draw
from tensorfill.data.partitions.memory import in_memory
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.numerical.base import NumericalPrior
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.base import Solver

ALWAYS = frozenset({"means", "posterior", "field"})  # of which at least one variant is tried, whatever it costs


@METHODS.register("auto", at=0)
@dataclass(frozen=True)
class Auto(Method):
    """The default: looks at the data and chooses; None means "choose".

    Parameters
    ----------
    prior : numerical prior, an object or its name
    model : the low-rank form, a name from `tensorfill list models`
    rank : R; of other models than CP one number for all of their ranks, or each of them
    smooth : {mode or dimension name: rho} of quadratic variation along that mode; {} for none
    ridge : weight of the ridge on every factor
    tv : dimensionless weight of total variation on X itself (pictures and fields); 0 for none
    solver : a Solver or its name
    held_out : share of observed entries set aside to choose by; 0 for none. Of clean pictures none are
    starts : how many fits of a low-rank model from different starts take part
    passes : of self-similarity over a field, after the fit; 0 for none
    candidates : names of those that may take part, see `tensorfill list candidates`
    time : modes that are one time axis together, from the outer to the inner, e.g. ("day", "hour")
    """

    reference = "this package"
    assumes = "that one of its candidates serves; held-out entries say which"
    use_when = "always, to begin with"
    effort: ClassVar[str] = "normal"

    prior: NumericalPrior | str | None = None
    model: str | None = None
    rank: int | Sequence[int] | None = None
    smooth: Mapping[int | str, float] | None = None
    ridge: float | None = None
    tv: float | None = None
    solver: Solver | str | None = None
    held_out: float | None = None
    starts: int | None = None
    passes: int | None = None
    candidates: Sequence[str] | None = None
    time: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        check_settings(self)

    def memory(self, obs: Observations) -> float:
        """As of any method, but less for what is completed window by window or block by block."""
        own = size.memory(obs)
        return super().memory(obs) if own is None else own

    def complete(self, obs: Observations, run: Run) -> Completion:
        done = self._complete(relative_weights(obs), run)
        return done if obs.weights is None else replace(done, observations=obs)

    def _complete(self, obs: Observations, run: Run) -> Completion:
        began = time.monotonic()
        given = restrictions(self, obs)
        if scale.can(given) and size.in_blocks(obs):
            done = scale.complete_blocks(in_memory(obs, Draw.asked(run.seed, self.held_out)), given, run, self.name)
            return replace(done, observations=obs)
        facts = look(obs)
        if obs.nnz == obs.size and not given.anything:
            return nothing_missing(obs, facts, self.name)
        refuse_strangers(facts, given)
        warn(obs, facts)
        only = settled(obs, facts, given, run)
        if only is not None:
            return from_one(only, obs, facts, run, self.name, told=given.held_out != 0)
        contest = Contest.on(obs, facts, given, run.rest(began))
        try:
            hold(contest, (cls for _, cls in CANDIDATES.items()), always=ALWAYS)
            if contest.ended is not None or not contest.ranking():
                return cut_short(contest, run, self.name)
            decision = decide(contest, one=given.model or given.prior is not None)
            return from_contest(contest, decision, run.rest(began), self.name)
        except KeyboardInterrupt:  # in a candidate that has no loop of its own to hand back its best
            contest.ended = Status.INTERRUPTED
            return cut_short(contest, run, self.name)

    def complete_blocks(self, parts: Partitions, run: Run) -> Completion:
        """The same for observations in blocks, in less time than all candidates would take."""
        return scale.complete_blocks(parts, restrictions(self, parts.extract), run, self.name)


def relative_weights(obs: Observations) -> Observations:
    """Weights by their mean: only how they relate counts."""
    return obs if obs.weights is None else replace(obs, weights=obs.weights / obs.weights.mean())


@METHODS.register("auto-best", at=1)
@dataclass(frozen=True)
class AutoBest(Auto):
    """As auto, with more time: many passes of self-similarity over a field, more candidates for a table."""

    reference = "this package"
    use_when = "when a few times as long is fine: above all pictures, spectral cubes and video"
    effort = "best"


@METHODS.register("auto-quick", listed=False)
@dataclass(frozen=True)
class AutoQuick(Auto):
    """As auto, with less time: the cheap candidates only."""

    reference = "this package"
    use_when = "for a first look"
    effort = "quick"
