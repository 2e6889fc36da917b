"""Data without noise come back exact, with and without a rank; noise is noticed, and costs little."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.facts import compute_facts
from tensorfill.methods.base import Run, Unsuited
from tensorfill.methods.lowrank.exact import Exact
from tensorfill.result.record import Status


def low_rank(shape, rank, seed, draw="standard_normal", share=0.5, noise=0.0):
    """(truth, which entries are known)"""
    rng = np.random.default_rng(seed)
    factors = [getattr(rng, draw)((n, rank)) for n in shape]
    letters = "ijkl"[: len(shape)]
    X = np.einsum(",".join(n + "r" for n in letters) + "->" + letters, *factors)
    X += noise * X.std() * rng.normal(size=X.shape)
    return X, rng.random(shape) < share


CASES = [
    ((20, 18, 15), 3, 0, "standard_normal", 0.5),
    ((20, 18, 15), 3, 5, "random", 0.5),
    ((40, 30), 2, 4, "standard_normal", 0.5),
    ((10, 9, 8, 7), 4, 6, "standard_normal", 0.3),
]


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_data_without_noise_come_back_exact(case, given):
    X, known = low_rank(*case)
    T = np.where(known, 1e6 * X, np.nan)  # in any unit
    done = tfl.complete(T, **({"rank": case[1]} if given else {}))
    assert np.linalg.norm((done.estimate / 1e6 - X)[~known]) < 1e-9 * np.linalg.norm(X[~known])
    np.testing.assert_array_equal(done.completed[known], T[known])
    assert done.settings["rank"] in (case[1], case[1] + (not given))  # the lowest that leaves nothing over, or a level
    assert done.error < 1e-6 * X.std() * 1e6


def test_a_small_component_is_not_shed_and_a_level_hides_nothing():
    y, x = np.mgrid[0:1:40j, 0:1:50j]
    X = 12 * np.sin(3 * x + 2 * y) - 8 * np.cos(4 * y - x) * x  # singular values 337, 81, 32 and 0.39
    known = np.random.default_rng(0).random(X.shape) < 0.6
    for level in (0.0, 1e4):
        done = tfl.complete(np.where(known, X + level, np.nan), candidates=["means", "exact"])
        assert np.abs(done.estimate - level - X).max() < 1e-4


@pytest.mark.parametrize("noise", [0.3, 1e-3])
def test_noise_is_noticed(noise):
    X, known = low_rank((20, 18, 15), 3, 0, noise=noise)
    obs = tfl.Observations.from_dense(np.where(known, X, 0.0), known)
    with pytest.raises(Unsuited, match="noise"):
        Exact().fit(obs, Run(0))


def test_what_was_given_is_kept():
    facts = compute_facts(tfl.observe(np.where(low_rank((20, 18, 15), 3, 0)[1], 1.5, np.nan)))
    assert Exact(prior="gamma").suits(facts) == "gamma numbers have noise"
    assert "tucker" in Exact(model="tucker").suits(facts)
    assert Exact(prior="normal").suits(facts) is None


def test_a_run_cut_short_says_so():
    X, known = low_rank((20, 18, 15), 3, 0)
    obs = tfl.Observations.from_dense(np.where(known, X, 0.0), known)
    fitted = Exact().fit(obs, Run(0, callback=lambda state, history: len(history.rows) > 2))
    assert fitted.status is Status.CALLBACK
    assert np.isfinite(fitted.answer.full()).all()
