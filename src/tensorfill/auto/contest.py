"""One contest: candidates tried on entries held out as the gaps lie; the answer is its winner or a blend.

The entries held out are split once more: two thirds choose, the rest only report. Costs are told by the candidates, not
by a clock, so that the same seed tries the same candidates. `rounds.py` holds the contest; here is what it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tensorfill.auto.ahead import Ahead
from tensorfill.auto.context import Context
from tensorfill.auto.folds import Split, loss_weights, make_folds
from tensorfill.auto.sample import take_part
from tensorfill.auto.settings import AutoSettings
from tensorfill.auto.trial_cache import TrialCache
from tensorfill.data.facts import TWO_ENDS, Facts
from tensorfill.data.gaps import GAPS
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import UP, Method, OutOfTime, Run, Unsuited
from tensorfill.methods.defaults import prior_for
from tensorfill.models.init import start_at_means
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.fit import ENDED_EARLY
from tensorfill.typing import Array

JUDGE = 2 / 3  # of the held-out entries choose; the others are kept for the error that is reported
BUDGET = {"quick": 0.25, "normal": 1.0, "best": 10.0}  # times the usual budget of trials, see `usual_budget`
FEW_FAMILIES = 4.0  # times the budget where what was given leaves one or two families: they have all of it
TRIALS = 0.5  # of a time limit; the rest is for fitting the answer to everything
SHORTEST, PACES = 0.2, 3.0  # seconds: shorter fits say nothing about the pace; most that it changes at once, a factor
OUTLYING = 10.0  # times the error that nine of ten entries stay below, of the method that has the least
ENOUGH = 40  # held-out entries of a kind of gap before it is looked at by itself


@dataclass(frozen=True, eq=False)
class Trial:
    """A variant of a method that took part: its predictions at the validation entries of the folds it ran on so far."""

    family: str  # name of the method that it is a variant of
    method: Method
    shorter: Method  # the shorter variant of it that ran
    parts: tuple[Array, ...] = ()  # (k,) of each fold
    seconds: float = 0.0
    note: str = ""  # why it went no further
    fitted: Completion | None = None  # of the first fold, for a run that ends before there is a refit

    @property
    def predictions(self) -> Array:
        """Fold after fold, (k,)."""
        return np.concatenate(self.parts) if self.parts else np.empty(0)


@dataclass(eq=False)
class Contest:
    """Folds made once, and the methods tried on them so far. Of large data it is held on a part."""

    obs: Observations
    facts: Facts
    given: AutoSettings
    run: Run
    part: Observations
    part_facts: Facts
    folds: tuple[Split, ...]
    trials: list[Trial] = field(default_factory=list)
    left_out: dict[str, tuple[str, str]] = field(default_factory=dict)  # variant: (method, why)
    ended: Status | None = None  # why the whole contest ended early
    usual: str = ""  # the method that such data begin with; it answers unless an ensemble is surely better
    decided: bool = False  # does one method lead so clearly that it answers alone? Weights by short trials would be off
    cache: TrialCache | None = None
    ahead: Ahead = field(default_factory=Ahead)  # fits that began before their turn
    usual_errors: dict[Trial, float] = field(default_factory=dict)

    @staticmethod
    def on(obs: Observations, facts: Facts, given: AutoSettings, run: Run) -> Contest:
        """Folds drawn as the gaps lie."""
        part, part_facts = take_part(obs, facts, run)
        folds = make_folds(part, part_facts, given.held_out, run.seed, given.effort)
        cache = TrialCache.of(run, f"{given!r} {obs.digest()}")
        return Contest(obs, facts, given, run, part, part_facts, folds, cache=cache)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.pace = 1.0  # seconds by the clock for each of cost, of the last fit that took long
        self.late = False  # did the time limit leave something untried?
        self.truth = np.concatenate([f.validation.values.astype(np.float64) for f in self.folds])
        self.kinds = np.concatenate([f.kinds for f in self.folds])
        self.gaps = numbered([f.gaps for f in self.folds])
        self.context = Context.of(self.part_facts, self.obs.shape)
        seen = [self.context.at(f.training, f.validation.indices) for f in self.folds]
        self.features = self.context.design(np.concatenate(seen))
        self.unseen = self.kinds == len(GAPS) - 1
        self.weight = np.concatenate([loss_weights(f.validation, self.part, self.part_facts) for f in self.folds])
        self.selection = np.random.default_rng([self.run.seed, 4]).random(len(self.truth)) < JUDGE
        if self.selection.all() or not self.selection.any():
            self.selection[: max(1, len(self.selection) // 2)] = True
        self.judge = None if self.given.prior is None else prior_for(self.obs, self.given.prior)
        few = FEW_FAMILIES if self.given.asks_for_model or self.facts.in_blocks else 1.0
        self.budget = few * BUDGET[self.given.effort] * usual_budget(self.part.nnz)
        self.left = self.budget
        ends_at = np.cumsum([fold.validation.nnz for fold in self.folds])
        counts = [int(np.count_nonzero(self.selection[:k])) for k in ends_at]
        self.opening = 1 + next((k for k, count in enumerate(counts) if count >= ENOUGH), len(counts) - 1)

    # --- trying -------------------------------------------------------------------------------------------------

    def put(self, old: Trial, new: Trial) -> None:
        """A trial that has gone further."""
        self.trials[self.trials.index(old)] = new

    def narrow(self) -> None:
        """The opening folds become all folds."""
        self.folds = self.folds[: self.opening]
        k = sum(fold.validation.nnz for fold in self.folds)
        names = ("truth", "kinds", "gaps", "weight", "selection", "features", "unseen")
        self.__dict__ |= {name: getattr(self, name)[:k] for name in names}
        ran = [e for e in self.trials if len(e.parts) >= self.opening]  # some may have gone on to further folds
        for trial in ran:
            self.put(trial, replace(trial, parts=trial.parts[: self.opening], note=""))

    def enter(self, trial: Trial, folds: int) -> Trial:
        """With one fit for each further fold, up to so many in all."""
        for fold in self.folds[len(trial.parts) : folds]:
            name = f"{trial.shorter!r}, max_iter {self.run.max_iter}"
            known = self.cache.find(name, len(trial.parts)) if self.cache is not None else None
            if known is not None:
                x, seconds = known
                trial = replace(trial, parts=(*trial.parts, x), seconds=trial.seconds + seconds)
                continue
            trial = self._fit(trial, fold)
            if trial.note:
                break
            if self.cache is not None and self.ended is None:
                self.cache.store(name, len(trial.parts) - 1, trial.parts[-1], trial.seconds)
            if self.ended is not None and len(trial.parts) < folds:
                return replace(trial, note="it was cut short")
        return trial

    def _fit(self, trial: Trial, fold: Split) -> Trial:
        """One fit, and its predictions; a note if it has none."""
        began = time.perf_counter()
        fitted, note, x = None, "", np.empty(0)
        with np.errstate(all="ignore"):
            try:
                fitted = self.ahead.fit(trial.shorter, fold.training, self.run_on(fold))
                x = np.asarray(fitted.answer.at(fold.validation.indices), dtype=np.float64)
            except OutOfTime:
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
            self.pace = float(np.clip(took / trial.shorter.cost(self.part_facts), self.pace / PACES, self.pace * PACES))
        keep = trial.fitted or (fitted if self.part is self.obs else None)  # what a part was fitted to is no answer
        trial = replace(trial, seconds=trial.seconds + took, fitted=keep)
        return replace(trial, note=note) if note else replace(trial, parts=(*trial.parts, self.clip(x)))

    def run_on(self, fold: Split) -> Run:
        """How a trial is run on a fold."""
        return replace(
            self.run,
            checkpoint=None,
            resume=False,
            max_iter=self.run.max_iter if self.part is self.obs else None,
            seconds=self.seconds_left(),
            facts=self.part_facts,
            memo=fold.memo,
        )

    def whole(self, trial: Trial) -> bool:
        """Did it get through all folds?"""
        return not trial.note and len(trial.parts) == len(self.folds)

    def seconds_left(self) -> float | None:
        """For trials: half of the time limit is theirs. None without one."""
        if self.run.seconds is None:
            return None
        return max(TRIALS * self.run.seconds - (time.monotonic() - self.began), UP)

    def has_time(self, cost: float) -> bool:
        """Is there time for fits that cost so much? Where there is a limit the clock decides, not the costs, which are
        told for one machine. The first candidate always has.
        """
        left = self.seconds_left()
        return left is None or not self.trials or (left > UP and self.pace * cost <= left)

    def clip(self, x: Array) -> Array:
        """Predictions kept inside what the data can be."""
        return np.clip(x, *ends(self.facts))

    def slices(self, mode: int | None) -> Array:
        """The slice of a mode that each held-out entry is in, (k,); 0 for all of them if no mode is named."""
        if mode is None:
            return np.zeros(len(self.truth), dtype=np.intp)
        return np.concatenate([f.validation.indices[:, mode] for f in self.folds])

    # --- judging ------------------------------------------------------------------------------------------------

    def losses(self, predictions: Array) -> Array:
        """The loss at each held-out entry of the first folds, (k,): squared errors times `loss_weights`, or the loss of
        the prior if one was given.
        """
        truth, weight = self.truth[: len(predictions)], self.weight[: len(predictions)]
        if self.judge is None:
            off = np.sqrt(weight) * np.abs(predictions - truth)
            return np.minimum(off, self.outlying) ** 2
        x = start_at_means(self.judge, self.judge.t_domain.clip(predictions, margin=1e-6 * self.facts.spread))
        loss = self.judge.nll(truth, x)
        return np.where(np.isfinite(loss), loss, 1e300) * weight / self.weight.mean()

    @property
    def outlying(self) -> float:
        """Errors from which on an entry is an outlier, of which no method knows: it says no more than that."""
        usual = min((self._usual_error(e) for e in self.trials if e.parts and not e.note), default=np.inf)
        return OUTLYING * usual or np.inf

    def _usual_error(self, trial: Trial) -> float:
        """The error that nine of ten entries stay below; found once for each trial."""
        if trial not in self.usual_errors:
            x = trial.predictions
            off = np.sqrt(self.weight[: len(x)]) * np.abs(x - self.truth[: len(x)])
            self.usual_errors[trial] = float(np.quantile(off, 0.9))
        return self.usual_errors[trial]

    def loss(self, trial: Trial) -> float:
        """Mean loss over the entries that choose, of the folds it ran on."""
        return float(self.losses(trial.predictions)[self.selection[: len(trial.predictions)]].mean())

    def off(self, trial: Trial) -> float:
        """Root mean square error on the entries that choose, in spreads of the data; NaN if it has no predictions."""
        if trial.note:
            return np.nan
        x = trial.predictions
        squares = self.weight[: len(x)] * (x - self.truth[: len(x)]) ** 2
        return float(np.sqrt(squares[self.selection[: len(x)]].mean()))

    def ranking(self) -> list[Trial]:
        """Entries without a failure, best first: those that ran on all folds, or else those of the opening folds."""
        whole = [e for e in self.trials if self.whole(e)]
        return sorted(whole or [e for e in self.trials if e.parts and not e.note], key=self.loss)

    @cached_property
    def error_units(self) -> Units | None:
        """Units in which errors are reported: spreads of the slice where slices have units of their own, else None."""
        mode = self.facts.units
        return None if mode is None else Units.of_slices(self.obs, mode)

    def by_kind(self) -> Iterator[tuple[str, Array]]:
        """(kind of gap, which of the reporting entries are of it (k,)), for each kind that occurs."""
        for k, name in enumerate(GAPS):
            here = ~self.selection & (self.kinds == k)
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
    """Seconds of trials: 0.4 for a handful of numbers, 1.2 for 2,000, 5 for 60,000, in units of `Method.cost`, which is
    about twice the true time. It grows slowly, because one fit of millions takes longer than variants are worth.
    """
    return 0.3 + 0.02 * float(np.sqrt(observed))


def ends(facts: Facts) -> tuple[float, float]:
    """(low, high) between which data of this kind of numbers can lie."""
    if facts.numbers in TWO_ENDS or facts.picture:
        return facts.low, facts.high if not facts.picture else max(facts.high, 255.0 if facts.low >= 0 else facts.high)
    low = 0.0 if facts.low >= 0 and facts.high > 0 else -np.inf
    return low, 0.0 if facts.high <= 0 and facts.low < 0 else np.inf
