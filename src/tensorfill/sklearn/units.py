"""How TensorImputer scales features for a low-rank fit, and which modes of a sample it takes for smooth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tensorfill.data.facts import smooth_modes, unit_mode
from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.methods.defaults import default_prior, default_smooth, prior_for
from tensorfill.numerical.base import NumericalPrior
from tensorfill.typing import Array

Prior = NumericalPrior | str | None


def choose_units(T: Array, prior: Prior, means: Array) -> tuple[Prior, Array, Array]:
    """Return (the prior for the data so scaled, what to subtract from each feature, by what to divide it)."""
    center, scale = np.zeros(T.shape[1:], T.dtype), np.ones(T.shape[1:], T.dtype)
    obs = Observations.from_dense(T)
    if T.ndim != 2:
        chosen = prior_for(obs, prior)
        if not chosen.location:
            return prior, center, scale
        center += Units.of_all(obs, scaled=False).level[0]
        return chosen.name if prior is None else prior, center, scale
    if not (prior is None or prior == "normal"):
        return prior, center, scale
    own = unit_mode(obs) == 1
    if not own and (default_prior(obs).name if prior is None else prior) not in ("gamma", "normal"):
        return None, center, scale
    if own:  # columns of one unit differ too, and then the wide ones matter more
        scale = Units.of_slices(obs, 1).scale.astype(T.dtype)
    return "normal", means.astype(T.dtype), scale


def smooth_weights(obs: Observations, smooth: Mapping[int, float] | float | None, prior: Prior) -> dict[int, float]:
    """Return {mode: rho} without the first mode, whose samples have no order."""
    if smooth is None:
        found = default_smooth(obs, prior_for(obs, prior), smooth_modes(obs))
        return {n: rho for n, rho in found.items() if n != 0}
    if not isinstance(smooth, Mapping):
        return {n: float(smooth) for n in range(1, obs.ndim)}
    given = {obs.mode(n): float(rho) for n, rho in smooth.items()}
    if given.get(0, 0.0) != 0:
        msg = (
            f"smooth must not name mode 0: its samples have no order; got {dict(smooth)}. "
            "Use tensorfill.complete, which may smooth along any mode."
        )
        raise ValueError(msg)
    return given
