"""A prior of its own for every slice of one mode."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from problems import MIXED, make_prior, make_problem

import tensorfill as tfl
from tensorfill.numerical.base import PRIORS
from tensorfill.numerical.check import check_numerical_prior
from tensorfill.solvers.curvature import expand


@pytest.fixture
def table(rng):
    """60 people: an age, a number of visits, whether they smoke, stars from 1 to 5, a share; all of two traits."""
    a, b = rng.normal(size=(2, 60))
    columns = {
        "age": 45 + 9 * a + 3 * b + rng.normal(0, 2, 60),
        "visits": rng.poisson(np.exp(0.8 + 0.7 * b)),
        "smoker": rng.random(60) < 1 / (1 + np.exp(-2 * a + b)),
        "stars": tfl.Ordinal((-1.5, -0.5, 0.4, 1.2), 1).sample(1.5 * a - b, rng),
        "share": tfl.Beta(20.0).sample(a + 0.5 * b, rng),
    }
    frame = pd.DataFrame(columns).astype(float)
    return frame.mask(rng.random(frame.shape) < 0.2)


KINDS = {
    "age": "normal",
    "visits": "poisson-log",
    "smoker": "bernoulli-logit",
    "stars": "ordinal",
    "share": "beta",
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("layout", ["dense", "sampled"])
def test_the_objective_is_the_sum_of_those_of_the_slices(name, layout):
    problem, factors = make_problem(name, shape=(7, 6, 3), layout=layout, weighted=True)
    obs, prior = problem.observations, problem.prior
    value, grads = problem.value_and_grad(factors)
    total, sums = 0.0, [np.zeros_like(A) for A in factors]
    for i, part in enumerate(prior.priors):
        chosen = obs.subset(np.flatnonzero(obs.indices[:, 1] == i))
        one = tfl.Problem(chosen, rank=problem.rank, prior=part, layout=layout, dtype=np.float64, quiet=True)
        v, G = one.value_and_grad(factors)
        total += v
        sums = [S + g for S, g in zip(sums, G, strict=True)]
    assert value == pytest.approx(total, rel=1e-12)
    for got, expected in zip(grads, sums, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", MIXED)
def test_whole_tensors_and_lists_of_entries_agree(name, rng):
    prior = make_prior(name, (4, 9, 3))
    X = rng.uniform(0.1, 2, (4, 9, 3))
    T = prior.sample(X, rng)
    where = np.argwhere(np.ones(X.shape))[rng.permutation(X.size)]
    at, places = prior.at(where), tuple(where.T)
    for method in ("nll", "grad", "curv"):
        np.testing.assert_array_equal(getattr(prior, method)(T, X)[places], getattr(at, method)(T[places], X[places]))
    np.testing.assert_array_equal(prior.mean(X)[places], at.mean(X[places]))
    np.testing.assert_array_equal(prior.quantile(X, 0.3)[places], at.quantile(X[places], 0.3))
    for i, part in enumerate(prior.priors):
        assert part.t_domain.includes(T[:, i]).all()
        np.testing.assert_array_equal(prior.grad(T, X)[:, i], part.grad(T[:, i], X[:, i]))


@pytest.mark.parametrize("name", MIXED)
def test_float32_stays(name, rng):
    problem, factors = make_problem(name)
    small = tfl.Problem(problem.observations, rank=2, prior=problem.prior, dtype=np.float32, quiet=True)
    value, grads = small.value_and_grad(factors)
    assert all(G.dtype == np.float32 for G in grads)
    assert value == pytest.approx(problem.value(factors), rel=1e-4)


@pytest.mark.parametrize("name", MIXED)
def test_the_expansion_is_that_of_each_slice(name):
    problem, factors = make_problem(name, shape=(7, 6, 3))
    x, obs = problem.kernel.predict(factors), problem.observations
    g, c = expand(problem, x)
    for i, part in enumerate(problem.prior.priors):
        chosen = np.flatnonzero(obs.indices[:, 1] == i)
        one = tfl.Problem(obs.subset(chosen), rank=2, prior=part, dtype=np.float64, quiet=True)
        g_one, c_one = expand(one, x[chosen])
        np.testing.assert_allclose(g[chosen], g_one)
        np.testing.assert_allclose(c[chosen], c_one, rtol=1e-9, atol=1e-6)


def test_what_lies_under_the_mask_does_not_change_a_bit():
    problem, factors = make_problem("per-slice")
    obs = problem.observations
    again = tfl.Observations.from_dense(np.where(obs.mask, obs.dense(), 1e30), obs.mask)
    other = tfl.Problem(again, rank=2, prior=problem.prior, quiet=True)
    assert other.value(factors) == problem.value(factors)


@pytest.mark.parametrize("name", MIXED)
def test_copies(name):
    prior = make_prior(name)
    assert pickle.loads(pickle.dumps(prior)) == prior
    again = PRIORS["per-slice"](**json.loads(json.dumps(prior.settings())))
    assert again == prior
    assert hash(again) == hash(prior)


@pytest.mark.parametrize("other", [tfl.Normal(0.3), tfl.StudentT(), tfl.Beta(), tfl.Poisson()], ids=repr)
def test_rescaled_priors_hold_to_the_contract(other):
    check_numerical_prior(tfl.Rescaled(other, 20.0, 3.0))


# -- by the names of slices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["lbfgsb", "newton", "adam"])
def test_a_table_with_a_kind_for_every_column(table, solver):
    problem = tfl.Problem(
        tfl.observe(table), rank=3, prior=KINDS, interelement={0: tfl.Ridge(1.0), 1: tfl.Ridge(0.1)}, dtype=np.float64
    )
    assert [p.name for p in problem.prior.priors] == ["rescaled", *list(KINDS.values())[1:]]
    done = tfl.solve(problem, solver, init="means", stopping=tfl.Stopping(max_iter=60))
    estimate = pd.DataFrame(np.asarray(done.estimate), columns=table.columns)
    assert estimate["age"].between(0, 100).all()
    assert (estimate["visits"] >= 0).all()
    assert estimate[["smoker", "share"]].stack().between(0, 1).all()
    assert estimate["stars"].between(1, 5).all()
    known = table.notna()
    for column in table:  # the model says more than the mean
        error = ((estimate - table)[column][known[column]] ** 2).mean()
        assert error < table[column].var(), column
    where = np.argwhere(~known.to_numpy())
    x, prior = done.model.at(where), done.prior.at(where)
    low, high = prior.quantile(x, 0.05), prior.quantile(x, 0.95)
    for i, part in enumerate(problem.prior.priors):
        here = where[:, 1] == i
        assert part.t_domain.includes(low[here]).all()
        assert part.t_domain.includes(high[here]).all()


def test_parameters_are_learned_at_the_factors(rng):
    truth = tfl.PerSlice(1, (tfl.Normal(0.2), tfl.Ordinal((-1.0, 0.2, 0.9)), tfl.ZeroInflatedPoisson(0.6)))
    factors = [rng.uniform(0.5, 1.5, (4000, 1)), np.array([[1.0], [0.5], [3.0]])]
    obs = tfl.Observations.from_dense(truth.sample(tfl.CP(factors).full(), rng))
    first = tfl.Problem(obs, rank=1, prior=tfl.PerSlice(1, ("normal", "ordinal", "zero-inflated-poisson")), quiet=True)
    normal, ordinal, counts = first.learned(factors).prior.priors
    assert normal.sigma == pytest.approx(0.2, rel=0.1)
    assert ordinal.cuts == pytest.approx((-1.0, 0.2, 0.9), abs=0.1)
    assert counts.pi == pytest.approx(0.6, abs=0.05)
    alone = tfl.Problem(obs.subset(obs.indices[:, 1] == 0), rank=1, quiet=True).learned(factors).prior
    assert alone.sigma == pytest.approx(normal.sigma)


def test_arrays_are_named_by_position():
    obs = tfl.Observations.from_dense(np.array([[1.0, 0.0], [3.5, 1.0], [2.0, 1.0]]))
    problem = tfl.Problem(obs, rank=1, prior={0: tfl.Normal(2.0), 1: "bernoulli-logit"}, quiet=True)
    assert problem.prior == tfl.PerSlice(1, (tfl.Normal(2.0), tfl.BernoulliLogit()))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda f: tfl.Problem(tfl.observe(f), 2, {"agee": "normal"}),
            r"which are 'age', 'visits'.*Did you mean 'age'",
        ),
        (lambda f: tfl.Problem(tfl.observe(f), 2, {"age": "normal"}), "must name every slice of .*missing: 'visits'"),
        (lambda f: tfl.Problem(tfl.observe(f), 2, KINDS | {"age": "categorical"}), "got 'age' as categorical"),
        (lambda f: tfl.Problem(tfl.observe(f), 2, KINDS | {"age": "beta"}), r"values must be >= 0 and <= 1 for Beta"),
        (lambda f: tfl.Problem(tfl.observe(f), 2, tfl.PerSlice(1, ("normal",))), "one prior for each slice .*got 1"),
    ],
)
def test_refusals(table, make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(table)


def test_priors_of_slices_are_for_numbers():
    with pytest.raises(TypeError, match=r"priors must be a list with a prior for each slice of mode 1; got 'normal'"):
        tfl.PerSlice(1, "normal")
    with pytest.raises(TypeError, match=r"priors\[0\] must be a prior for single numbers"):
        tfl.PerSlice(1, (tfl.PerSlice(0, ("normal",)),))
