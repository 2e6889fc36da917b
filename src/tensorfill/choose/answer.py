"""From a decision to a Completion: the parts fitted to everything, the leaderboard, the error on entries never used."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.blend import Decision, missing_shares, single, sliced_modes
from tensorfill.choose.candidates.base import Candidate, Fitted, Late, Unsuited
from tensorfill.choose.candidates.continuation import Continuation
from tensorfill.choose.candidates.field import Field, large
from tensorfill.choose.candidates.means import Means
from tensorfill.choose.contest import Contest, Entry, ends, standard_error
from tensorfill.choose.field import EVALUATIONS, START_EVALUATIONS
from tensorfill.choose.large import busiest
from tensorfill.data.facts import Facts
from tensorfill.data.gaps import GAPS, clustered, gap_kinds
from tensorfill.data.holdout import split_like_gaps
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.methods.base import Run
from tensorfill.result.answer import Answer, Blend, Factors, Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status, Tried
from tensorfill.solvers.fit import ENDED_EARLY

Array = NDArray[Any]

PATIENCE = 3.0  # seconds for a last fit after a contest on a part of large data was interrupted
MOST_WEIGHT = 10.0  # that one entry may have more, or less, than others when the error is told
EACH = 8  # entries that tell the error, per slice, from which on they count as slices have gaps
ENOUGH_GAPS = 20  # that tell the error, as many as their weights come to, for those elsewhere to count for nothing
TOLD_BY = 0.04  # share of the known entries of a field that are hidden in one trial, to estimate its error


def nothing_missing(obs: Observations, facts: Facts, method: str) -> Completion:
    """Data without a gap come back as they are."""
    answer = Filled(obs.dense(dtype=np.float64))
    return Completion(obs, method, Status.NOTHING_MISSING, History(), answer, facts=facts)


def from_one(
    candidate: Candidate, obs: Observations, facts: Facts, run: Run, method: str, *, told: bool = True
) -> Completion:
    """The candidate fitted to everything, nothing held out. With `told`, the error of a field comes from a trial."""
    done = _completion(candidate.fit(obs, facts, run), obs, facts, run, method)
    if isinstance(candidate, Means):  # the factors that hold them are no model to be told of
        done = replace(done, settings={**done.settings, "candidate": candidate.label})
    told = told and isinstance(candidate, Field | Continuation) and run.max_iter is None
    if not told or done.status in ENDED_EARLY:
        return done
    assert isinstance(candidate, Field | Continuation)
    # an error at single entries among known ones says nothing about holes; one at holes cut elsewhere does
    known = np.isfinite(done.error) and (isinstance(candidate, Continuation) or not clustered(obs))
    return done if known else replace(done, error=trial_error(candidate, obs, facts, run, done.seconds))


def trial_error(candidate: Field | Continuation, obs: Observations, facts: Facts, run: Run, took: float) -> float:
    """Root mean square error, on known entries hidden as the gaps lie, of a short fit without passes: an estimate that
    is too large rather than too small, for a tenth of the time. NaN if there is no time.
    """
    left = None if run.seconds is None else run.seconds - took
    if left is not None and left <= 0:
        return np.nan
    obs = busiest(obs) if large(facts) else obs
    kept, aside = split_like_gaps(obs, TOLD_BY, np.random.default_rng([run.seed, 8]))
    trial = replace(candidate, passes=0)
    if isinstance(trial, Field):
        trial = replace(trial, steps=START_EVALUATIONS / EVALUATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of slices that are empty only because they were hidden
        fitted = trial.fit(kept, facts, replace(run, callback=None, checkpoint=None, resume=False, seconds=left))
    if fitted.status in ENDED_EARLY:
        return np.nan
    off = np.asarray(fitted.answer.at(aside.indices), dtype=np.float64) - aside.values
    return float(np.sqrt(np.mean(off**2)))


def from_contest(contest: Contest, decision: Decision, run: Run, method: str) -> Completion:
    """The winner, or the parts of the blend, fitted to everything."""
    obs, facts = contest.obs, contest.facts
    parts, began = [entry.candidate for entry in decision.entries], time.monotonic()
    fits = []
    for k, (part, entry) in enumerate(zip(parts, decision.entries, strict=True)):
        left = run.rest(began)
        fits.append(_refit(part, entry, contest, _part(left, k, len(parts)), late=left.late))
    heaviest = int(np.argmax([decision.weight_of(e, contest) for e in decision.entries]))
    done = _completion(fits[heaviest], obs, facts, run, method)
    answer = fits[0].answer if len(fits) == 1 else _blend(contest, decision, [f.answer for f in fits])
    early = next((f.status for f in fits if f.status in ENDED_EARLY), None)
    return replace(
        done,
        answer=_inside(answer, facts),
        status=early or (Status.TIME if contest.late else done.status),
        settings={**done.settings, "candidate": " + ".join(e.candidate.label for e in decision.entries)},
        tried=leaderboard(contest, decision),
        **_errors(contest, decision.predict(contest)),
    )


def _refit(part: Candidate, entry: Entry, contest: Contest, run: Run, *, late: bool) -> Fitted:
    """A part fitted to everything; its fit of one fold if there is no time for that, or it does not suit all data."""
    early = True
    if not late or entry.fitted is None:
        try:
            return part.fit(contest.obs, contest.facts, run)
        except Late:
            pass
        except Unsuited:
            early = False
    left = entry.fitted or Means().fit(contest.obs, contest.facts, run)  # none: its trials are those of a checkpoint
    return replace(left, status=Status.TIME) if early else left


def _completion(fitted: Fitted, obs: Observations, facts: Facts, run: Run, method: str) -> Completion:
    return Completion(
        observations=obs,
        method=method,
        status=fitted.status,
        history=fitted.history,
        answer=fitted.answer,
        settings={**fitted.settings, "seed": run.seed},
        problem=fitted.problem,
        facts=facts,
        error=fitted.error,
    )


def cut_short(contest: Contest, run: Run, method: str) -> Completion:
    """The best candidate so far, by its fit of one fold, as there is no time to fit it to everything; the means if no
    candidate has a fit yet.
    """
    status, (best, fitted) = contest.ended or Status.TIME, _so_far(contest)
    if best is None or fitted is None:
        done = from_one(Means(), contest.obs, contest.facts, run, method)
        return replace(done, status=status, tried=leaderboard(contest, None))
    done = _completion(fitted, contest.obs, contest.facts, run, method)
    errors = _errors(contest, best.predictions) if contest.whole(best) else {}
    tried = leaderboard(contest, single(best) if contest.whole(best) else None)
    return replace(done, answer=_inside(done.answer, contest.facts), status=status, tried=tried, **errors)


def _so_far(contest: Contest) -> tuple[Entry | None, Fitted | None]:
    """The best entry that has a fit of all data, and that fit. After a contest on a part of large data there is none:
    then the best entry that can be fitted to everything within PATIENCE is.
    """
    if contest.part is contest.obs:
        best = next((e for e in (*contest.ranking(), *contest.entries[::-1]) if e.fitted is not None), None)
        return best, None if best is None else best.fitted
    began, facts = time.monotonic(), contest.facts
    run = replace(contest.run.rest(contest.began), callback=None, checkpoint=None, resume=False)
    for entry in contest.ranking():
        left = PATIENCE - (time.monotonic() - began)
        brief = entry.candidate.shorter(facts, PATIENCE)
        if left > 0 and brief.cost(facts) <= 2 * PATIENCE:  # costs are about twice the true time
            with suppress(Late, Unsuited):
                return entry, brief.fit(contest.obs, facts, replace(run, seconds=min(left, run.seconds or left)))
    return None, None


def _part(run: Run, k: int, parts: int) -> Run:
    """How to fit part k: a share of the time left, a section of its own in the checkpoint."""
    seconds = None if run.seconds is None else run.seconds / (parts - k)
    return replace(run, seconds=seconds, checkpoint=run.section(str(k)))


def _blend(contest: Contest, decision: Decision, answers: list[Answer]) -> Blend:
    """A row of weights for every kind of gap and slice that differ."""
    obs, (_, slices, parts) = contest.obs, decision.weights.shape
    rows = np.zeros((1,) * obs.ndim, dtype=np.int32)
    if contest.facts.dense and (decision.weights != decision.weights[0]).any():
        rows = slices * gap_kinds(obs.mask, contest.facts.ordered).astype(np.int32)
    if decision.mode is not None:
        rows = rows + np.arange(slices).reshape([-1 if n == decision.mode else 1 for n in range(obs.ndim)])
    return Blend(tuple(answers), decision.weights.reshape(-1, parts), rows if rows.size > 1 else None)


def _inside(answer: Answer, facts: Facts) -> Answer:
    """The answer clipped to what the data can be, unless its own prior keeps it there."""
    low, high = ends(facts)
    if not np.isfinite(low) and not np.isfinite(high):
        return answer
    if isinstance(answer, Blend):
        return replace(answer, low=low, high=high)
    own = answer.behind if isinstance(answer, Filled) else answer
    if isinstance(own, Factors) and own.prior.t_domain.low >= low:
        return answer
    return Blend((answer,), np.ones((1, 1)), None, low, high)


def leaderboard(contest: Contest, decision: Decision | None) -> tuple[Tried, ...]:
    """Everything that was tried, best first, then what was left out and why."""
    rows = []
    for entry in sorted((e for e in contest.entries if e.parts), key=contest.loss):
        chose = np.flatnonzero(contest.judges[: len(entry.predictions)])
        squares = _squares(contest, entry.predictions)[chose]
        error = float(np.sqrt(squares.mean()))
        chance = standard_error(squares, contest.gaps[chose]) / (2 * error) if error > 0 else 0.0
        weight = 0.0 if decision is None else decision.weight_of(entry, contest)
        rows.append(Tried(entry.candidate.label, error, chance, entry.seconds, weight, entry.note))
    for entry in (e for e in contest.entries if not e.parts):
        rows.append(Tried(entry.candidate.label, float("nan"), float("nan"), entry.seconds, 0.0, entry.note))
    rows += [Tried(name, float("nan"), float("nan"), 0.0, 0.0, why) for name, why in contest.left_out.items()]
    return tuple(rows)


def _squares(contest: Contest, predictions: Array) -> Array:
    """Squared errors at the held-out entries of the first folds, (k,), by `contest.error_units`."""
    units, k = contest.error_units, len(predictions)
    off = predictions - contest.truth[:k]
    if units is not None:
        off = off / np.concatenate([units.scale[f.aside.indices[:, units.mode]] for f in contest.folds])[:k]
    weights = [f.aside.weights for f in contest.folds if f.aside.weights is not None]
    return off**2 * (np.concatenate(weights)[:k] / np.mean(np.concatenate(weights)) if weights else 1.0)


def _errors(contest: Contest, predictions: Array) -> Mapping[str, Any]:
    """On the entries that chose nothing: one figure, and one per kind of gap."""
    squares, like = _squares(contest, predictions), as_missing(contest)
    told = ~contest.judges
    kinds = {name: _root_mean(squares[here], like[here]) for name, here in contest.by_kind()}
    return {
        "error": _root_mean(squares[told], like[told]),
        "held_out": float(contest.losses(predictions)[told].mean()),
        "by_gap": kinds if len(kinds) > 1 else {},
        "error_units": contest.error_units,
    }


def _root_mean(squares: Array, weights: Array) -> float:
    """The root of the weighted mean; of the plain one if no entry has a weight."""
    return float(np.sqrt(np.average(squares, weights=weights if weights.any() else None)))


def as_missing(contest: Contest) -> Array:
    """What each held-out entry counts for when the error is told, (k,): more, where more is missing than was held out.

    Held-out entries are of all slices, because all say something about candidates. But where all gaps are in one
    column, the error there is asked for. By kinds of gaps, too: long ones are more often missing than held out.
    """
    out, told = np.ones(len(contest.truth)), ~contest.judges
    shares = np.array([contest.facts.gaps.get(name, 0.0) for name in GAPS])
    groups = [(contest.kinds, shares)] if contest.facts.dense and shares.any() else []
    modes = sliced_modes(contest, int(np.count_nonzero(told)), EACH)
    groups += [(contest.slices(n), missing_shares(contest.obs, n)) for n in modes]
    for group, missing in groups:
        held = np.bincount(group[told], minlength=len(missing))
        ratio = np.minimum(missing * held.sum() / np.maximum(held, 1), MOST_WEIGHT)
        by_gap = np.bincount(contest.gaps[told], weights=ratio[group[told]])
        few = by_gap.sum() ** 2 < ENOUGH_GAPS * (by_gap**2).sum()
        out *= np.maximum(ratio, 1 / MOST_WEIGHT if few else 0.0)[group]
    return out
