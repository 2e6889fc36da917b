"""Categories as one yes/no slice per level."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill import Categories


@pytest.fixture
def mixed(rng):
    """(table, truth of the category's probabilities): 300 people; two measurements of two traits, a city of four."""
    traits = rng.normal(size=(300, 2))
    slopes = np.array([[2.0, 0.0, -1.0, -1.0], [0.0, 2.0, 1.0, -2.0]])
    P = np.exp(traits @ slopes + [0.5, 0.0, 0.0, -0.5])
    P /= P.sum(axis=1, keepdims=True)
    city = np.array([rng.choice(4, p=p) for p in P])
    other = np.array([rng.choice(4, p=p) for p in P[:, ::-1]])
    numbers = traits @ rng.normal(size=(2, 3)) + 0.2 * rng.normal(size=(300, 3))
    T = np.column_stack([numbers[:, 0], city, numbers[:, 1:], other])
    return T, P


def test_expanded_by_hand():
    T = np.array([[0.5, 2.0, 7.0], [np.nan, 0.0, 1.0], [3.0, np.nan, 4.0]])
    spread = Categories(1, {1: 3}, 3).expand(tfl.Observations.from_dense(T)).dense()
    expected = [[0.5, 0, 0, 1, 7], [np.nan, 1, 0, 0, 1], [3, np.nan, np.nan, np.nan, 4]]
    np.testing.assert_array_equal(spread, expected)
    first = Categories(0, {0: 2}, 3).expand(
        tfl.Observations.from_dense(np.array([[1.0, np.nan], [5.0, 6.0], [7.0, 8.0]]))
    )
    np.testing.assert_array_equal(first.dense(), [[0, np.nan], [1, np.nan], [5, 6], [7, 8]])


def test_weights_go_along_and_other_slices_keep_every_bit(rng):
    T, w = rng.normal(size=(6, 4)), rng.uniform(1, 2, (6, 4))
    T[:, 2] = rng.integers(0, 5, 6)
    obs = Categories(1, {2: 5}, 4).expand(tfl.Observations.from_dense(T, weights=w))
    assert np.array_equal(obs.dense()[:, [0, 1, 7]], T[:, [0, 1, 3]])
    W = np.zeros(obs.shape)
    W[tuple(obs.indices.T)] = obs.weights
    assert np.array_equal(W[:, 2:7], np.repeat(w[:, 2:3], 5, axis=1))
    assert (np.diff(obs.flat) > 0).all()


def test_probabilities_beat_the_frequencies(mixed, rng):
    T, P = mixed
    hidden = rng.random(len(T)) < 0.3
    incomplete = T.copy()
    incomplete[hidden, 1] = np.nan
    categories = Categories(1, {1: 4, 4: 4}, 5)
    obs = categories.expand(tfl.Observations.from_dense(incomplete))
    prior = categories.prior([tfl.Normal(0.2), None, tfl.Normal(0.2), tfl.Normal(0.2), None])
    assert prior.mode == 1
    assert len(prior.priors) == 11
    problem = tfl.Problem(
        obs, rank=3, prior=prior, interelement={0: tfl.Ridge(1.0), 1: tfl.Ridge(0.1)}, dtype=np.float64
    )
    done = tfl.solve(problem, "newton", init="means", stopping=tfl.Stopping(max_iter=60))
    chance = categories.probabilities(np.asarray(done.estimate), 1)
    np.testing.assert_allclose(chance.sum(axis=-1), 1)
    city = T[hidden, 1].astype(int)
    loss = -np.log(chance[hidden, city]).mean()
    frequencies = np.bincount(T[~hidden, 1].astype(int), minlength=4) / (~hidden).sum()
    best = -np.log(P[hidden, city]).mean()
    assert loss < 0.5 * (best - np.log(frequencies[city]).mean())  # more than half of the way to the truth
    whole = categories.collapse(np.asarray(done.estimate))
    assert whole.shape == T.shape
    np.testing.assert_array_equal(whole[:, 1], chance.argmax(axis=1))
    assert (whole[hidden, 1] == city).mean() > 0.6


def test_a_category_by_name_says_how():
    obs = tfl.Observations.from_dense(np.array([[1.0, 3.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match=r"a category is several yes/no slices.*tensorfill\.Categories"):
        tfl.Problem(obs, rank=1, prior={0: "normal", 1: "categorical"})


def test_refusals():
    with pytest.raises(ValueError, match=r"levels must be .* >= 2\} with slices 0 .. 2; got 1 for slice 0"):
        Categories(1, {0: 1}, 3)
    obs = tfl.Observations.from_dense(np.array([[1.0, 3.0], [0.0, 1.0]]))
    sentence = r"whole numbers >= 0 and <= 2 for a category of 3 levels; got 3.0 at index \(0, 1\)"
    with pytest.raises(ValueError, match=sentence):
        Categories(1, {1: 3}, 2).expand(obs)
    with pytest.raises(ValueError, match="must have 3 slices along mode 1"):
        Categories(1, {1: 3}, 3).expand(obs)
