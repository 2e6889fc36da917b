"""Components that follow the noise make way for better ones; what does not is left alone."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.solvers.exchange import exchange_components, may_exchange
from tensorfill.solvers.newton import LOOK
from tensorfill.solvers.rows import rows_of


def noisy_table(seed, prior="bernoulli-logit", shape=(40, 30, 12), rank=3):
    """(problem, its true factors): strong components under noise that a random one fits well enough to stay there."""
    rng = np.random.default_rng(seed)
    truth = [rng.standard_normal((n, rank)) for n in shape]
    x = 1.2 * tfl.CP(truth).full()
    t = (rng.random(shape) < 1 / (1 + np.exp(-x))).astype(float) if prior != "normal" else x + rng.normal(0, 2, shape)
    obs = tfl.Observations.from_dense(t, rng.random(shape) < 0.4)
    return tfl.Problem(obs, rank, prior, {n: tfl.Ridge(1.0) for n in range(3)}, quiet=True), truth


@pytest.mark.parametrize("prior", ["normal", "bernoulli-logit"])
def test_a_component_of_noise_makes_way_for_one_of_the_data(prior):
    problem, truth = noisy_table(0, prior)
    noise = np.random.default_rng(1)
    start = [np.column_stack([A[:, :2], noise.standard_normal(len(A))]) for A in truth]
    rows, trials, rng = rows_of(problem), None, np.random.default_rng(0)
    for _ in range(3):  # those not taken grow on
        new, trials = exchange_components(problem, rows, start, trials, rng)
        if new is not None:
            break
    assert new is not None
    found = [abs(np.corrcoef(a[:, 2], b[:, 2])[0, 1]) for a, b in zip(new, truth, strict=True)]
    assert min(found) > 0.7
    for a, b in zip(new, start, strict=True):  # those of the data stay
        np.testing.assert_array_equal(a[:, :2], b[:, :2])


def test_nothing_is_exchanged_at_the_truth_and_what_was_given_stays_as_it_was():
    problem, truth = noisy_table(0)
    before = [A.copy() for A in truth]
    new, trials = exchange_components(problem, rows_of(problem), truth, [], np.random.default_rng(0))
    assert new is None
    again, _ = exchange_components(
        problem, rows_of(problem), truth, [a.copy() for a in trials], np.random.default_rng(0)
    )
    assert again is None
    assert all(np.array_equal(a, b) for a, b in zip(truth, before, strict=True))


def test_newton_ends_lower_and_never_rises():
    lower = 0
    for seed in range(3):
        problem, _ = noisy_table(seed, rank=4)
        ends = []
        for exchange in (True, False):
            done = tfl.solve(
                problem, tfl.Newton(exchange=exchange), seed=seed, stopping=tfl.Stopping(max_iter=12, tol=0)
            )
            values = done.history["value"]
            assert (np.diff(values) <= 0).all()
            ends.append(values[-1])
        lower += ends[0] < ends[1] - 1.0
        assert ends[0] <= ends[1] + 1.0
    assert lower >= 2


def test_trials_gone_astray_do_not_end_the_run():
    problem, truth = noisy_table(0)
    solver, rng = tfl.Newton(), np.random.default_rng(0)
    state = solver.init(problem, [0.1 * A for A in truth], rng)
    for _ in range(LOOK + 1):
        state = solver.step(problem, state, rng)
    trials = [np.full_like(state.arrays[f"T{n}"], np.inf) for n in range(3)]
    _, grown = exchange_components(problem, rows_of(problem), state.factors, trials, rng)
    assert all(np.isfinite(a).all() for a in grown)


def test_matrices_and_bounds_are_left_alone():
    rng = np.random.default_rng(0)
    matrix = tfl.Problem(tfl.Observations.from_dense(rng.random((6, 5))), 2, "normal", quiet=True)
    tensor = tfl.Observations.from_dense(rng.random((6, 5, 4)))
    bounded = tfl.Problem(tensor, 2, "normal", {0: tfl.NonNegative()}, quiet=True)
    assert not may_exchange(matrix)
    assert not may_exchange(bounded)
    assert may_exchange(tfl.Problem(tensor, 2, "normal", quiet=True))
