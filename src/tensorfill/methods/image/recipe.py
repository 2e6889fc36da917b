"""The recipe for fields: pictures, video, cubes: tensors with two smooth modes or more.

Signed factors under a loss that reaches below zero, quadratic variation on the factors of the smooth modes, a little
ridge on all, and a little isotropic total variation on X itself; Adam on a cosine schedule from one constant component
and small noise. Where passes of self-similarity follow, half the rank and a sixth of the steps are enough: the passes
forget the start, and a fit that has gone further hands its own texture to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import is_picture
from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import penalties
from tensorfill.interelement.tensorspace import IsotropicTV, opponent
from tensorfill.methods.defaults import default_rank, prior_for, stiffness
from tensorfill.methods.image.selfsimilarity import SelfSimilarity
from tensorfill.models.init import typical
from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.solvers.adam import Adam
from tensorfill.solvers.base import SOLVERS, Solver

# Dimensionless: times what one entry tells about itself (`defaults.stiffness`). Tuned on three pictures at 60, 90 and
# 99 % missing with masks of their own; nothing here looks at what is being scored.
RIDGE, SMOOTH, TV = 0.004, 0.4, 0.006
RATE, EVALUATIONS = 0.008, 600  # of a fit that stands alone
# Of one that passes of self-similarity start from, on data without noise. With half the rank, 6 crops of 192 x 192 of
# scikit-image and scikit-learn lose nothing to 150 steps at the whole one: +.02, -.02, +.05 dB at 80, 90, 95 % missing.
START_RATE, START_EVALUATIONS = 0.016, 100
SPARE_EVALUATIONS = 300  # with next to nothing observed: +.1 dB over 150 at the whole rank, 100 are -.4 dB
# Passes of self-similarity by effort. After 8 a picture hardly changes: twice as many passes, finer grids, other groups
# or the mean of two runs add less than .1 dB, so more effort has nothing to spend here (crops as in `non_local`).
PASSES = {"quick": 2, "normal": 8, "best": 8}
FEW_OBSERVED = 0.15
# Share observed below which all entries are needed, and total variation in part. Between it and FEW_OBSERVED starts
# have none: without, eight crops of 144 x 144 of scikit-image gain .1 and .3 dB at 90 and 95 % missing (rocket and
# brick most; gravel loses .3 at 95 %). With more observed they gain as little, and a picture with one colour per pixel
# (a Bayer mask) loses 2.6 dB. At 99 % brick gains 2.7 and coffee loses 1.3 dB.
SPARE = 0.03
GREY = 1 / 128  # one grey level of an ordinary picture, relative to a typical value


@dataclass(frozen=True)
class FieldRecipe:
    """What to fit: every field decided, by the user or by the defaults."""

    prior: NumericalPrior
    rank: int
    smooth: Mapping[int, float]
    ridge: float
    tv: float
    solver: Solver
    passes: int
    noise: float = 0.0  # standard deviation of the data, for self-similarity; 0: they are exact
    frames: int | None = None  # the mode that is time, of a video
    exact: bool = False  # pixels without noise, which a start of the passes is brought to?
    given: frozenset[str] = frozenset()  # what the user gave, of rank and tv


def field_recipe(
    obs: Observations,
    prior: NumericalPrior,
    *,
    prior_given: bool,
    modes: tuple[int, ...],
    smooth: Mapping[int, float] | None,
    rank: int | None,
    ridge: float | None,
    tv: float | None,
    solver: Solver | str | None,
    passes: int,
    strength: float = 1.0,
    noise: float = 0.0,
) -> FieldRecipe:
    """What the user gave, and the defaults for the rest; `modes` are the smooth ones. `strength` multiplies the weights
    that were not given: more for noisy data.
    """
    information, entry = stiffness(obs, prior)
    if not prior_given and hasattr(prior, "floor"):
        # Signed factors overshoot below zero at first: a loss that is straight below one grey level lets them pass.
        prior = replace(prior, floor=GREY * entry**obs.ndim)  # type: ignore[call-arg]
    unit = information / entry**2
    # With few entries observed the same total variation outweighs them: let it fall with their share.
    few = min(1.0, (obs.share / 0.1) ** 0.7)
    return FieldRecipe(
        prior,
        default_rank(obs.nnz, obs.shape, modes) if rank is None else int(rank),
        dict.fromkeys(modes, SMOOTH * unit * strength) if smooth is None else smooth,
        RIDGE * unit * strength if ridge is None else float(ridge),
        TV * few * strength if tv is None else float(tv),
        default_solver(starts=passes > 0 and noise == 0 and can_refine(obs, prior, modes))
        if solver is None
        else SOLVERS.make(solver),
        passes,
        noise,
        given=frozenset(name for name, value in (("rank", rank), ("tv", tv)) if value is not None),
    )


def field_prior(obs: Observations, given: NumericalPrior | str | None) -> NumericalPrior:
    """The prior that was given, or the default one; the grey levels of a picture as fractions are no amounts, of which
    small ones would count most.
    """
    prior = prior_for(obs, given)
    return prior_for(obs, "normal") if given is None and prior.name == "gamma" and is_picture(obs) else prior


def start_recipe(obs: Observations, recipe: FieldRecipe) -> FieldRecipe:
    """What to fit for passes to start from, besides what was given: less than a fit that stands alone. Few entries, but
    not next to none, do better without total variation.
    """
    if recipe.solver != default_solver(starts=True):
        return recipe
    rank = recipe.rank if "rank" in recipe.given else -(-recipe.rank // 2)
    tv = 0.0 if SPARE <= obs.share < FEW_OBSERVED and "tv" not in recipe.given else recipe.tv
    steps = SPARE_EVALUATIONS if obs.share < SPARE else START_EVALUATIONS
    return replace(recipe, rank=rank, tv=tv, solver=Adam(rate=START_RATE, steps=steps))


def default_solver(*, starts: bool) -> Solver:
    """Adam: on its long schedule, or on the short one of a fit that only `starts` passes of self-similarity."""
    if starts:
        return Adam(rate=START_RATE, steps=START_EVALUATIONS)
    return Adam(rate=RATE, steps=EVALUATIONS)


def field_problem(obs: Observations, recipe: FieldRecipe) -> Problem:
    """The problem this recipe minimises, in float32 unless squares of the data would leave its range."""
    size = typical(obs, recipe.prior)[1]
    return Problem(
        obs,
        rank=recipe.rank,
        prior=recipe.prior,
        interelement=penalties(obs.ndim, recipe.smooth, recipe.ridge),
        tensorspace=tensorspace_tv(obs, tuple(recipe.smooth), recipe.tv, recipe.prior),
        dtype=np.float32 if 1e-14 < size < 1e14 else np.float64,
    )


def tensorspace_tv(
    obs: Observations, modes: tuple[int, ...], weight: float, prior: NumericalPrior
) -> IsotropicTV | None:
    """TV over the first two smooth modes, in opponent colours if the data are of the kind of red, green and blue."""
    if weight <= 0 or len(modes) < 2:
        return None
    colours = has_colours(obs, modes)
    information, entry = stiffness(obs, prior)
    size = entry**obs.ndim
    return IsotropicTV(
        weight * information / size,
        modes=modes[:2],
        corner=GREY * size,
        transform=opponent(2.0) if colours else None,
        transform_mode=obs.ndim - 1 if colours else None,
    )


def has_colours(obs: Observations, modes: tuple[int, ...]) -> bool:
    """Red, green and blue: the last mode has three entries, positions come before it, and nothing is below zero. Three
    sensors, or three days, are no colours.
    """
    last = obs.ndim - 1
    return obs.shape[last] == 3 and last not in modes and bool(obs.values.min() >= 0)


def schedule(solver: Solver) -> int:
    """How many iterations a field is given."""
    return int(getattr(solver, "steps", EVALUATIONS))


def can_refine(obs: Observations, prior: NumericalPrior, modes: tuple[int, ...]) -> bool:
    """Can self-similarity serve? It needs two modes that are positions, room for a patch, and values to compare: a yes
    or a no is none.
    """
    if len(modes) < 2 or np.isfinite(prior.t_domain.high):
        return False
    return min(obs.shape[m] for m in modes[:2]) >= SelfSimilarity.patch
