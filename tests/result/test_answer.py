"""Answers: predictions at any coordinates in the unit of the data, saved and read back."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.units import Units
from tensorfill.result.answer import Blend, Factors, Filled, draws_of, factors_of
from tensorfill.result.packing import unpack
from tensorfill.result.transformed import InUnits, Refolded


def cp(shape=(6, 5, 4), rank=2, seed=0):
    rng = np.random.default_rng(seed)
    return tfl.CP([rng.normal(size=(n, rank)) for n in shape])


def by_threes(length):
    """Which period each step is in, and where in it."""
    return np.column_stack(np.divmod(np.arange(length), 3))


def answers():
    rng = np.random.default_rng(1)
    units = Units(1, rng.normal(size=5), rng.uniform(1, 3, 5))
    plain = Factors(cp(), tfl.Normal())
    yield plain
    yield Factors(cp(), tfl.Normal(), units)
    yield Factors(tfl.CP([np.abs(A) for A in cp().factors]), tfl.Poisson())
    yield Filled(rng.normal(size=(6, 5, 4)))
    yield Filled(rng.normal(size=(6, 5, 4)), plain)
    yield InUnits(Filled(rng.normal(size=(6, 5, 4))), units)
    yield Refolded(Filled(rng.normal(size=(2, 3, 5, 4))), 0, by_threes(6))
    yield Refolded(Filled(rng.normal(size=(6, 2, 3, 4))), 1, by_threes(5))
    yield Refolded(Refolded(Filled(rng.normal(size=(2, 3, 2, 3, 4))), 2, by_threes(5)), 0, by_threes(6))
    order = np.array([4, 2, 0, 1, 3])
    yield InUnits(InUnits(Filled(rng.normal(size=(6, 5, 4))), units, order, np.full(5, -0.5)), units)
    kinds = rng.integers(0, 2, (6, 5, 4)).astype(np.uint8)
    yield Blend((plain, Filled(rng.normal(size=(6, 5, 4)))), np.array([[0.3, 0.7], [1.0, 0.0]]), kinds, -1.0, 1.0)
    columns = np.arange(5).reshape(1, 5, 1) % 2  # which modes make no difference have length 1
    yield Blend((plain, Filled(rng.normal(size=(6, 5, 4)))), np.array([[0.3, 0.7], [1.0, 0.0]]), columns)
    yield Blend((plain,), np.ones((1, 1)))


@pytest.mark.parametrize("answer", list(answers()), ids=lambda a: a.kind)
def test_at_is_full_and_both_survive_packing(answer):
    full = answer.full()
    assert full.shape == (6, 5, 4)
    where = np.argwhere(np.ones(full.shape))
    np.testing.assert_allclose(answer.at(where), full.reshape(-1), atol=1e-12)
    arrays, meta = answer.pack()
    again = unpack(arrays, {"kind": answer.kind, **meta})
    np.testing.assert_array_equal(again.full(), full)


def test_a_blend_is_the_weighted_mean_kept_inside():
    a, b = np.zeros((2, 2)), np.full((2, 2), 10.0)
    kinds = np.array([[0, 1], [0, 1]], dtype=np.uint8)
    blend = Blend((Filled(a), Filled(b)), np.array([[0.5, 0.5], [0.0, 1.0]]), kinds, 0.0, 8.0)
    np.testing.assert_array_equal(blend.full(), [[5, 8], [5, 8]])


def test_the_factors_behind_an_answer():
    plain = Factors(cp(), tfl.Normal())
    assert factors_of(plain) is plain
    assert factors_of(Filled(np.zeros((6, 5, 4)), plain)) is plain
    assert factors_of(Filled(np.zeros((6, 5, 4)))) is None
    light = Blend((Filled(np.zeros((6, 5, 4))), plain), np.array([[0.9, 0.1]]))
    assert factors_of(light) is plain
    assert draws_of(plain) is None


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    T = cp((30, 12), 2).full() + 0.2 * rng.normal(size=(30, 12))
    known = rng.random(T.shape) >= 0.3
    return T, known, tfl.complete(np.where(known, T, np.nan), method="bayes", draws=80, burn=40)


def test_draws_of_a_posterior(drawn, tmp_path):
    T, known, done = drawn
    sets = done.sample(12, seed=3)
    assert len(sets) == 12
    for one in sets:
        np.testing.assert_array_equal(one[known], T[known])
    spread = np.std([one[~known] for one in sets], axis=0).mean()
    assert 0.5 < spread / done.std[~known].mean() < 1.5
    assert (done.std[known] == 0).all()
    low, high = done.interval
    inside = ((low <= T) & (high >= T))[~known].mean()
    assert 0.75 < inside <= 1.0
    np.testing.assert_array_equal(done.sample(12, seed=3)[5], sets[5])
    done.save(tmp_path / "run.npz")
    again = tfl.Completion.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.sample(12, seed=3)[1], sets[1])
    np.testing.assert_array_equal(again.estimate, done.estimate)


def test_an_answer_without_draws_says_so():
    T = np.arange(12.0).reshape(4, 3)
    T[1, 1] = np.nan
    done = tfl.complete(T, method="halrtc")
    for ask in (lambda: done.sample(2), lambda: done.std):
        with pytest.raises(AttributeError, match="has no draws"):
            ask()


@pytest.mark.parametrize("where", [[[0, -1, 0]], [[6, 0, 0]], [[0, 0]], [[0, 0, 0, 0]], [[0.5, 0, 0]]])
def test_coordinates_outside_are_refused(where):
    done = tfl.complete(
        np.where(np.arange(120).reshape(6, 5, 4) % 7 == 0, np.nan, 1.0 + np.arange(120).reshape(6, 5, 4)),
        candidates=["means"],
    )
    with pytest.raises(ValueError, match="indices must"):
        done.at(where)
