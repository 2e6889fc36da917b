"""Priors by the names of slices, {"age": "normal", "visits": "poisson"}: which mode they are for, and in which unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.data.labels import axis_labels
from tensorfill.numerical.base import NumericalPrior, make_prior
from tensorfill.numerical.slices import PerSlice, Rescaled
from tensorfill.registry import did_you_mean

if TYPE_CHECKING:
    from tensorfill.data.observations import Observations


def prior_per_slice(obs: Observations, given: Mapping[Any, NumericalPrior | str]) -> PerSlice:
    """The prior of every slice of the mode that has these labels or, of data without labels, of the last mode.

    A prior given by name learns its parameters from its slice; if its numbers have no natural zero, they are taken
    about their mean and by their standard deviation, so that all slices weigh alike. One given as an object stays.
    """
    mode, keys = _mode_of(obs, given)
    missing = [key for key in keys if key not in given]
    if missing:
        msg = f"prior must name every slice of {obs.dims[mode]}; missing: {', '.join(map(repr, missing[:5]))}."
        raise ValueError(msg)
    for key in keys:
        if given[key] == "categorical":
            msg = f"a Problem holds numbers; got {key!r} as categorical. Give the table with it as text to complete."
            raise ValueError(msg)
    made = []
    for i, key in enumerate(keys):
        chosen = obs.indices[:, mode] == i
        t = obs.values[chosen].astype(np.float64)
        prior, named = make_prior(given[key]), isinstance(given[key], str)
        if named and len(t):
            prior = Rescaled(prior) if prior.location else prior
            prior = prior.fitted(t, weights=None if obs.weights is None else obs.weights[chosen])
        made.append(prior)
    return PerSlice(mode, tuple(made))


def _mode_of(obs: Observations, given: Mapping[Any, Any]) -> tuple[int, list[Any]]:
    """The mode whose slices have all these names, and their names in order."""
    labels = {n: list(found) for n, dim in enumerate(obs.dims) if (found := axis_labels(obs).get(dim)) is not None}
    named = {n: known for n, known in labels.items() if len(known) == obs.shape[n]}
    places = {n: list(range(length)) for n, length in enumerate(obs.shape)}
    for names in (named, places):
        for n in reversed(names):
            if given and set(given) <= set(names[n]):
                return n, names[n]
    wanted, known = next(iter(given), None), named.get(obs.ndim - 1, places[obs.ndim - 1])
    shown = ", ".join(map(repr, known[:8])) + (", ..." if len(known) > 8 else "")
    unknown = next((key for key in given if key not in known), wanted)
    hint = did_you_mean(str(unknown), [str(key) for key in known])
    msg = f"prior must name slices of {obs.dims[-1]}, which are {shown}; got {unknown!r}.{hint}"
    raise ValueError(msg)
