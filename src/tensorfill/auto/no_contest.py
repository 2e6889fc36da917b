"""Where nothing may be held out: the method that most likely suits the data."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from tensorfill.auto.limits import FEWEST
from tensorfill.auto.settings import AutoSettings
from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import METHODS, Method
from tensorfill.methods.defaults import default_rank, prior_for
from tensorfill.methods.image.field import Field
from tensorfill.methods.lowrank.low_rank import LowRank
from tensorfill.methods.tabular.means import Means
from tensorfill.numerical.base import NumericalPrior
from tensorfill.transforms import Standardised


def without_contest(obs: Observations, facts: Facts, given: AutoSettings) -> Method | None:
    """The method to run with held_out=0 or for fewer than FEWEST observations; None for a contest."""
    if obs.nnz < FEWEST and given.rank is None:
        return Means()
    if given.held_out != 0 and obs.nnz >= FEWEST:
        return None
    able = {method.name: method for method in given.competitors(facts)[0]}
    if "field" in able:
        return cast("Field", able["field"]).whole(facts)
    if "bayes" in able and not given.asks_for_model:
        return able["bayes"]
    if given.model not in (None, "cp"):
        return next(given.make(METHODS[given.model]).variants(facts))
    rank = given.rank or default_rank(obs.nnz, obs.shape, facts.smooth[:1] if len(facts.smooth) == 1 else ())
    method = replace(cast("LowRank", given.make(LowRank)), rank=rank)
    if given.rank is None or not prior_for(obs, given.prior).location:
        return method
    scaled = not isinstance(given.prior, NumericalPrior)
    # not centred: the rank given is that of the data
    return Standardised(replace(method, as_given=True), centred=False, scaled=scaled)
