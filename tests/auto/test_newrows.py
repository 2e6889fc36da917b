"""New rows of the first factor: stationary points of the framework's own objective, each on its own."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data import samples
from tensorfill.methods.lowrank.new_rows import Rows


def fitted(prior, rng, **settings):
    """A small run on data drawn from the prior, without smoothness along mode 0."""
    made = tfl.PRIORS.make(prior)
    x = tfl.CP([rng.uniform(0.3, 1.0, (n, 2)) for n in (9, 5, 4)]).full()
    x = np.clip(x, made.x_domain.low + 0.05, made.x_domain.high - 0.05)
    T = made.sample(x, rng).astype(float)
    T[rng.random(T.shape) < 0.2] = np.nan
    options = {"rank": 2, "prior": prior, "smooth": {}, "held_out": 0.0, "max_iter": 30} | settings
    return tfl.complete(T, **options), T


@pytest.mark.parametrize("prior", [name for name, cls in tfl.PRIORS.items() if cls().has("sample")])
def test_each_row_is_a_stationary_point_of_the_problem(prior, rng):
    done, T = fitted(prior, rng, ridge=0.3)
    rows = Rows(done)
    A = rows.fit(T[:3])
    for i in range(3):
        problem = rows.problem(T[i : i + 1])
        value, G = problem.value_and_grad_mode([A[i : i + 1], *rows.factors[1:]], 0)
        _, start = problem.value_and_grad_mode([rows.average[None], *rows.factors[1:]], 0)
        if prior != "laplace":  # its derivative jumps where the others' vanishes
            assert np.abs(G).max() <= 1e-3 * max(np.abs(start).max(), 1.0)
        for _ in range(5):  # and no point nearby is lower
            step = 1e-2 * rng.standard_normal(A[i].shape)
            assert problem.value([(A[i] + step)[None], *rows.factors[1:]]) >= value - 1e-6 * max(abs(value), 1)


def test_rows_of_a_converged_run_are_found_again(rng):
    done, T = fitted("normal", rng, max_iter=1000, ridge=0.3, solver=tfl.LBFGSB(burst=50))
    assert done.status is tfl.Status.CONVERGED
    rows = Rows(done)
    np.testing.assert_allclose(rows.fit(T), done.factors[0], atol=1e-3 * np.abs(done.factors[0]).max())
    np.testing.assert_allclose(rows.estimate(rows.fit(T), T), done.estimate, atol=1e-3 * np.nanstd(T))


def test_the_penalties_are_those_of_the_run_total_variation_included():
    T = samples.cube((6, 10, 12), seed=1)
    done = tfl.complete(T, smooth={1: 0.1, 2: 0.1}, ridge=0.2, tv=0.01, rank=3, prior="normal", max_iter=30)
    problem = Rows(done).problem(T[:1])
    assert problem.interelement[0].rho == 0.2
    assert problem.tensorspace.modes == (1, 2)
    assert problem.tensorspace.weight > 0
    whole = Rows(tfl.complete(T, smooth={}, ridge=0.2, rank=3, prior="normal", held_out=0.0, max_iter=5))
    assert whole.problem(T[:1]).tensorspace is None


def test_a_run_smooth_along_the_first_mode_is_refused():
    done = tfl.complete(samples.cube((8, 5, 6)), smooth={0: 1.0}, rank=1, prior="normal", held_out=0.0, max_iter=5)
    with pytest.raises(ValueError, match="first mode must have no smoothness"):
        Rows(done)


def test_the_estimate_is_the_model_at_the_rows(rng):
    done, _ = fitted("normal", rng)
    np.testing.assert_allclose(Rows(done).estimate(done.factors[0], done.estimate), done.estimate, rtol=1e-12)
    matrix = tfl.complete(done.estimate[:, :, 0], rank=2, prior="normal", smooth={}, held_out=0.0, max_iter=5)
    np.testing.assert_allclose(Rows(matrix).estimate(matrix.factors[0], matrix.estimate), matrix.estimate, rtol=1e-12)


def test_nothing_known_gives_the_average_row(rng):
    done, T = fitted("normal", rng)
    rows = Rows(done)
    np.testing.assert_array_equal(rows.fit(np.full_like(T[:1], np.nan))[0], done.factors[0].mean(axis=0))
