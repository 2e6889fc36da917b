"""Checks of settings that several methods share."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


def check_above(method: Any, low: float, *names: str, included: bool = False, most: float = math.inf) -> None:
    """Raise a sentence unless every named setting is a finite number > low (>= low if `included`), and <= most; or
    None, where its type admits that. Whole numbers that NumPy has no type for become floats, unless the setting is to
    be whole.
    """
    sign = ">=" if included else ">"
    for name in names:
        value = getattr(method, name)
        if value is None:
            continue
        fits = isinstance(value, Real) and math.isfinite(value)
        if not fits or not (value >= low if included else value > low):
            msg = f"{name} of method {method.name!r} must be a number {sign} {low:g}; got {value!r}."
            raise ValueError(msg)
        if value > most:
            msg = f"{name} of method {method.name!r} must be at most {most:g}; got {value!r}."
            raise ValueError(msg)
        if isinstance(value, int) and value >= 2**63 and not isinstance(getattr(type(method), name, None), int):
            object.__setattr__(method, name, float(value))


def check_whole(holder: Any, low: int, *names: str, most: int | None = None) -> None:
    """Raise a sentence unless every named setting is a whole number >= low, and <= most if there is such a bound; or
    None, where its type admits that. Those of NumPy's small types become Python's own, which have no end.
    """
    for name in names:
        value = getattr(holder, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
            msg = f"{name} must be a whole number >= {low}; got {value!r}."
            raise ValueError(msg)
        if most is not None and int(value) > most:
            msg = f"{name} must be at most {most:,}; got {value!r}."
            raise ValueError(msg)
        object.__setattr__(holder, name, int(value))


def check_one_of(method: Any, name: str, *options: str) -> None:
    """Raise a sentence unless the named setting is one of `options`."""
    value = getattr(method, name)
    if value not in options:
        msg = f"{name} of method {method.name!r} must be one of {', '.join(options)}; got {value!r}."
        raise ValueError(msg)


def keep_as_tuples(method: Any, *names: str) -> None:
    """Turn the named settings, sequences of numbers or None, into tuples: lists and arrays must not change later."""
    for name in names:
        value = getattr(method, name)
        if value is not None:
            plain = tuple(v.item() if hasattr(v, "item") else v for v in value)
            object.__setattr__(method, name, plain)
