"""Cubes: many bands or frames of one scene, few components of which are smooth pictures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tensorfill.data.facts import Facts
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.methods.base import METHODS, Method, Run, Unsuited, Variants
from tensorfill.methods.image.spatial_factors import ROUNDS, Components
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.solvers.loop import Stopping

BANDS = 8  # fewer are the channels of a picture: a field
RANK = 20  # components of the first trials; then twice as many, in the pixels of the best
ROOM = 5e7  # numbers in the small matrices of all pixels together


@METHODS.register("components")
@dataclass(frozen=True)
class SmoothComponents(Method):
    """A few components, each a smooth picture times a smooth spectrum.

    Parameters
    ----------
    rank : number of components
    modes : rows and columns of the pictures; None: the first two smooth modes
    smooth : modes along which neighbours are alike; how much is learned
    rounds : of expectation maximisation
    """

    reference = "this package"
    assumes = "many bands of one scene are mixtures of few; their shares are smooth over the picture but for edges"
    use_when = "spectral cubes, frames of a camera that stands still, maps over time"
    competes = True
    takes = frozenset({"rank"})
    learns_smooth = True

    rank: int | None = None
    modes: tuple[int, int] | None = None
    smooth: Collection[int | str] = ()
    rounds: int = ROUNDS

    def refuses(self, obs: Observations) -> str | None:
        return None if obs.ndim > 2 else f"beside rows and columns it needs bands, and this has {obs.ndim} modes"

    def suits(self, facts: Facts) -> str | None:
        if facts.size > DENSE_LIMIT // 4:
            return "the tensor is too large to hold every entry several times"
        return None if any(True for _ in planes(facts)) else "it needs two smooth modes and many bands"

    def variants(self, facts: Facts) -> Variants:
        best, least = None, np.inf
        for modes in planes(facts):
            trial = replace(self, modes=modes, smooth=facts.smooth, rank=most(facts, modes, self.rank or RANK))
            loss = yield trial
            if loss < least:
                best, least = trial, loss
        if best is None or best.modes is None or best.rank is None or self.rank is not None:
            return
        if (more := most(facts, best.modes, 2 * RANK)) > best.rank:
            yield replace(best, rank=more)

    @property
    def label(self) -> str:
        over = "" if self.modes is None else f" over modes {self.modes[0]} and {self.modes[1]}"
        return f"{self.rank or RANK} smooth components{over}"

    def knows_unseen(self, mode: int) -> bool:
        return mode in self.smooth

    def cost(self, facts: Facts) -> float:
        pixels, R = pixels_of(facts, self.modes or (0, 1)), self.rank or RANK
        return 0.05 + self.rounds * (facts.observed * 1e-9 * R**2 + pixels * (1e-9 * R**3 + 2.5e-8 * R**2))

    def shorter(self, facts: Facts, seconds: float) -> Method:
        return replace(self, rounds=ROUNDS // 2)  # enough to tell it from others

    def fit(self, obs: Observations, run: Run) -> Completion:
        if self.modes is None or self.rank is None:
            facts = run.facts_of(obs)
            why = self.suits(facts)
            if why is not None:
                raise Unsuited(why)
            return next(self.variants(facts)).fit(obs, run)
        smooth = tuple(obs.mode(n) for n in self.smooth)
        work = replace(Components.of(obs, self.modes, smooth, self.rank), rounds=self.rounds)
        most = self.rounds if run.max_iter is None else run.max_iter
        stopping = Stopping(max_iter=most, tol=0.0, seconds=run.seconds)
        fingerprint = f"components {obs.shape} {obs.nnz} {self}"
        outcome = run.drive(work, stopping, np.random.default_rng(run.seed), fingerprint)
        settings = {"rank": self.rank, "rounds": int(outcome.state.numbers["k"])}
        answer = Filled(work.full(outcome.state))
        return self.completion(obs, run, answer, status=outcome.status, history=outcome.history, settings=settings)


def planes(facts: Facts) -> list[tuple[int, int]]:
    """Pairs of smooth modes that may be rows and columns: the first two, unless too few bands are left."""
    pairs = [pair for pair in combinations(facts.smooth, 2) if facts.size >= BANDS * pixels_of(facts, pair)]
    return [pair for pair in pairs if most(facts, pair, 2) >= 2]


def pixels_of(facts: Facts, modes: tuple[int, int]) -> int:
    """How many there are."""
    return facts.shape[modes[0]] * facts.shape[modes[1]]


def most(facts: Facts, modes: tuple[int, int], rank: int) -> int:
    """At most so many components as there are pixels, bands, and memory for."""
    pixels = pixels_of(facts, modes)
    return int(min(rank, pixels, facts.size // pixels, np.sqrt(ROOM / pixels)))
