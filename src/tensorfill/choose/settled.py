"""Where nothing should be held out: the one candidate to run, without a contest."""

from __future__ import annotations

from dataclasses import replace

from tensorfill.choose.candidates.base import Candidate, refused
from tensorfill.choose.candidates.continuation import Continuation
from tensorfill.choose.candidates.field import Field, is_video, large
from tensorfill.choose.candidates.low_rank import LowRank
from tensorfill.choose.candidates.means import Means
from tensorfill.choose.candidates.models import OtherModels
from tensorfill.choose.candidates.posterior import PosteriorMean
from tensorfill.choose.defaults import default_rank
from tensorfill.choose.field import EVALUATIONS
from tensorfill.choose.given import Given
from tensorfill.choose.part import PART
from tensorfill.data.facts import Facts
from tensorfill.data.likeness import ENOUGH_PAIRS
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run

FEWEST = 8  # with fewer observations nothing can be held out, and the answer is the means
CLEAN = 0.45  # grain of a picture below which it has no noise to speak of: clean ones stay below 0.4, at any share


def settled(obs: Observations, facts: Facts, given: Given, run: Run) -> Candidate | None:
    """The one candidate to run where nothing should be held out; None for a contest.

    Fewer than FEWEST numbers get their means. With held_out=0 the candidate that most likely suits the data runs.
    """
    if obs.nnz < FEWEST and given.rank is None:
        return Means()
    field = refused(Field, facts, given) is None
    if given.held_out == 0 or obs.nnz < FEWEST:
        return Field.clean(facts, given) if field else _likeliest(obs, facts, given)
    return _every_entry_counts(facts, given, run) if given.held_out is None and field else None


def _likeliest(obs: Observations, facts: Facts, given: Given) -> Candidate:
    """Of tables: the posterior, or the low-rank model that was asked for."""
    if not given.model and refused(PosteriorMean, facts, given) is None:
        return PosteriorMean(prior=given.prior)
    if given.form not in (None, "cp"):
        return next(OtherModels.search(facts, given))
    rank = given.rank or default_rank(obs.nnz, obs.shape, facts.smooth[:1] if len(facts.smooth) == 1 else ())
    return LowRank(given, rank, centred=given.rank is None)  # a rank that was given is that of the data


def _every_entry_counts(facts: Facts, given: Given, run: Run) -> Candidate | None:
    """The candidate for a field on which no contest is held; None if one is.

    No contest for: a photograph with holes, scratches or text (`Continuation`, which works around them); a clean
    photograph, unless it is rough all over; a clean video too large for a contest to see all of it; a field whose
    weights were given; a run too short to compare anything; a field too large for a contest, clean or not.
    """
    weighed = given.smooth is not None or given.tv is not None
    short = run.max_iter is not None and run.max_iter < EVALUATIONS
    video = is_video(facts) and facts.observed > PART
    clean = (facts.picture or video) and not facts.grainy >= CLEAN and not _rough(facts)
    if facts.picture and not weighed and refused(Continuation, facts, given) is None:
        return replace(Continuation.clean(facts, given), noise=0.0 if clean else facts.noise)
    if weighed or short or clean:
        return Field.clean(facts, given)
    return Field.clean(facts, given, facts.noise) if large(facts) else None


def _rough(facts: Facts) -> bool:
    """Is it seen that neighbours are not alike along any mode? Then there is no telling noise from texture, and a wall
    of equal stones is low-rank rather than a field: held-out entries decide.
    """
    return not facts.smooth and all(m.pairs >= ENOUGH_PAIRS for m in facts.modes if not m.channels)
