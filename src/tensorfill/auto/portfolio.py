"""Which methods are worth trying on which data, in which order: learned from recorded runs, in `portfolio.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tensorfill.data.facts import Facts
from tensorfill.methods.base import Method
from tensorfill.methods.image.field import is_clean


@dataclass(frozen=True)
class Portfolio:
    """{structure of data: names of methods, the most useful first}; `made` says when, and from which sets. `odds`:
    {method: logarithm of its usual weight in an ensemble}. `decisive`: {method: shares of the error of the means, in a
    short trial and at full length}; one that is tried first and has less needs no others beside it.
    """

    order: Mapping[str, Sequence[str]]
    odds: Mapping[str, float]
    decisive: Mapping[str, tuple[float, float]]
    made: str

    @staticmethod
    @cache
    def load() -> Portfolio:
        """The portfolio that comes with the package; `benchmarks` makes it."""
        data = json.loads((files("tensorfill.auto") / "portfolio.json").read_text())
        return Portfolio(data["order"], data["odds"], data["decisive"], data["made"])

    def names(self, facts: Facts) -> Sequence[str]:
        """The methods for such data, the most useful first."""
        return self.order.get(structure(facts), self.order["other"])

    def sort(self, methods: Sequence[Method], facts: Facts) -> list[Method]:
        """Methods in the order in which they should be tried; those without a place in it last, as they come."""
        place = {name: k for k, name in enumerate(self.names(facts))}
        return sorted(methods, key=lambda m: place.get(m.name, len(place)))

    def prior(self, names: Sequence[str]) -> list[float]:
        """The logarithm of the usual weight of each method; of one not recorded, what they have on average."""
        usual = sum(self.odds.values()) / len(self.odds)
        return [self.odds.get(name, usual) for name in names]

    def needs(self, method: Method, facts: Facts) -> bool:
        """Did data of this structure ever need the method?"""
        return method.name in self.names(facts)


def structure(facts: Facts) -> str:
    """What recorded runs are sorted by; counts, ratings and yes/no apart from other numbers."""
    if len(facts.smooth) > 1 and not facts.picture and any(facts.modes[n].seen < facts.shape[n] for n in facts.ordered):
        return "field with missing slices"
    if facts.picture and facts.depth > 0:  # noise or none: what is around the hole says most
        return "picture with holes"
    if is_clean(facts):
        return "picture" if facts.picture else "video"
    if facts.picture:
        return "picture with noise"
    if len(facts.smooth) > 1:
        return "field"
    if max(facts.shape) == facts.size:
        return "one series"
    kind = "series" if facts.ordered else "tensor" if len(facts.shape) > 2 else "table"
    return kind if facts.numbers in ("reals", "amounts") else f"{kind} of {facts.numbers}"
