"""Fields: pictures, video, cubes, maps: two modes or more along which neighbours are alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tensorfill.data.autocorrelation import ENOUGH_PAIRS
from tensorfill.data.facts import CHANNELS, Facts
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.methods.base import METHODS, Method, Run, Unsuited, Variants
from tensorfill.methods.checks import check_whole
from tensorfill.methods.image.complete import complete_field
from tensorfill.methods.image.large import complete_large, is_large, many_pixels
from tensorfill.methods.image.recipe import (
    EVALUATIONS,
    PASSES,
    START_EVALUATIONS,
    FieldRecipe,
    can_refine,
    field_prior,
    field_recipe,
)
from tensorfill.numerical.base import NumericalPrior
from tensorfill.result.completion import Completion
from tensorfill.solvers.adam import Adam
from tensorfill.solvers.base import Solver
from tensorfill.transforms import Standardised

CLEAN = 0.45  # share of noise in differences of neighbours below which a picture has none to speak of: clean ones < 0.4
MOST_PASSES = 1000  # far more than ever gain
STRENGTHS = (1.0, 3.0, 9.0, 27.0, 81.0)  # of the penalties: the weights of a clean picture would follow noise


@METHODS.register("field")
@dataclass(frozen=True)
class Field(Method):
    """A smooth low-rank field, and passes of self-similarity over it.

    Parameters
    ----------
    prior : numerical prior; None: as the kind of numbers has it
    rank : R of the low-rank fit
    smooth : {mode or dimension name: rho} of quadratic variation along that mode
    ridge, tv : weights of the ridge, and of total variation on X itself
    solver : of the low-rank fit
    passes : of self-similarity over the fit; None: as `effort` has it
    effort : "quick", "normal" or "best"
    modes : those of positions, rows and columns first; None: as the data have it
    strength : times the weights of a clean picture
    noise : standard deviation of the noise; None: as the data have it
    steps : share of the usual schedule
    frames : the mode that is time, of a video
    exact : are the numbers pixels without noise, which a start of the passes is brought to?
    as_given : fit the numbers as they are, not centred
    """

    reference = "this package"
    assumes = "neighbours along two modes are alike; with passes, small patches have look-alikes nearby"
    use_when = "pictures, video, maps and cubes"
    competes = True
    uses_weights = True
    fills_unseen = True
    takes = frozenset({"prior", "rank", "smooth", "ridge", "tv", "solver", "passes"})

    prior: NumericalPrior | str | None = None
    rank: int | None = None
    smooth: Mapping[int | str, float] | None = None
    ridge: float | None = None
    tv: float | None = None
    solver: Solver | str | None = None
    passes: int | None = None
    effort: str = "normal"
    modes: tuple[int, ...] | None = None
    strength: float = 1.0
    noise: float | None = None
    steps: float = 1.0
    frames: int | None = None
    exact: bool = False
    as_given: bool = False

    def __post_init__(self) -> None:
        check_whole(self, 0, "passes", most=MOST_PASSES)

    def check(self, obs: Observations) -> None:
        super().check(obs)
        for mode in self.smooth or ():
            obs.mode(mode)

    def suits(self, facts: Facts) -> str | None:
        if facts.size > DENSE_LIMIT // 4:
            return "the tensor is too large to hold every entry several times"
        return None if len(self.field_modes(facts)) >= 2 else "fewer than two modes are smooth"

    def field_modes(self, facts: Facts) -> tuple[int, ...]:
        """The modes that are positions: those that were given, rows and columns of a picture, or those found smooth."""
        if self.smooth is not None:
            dims = [m.dim for m in facts.modes]
            return tuple(dims.index(n) if isinstance(n, str) else int(n) for n in self.smooth)
        if facts.picture:
            return 0, 1
        first = positions(facts)
        return (*first, *(n for n in facts.smooth if n not in first))

    def whole(self, facts: Facts, noise: float = 0.0) -> Field:
        """Return the variant with all passes for data of which the noise is known."""
        passes = PASSES[self.effort] if self.passes is None else self.passes
        modes, frames = self.field_modes(facts), time_mode(facts)
        frames = None if frames in modes[:2] else frames
        exact = facts.picture and noise == 0
        return replace(self, modes=modes, passes=passes, noise=noise, frames=frames, exact=exact)

    def variants(self, facts: Facts) -> Variants:
        weighed = self.smooth is not None or self.tv is not None  # weights that were given are not up for choice
        if weighed or is_clean(facts):
            yield self.whole(facts)
            return
        if large(facts):
            yield self.whole(facts, facts.noise)
            return
        best = self.whole(facts, facts.noise)
        least = yield best
        if self.passes is None:
            loss = yield replace(best, passes=0)
            best, least = (best, least) if least <= loss else (replace(best, passes=0), loss)
        for strength in STRENGTHS[1:]:
            trial = replace(best, strength=strength)
            loss = yield trial
            if loss >= least:
                break
            best, least = trial, loss

    @property
    def label(self) -> str:
        words = ["field"] + ([f"strength {self.strength:g}"] if self.strength != 1 else [])
        words += [f"{self.passes} passes of self-similarity"] if self.passes else []
        return ", ".join(words)

    def cost(self, facts: Facts) -> float:
        rank = self.rank or min(300, 2 * max(facts.shape))
        passes = PASSES[self.effort] if self.passes is None else self.passes
        steps = START_EVALUATIONS if passes and not self.noise else EVALUATIONS
        if passes and large(facts):
            return 20.0 + passes * 5e-6 * facts.size
        return self.steps * steps * (1e-3 + 1.3e-10 * facts.size * rank) + passes * 5e-6 * facts.size

    def shorter(self, facts: Facts, seconds: float) -> Method:
        if self.exact and self.passes:
            return replace(self, passes=min(self.passes, PASSES["quick"]))
        if is_clean(facts) or large(facts):  # it has no rival of its own kind, and passes would only make it better
            return replace(self, passes=0, steps=0.25)
        return replace(self, steps=0.5)  # enough to tell which weights are better

    def recipe(self, obs: Observations, prior: NumericalPrior) -> FieldRecipe:
        """What to fit."""
        assert self.modes is not None
        assert self.passes is not None
        recipe = field_recipe(
            obs,
            prior,
            prior_given=isinstance(self.prior, NumericalPrior),
            modes=self.modes,
            smooth=None if self.smooth is None else {obs.mode(n): float(rho) for n, rho in self.smooth.items()},
            rank=self.rank,
            ridge=self.ridge,
            tv=self.tv,
            solver=self.solver,
            passes=self.passes,
            strength=self.strength,
            noise=self.noise or 0.0,
        )
        recipe, solver = replace(recipe, frames=self.frames, exact=self.exact), recipe.solver
        if self.steps < 1 and isinstance(solver, Adam) and solver.steps is not None:
            return replace(recipe, solver=replace(solver, steps=max(int(self.steps * solver.steps), 1)))
        return recipe

    def fit(self, obs: Observations, run: Run) -> Completion:
        if self.modes is None or self.passes is None or self.noise is None:
            facts = run.facts_of(obs)
            why = self.suits(facts)
            if why is not None:
                raise Unsuited(why + ("; name those that are, smooth={0: 1.0, 1: 1.0}" if "smooth" in why else ""))
            return self.whole(facts, 0.0 if facts.picture else facts.noise).fit(obs, run)
        prior = field_prior(obs, self.prior)
        if prior.location and not self.as_given:  # a level far from zero would use up the smoothness and the ridge
            return Standardised(replace(self, as_given=True), scaled=False).fit(obs, run)
        recipe = self.recipe(obs, prior)
        if recipe.passes and not can_refine(obs, recipe.prior, self.modes):
            recipe = replace(recipe, passes=0)
        complete = complete_large if is_large(obs, recipe, run) else complete_field
        done = complete(obs, recipe, run, self.name)
        return replace(done, settings={**done.settings, "strength": self.strength})


def is_clean(facts: Facts) -> bool:
    """Is it a photograph or a video without noise to speak of? One that is seen to be rough along all modes may be a
    wall of equal stones, low-rank rather than a field.
    """
    rough = not facts.smooth and all(m.pairs >= ENOUGH_PAIRS for m in facts.modes if not m.channels)
    return (facts.picture or is_video(facts)) and not facts.grainy >= CLEAN and not rough


def large(facts: Facts) -> bool:
    """Is this a picture that is completed window by window, and too large to hold a contest on?"""
    return facts.picture and many_pixels(facts.shape)


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
