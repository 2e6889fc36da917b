"""From a contest to an answer: the winner, or convex weights of the few best, for each kind of gap and, where slices
differ (a smooth column beside a rough one), for each slice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.contest import ENOUGH, SURE, TRIFLE, Contest, Entry
from tensorfill.choose.rounds import YARDSTICK
from tensorfill.choose.weights import Held, by_slice, convex, crossfitted
from tensorfill.data.gaps import GAPS
from tensorfill.data.observations import Observations

Array = NDArray[Any]

PARTS = 6  # of the best candidates that may be blended
CLEARLY = 0.05  # of the loss that weights of its own must save a kind of gap, cross-fitted: fewer entries fitted them
APART = 0.05  # the same for weights of their own of all slices of a mode
# Standard errors by which an answer must be ahead of the means. On the same cells: 1.038 with 2 (and 3 for a handful of
# observations), 1.031 with 1.
AHEAD = 1.0
# An answer that does not beat the better of the means and interpolation by so many standard errors is drawn to that by
# this share. On the same cells and 49 of other small data, error over that of the best alone: 1.045 without, 1.044 with
# 0.3, 1.047 with 0.5; the worst over means or interpolation but for one: 1.96, 1.51, 1.26. With standard errors of gaps
# rather than of entries, on 38 of those cells: 1.0037 with 3 of them, 1.0005 with 2.
PROVEN, SAFE = 2.0, 0.4
SIMPLE = (YARDSTICK, "interpolation")


@dataclass(frozen=True, eq=False)
class Decision:
    """The parts of the answer.

    Attributes
    ----------
    weights : (kinds of gaps, slices, parts), sums over parts are 1; one slice if all have the same weights
    mode : whose slices have weights of their own
    """

    entries: tuple[Entry, ...]
    weights: Array
    mode: int | None = None

    def predict(self, contest: Contest) -> Array:
        """Its predictions at every held-out entry, (k,)."""
        P = np.stack([e.predictions for e in self.entries], axis=1)
        return np.einsum("kp,kp->k", self.weights[contest.kinds, contest.slices(self.mode)], P)

    def weight_of(self, entry: Entry, contest: Contest) -> float:
        """Its mean weight over the missing entries."""
        if entry not in self.entries:
            return 0.0
        own = self.weights[:, :, self.entries.index(entry)]
        own = own.mean(axis=1) if self.mode is None else own @ missing_shares(contest.obs, self.mode)
        shares = contest.facts.gaps or {GAPS[0]: 1.0}
        return float(sum(share * own[GAPS.index(name)] for name, share in shares.items()))

    def also(self, entry: Entry) -> Decision:
        """With one part more, of weight 0."""
        if entry in self.entries:
            return self
        return replace(self, entries=(*self.entries, entry), weights=np.pad(self.weights, ((0, 0), (0, 0), (0, 1))))


def missing_shares(obs: Observations, mode: int) -> Array:
    """The share of all missing entries that each slice of a mode has, (I_n,)."""
    missing = obs.size // obs.shape[mode] - np.bincount(obs.indices[:, mode], minlength=obs.shape[mode])
    return missing / max(missing.sum(), 1)


def decide(contest: Contest, *, one: bool = False) -> Decision:
    """The winner or the blend. Entries that all candidates miss by far count less; an answer hardly better than a
    simple candidate gets a share of that one; slices never seen are left to candidates that know of such.
    """
    with contest.softened(partners(contest)):
        decision = _decide(contest, one=one)
    return _for_unseen(contest, decision if one else _safe(contest, decision))


def _safe(contest: Contest, decision: Decision) -> Decision:
    """The decision mixed with SAFE of the best simple candidate, unless it is PROVEN to be better than that one: on the
    whole, or in those slices where it is.
    """
    simple = next((e for e in contest.ranking() if e.candidate.name in SIMPLE), None)
    x = decision.predict(contest)
    if simple is None or contest.beats(x, simple.predictions, PROVEN):
        return decision
    mode = decision.mode
    if mode is None:
        mode = min(sliced_modes(contest), key=lambda n: contest.obs.shape[n], default=None)
    own = contest.slices(mode)
    slices = range(1 if mode is None else contest.obs.shape[mode])
    sure = np.array([contest.beats(x, simple.predictions, PROVEN, own == s) for s in slices])
    decision, share = decision.also(simple), np.where(sure, 0.0, SAFE)
    weights = (1 - share[:, None]) * decision.weights
    weights[..., decision.entries.index(simple)] += share
    if decision.mode is None and not sure.any():
        return replace(decision, weights=weights[:, :1])
    return replace(decision, weights=weights, mode=mode)


def _for_unseen(contest: Contest, decision: Decision) -> Decision:
    """If no held-out entry is in a slice never seen: for those slices only the best candidate that knows of such."""
    unseen = len(GAPS) - 1
    example = np.count_nonzero(contest.judges & (contest.kinds == unseen)) >= ENOUGH
    if example or GAPS[unseen] not in contest.facts.gaps:
        return decision
    knows = np.array([_knows_unseen(e, contest) for e in decision.entries])
    if knows.all():
        return decision
    sure = next((e for e in contest.ranking() if _knows_unseen(e, contest)), None)
    if sure is None:
        return decision
    decision = decision.also(sure)
    weights = decision.weights.copy()
    weights[unseen] = [float(e is sure) for e in decision.entries]
    return replace(decision, weights=weights)


def _knows_unseen(entry: Entry, contest: Contest) -> bool:
    """Can it predict slices never seen, along every mode that has some?"""
    modes = [n for n, m in enumerate(contest.facts.modes) if m.seen < m.length]
    return all(entry.candidate.knows_unseen(n) for n in modes)


def _decide(contest: Contest, *, one: bool) -> Decision:
    """The best candidate; or, unless `one`, a blend of the best that beats it on entries that its weights were not
    fitted to. The means, if neither is better than they are by more than chance.
    """
    ranking = contest.ranking()
    best = single(ranking[0])
    if not one and len(ranking) > 1:
        found = blended(contest, partners(contest))
        # where no candidate is better than the means, what a blend of all slices alike gains is chance
        if found is not None and (found.mode is not None or ranking[0].candidate.name != YARDSTICK):
            best = found
    for entry in ranking:  # the simple one that is as good as the best
        if entry.candidate.name == YARDSTICK:
            return best if contest.beats(best.predict(contest), entry.predictions, AHEAD) else single(entry)
    return best


def single(entry: Entry) -> Decision:
    """One candidate for all."""
    return Decision((entry,), np.ones((len(GAPS), 1, 1)))


def partners(contest: Contest) -> list[Entry]:
    """Those that may be blended: the best, and those that are better by more than chance in some slice. Of a family
    whose answers are means of draws only one, where fitting another to everything takes longer than all trials did.
    """
    out: list[Entry] = []
    for entry in contest.ranking():
        again = entry.candidate.averages and any(type(e.candidate) is type(entry.candidate) for e in out)
        if not (again and entry.candidate.cost(contest.facts) > contest.budget):
            out.append(entry)
    if len(out) <= PARTS:
        return out
    return out[:PARTS] + _best_of_slices(contest, out)


def _best_of_slices(contest: Contest, entries: list[Entry]) -> list[Entry]:
    """Of the entries beyond the first PARTS, those that predict some slice best, and better than the first of all by
    more than chance.
    """
    found: list[Entry] = []
    losses = np.stack([contest.losses(e.predictions) for e in entries])
    for mode in sliced_modes(contest):
        own = contest.slices(mode)
        for s in range(contest.obs.shape[mode]):
            here = contest.judges & (own == s)
            if not here.any():
                continue
            best = entries[int(np.argmin(losses[:, here].mean(axis=1)))]
            new = best not in entries[:PARTS] and best not in found
            if new and contest.beats(best.predictions, entries[0].predictions, SURE, own == s):
                found.append(best)
    return found[:PARTS]


def sliced_modes(contest: Contest, entries: int | None = None, each: int = ENOUGH) -> list[int]:
    """The modes whose slices have `each` or more of so many held-out entries (those that choose, if not said), on
    average. Of a part of large data only modes of which no slice was left out.
    """
    entries = int(np.count_nonzero(contest.judges)) if entries is None else entries
    whole = [n for n, length in enumerate(contest.obs.shape) if contest.part.shape[n] == length]
    return [n for n in whole if 1 < contest.obs.shape[n] <= entries / each]


def blended(contest: Contest, entries: list[Entry]) -> Decision | None:
    """Weights fitted to the entries that choose; None if, cross-fitted, they are no better than the best alone."""
    judges = contest.judges
    P = np.stack([e.predictions[judges] for e in entries], axis=1)
    held = Held(P, contest.truth[judges], contest.weight[judges])
    best = entries[0].predictions
    even = np.array([float(not contest.beats(best, e.predictions)) for e in entries])
    even[PARTS:] = 0.0  # those are here for the sake of some slices
    ways = (apart(contest, held, even), (None, held))
    way = next((w for w in ways if crossfitted(w[1], even) < w[1].loss(w[1].P[:, 0])), None)
    if way is None:
        return None
    mode, held = way
    keep = worth_their_fit(contest, entries, held, even)
    entries, held, even = [entries[j] for j in keep], held.of(keep), even[keep]
    weights, kinds = np.tile(convex(held, even), (len(GAPS), 1)), contest.kinds[judges]
    own = {k: kinds == k for k in range(len(GAPS)) if np.count_nonzero(kinds == k) >= ENOUGH}
    together = replace(held, slices=None, own=False)
    for k, here in own.items():
        if crossfitted(together.at(here), even) < (1 - CLEARLY) * crossfitted(together, even, here):
            weights[k] = convex(together.at(here), even)
    if mode is None:
        table = weights[:, None]
    else:
        alike = (weights[kinds][:, None] == weights).all(axis=2)  # (k, kinds): does it have the weights of that kind?
        table = np.stack([by_slice(held.at(alike[:, k]), row) for k, row in enumerate(weights)])
    used = [j for j in range(len(entries)) if table[..., j].max() > 0]
    return Decision(tuple(entries[j] for j in used), table[..., used], mode)


def apart(contest: Contest, held: Held, even: Array) -> tuple[int | None, Held]:
    """The mode whose slices should have weights of their own, if that, cross-fitted, clearly lowers the loss."""
    found: tuple[int | None, Held] = (None, held)
    least = 1 - APART
    for n in sliced_modes(contest):
        split = replace(held, slices=contest.slices(n)[contest.judges], count=contest.obs.shape[n])
        own = replace(split, own=True)
        lowered = crossfitted(own, even) / crossfitted(split, even)
        if lowered < least:
            found, least = (n, own), lowered
    return found


def worth_their_fit(contest: Contest, entries: list[Entry], held: Held, even: Array) -> list[int]:
    """The best, and those without which, cross-fitted, the loss would rise by more than a trifle; the costliest first,
    and those that take longer to fit than all trials did only if it would rise clearly.
    """
    keep = list(range(len(entries)))
    costs = [e.candidate.cost(contest.facts) for e in entries]
    least = crossfitted(held, even)
    for j in sorted(keep[1:], key=lambda j: (-costs[j], -j)):  # of equally costly ones the worse goes first
        rest = [k for k in keep if k != j]
        worth = CLEARLY if costs[j] > contest.budget else TRIFLE
        if crossfitted(held.of(rest), even[rest]) <= (1 + worth) * least:
            keep = rest
    return keep
