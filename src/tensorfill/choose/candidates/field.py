"""Fields: pictures, video, cubes, maps: two modes or more along which neighbours are alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tensorfill.choose.candidates.base import CANDIDATES, Candidate, Fitted, Search
from tensorfill.choose.defaults import default_rank, prior_for
from tensorfill.choose.field import (
    EVALUATIONS,
    PASSES,
    START_EVALUATIONS,
    FieldRecipe,
    can_refine,
    complete_field,
    field_recipe,
)
from tensorfill.choose.given import Given
from tensorfill.choose.large import complete_large, is_large, many_pixels
from tensorfill.data.facts import CHANNELS, Facts
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import Run
from tensorfill.numerical.base import NumericalPrior
from tensorfill.result.answer import Answer, Factors, Filled, InUnits
from tensorfill.solvers.adam import Adam

STRENGTHS = (1.0, 3.0, 9.0, 27.0, 81.0)  # of the penalties: the weights of a clean picture would follow noise


@CANDIDATES.register("field")
@dataclass(frozen=True)
class Field(Candidate):
    """A smooth low-rank field, and passes of self-similarity over it."""

    assumes = "neighbours along two modes are alike; with passes, small patches have look-alikes nearby"
    weighs = True
    tells_unseen = True
    takes = frozenset({"prior", "rank", "smooth", "ridge", "tv", "solver", "passes"})

    given: Given = field(default_factory=Given)
    modes: tuple[int, ...] = (0, 1)
    strength: float = 1.0
    passes: int = 0
    noise: float = 0.0
    steps: float = 1.0  # share of the usual schedule
    frames: int | None = None  # the mode that is time, of a video
    proven: bool = False  # do passes pay, as a contest will say, so that the fit need not find out?

    @classmethod
    def can(cls, facts: Facts, given: Given) -> bool | str:
        if facts.size > DENSE_LIMIT // 4:
            return "the tensor is too large to hold every entry several times"
        return True if len(field_modes(facts, given)) >= 2 else "fewer than two modes are smooth"

    @classmethod
    def clean(cls, facts: Facts, given: Given, noise: float = 0.0) -> Field:
        """The variant with all passes for data of which the noise is known: nothing about it needs held-out entries."""
        passes = PASSES[given.effort] if given.passes is None else given.passes
        modes, frames = field_modes(facts, given), time_mode(facts)
        return cls(
            _without_choice(given), modes, passes=passes, noise=noise, frames=None if frames in modes[:2] else frames
        )

    @classmethod
    def search(cls, facts: Facts, given: Given) -> Search:
        whole = cls.clean(facts, given)
        weighed = given.smooth is not None or given.tv is not None  # weights that were given are not up for choice,
        first = 0 if given.passes is None else given.passes  # nor are passes
        best, least = whole, float("inf")
        for strength in STRENGTHS[:1] if weighed else STRENGTHS:
            trial = replace(whole, strength=strength, passes=first, noise=facts.noise, proven=True)
            loss = yield trial
            if loss >= least:
                break
            best, least = trial, loss
        if whole.passes != first:
            yield replace(best, passes=whole.passes)

    @property
    def label(self) -> str:
        words = ["field"] + ([f"strength {self.strength:g}"] if self.strength != 1 else [])
        words += [f"{self.passes} passes of self-similarity"] if self.passes else []
        return ", ".join(words)

    def cost(self, facts: Facts) -> float:
        rank = self.given.rank or min(300, 2 * max(facts.shape))
        steps = START_EVALUATIONS if self.passes and not self.noise else EVALUATIONS
        if self.passes and large(facts):
            return 20.0 + self.passes * 5e-6 * facts.size
        return self.steps * steps * (1e-3 + 1.3e-10 * facts.size * rank) + self.passes * 5e-6 * facts.size

    def shorter(self, facts: Facts, seconds: float) -> Candidate:
        return replace(self, steps=0.5)  # enough to tell which weights are better

    def recipe(self, obs: Observations, prior: NumericalPrior) -> FieldRecipe:
        """What to fit."""
        g = self.given
        recipe = field_recipe(
            obs,
            prior,
            prior_given=isinstance(g.prior, NumericalPrior),
            modes=self.modes,
            smooth=g.smooth,
            rank=default_rank(obs.nnz, obs.shape, self.modes) if g.rank is None else int(g.rank),
            ridge=g.ridge,
            tv=g.tv,
            solver=g.solver,
            passes=self.passes,
            strength=self.strength,
            noise=self.noise,
        )
        recipe, solver = replace(recipe, frames=self.frames, proven=self.proven), recipe.solver
        if self.steps < 1 and isinstance(solver, Adam) and solver.steps is not None:
            return replace(recipe, solver=replace(solver, steps=max(int(self.steps * solver.steps), 1)))
        return recipe

    def fit(self, obs: Observations, facts: Facts, run: Run) -> Fitted:
        prior = prior_for(obs, self.given.prior)
        # real numbers far from zero: their level would use up the smoothness and the ridge of the factors
        units = Units.of_all(obs, scaled=False) if prior.location else None
        data = obs if units is None else units.take_out(obs)
        recipe = self.recipe(data, prior)
        if recipe.passes and not can_refine(data, recipe.prior, self.modes):
            recipe = replace(recipe, passes=0)
        complete = complete_large if is_large(data, recipe, run) else complete_field
        done = complete(data, recipe, run, "auto")
        answer = done.answer if units is None else in_units(done.answer, units)
        settings = {**done.settings, "strength": self.strength}
        return Fitted(answer, done.status, done.history, done.problem, settings, done.error)


def in_units(answer: Answer, units: Units) -> Answer:
    """The answer to `units.take_out(obs)` as that to `obs`."""
    if isinstance(answer, Factors):
        return replace(answer, units=units)
    if isinstance(answer, Filled):
        behind = None if answer.behind is None else replace(answer.behind, units=units)
        return Filled(units.put_back(answer.X), behind)
    return InUnits(answer, units)


def large(facts: Facts) -> bool:
    """Is this a picture that is completed window by window, and too large to hold a contest on?"""
    return facts.picture and many_pixels(facts.shape)


def field_modes(facts: Facts, given: Given) -> tuple[int, ...]:
    """The modes that are positions: those that were given, rows and columns of a picture, or those found smooth."""
    if given.smooth is not None:
        return tuple(given.smooth)
    if facts.picture:
        return 0, 1
    first = positions(facts)
    return (*first, *(n for n in facts.smooth if n not in first))


def positions(facts: Facts) -> tuple[int, ...]:
    """Rows and columns of a video, by their names or because they lie before its colours; none of other data."""
    dims = [mode.dim for mode in facts.modes]
    if {"frame", "row", "column"} <= set(dims):
        return dims.index("row"), dims.index("column")
    colours = [n for n, length in enumerate(facts.shape) if 1 < length <= CHANNELS]
    if len(dims) != 4 or len(colours) != 1 or not {colours[0] - 2, colours[0] - 1} <= set(facts.smooth):
        return ()
    return colours[0] - 2, colours[0] - 1


def time_mode(facts: Facts) -> int | None:
    """The mode of a video along which its frames follow each other; None of other data."""
    rest = [n for n, length in enumerate(facts.shape) if n not in positions(facts) and length > CHANNELS]
    return rest[0] if positions(facts) and len(rest) == 1 else None


def is_video(facts: Facts) -> bool:
    """Grey levels or colours of 8 bit, frame after frame?"""
    return time_mode(facts) is not None and facts.numbers == "counts" and facts.low >= 0 and facts.high <= 255


def _without_choice(given: Given) -> Given:
    return replace(given, candidates=None, held_out=None, starts=None)
