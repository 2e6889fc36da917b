"""Losses, slopes and curvatures against many digits, where float64 would lose its own."""

import math

import numpy as np
import pytest

import tensorfill as tfl

mp = pytest.importorskip("mpmath")


def phi(z):
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def between(low, high):
    """P(low <= standard normal <= high), from the side on which it does not cancel."""
    return mp.ncdf(-low) - mp.ncdf(-high) if low + high > 0 else mp.ncdf(high) - mp.ncdf(low)


def ordinal(t, x, p):
    cuts = [-mp.inf, *map(mp.mpf, p.cuts), mp.inf]
    k = int(t) - p.first
    return -mp.log(between(cuts[k] - x, cuts[k + 1] - x))


def truncated(t, x, p):
    low, high, t = mp.mpf(p.low), mp.mpf(p.high), mp.mpf(t)
    inside = between((low - x) / p.sigma, (high - x) / p.sigma)
    return (t - x) ** 2 / (2 * mp.mpf(p.sigma) ** 2) + mp.log(inside)


def beta(t, x, p):
    m = 1 / (1 + mp.exp(-x))
    a, b, t = m * p.phi, (1 - m) * p.phi, mp.mpf(t)
    return mp.log(mp.beta(a, b)) - a * mp.log(t) - b * mp.log(1 - t)


def zero_truncated(t, x, p):
    return mp.log(mp.expm1(x)) - t * mp.log(x)


def zero_inflated(t, x, p):
    return -mp.log(p.pi + (1 - mp.mpf(p.pi)) * mp.exp(-x)) if t == 0 else x - t * mp.log(x)


CASES = [
    (tfl.Ordinal((-1.0, 0.0, 1.0)), ordinal, [0, 1, 2, 3], [-9.0, -0.3, 0.0, 2.2, 14.0, 38.0]),
    (tfl.Ordinal((0.0, 1e-3, 0.4), 1), ordinal, [1, 2, 3, 4], [-20.0, 0.0, 0.2, 30.0]),
    (tfl.TruncatedNormal(), truncated, [0.1, 0.5, 0.99], [-30.0, -3.0, 0.2, 0.5, 0.9, 8.0, 12.0]),
    (tfl.TruncatedNormal(0.0, 100.0, 1.0), truncated, [3.0, 60.0], [-60.0, 2.0, 50.0, 99.0, 141.0]),
    (tfl.Beta(10.0), beta, [0.02, 0.6, 0.999], [-30.0, -2.0, 0.0, 4.0, 30.0]),
    (tfl.Beta(0.5), beta, [0.02, 0.6], [-3.0, 0.7]),
    (tfl.ZeroTruncatedPoisson(floor=1e-9), zero_truncated, [1, 2, 40], [1e-6, 0.01, 0.0999, 0.1001, 3.0, 80.0]),
    (tfl.ZeroInflatedPoisson(0.2), zero_inflated, [0, 1, 12], [0.01, 1.0, 30.0]),
]


@pytest.mark.parametrize(("prior", "exact", "data", "values"), CASES, ids=[repr(case[0]) for case in CASES])
def test_many_digits(prior, exact, data, values):
    with mp.workdps(60):
        for t in data:
            for x in values:
                one = (np.array([float(t)]), np.array([x]))
                f = lambda z, t=t: exact(t, z, prior)  # noqa: E731
                expected = [float(mp.diff(f, mp.mpf(x), n)) for n in (1, 2)]
                rise = float(f(mp.mpf(x)) - f(mp.mpf(values[1])))  # terms without x may be dropped
                base = prior.nll(one[0], np.array([values[1]]))[0]
                assert prior.nll(*one)[0] - base == pytest.approx(rise, rel=1e-10, abs=1e-10)
                assert prior.grad(*one)[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-11)
                assert prior.curv(*one)[0] == pytest.approx(expected[1], rel=1e-7, abs=1e-11)


@pytest.mark.parametrize(("a", "b"), [(-1.0, 2.0), (3.0, 3.1), (-40.0, -38.5), (8.0, np.inf), (-np.inf, -12.0)])
def test_truncated_draws(a, b):
    from tensorfill.numerical.truncated import truncated_quantile

    rng = np.random.default_rng(0)
    draws = truncated_quantile(rng.random(40_000), np.full(40_000, a), np.full(40_000, b))
    assert draws.min() >= a - 1e-12
    assert draws.max() <= b + 1e-12
    with mp.workdps(60):
        low, high = mp.mpf(a), mp.mpf(b)
        expected = float((phi(low) - phi(high)) / between(low, high))
    assert draws.mean() == pytest.approx(expected, abs=5 * draws.std() / math.sqrt(len(draws)))


# -- parameters learned from data ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "name", "value"),
    [
        (tfl.Ordinal((-1.2, 0.3, 0.5, 2.0), 1), "cuts", (-1.2, 0.3, 0.5, 2.0)),
        (tfl.ZeroInflatedPoisson(0.6), "pi", 0.6),
        (tfl.Beta(25.0), "phi", 25.0),
        (tfl.Normal(3.0), "sigma", 3.0),
        (tfl.StudentT(50.0, 2.0), "scale", 2.0),
    ],
    ids=lambda v: repr(v) if hasattr(v, "nll") else "",
)
def test_parameters_are_learned_at_model_values(truth, name, value):
    rng = np.random.default_rng(0)
    x = rng.normal(1.0, 0.8, 40_000)
    x = np.exp(x) if truth.x_domain.low == 0 else x
    t = truth.sample(x, rng)
    first = type(truth)().fitted(t)
    learned = first.fitted(t, x)
    assert getattr(learned, name) == pytest.approx(value, rel=0.05, abs=0.05)
    assert learned.nll(t, x).sum() <= first.nll(t, x).sum() or name != "cuts"


def test_weights_count_as_repeated_data():
    rng = np.random.default_rng(1)
    t, w = rng.integers(1, 5, 300).astype(float), rng.integers(1, 4, 300).astype(float)
    x = rng.normal(size=300)
    prior = tfl.Ordinal().fitted(t)
    many = np.repeat(t, w.astype(int)), np.repeat(x, w.astype(int))
    np.testing.assert_allclose(prior.fitted(t, x, w).cuts, prior.fitted(*many).cuts, atol=1e-4)


def test_ends_of_a_scale_are_recognised():
    rng = np.random.default_rng(0)
    percent = rng.uniform(3, 97, 200)
    assert (tfl.TruncatedNormal().fitted(percent).low, tfl.TruncatedNormal().fitted(percent).high) == (0.0, 100.0)
    touched = tfl.Beta().fitted(np.append(rng.uniform(0.2, 0.8, 99), 1.0))
    assert touched.squeeze == pytest.approx(0.5 / 101)


def test_ordinal_probabilities():
    prior = tfl.Ordinal((-0.5, 0.5, 2.0), 1)
    x = np.array([-1.0, 0.3, 9.0])
    chance = prior.probabilities(x)
    assert chance.shape == (3, 4)
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    np.testing.assert_allclose(chance @ [1, 2, 3, 4], prior.mean(x))
    np.testing.assert_allclose(-np.log(chance[1, 1]), prior.nll(np.array([2.0]), x[1:2])[0])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: tfl.Ordinal((1.0, 1.0)), r"cuts must be one or more rising numbers for Ordinal; got \(1.0, 1.0\)"),
        (lambda: tfl.Ordinal(()), "cuts must be"),
        (lambda: tfl.Ordinal(first=0.5), "first must be a whole number for Ordinal; got 0.5"),
        (lambda: tfl.TruncatedNormal(1.0, 0.0), "low must be less than high for TruncatedNormal; got 1.0 and 0.0"),
        (lambda: tfl.TruncatedNormal(sigma=3.0), "sigma must be at most the range, 1, for TruncatedNormal; got 3.0"),
        (lambda: tfl.ZeroInflatedPoisson(1.0), "pi must be a number > 0 and < 1 for ZeroInflatedPoisson; got 1.0"),
        (lambda: tfl.Beta(squeeze=0.5), "squeeze must be a number > 0 and < 0.5 for Beta; got 0.5"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
