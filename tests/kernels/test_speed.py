"""The speed benchmark: its NumPy rivals compute the same thing, and its file has the promised shape."""

import csv

import numpy as np
import pytest

from tensorfill.bench import speed, speed_models


@pytest.mark.parametrize("scatter", speed.SCATTERS)
@pytest.mark.parametrize("block", [7, 1000])
def test_the_rivals_compute_what_we_compute(scatter, block):
    flat = np.arange(0, 6 * 5 * 4, 3)
    problem, factors = speed.poisson_problem((6, 5, 4), flat, rank=3, mean=4.0)
    t, columns = problem.observations.values, list(problem.observations.indices.T.astype(np.intp))
    value, gradients = speed.numpy_value_and_grad(t, columns, factors, scatter, block)
    ours, others = problem.value_and_grad(factors)
    assert ours == pytest.approx(value, rel=1e-5)
    for G, H in zip(gradients, others, strict=True):
        np.testing.assert_allclose(G, H, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", ["tt", "tucker"])
def test_the_loops_for_one_model_compute_what_we_compute(model):
    rank = {"tt": (2, 3), "tucker": (2, 3, 2)}[model]
    problem, factors = speed_models.problem_of(model, (6, 5, 4), rank, np.arange(0, 6 * 5 * 4, 3), "sampled")
    value, gradients = speed_models.by_one_loop(speed_models.single_purpose()[model], problem, factors)
    ours, others = problem.value_and_grad(factors)
    assert ours == pytest.approx(value, rel=1e-5)
    for G, H in zip(gradients, others, strict=True):
        np.testing.assert_allclose(G, H, rtol=1e-4, atol=1e-5)


def test_rows_know_whether_they_reach_their_target():
    assert speed.at_most("a", 2.0, 1.9).ok
    assert not speed.at_most("a", 2.0, 2.1).ok
    assert speed.at_least("a", 6.0, 6.1).ok
    assert not speed.at_least("a", 6.0, 5.9).ok


def test_rivals_for_ratings_and_counts_compute_the_same():
    from tensorfill.bench import speed_fused, speed_ratings

    parts = speed_ratings.ratings(800, (60, 50), 3)
    ours, theirs = speed_ratings.ours_on(parts, 4), speed_ratings.single_purpose(parts, 4)
    assert ours[0][1] == pytest.approx(theirs[0][1], rel=1e-6)  # one sweep each, from one start
    assert speed_ratings.to_same(ours, theirs)[0] > 0
    problem, factors = speed.poisson_problem((6, 5, 4), np.arange(0, 120, 3), rank=3, mean=4.0)
    value, grads = problem.value_and_grad(factors)
    made = [np.zeros_like(A) for A in factors]
    total = speed_fused._fused(problem.observations.indices, problem.t, *factors, *made)
    assert total == pytest.approx(value, rel=1e-5)
    for G, H in zip(grads, made, strict=True):
        np.testing.assert_allclose(H, G, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_the_file(tmp_path):
    rows = speed.run(tmp_path / "new", quick=True)
    with open(tmp_path / "new" / "speed.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == ["name", "seconds", "reference_seconds", "ratio", "target", "ok"]
    assert [line["name"] for line in lines] == [row.name for row in rows]
    assert all(float(line["ratio"]) > 0 for line in lines)
