"""From a contest to an answer: one procedure for all data.

The members are the best trial of every method; weights are fitted to validation entries
(`weights.py`), members of small weight are dropped, and what answers is whichever does best when weights are
cross-fitted: an ensemble with the same weights everywhere, one whose weights depend on what is known around an entry,
or the best trial alone, if that is better by two standard errors (of many trials one is always lucky). The means
answer if nothing is better by one. Where recorded runs know a method that nearly always wins (`Portfolio.decisive`), it
answers alone unless something else is better by two standard errors: a picture has few validation entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.auto.contest import Contest, Trial, standard_error
from tensorfill.auto.portfolio import Portfolio
from tensorfill.auto.weights import Validation, Weights, crossfit, fit_weights
from tensorfill.data.facts import TWO_ENDS
from tensorfill.data.gaps import GAPS

Array = NDArray[Any]

MEMBERS = 8  # that weights are fitted to
LEAST_WEIGHT = 0.15  # below it a member is not worth the time of its fit
FEWEST_GAPS = 8  # with fewer, a standard error says nothing: a hole or two of a picture
MEANS = "means"  # the family that every answer is compared with


@dataclass(frozen=True, eq=False)
class Decision:
    """The members of the answer and their weights; `unseen` is the member that alone answers for slices never seen."""

    trials: tuple[Trial, ...]
    weights: Weights
    unseen: int | None = None

    def at(self, Z: Array, unseen: Array) -> Array:
        """Weights of entries with features Z (k, f), (k, members); `unseen` (k,) are those in slices never seen."""
        W = self.weights.at(Z[:, : len(self.weights.C)])
        if self.unseen is not None:
            W[unseen] = np.arange(len(self.trials)) == self.unseen
        return W

    def predict(self, contest: Contest) -> Array:
        """Its predictions at every validation entry, (k,)."""
        P = np.stack([e.predictions for e in self.trials], axis=1)
        return np.einsum("kj,kj->k", self.at(contest.features, contest.unseen), P)

    def weight_of(self, trial: Trial, contest: Contest) -> float:
        """Its mean weight over the validation entries."""
        if trial not in self.trials:
            return 0.0
        return float(self.at(contest.features, contest.unseen)[:, self.trials.index(trial)].mean())


def single(trial: Trial) -> Decision:
    """One trial for all."""
    return Decision((trial,), Weights(np.zeros(1), np.zeros((0, 1))))


def decide(contest: Contest, *, one: bool = False) -> Decision:
    """The means, the best trial, or an ensemble: whichever does best. With `one`, or a clear leader, the best trial."""
    ranking = contest.ranking()
    if one or contest.decided or contest.judge is not None or len(ranking) == 1:
        return _for_unseen(contest, single(ranking[0]))
    trials = heaviest(contest)
    data = _validation(contest, trials)
    here = np.flatnonzero(contest.selection)
    ways = [(single(ranking[0]), ranking[0].predictions[here])]
    if len(trials) > 1:
        ways += [(Decision(tuple(trials), fit_weights(now)), crossfit(now)) for now in (data.plain(), data)]
        ways.sort(key=lambda way: data.loss(way[1]))
        if len(ways[0][0].trials) == 1 and not _better(data, ways[0][1], ways[1][1], 2.0):
            del ways[0]  # where it is in doubt which one is better, their average is
    best, predictions = ways[0]
    usual = next((e for e in ranking if e.family == contest.usual), None)
    means = next((e for e in ranking if e.family == MEANS), None)
    if usual is not None:
        several = len(np.unique(data.gaps)) >= FEWEST_GAPS
        best = best if several and _better(data, predictions, usual.predictions[here], 2.0) else single(usual)
    elif means is not None and not _better(data, predictions, means.predictions[here]):
        best = single(means)
    return _for_unseen(contest, best)


def _better(data: Validation, a: Array, b: Array, sure: float = 1.0) -> bool:
    """Are predictions `a` better than `b` by more than so many standard errors?"""
    gain = data.w * ((b - data.t) ** 2 - (a - data.t) ** 2)
    return bool(gain.mean() > sure * standard_error(gain, data.gaps))


def members(contest: Contest) -> list[Trial]:
    """The best trial of every method, the best of them first."""
    first: dict[str, Trial] = {}
    for trial in contest.ranking():
        first.setdefault(trial.family, trial)
    return list(first.values())[:MEMBERS]


def heaviest(contest: Contest) -> list[Trial]:
    """The members without those of small weight, the lightest left out first."""
    trials = members(contest)
    data = _validation(contest, trials).plain()
    while len(trials) > 1:
        mean = fit_weights(data).at(data.Z[:1])[0]
        if mean.min() >= LEAST_WEIGHT:
            break
        keep = [j for j in range(len(trials)) if j != int(mean.argmin())]
        trials, data = [trials[j] for j in keep], data.of(keep)
    return trials


def _validation(contest: Contest, trials: list[Trial]) -> Validation:
    """What weights are fitted to: the validation entries that choose, of the folds on which these trials ran."""
    here = np.flatnonzero(contest.selection[: len(trials[0].predictions)])
    P = np.stack([e.predictions[here] for e in trials], axis=1)
    gaps = np.unique(contest.gaps[here], return_inverse=True)[1]
    t, w = contest.truth[here], contest.weight[here]
    if not contest.facts.picture and contest.facts.numbers not in TWO_ENDS:  # neither edge nor rare yes is an outlier
        least = (w[:, None] * (P - t[:, None]) ** 2).min(axis=1)  # what all miss by far says nothing
        w = np.where(np.sqrt(least) > contest.outlying, 0.0, w)
        w = w * (1.0 if (usual := least.mean()) == 0 else usual / np.maximum(least, usual))
    prior = np.array(Portfolio.load().prior([e.family for e in trials]))
    return Validation(P, t, w, gaps, contest.features[here], prior)


def _for_unseen(contest: Contest, decision: Decision) -> Decision:
    """If no validation entry is in a slice never seen: for those slices only the best trial that knows of such."""
    if contest.unseen[contest.selection].any() or GAPS[-1] not in contest.facts.gaps:
        return decision
    if all(_knows_unseen(e, contest) for e in decision.trials):
        return decision
    sure = next((e for e in contest.ranking() if _knows_unseen(e, contest)), None)
    if sure is None:
        return decision
    if sure in decision.trials:
        return Decision(decision.trials, decision.weights, decision.trials.index(sure))
    low = np.full(1, -np.inf)
    weights = Weights(np.r_[decision.weights.b, low], np.pad(decision.weights.C, ((0, 0), (0, 1))))
    return Decision((*decision.trials, sure), weights, len(decision.trials))


def _knows_unseen(trial: Trial, contest: Contest) -> bool:
    """Can it predict slices never seen, along every mode that has some?"""
    modes = [n for n, m in enumerate(contest.facts.modes) if m.seen < m.length]
    return all(trial.method.knows_unseen(n) for n in modes)
