"""Cubes: many bands or frames of one scene, few components of which are smooth pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search
from tensorfill.choose.components import ROUNDS, Components
from tensorfill.choose.given import Given
from tensorfill.data.facts import Facts
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.loop import run as run_loop

BANDS = 8  # fewer are the channels of a picture: a field
RANK = 20  # components of the first trials; then twice as many, in the pixels of the best
ROOM = 5e7  # numbers in the small matrices of all pixels together


@CANDIDATES.register("components")
@dataclass(frozen=True)
class SmoothComponents(Candidate):
    """A few components, each a smooth picture times a smooth spectrum."""

    assumes = "many bands of one scene are mixtures of few; their shares are smooth over the picture but for edges"
    takes = frozenset({"rank"})

    modes: tuple[int, int] = (0, 1)  # of the pixels
    smooth: tuple[int, ...] = ()
    rank: int = RANK
    rounds: int = ROUNDS

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        if facts.size > DENSE_LIMIT // 4:
            return "the tensor is too large to hold every entry several times"
        return True if any(True for _ in planes(facts)) else "there are no two smooth modes with many bands beside them"

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        best, least = None, np.inf
        for modes in planes(facts):
            trial = cls(modes, facts.smooth, most(facts, modes, given.rank or RANK))
            loss = yield trial
            if loss < least:
                best, least = trial, loss
        if best is not None and given.rank is None and (more := most(facts, best.modes, 2 * RANK)) > best.rank:
            yield replace(best, rank=more)

    @property
    def label(self) -> str:
        return f"{self.rank} smooth components over modes {self.modes[0]} and {self.modes[1]}"

    def knows_unseen(self, mode: int) -> bool:
        return mode in self.smooth

    def cost(self, facts: Facts) -> float:
        pixels, R = pixels_of(facts, self.modes), self.rank
        return 0.05 + self.rounds * (facts.observed * 1e-9 * R**2 + pixels * (1e-9 * R**3 + 2.5e-8 * R**2))

    def shorter(self, facts: Facts, seconds: float) -> Candidate:
        return replace(self, rounds=ROUNDS // 2)  # enough to tell it from others

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        work = replace(Components.of(obs, self.modes, self.smooth, self.rank), rounds=self.rounds)
        outcome = run_loop(
            work,
            stopping=Stopping(
                max_iter=self.rounds if run.max_iter is None else run.max_iter, tol=0.0, seconds=run.seconds
            ),
            rng=np.random.default_rng(run.seed),
            callback=run.callback,
            checkpoint=run.checkpoint,
            resume=run.resume,
            fingerprint=f"components {obs.shape} {obs.nnz} {self}",
        )
        settings = {"rank": self.rank, "rounds": int(outcome.state.numbers["k"])}
        return Fitted(Filled(work.full(outcome.state)), outcome.status, outcome.history, settings=settings)


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
