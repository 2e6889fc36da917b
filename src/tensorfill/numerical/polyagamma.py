"""Polya-Gamma random numbers: what makes logistic likelihoods normal (Polson, Scott, Windle 2013).

omega ~ PG(b, c) is a sum of Gamma(b) variables, omega = sum_k g_k / d_k with d_k = 2 pi^2 (k - 1/2)^2 + c^2 / 2. The
first terms are drawn; what is left is nearly constant, and a shifted gamma with its mean, variance and third cumulant
stands for it. From b = `WHOLE` on the sum itself is so close to such a variable that no term is drawn apart: its fourth
cumulant is within 1.2 % (c = 0) of the true one. Plain NumPy, so that a seed gives the same draws anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

WHOLE = 8.0  # b from which the whole sum is one shifted gamma
TERMS = 2  # terms drawn one by one below it
# ln cosh sqrt(y) = sum_j SERIES[j] y^(j + 1), used for c < 1 (y < 1/4), where the closed forms lose digits
SERIES = (
    1 / 2, -1 / 12, 1 / 45, -17 / 2520, 31 / 14175, -691 / 935550, 10922 / 42567525, -929569 / 10216206000,
    3202291 / 97692469875,
)  # fmt: skip
# In u = c^2 / 2: f(u) = sum_k 1 / d_k is the derivative of ln cosh sqrt(u / 2). f, f', f'', highest power first.
F1, F2, F3 = (np.polyder([*[a / 2.0 ** (j + 1) for j, a in enumerate(SERIES)][::-1], 0.0], m) for m in (1, 2, 3))


def power_sums(c: Array) -> tuple[Array, Array, Array]:
    """sum_k 1 / d_k^j for j = 1, 2, 3: cumulants of PG(b, c) are these times b, b, 2 b. c >= 0."""
    large = np.maximum(c, 1.0)
    T = np.tanh(0.5 * large)
    S = 1 - T * T
    s1 = T / (2 * large)
    s2 = T / (2 * large**3) - S / (4 * large**2)
    s3 = 3 * T / (4 * large**5) - 3 * S / (8 * large**4) - T * S / (8 * large**3)
    small = np.flatnonzero(c < 1)
    if small.size:
        u = 0.5 * c[small] ** 2
        s1[small], s2[small], s3[small] = np.polyval(F1, u), -np.polyval(F2, u), 0.5 * np.polyval(F3, u)
    return s1, s2, s3


def mean(b: Array, c: Array) -> Array:
    """E[omega]."""
    return b * power_sums(np.abs(c))[0]


def variance(b: Array, c: Array) -> Array:
    """Var[omega]."""
    return b * power_sums(np.abs(c))[1]


def sample(b: Array, c: Array, rng: np.random.Generator) -> Array:
    """Draws of PG(b, c), entry by entry: b > 0 (n,), c (n,)."""
    c = np.abs(c)
    out = np.empty(len(b))
    for chosen, terms in ((b < WHOLE, TERMS), (b >= WHOLE, 0)):
        if chosen.all():
            return _sample(b, c, terms, rng)
        out[chosen] = _sample(b[chosen], c[chosen], terms, rng)
    return out


def _sample(b: Array, c: Array, terms: int, rng: np.random.Generator) -> Array:
    """Draws of PG(b, c) with the first `terms` of the sum drawn one by one. c >= 0."""
    s1, s2, s3 = power_sums(c)
    out = np.zeros(len(b))
    for k in range(terms):
        d = 1 / (2 * np.pi**2 * (k + 0.5) ** 2 + 0.5 * c * c)
        g = rng.standard_exponential(len(b)) if np.all(b == 1) else rng.standard_gamma(b)
        out += g * d
        s1, s2, s3 = s1 - d, s2 - d**2, s3 - d**3
    return out + _shifted_gamma(b, s1, s2, s3, rng)


def _shifted_gamma(b: Array, s1: Array, s2: Array, s3: Array, rng: np.random.Generator) -> Array:
    """shift + scale * Gamma(shape) with cumulants b s1, b s2, 2 b s3."""
    scale = s3 / s2
    shape = b * s2 / scale**2
    return np.maximum(b * s1 + scale * (rng.standard_gamma(shape) - shape), np.finfo(float).tiny)
