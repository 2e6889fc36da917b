"""Inter-element priors: how the entries of a factor matrix hang together, mode by mode.

Design: each is a frozen dataclass on one factor A of shape (I_n, R), acting along the rows i (columns r are
independent). `value(A)` always; then `grad(A)` (smooth) or `prox(A, step)` (non-smooth, constraint), and for quadratic
ones `matrix(n)`, the symmetric sparse Q with value = 1/2 trace(A' Q A).
`2.0 * p` scales, `p + q` adds: quadratics add their matrices, smooth + non-smooth splits into grad and prox, two
non-smooth ones are refused with a sentence (the prox of a sum is not the sum of proxes) save for those that compose.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tensorfill.registry import Registry
from tensorfill.typing import Array

INTERELEMENT: Registry[InterElementPrior] = Registry("inter-element prior")


def nonnegative_number(owner: str, what: str, given: Any) -> float:
    """`given` as a plain float, or a sentence: it must be finite and >= 0."""
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0.0):
        msg = f"{what} of {owner} must be a finite number >= 0; got {given!r}."
        raise ValueError(msg)
    return number


@dataclass(frozen=True)
class InterElementPrior:
    """A penalty on one factor matrix A (I_n, R)."""

    name: ClassVar[str]
    # NumPy scalars then hand `np.float64(2) * p` over to __rmul__ instead of making an object array.
    __array_ufunc__: ClassVar[None] = None
    prox_order: ClassVar[int | None] = None  # place in a chain of proxes that is the prox of a sum; see `chain_proxes`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A name of its own, until it is registered under another: never that of the class it derives from.
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def value(self, A: Array) -> float:
        """The penalty; inf where a constraint is broken."""
        raise NotImplementedError

    if TYPE_CHECKING:  # optional methods, discovered by `has`; not there unless a subclass brings them

        def grad(self, A: Array) -> Array:
            """Smooth priors: derivative of `value`, (I_n, R), in the dtype of A; a new array, the caller's own."""

        def prox(self, A: Array, step: float) -> Array:
            """Proximal priors: argmin_Z  value(Z) + |Z - A|^2 / (2 step), (I_n, R), in the dtype of A.

            step >= 0; at 0 the nearest point whose value is finite: A itself, or A moved inside a constraint.
            """

        def matrix(self, n: int) -> Any:
            """Quadratic priors: the symmetric sparse Q (n, n) with value = 1/2 tr(A' Q A)."""

    def has(self, what: str) -> bool:
        """Does this prior offer the optional method `what` ("grad", "prox", "matrix")?"""
        return callable(getattr(self, what, None))

    @property
    def smooth(self) -> InterElementPrior | None:
        """The part with a gradient (all of it, or some terms of a sum), or None."""
        return self if self.has("grad") else None

    @property
    def nonsmooth(self) -> InterElementPrior | None:
        """The part that must go through its prox, or None."""
        return None if self.has("grad") else self

    @property
    def bounds(self) -> tuple[float, float]:
        """Interval that every entry of A must stay in."""
        return (-np.inf, np.inf)

    @property
    def only_bounds(self) -> bool:
        """Does it nothing but keep every entry of A within `bounds`?"""
        return False

    def merge_with(self, other: Any) -> InterElementPrior:
        """Their sum as one prior of the same kind, for kinds with a `prox_order`."""
        raise NotImplementedError

    def couples(self, n: int) -> bool:
        """Does this prior tie the rows of a factor with n rows together, so that observed ones determine the others?"""
        if self.has("matrix"):
            Q = self.matrix(n).tocoo()
            return bool((Q.data[Q.row != Q.col] != 0).any())
        # a penalty that acts on each entry by itself has one value for a column of ones and for the unit columns
        few = min(n, 8)
        together, apart = self.value(np.ones((few, 1))), self.value(np.eye(few))
        return bool(np.isfinite(together) and np.isfinite(apart) and not np.isclose(together, apart))

    def settings(self) -> dict[str, Any]:
        """Name and parameters, JSON-able; `interelement_from_settings` makes the same prior of them."""
        return {"name": self.name, **dataclasses.asdict(self)}

    def scaled(self, factor: float) -> InterElementPrior:
        """`factor` times this prior; `factor * p` calls it with a float >= 0."""
        return Scaled(factor, self)

    def __mul__(self, factor: float) -> InterElementPrior:
        if isinstance(factor, InterElementPrior):
            return NotImplemented
        return self.scaled(nonnegative_number(type(self).__name__, "the factor in front", factor))

    __rmul__ = __mul__

    def __add__(self, other: InterElementPrior) -> InterElementPrior:
        if not isinstance(other, InterElementPrior):
            return NotImplemented
        return Sum((self, other))

    def __radd__(self, other: Any) -> InterElementPrior:
        # sum([p, q]) begins with 0 + p
        return self if isinstance(other, int) and other == 0 else NotImplemented


@dataclass(frozen=True)
class Weighted(InterElementPrior):
    """A prior that is `rho` times something: scaling it scales rho."""

    rho: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", nonnegative_number(type(self).__name__, "rho", self.rho))

    def scaled(self, factor: float) -> InterElementPrior:
        return dataclasses.replace(self, rho=factor * self.rho)

    def merge_with(self, other: Weighted) -> InterElementPrior:
        return dataclasses.replace(self, rho=self.rho + other.rho)


@dataclass(frozen=True)
class Scaled(InterElementPrior):
    """`factor` times a prior that has no weight of its own to scale (those with a rho scale it instead)."""

    name = "scaled"

    factor: float
    prior: InterElementPrior

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", nonnegative_number("Scaled", "factor", self.factor))

    def has(self, what: str) -> bool:
        return self.prior.has(what)

    def value(self, A: Array) -> float:
        """The multiple; 0 times a broken constraint is 0."""
        return self.factor * self.prior.value(A) if self.factor else 0.0

    def grad(self, A: Array) -> Array:
        return self.factor * self.prior.grad(A)

    def prox(self, A: Array, step: float) -> Array:
        """The prior's own prox with a step `factor` times as long."""
        return self.prior.prox(A, self.factor * float(step)) if self.factor else A.copy()

    def matrix(self, n: int) -> Any:
        return self.factor * self.prior.matrix(n)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.prior.bounds if self.factor else (-np.inf, np.inf)

    def scaled(self, factor: float) -> InterElementPrior:
        return Scaled(factor * self.factor, self.prior)

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, "factor": self.factor, "prior": self.prior.settings()}


@dataclass(frozen=True)
class Sum(InterElementPrior):
    """Several priors on one factor.

    Smooth terms act through `smooth.grad`, the others through `nonsmooth.prox`. The sum itself has a gradient or a
    matrix if every term has one, and a prox if no term is smooth.
    """

    name = "sum"

    terms: tuple[InterElementPrior, ...]

    def __post_init__(self) -> None:
        flat: list[InterElementPrior] = []
        for term in self.terms:
            flat.extend(term.terms if isinstance(term, Sum) else (term,))
        object.__setattr__(self, "terms", tuple(flat))
        if not flat:
            msg = "Sum must have at least one term; got none."
            raise ValueError(msg)
        nonsmooth = self._nonsmooth_terms
        if nonsmooth:
            chain_proxes(nonsmooth)  # refuses, before any iteration, what does not compose

    @property
    def _smooth_terms(self) -> list[InterElementPrior]:
        return [term for term in self.terms if term.has("grad")]

    @property
    def _nonsmooth_terms(self) -> list[InterElementPrior]:
        return [term for term in self.terms if not term.has("grad")]

    def has(self, what: str) -> bool:
        return all(term.has(what) for term in self.terms) and (what != "prox" or not self._smooth_terms)

    def value(self, A: Array) -> float:
        return sum(term.value(A) for term in self.terms)

    def grad(self, A: Array) -> Array:
        G = self.terms[0].grad(A)  # a new array, ours to change
        for term in self.terms[1:]:
            G += term.grad(A)
        return G

    def prox(self, A: Array, step: float) -> Array:
        """The proxes of `chain_proxes`, one after the other."""
        for term in chain_proxes(self.terms):
            A = term.prox(A, step)
        return A

    def matrix(self, n: int) -> Any:
        Q = self.terms[0].matrix(n)
        for term in self.terms[1:]:
            Q = Q + term.matrix(n)
        return Q

    @property
    def smooth(self) -> InterElementPrior | None:
        return _sum_of(self._smooth_terms)

    @property
    def nonsmooth(self) -> InterElementPrior | None:
        return _sum_of(self._nonsmooth_terms)

    @property
    def bounds(self) -> tuple[float, float]:
        ends = [term.bounds for term in self.terms]
        return max(low for low, _ in ends), min(high for _, high in ends)

    @property
    def only_bounds(self) -> bool:
        return all(term.only_bounds for term in self.terms)

    def scaled(self, factor: float) -> InterElementPrior:
        return Sum(tuple(term.scaled(factor) for term in self.terms))

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, "terms": [term.settings() for term in self.terms]}


def _sum_of(terms: list[InterElementPrior]) -> InterElementPrior | None:
    """Nothing, the one term, or the sum."""
    return Sum(tuple(terms)) if len(terms) > 1 else next(iter(terms), None)


def chain_proxes(terms: Sequence[InterElementPrior]) -> list[InterElementPrior]:
    """Return non-smooth terms as priors whose proxes, one after the other, are the prox of their sum; or a sentence.

    Terms of one kind merge, and the kinds follow in their `prox_order`: total variation, L1, then the interval.
    """
    if len(terms) == 1:
        return list(terms)
    strange = [term for term in terms if term.prox_order is None]
    if strange:
        others = " and ".join(type(term).__name__ for term in terms if term is not strange[0])
        msg = (
            f"{type(strange[0]).__name__} cannot be added to {others}: the prox of a sum is not made of the proxes, "
            f"save for TotalVariation, L1, NonNegative and Box. Put one of them on another mode, or use a smooth prior."
        )
        raise ValueError(msg)
    orders = sorted({term.prox_order for term in terms if term.prox_order is not None})
    return [reduce(lambda a, b: a.merge_with(b), (t for t in terms if t.prox_order == k)) for k in orders]


def interelement_from_settings(settings: Mapping[str, Any]) -> InterElementPrior:
    """The prior whose `settings()` these are: a registered one, a sum or a multiple."""
    given = dict(settings)
    name = given.pop("name", None)
    if name is None:
        msg = (
            f"settings of an inter-element prior must have a 'name', one of {', '.join(INTERELEMENT)}, sum, scaled; "
            f"got {sorted(given)}."
        )
        raise ValueError(msg)
    if name == Sum.name:
        return Sum(tuple(interelement_from_settings(term) for term in given["terms"]))
    if name == Scaled.name:
        return Scaled(given["factor"], interelement_from_settings(given["prior"]))
    return INTERELEMENT[name](**given)
