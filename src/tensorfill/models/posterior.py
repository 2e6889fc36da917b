"""Posterior: draws of a low-rank model, and what they say about an entry: mean, spread, quantiles, more draws.

Design: a draw is one set of stacked factors and its likelihood's parameter. `family` says how a datum follows from x,
`transform` in which unit x lives: transform(t) = level + scale * sum_c prod_n F_n[i_n, c] (+ noise).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tensorfill.kernels.loops import cp
from tensorfill.models.cp import CP
from tensorfill.models.emission import Emission
from tensorfill.typing import Array

BLOCK = 2**16  # entries at a time: (draws, BLOCK) of doubles is what quantiles need
PER_DRAW = 5  # data drawn around each draw of the model, for quantiles


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of the model.

    Attributes
    ----------
    shape : of the tensor
    draws : (m, sum of I_n, C), the factors of every draw stacked along the modes
    parameters : (m,) noise or dispersion of every draw; (m, I), that of each slice, where slices of mode `noise` have
        their own
    emission : how a datum follows from the model
    means : (m, I, C), or None: the mean of mode `mode`'s rows given the other modes' draws. The mean of an entry takes
        them in place of the rows drawn, which scatter around them for nothing. Only where data are linear in the model
    ceiling : (sum of I_n,), or None: a mean stays below the least ceiling of its slices. Where data are squares or
        powers of the model, an extreme row times an extreme column would else carry it far beyond anything seen
    others : how a datum follows in further units, where the draws were made in several
    unit : (m,) of each draw the number of its unit, 0 for `emission`, then `others`; None: all 0
    numbers : rhat, ess and others, JSON-able
    """

    kind: ClassVar[str] = "posterior"

    shape: tuple[int, ...]
    draws: Array
    parameters: Array
    emission: Emission
    means: Array | None = None
    mode: int = 0
    ceiling: Array | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[Emission, ...] = ()
    unit: Array | None = None
    noise: int | None = None

    def factors(self, draw: int) -> list[Array]:
        """The factors of one draw, (I_n, C) each, main effects among the columns."""
        return np.split(self._stack(draw, steady=False), np.cumsum(self.shape)[:-1])

    @property
    def rhat(self) -> float:
        """Split R-hat, the worst of the values traced; near 1 when the halves of the run agree."""
        return float(self.numbers.get("rhat", math.nan))

    @property
    def ess(self) -> float:
        """Effective number of independent draws, median of the values traced."""
        return float(self.numbers.get("ess", math.nan))

    @property
    def rank(self) -> int:
        """Columns of the model, main effects among them."""
        return int(self.draws.shape[2])

    def at(self, indices: Array) -> Array:
        """The mean of a datum at coordinates (k, N), over all draws: (k,)."""
        rows = self._rows(indices)
        total = np.zeros(len(rows))
        for j in range(len(self.draws)):
            total += self._emission(j).mean(self._predict(j, rows, steady=True), self._parameter(j, rows))
        total /= len(self.draws)
        return total if self.ceiling is None else np.minimum(total, self.ceiling[rows].min(axis=1))

    def std_at(self, indices: Array) -> Array:
        """Standard deviation of a datum at coordinates (k, N): of the draws' means, and within the draws: (k,)."""
        rows = self._rows(indices)
        mean, square, within = (np.zeros(len(rows)) for _ in range(3))
        for j in range(len(self.draws)):
            x, parameter = self._predict(j, rows), self._parameter(j, rows)
            value = self._emission(j).mean(x, parameter)
            off = value - mean
            mean += off / (j + 1)
            square += off * (value - mean)
            within += self._emission(j).variance(x, parameter)
        return np.sqrt(square / max(len(self.draws) - 1, 1) + within / len(self.draws))

    def full(self) -> Array:
        """The mean at every entry, full shape."""
        total = np.zeros(self.shape)
        along = [-1 if n == self.noise else 1 for n in range(len(self.shape))]
        for j in range(len(self.draws)):
            factors = np.split(self._stack(j, steady=True), np.cumsum(self.shape)[:-1])
            total += self._emission(j).mean(CP(factors).full(), self.parameters[j].reshape(along))
        total /= len(self.draws)
        if self.ceiling is not None:
            for n, part in enumerate(np.split(self.ceiling, np.cumsum(self.shape)[:-1])):
                np.minimum(total, part.reshape(-1, *(1,) * (len(self.shape) - 1 - n)), out=total)
        return total

    def sample(self, m: int, rng: np.random.Generator, indices: Array) -> Array:
        """m data sets at coordinates (k, N), noise included: (m, k). Draws are taken in turn, from a random order."""
        rows, order = self._rows(indices), rng.permutation(len(self.draws))
        out = np.empty((m, len(rows)))
        for j in range(m):
            draw = order[j % len(order)]
            out[j] = self._emission(draw).sample(self._predict(draw, rows), self._parameter(draw, rows), rng)
        return out

    def quantile_at(self, indices: Array, q: Any) -> Array:
        """Quantiles of a datum at coordinates (k, N), noise included: (k,), or (len(q), k) for several q."""
        rows, rng = self._rows(indices), np.random.default_rng(0)
        out = np.empty((*np.shape(q), len(rows)))
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            values = np.empty((len(self.draws), PER_DRAW, len(part)))
            for j in range(len(self.draws)):
                x = np.broadcast_to(self._predict(j, part), values.shape[1:])
                values[j] = self._emission(j).sample(x, self._parameter(j, part), rng)
            out[..., start : start + BLOCK] = np.quantile(values.reshape(-1, len(part)), q, axis=0)
        return out

    # --- disk ---------------------------------------------------------------------------------------------------

    def pack(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """(arrays, JSON-able rest) from which `unpack` makes the same answer."""
        arrays = {"draws": self.draws, "parameters": self.parameters}
        optional = {"means": self.means, "ceiling": self.ceiling, "unit": self.unit}
        arrays |= {name: array for name, array in optional.items() if array is not None}
        rest = {
            "shape": list(self.shape),
            "mode": self.mode,
            "noise": self.noise,
            "emission": self.emission.settings(),
            "others": [other.settings() for other in self.others],
            "numbers": dict(self.numbers),
        }
        return arrays, rest

    @classmethod
    def unpack(cls, arrays: Mapping[str, Array], rest: Mapping[str, Any], prior: Any = None) -> Posterior:
        """What `pack` gave; `prior` is not needed: the emission says what a datum is."""
        emission = Emission(**rest["emission"])
        return cls(
            tuple(rest["shape"]),
            arrays["draws"],
            arrays["parameters"],
            emission,
            arrays.get("means"),
            int(rest["mode"]),
            arrays.get("ceiling"),
            dict(rest["numbers"]),
            tuple(Emission(**other) for other in rest.get("others", ())),
            arrays.get("unit"),
            rest.get("noise"),
        )

    # --- inside -------------------------------------------------------------------------------------------------

    def _emission(self, j: int) -> Emission:
        """That of draw j."""
        return self.emission if self.unit is None else (self.emission, *self.others)[int(self.unit[j])]

    def _parameter(self, j: int, rows: Array) -> Array:
        """That of draw j: (), or (k,) at rows (k, N) of the stack where slices have their own."""
        if self.noise is None:
            return self.parameters[j]
        return self.parameters[j, rows[:, self.noise] - sum(self.shape[: self.noise])]

    def _rows(self, indices: Array) -> Array:
        first = np.concatenate([[0], np.cumsum(self.shape)])[:-1]
        return np.ascontiguousarray(np.atleast_2d(indices) + first, dtype=np.int32)

    def _predict(self, j: int, rows: Array, *, steady: bool = False) -> Array:
        """The model's sum at rows (k, N) of the stack, of draw j: (k,)."""
        x = np.empty(len(rows))
        cp.predict(self._stack(j, steady=steady), np.zeros(rows.shape[1], dtype=np.int64), rows, x)
        return x

    def _stack(self, j: int, *, steady: bool) -> Array:
        """The factors of draw j, stacked; `steady` with the means where there are some."""
        F = self.draws[j].astype(np.float64)
        if steady and self.means is not None:
            start = sum(self.shape[: self.mode])
            F[start : start + self.shape[self.mode]] = self.means[j]
        return F
