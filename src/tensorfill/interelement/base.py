"""Inter-element priors: how the entries of a factor matrix hang together, mode by mode.

Design: each is a frozen dataclass on one factor A of shape (I_n, R), acting along the rows i (columns r are
independent). `value(A)` always; then either `grad(A)` (smooth), or `prox(A, step)` (non-smooth, constraint), or both,
and for quadratic ones `matrix(n)`, the symmetric sparse Q with value = 1/2 trace(A' Q A).
`2.0 * p` scales, `p + q` adds: quadratics add their matrices, smooth + non-smooth splits into grad and prox, two
non-smooth ones are refused with a sentence (the prox of a sum is not the sum of proxes) save for those that compose.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.registry import Registry

Array = NDArray[Any]

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

    def value_and_grad(self, A: Array) -> tuple[float, Array]:
        """Both at once; override where they share costly work."""
        return self.value(A), self.grad(A)

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

    @classmethod
    def examples(cls, n: int) -> tuple[InterElementPrior, ...]:
        """Instances that suit factors of n rows; the test grids run over them."""
        return (cls(),)

    def scaled(self, factor: float) -> InterElementPrior:
        """`factor` times this prior; `factor * p` calls it with a float >= 0."""
        from tensorfill.interelement.algebra import Scaled

        return Scaled(factor, self)

    def __mul__(self, factor: float) -> InterElementPrior:
        if isinstance(factor, InterElementPrior):
            return NotImplemented
        return self.scaled(nonnegative_number(type(self).__name__, "the factor in front", factor))

    __rmul__ = __mul__

    def __add__(self, other: InterElementPrior) -> InterElementPrior:
        if not isinstance(other, InterElementPrior):
            return NotImplemented
        from tensorfill.interelement.algebra import Sum

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
        """The same prior with `factor` times the weight."""
        return dataclasses.replace(self, rho=factor * self.rho)
