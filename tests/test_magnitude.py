"""The unit of the data is of no account: kilometres or femtometres, the answer is the same in its unit."""

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


def settings(method):
    """Little work: this is about numbers, not accuracy."""
    return {"max_iter": 5, **({"rank": 3} if "rank" in tfl.METHODS[method].__dataclass_fields__ else {})}


@cache
def estimate(method, scale):
    done = tfl.complete(scale * table(), method=method, **settings(method))
    assert np.isfinite(done.estimate).all()
    return np.asarray(done.estimate, dtype=np.float64) / scale


# counts have a unit, and the weights of the paper's method are for it
HAVE_A_UNIT = {"sptc": pytest.mark.xfail(strict=False, reason="Poisson with fixed weights depends on the unit")}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("method", [pytest.param(m, marks=HAVE_A_UNIT.get(m, ())) for m in tfl.METHODS])
def test_scaled_data_give_the_scaled_answer(method, scale):
    plain = estimate(method, 1.0)
    np.testing.assert_allclose(estimate(method, scale), plain, rtol=1e-6, atol=1e-6 * np.abs(plain).max())


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
    """It said: the data spread by inf."""
    T = rng.normal(size=(12, 8)) * 1e200
    T[2, 3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = tfl.complete(T)
        assert "e+200" in done.quality.partition("spread by")[2] or "e+199" in done.quality.partition("spread by")[2]
        assert np.isfinite(misfit(done)).all()
