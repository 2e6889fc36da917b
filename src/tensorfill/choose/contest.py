"""One contest: candidates tried on entries held out as the gaps lie; the answer is its winner or a blend.

The entries held out are split once more: two thirds choose, the rest only report. Costs are told by the candidates, not
by a clock, so that the same seed tries the same candidates.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import Candidate, Fitted, Search, refused
from tensorfill.choose.defaults import default_held_out, prior_for
from tensorfill.choose.given import Given
from tensorfill.choose.journal import Journal
from tensorfill.data.facts import Facts, unit_mode
from tensorfill.data.gaps import GAPS, gap_kinds, split_like_gaps
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units, slice_statistics
from tensorfill.methods.base import Run
from tensorfill.models.init import linked
from tensorfill.problem import DataWarning
from tensorfill.result.record import Status
from tensorfill.solvers.fit import ENDED_EARLY

Array = NDArray[Any]

HANDFUL = 60  # with fewer observations, each is held out once
FEW = 5000  # with fewer, one split leaves too much to chance
TURNS, FOLDS = 6, 3  # folds for a handful, and for few
JUDGE = 2 / 3  # of the held-out entries choose; the others are kept for the error that is reported
BUDGET = {"quick": 0.25, "normal": 1.0, "best": 10.0}  # times the usual budget of trials, see `usual_budget`
FEW_FAMILIES = 4.0  # times the budget where what was given leaves one or two families: they have all of it
TRIALS = 0.5  # of a time limit; the rest is for fitting the answer to everything
LARGEST_PART = 0.15  # of the budget, for one fit of one candidate
CHEAP = 0.02  # of the budget: what costs less is tried also when nothing is left
SURE = 2.0  # standard errors by which one must be ahead of another to be called better


@dataclass(frozen=True, eq=False)
class Fold:
    """A split: what candidates see, and what they are judged by."""

    kept: Observations
    aside: Observations
    kinds: Array  # (k,) kind of gap of each entry held out


@dataclass(frozen=True, eq=False)
class Entry:
    """A candidate that took part: its predictions at all held-out entries, fold after fold."""

    candidate: Candidate
    predictions: Array
    seconds: float
    note: str = ""
    fitted: Fitted | None = None  # of the first fold, for a run that ends before anything can be fitted to everything

    @property
    def whole(self) -> bool:
        """Did it get through all folds?"""
        return not self.note


@dataclass(eq=False)
class Family:
    """The variants of one family: the next one, and how well the best did."""

    search: Search
    first: int  # so many variants are tried before any family gets more
    sure: bool  # are these tried whatever they cost?
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


@dataclass(eq=False)
class Contest:
    """Folds made once, and the candidates tried on them so far."""

    obs: Observations
    facts: Facts
    given: Given
    run: Run
    folds: tuple[Fold, ...]
    entries: list[Entry] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # candidate: why
    ended: Status | None = None  # why the whole contest ended early
    journal: Journal | None = None

    @staticmethod
    def on(obs: Observations, facts: Facts, given: Given, run: Run) -> Contest:
        """Folds drawn as the gaps lie."""
        share = default_held_out(obs) if given.held_out is None else given.held_out
        if obs.nnz < HANDFUL:
            turn = np.random.default_rng([run.seed, 0]).permutation(obs.nnz) % min(TURNS, obs.nnz)
            pairs = [(obs.subset(turn != k), obs.subset(turn == k)) for k in range(turn.max() + 1)]
        else:
            count = FOLDS if obs.nnz < FEW else 1
            pairs = [split_like_gaps(obs, share, np.random.default_rng([run.seed, 0, k])) for k in range(count)]
        folds = tuple(Fold(kept, aside, _kinds(kept, aside, facts)) for kept, aside in pairs)
        return Contest(obs, facts, given, run, folds, journal=Journal.of(run, f"{given!r} {obs.digest()}"))

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.late = False  # did the time limit leave something untried?
        self.truth = np.concatenate([f.aside.values.astype(np.float64) for f in self.folds])
        self.kinds = np.concatenate([f.kinds for f in self.folds])
        self.weight = np.concatenate([loss_weights(f.aside, self.obs, self.facts) for f in self.folds])
        self.judges = np.random.default_rng([self.run.seed, 4]).random(len(self.truth)) < JUDGE
        if self.judges.all() or not self.judges.any():
            self.judges[: max(1, len(self.judges) // 2)] = True
        self.judge = None if self.given.prior is None else prior_for(self.obs, self.given.prior)
        few = FEW_FAMILIES if self.given.model else 1.0
        self.budget = few * BUDGET[self.given.effort] * usual_budget(self.obs.nnz)
        self.left = self.budget

    # --- trying -------------------------------------------------------------------------------------------------

    def hold(self, families: Iterable[type[Candidate]], *, always: frozenset[str]) -> None:
        """Try the first variant of every family, cheapest first, then further variants of the family that leads, as
        long as the budget lasts; the first ones of those in `always` (of all, if the user gave something that leaves
        few) whatever they cost.
        """
        able = []
        for cls in families:
            why = refused(cls, self.facts, self.given)
            if why is None:
                sure = self.given.anything or cls.name in always
                able.append(Family(cls.search(self.facts, self.given), cls.first, sure))
            else:
                self.left_out[cls.name] = why
        for family in sorted(able, key=lambda family: family.next.cost(self.facts) if family.next else 0.0):
            for _ in range(family.first):
                self._try(family)
            family.sure = False
        while self.ended is None and (going := [family for family in able if family.next is not None]):
            self._try(min(going, key=lambda family: family.least))

    def _try(self, family: Family) -> None:
        """The next variant of a family, unless there is no time for it."""
        candidate = family.next
        if candidate is None or self.ended is not None:
            return
        if self.entries and self.seconds_left() == 0.0:
            self.left_out[candidate.label] = "there was no time for it"
            self.late = True
            family.next = None
            return
        trial = candidate.shorter(self.facts, LARGEST_PART * self.budget / len(self.folds))
        cost = trial.cost(self.facts) * len(self.folds)
        if cost > max(self.left, CHEAP * self.budget) and not family.sure:
            self.left_out[candidate.label] = f"it would take about {cost:.1f} s more"
            family.next = None
            return
        self.left -= cost
        entry = replace(self.enter(trial), candidate=candidate)
        self.entries.append(entry)
        family.send(self.loss(entry) if entry.whole else np.inf)

    def enter(self, candidate: Candidate) -> Entry:
        """One fit per fold."""
        known = self.journal.find(candidate.label) if self.journal is not None else None
        if known is not None:
            return Entry(candidate, *known)
        began, parts, first = time.perf_counter(), [], None
        for fold in self.folds:
            run = replace(self.run, checkpoint=None, resume=False, seconds=self._seconds())
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", DataWarning)  # of slices that are empty only because they were held out
                try:
                    fitted = candidate.fit(fold.kept, self.facts, run)
                    x = np.asarray(fitted.answer.at(fold.aside.indices), dtype=np.float64)
                except (np.linalg.LinAlgError, FloatingPointError, OverflowError) as error:
                    return Entry(candidate, np.empty(0), time.perf_counter() - began, f"it failed: {error}")
            first = first or fitted
            late = fitted.status is Status.TIME  # no reason to end all: the other half of the time is for the answer
            if fitted.status in ENDED_EARLY and not late:
                self.ended = fitted.status
            if not np.isfinite(x).all():
                return Entry(candidate, np.empty(0), time.perf_counter() - began, "it gave infinite numbers", first)
            parts.append(self.clip(x))
            self.late |= late
            if late or (self.ended is not None and len(parts) < len(self.folds)):
                return Entry(candidate, np.empty(0), time.perf_counter() - began, "it was cut short", first)
        entry = Entry(candidate, np.concatenate(parts), time.perf_counter() - began, "", first)
        if self.journal is not None and self.ended is None:
            self.journal.note(candidate.label, entry.predictions, entry.seconds)
        return entry

    def seconds_left(self) -> float | None:
        """For trials: half of the time limit is theirs. None without one."""
        if self.run.seconds is None:
            return None
        return max(TRIALS * self.run.seconds - (time.monotonic() - self.began), 0.0)

    def _seconds(self) -> float | None:
        left = self.seconds_left()
        return None if left is None else max(left, 1e-9)

    def clip(self, x: Array) -> Array:
        """Predictions kept inside what the data can be."""
        return np.clip(x, *ends(self.facts))

    # --- judging ------------------------------------------------------------------------------------------------

    def losses(self, predictions: Array) -> Array:
        """Of each held-out entry, (k,): squares, by `loss_weights`; under a prior that was given, its own loss."""
        if self.judge is None:
            return self.weight * (predictions - self.truth) ** 2
        x = linked(self.judge, self.judge.t_domain.clip(predictions, margin=1e-6 * self.facts.spread))
        loss = self.judge.nll(self.truth, x)
        return np.where(np.isfinite(loss), loss, 1e300) * self.weight / self.weight.mean()

    def loss(self, entry: Entry) -> float:
        """Mean over the entries that choose."""
        return float(self.losses(entry.predictions)[self.judges].mean())

    def beats(self, a: Array, b: Array, sure: float = SURE) -> bool:
        """Are predictions `a` better than `b` by more than chance? Paired, on the entries that choose: less loss in the
        mean, and by `sure` standard errors, of the mean or of how often (a few huge losses blur any mean).
        """
        gain = (self.losses(b) - self.losses(a))[self.judges]
        clear = gain.mean() > sure * gain.std() / np.sqrt(len(gain))
        often = np.count_nonzero(gain > 0) - np.count_nonzero(gain < 0) > sure * np.sqrt(len(gain))
        return bool(gain.mean() > 0 and (clear or often))

    def ranking(self) -> list[Entry]:
        """Those that got through, best first."""
        return sorted((e for e in self.entries if e.whole), key=self.loss)

    @cached_property
    def error_units(self) -> Units | None:
        """What errors are told in: the spread of a slice where slices have units of their own."""
        mode = unit_mode(self.obs, self.facts.smooth)
        return None if mode is None else Units.of_slices(self.obs, mode)

    def by_kind(self) -> Iterator[tuple[str, Array]]:
        """(kind of gap, which held-out entries only report), of those that occur."""
        for k, name in enumerate(GAPS):
            here = ~self.judges & (self.kinds == k)
            if here.any():
                yield name, here


def usual_budget(observed: int) -> float:
    """Seconds of trials: 0.1 for a handful of numbers, 6 from 3,000 on, then slowly more: one fit of millions takes
    longer than anything that is learned by trying variants.
    """
    return min(0.1 + 0.002 * observed, 6.0 + 0.01 * float(np.sqrt(observed)))


def ends(facts: Facts) -> tuple[float, float]:
    """Between which the data can lie, by the kind of numbers they are."""
    if facts.numbers in ("yes/no", "scale") or facts.picture:
        return facts.low, facts.high if not facts.picture else max(facts.high, 255.0 if facts.low >= 0 else facts.high)
    return (0.0, np.inf) if facts.numbers in ("counts", "amounts") else (-np.inf, np.inf)


def loss_weights(aside: Observations, obs: Observations, facts: Facts) -> Array:
    """What the squared error of each held-out entry is multiplied by, (k,): half by the variance of all data, half by
    that of its slice along the mode whose slices differ most. Where all spread alike the halves are one; where they do
    not, neither the large slices alone decide nor the small ones.
    """
    whole = facts.spread**2 or 1.0
    w = np.full(aside.nnz, 1.0 / whole)
    if facts.uneven is not None:
        count, _, spread = slice_statistics(obs, facts.uneven)
        own = np.where((count > 1) & (spread > 0), spread**2, whole)
        w = 0.5 * w + 0.5 / own[aside.indices[:, facts.uneven]]
    return w if aside.weights is None else w * aside.weights / obs.weights.mean()  # type: ignore[union-attr]


def _kinds(kept: Observations, aside: Observations, facts: Facts) -> Array:
    """Kind of gap of each entry held out, as the entries kept have it."""
    if not facts.dense:
        return np.zeros(aside.nnz, dtype=np.uint8)
    return gap_kinds(kept.mask, facts.ordered)[tuple(aside.indices.T)]
