"""One contest: candidates tried on entries held out as the gaps lie; the answer is its winner or a blend.

The entries held out are split once more: two thirds choose, the rest only report. Costs are told by the candidates, not
by a clock, so that the same seed tries the same candidates. `rounds.py` holds the contest; here is what it is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.choose.candidates.base import Candidate, Fitted, Late, Unsuited
from tensorfill.choose.defaults import prior_for
from tensorfill.choose.folds import Fold, folds_of, loss_weights
from tensorfill.choose.given import Given
from tensorfill.choose.journal import Journal
from tensorfill.choose.part import part_of
from tensorfill.data.facts import TWO_ENDS, Facts, unit_mode
from tensorfill.data.gaps import GAPS
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import Run
from tensorfill.models.init import linked
from tensorfill.problem import DataWarning
from tensorfill.result.record import Status
from tensorfill.solvers.fit import ENDED_EARLY

Array = NDArray[Any]

JUDGE = 2 / 3  # of the held-out entries choose; the others are kept for the error that is reported
BUDGET = {"quick": 0.25, "normal": 1.0, "best": 10.0}  # times the usual budget of trials, see `usual_budget`
FEW_FAMILIES = 4.0  # times the budget where what was given leaves one or two families: they have all of it
TRIALS = 0.5  # of a time limit; the rest is for fitting the answer to everything
SHORTEST, PACES = 0.2, 3.0  # seconds: shorter fits say nothing about the pace; most that it changes at once, a factor
SURE = 2.0  # standard errors by which one must be ahead of another to be called better
TRIFLE = 0.005  # share of the loss that a part of a blend must save to be worth a fit
ENOUGH = 40  # held-out entries of a kind of gap before it is looked at by itself


@dataclass(frozen=True, eq=False)
class Entry:
    """A candidate that took part: its predictions at the held-out entries of the folds it ran on so far."""

    candidate: Candidate
    trial: Candidate  # the shorter variant of it that ran
    parts: tuple[Array, ...] = ()  # (k,) of each fold
    seconds: float = 0.0
    note: str = ""  # why it went no further
    fitted: Fitted | None = None  # of the first fold, for a run that ends before anything can be fitted to everything

    @property
    def predictions(self) -> Array:
        """Fold after fold, (k,)."""
        return np.concatenate(self.parts) if self.parts else np.empty(0)


@dataclass(eq=False)
class Contest:
    """Folds made once, and the candidates tried on them so far. Of large data it is held on a part."""

    obs: Observations
    facts: Facts
    given: Given
    run: Run
    part: Observations
    part_facts: Facts
    folds: tuple[Fold, ...]
    entries: list[Entry] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # candidate: why
    ended: Status | None = None  # why the whole contest ended early
    journal: Journal | None = None

    @staticmethod
    def on(obs: Observations, facts: Facts, given: Given, run: Run) -> Contest:
        """Folds drawn as the gaps lie."""
        part, part_facts = part_of(obs, facts, run.seed)
        folds = folds_of(part, part_facts, given.held_out, run.seed)
        journal = Journal.of(run, f"{given!r} {obs.digest()}")
        return Contest(obs, facts, given, run, part, part_facts, folds, journal=journal)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.pace = 1.0  # seconds by the clock for each of cost, of the last fit that took long
        self.late = False  # did the time limit leave something untried?
        self.truth = np.concatenate([f.aside.values.astype(np.float64) for f in self.folds])
        self.kinds = np.concatenate([f.kinds for f in self.folds])
        self.gaps = numbered([f.gaps for f in self.folds])
        self.weight = np.concatenate([loss_weights(f.aside, self.part, self.part_facts) for f in self.folds])
        self.judges = np.random.default_rng([self.run.seed, 4]).random(len(self.truth)) < JUDGE
        if self.judges.all() or not self.judges.any():
            self.judges[: max(1, len(self.judges) // 2)] = True
        self.judge = None if self.given.prior is None else prior_for(self.obs, self.given.prior)
        few = FEW_FAMILIES if self.given.model else 1.0
        self.budget = few * BUDGET[self.given.effort] * usual_budget(self.part.nnz)
        self.left = self.budget
        ends_at = np.cumsum([fold.aside.nnz for fold in self.folds])
        counts = [int(np.count_nonzero(self.judges[:k])) for k in ends_at]
        self.opening = 1 + next((k for k, count in enumerate(counts) if count >= ENOUGH), len(counts) - 1)

    # --- trying -------------------------------------------------------------------------------------------------

    def put(self, old: Entry, new: Entry) -> None:
        """An entry that has gone further."""
        self.entries[self.entries.index(old)] = new

    def narrow(self) -> None:
        """The opening folds become all folds."""
        self.folds = self.folds[: self.opening]
        k = sum(fold.aside.nnz for fold in self.folds)
        self.truth, self.kinds, self.gaps, self.weight, self.judges = (
            a[:k] for a in (self.truth, self.kinds, self.gaps, self.weight, self.judges)
        )
        ran = [e for e in self.entries if len(e.parts) >= self.opening]  # some may have gone on to further folds
        for entry in ran:
            self.put(entry, replace(entry, parts=entry.parts[: self.opening], note=""))

    def enter(self, entry: Entry, folds: int) -> Entry:
        """With one fit for each further fold, up to so many in all."""
        for fold in self.folds[len(entry.parts) : folds]:
            known = self.journal.find(repr(entry.trial), len(entry.parts)) if self.journal is not None else None
            if known is not None:
                x, seconds = known
                entry = replace(entry, parts=(*entry.parts, x), seconds=entry.seconds + seconds)
                continue
            entry = self._fit(entry, fold)
            if entry.note:
                break
            if self.journal is not None and self.ended is None:
                self.journal.note(repr(entry.trial), len(entry.parts) - 1, entry.parts[-1], entry.seconds)
            if self.ended is not None and len(entry.parts) < folds:
                return replace(entry, note="it was cut short")
        return entry

    def _fit(self, entry: Entry, fold: Fold) -> Entry:
        """One fit, and its predictions; a note if it has none."""
        began = time.perf_counter()
        run = replace(self.run, checkpoint=None, resume=False, seconds=self._seconds())
        fitted, note, x = None, "", np.empty(0)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", DataWarning)  # of slices that are empty only because they were held out
            try:
                fitted = entry.trial.fit(fold.kept, self.part_facts, run)
                x = np.asarray(fitted.answer.at(fold.aside.indices), dtype=np.float64)
            except Late:
                note, self.late = "it was cut short", True
            except Unsuited as why:
                note = str(why)
            except (np.linalg.LinAlgError, FloatingPointError, OverflowError) as error:
                note = f"it failed: {error}"
        if fitted is not None:
            late = fitted.status is Status.TIME  # no reason to end all: the other half of the time is for the answer
            self.late |= late
            if fitted.status in ENDED_EARLY and not late:
                self.ended = fitted.status
            note = note or ("it was cut short" if late else "" if np.isfinite(x).all() else "it gave infinite numbers")
        took = time.perf_counter() - began
        if took > SHORTEST:
            self.pace = float(np.clip(took / entry.trial.cost(self.part_facts), self.pace / PACES, self.pace * PACES))
        keep = entry.fitted or (fitted if self.part is self.obs else None)  # what a part was fitted to is no answer
        entry = replace(entry, seconds=entry.seconds + took, fitted=keep)
        return replace(entry, note=note) if note else replace(entry, parts=(*entry.parts, self.clip(x)))

    def whole(self, entry: Entry) -> bool:
        """Did it get through all folds?"""
        return not entry.note and len(entry.parts) == len(self.folds)

    def seconds_left(self) -> float | None:
        """For trials: half of the time limit is theirs. None without one."""
        if self.run.seconds is None:
            return None
        return max(TRIALS * self.run.seconds - (time.monotonic() - self.began), 0.0)

    def has_time(self, cost: float) -> bool:
        """Is there time for fits that cost so much? Where there is a limit the clock decides, not the costs, which are
        told for one machine. The first candidate always has.
        """
        left = self.seconds_left()
        return left is None or not self.entries or (left > 0 and self.pace * cost <= left)

    def _seconds(self) -> float | None:
        left = self.seconds_left()
        return None if left is None else max(left, 1e-9)

    def clip(self, x: Array) -> Array:
        """Predictions kept inside what the data can be."""
        return np.clip(x, *ends(self.facts))

    def slices(self, mode: int | None) -> Array:
        """The slice of a mode that each held-out entry is in, (k,); 0 for all of them if no mode is named."""
        if mode is None:
            return np.zeros(len(self.truth), dtype=np.intp)
        return np.concatenate([f.aside.indices[:, mode] for f in self.folds])

    # --- judging ------------------------------------------------------------------------------------------------

    def losses(self, predictions: Array) -> Array:
        """The loss at each held-out entry of the first folds, (k,): squared errors times `loss_weights`, or the loss of
        the prior if one was given.
        """
        truth, weight = self.truth[: len(predictions)], self.weight[: len(predictions)]
        if self.judge is None:
            return weight * (predictions - truth) ** 2
        x = linked(self.judge, self.judge.t_domain.clip(predictions, margin=1e-6 * self.facts.spread))
        loss = self.judge.nll(truth, x)
        return np.where(np.isfinite(loss), loss, 1e300) * weight / self.weight.mean()

    @contextmanager
    def softened(self, entries: Sequence[Entry]) -> Iterator[None]:
        """Inside, entries that all of these candidates miss by far weigh less, because there only chance tells them
        apart: if the least loss at an entry is above the mean of all such least losses, it is scaled down to that mean.
        Numbers with two ends are left alone: they cannot be missed by far.
        """
        plain = self.weight
        if self.judge is None and not np.isfinite(ends(self.facts)).all():
            least = np.min([self.losses(e.predictions) for e in entries], axis=0)
            mean = least[self.judges].mean()
            self.weight = np.where(least > mean, plain * mean / np.maximum(least, mean or 1.0), plain)
        try:
            yield
        finally:
            self.weight = plain

    def loss(self, entry: Entry) -> float:
        """Mean loss over the entries that choose, of the folds it ran on."""
        return float(self.losses(entry.predictions)[self.judges[: len(entry.predictions)]].mean())

    def off(self, entry: Entry) -> float:
        """Root mean square error on the entries that choose, in spreads of the data; NaN if it has no predictions."""
        if entry.note:
            return np.nan
        x = entry.predictions
        squares = self.weight[: len(x)] * (x - self.truth[: len(x)]) ** 2
        return float(np.sqrt(squares[self.judges[: len(x)]].mean()))

    def beats(self, a: Array, b: Array, sure: float = SURE, here: Array | None = None) -> bool:
        """Are predictions `a` better than `b` by more than chance? A paired comparison on the entries that choose, or
        on those of them that are `here`, (k,): the mean loss must be lower, and either that difference or the number of
        gaps won less those lost must exceed `sure` standard errors (a few huge losses blur any mean).
        """
        chose = self.judges if here is None else self.judges & here
        gain, gaps = (self.losses(b) - self.losses(a))[chose], self.gaps[chose]
        if len(gain) == 0:
            return False
        signs = np.sign(np.bincount(gaps, weights=gain)[np.unique(gaps)])
        often = signs.sum() > sure * np.sqrt(len(signs))
        return bool(gain.mean() > 0 and (gain.mean() > sure * standard_error(gain, gaps) or often))

    def adds_nothing(self, x: Array, leader: Array) -> bool:
        """Would a blend of the leader with predictions `x`, (k,) each, be no better than it, in every kind of gap?

        With errors a of the leader and b of these, the best share of b is (aa - ab) / (aa + bb - 2 ab), and each unit
        of it saves aa - ab. It adds nothing if that saving, a standard error added, is negative or below TRIFLE.
        """
        here, w = self.judges[: len(x)], self.weight[: len(x)]
        if self.judge is not None:  # with a prior that was given nothing is blended
            behind = (self.losses(x) - self.losses(leader))[here]
            return bool(behind.mean() > SURE * standard_error(behind, self.gaps[: len(x)][here]))
        a, b, kinds = leader - self.truth[: len(x)], x - self.truth[: len(x)], self.kinds[: len(x)]
        groups = [here] + [here & (kinds == kind) for kind in range(len(GAPS))]
        for group in (g for g in groups if g is here or int(np.count_nonzero(g)) >= ENOUGH):
            save = (w * a * (a - b))[group]
            apart, own = (w * (a - b) ** 2)[group].mean(), (w * a**2)[group].mean()
            most = save.mean() + standard_error(save, self.gaps[: len(x)][group])
            part = min(most / apart, 1.0) if apart > 0 else 0.0
            if most > 0 and part * most > TRIFLE * own:
                return False
        return True

    def ranking(self) -> list[Entry]:
        """Entries without a failure, best first: those that ran on all folds, or else those of the opening folds."""
        whole = [e for e in self.entries if self.whole(e)]
        return sorted(whole or [e for e in self.entries if e.parts and not e.note], key=self.loss)

    @cached_property
    def error_units(self) -> Units | None:
        """Units in which errors are reported: spreads of the slice where slices have units of their own, else None."""
        mode = unit_mode(self.obs, self.facts.smooth)
        return None if mode is None else Units.of_slices(self.obs, mode)

    def by_kind(self) -> Iterator[tuple[str, Array]]:
        """(kind of gap, which of the reporting entries are of it (k,)), for each kind that occurs."""
        for k, name in enumerate(GAPS):
            here = ~self.judges & (self.kinds == k)
            if here.any():
                yield name, here


def numbered(groups: Sequence[Array]) -> Array:
    """The numbers of several lists, each from 0, as those of one list."""
    starts = np.cumsum([0, *(int(g.max(initial=-1)) + 1 for g in groups)])
    return np.concatenate([g + start for g, start in zip(groups, starts[:-1], strict=True)])


def standard_error(x: Array, gaps: Array) -> float:
    """Of the mean of x, (k,), whose entries within one gap are alike."""
    return float(np.sqrt((np.bincount(gaps, weights=x - x.mean()) ** 2).sum()) / len(x))


def usual_budget(observed: int) -> float:
    """Seconds of trials: 0.1 for a handful of numbers, 10 from 1,300 on, then slowly more, because one fit of millions
    takes longer than trying variants is worth. In units of `Candidate.cost`, which is about twice the true time.
    """
    return min(0.1 + 0.0035 * observed + 3e-6 * observed**2, 10.0 + 0.006 * float(np.sqrt(observed)))


def ends(facts: Facts) -> tuple[float, float]:
    """(low, high) between which data of this kind of numbers can lie."""
    if facts.numbers in TWO_ENDS or facts.picture:
        return facts.low, facts.high if not facts.picture else max(facts.high, 255.0 if facts.low >= 0 else facts.high)
    return (0.0, np.inf) if facts.numbers in ("counts", "amounts") else (-np.inf, np.inf)
