"""The speed benchmark: its NumPy rivals compute the same thing, and its file has the promised shape."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from tensorfill_benchmarks import speed, speed_models


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
    value, gradients = speed_models.by_one_loop(speed_models.SINGLE_PURPOSE[model], problem, factors)
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
    from tensorfill_benchmarks import speed_fused, speed_ratings

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
    problem, factors = speed.poisson_problem((4, 3, 5, 2), np.arange(0, 120, 3), rank=3, mean=4.0)
    value, grads = problem.value_and_grad(factors)
    stacked = np.zeros((14, 3), dtype=np.float32)
    first = np.array([0, 4, 7, 12])
    total = speed_fused._fused_n(problem.observations.indices, problem.t, np.concatenate(factors), first, stacked)
    assert total == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(stacked, np.concatenate(grads), rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_the_file(tmp_path):
    rows = speed.run(tmp_path / "new", quick=True)
    with open(tmp_path / "new" / "speed.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == ["name", "seconds", "reference_seconds", "ratio", "target", "ok"]
    assert [line["name"] for line in lines] == [row.name for row in rows]
    assert all(float(line["ratio"]) > 0 for line in lines)


def test_other_packages_on_a_cube_with_gaps_solve_the_same_problem():
    """Of a time to the same error it must be known that both get there, and of a gradient that it is the same one."""
    ttb = pytest.importorskip("pyttb")
    pytest.importorskip("tensorly")
    from pyttb.gcp.fg import evaluate
    from pyttb.gcp.fg_setup import setup
    from pyttb.gcp.handles import Objectives

    from tensorfill_benchmarks import speed_peers

    T, seen, aside = speed_peers.cube(20, 0.3)
    curves = [rival(T, seen, aside) for rival in (speed_peers.ours_on, speed_peers.pyttb_on, speed_peers.tensorly_on)]
    best = [min(error for _, error in curve) for curve in curves]
    assert max(best) < 1.5 * min(best) < 0.3 * T.std()
    problem, start = speed_peers.problem_of(T, seen), speed_peers.start_of(T, seen)
    data, model = ttb.tensor(np.where(seen, T, 0.0)), ttb.ktensor([np.asfortranarray(A) for A in start])
    handles = setup(Objectives.GAUSSIAN, data)[:2]
    with speed_peers.no_words():
        _, theirs = evaluate(model, data, np.asfortranarray(seen.astype(float)), *handles)
    ours = replace(problem, interelement={}, quiet=True).value_and_grad(start)[1]
    for G, H in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(H, 2 * G, rtol=1e-8, atol=1e-8 * np.abs(H).max())  # theirs is of squares, not halves


def test_ratings_by_cmfrec_have_the_error_of_ours():
    pytest.importorskip("cmfrec")
    from tensorfill_benchmarks import speed_ratings

    parts = speed_ratings.ratings(3000, (200, 100), 3)
    ours, theirs = speed_ratings.ours_on(parts, 4), speed_ratings.cmfrec_on(parts, 4)
    assert min(e for _, e in theirs) < 1.2 * min(e for _, e in ours)


def test_a_run_is_over_when_it_has_gained_nothing_for_a_while():
    from tensorfill_benchmarks.speed_ratings import over

    curve = [(1.0, 1.0), (2.0, 1.1), (3.0, 0.9), (4.0, 0.9), (5.0, 0.9), (6.0, 0.9)]
    assert not over(curve)
    assert over([*curve, (7.0, 0.9)])
    assert over(curve[:2], wait=1)
