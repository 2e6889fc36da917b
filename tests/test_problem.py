"""The objective: its gradient by finite differences for every prior, layout and inter-element prior."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest
from prior_examples import interelement_examples, tensorspace_examples
from problems import MIXED, check_gradient, make_problem

import tensorfill as tfl
from tensorfill.interelement.base import INTERELEMENT
from tensorfill.interelement.tensorspace import TENSORSPACE
from tensorfill.numerical.base import PRIORS


@pytest.mark.parametrize("layout", ["dense", "sampled"])
@pytest.mark.parametrize("prior", [*PRIORS, *MIXED])
def test_gradient_of_every_prior_masked(prior, layout):
    check_gradient(*make_problem(prior, layout=layout, weighted=True))


@pytest.mark.parametrize("shape", [(6, 5), (4, 3, 3), (3, 2, 3, 2), (2, 3, 2, 2, 2)])
@pytest.mark.parametrize("layout", ["dense", "sampled"])
def test_gradient_of_every_order(shape, layout):
    check_gradient(*make_problem("poisson", shape=shape, layout=layout))


@pytest.mark.parametrize("layout", ["dense", "sampled"])
@pytest.mark.parametrize("name", INTERELEMENT)
def test_gradient_with_every_inter_element_prior(name, layout):
    for example in interelement_examples(name, 7):
        if example.smooth is not None and example.nonsmooth is None:
            penalties = {0: example, 1: tfl.Ridge(0.3)}
            check_gradient(*make_problem("normal", shape=(7, 4, 3), interelement=penalties, layout=layout))


@pytest.mark.parametrize("name", TENSORSPACE)
def test_gradient_with_every_tensor_space_prior(name):
    for example, shape in tensorspace_examples(name):
        if hasattr(example, "value_and_grad"):
            check_gradient(*make_problem("poisson", shape=shape, tensorspace=example))


def test_objective_is_the_plain_sum_and_weights_multiply():
    problem, factors = make_problem("poisson")
    x = tfl.CP(factors).at(problem.observations.indices)
    assert problem.value(factors) == pytest.approx(sum(problem.prior.nll(problem.t, x)))
    obs = problem.observations
    heavy = tfl.Observations(obs.shape, obs.indices, obs.values, np.full(obs.nnz, 2.0))
    double = tfl.Problem(heavy, rank=2, prior="poisson", quiet=True)
    assert double.value(factors) == pytest.approx(2 * problem.value(factors))


@pytest.mark.parametrize("prior", ["poisson", "bernoulli-logit", "gamma", "rayleigh", "normal", "lognormal"])
@pytest.mark.parametrize("placeholder", [0.0, 1e30, -5.0, np.nan])
def test_what_lies_under_the_mask_does_not_change_a_bit(prior, placeholder):
    problem, factors = make_problem(prior)
    obs = problem.observations
    T = np.where(obs.mask, obs.dense(), placeholder)
    again = tfl.Problem(tfl.Observations.from_dense(T, obs.mask), rank=2, prior=problem.prior, quiet=True)
    value, grads = problem.value_and_grad(factors)
    value_again, grads_again = again.value_and_grad(factors)
    assert value == value_again
    assert all(np.array_equal(a, b) for a, b in zip(grads, grads_again, strict=True))


def test_batch_gradient_is_unbiased():
    problem, factors = make_problem("poisson", shape=(4, 3, 3), interelement={0: tfl.Ridge(0.5)})
    _, whole = problem.value_and_grad(factors)
    draws = [SimpleNamespace(choice=lambda *_, k=k, **__: np.array([k])) for k in range(problem.observations.nnz)]
    singles = [problem.stochastic(factors, 1, 0, draw)[1] for draw in draws]
    for n, G in enumerate(whole):
        assert np.allclose(np.mean([g[n] for g in singles], axis=0), G)


def test_float32_stays_float32():
    problem, factors = make_problem("poisson")
    small = tfl.Problem(problem.observations, rank=2, prior="poisson", dtype="float32", quiet=True)
    _, grads = small.value_and_grad(factors)
    assert {G.dtype for G in grads} == {np.dtype("float32")}


def test_warnings_about_data_that_cannot_support_the_model():
    T = np.ones((4, 5))
    T[2] = np.nan
    with pytest.warns(tfl.DataWarning, match="mode0 = 2 has no observed entry"):
        tfl.Problem(tfl.Observations.from_dense(T), rank=1)
    with pytest.warns(tfl.DataWarning, match="rank 9 has about 72 free numbers but only 20"):
        tfl.Problem(tfl.Observations.from_dense(np.ones((4, 5))), rank=9)
    tfl.Problem(tfl.Observations.from_dense(np.ones((4, 5))), rank=9, interelement={0: tfl.Ridge(1.0)})


def two_in_each_row(rng):
    """Entries of which any held out leaves whole rows unseen."""
    T = np.outer(rng.uniform(1, 2, 30), rng.uniform(1, 2, 12))
    seen = rng.random(T.shape).argsort(axis=1) < 2
    seen[0] = True  # and every column has some
    return np.where(seen, T, np.nan)


def test_slices_empty_only_because_they_were_held_out_are_not_warned_of(rng):
    """Warnings are errors here."""
    problem = tfl.Problem(tfl.observe(two_in_each_row(rng)), rank=1)
    kept, _ = problem.observations.split(0.5, rng)
    assert kept.empty_slices()
    assert problem.on(kept).quiet
    tfl.solve(problem, held_out=0.5, stopping=tfl.Stopping(max_iter=3))


@pytest.mark.parametrize("method", list(tfl.METHODS))
def test_no_method_warns_of_its_own_trials(method, rng):
    T = two_in_each_row(rng)
    with contextlib.suppress(ValueError):  # those that are for other data say so
        tfl.complete(T, method=method, max_iter=3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rank": 0}, "rank must be a whole number >= 1; got 0"),
        ({"prior": "poison"}, "Did you mean 'poisson'"),
        ({"prior": 3}, "prior must be a NumericalPrior"),
        ({"interelement": {0: 3.0}}, "must be an InterElementPrior; got float"),
        ({"interelement": {"hour": tfl.Ridge(1.0)}}, "dimension must be one of mode0, mode1"),
        ({"dtype": "int32"}, "float32 or float64"),
        ({"layout": "heap"}, "layout"),
    ],
)
def test_bad_settings_get_a_sentence(change, sentence):
    obs = tfl.Observations.from_dense(np.ones((4, 5)))
    with pytest.raises((ValueError, TypeError), match=sentence):
        tfl.Problem(**{"observations": obs, "rank": 1} | change).value([np.ones((4, 1)), np.ones((5, 1))])


def test_wrong_factor_shapes_get_a_sentence():
    problem, factors = make_problem("normal")
    with pytest.raises(ValueError, match=r"factors must have shapes"):
        problem.value_and_grad(factors[::-1])
