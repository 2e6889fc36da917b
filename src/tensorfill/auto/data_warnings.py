"""What a user should know of the data before anything is filled in: one sentence each."""

from __future__ import annotations

import warnings

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.interelement.quadratic import QuadraticVariation
from tensorfill.methods.image.selfsimilarity import SelfSimilarity
from tensorfill.problem import DataWarning, diagnose


def warn(obs: Observations, facts: Facts) -> None:
    """Once for the whole run."""
    for line in (*empty_slices(obs, facts), *only_one(obs), *deep_gaps(facts)):
        warnings.warn(line, DataWarning, stacklevel=find_stacklevel())


def empty_slices(obs: Observations, facts: Facts) -> list[str]:
    """Slices that nothing speaks for: not those that lie between smooth neighbours, or have features."""
    described = [obs.mode(d) for d in obs.features]
    return list(diagnose(obs, 0, dict.fromkeys([*facts.smooth, *described], QuadraticVariation(1.0))))


def only_one(obs: Observations) -> list[str]:
    """Data from which nothing can be learnt."""
    if obs.nnz != 1:
        return []
    return [f"only 1 entry is known of {obs.size:,}: every gap is filled with its value. Is the mask inverted?"]


def deep_gaps(facts: Facts) -> list[str]:
    """Gaps so deep that no patch inside them holds a known pixel."""
    if facts.depth <= SelfSimilarity.patch:
        return []
    return [
        f"the deepest gap of this picture reaches {facts.depth:.0f} pixels from any known one: "
        "what is filled in there continues its surroundings, and is a guess."
    ]
