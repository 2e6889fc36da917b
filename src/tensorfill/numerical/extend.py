"""How a loss goes on outside its domain.

Design: many losses hold only for x > 0 (or 0 < x < 1): they contain ln x or 1/x. Factors may be signed, so x
may leave that range. Such a prior writes its formulas for the inside alone (`_nll`, `_grad`, ...);
`Extended` calls them at the nearest point z that is at least `floor` inside, and adds, over the distance d =
x - z that is left,

    L(z) + L'(z) d + b floor h(d / floor),     h(u) = u^2/2 for |u| <= 2, 2|u| - 2 beyond.

This is the tangent, whose slope is bounded (first-order solvers stay calm, where the Taylor parabola of ln x
at 1e-3 has a curvature of 1e6, that of 1/x 1e9), bent just enough to be bounded below. b is the part of the
gradient that pulls x outwards: with L' = p - q, both >= 0, b = p below and q above. So p falls linearly from
its value at the floor to its opposite. Poisson's x, for instance, becomes a Huber function of x around 0:
with t = 0 the loss is lowest at x = 0, exactly where it belongs. The result is once differentiable, convex
where the loss is convex, and untouched for x >= floor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tensorfill.numerical.base import SQUARABLE, Array, NumericalPrior


@dataclass(frozen=True)
class Extended(NumericalPrior):
    """A prior whose formulas hold inside x_domain, at least `floor` from its ends.

    Subclasses write `_nll(t, z)` and `_grad(t, z)`, and may write `_nll_and_grad`, `_curv`, `_split`. The
    default floor, 1e-3, is the paper's epsilon (Algorithm 3). It is in the units of x: data far smaller than 1
    need a smaller one, and a larger one, such as 1 for pictures 0..255, gives gentler gradients.
    """

    floor: float = field(default=1e-3, kw_only=True, metadata={"kind": "positive"})

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self._edges()
        if not low < high:
            msg = (
                f"floor must be less than half of the range of x ({self.x_domain}) for "
                f"{type(self).__name__}; got {self.floor!r}."
            )
            raise ValueError(msg)

    def _nll(self, t: Array, z: Array) -> Array:
        raise NotImplementedError

    def _grad(self, t: Array, z: Array) -> Array:
        raise NotImplementedError

    def _nll_and_grad(self, t: Array, z: Array) -> tuple[Array, Array]:
        return self._nll(t, z), self._grad(t, z)

    if TYPE_CHECKING:  # optional, as in NumericalPrior; `curv` and `split` call them

        def _curv(self, t: Array, z: Array) -> Array: ...

        def _split(self, t: Array, z: Array) -> tuple[Array, Array]: ...

    def has(self, what: str) -> bool:
        if what in ("curv", "split"):
            return callable(getattr(self, "_" + what, None))
        return super().has(what)

    def nll(self, t: Array, x: Array) -> Array:
        z, out = self._inside(x)
        value = self._nll(t, z)
        if out is not None:
            value[out] += self._beyond(t[out], x[out], z[out])[0]
        return value

    def grad(self, t: Array, x: Array) -> Array:
        z, out = self._inside(x)
        slope = self._grad(t, z)
        if out is not None:
            slope[out] = self._beyond(t[out], x[out], z[out])[1]
        return slope

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        z, out = self._inside(x)
        value, slope = self._nll_and_grad(t, z)
        if out is not None:
            rise, slope[out] = self._beyond(t[out], x[out], z[out])
            value[out] += rise
        return value, slope

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative; jumps at the floor, and is 0 far outside."""
        z, out = self._inside(x)
        second: Array = self._curv(t, z)
        if out is not None:
            d = x[out] - z[out]
            bend = self._bend(t[out], z[out], d)
            second[out] = np.where(np.abs(d) < 2 * self.floor, bend / self.floor, 0)
        return second

    def split(self, t: Array, x: Array) -> tuple[Array, Array]:
        """The slope as a difference of two parts that are not negative."""
        z, out = self._inside(x)
        positive, negative = self._split(t, z)
        if out is not None:
            d = x[out] - z[out]
            bent = self._bend(t[out], z[out], d) * np.clip(d / self.floor, -2, 2)
            # The bend is taken off the part that pulls outwards, down to 0; the remainder goes to the other part.
            p = positive[out] + np.minimum(bent, 0)
            q = negative[out] - np.maximum(bent, 0)
            positive[out] = np.maximum(p, 0) - np.minimum(q, 0)
            negative[out] = np.maximum(q, 0) - np.minimum(p, 0)
        return positive, negative

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """The floor at a thousandth of x for a typical datum, where x has no upper end."""
        sizes = np.abs(t[t != 0])
        if self.x_domain.high < np.inf or not len(sizes):
            return self
        smallest, largest = SQUARABLE
        size = float(np.clip(np.median(sizes), 1e3 * smallest, 1e3 * largest))
        low = replace(self, floor=1e-3 * size)
        return replace(low, floor=float(np.clip(1e-3 * low.start(size), smallest, largest)))

    def _start(self, x: float) -> float:
        """A starting point moved inside the domain: from its very end (data that are all 0) no step would lead away."""
        return float(self.x_domain.clip(np.asarray(x), margin=1e-3 * self.floor))

    def _edges(self) -> tuple[float, float]:
        """Ends of the range in which the formulas are used as they are."""
        return self.x_domain.low + self.floor, self.x_domain.high - self.floor

    def _inside(self, x: Array) -> tuple[Array, Any]:
        """The nearest points inside, and where x lies outside; (x itself, None) if all of it lies inside."""
        low, high = self._edges()
        # NaN fails both comparisons: it goes on below, and stays NaN.
        if x.min(initial=np.inf) >= low and (high == np.inf or x.max(initial=-np.inf) <= high):
            return x, None
        z = np.clip(x, low, high)
        # Places, not a mask: several times faster to read and write through when they are scattered.
        return z, np.nonzero(x != z)

    def _beyond(self, t: Array, x: Array, z: Array) -> tuple[Array, Array]:
        """For entries outside: what is added to L(z), and the derivative."""
        d = x - z
        u = d / self.floor
        s = np.clip(u, -2, 2)
        slope = self._grad(t, z)
        bend = self._bend(t, z, d, slope)
        rise = slope * d + (self.floor * bend) * (s * (u - s / 2))
        slope += bend * s
        return rise, slope

    def _bend(self, t: Array, z: Array, d: Array, slope: Array | None = None) -> Array:
        """The b >= 0 of the module's note; |L'(z)| where the loss does not come in two parts."""
        if self.has("split"):
            positive, negative = self._split(t, z)
            return np.where(d < 0, positive, negative)
        return np.abs(self._grad(t, z) if slope is None else slope)
