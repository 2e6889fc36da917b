"""What a run found, as predictions at any coordinates in the unit of the data: factors, an array, draws, or a blend.

An answer gives `at(indices)` and `full()`, and packs itself into arrays and JSON for saving.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.units import Units
from tensorfill.models import CP, Model
from tensorfill.models.base import unpack as unpack_model
from tensorfill.models.posterior import Posterior
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


class Draws(Answer, Protocol):
    """An answer that has draws: a posterior, or one in other units or at other coordinates; see `draws_of`."""

    def std_at(self, indices: Array) -> Array:
        """The standard deviation of a datum at coordinates (k, N), noise included: (k,)."""

    def quantile_at(self, indices: Array, q: Any) -> Array:
        """Quantiles of a datum at coordinates (k, N): (k,), or (len(q), k) for several q."""

    def sample(self, m: int, rng: np.random.Generator, indices: Array) -> Array:
        """m data sets at coordinates (k, N), noise included: (m, k)."""


class PriorNeeded(ValueError):
    """A run cannot be read back without the prior that it had."""


@dataclass(frozen=True, eq=False)
class Factors:
    """A low-rank model under a numerical prior, in units of its own where `units` is given."""

    kind: ClassVar[str] = "factors"

    model: Model
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
        arrays, model = self.model.pack()
        return arrays, {"prior": prior, "units": units, **model}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Factors:
        """What `pack` gave; `prior`, if given, replaces the one saved (a loss made of functions cannot be saved)."""
        prior = prior or prior_again(meta["prior"])
        if prior is None:
            msg = "this run had a Custom prior made of functions, which cannot be saved; give it to load: prior=..."
            raise PriorNeeded(msg)
        units = None if meta["units"] is None else Units.from_settings(meta["units"])
        if "model" not in meta:  # format 2 knew CP alone
            return Factors(CP([arrays[f"A{n}"] for n in range(meta["modes"])]), prior, units)
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
        rows = arrays.get("rows", arrays.get("kinds"))  # as files of format 3 call them
        return Blend(tuple(parts), arrays["weights"], rows, low, high)


@dataclass(frozen=True, eq=False)
class InUnits:
    """An answer for data in other units."""

    kind: ClassVar[str] = "in units"

    inner: Answer
    units: Units

    def at(self, indices: Array) -> Array:
        return self.units.put_back_at(self.inner.at(indices), indices)

    def full(self) -> Array:
        return self.units.put_back(self.inner.full())

    def std_at(self, indices: Array) -> Array:
        return self.units.scale[indices[:, self.units.mode]] * cast("Draws", self.inner).std_at(indices)

    def quantile_at(self, indices: Array, q: Any) -> Array:
        return self.units.put_back_at(cast("Draws", self.inner).quantile_at(indices, q), indices)

    def sample(self, m: int, rng: np.random.Generator, indices: Array) -> Array:
        return self.units.put_back_at(cast("Draws", self.inner).sample(m, rng, indices), indices)

    def pack(self) -> Packed:
        arrays, meta = self.inner.pack()
        return arrays, {"inner": {"kind": self.inner.kind, **meta}, "units": self.units.settings()}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> InUnits:
        return InUnits(unpack(arrays, meta["inner"], prior), Units.from_settings(meta["units"]))


class _Elsewhere:
    """An answer whose `inner` one is for the same data in another shape: coordinates are translated, then asked for."""

    inner: Answer

    def _there(self, indices: Array) -> Array:
        """The coordinates (k, N) as those of the inner answer."""
        raise NotImplementedError

    def at(self, indices: Array) -> Array:
        return self.inner.at(self._there(indices))

    def std_at(self, indices: Array) -> Array:
        return cast("Draws", self.inner).std_at(self._there(indices))

    def quantile_at(self, indices: Array, q: Any) -> Array:
        return cast("Draws", self.inner).quantile_at(self._there(indices), q)

    def sample(self, m: int, rng: np.random.Generator, indices: Array) -> Array:
        return cast("Draws", self.inner).sample(m, rng, self._there(indices))


@dataclass(frozen=True, eq=False)
class Folded(_Elsewhere):
    """An answer for the same data with one mode folded: index i along `mode` became (i // period, i % period)."""

    kind: ClassVar[str] = "folded"

    inner: Answer
    mode: int
    period: int
    length: int

    def _there(self, indices: Array) -> Array:
        return fold_indices(np.asarray(indices), self.mode, self.period)

    def full(self) -> Array:
        X = self.inner.full()
        shape = (*X.shape[: self.mode], -1, *X.shape[self.mode + 2 :])
        return np.take(X.reshape(shape), np.arange(self.length), axis=self.mode)

    def pack(self) -> Packed:
        arrays, meta = self.inner.pack()
        fold = {"mode": self.mode, "period": self.period, "length": self.length}
        return arrays, {"inner": {"kind": self.inner.kind, **meta}, **fold}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Folded:
        inner = unpack(arrays, meta["inner"], prior)
        return Folded(inner, int(meta["mode"]), int(meta["period"]), int(meta["length"]))


@dataclass(frozen=True, eq=False)
class Refolded(_Elsewhere):
    """An answer for the same data with one mode folded by the calendar: index i along `mode` became codes[i]."""

    kind: ClassVar[str] = "refolded"

    inner: Answer
    mode: int
    codes: Array  # (I_mode, number of modes it became)

    def _there(self, indices: Array) -> Array:
        i = np.asarray(indices)
        return np.column_stack([i[:, : self.mode], self.codes[i[:, self.mode]], i[:, self.mode + 1 :]])

    def full(self) -> Array:
        return unfold(self.inner.full(), self.mode, self.codes)

    def pack(self) -> Packed:
        arrays, meta = self.inner.pack()
        return {**arrays, "refolded": self.codes}, {"inner": {"kind": self.inner.kind, **meta}, "mode": self.mode}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Refolded:
        return Refolded(unpack(arrays, meta["inner"], prior), int(meta["mode"]), arrays["refolded"])


def unfold(X: Array, mode: int, codes: Array) -> Array:
    """A folded tensor in the shape that it had: codes[i] along the modes from `mode` on becomes i along `mode`."""
    return X[(slice(None),) * mode + tuple(codes.T)]


def fold_indices(indices: Array, mode: int, period: int) -> Array:
    """Coordinates (k, N) with the one along `mode` split into which period, and where in it: (k, N + 1)."""
    i = indices[:, mode]
    return np.column_stack([indices[:, :mode], i // period, i % period, indices[:, mode + 1 :]])


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
        return found if found is None or found.units is not None else replace(found, units=answer.units)
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
    while isinstance(inner, InUnits | Folded | Refolded | Blend) and len(getattr(inner, "parts", (0,))) == 1:
        inner = inner.parts[0] if isinstance(inner, Blend) else inner.inner
    return inner if isinstance(inner, Posterior) else None


KINDS: dict[str, Any] = {cls.kind: cls for cls in (Factors, Filled, Blend, InUnits, Folded, Refolded, Posterior)}


def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None = None) -> Answer:
    """The answer that was packed, of whichever kind."""
    return KINDS[meta["kind"]].unpack(arrays, meta, prior)


def prior_again(meta: Mapping[str, Any] | None) -> NumericalPrior | None:
    """The prior that was saved by name and settings; None for one that could not be saved."""
    if meta is None:
        return None
    return PRIORS[meta["name"]](**{k: v for k, v in meta.items() if k != "name"})
