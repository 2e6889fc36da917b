"""Answers to data that were transformed for the fit, at the coordinates and in the unit that they had before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from tensorfill.data.units import Units
from tensorfill.numerical.base import NumericalPrior
from tensorfill.result.packing import KINDS, Answer, Draws, Packed, unpack
from tensorfill.typing import Array


class _Translated:
    """An answer made of an `inner` one: coordinates are translated, then asked for, and the numbers brought back."""

    inner: Answer

    def _there(self, indices: Array) -> Array:
        """The coordinates (k, N) as those of the inner answer."""
        return indices

    def _back(self, x: Array, indices: Array) -> Array:
        """Numbers of the inner answer at coordinates (k, N), (k,) or (m, k), in the unit of the data."""
        return x

    def at(self, indices: Array) -> Array:
        return self._back(self.inner.at(self._there(indices)), indices)

    def std_at(self, indices: Array) -> Array:
        return cast("Draws", self.inner).std_at(self._there(indices))

    def quantile_at(self, indices: Array, q: Any) -> Array:
        return self._back(cast("Draws", self.inner).quantile_at(self._there(indices), q), indices)

    def sample(self, m: int, rng: np.random.Generator, indices: Array) -> Array:
        return self._back(cast("Draws", self.inner).sample(m, rng, self._there(indices)), indices)


@dataclass(frozen=True, eq=False)
class InUnits(_Translated):
    """An answer for data in other units, of which each slice may have a domain of its own.

    Attributes
    ----------
    inner : the answer, in units of its own
    units : level and scale of every slice along a mode
    index : the slice of `inner` that serves each slice along that mode; None: the one of the same number
    low, high : ends of what the numbers of each slice can be; None for none
    """

    kind: ClassVar[str] = "in units"

    inner: Answer
    units: Units
    index: Array | None = None
    low: Array | None = None
    high: Array | None = None

    def full(self) -> Array:
        X = self.inner.full()
        X = X if self.index is None else np.take(X, self.index, axis=self.units.mode)
        return np.clip(self.units.inverse_transform(X), *self.ends(X.ndim))

    def std_at(self, indices: Array) -> Array:
        return self.units.scale[indices[:, self.units.mode]] * super().std_at(indices)

    def ends(self, ndim: int) -> tuple[Array, Array]:
        """(low, high) of every slice, to be broadcast to the shape of data of `ndim` modes."""
        along = [-1 if n == self.units.mode else 1 for n in range(ndim)]
        return tuple(  # type: ignore[return-value]
            np.reshape(np.full(1, end) if ends is None else ends, along)
            for ends, end in ((self.low, -np.inf), (self.high, np.inf))
        )

    def _there(self, indices: Array) -> Array:
        if self.index is None:
            return indices
        there, n = np.array(indices), self.units.mode
        there[:, n] = self.index[there[:, n]]
        return there

    def _back(self, x: Array, indices: Array) -> Array:
        i = indices[:, self.units.mode]
        low, high = (-np.inf if self.low is None else self.low[i], np.inf if self.high is None else self.high[i])
        return np.clip(self.units.inverse_transform_at(x, indices), low, high)

    def pack(self) -> Packed:
        arrays, meta = self.inner.pack()
        own, place = {"index": self.index, "low": self.low, "high": self.high}, _free("units", arrays)
        arrays = {**arrays, **{f"{place}/{name}": a for name, a in own.items() if a is not None}}
        return arrays, {"inner": {"kind": self.inner.kind, **meta}, "units": self.units.settings(), "place": place}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> InUnits:
        own = {name: arrays.get(f"{meta.get('place', 'units')}/{name}") for name in ("index", "low", "high")}
        return InUnits(unpack(arrays, meta["inner"], prior), Units.from_settings(meta["units"]), **own)


@dataclass(frozen=True, eq=False)
class Refolded(_Translated):
    """An answer for the same data with one mode folded, by a period or the calendar: index i along `mode` became
    codes[i].
    """

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
        place = _free("refolded", arrays)
        inner = {"kind": self.inner.kind, **meta}
        return {**arrays, place: self.codes}, {"inner": inner, "mode": self.mode, "place": place}

    @staticmethod
    def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any], prior: NumericalPrior | None) -> Refolded:
        return Refolded(unpack(arrays, meta["inner"], prior), int(meta["mode"]), arrays[meta.get("place", "refolded")])


def _free(name: str, arrays: Mapping[str, Array]) -> str:
    """`name`, or one like it that no array of the answer within has: a fold may lie in another fold."""
    while any(key.split("/")[0] == name for key in arrays):
        name += "+"
    return name


def unfold(X: Array, mode: int, codes: Array) -> Array:
    """A folded tensor in the shape that it had: codes[i] along the modes from `mode` on becomes i along `mode`."""
    return X[(slice(None),) * mode + tuple(codes.T)]


for kind in (InUnits, Refolded):
    KINDS[kind.kind] = kind
