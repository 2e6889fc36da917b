"""auto: everything chosen from the data; what the user gives wins.  facts -> candidates -> contest -> answer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tensorfill.choose import scale
from tensorfill.choose.answer import cut_short, from_contest, from_one, nothing_missing
from tensorfill.choose.blend import decide
from tensorfill.choose.candidates import CANDIDATES
from tensorfill.choose.candidates.base import Candidate, refused
from tensorfill.choose.candidates.continuation import Continuation
from tensorfill.choose.candidates.field import Field, large
from tensorfill.choose.candidates.low_rank import LowRank
from tensorfill.choose.candidates.means import Means
from tensorfill.choose.candidates.models import OtherModels
from tensorfill.choose.candidates.posterior import PosteriorMean
from tensorfill.choose.contest import Contest
from tensorfill.choose.defaults import default_rank, prior_for
from tensorfill.choose.field import EVALUATIONS
from tensorfill.choose.given import Given, by_mode
from tensorfill.choose.large import many_pixels
from tensorfill.choose.rounds import hold
from tensorfill.data.facts import Facts, is_picture, look
from tensorfill.data.observations import Observations
from tensorfill.data.partitions import Partitions
from tensorfill.data.partitions.draw import Draw
from tensorfill.data.partitions.memory import in_memory
from tensorfill.data.partitions.opening import is_large
from tensorfill.interelement.quadratic import QuadraticVariation
from tensorfill.interelement.selfsimilarity import SelfSimilarity
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.checks import check_above, check_whole
from tensorfill.models import MODELS
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import DataWarning, diagnose
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, Solver

FEWEST = 8  # with fewer observations nothing can be held out: the means it is
CLEAN = 0.45  # grain of a picture below which it has no noise to speak of: clean ones stay below 0.4, at any share
PER_ENTRY, PER_KNOWN = 80.0, 60.0  # bytes of memory that a large picture takes, by its resident size at 12 megapixels
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

    def __post_init__(self) -> None:
        check_above(self, 0, *self._given("ridge", "tv"), included=True)
        check_whole(self, 1, *self._given("starts"))
        if self.model is not None:
            MODELS[self.model]  # a misspelt one is refused with a sentence
        if not isinstance(self.rank, Sequence | np.ndarray):
            check_whole(self, 1, *self._given("rank"))
        elif self.model in (None, "cp"):
            msg = f'rank of a CP model must be one whole number; got {self.rank!r}. Name another: model="tucker".'
            raise ValueError(msg)
        check_whole(self, 0, *self._given("passes"))
        if self.held_out is not None and not 0 <= self.held_out < 1:
            msg = f"held_out must be a share between 0 and 1, 0 for none; got {self.held_out!r}."
            raise ValueError(msg)
        for mode, rho in (self.smooth or {}).items():
            if not 0 <= rho < np.inf:
                msg = f"smooth must hold weights >= 0; got {rho!r} for mode {mode!r}."
                raise ValueError(msg)
        if isinstance(self.solver, str):
            SOLVERS[self.solver]  # the same
        for name in self.candidates or ():
            CANDIDATES[name]  # a misspelt one is refused with a sentence

    def _given(self, *names: str) -> list[str]:
        return [name for name in names if getattr(self, name) is not None]

    def memory(self, obs: Observations) -> float:
        """As of any method, but less for a large picture, which is completed window by window, and for a large table,
        which is fitted block by block.
        """
        if is_large(obs) and not in_windows(obs):
            copies = obs.ndim + 2  # one sorted along each mode, what was given, what is not set aside
            return copies * (4.0 * obs.ndim + 8.0) * obs.nnz + 1300.0 * sum(obs.shape)
        if not in_windows(obs):
            return super().memory(obs)
        return PER_ENTRY * obs.size + PER_KNOWN * obs.nnz

    def complete(self, obs: Observations, run: Run) -> Completion:
        whole, obs = obs, relative_weights(obs)
        done = self._complete(obs, run)
        return done if obs is whole else replace(done, observations=whole)

    def _complete(self, obs: Observations, run: Run) -> Completion:
        began = time.monotonic()
        given = self._restrictions(obs)
        if is_large(obs) and scale.can(given) and not in_windows(obs):
            done = scale.complete_blocks(in_memory(obs, Draw.asked(run.seed, self.held_out)), given, run, self.name)
            return replace(done, observations=obs)
        facts = look(obs)
        if obs.nnz == obs.size and not given.anything:
            return nothing_missing(obs, facts, self.name)
        self._refuse_strangers(facts, given)
        warn_of_empty_slices(obs, facts)
        warn_of_one(obs)
        warn_of_depth(facts)
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
        return scale.complete_blocks(parts, self._restrictions(parts.extract), run, self.name)

    def _restrictions(self, obs: Observations) -> Given:
        if self.prior is not None:
            prior = prior_for(obs, self.prior)
            obs.check_domain(prior.t_domain, type(prior).__name__)
        return Given(
            prior=self.prior,
            form=self.model,
            rank=_in_full(obs, self.model, self.rank),
            smooth=by_mode(obs, self.smooth),
            ridge=self.ridge,
            tv=self.tv,
            solver=self.solver,
            held_out=self.held_out,
            starts=self.starts,
            passes=self.passes,
            candidates=None if self.candidates is None else tuple(self.candidates),
            effort=self.effort,
        )

    def _refuse_strangers(self, facts: Facts, given: Given) -> None:
        """A sentence for what was given and would not be used."""
        for name in ("tv", "passes"):
            why = Field.can(facts, given)
            if getattr(given, name) and isinstance(why, str):
                msg = (
                    f"{name} is for fields, and {why}; got {getattr(given, name)}. "
                    f"Leave it out, or name the smooth modes: smooth={{0: 1.0, 1: 1.0}}."
                )
                raise ValueError(msg)
        reasons = {name: refused(cls, facts, given) for name, cls in CANDIDATES.items()}
        if all(reasons.values()):
            words = "; ".join(f"{name}: {why}" for name, why in reasons.items())
            msg = f"no candidate can make use of what was given ({words}). Give less."
            raise ValueError(msg)


def _in_full(obs: Observations, model: str | None, rank: int | Sequence[int] | None) -> int | tuple[int, ...] | None:
    """The rank as the model has it."""
    return rank if rank is None or model is None else MODELS[model].check_rank(obs.shape, rank)  # type: ignore[return-value]


def in_windows(obs: Observations) -> bool:
    """Is this a picture so large that it is completed window by window?"""
    return is_picture(obs) and many_pixels(obs.shape)


def relative_weights(obs: Observations) -> Observations:
    """Weights by their mean: only how they relate counts."""
    if obs.weights is None:
        return obs
    return replace(obs, weights=obs.weights / obs.weights.mean())


def warn_of_one(obs: Observations) -> None:
    """Of data from which nothing can be learnt."""
    if obs.nnz == 1:
        msg = f"only 1 entry is known of {obs.size:,}: every gap is filled with its value. Is the mask inverted?"
        warnings.warn(msg, DataWarning, stacklevel=5)


def warn_of_depth(facts: Facts) -> None:
    """Of gaps so deep that no patch inside them holds a known pixel."""
    if facts.depth > SelfSimilarity.patch:
        msg = (
            f"the deepest gap of this picture reaches {facts.depth:.0f} pixels from any known one: "
            "what is filled in there continues its surroundings, and is a guess."
        )
        warnings.warn(msg, DataWarning, stacklevel=5)


def warn_of_empty_slices(obs: Observations, facts: Facts) -> None:
    """Once for the whole run, of slices that nothing speaks for: not of those that lie between smooth neighbours."""
    tied = dict.fromkeys(facts.smooth, QuadraticVariation(1.0))
    for line in diagnose(obs, 0, tied):
        warnings.warn(line, DataWarning, stacklevel=5)


def settled(obs: Observations, facts: Facts, given: Given, run: Run) -> Candidate | None:
    """The one candidate to run where nothing should be held out; None for a contest.

    A clean photograph is a field: every entry counts; unless what is missing are holes, scratches or text, around which
    all is known, noise and all. So is one too large for a contest, clean or not. A field is also one whose weights were
    given. A run of few iterations cannot compare. And a handful of numbers has only means.
    """
    field = refused(Field, facts, given) is None
    if obs.nnz < FEWEST and given.rank is None:
        return Means()
    if given.held_out == 0 or obs.nnz < FEWEST:
        if field:
            return Field.clean(facts, given)
        if given.model or refused(PosteriorMean, facts, given) is not None:
            rank = given.rank or default_rank(obs.nnz, obs.shape, facts.smooth[:1] if len(facts.smooth) == 1 else ())
            if given.form not in (None, "cp"):
                return next(OtherModels.search(facts, given))
            return LowRank(given, rank, centred=given.rank is None)  # a rank that was given is that of the data
        return PosteriorMean(prior=given.prior)
    if given.held_out is None and field:
        weighed = given.smooth is not None or given.tv is not None
        short = run.max_iter is not None and run.max_iter < EVALUATIONS
        clean = facts.picture and not facts.grainy >= CLEAN
        if facts.picture and not weighed and refused(Continuation, facts, given) is None:
            return replace(Continuation.clean(given), noise=0.0 if clean else facts.noise)
        if weighed or short or clean:
            return Field.clean(facts, given)
        if large(facts):
            return Field.clean(facts, given, facts.noise)
    return None


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


def alone(name: str, obs: Observations, seed: int = 0) -> Completion | None:
    """What one family of candidates does by itself, its best variant; None if it cannot run on these data."""
    if refused(CANDIDATES[name], look(obs), Given()) is not None:
        return None
    return Auto(candidates=(name,)).complete(obs, Run(seed))
