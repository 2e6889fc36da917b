"""Sums and multiples of inter-element priors, and priors re-made from their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.interelement.base import INTERELEMENT, Array, InterElementPrior, nonnegative_number
from tensorfill.interelement.nonsmooth import stacked
from tensorfill.interelement.quadratic import Ridge, solve_shifted


@dataclass(frozen=True)
class Scaled(InterElementPrior):
    """`factor` times a prior that has no weight of its own to scale (those with a rho scale it instead)."""

    name = "scaled"

    factor: float
    prior: InterElementPrior

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", nonnegative_number("Scaled", "factor", self.factor))

    def has(self, what: str) -> bool:
        """What the prior has, its multiple has."""
        return self.prior.has(what)

    def value(self, A: Array) -> float:
        """The multiple; 0 times a broken constraint is 0."""
        return self.factor * self.prior.value(A) if self.factor else 0.0

    def grad(self, A: Array) -> Array:
        """The multiple of the gradient."""
        return self.factor * self.prior.grad(A)

    def value_and_grad(self, A: Array) -> tuple[float, Array]:
        """Both multiples."""
        value, G = self.prior.value_and_grad(A)
        return self.factor * value, self.factor * G

    def prox(self, A: Array, step: float) -> Array:
        """The prior's own prox with a step `factor` times as long."""
        return self.prior.prox(A, self.factor * float(step)) if self.factor else A.copy()

    def matrix(self, n: int) -> Any:
        """The multiple of the matrix."""
        return self.factor * self.prior.matrix(n)

    @property
    def bounds(self) -> tuple[float, float]:
        """The prior's own."""
        return self.prior.bounds if self.factor else (-np.inf, np.inf)

    def scaled(self, factor: float) -> InterElementPrior:
        """One multiple of a multiple."""
        return Scaled(factor * self.factor, self.prior)

    def settings(self) -> dict[str, Any]:
        """The factor, and the prior's settings."""
        return {"name": self.name, "factor": self.factor, "prior": self.prior.settings()}


@dataclass(frozen=True)
class Sum(InterElementPrior):
    """Several priors on one factor.

    Smooth terms act through `smooth.grad`, the others through `nonsmooth.prox`. The sum itself has a gradient if every
    term has one, a matrix if every term has one, and a prox if all terms are quadratic, or all non-smooth ones compose
    and the smooth ones are ridges.
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
            stacked(nonsmooth)  # refuses, before any iteration, what does not compose

    @property
    def _smooth_terms(self) -> list[InterElementPrior]:
        return [term for term in self.terms if term.has("grad")]

    @property
    def _nonsmooth_terms(self) -> list[InterElementPrior]:
        return [term for term in self.terms if not term.has("grad")]

    def has(self, what: str) -> bool:
        """As the terms allow."""
        if what == "prox":
            smooth, nonsmooth = self._smooth_terms, self._nonsmooth_terms
            if not nonsmooth:
                return self.has("matrix")
            return all(isinstance(t, Ridge) for t in smooth) and all(t.has("prox") for t in nonsmooth)
        if what in ("grad", "matrix"):
            return all(term.has(what) for term in self.terms)
        return super().has(what)

    def value(self, A: Array) -> float:
        """The sum."""
        return sum(term.value(A) for term in self.terms)

    def grad(self, A: Array) -> Array:
        """The sum of the gradients."""
        G = self.terms[0].grad(A)  # a new array, ours to change
        for term in self.terms[1:]:
            G += term.grad(A)
        return G

    def value_and_grad(self, A: Array) -> tuple[float, Array]:
        """Both sums."""
        total, G = self.terms[0].value_and_grad(A)
        for term in self.terms[1:]:
            value, more = term.value_and_grad(A)
            total += value
            G += more
        return total, G

    def prox(self, A: Array, step: float) -> Array:
        """One linear solve for quadratics; the proxes of `stacked` one after the other for non-smooth terms."""
        if not self.has("prox"):
            names = " + ".join(type(term).__name__ for term in self.terms)
            msg = f"{names} has no prox in one step. Use its parts: smooth.grad and nonsmooth.prox."
            raise TypeError(msg)
        nonsmooth = self._nonsmooth_terms
        if not nonsmooth:
            return solve_shifted(self, A, step)
        # rho/2 |Z|^2 + |Z - A|^2 / (2 step) is a parabola around A / (1 + step rho), with step / (1 + step rho)
        shrink = 1.0 / (1.0 + float(step) * sum(term.rho for term in self._smooth_terms if isinstance(term, Ridge)))
        Z = A * shrink
        for term in stacked(nonsmooth):
            Z = term.prox(Z, float(step) * shrink)
        return Z

    def matrix(self, n: int) -> Any:
        """The sum of the matrices."""
        Q = self.terms[0].matrix(n)
        for term in self.terms[1:]:
            Q = Q + term.matrix(n)
        return Q

    @property
    def smooth(self) -> InterElementPrior | None:
        """The terms with a gradient."""
        return _sum_of(self._smooth_terms)

    @property
    def nonsmooth(self) -> InterElementPrior | None:
        """The terms without."""
        return _sum_of(self._nonsmooth_terms)

    @property
    def bounds(self) -> tuple[float, float]:
        """What all terms allow."""
        ends = [term.bounds for term in self.terms]
        return max(low for low, _ in ends), min(high for _, high in ends)

    @property
    def only_bounds(self) -> bool:
        """If no term does anything else; the sum of bounds is their intersection."""
        return all(term.only_bounds for term in self.terms)

    def scaled(self, factor: float) -> InterElementPrior:
        """Every term scaled."""
        return Sum(tuple(term.scaled(factor) for term in self.terms))

    def settings(self) -> dict[str, Any]:
        """The terms' settings."""
        return {"name": self.name, "terms": [term.settings() for term in self.terms]}


def _sum_of(terms: list[InterElementPrior]) -> InterElementPrior | None:
    """Nothing, the one term, or the sum."""
    return Sum(tuple(terms)) if len(terms) > 1 else next(iter(terms), None)


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
