"""Small problems for the grids: every registered prior, with data drawn from it."""

from itertools import cycle

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.numerical.base import PRIORS

SETTINGS = {"binomial": {"n": 5}, "gamma": {"k": 2.0}, "negative-binomial": {"r": 3.0}, "huber": {"delta": 0.3}}
SETTINGS["rescaled"] = {"prior": "normal", "shift": 50.0, "scale": 8.0}


# Priors that differ from slice to slice of mode 1, over and over
MIXED = {
    "per-slice": ("rescaled", "poisson-log", "bernoulli-logit", "ordinal", "beta", "student-t"),
    "per-slice, positive": ("poisson", "gamma", "zero-inflated-poisson", "zero-truncated-poisson", "bernoulli-odds"),
}


def make_prior(name, shape=(5, 4, 3)):
    if name in MIXED:
        return tfl.PerSlice(1, tuple(make_prior(k) for k, _ in zip(cycle(MIXED[name]), range(shape[1]), strict=False)))
    return PRIORS[name](**SETTINGS.get(name, {}))


def model_values(prior, size, rng):
    """x well inside the prior's domain."""
    domain = prior.x_domain
    low = domain.low if np.isfinite(domain.low) else -1.0
    high = domain.high if np.isfinite(domain.high) else low + 3.0
    return rng.uniform(low + 0.15 * (high - low), high - 0.15 * (high - low), size)


def make_problem(prior, shape=(5, 4, 3), rank=2, share=0.6, seed=0, weighted=False, **others):
    """(problem, factors) with data sampled around a low-rank mean."""
    rng = np.random.default_rng(seed)
    prior = make_prior(prior, shape) if isinstance(prior, str) else prior
    N = len(shape)
    target = model_values(prior, 1, rng)[0]
    size = (abs(target) / rank) ** (1 / N)
    factors = [size * rng.uniform(0.8, 1.2, (n, rank)) for n in shape]
    if target < 0:
        factors[0] *= -1
    X = tfl.CP(factors).full()
    mask = rng.random(shape) < share
    for n, length in enumerate(shape):  # no empty slices: warnings are errors here
        for i in range(length):
            if not np.take(mask, i, axis=n).any():
                mask[tuple(i if m == n else 0 for m in range(N))] = True
    T = np.where(mask, prior.sample(np.where(mask, X, X[mask].mean()), rng), np.nan)
    weights = rng.uniform(0.5, 2.0, shape) if weighted else None
    obs = tfl.Observations.from_dense(T, mask, weights=weights)
    return tfl.Problem(obs, rank=rank, prior=prior, dtype=np.float64, quiet=True, **others), factors


def numeric_gradient(f, A, h):
    """Central differences of f at A, entry by entry, with one Richardson step: error O(h^4)."""
    out = np.zeros_like(A)
    for i in np.ndindex(A.shape):
        step = np.zeros_like(A)
        step[i] = h
        wide = (f(A + step) - f(A - step)) / (2 * h)
        narrow = (f(A + step / 2) - f(A - step / 2)) / h
        out[i] = (4 * narrow - wide) / 3
    return out


def check_gradient(problem, factors, h=1e-4):
    value, grads = problem.value_and_grad(factors)
    assert value == pytest.approx(problem.value(factors), rel=1e-12)
    for n, A in enumerate(factors):

        def f(Z, n=n):
            return problem.value([Z if m == n else B for m, B in enumerate(factors)])

        expected = numeric_gradient(f, A, h)
        scale = max(1.0, float(np.abs(expected).max()))
        assert np.abs(grads[n] - expected).max() < 1e-6 * scale
