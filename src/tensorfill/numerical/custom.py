"""A numerical prior of the user's own, from nothing but its loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from tensorfill.numerical.base import PRIORS, REAL, Array, Interval
from tensorfill.numerical.check import check_numerical_prior, derivative, entries, steps
from tensorfill.numerical.expression import as_entries, compile_expression
from tensorfill.numerical.extend import Extended

Loss = Callable[[Array, Array], Array]
Domain = Interval | Sequence[float | None] | Mapping[str, Any]
COMPLEX_STEP = 1e-30  # the complex step: its square vanishes beside 1, so the derivative is exact to rounding


@PRIORS.register("custom", listed=False)
@dataclass(frozen=True, init=False, repr=False)
class Custom(Extended):
    """A loss given as text or as a function; the derivative is found if it is not given.

    Distribution: whatever has the loss as its -ln p.
    Link: what `mean` inverts; the identity unless `mean` is given.
    Loss: nll(t, x), terms without x may be left out.
    Domain: t_domain and x_domain, an Interval or a pair (low, high) with None for no limit; continued outside
    x_domain from `floor` inside it.
    Mean: `mean(x)`, by default x.

    Parameters
    ----------
    nll
        Text such as "x - t*log(x)", differentiated for you (it can be saved); or a NumPy function of two arrays,
        differentiated by complex steps where they agree with differences, by extrapolated differences elsewhere.
    grad
        Derivative of a function `nll` in x, a NumPy function of (t, x): faster.
    mean
        Text in x, or a function of x; it must be monotone.
    check
        Try the loss on data from its domains first, and refuse it with a sentence where it is wrong.
    """

    loss: str | Loss
    slope: Loss | None
    t_domain: Interval = REAL  # a default, so that the field hides the property it replaces
    x_domain: Interval = REAL
    expected: str | Callable[[Array], Array] | None = None

    def __init__(
        self,
        nll: str | Loss,
        grad: Loss | None = None,
        *,
        t_domain: Domain = REAL,
        x_domain: Domain = REAL,
        mean: str | Callable[[Array], Array] | None = None,
        floor: float = 1e-3,
        check: bool = True,
    ) -> None:
        if isinstance(nll, str) and grad is not None:
            msg = "A loss given as text is differentiated for you: leave grad out, or give nll as a function too."
            raise TypeError(msg)
        if not isinstance(nll, str) and not callable(nll):
            msg = f"nll must be text such as 'x - t*log(x)' or a function of (t, x); got {nll!r}."
            raise TypeError(msg)
        given = {
            "loss": nll,
            "slope": grad,
            "t_domain": _interval(t_domain, "t_domain"),
            "x_domain": _interval(x_domain, "x_domain"),
            "expected": mean,
            "floor": floor,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self.__post_init__()
        _ = self._loss_and_slope, self._expected  # refuses what is no formula
        if check:
            try:
                check_numerical_prior(self)
            except AssertionError as err:
                raise ValueError(str(err)) from None

    def __repr__(self) -> str:
        loss = repr(self.loss) if isinstance(self.loss, str) else _name_of(self.loss)
        return f"Custom({loss}, t: {self.t_domain}, x: {self.x_domain})"

    @cached_property
    def _loss_and_slope(self) -> Sequence[Loss]:
        if isinstance(self.loss, str):
            return compile_expression(self.loss)
        return self.loss, self.slope or self._found_slope()

    def _nll(self, t: Array, z: Array) -> Array:
        return as_entries(self._loss_and_slope[0](t, z), z)

    def _grad(self, t: Array, z: Array) -> Array:
        return as_entries(self._loss_and_slope[1](t, z), z)

    @cached_property
    def _expected(self) -> Callable[[Array], Array] | None:
        if isinstance(self.expected, str):
            text = compile_expression(self.expected)[0]
            return lambda x: text(x, x)
        return self.expected

    def _found_slope(self) -> Loss:
        """The derivative of a bare function, in float64, by the better of two ways."""
        loss: Loss = self.loss  # type: ignore[assignment]  # a function here: text is compiled before

        def differences(t: Array, z: Array) -> Array:
            t, wide = t.astype(float), z.astype(float)
            step = np.minimum(0.5 * steps(self, wide), 0.05 * (1 + np.abs(wide)))
            return derivative(lambda u: loss(t, u), wide, step, levels=6)[0].astype(z.dtype)

        def complex_step(t: Array, z: Array) -> Array:
            return (np.imag(loss(t.astype(float), z + COMPLEX_STEP * 1j)) / COMPLEX_STEP).astype(z.dtype)

        t, x = entries(self, np.random.default_rng(1))
        x = np.clip(x, *self._edges())
        with np.errstate(all="ignore"):
            expected = differences(t, x)
            try:
                got = as_entries(complex_step(t, x), x)
            except (TypeError, ValueError):  # a function that does not take complex numbers
                return differences
            # abs, real and their like take complex numbers and silently lose the derivative: then they disagree.
            usual = np.abs(expected) + np.median(np.abs(expected))
            agree = np.abs(got - expected) <= 1e-5 * usual
        return complex_step if np.mean(agree) > 0.97 else differences

    def mean(self, x: Array) -> Array:
        low, high = self.x_domain.low, self.x_domain.high
        inside = np.clip(x, low, high)
        return inside if self._expected is None else as_entries(self._expected(inside), inside)

    def start(self, mean: float) -> float:
        """The x whose mean is `mean`, by bisection where it is not x itself."""
        if self.expected is None:
            return self._start(mean)
        low, high = self.x_domain.low, self.x_domain.high
        spread = np.sinh(np.linspace(-14, 14, 2001))  # up to 6e5 either way, dense about 0
        grid = np.unique(np.clip(spread, low, high))
        for _ in range(6):  # each pass narrows the bracket about the nearest point a thousandfold
            with np.errstate(all="ignore"):
                miss = np.abs(self.mean(grid) - mean)
            best = int(np.argmin(np.where(np.isfinite(miss), miss, np.inf)))
            grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 2001)
        return self._start(grid[1000])

    @property
    def savable(self) -> bool:
        return isinstance(self.loss, str) and (self.expected is None or isinstance(self.expected, str))

    def settings(self) -> dict[str, Any]:
        if not self.savable:
            msg = (
                f"{self!r} is made of Python functions, which cannot be saved. "
                "Give nll (and mean) as text, such as 'x - t*log(x)', or keep the script that makes it."
            )
            raise ValueError(msg)
        return {"nll": self.loss, "mean": self.expected, "floor": self.floor, "check": False, **self._domains()}

    def described(self) -> dict[str, Any]:
        if self.savable:
            return super().described()
        texts = {"nll": _name_of(self.loss), "mean": None if self.expected is None else _name_of(self.expected)}
        return {"name": self.name, **texts, "floor": self.floor, **self._domains()}

    def _domains(self) -> dict[str, Any]:
        return {name: _interval_settings(getattr(self, name)) for name in ("t_domain", "x_domain")}

    def __getstate__(self) -> dict[str, Any]:
        """What was given: compiled functions are made again. Functions given must be importable."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _name_of(given: str | Callable[..., Any]) -> str:
    """A formula as it is, a function by its name."""
    return given if isinstance(given, str) else str(getattr(given, "__name__", "function"))


def _interval(given: Domain, name: str) -> Interval:
    """An Interval from what the user may write."""
    if isinstance(given, Interval):
        return given
    try:
        parts = dict(given) if isinstance(given, Mapping) else dict(zip(("low", "high"), given, strict=True))
        low, high = parts.pop("low", None), parts.pop("high", None)
        found = Interval(-np.inf if low is None else float(low), np.inf if high is None else float(high), **parts)
    except (TypeError, ValueError) as err:
        msg = f"{name} must be an Interval or a pair (low, high), None for no limit; got {given!r}."
        raise TypeError(msg) from err
    if not found.low < found.high:
        msg = f"{name} must be a pair (low, high) with low < high; got {given!r}."
        raise ValueError(msg)
    return found


def _interval_settings(domain: Interval) -> dict[str, Any]:
    """An Interval as JSON, which knows no infinity."""
    limits = {k: v if np.isfinite(v) else None for k, v in (("low", domain.low), ("high", domain.high))}
    flags = ("low_inclusive", "high_inclusive", "whole")
    return {**limits, **{flag: getattr(domain, flag) for flag in flags}}
