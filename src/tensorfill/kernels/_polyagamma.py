"""Polya-Gamma random numbers, which make logistic likelihoods normal (Polson, Scott, Windle 2013).

omega ~ PG(b, c) is a sum of Gamma(b) variables, omega = sum_k g_k / d_k with d_k = 2 pi^2 (k - 1/2)^2 + c^2 / 2. The
first terms are drawn; what is left is nearly constant, and a shifted gamma with its mean, variance and third cumulant
stands for it. From b = `WHOLE` on the sum itself is so close to such a variable that no term is drawn apart: its fourth
cumulant is within 1.2 % (c = 0) of the true one.
"""

from __future__ import annotations

import math

import numpy as np

from tensorfill.kernels._numba import inner, jit

WHOLE = 8.0  # b from which the whole sum is one shifted gamma
TERMS = 2  # terms drawn one by one below it
# ln cosh sqrt(y) = sum_j SERIES[j] y^(j + 1), used for c < 1 (y < 1/4), where the closed forms lose digits
SERIES = (
    1 / 2, -1 / 12, 1 / 45, -17 / 2520, 31 / 14175, -691 / 935550, 10922 / 42567525, -929569 / 10216206000,
    3202291 / 97692469875,
)  # fmt: skip
# In u = c^2 / 2: f(u) = sum_k 1 / d_k is the derivative of ln cosh sqrt(u / 2). f, f', f'', highest power first.
F1, F2, F3 = (np.polyder([*[a / 2.0 ** (j + 1) for j, a in enumerate(SERIES)][::-1], 0.0], m) for m in (1, 2, 3))


@jit
def power_sums(c: float) -> tuple[float, float, float]:
    """sum_k 1 / d_k^j for j = 1, 2, 3: cumulants of PG(b, c) are these times b, b, 2 b. c >= 0."""
    if c < 1:
        u = 0.5 * c * c
        s1 = s2 = s3 = 0.0
        for j in range(len(F1)):
            s1 = s1 * u + F1[j]
        for j in range(len(F2)):
            s2 = s2 * u + F2[j]
        for j in range(len(F3)):
            s3 = s3 * u + F3[j]
        return s1, -s2, 0.5 * s3
    T = math.tanh(0.5 * c)
    S = 1 - T * T
    s1 = T / (2 * c)
    s2 = T / (2 * c**3) - S / (4 * c**2)
    s3 = 3 * T / (4 * c**5) - 3 * S / (8 * c**4) - T * S / (8 * c**3)
    return s1, s2, s3


@inner
def polya_gamma(b: float, c: float, rng: np.random.Generator) -> float:
    """One draw of PG(b, c), b > 0."""
    c = abs(c)
    s1, s2, s3 = power_sums(c)
    out = 0.0
    if b < WHOLE:
        for k in range(TERMS):
            d = 1 / (2 * math.pi**2 * (k + 0.5) ** 2 + 0.5 * c * c)
            out += d * (rng.standard_exponential() if b == 1 else rng.standard_gamma(b))
            s1, s2, s3 = s1 - d, s2 - d**2, s3 - d**3
    scale = s3 / s2  # shift + scale * Gamma(shape) with cumulants b s1, b s2, 2 b s3
    shape = b * s2 / scale**2
    return out + max(b * s1 + scale * (rng.standard_gamma(shape) - shape), 1e-300)
