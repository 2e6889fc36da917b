"""Shuffled rows, other names, labels of another type and weights of one change nothing."""

import numpy as np
import pandas as pd
import pytest
from attack.properties import compare, names, table

import tensorfill as tfl
from tensorfill.data.facts import compute_facts
from tensorfill.data.labels import with_positions
from tensorfill.io.observe import observe
from tensorfill.transforms.order import CanonicalOrder

TABLES, AT_ONCE = 32, 4  # each changed in six ways


@pytest.mark.parametrize("first", range(0, TABLES, AT_ONCE))
def test_what_has_no_order_changes_nothing(first):
    for seed in range(first, first + AT_ONCE):
        compare(seed, every=True)


def test_names_have_no_neighbours_and_no_period():
    """Names "repeated every 16"."""
    wave = np.add.outer(np.sin(np.arange(96) * 2 * np.pi / 16), np.zeros(10))
    X = wave + 0.05 * np.random.default_rng(0).normal(size=wave.shape)
    X[::7, 3] = np.nan
    who = names(96, np.random.default_rng(1))
    named, plain = (compute_facts(observe(pd.DataFrame(X, index=i))).modes[0] for i in (who, range(96)))
    assert plain.period == 16
    assert (named.period, named.ordered, named.smooth) == (None, False, False)


@pytest.mark.parametrize(
    ("labels", "ordered"),
    [
        (["anna", "bert", "carl"], False),
        (["u1", "u2", "u3"], False),
        ([1, 2, 3], True),
        (["08:00", "09:00", "10:00"], True),
        (["0-9", "10-19", "20+"], True),
        (["Q1", "Q2", "Q3"], True),
        (["January", "Feb", "march"], True),
        (["week 1", "week 2", "week 3"], True),
        (pd.CategoricalIndex(["low", "mid", "high"], ["low", "mid", "high"], ordered=True), True),
        (pd.CategoricalIndex(["low", "mid", "high"]), False),
        (pd.to_timedelta([0, 1, 2], unit="h"), True),
    ],
)
def test_which_labels_have_an_order(labels, ordered):
    obs = tfl.Observations.from_dense(np.ones((3, 2)))
    assert with_positions(obs, {obs.dims[0]: labels}).has_order(0) is ordered


def test_shuffled_moments_are_put_in_order():
    days = pd.date_range("2024-01-01", periods=40)
    X = np.sin(np.arange(40) / 3)[:, None] * [1.0, 2.0, 3.0]
    X[5:8, 1] = np.nan
    frame = pd.DataFrame(X, index=days, columns=list("bcd"))
    mixed = frame.iloc[np.random.default_rng(0).permutation(40)]
    a, b = tfl.complete(frame).completed, tfl.complete(mixed).completed
    assert b.index.equals(mixed.index)
    np.testing.assert_allclose(b.loc[days], a, rtol=1e-9)
    np.testing.assert_allclose(a.iloc[5:8, 1], 2 * np.sin(np.arange(5, 8) / 3), atol=0.1)


def test_there_and_back():
    frame, _ = table(1, rows=12)
    obs = observe(frame)
    order = CanonicalOrder.fit(obs)
    there = order.transform(obs)
    assert sorted(there.source.labels[there.dims[0]]) == sorted(frame.index)
    at = np.ix_(np.argsort(order.places[0]), np.argsort(order.places[1]))
    np.testing.assert_array_equal(there.dense(fill=np.nan), frame.to_numpy()[at])


def test_factors_are_in_the_order_of_the_data():
    frame, _ = table(0, rows=12)
    done = tfl.complete(frame, rank=2, candidates=["low-rank"])
    X = done.prior.mean(done.model.full())
    np.testing.assert_allclose(X if done.units is None else done.units.inverse_transform(X), done.estimate, rtol=1e-6)
