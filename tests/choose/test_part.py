"""The contest of large data, held on a part of them."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.choose import part
from tensorfill.choose.auto import Auto
from tensorfill.choose.candidates.posterior import PosteriorMean
from tensorfill.choose.contest import Contest
from tensorfill.choose.given import Given
from tensorfill.data.facts import look
from tensorfill.methods.base import Run
from tensorfill.result.record import Status


@pytest.mark.parametrize("ordered", [False, True])
def test_contest_of_large_data_is_held_on_a_part_of_them(monkeypatch, ordered):
    """Whole slices, a stretch of them where neighbours are alike; the answer is for all, and the same by seed."""
    monkeypatch.setattr(part, "PART", 1500)
    rng = np.random.default_rng(0)
    rows = np.cumsum(rng.normal(size=(200, 2)), axis=0) if ordered else rng.normal(size=(200, 2))
    T = rows @ rng.normal(size=(2, 20)) + 0.1 * rng.normal(size=(200, 20))
    mask = rng.random(T.shape) < 0.7
    mask[:, 3] = False  # never seen, in the part as in everything
    obs = tfl.Observations.from_dense(T, mask)
    contest = Contest.on(obs, look(obs), Given(), Run(0))
    assert 1300 < contest.part.nnz <= 1500
    assert contest.part.shape[1] == 20
    assert contest.part_facts.observed == contest.part.nnz
    taken = np.flatnonzero(np.isin(T[:, 0], contest.part.values) | np.isin(T[:, 1], contest.part.values))
    assert (np.ptp(taken) < 1.2 * len(taken)) == ordered
    with pytest.warns(tfl.DataWarning, match="no observed entry"):
        done, again = (tfl.complete(T, mask=mask, candidates=["means", "columns"]) for _ in range(2))
    assert done.estimate.shape == T.shape
    np.testing.assert_array_equal(done.estimate, again.estimate)
    np.testing.assert_array_equal(done.completed[mask], T[mask])
    known = mask.any(axis=0)
    assert np.std((done.estimate - T)[:, known][~mask[:, known]]) < 0.5 * T.std()


def test_interrupted_contest_on_a_part_gives_the_best_so_far(monkeypatch):
    """What a part was fitted to is no answer for all: the best that can be fitted to everything at once is."""
    monkeypatch.setattr(part, "PART", 1500)
    rng = np.random.default_rng(0)
    T = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 20)) + 0.1 * rng.normal(size=(200, 20))
    obs = tfl.Observations.from_dense(T, rng.random(T.shape) < 0.7)

    def ctrl_c(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PosteriorMean, "fit", ctrl_c)
    done = Auto(candidates=("means", "columns", "posterior")).complete(obs, Run(0))
    assert done.status is Status.INTERRUPTED
    assert max(done.tried, key=lambda row: row.weight).name.startswith("regression")
    assert np.std((done.estimate - T)[~obs.mask]) < 0.2 * T.std()


def test_interrupted_contest_on_a_part_says_so(monkeypatch):
    """With the reason why it ended, and an answer for all."""
    monkeypatch.setattr(part, "PART", 1500)
    rng = np.random.default_rng(0)
    T = rng.normal(size=(150, 20))
    obs = tfl.Observations.from_dense(T, rng.random(T.shape) < 0.7)
    done = Auto(candidates=("posterior",)).complete(obs, Run(0, callback=lambda *_: True))
    assert done.status is Status.CALLBACK
    assert done.estimate.shape == T.shape
