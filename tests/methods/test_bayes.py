"""Method bayes: what a user sees of the posterior."""

import json

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.methods.bayes import Bayes, sampler_rank
from tensorfill.models.emission import Emission
from tensorfill.models.posterior import Posterior

FEW = {"draws": 30, "burn": 20}


def fit_posterior(obs, run=None, **settings):
    """(posterior, outcome)."""
    return Bayes(**settings).sample(obs, run)


def table(shape=(25, 20, 6), rank=2, seed=0):
    """A low-rank signal (sd 1) with main effects along the first mode."""
    rng = np.random.default_rng(seed)
    factors = [rng.normal(size=(n, rank)) for n in shape]
    X = np.einsum("ir,jr,kr->ijk", *factors) + rng.normal(size=(shape[0], 1, 1))
    return X / X.std(), rng.random(shape) < 0.6, rng


def data(kind):
    X, mask, rng = table()
    if kind == "normal":
        return X + 0.1 * rng.normal(size=X.shape), mask, X
    if kind == "student-t":
        return X + 0.1 * rng.standard_t(2, size=X.shape), mask, X
    if kind == "bernoulli-logit":
        return (rng.random(X.shape) < 1 / (1 + np.exp(-3 * X))).astype(float), mask, 1 / (1 + np.exp(-3 * X))
    mean = np.exp(1.5 + 0.7 * X)
    return rng.poisson(mean * rng.gamma(5, 0.2, size=X.shape)).astype(float), mask, mean


@pytest.mark.parametrize("prior", ["normal", "student-t", "bernoulli-logit", "negative-binomial"])
def test_better_than_the_mean_and_honest_about_it(prior):
    T, mask, truth = data(prior)
    obs = Observations.from_dense(T, mask)
    posterior, outcome = fit_posterior(obs, Run(seed=1), prior=prior, rank=6, **FEW)
    assert outcome.status.ok
    hidden = np.argwhere(~mask)
    mean = posterior.at(hidden)
    error = np.sqrt(np.mean((mean - truth[~mask]) ** 2))
    assert error < (0.65 if prior == "bernoulli-logit" else 0.5) * truth.std()
    np.testing.assert_allclose(posterior.full()[~mask], mean, rtol=1e-4, atol=1e-4)
    low, high = posterior.quantile_at(hidden, [0.05, 0.95])
    inside = np.mean((T[~mask] >= low) & (T[~mask] <= high))
    assert inside > 0.84
    if prior in ("normal", "negative-binomial"):
        assert inside < 0.97
        z = (T[~mask] - mean) / posterior.std_at(hidden)
        assert 0.7 < np.std(z) < 1.3
    drawn = posterior.sample(60, np.random.default_rng(2), hidden)
    assert drawn.shape == (60, len(hidden))
    assert obs.check_domain(tfl.PRIORS[prior]().t_domain, prior) is None
    np.testing.assert_allclose(drawn.mean(), mean.mean(), atol=0.1 * T.std())


def test_square_roots_of_counts():
    T, mask, truth = data("counts")
    obs = Observations.from_dense(10 * T, mask)
    posterior, _ = fit_posterior(obs, rank=6, **FEW)
    assert posterior.emission.transform == "sqrt"
    assert posterior.numbers["likelihood"] == "normal on square roots"  # gaps of ten between them bend nothing
    assert posterior.unit is None
    hidden = np.argwhere(~mask)
    assert np.sqrt(np.mean((posterior.at(hidden) - 10 * truth[~mask]) ** 2)) < 0.5 * 10 * truth.std()
    with pytest.raises(ValueError, match="values must be >= 0"):
        fit_posterior(Observations.from_dense(T - 50, mask), transform="sqrt")


def test_counts_that_scatter_in_proportion_are_drawn_in_two_units(tmp_path):
    X, _, rng = table()
    mask = np.broadcast_to(rng.random((25, 20, 1)) < 0.7, X.shape)  # whole fibres are missing
    mean = 60 * np.exp(X)
    T = rng.poisson(mean * rng.gamma(20, 1 / 20, size=X.shape)).astype(float)
    done = tfl.complete(T, mask=mask, method="bayes", rank=6, **FEW)
    posterior, hidden = done.answer, np.argwhere(~mask)
    assert "square roots and normal on square roots that turn into logarithms" in done.settings["likelihood"]
    assert [e.transform for e in posterior.others] == ["asinh"]
    assert 5 < posterior.others[0].bend < 100
    assert np.bincount(posterior.unit).tolist() == [30, 30]
    off = np.mean(np.abs(posterior.at(hidden) - mean[~mask]) / mean[~mask])
    alone = fit_posterior(Observations.from_dense(T, mask), rank=6, transform="sqrt", **FEW)[0]
    assert off < 0.9 * np.mean(np.abs(alone.at(hidden) - mean[~mask]) / mean[~mask])
    np.testing.assert_allclose(np.mean(done.sample(20), axis=0)[~mask].mean(), posterior.at(hidden).mean(), rtol=0.1)
    assert done.settings["rhat"] < 3  # in one unit
    single = tfl.complete(T, mask=rng.random(X.shape) < 0.7, method="bayes", rank=6, **FEW)
    assert single.settings["likelihood"] == "normal on square roots"
    done.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(tfl.Completion.load(tmp_path / "run.npz").estimate, done.estimate)


def test_no_mean_far_beyond_its_slices():
    T, mask, _ = data("counts")
    obs = Observations.from_dense(T, mask)
    posterior, _ = fit_posterior(obs, prior="poisson", rank=6, **FEW)
    assert posterior.ceiling.min() >= 2 * T[mask].mean()
    held = Posterior(
        obs.shape, posterior.draws, posterior.parameters, posterior.emission, ceiling=np.full(sum(obs.shape), 1.5)
    )
    hidden = np.argwhere(~mask)
    assert held.at(hidden).max() == held.full().max() == 1.5
    assert posterior.at(hidden).max() > 1.5


@pytest.mark.parametrize("family", ["normal", "student-t", "binomial", "negative-binomial", "ordinal"])
@pytest.mark.parametrize("transform", ["none", "sqrt", "asinh", "log"])
def test_mean_and_variance_are_those_of_the_draws(family, transform):
    if family in ("binomial", "negative-binomial", "ordinal") and transform != "none":
        pytest.skip("these have no transform")
    emission = Emission(
        family, transform, level=2.0, scale=0.3, shift=0.375, trials=7, degrees=9.0, low=1.0, cuts=(-0.5, 0.4, 1.0)
    )
    x = np.array([-1.0, 0.0, 1.5])
    t = emission.sample(np.broadcast_to(x, (200_000, 3)), 0.8, np.random.default_rng(0))
    exact = not (family == "student-t" and transform in ("asinh", "log"))  # a log-t has no mean
    np.testing.assert_allclose(emission.mean(x, 0.8), t.mean(axis=0), rtol=0.01 if exact else 0.05)
    if exact:
        rtol = 0.1 if transform == "sqrt" else 0.04
        np.testing.assert_allclose(emission.variance(x, 0.8), t.var(axis=0), rtol=rtol)


def test_smooth_modes_bridge_slices_never_seen():
    rng = np.random.default_rng(3)
    time = np.linspace(0, 6, 60)
    X = np.sin(time[:, None] + rng.uniform(0, 6, 30)) * rng.uniform(0.5, 2, 30)
    mask = rng.random(X.shape) < 0.7
    mask[[20, 21, 40]] = False
    obs = Observations.from_dense(X + 0.05 * rng.normal(size=X.shape), mask)
    error = {}
    for smooth in ((), (0,), None):
        posterior, _ = fit_posterior(obs, rank=5, smooth=smooth, **FEW)
        error[smooth] = np.sqrt(np.mean((posterior.full() - X)[[20, 21, 40]] ** 2)) / X.std()
    assert error[()] > 0.8
    assert error[(0,)] < 0.3
    assert error[None] < 0.3


def test_rank_matters_little():
    T, mask, truth = data("normal")
    obs = Observations.from_dense(T, mask)
    error = [np.std((fit_posterior(obs, rank=r)[0].full() - truth)[~mask]) for r in (3, 12)]
    assert error[1] < 1.35 * error[0]


def test_weights_count():
    X, mask, rng = table()
    noisy = rng.random(X.shape) < 0.5
    T = X + np.where(noisy, 2.0, 0.1) * rng.normal(size=X.shape)
    error = []
    for weights in (None, np.where(noisy, 0.0025, 1.0)):
        obs = Observations.from_dense(T, mask, weights=weights)
        error.append(np.std((fit_posterior(obs, rank=4, smooth=(), **FEW)[0].full() - X)[~mask]))
    assert error[1] < 0.5 * error[0]


def test_kept_draws_are_packed_and_come_back():
    T, mask, _ = data("normal")
    posterior, _ = fit_posterior(Observations.from_dense(T, mask), rank=3, keep=7, draws=10, burn=2)
    assert len(posterior.draws) == 7
    assert posterior.rhat > 0.9
    assert posterior.ess > 0
    again = Posterior.unpack(*posterior.pack())
    where = np.argwhere(~mask)[:50]
    assert np.array_equal(again.at(where), posterior.at(where))
    assert np.array_equal(again.std_at(where), posterior.std_at(where))


def test_through_the_front_door(tmp_path):
    T, mask, truth = data("normal")
    done = tfl.complete(T, mask=mask, method="bayes", rank=4, draws=20, burn=10)
    assert np.array_equal(done.completed[mask], T[mask])
    assert np.std((done.estimate - truth)[~mask]) < 0.4 * truth.std()
    done.save(tmp_path / "done.npz")
    again = tfl.Completion.load(tmp_path / "done.npz")
    assert np.array_equal(again.estimate, done.estimate)


def test_columns_with_units_of_their_own_are_fitted_by_their_spread(rng):
    scale, level = 10.0 ** np.arange(-2, 4), np.array([3.0, 0.0, 50.0, 7.0, 900.0, 100_000.0])
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6))
    T = level * scale**0.5 + scale * (X + 0.1 * rng.normal(size=X.shape))
    mask = rng.random(T.shape) < 0.8
    done = tfl.complete(T, mask=mask, dims=("row", "column"), method="bayes", rank=3, draws=40, burn=40)
    assert done.settings["units"] == "column"
    off = ((done.estimate - T) / (scale * X.std(axis=0)))[~mask]
    assert np.sqrt(np.mean(off**2)) < 0.5
    low, high = done.interval
    assert 0.8 < np.mean(((low <= T) & (high >= T))[~mask]) < 0.99
    assert np.array(done.sample(2)).shape == (2, 60, 6)
    assert done.std[~mask].min() > 0
    assert "R-hat" in repr(done)
    assert tfl.complete(T, mask=mask, method="bayes", prior="normal", rank=1, draws=2, burn=1).settings["units"] is None


def test_settings_are_checked():
    for bad in ({"rank": -1}, {"draws": 0}, {"transform": "cube"}, {"rank": 0, "effects": False}):
        with pytest.raises(ValueError, match="must"):
            Bayes(**bad)
    T = np.array([[1.0, -2.0], [3.0, np.nan]])
    with pytest.raises(TypeError, match="smooth must be a list of modes"):
        tfl.complete(T, method="bayes", smooth={0: 1.0})
    assert tfl.complete(T, method="bayes", smooth=[0], draws=2, burn=1, rank=1).settings["smooth"] == [0]
    obs = Observations.from_dense(T)
    with pytest.raises(ValueError, match="values must be"):
        fit_posterior(obs, prior="poisson")


@pytest.mark.parametrize("shape", [(3, 1), (2, 2), (1, 1, 4)])
def test_tiny_tables(shape):
    T = np.arange(np.prod(shape), dtype=float).reshape(shape)
    T.reshape(-1)[0] = np.nan
    for constant in (False, True):
        values = np.where(np.isnan(T), np.nan, 7.0) if constant else T
        posterior, outcome = fit_posterior(Observations.from_dense(values), rank=2, draws=5, burn=5)
        assert outcome.status.ok
        assert np.isfinite(posterior.full()).all()


def test_main_effects_that_are_not_there_cost_nothing():
    """A table of low rank has no effect of a row beside it; the rank is at most the number of columns."""
    rng = np.random.default_rng(0)
    T = rng.normal(size=(200, 8)) @ (0.5 ** np.arange(8)[:, None] * rng.normal(size=(8, 8)))
    O = np.where(rng.random(T.shape) < 0.2, np.nan, T + 0.05 * rng.normal(size=T.shape))  # noqa: E741
    error = {}
    for effects in (False, True):
        done = tfl.complete(O, method="bayes", smooth=[], effects=effects, seed=0)
        assert done.settings["rank"] == 8
        error[effects] = np.sqrt(np.mean((done.estimate - T)[np.isnan(O)] ** 2))
    assert error[True] < 1.05 * error[False]


def test_ordered_levels_are_drawn_as_such():
    """Levels that are far from even steps of the hidden quantity: better than as numbers, and never outside."""
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 30))
    T = 1.0 + np.digitize(hidden / hidden.std() + 0.2 * rng.normal(size=hidden.shape), (-2.0, 1.0, 1.3, 1.6))
    hide = rng.random(T.shape) < 0.3
    obs = Observations.from_dense(T, ~hide)
    error = {}
    for prior in ("normal", "ordinal"):
        posterior, _ = fit_posterior(obs, prior=prior, smooth=[])
        error[prior] = np.sqrt(np.mean((posterior.at(np.argwhere(hide)) - T[hide]) ** 2))
    assert error["ordinal"] < 0.9 * error["normal"]
    assert posterior.numbers["likelihood"] == "ordered probit"
    assert set(np.unique(posterior.sample(5, rng, np.argwhere(hide)))) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    arrays, rest = posterior.pack()
    assert Posterior.unpack(arrays, json.loads(json.dumps(rest))).emission == posterior.emission


@pytest.mark.parametrize(
    ("shape", "observed", "rank"),
    [((300, 8), 2000, 8), ((300, 80), 20000, 20), ((80, 25, 108), 129600, 80), ((80, 25, 108), 43200, 40)],
)
def test_the_rank_is_what_the_data_bear(shape, observed, rank):
    assert sampler_rank(shape, observed) == rank


def low_rank(shape, rank, seed=0):
    rng = np.random.default_rng(seed)
    X = np.einsum("ir,jr,kr->ijk", *(rng.normal(size=(n, rank)) for n in shape))
    return X / X.std(), rng


def test_slices_have_noise_of_their_own(tmp_path):
    X, rng = low_rank((20, 15, 12), 2)
    sd = np.geomspace(0.05, 0.8, 12)
    T, mask = X + sd * rng.normal(size=X.shape), rng.random(X.shape) > 0.4
    both = [tfl.complete(T, mask=mask, method="bayes", noise=noise, as_given=True) for noise in (None, 2)]
    errors = [np.sqrt(np.mean((done.estimate - X)[~mask] ** 2)) for done in both]
    assert errors[1] < 0.7 * errors[0]
    done = both[1]
    told = np.sqrt([np.mean(done.std[..., k][~mask[..., k]] ** 2) for k in range(12)])
    assert np.all(np.abs(np.log(told / sd)) < np.log(2))
    low, high = done.interval
    inside = (np.clip(T, low, high) == T)[~mask]
    assert 0.85 < inside.mean() < 0.95
    done.save(tmp_path / "run.npz")
    assert np.array_equal(tfl.Completion.load(tmp_path / "run.npz").std, done.std)


def test_slices_of_different_size_cost_nothing():
    """Slices of a tensor of low rank that differ in size are standardised; their noise, alike before, then differs."""
    X, rng = low_rank((30, 24, 20), 4)
    T, mask = X + 0.3 * rng.normal(size=X.shape), rng.random(X.shape) > 0.6
    errors = [
        np.sqrt(np.mean((tfl.complete(T, mask=mask, method="bayes", as_given=given).estimate - X)[~mask] ** 2))
        for given in (True, False)
    ]
    assert errors[1] < 1.1 * errors[0]
