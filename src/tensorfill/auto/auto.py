"""auto: everything chosen from the data; what the user gives wins. facts -> methods -> contest -> ensemble -> refit."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from tensorfill.auto.answer import cut_short, fit_one, from_contest, nothing_missing
from tensorfill.auto.contest import Contest
from tensorfill.auto.data_warnings import warn
from tensorfill.auto.ensemble import decide
from tensorfill.auto.limits import SPARSE
from tensorfill.auto.no_contest import without_contest
from tensorfill.auto.rounds import run_contest
from tensorfill.auto.sample import subset_of
from tensorfill.auto.settings import AutoSettings
from tensorfill.blocks import Partitions
from tensorfill.blocks.dense_subset import facts_in_blocks
from tensorfill.blocks.draw import Draw
from tensorfill.blocks.memory import blocks_memory, in_memory
from tensorfill.data.facts import Facts, compute_facts, is_picture
from tensorfill.data.memory import most_in_memory
from tensorfill.data.observations import Observations
from tensorfill.methods.base import METHODS, Run
from tensorfill.methods.image.large import many_pixels, memory_of_windows
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status


@METHODS.register("auto", at=0)
@dataclass(frozen=True)
class Auto(AutoSettings):
    """The default: looks at the data and chooses by trying; None means "choose"."""

    __doc__ = AutoSettings.__doc__

    reference = "this package"
    assumes = "that one of the methods that compete serves; held-out entries say which"
    use_when = "always, to begin with"
    fills_one_series = True

    fits_blocks = True

    def memory(self, obs: Observations) -> float:
        """As of any method, but less for what is completed window by window or block by block."""
        if is_picture(obs) and many_pixels(obs.shape):
            return memory_of_windows(obs)
        return blocks_memory(obs) if self._needs_blocks(obs) else super().memory(obs)

    def _needs_blocks(self, obs: Observations) -> bool:
        """Are these too many for memory, in a tensor that is mostly empty?"""
        return obs.share < SPARSE and not obs.features and obs.nnz > most_in_memory()

    def fit(self, obs: Observations, run: Run) -> Completion:
        resolved = self.resolve(obs)
        if self._needs_blocks(obs):
            done = resolved.fit_blocks(in_memory(obs, Draw(run.seed, self.held_out)), run)
        else:
            weighted = relative_weights(obs)
            done = resolved._fit(weighted, compute_facts(weighted), run)
        return replace(done, observations=obs)

    def fit_blocks(self, parts: Partitions, run: Run) -> Completion:
        """The same for observations in blocks: the contest is held on a dense subset of them."""
        obs = replace(parts.sample, blocks=parts)
        return self.resolve(obs)._fit(obs, facts_in_blocks(parts, subset_of(obs, run)), run)

    def _fit(self, obs: Observations, facts: Facts, run: Run) -> Completion:
        began = time.monotonic()
        if (obs.nnz == obs.size or (obs.outside is not None and not obs.gaps.any())) and not self.restricts:
            return nothing_missing(obs, facts, self.name)
        self.check_unused(facts, obs.features)
        warn(obs, facts)
        run = replace(run, facts=facts)
        only = without_contest(obs, facts, self)
        if only is not None:
            return fit_one(only, obs, run, self.name)
        contest = Contest.on(obs, facts, self, run.rest(began))
        try:
            run_contest(contest)
            if contest.ended is not None or not contest.ranking():
                return cut_short(contest, run, self.name)
            decision = decide(contest, one=self.asks_for_model or self.prior is not None)
            return from_contest(contest, decision, run.rest(began), self.name)
        except KeyboardInterrupt:  # in a method that has no loop of its own to hand back its best
            contest.ended = Status.INTERRUPTED
            contest.ahead.end()
            return cut_short(contest, run, self.name)
        finally:
            contest.ahead.end()


def relative_weights(obs: Observations) -> Observations:
    """Weights by their mean: only how they relate counts, and equal ones are as none."""
    if obs.weights is None:
        return obs
    differ = bool((obs.weights != obs.weights[0]).any())
    return replace(obs, weights=obs.weights / obs.weights.mean() if differ else None)


@METHODS.register("auto-best", at=1)
@dataclass(frozen=True)
class AutoBest(Auto):
    """As auto, with more time for trials: more methods and more of their variants."""

    use_when = "when a few times as long is fine: above all tables and spectral cubes; pictures gain nothing"
    effort = "best"


@METHODS.register("auto-quick", listed=False)
@dataclass(frozen=True)
class AutoQuick(Auto):
    """As auto, with less time: the cheap methods only."""

    use_when = "for a first look"
    effort = "quick"
