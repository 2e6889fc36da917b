"""A numerical prior of its own for every slice of one mode: the columns of a table.

Design: losses stay functions of (t, x) alone. `PerSlice` works on whole tensors, whose slices it tells apart by their
place along `mode`; `PerSlice.at(indices)` is the same for a list of entries, which it sorts by their priors once.
Everything else about it follows from its parts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tensorfill.numerical.base import PRIORS, Array, Interval, NumericalPrior, make_prior, parameter


class _Parts(NumericalPrior):
    """Priors for groups of entries; subclasses give `groups`."""

    uniform = False

    def has(self, what: str) -> bool:
        return all(part.has(what) for part in self._distinct())

    def _distinct(self) -> Sequence[NumericalPrior]:
        raise NotImplementedError

    @property
    def canonical(self) -> bool:  # type: ignore[override]  # a class attribute elsewhere
        return all(part.canonical for part in self._distinct())

    @property
    def t_domain(self) -> Interval:
        return _hull([part.t_domain for part in self._distinct()])

    @property
    def x_domain(self) -> Interval:
        return _hull([part.x_domain for part in self._distinct()])

    @property
    def majoriser(self) -> tuple[float, float] | None:
        """The largest exponents of all parts: a steeper majoriser lies above too."""
        forms = [part.majoriser for part in self._distinct()]
        known = [form for form in forms if form is not None]
        return (max(p for p, _ in known), max(q for _, q in known)) if len(known) == len(forms) else None

    def nll(self, t: Array, x: Array) -> Array:
        return self._each("nll", t, x)

    def grad(self, t: Array, x: Array) -> Array:
        return self._each("grad", t, x)

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        return self._both("nll_and_grad", t, x)

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative of the loss in x."""
        return self._each("curv", t, x)

    def split(self, t: Array, x: Array) -> tuple[Array, Array]:
        """The slope as a difference of two parts that are not negative."""
        return self._both("split", t, x)

    def mean(self, x: Array) -> Array:
        return self._each("mean", x)

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return self._each("sample", x, last=(rng,))

    def quantile(self, x: Array, q: float) -> Array:
        return self._each("quantile", x, last=(q,))

    def _each(self, method: str, *arrays: Array, last: tuple[Any, ...] = ()) -> Array:
        """What the method of every part answers for its entries of the arrays, and what it is given `last`."""
        out = np.empty_like(arrays[-1])
        for part, at in self.groups(out.shape):
            out[at] = getattr(part, method)(*(a[at] for a in arrays), *last)
        return out

    def _both(self, method: str, t: Array, x: Array) -> tuple[Array, Array]:
        one, other = np.empty_like(x), np.empty_like(x)
        for part, at in self.groups(x.shape):
            one[at], other[at] = getattr(part, method)(t[at], x[at])
        return one, other


def _hull(domains: Sequence[Interval]) -> Interval:
    low, high = min(d.low for d in domains), max(d.high for d in domains)
    return Interval(
        low,
        high,
        any(d.low_inclusive for d in domains if d.low == low),
        any(d.high_inclusive for d in domains if d.high == high),
        all(d.whole for d in domains),
    )


@dataclass(frozen=True, eq=False)
class PerEntry(_Parts):
    """The priors of a list of entries (k,), each by its number in `parts`."""

    parts: tuple[NumericalPrior, ...]
    which: Array

    def _distinct(self) -> Sequence[NumericalPrior]:
        return self.parts

    def groups(self, shape: tuple[int, ...]) -> list[tuple[NumericalPrior, Any]]:
        """(prior, positions of its entries), of those that have any."""
        found = [(part, np.flatnonzero(self.which == k)) for k, part in enumerate(self.parts)]
        return [(part, at) for part, at in found if len(at)]


@PRIORS.register("per-slice", listed=False)
@dataclass(frozen=True)
class PerSlice(_Parts):
    """A prior of its own for every slice of one mode: the columns of a table.

    Distribution: that of the slice.
    Link: that of the slice.
    Loss: that of the slice.
    Domain: that of the slice.
    Mean: that of the slice.

    Parameters
    ----------
    mode
        Number of the mode whose slices differ.
    priors
        One for each slice along it, objects or names.
    """

    mode: int = parameter(0, "whole")
    priors: tuple[NumericalPrior, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.priors, str | Mapping) or not self.priors:
            msg = f"priors must be a list with a prior for each slice of mode {self.mode}; got {self.priors!r}."
            raise TypeError(msg)
        made = tuple(make_prior(given) for given in self.priors)
        for i, prior in enumerate(made):
            if not isinstance(prior, NumericalPrior) or not prior.uniform:
                msg = f"priors[{i}] must be a prior for single numbers, or its name; got {prior!r}."
                raise TypeError(msg)
        object.__setattr__(self, "priors", made)
        order = {prior: k for k, prior in enumerate(dict.fromkeys(made))}
        object.__setattr__(self, "_codes", np.array([order[prior] for prior in made]))

    def _distinct(self) -> tuple[NumericalPrior, ...]:
        return tuple(dict.fromkeys(self.priors))

    def check(self, shape: Sequence[int]) -> None:
        if not 0 <= self.mode < len(shape) or shape[self.mode] != len(self.priors):
            msg = (
                f"a prior per slice must have one prior for each slice of its mode; got {len(self.priors)} for mode "
                f"{self.mode} of a tensor of shape {tuple(shape)}."
            )
            raise ValueError(msg)

    def groups(self, shape: tuple[int, ...]) -> list[tuple[NumericalPrior, Any]]:
        """(prior, index of its slices in an array of the tensor's shape)."""
        self.check(shape)
        before = (slice(None),) * self.mode
        return [(part, (*before, np.flatnonzero(self._codes == k))) for k, part in enumerate(self._distinct())]  # type: ignore[attr-defined]

    def at(self, indices: Array) -> NumericalPrior:
        return PerEntry(self._distinct(), self._codes[indices[:, self.mode]])  # type: ignore[attr-defined]

    def fitted_at(self, indices: Array, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        made = list(self.priors)
        for i in np.unique(indices[:, self.mode]):
            here = indices[:, self.mode] == i
            made[i] = made[i].fitted(t[here], *(None if a is None else a[here] for a in (x, weights)))
        return dataclasses.replace(self, priors=tuple(made))

    @property
    def savable(self) -> bool:
        return all(part.savable for part in self.priors)

    def settings(self) -> dict[str, Any]:
        return {"mode": self.mode, "priors": [{"name": p.name, **p.settings()} for p in self.priors]}

    def described(self) -> dict[str, Any]:
        return {"name": self.name, "mode": self.mode, "priors": [p.described() for p in self.priors]}


@PRIORS.register("rescaled", listed=False)
@dataclass(frozen=True)
class Rescaled(NumericalPrior):
    """Another prior in a unit of its own: x stays near 0 and 1 whatever the numbers are.

    Distribution: (t - shift) / scale has the other prior.
    Link: the other's.
    Loss: the other's, of (t - shift) / scale.
    Domain: the other's, times scale, plus shift.
    Mean: shift + scale times the other's.
    """

    prior: NumericalPrior = "normal"  # type: ignore[assignment]  # a name or a description is turned into its object
    shift: float = parameter(0.0, "real")
    scale: float = parameter(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "prior", make_prior(self.prior))

    @property
    def canonical(self) -> bool:  # type: ignore[override]  # a class attribute elsewhere
        return self.prior.canonical

    def has(self, what: str) -> bool:
        """What the other offers, save `split`, which needs a natural zero."""
        return what != "split" and self.prior.has(what)

    @property
    def t_domain(self) -> Interval:
        own = self.prior.t_domain
        return dataclasses.replace(own, low=self._back(own.low), high=self._back(own.high), whole=False)

    @property
    def x_domain(self) -> Interval:
        return self.prior.x_domain

    def _unit(self, t: Array) -> Array:
        return (t - self.shift) / self.scale

    def _back(self, t: Any) -> Any:
        return self.shift + self.scale * t

    def nll(self, t: Array, x: Array) -> Array:
        return self.prior.nll(self._unit(t), x)

    def grad(self, t: Array, x: Array) -> Array:
        return self.prior.grad(self._unit(t), x)

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        return self.prior.nll_and_grad(self._unit(t), x)

    def curv(self, t: Array, x: Array) -> Array:
        """Second derivative of the loss in x."""
        return self.prior.curv(self._unit(t), x)

    def mean(self, x: Array) -> Array:
        return self._back(self.prior.mean(x))

    def start(self, mean: float) -> float:
        return self.prior.start((mean - self.shift) / self.scale)

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        return self._back(self.prior.sample(x, rng))

    def quantile(self, x: Array, q: float) -> Array:
        return self._back(self.prior.quantile(x, q))

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """Before there is a model, shift and scale are the mean and the standard deviation of the data."""
        if x is not None:
            return dataclasses.replace(self, prior=self.prior.fitted(self._unit(t), x, weights))
        shift = float(np.average(t, weights=weights))
        scale = float(np.sqrt(np.average((t - shift) ** 2, weights=weights))) or 1.0
        made = dataclasses.replace(self, shift=shift, scale=scale)
        return dataclasses.replace(made, prior=self.prior.fitted(made._unit(t), None, weights))

    @property
    def savable(self) -> bool:
        return self.prior.savable

    def settings(self) -> dict[str, Any]:
        other = {"name": self.prior.name, **self.prior.settings()}
        return {"prior": other, "shift": self.shift, "scale": self.scale}
