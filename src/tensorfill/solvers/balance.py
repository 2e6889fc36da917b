"""The scales of components, moved between modes to where inter-element priors cost least; X stays the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorfill.solvers.rowsystems import RowCoupling
from tensorfill.typing import Array


def balance(ties: Sequence[RowCoupling], factors: Sequence[Array], norms: Array | None = None) -> list[Array]:
    """The same model of X with the least penalty: scales are moved from mode to mode within each component.

    Alternating steps, which see one mode at a time, are slow to find that. With y_n the scale of a component in mode n,
    q_n its quadratic penalty there and p_n (`norms`, (N, R)) one that grows like y, the least sum of q y^2 + p y at
    product 1 has 2 q y^2 + p y the same in all modes. Where a mode bears no penalty, or bounds forbid it, nothing
    changes.
    """
    if not may_rescale(ties):
        return list(factors)
    q = np.array([0.5 * np.einsum("ir,ir->r", A, t.Q @ A) for A, t in zip(factors, ties, strict=True)])
    scale = balance_scales(q, np.zeros_like(q) if norms is None else norms)
    return [A * y for A, y in zip(factors, scale, strict=True)]


def may_rescale(ties: Sequence[RowCoupling]) -> bool:
    """Do factors stay within their bounds whatever their scale? So if all finite ends of the bounds are 0."""
    return all(not np.isfinite(end) or end == 0 for t in ties for end in (t.low, t.high))


def balance_scales(q: Array, p: Array) -> Array:
    """y (N, R), of product 1 in each column, with 2 q y^2 + p y alike; 1 in columns where both are 0 somewhere."""
    at_one = 2 * q + p
    good = (at_one > 0).all(axis=0) & np.isfinite(at_one).all(axis=0)
    q, p, at_one = (np.where(good, a, 1.0) for a in (q, p, at_one))
    if not p[:, good].any():  # all quadratic: the geometric mean
        return np.where(good, np.sqrt(np.exp(np.log(q).mean(axis=0)) / q), 1.0)
    low, high = np.log(at_one.min(axis=0)), np.log(at_one.max(axis=0))  # all y <= 1, and all y >= 1

    def scales(level: Array) -> Array:
        level = np.exp(level)
        return 2 * level / (p + np.sqrt(p * p + 8 * q * level))

    for _ in range(60):
        middle = 0.5 * (low + high)
        below = np.log(scales(middle)).sum(axis=0) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    y = scales(0.5 * (low + high))
    return np.where(good, y, 1.0)
