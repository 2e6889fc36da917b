"""What a run found, as predictions at any coordinates in the unit of the data: factors, an array, or a blend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from tensorfill.data.units import Units
from tensorfill.models import CP, Model
from tensorfill.models.base import unpack as unpack_model
from tensorfill.models.posterior import Posterior
from tensorfill.numerical.base import PRIORS, NumericalPrior, make_prior
from tensorfill.result.packing import KINDS, Answer, Draws, Packed, PriorNeeded, unpack
from tensorfill.result.transformed import InUnits, Refolded
from tensorfill.typing import Array


@dataclass(frozen=True, eq=False)
class Factors:
    """A low-rank model under a numerical prior, in units of its own where `units` is given."""

    kind: ClassVar[str] = "factors"

    model: Model
    prior: NumericalPrior
    units: Units | None = None

    def at(self, indices: Array) -> Array:
        mean = self.prior.at(indices).mean(self.model.at(indices))
        return mean if self.units is None else self.units.inverse_transform_at(mean, indices)

    def full(self) -> Array:
        mean = self.prior.mean(self.model.full())
        return mean if self.units is None else self.units.inverse_transform(mean)

    def pack(self) -> Packed:
        prior = {"name": self.prior.name, **self.prior.settings()} if self.prior.savable else None
        units = None if self.units is None else self.units.settings()
        arrays, model = self.model.pack()
        return arrays, {"prior": prior, "units": units, **model}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Factors:
        """What `pack` gave; `prior`, if given, replaces the one saved (a loss made of functions cannot be saved)."""
        prior = prior or (None if meta["prior"] is None else make_prior(meta["prior"]))
        if prior is None:
            msg = "this run had a Custom prior made of functions, which cannot be saved; give it to load: prior=..."
            raise PriorNeeded(msg)
        units = None if meta["units"] is None else Units.from_settings(meta["units"])
        return Factors(unpack_model(arrays, meta), prior, units)


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
    """Convex weights of several answers, a row of them for each kind of gap, or for each slice of a mode, or both.

    Attributes
    ----------
    parts : the answers
    weights : (rows, parts), rows that sum to 1
    rows : which row serves each entry, full shape but 1 along modes that make no difference; None: the first serves all
    low, high : ends of what the data can be; the mean is kept inside
    """

    kind: ClassVar[str] = "blend"

    parts: tuple[Answer, ...]
    weights: Array
    rows: Array | None = None
    low: float = -np.inf
    high: float = np.inf

    def at(self, indices: Array) -> Array:
        rows = self._rows_at(indices)
        out = np.zeros(len(indices))
        for k, part in enumerate(self.parts):
            out += self.weights[rows, k] * part.at(indices)
        return np.clip(out, self.low, self.high)

    def full(self) -> Array:
        rows = 0 if self.rows is None else self.rows
        out = self.weights[rows, 0] * self.parts[0].full()
        for k, part in enumerate(self.parts[1:], start=1):
            out += self.weights[rows, k] * part.full()
        return np.clip(out, self.low, self.high)

    def _rows_at(self, indices: Array) -> Array:
        if self.rows is None:
            return np.zeros(len(indices), dtype=np.intp)
        return self.rows[tuple(i if length > 1 else 0 for i, length in zip(indices.T, self.rows.shape, strict=True))]

    def std_at(self, indices: Array) -> Array:
        return cast("Draws", self.parts[0]).std_at(indices)

    def quantile_at(self, indices: Array, q: Any) -> Array:
        return np.clip(cast("Draws", self.parts[0]).quantile_at(indices, q), self.low, self.high)

    def sample(self, m: int, rng: np.random.Generator, indices: Array) -> Array:
        return np.clip(cast("Draws", self.parts[0]).sample(m, rng, indices), self.low, self.high)

    def pack(self) -> Packed:
        arrays: dict[str, Array] = {"weights": self.weights}
        if self.rows is not None:
            arrays["rows"] = self.rows
        metas = []
        for k, part in enumerate(self.parts):
            own, meta = part.pack()
            arrays |= {f"{k}/{name}": array for name, array in own.items()}
            metas.append({"kind": part.kind, **meta})
        ends = [float(end) if np.isfinite(end) else None for end in (self.low, self.high)]  # JSON has no infinity
        return arrays, {"parts": metas, "ends": ends}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Blend:
        parts = []
        for k, own in enumerate(meta["parts"]):
            mine = {name.split("/", 1)[1]: a for name, a in arrays.items() if name.startswith(f"{k}/")}
            parts.append(unpack(mine, own, prior))
        low, high = (np.inf * sign if end is None else end for sign, end in zip((-1, 1), meta["ends"], strict=True))
        return Blend(tuple(parts), arrays["weights"], arrays.get("rows"), low, high)


def in_units(answer: Answer, units: Units) -> Answer:
    """Return the answer to `units.take_out(obs)` as that to `obs`."""
    if isinstance(answer, Factors) and answer.units is None:
        return replace(answer, units=units)
    if isinstance(answer, Filled):
        behind = None if answer.behind is None else replace(answer.behind, units=units)
        return Filled(units.inverse_transform(answer.X), behind)
    return InUnits(answer, units)


def factors_of(answer: Answer) -> Factors | None:
    """The low-rank model behind an answer: its own, that of the heaviest part of a blend that has one, or the last draw
    of a posterior (for reading: the answer is the mean of all draws). None if there is none.
    """
    if isinstance(answer, Factors):
        return answer
    if isinstance(answer, Filled):
        return answer.behind
    if isinstance(answer, InUnits):
        found = factors_of(answer.inner)
        plain = found is not None and found.units is None and answer.index is None
        return replace(found, units=answer.units) if found is not None and plain else found
    if isinstance(answer, Posterior):
        return Factors(CP(answer.factors(-1)), PRIORS.make("normal"))
    if isinstance(answer, Blend):
        order = np.argsort(-answer.weights.mean(axis=0), kind="stable")
        return next((f for f in (factors_of(answer.parts[k]) for k in order) if f is not None), None)
    return None


def draws_of(answer: Answer) -> Draws | None:
    """The answer itself if it is a posterior, in whatever units or folds; None if it has no draws."""
    return None if posterior_of(answer) is None else cast("Draws", answer)


def posterior_of(answer: Answer) -> Posterior | None:
    """The posterior inside the answer, in units of its own; None if the answer is anything else."""
    inner = answer
    while isinstance(inner, InUnits | Refolded | Blend) and len(getattr(inner, "parts", (0,))) == 1:
        inner = inner.parts[0] if isinstance(inner, Blend) else inner.inner
    return inner if isinstance(inner, Posterior) else None


for kind in (Factors, Filled, Blend, Posterior):
    KINDS[kind.kind] = kind
