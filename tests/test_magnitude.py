"""The unit of the data is of no account: kilometres or femtometres, the answer is the same in its unit."""

import re
import warnings
from functools import cache

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.show.summary import misfit

SCALES = [1e300, 1e200, 1e-200, 1e-300]


def table():
    """Positive, nearly of rank 2, with gaps and an extreme or two."""
    rng = np.random.default_rng(3)
    T = np.einsum("ir,jr,kr->ijk", *(rng.uniform(0.3, 1.0, (n, 2)) for n in (10, 9, 5)))
    T *= np.exp(0.05 * rng.normal(size=T.shape))
    return np.where(rng.random(T.shape) < 0.3, np.nan, T)


def wave():
    """Smooth along both modes."""
    y, x = np.mgrid[0:24, 0:26]
    T = 2 + np.sin(x / 4) * np.cos(y / 5)
    return np.where(np.random.default_rng(1).random(T.shape) < 0.3, np.nan, T)


def settings(method):
    """Little work, this is about numbers and not accuracy; and what cannot be seen in the table."""
    own = {"seasonal": {"period": 3}, "components": {"modes": (0, 1), "smooth": (0, 1)}}
    rank = {"rank": 3} if "rank" in tfl.METHODS[method].__dataclass_fields__ else {}
    few = 1 if method in tfl.MODELS else 5  # after many steps between their many minima, roundings show
    return {"max_iter": few, **rank, **own.get(method, {})}


@cache
def estimate(method, scale):
    T = wave() if method == "field" else table()
    done = tfl.complete(scale * T, method=method, **settings(method))
    assert np.isfinite(done.estimate).all()
    return np.asarray(done.estimate, dtype=np.float64) / scale


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("method", [name for name in tfl.METHODS if name != "exact"])  # the table has noise
def test_scaled_data_give_the_scaled_answer(method, scale):
    plain = estimate(method, 1.0)
    if method == "trees":  # a rounding moves a split
        scale = 2.0 ** round(np.log2(scale))
    np.testing.assert_allclose(estimate(method, scale), plain, rtol=1e-6, atol=1e-6 * np.abs(plain).max())


@pytest.mark.parametrize("power", [-20, -3, 12])
def test_the_papers_method_gives_the_same_in_every_unit(power):
    """Data times 2^-20 gave zeros, "converged"."""
    T, kw = np.rint(100 * table()), {"method": "sptc", "rank": 3, "max_iter": 20}
    plain, scaled = tfl.complete(T, **kw), tfl.complete(np.ldexp(T, power), **kw)
    assert np.array_equal(np.ldexp(plain.estimate, power), scaled.estimate)
    assert scaled.status is plain.status
    assert np.nanmax(np.abs(plain.estimate - T)) < 0.5 * np.nanmax(T)


@pytest.mark.parametrize("order", ["sequential", "together"])
def test_the_papers_method_takes_pictures_as_they_are(order, rng):
    """A picture whose largest value is 209 was brightened by a fifth, so that alpha and rho were not the paper's."""
    T, seen = rng.integers(0, 210, (12, 10, 3)).astype(float), rng.random((12, 10, 3)) < 0.7
    kw = {"mask": seen, "method": "sptc", "rank": 4, "max_iter": 30, "alpha": 1e-4, "order": order}
    named, given = (tfl.complete(T, prior=prior, **kw).estimate for prior in ("poisson", tfl.Poisson()))
    assert np.array_equal(named, given)


@pytest.mark.parametrize("scale", SCALES)
def test_scaled_data_have_scaled_errors_and_intervals(scale):
    kw = {"method": "halrtc", "max_iter": 5, "error_bars": 0.9}
    plain, done = tfl.complete(table(), **kw), tfl.complete(scale * table(), **kw)
    assert done.error / scale == pytest.approx(plain.error, rel=1e-6)
    for got, expected in zip(done.interval, plain.interval, strict=True):
        np.testing.assert_allclose(got / scale, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", SCALES)
def test_the_imputer_scales_too(scale):
    imputer = pytest.importorskip("tensorfill.sklearn").TensorImputer(rank=1, max_iter=5)
    X = table()[..., 0]
    plain, seen = imputer.fit_transform(X), ~np.isnan(X)
    filled = imputer.fit_transform(scale * X)
    assert np.array_equal(filled[seen], (scale * X)[seen])
    np.testing.assert_allclose(filled / scale, plain, rtol=1e-6)
    assert np.isfinite(imputer.score(scale * X))


def test_the_sentence_about_huge_numbers_is_finite(rng):
    """It said: a standard deviation of inf."""
    T = rng.normal(size=(12, 8)) * 1e200
    T[2, 3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = tfl.complete(T)
        assert re.search(r"standard deviation of the data: .*e\+(200|199)\)", done.quality)
        assert np.isfinite(misfit(done)).all()


@pytest.mark.parametrize("method", tfl.METHODS)
def test_entries_near_the_largest_float_are_a_sentence_about_the_data(method):
    """Some methods answered inf, others NaN, and solvers failed in an assertion."""
    T, largest = table(), np.finfo(float).max
    T[tuple(np.argwhere(~np.isnan(T))[5])] = -largest if method != "sptc" else largest
    with pytest.raises(ValueError, match=r"values must be below 1\.1e\+307 in size.*got -?1\.79.*e\+308 at index"):
        tfl.complete(T, method=method)


@pytest.mark.parametrize("scale", SCALES)
def test_one_column_in_another_unit_by_hundreds_of_powers(scale):
    """It was refused for the floor of a prior that nobody had chosen."""
    X = np.outer(np.linspace(1, 2, 14), np.linspace(1, 2, 5))
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    X[:, 0] *= scale
    filled = np.asarray(tfl.complete(X, effort="quick").estimate)
    assert np.isfinite(filled).all()
    np.testing.assert_array_less(np.abs(filled).max(axis=0), 2 * np.nanmax(np.abs(X), axis=0))


def test_equal_numbers_of_any_size_overflow_nowhere():
    T = np.full((14, 5), 1e300)
    T[3, 2] = np.nan
    assert (tfl.complete(T).completed == 1e300).all()


@pytest.mark.parametrize(("solver", "scale"), [("newton", 1e300), ("onestep", 1e-300)])
def test_a_problem_of_ones_own_in_any_unit_comes_to_an_end(solver, scale):
    """Data go to a solver as they are: where squares overflow one failed in an assertion, where they vanish one went on
    looking for a step for minutes.
    """
    problem = tfl.Problem(tfl.observe(scale * table()), rank=2, prior="normal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        done = tfl.solve(problem, solver, stopping=tfl.Stopping(max_iter=2))
    assert np.isfinite(done.estimate).all()
