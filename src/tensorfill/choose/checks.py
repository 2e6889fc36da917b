"""What the user gave `auto`, checked: one sentence for what cannot be, or would not be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tensorfill.choose.candidates import CANDIDATES
from tensorfill.choose.candidates.base import refused
from tensorfill.choose.candidates.field import Field
from tensorfill.choose.defaults import prior_for
from tensorfill.choose.given import Given, by_mode
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.checks import check_above, check_whole
from tensorfill.models import MODELS
from tensorfill.solvers.base import SOLVERS

if TYPE_CHECKING:
    from tensorfill.choose.auto import Auto


def check_settings(auto: Auto) -> None:
    """Whatever the data are."""

    def given(*names: str) -> list[str]:
        return [name for name in names if getattr(auto, name) is not None]

    check_above(auto, 0, *given("ridge", "tv"), included=True)
    check_whole(auto, 1, *given("starts"))
    check_whole(auto, 0, *given("passes"))
    if auto.model is not None:
        MODELS[auto.model]  # a misspelt one is refused with a sentence
    if not isinstance(auto.rank, Sequence | np.ndarray):
        check_whole(auto, 1, *given("rank"))
    elif auto.model in (None, "cp"):
        msg = f'rank of a CP model must be one whole number; got {auto.rank!r}. Name another: model="tucker".'
        raise ValueError(msg)
    if auto.held_out is not None and not 0 <= auto.held_out < 1:
        msg = f"held_out must be a share between 0 and 1, 0 for none; got {auto.held_out!r}."
        raise ValueError(msg)
    for mode, rho in (auto.smooth or {}).items():
        if not 0 <= rho < np.inf:
            msg = f"smooth must hold weights >= 0; got {rho!r} for mode {mode!r}."
            raise ValueError(msg)
    if isinstance(auto.solver, str):
        SOLVERS[auto.solver]  # the same
    for name in auto.candidates or ():
        CANDIDATES[name]


def restrictions(auto: Auto, obs: Observations) -> Given:
    """What was given, as these data have it: modes by number, ranks in full."""
    if auto.prior is not None:
        prior = prior_for(obs, auto.prior)
        obs.check_domain(prior.t_domain, type(prior).__name__)
    rank = auto.rank
    if rank is not None and auto.model is not None:
        rank = MODELS[auto.model].check_rank(obs.shape, rank)
    return Given(
        prior=auto.prior,
        form=auto.model,
        rank=rank,
        smooth=by_mode(obs, auto.smooth),
        ridge=auto.ridge,
        tv=auto.tv,
        solver=auto.solver,
        held_out=auto.held_out,
        starts=auto.starts,
        passes=auto.passes,
        candidates=None if auto.candidates is None else tuple(auto.candidates),
        time=() if auto.time is None else tuple(obs.mode(key) for key in auto.time),
        effort=auto.effort,
    )


def refuse_strangers(facts: Facts, given: Given) -> None:
    """A sentence for what was given and would not be used."""
    for name in ("tv", "passes"):
        why = Field.can(facts, given)
        if getattr(given, name) and isinstance(why, str):
            msg = (
                f"{name} is for fields, and {why}; got {getattr(given, name)}. "
                f"Leave it out, or name the smooth modes: smooth={{0: 1.0, 1: 1.0}}."
            )
            raise ValueError(msg)
    reasons = {name: refused(cls, facts, given) for name, cls in CANDIDATES.items()}
    if all(reasons.values()):
        asked = {name: why for name, why in reasons.items() if given.allows(name)} or reasons
        words = "; ".join(f"{name}: {why}" for name, why in asked.items())
        msg = f"no candidate can make use of what was given ({words}). Give less."
        raise ValueError(msg)
