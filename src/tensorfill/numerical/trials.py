"""What priors are tried on: entries drawn from their domains, and derivatives found without formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorfill.numerical.base import Array, Interval, NumericalPrior

SIZE = 400  # entries drawn for the derivatives
EPS = np.finfo(float).eps


def derivative(f: Callable[[Array], Array], x: Array, step: Array, levels: int = 8) -> tuple[Array, Array]:
    """d f / dx entry by entry: central differences, halved steps, Richardson's extrapolation (Ridders 1982).

    x, step: (n,) float64. Returns the value of the tableau with the smallest estimated error, and that error.
    """
    best, error = np.zeros_like(x), np.full_like(x, np.inf)
    row: list[Array] = []
    for level in range(levels):
        h = step / 2**level
        up, down = x + h, x - h
        right, left = f(up), f(down)
        new = [(right - left) / (up - down)]
        rounding = EPS * np.maximum(np.abs(right), np.abs(left)) / h
        for k, previous in enumerate(row):
            new.append(new[k] + (new[k] - previous) / (4.0 ** (k + 1) - 1))
            guess = np.maximum(np.abs(new[k + 1] - new[k]), np.abs(new[k + 1] - previous)) + rounding
            better = guess < error
            best, error = np.where(better, new[k + 1], best), np.where(better, guess, error)
        row = new
    return best, error


def draw(domain: Interval, rng: np.random.Generator, n: int) -> Array:
    """(n,) float64 values inside the domain, of many magnitudes; its edges too where they belong to it."""
    size = 10.0 ** rng.uniform(-2, 2, n)
    if np.isfinite(domain.low) and np.isfinite(domain.high):
        values = domain.low + (domain.high - domain.low) * rng.uniform(0.02, 0.98, n)
    elif np.isfinite(domain.low):
        values = domain.low + size
    elif np.isfinite(domain.high):
        values = domain.high - size
    else:
        values = size * rng.normal(size=n)
    if domain.whole:
        values = np.round(values)
    for k, edge in enumerate((domain.low, domain.high)):
        if np.isfinite(edge) and (domain.low_inclusive, domain.high_inclusive)[k]:
            values[k::10] = edge
    return values


def entries(prior: NumericalPrior, rng: np.random.Generator, n: int = SIZE) -> tuple[Array, Array]:
    """Pairs (t, x), (n,) each: x all over its domain, near the datum's own x, and about the ends of the domain."""
    t = draw(prior.t_domain, rng, n)
    x = draw(prior.x_domain, rng, n)
    floor = getattr(prior, "floor", 1e-3)
    third = n // 3
    for i in range(third):
        x[i] = prior.start(float(t[i])) * (1 + 0.3 * rng.normal()) + 0.1 * rng.normal()
    ends = [end for end in (prior.x_domain.low, prior.x_domain.high) if np.isfinite(end)]
    for k, end in enumerate(ends):
        chosen = slice(third + k, 2 * third, 2)
        x[chosen] = end + floor * rng.uniform(-5, 5, len(x[chosen]))
    return t, x


def steps(prior: NumericalPrior, x: Array) -> Array:
    """First steps of the differences: a tenth of the way to the nearest end of the domain, or of the scale of x."""
    step = 0.1 * (1 + np.abs(x))
    for end in (prior.x_domain.low, prior.x_domain.high):
        if np.isfinite(end):
            step = np.minimum(step, 0.1 * np.abs(x - end) + 1e-9)
    return step
