"""What a run found, as predictions at any coordinates in the unit of the data: factors, an array, draws, or a blend.

An answer gives `at(indices)` and `full()`, and packs itself into arrays and JSON for saving.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.units import Units
from tensorfill.models.cp import CP
from tensorfill.numerical.base import PRIORS, NumericalPrior

Array = NDArray[Any]
Packed = tuple[dict[str, Array], dict[str, Any]]


class Answer(Protocol):
    """Predictions in the unit of the data."""

    kind: ClassVar[str]

    def at(self, indices: Array) -> Array:
        """The mean at coordinates (k, N): (k,)."""

    def full(self) -> Array:
        """The mean everywhere, full shape."""

    def pack(self) -> Packed:
        """Arrays, and a JSON-able rest."""


@dataclass(frozen=True, eq=False)
class Factors:
    """A low-rank model under a numerical prior, in units of its own where `units` is given."""

    kind: ClassVar[str] = "factors"

    model: CP
    prior: NumericalPrior
    units: Units | None = None

    def at(self, indices: Array) -> Array:
        mean = self.prior.mean(self.model.at(indices))
        return mean if self.units is None else self.units.put_back_at(mean, indices)

    def full(self) -> Array:
        mean = self.prior.mean(self.model.full())
        return mean if self.units is None else self.units.put_back(mean)

    def pack(self) -> Packed:
        prior = {"name": self.prior.name, **self.prior.settings()} if self.prior.savable else None
        units = None if self.units is None else self.units.settings()
        meta = {"prior": prior, "modes": len(self.model.factors), "units": units}
        return {f"A{n}": A for n, A in enumerate(self.model.factors)}, meta

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Factors:
        """What `pack` gave; `prior` instead of the one saved, for a loss made of functions cannot be."""
        prior = prior or prior_again(meta["prior"])
        if prior is None:
            msg = "this run had a Custom prior made of functions, which cannot be saved; give it to load: prior=..."
            raise ValueError(msg)
        units = None if meta["units"] is None else Units.from_settings(meta["units"])
        return Factors(CP([arrays[f"A{n}"] for n in range(meta["modes"])]), prior, units)


@dataclass(frozen=True, eq=False)
class Filled:
    """The numbers themselves, full shape, and the factors they were refined from where there were some."""

    kind: ClassVar[str] = "dense"

    X: Array
    behind: Factors | None = None

    def at(self, indices: Array) -> Array:
        return self.X[tuple(np.asarray(indices).T)]

    def full(self) -> Array:
        return self.X

    def pack(self) -> Packed:
        arrays, meta = ({}, None) if self.behind is None else self.behind.pack()
        return {"X": self.X, **arrays}, {"behind": meta}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Filled:
        behind = None if meta["behind"] is None else Factors.unpack(arrays, meta["behind"], prior)
        return Filled(arrays["X"], behind)


@dataclass(frozen=True, eq=False)
class Blend:
    """Convex weights of several answers, a row of them for each kind of gap.

    Attributes
    ----------
    parts : the answers
    weights : (kinds, parts), rows that sum to 1
    kinds : full shape, which row serves each entry; None: the first serves all
    """

    kind: ClassVar[str] = "blend"

    parts: tuple[Answer, ...]
    weights: Array
    kinds: Array | None = None

    def at(self, indices: Array) -> Array:
        rows = np.zeros(len(indices), dtype=np.intp) if self.kinds is None else self.kinds[tuple(indices.T)]
        return sum(self.weights[rows, k] * part.at(indices) for k, part in enumerate(self.parts))

    def full(self) -> Array:
        if self.kinds is None:
            return sum(self.weights[0, k] * part.full() for k, part in enumerate(self.parts))
        return sum(self.weights[self.kinds, k] * part.full() for k, part in enumerate(self.parts))

    def pack(self) -> Packed:
        arrays: dict[str, Array] = {"weights": self.weights}
        if self.kinds is not None:
            arrays["kinds"] = self.kinds
        metas = []
        for k, part in enumerate(self.parts):
            own, meta = part.pack()
            arrays |= {f"{k}/{name}": array for name, array in own.items()}
            metas.append({"kind": part.kind, **meta})
        return arrays, {"parts": metas}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Blend:
        parts = []
        for k, own in enumerate(meta["parts"]):
            mine = {name.split("/", 1)[1]: a for name, a in arrays.items() if name.startswith(f"{k}/")}
            parts.append(unpack(mine, own, prior))
        return Blend(tuple(parts), arrays["weights"], arrays.get("kinds"))


KINDS: dict[str, Any] = {cls.kind: cls for cls in (Factors, Filled, Blend)}


def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None = None) -> Answer:
    """The answer that was packed, of whichever kind."""
    return KINDS[meta["kind"]].unpack(arrays, meta, prior)


def prior_again(meta: Mapping[str, Any] | None) -> NumericalPrior | None:
    """The prior that was saved by name and settings."""
    if meta is None:
        return None
    return PRIORS[meta["name"]](**{k: v for k, v in meta.items() if k != "name"})
