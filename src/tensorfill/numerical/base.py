"""Numerical priors: what kind of number one entry is.

Design: a prior is a frozen dataclass of entry-wise NumPy functions of (t, x): datum and model value. It
never sees an index, a mask or a factor; it is called with observed entries only, as float32 or float64
arrays of one shape, and answers in the same dtype, in new memory. Its two domains validate data, clip
starting points and generate the test data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tensorfill.registry import Registry
from tensorfill.typing import Array


@dataclass(frozen=True)
class Interval:
    """The values a number may take: an interval, of reals or of whole numbers."""

    low: float = -np.inf
    high: float = np.inf
    low_inclusive: bool = True
    high_inclusive: bool = True
    whole: bool = False

    def includes(self, values: Array) -> NDArray[np.bool_]:
        """Entry-wise: is the value inside?"""
        inside = (values >= self.low) if self.low_inclusive else (values > self.low)
        inside &= (values <= self.high) if self.high_inclusive else (values < self.high)
        return inside & (values == np.floor(values)) if self.whole else inside

    def clip(self, values: Array, margin: float = 0.0) -> Array:
        """Values moved inside, at least `margin` from both ends."""
        return np.clip(values, self.low + margin, self.high - margin)

    @property
    def phrase(self) -> str:
        """The condition in words, as after "values must be"."""
        parts = ["whole numbers"] if self.whole else []
        if np.isfinite(self.low):
            parts.append(f"{'>=' if self.low_inclusive else '>'} {self.low:g}")
        if np.isfinite(self.high):
            parts.append(f"{'<=' if self.high_inclusive else '<'} {self.high:g}")
        return " and ".join(parts).replace("whole numbers and >", "whole numbers >") or "finite"

    def __str__(self) -> str:
        return self.phrase


REAL = Interval()
NONNEGATIVE = Interval(low=0.0)
POSITIVE = Interval(low=0.0, low_inclusive=False)
UNIT = Interval(low=0.0, high=1.0)
COUNTS = Interval(low=0.0, whole=True)


SQUARABLE = (1e-150, 1e150)  # squares of these, and one over them, are still numbers


KINDS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "positive": ("a number > 0", lambda v: v > 0),
    "real": ("a finite number", lambda v: True),
    "count": ("a whole number >= 1", lambda v: v >= 1 and v == np.floor(v)),
    "whole": ("a whole number", lambda v: v == np.floor(v)),
    "share": ("a number > 0 and < 1", lambda v: 0 < v < 1),
    "margin": ("a number > 0 and < 0.5", lambda v: 0 < v < 0.5),
}


def parameter(default: float, kind: str = "positive") -> Any:
    """A dataclass field holding a finite number, checked when the prior is made.

    kind: one of KINDS.
    """
    return field(default=default, metadata={"kind": kind})


def _number(prior: NumericalPrior, name: str, kind: str) -> float | int:
    """The parameter as a plain Python number, or a sentence."""
    low, high = SQUARABLE
    must, good = KINDS[kind]
    given = getattr(prior, name)
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if kind == "positive" and 0 < value < np.inf and not low <= value <= high:
        must, value = f"from {low:g} to {high:g}, so that its square is a number,", np.nan
    if not (np.isfinite(value) and good(value)):
        msg = f"{name} must be {must} for {type(prior).__name__}; got {given!r}."
        raise ValueError(msg)
    return int(value) if kind in ("count", "whole") else value


PRIORS: Registry[NumericalPrior] = Registry("prior")


def make_prior(given: Any) -> NumericalPrior:
    """A prior from its name, or from its name and settings as they are saved; one that is made already stays."""
    if isinstance(given, Mapping):
        return PRIORS[given["name"]](**{key: value for key, value in given.items() if key != "name"})
    return PRIORS.make(given)


@dataclass(frozen=True)
class NumericalPrior:
    """One entry's distribution p(t | x), as a loss in x.

    `nll` is -ln p with the terms that do not depend on x dropped, and `grad` its derivative in x. Outside
    `x_domain` both continue smoothly (once differentiable) and stay bounded below, so that factors may be
    signed.
    """

    name: ClassVar[str]
    location: ClassVar[bool] = False  # is only the difference t - x of account?
    canonical: ClassVar[bool] = False  # is the second derivative the same for every t?
    uniform: ClassVar[bool] = True  # is it the same prior for every entry?

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            kind = f.metadata.get("kind")
            if kind is not None:
                # A NumPy scalar would turn float32 entries into float64: keep plain Python numbers.
                object.__setattr__(self, f.name, _number(self, f.name, kind))

    @property
    def t_domain(self) -> Interval:
        """What a datum may be. A class attribute, or a property where it depends on a parameter."""
        return REAL

    @property
    def x_domain(self) -> Interval:
        """Where the model value belongs; losses continue outside."""
        return REAL

    @property
    def majoriser(self) -> tuple[float, float] | None:
        """(p, q) such that, for a factor entry a with old value o, the loss has a separable function above it whose
        derivative is P (a/o)^p - N (o/a)^q, with P and N the pulled-back parts of `split`; None without such a form.
        """
        return None

    def check(self, shape: Sequence[int]) -> None:
        """Refuse tensors of a shape that this prior is not made for."""

    def at(self, indices: Array) -> NumericalPrior:
        """The prior of the entries at the coordinates (k, N), in their order."""
        return self

    def groups(self, shape: tuple[int, ...]) -> list[tuple[NumericalPrior, Any]]:
        """(prior, index) of the entries of an array of that shape that share a prior."""
        return [(self, slice(None))]

    def nll(self, t: Array, x: Array) -> Array:
        """Loss of each entry, -ln p(t | x) of Eq. 4, Eq. 13; same shape and dtype as x."""
        raise NotImplementedError

    def grad(self, t: Array, x: Array) -> Array:
        """Derivative d nll / dx of each entry."""
        raise NotImplementedError

    def nll_and_grad(self, t: Array, x: Array) -> tuple[Array, Array]:
        """Both at once; override where they share costly work."""
        return self.nll(t, x), self.grad(t, x)

    if TYPE_CHECKING:  # optional methods, discovered by `has`; not there unless a subclass brings them

        def curv(self, t: Array, x: Array) -> Array:
            """Second derivative of each entry."""

        def split(self, t: Array, x: Array) -> tuple[Array, Array]:
            """(positive, negative), both >= 0, with grad = positive - negative for x > 0: for multiplicative steps."""

    def has(self, what: str) -> bool:
        """Does this prior offer the optional method `what` ("curv", "split", "sample", "quantile")?"""
        own = getattr(type(self), what, None)
        return callable(own) and own is not getattr(NumericalPrior, what, None)

    def mean(self, x: Array) -> Array:
        """E[t | x]: what a missing entry is filled with."""
        raise NotImplementedError

    def start(self, mean: float) -> float:
        """The x whose mean is `mean`: where constant starting models begin (inverse of `mean`)."""
        raise NotImplementedError

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        """Random data t around the model values x."""
        raise NotImplementedError

    def quantile(self, x: Array, q: float) -> Array:
        """The q-quantile of t given x."""
        raise NotImplementedError

    def fitted(self, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """Estimate the free parameters (scale, cuts, share of zeros, floor) from data t (k,), at the model values x
        (k,) or, without any, before there is a model. A prior that has none answers itself.
        """
        return self

    def fitted_at(self, indices: Array, t: Array, x: Array | None = None, weights: Array | None = None) -> Self:
        """As `fitted`, of data at the coordinates (k, N)."""
        return self.fitted(t, x, weights)

    @property
    def savable(self) -> bool:
        """Can `settings` describe it?"""
        return True

    def settings(self) -> dict[str, Any]:
        """The parameters, JSON-able, from which `PRIORS[name](**settings)` makes the same prior."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def described(self) -> dict[str, Any]:
        """Name and parameters for people to read, JSON-able also where `settings` refuses."""
        return {"name": self.name, **self.settings()}
