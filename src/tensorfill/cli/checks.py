"""Checks of what the user typed and named, before any work begins."""

from __future__ import annotations

import dataclasses
import math

from tensorfill.api import EFFORTS
from tensorfill.data.observations import Observations
from tensorfill.io.formats.cells import WHOLE
from tensorfill.methods.defaults import prior_for
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.registry import did_you_mean
from tensorfill.terminal import BAD_USAGE, UserError


def check_effort(effort: str) -> None:
    """Refuse an effort that there is not."""
    if effort not in EFFORTS:
        msg = f"--effort must be {', '.join(EFFORTS[:-1])} or {EFFORTS[-1]}; got {effort!r}."
        raise UserError(msg, BAD_USAGE)


def mode_and_weight(text: str) -> tuple[int | str, float]:
    """`row=10` or `0=10`."""
    name, sign, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not (sign and name and math.isfinite(weight) and weight >= 0):
        msg = f"--smooth must be MODE=RHO with RHO >= 0, e.g. row=10 or 0=10; got {text!r}."
        raise UserError(msg, BAD_USAGE)
    return (int(name) if name.lstrip("-").isdigit() else name), weight


def prior_of(text: str, obs: Observations | None = None) -> NumericalPrior | str:
    """`poisson`, `binomial(4)` or `student-t(nu=3)`; numbers that are not given are left to the data, once there."""
    name, _, rest = text.partition("(")
    cls = PRIORS[name]
    if cls.name not in PRIORS:  # found by its name, but made from a function
        msg = f"--prior {cls.name} must be made in Python; choose one of {', '.join(PRIORS)}."
        raise UserError(msg, BAD_USAGE)
    if rest.strip() in ("", ")"):
        return name
    known = [f.name for f in dataclasses.fields(cls) if f.init]
    order = [f.name for f in dataclasses.fields(cls) if f.init and not f.kw_only]
    given: dict[str, float] = {}
    inside, end, after = rest.rpartition(")")
    parts = [part.strip() for part in inside.split(",")]
    for k, part in enumerate(parts if end and not after.strip() else [""]):
        key, sign, number = part.rpartition("=")
        key = key.strip() if sign else (order[k] if k < len(order) else "")
        if key not in known or key in given:
            must = f"takes {' and '.join(known)}" if known else "takes no numbers"
            msg = f"--prior {cls.name} {must}; got {text!r}.{did_you_mean(key, known)}"
            raise UserError(msg, BAD_USAGE)
        try:
            given[key] = float(number) if not WHOLE.fullmatch(number.strip()) else int(number)
        except ValueError as error:
            msg = f"--prior must be a name, or a name and numbers like {cls.name}({known[0]}=2); got {text!r}."
            raise UserError(msg, BAD_USAGE) from error
    return cls(**given) if obs is None else dataclasses.replace(prior_for(obs, cls.name), **given)
