"""Inter-element priors made again from their settings, as they are saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorfill.interelement.base import INTERELEMENT, InterElementPrior, Scaled, Sum


def interelement_from_settings(settings: Mapping[str, Any]) -> InterElementPrior:
    """The prior whose `settings()` these are: a registered one, a sum or a multiple."""
    given = dict(settings)
    name = given.pop("name", None)
    if name is None:
        msg = (
            f"settings of an inter-element prior must have a 'name', one of {', '.join(INTERELEMENT)}, sum, scaled; "
            f"got {sorted(given)}."
        )
        raise ValueError(msg)
    if name == Sum.name:
        return Sum(tuple(interelement_from_settings(term) for term in given["terms"]))
    if name == Scaled.name:
        return Scaled(given["factor"], interelement_from_settings(given["prior"]))
    return INTERELEMENT[name](**given)
