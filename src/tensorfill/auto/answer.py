"""From a decision to a Completion: the parts fitted to everything, the leaderboard, the error on entries never used."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from tensorfill.auto.columns import column_errors
from tensorfill.auto.contest import Contest, Trial, ends, standard_error
from tensorfill.auto.ensemble import Decision, single
from tensorfill.auto.limits import REFIT
from tensorfill.blocks import Sample
from tensorfill.data.facts import Facts
from tensorfill.data.gaps import GAPS, has_clustered_gaps, slice_modes
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Method, OutOfTime, Run, Unsuited
from tensorfill.methods.tabular.means import Means
from tensorfill.result.answer import Blend, Factors, Filled
from tensorfill.result.completion import Completion
from tensorfill.result.packing import Answer
from tensorfill.result.record import History, Leaderboard, LeaderboardRow, Status
from tensorfill.solvers.fit import ENDED_EARLY
from tensorfill.typing import Array

PATIENCE = 3.0  # seconds for a last fit after a contest on a part of large data was interrupted
MOST_WEIGHT = 10.0  # that one entry may have more, or less, than others when the error is told
EACH = 8  # entries that tell the error, per slice, from which on they count as slices have gaps
ENOUGH_GAPS = 20  # that tell the error, as many as their weights come to, for those elsewhere to count for nothing


def nothing_missing(obs: Observations, facts: Facts, method: str) -> Completion:
    """Data without a gap come back as they are."""
    answer = Filled(obs.dense(dtype=np.float64))
    return Completion(obs, method, Status.NOTHING_MISSING, History(), answer, facts=facts)


def fit_all(method: Method, obs: Observations, run: Run) -> Completion:
    """The method fitted to everything, in memory or in blocks."""
    return method.fit_blocks(obs.all, run) if isinstance(obs, Sample) else method.fit(obs, run)


def fit_one(method: Method, obs: Observations, run: Run, name: str) -> Completion:
    """The method fitted to everything, without a contest."""
    done = _as_auto(fit_all(method, obs, run), run, name)
    if isinstance(method, Means):  # the factors that hold them are no model to be told of
        done = replace(done, settings={**done.settings, "candidate": method.label})
    return done


def from_contest(contest: Contest, decision: Decision, run: Run, method: str) -> Completion:
    """The winner, or the parts of the blend, fitted to everything."""
    facts = contest.facts
    parts, began = [trial.method for trial in decision.trials], time.monotonic()
    fits: list[Completion] = []
    if contest.part is contest.obs:  # of more data each takes much memory, and threads of its own
        contest.ahead.begin([(part, contest.obs, run) for part in parts[1:]], here=1)
    for k, (part, trial) in enumerate(zip(parts, decision.trials, strict=True)):
        left = run.rest(began)
        fits.append(_refit(part, trial, contest, _part(left, k, len(parts)), late=left.late))
        if fits[-1].status in ENDED_EARLY:
            contest.ahead.end()
    heaviest = int(np.argmax([decision.weight_of(e, contest) for e in decision.trials]))
    done = _as_auto(fits[heaviest], run, method)
    answer = fits[0].answer if len(fits) == 1 else _blend(contest, decision, [f.answer for f in fits])
    answer = _inside(answer, facts)
    early = next((f.status for f in fits if f.status in ENDED_EARLY), None)
    return replace(
        done,
        answer=answer,
        status=early or (Status.TIME if contest.late else done.status),
        settings={**done.settings, "candidate": " + ".join(e.method.label for e in decision.trials)},
        tried=leaderboard(contest, decision),
        **_errors(contest, decision.predict(contest)) | _own_error(contest, answer, fits),
    )


def _brief(method: Method, contest: Contest) -> Method:
    """A mean of draws with fewer of them where data are many, which say more by each: for REFIT budgets."""
    if contest.part is contest.obs or not method.averages:
        return method
    return method.shorter(contest.facts, REFIT * contest.budget)


def _own_error(contest: Contest, answer: Answer, fits: list[Completion]) -> dict[str, Any]:
    """The error of the answer to data in blocks at the entries held out of these; else the error that the one member
    found by itself, longer than its trial; not an error at single entries, if gaps are holes.
    """
    if isinstance(contest.obs, Sample):
        held = contest.obs.all.held
        return {} if held is None else {"error": weighted_rms(answer.at(held.indices) - held.values, held.weights)}
    (only, *others) = fits
    if others or not np.isfinite(only.error) or (contest.facts.depth == 0 and has_clustered_gaps(contest.obs)):
        return {}
    return {"error": only.error}


def _refit(part: Method, trial: Trial, contest: Contest, run: Run, *, late: bool) -> Completion:
    """A part fitted to everything; its fit of one fold if there is no time for that, or it does not suit all data."""
    early = True
    if not late or trial.fitted is None:
        try:
            done = contest.ahead.take(part, contest.obs)
            return fit_all(_brief(part, contest), contest.obs, run) if done is None else done
        except OutOfTime:
            pass
        except Unsuited:
            early = False
    left = trial.fitted or fit_all(Means(), contest.obs, run)  # none: its trials are those of a checkpoint
    left = replace(left, observations=contest.obs)  # what was held out of that fold is known all the same
    return replace(left, status=Status.TIME) if early else left


def _as_auto(done: Completion, run: Run, method: str) -> Completion:
    """The completion of a member as that of `auto`."""
    return replace(done, method=method, facts=run.facts, settings={**done.settings, "seed": run.seed})


def cut_short(contest: Contest, run: Run, method: str) -> Completion:
    """The best candidate so far, by its fit of one fold, as there is no time to fit it to everything; the means if no
    candidate has a fit yet.
    """
    status, (best, fitted) = contest.ended or Status.TIME, _so_far(contest)
    if best is None or fitted is None:
        done = fit_one(Means(), contest.obs, run, method)
        return replace(done, status=status, tried=leaderboard(contest, None))
    done = _as_auto(replace(fitted, observations=contest.obs), run, method)
    errors = _errors(contest, best.predictions) if contest.whole(best) else {}
    tried = leaderboard(contest, single(best) if contest.whole(best) else None)
    return replace(done, answer=_inside(done.answer, contest.facts), status=status, tried=tried, **errors)


def _so_far(contest: Contest) -> tuple[Trial | None, Completion | None]:
    """The best trial that has a fit of all data, and that fit. After a contest on a part of large data there is none:
    then the best trial that can be fitted to everything within PATIENCE is.
    """
    if contest.part is contest.obs:
        best = next((e for e in (*contest.ranking(), *contest.trials[::-1]) if e.fitted is not None), None)
        return best, None if best is None else best.fitted
    began, facts = time.monotonic(), contest.facts
    run = replace(contest.run.rest(contest.began), callback=None, checkpoint=None, resume=False)
    for trial in contest.ranking():
        left = PATIENCE - (time.monotonic() - began)
        brief = trial.method.shorter(facts, PATIENCE)
        if left > 0 and brief.cost(facts) <= 2 * PATIENCE:  # costs are about twice the true time
            with suppress(OutOfTime, Unsuited):
                return trial, fit_all(brief, contest.obs, replace(run, seconds=min(left, run.seconds or left)))
    return None, None


def _part(run: Run, k: int, parts: int) -> Run:
    """How to fit part k: a share of the time left, a section of its own in the checkpoint."""
    seconds = None if run.seconds is None else run.seconds / (parts - k)
    return replace(run, seconds=seconds, checkpoint=run.section(str(k)))


def _blend(contest: Contest, decision: Decision, answers: list[Answer]) -> Blend:
    """A row of weights for every context of entries that differ."""
    if not decision.weights.C.size and decision.unseen is None:
        return Blend(tuple(answers), decision.weights.at(np.zeros((1, 0))))
    obs, context = contest.obs, contest.context
    rows, features = context.everywhere(obs)
    W = decision.weights.at(context.design(features)[:, : len(decision.weights.C)])
    if decision.unseen is not None:
        never = np.zeros(obs.shape, dtype=bool)
        for n in slice_modes(obs.shape):
            never[(slice(None),) * n + (~obs.seen(n),)] = True
        W = np.vstack([W, np.arange(len(answers)) == decision.unseen])
        rows = np.where(never, len(W) - 1, rows)
    return Blend(tuple(answers), W, rows)


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


def leaderboard(contest: Contest, decision: Decision | None) -> Leaderboard:
    """Everything that was tried: what ran on all folds, best first; what did not; what was left out, and why."""
    rows, nan = [], float("nan")
    ran = sorted((e for e in contest.trials if e.parts), key=lambda e: (not contest.whole(e), contest.loss(e)))
    for trial in ran:
        k = len(trial.predictions)
        chose = np.flatnonzero(contest.selection[:k])
        squares = _squares(contest, trial.predictions)[chose]
        error = float(np.sqrt(squares.mean()))
        chance = standard_error(squares, contest.gaps[chose]) / (2 * error) if error > 0 else 0.0
        weight = 0.0 if decision is None else decision.weight_of(trial, contest)
        note = trial.note
        if note and k < len(ran[0].predictions):  # its error is of fewer entries: what the first has there
            same = np.sqrt(_squares(contest, ran[0].predictions[:k])[chose].mean())
            note = f"{note}; leader {same:.3g}"
        rows.append(LeaderboardRow(trial.method.label, error, chance, trial.seconds, weight, note, trial.family))
    for trial in (e for e in contest.trials if not e.parts):
        rows.append(LeaderboardRow(trial.method.label, nan, nan, trial.seconds, 0.0, trial.note, trial.family))
    left_out = ((label, *rest) for label, rest in contest.left_out.items())
    rows += (LeaderboardRow(label, nan, nan, 0.0, 0.0, why, method) for label, method, why in left_out)
    return Leaderboard(rows)


def _squares(contest: Contest, predictions: Array) -> Array:
    """Squared errors at the held-out entries of the first folds, (k,), by `contest.error_units`."""
    units, k = contest.error_units, len(predictions)
    off = predictions - contest.truth[:k]
    if units is not None:
        off = off / np.concatenate([units.scale[f.validation.indices[:, units.mode]] for f in contest.folds])[:k]
        off = np.clip(off, -1e70, 1e70)  # of a slice far smaller than others, whose squares' squares would be inf
    weights = [f.validation.weights for f in contest.folds if f.validation.weights is not None]
    return off**2 * (np.concatenate(weights)[:k] / np.mean(np.concatenate(weights)) if weights else 1.0)


def _errors(contest: Contest, predictions: Array) -> dict[str, Any]:
    """On the entries that chose nothing: one figure, and one per kind of gap."""
    squares, like = _squares(contest, predictions), as_missing(contest)
    told = ~contest.selection
    kinds = {name: _root_mean(squares[here], like[here]) for name, here in contest.by_kind()}
    return {
        "error": _root_mean(squares[told], like[told]),
        "held_out": float(contest.losses(predictions)[told].mean()),
        "by_gap": kinds if len(kinds) > 1 else {},
        "error_units": contest.error_units,
        "by_column": column_errors(contest, predictions),
    }


def weighted_rms(off: Array, weights: Array | None) -> float:
    """Root mean square of errors (k,)."""
    return float(np.sqrt(np.average(np.asarray(off, dtype=np.float64) ** 2, weights=weights)))


def _root_mean(squares: Array, weights: Array) -> float:
    """The root of the weighted mean; of the plain one if no entry has a weight."""
    return float(np.sqrt(np.average(squares, weights=weights if weights.any() else None)))


def as_missing(contest: Contest) -> Array:
    """What each held-out entry counts for when the error is told, (k,): more, where more is missing than was held out.

    Held-out entries are of all slices, because all say something about candidates. But where all gaps are in one
    column, the error there is asked for. By kinds of gaps, too: long ones are more often missing than held out.
    """
    out, told = np.ones(len(contest.truth)), ~contest.selection
    shares = np.array([contest.facts.gaps.get(name, 0.0) for name in GAPS])
    groups = [(contest.kinds, shares)] if contest.facts.dense and shares.any() else []
    modes = _told_modes(contest, int(np.count_nonzero(told)))
    groups += [(contest.slices(n), missing_shares(contest.obs, n)) for n in modes]
    for group, missing in groups:
        held = np.bincount(group[told], minlength=len(missing))
        ratio = np.minimum(missing * held.sum() / np.maximum(held, 1), MOST_WEIGHT)
        by_gap = np.bincount(contest.gaps[told], weights=ratio[group[told]])
        few = by_gap.sum() ** 2 < ENOUGH_GAPS * (by_gap**2).sum()
        out *= np.maximum(ratio, 1 / MOST_WEIGHT if few else 0.0)[group]
    return out


def _told_modes(contest: Contest, entries: int) -> list[int]:
    """The modes of which every slice has EACH or more of so many entries on average, and none is left out."""
    whole = [n for n, length in enumerate(contest.obs.shape) if contest.part.shape[n] == length]
    return [n for n in whole if 1 < contest.obs.shape[n] <= entries / EACH]


def missing_shares(obs: Observations, mode: int) -> Array:
    """The share of all missing entries that each slice of a mode has, (I_n,)."""
    missing = obs.size // obs.shape[mode] - obs.counts[mode]
    return missing / max(missing.sum(), 1)
