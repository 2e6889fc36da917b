"""Fits of a contest side by side: the same bits as one after the other, errors in their place, nothing left behind."""

import threading
from dataclasses import dataclass

import joblib
import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.auto import ahead as module
from tensorfill.auto.ahead import Ahead
from tensorfill.methods.base import Method, Run, Unsuited
from tensorfill.solvers import threads


@pytest.fixture
def table(rng):
    T = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(60, 6))
    return np.where(rng.random(T.shape) < 0.2, np.nan, T)


def begun(monkeypatch):
    """The names of the fits that run beside others, and how many did so in this thread."""
    names, fit = [], module._fit

    def spy(method, *rest):
        names.append((method.name, threading.current_thread() is threading.main_thread()))
        return fit(method, *rest)

    monkeypatch.setattr(module, "_fit", spy)
    return names


def complete(table, count, monkeypatch, candidates=("means", "knn", "gaussian", "interpolation"), **how):
    monkeypatch.setattr(threads, "available_threads", lambda: count)
    return tfl.complete(table, candidates=list(candidates), seed=3, **how)


def test_one_and_two_workers_give_the_same_bits(table, monkeypatch):
    monkeypatch.setattr(module, "WORTH", 1)
    names = begun(monkeypatch)
    one = complete(table, 1, monkeypatch)
    assert not names
    two = complete(table, 2, monkeypatch)
    assert {"knn", "gaussian"} <= {name for name, main in names if not main}
    np.testing.assert_array_equal(one.estimate, two.estimate)
    same = [[(r.name, repr(r.error), r.weight, r.note) for r in done.tried] for done in (one, two)]
    assert same[0] == same[1]


def test_small_data_wait_for_their_turn(table, monkeypatch):
    names = begun(monkeypatch)
    complete(table, 2, monkeypatch)
    assert not names


def test_a_time_limit_or_a_checkpoint_has_one_fit_after_the_other(table, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "WORTH", 1)
    names = begun(monkeypatch)
    complete(table, 2, monkeypatch, seconds=20)
    complete(table, 2, monkeypatch, checkpoint=tmp_path / "run.npz")
    assert not names


def test_workers_are_as_joblib_says(monkeypatch):
    monkeypatch.setattr(threads, "available_threads", lambda: 5)
    assert threads.workers() == 5
    with joblib.parallel_config("threading", n_jobs=3):
        assert threads.workers() == 3
    with joblib.parallel_config(n_jobs=1):
        assert threads.workers() == 1


@dataclass(frozen=True)
class Fails(Method):
    """A method that no data suit."""

    name = "fails"
    turn: int = 0

    def fit(self, obs, run):
        while self.turn == 1 and not run.callback(None, None):  # until it is told to end
            pass
        raise Unsuited(f"turn {self.turn}")


def test_errors_come_in_their_place_and_nothing_is_left_running(table, monkeypatch):
    monkeypatch.setattr(module, "WORTH", 1)
    monkeypatch.setattr(threads, "available_threads", lambda: 2)
    obs, fits = tfl.observe(table), Ahead()
    fits.begin([(Fails(k), obs, Run()) for k in (0, 1, 2)])
    with pytest.raises(Unsuited, match="turn 0"):
        fits.fit(Fails(0), obs, Run())
    with pytest.raises(Unsuited, match="turn 3"):  # was not begun
        fits.fit(Fails(3), obs, Run())
    fits.end()
    assert not fits.names
    assert next(fits.results, None) is None


def started(monkeypatch):
    """The names of the methods whose fits were started beside others, start by start."""
    starts, start = [], module.side_by_side

    def spy(work, tasks):
        starts.append([method.name for method, *_ in tasks])
        return start(work, tasks)

    monkeypatch.setattr(module, "side_by_side", spy)
    return starts


def test_members_of_an_ensemble_are_refitted_side_by_side(table, monkeypatch):
    monkeypatch.setattr(module, "WORTH", 1)
    starts = started(monkeypatch)
    done = complete(table, 2, monkeypatch, candidates=["gaussian", "knn", "low-rank"])
    members = {row.method for row in done.tried if row.weight > 0}
    assert len(members) > 1
    assert len(starts[-1]) == len(members) - 1
    assert set(starts[-1]) < members


def test_a_dask_cluster_gives_the_same_bits(table, monkeypatch):
    distributed = pytest.importorskip("distributed")
    one = complete(table, 1, monkeypatch)
    monkeypatch.setattr(module, "WORTH", 1)
    starts = started(monkeypatch)
    settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster), joblib.parallel_config("dask"):
        many = complete(table, 1, monkeypatch)
    assert {"knn", "gaussian"} <= set(starts[0])
    np.testing.assert_array_equal(one.estimate, many.estimate)
