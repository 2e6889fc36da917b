"""The contest of large data, held on a part of them."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.auto import sample
from tensorfill.auto.auto import Auto
from tensorfill.auto.contest import Contest
from tensorfill.auto.settings import AutoSettings
from tensorfill.data.facts import compute_facts
from tensorfill.methods.base import Run
from tensorfill.methods.bayes import Bayes
from tensorfill.result.record import Status


@pytest.mark.parametrize("ordered", [False, True])
def test_contest_of_large_data_is_held_on_a_part_of_them(monkeypatch, ordered):
    """Whole slices, a stretch of them where neighbours are alike; the answer is for all, and the same by seed."""
    monkeypatch.setattr(sample, "PART", 1500)
    rng = np.random.default_rng(0)
    rows = np.cumsum(rng.normal(size=(200, 2)), axis=0) if ordered else rng.normal(size=(200, 2))
    T = rows @ rng.normal(size=(2, 20)) + 0.1 * rng.normal(size=(200, 20))
    mask = rng.random(T.shape) < 0.7
    mask[:, 3] = False  # never seen, in the part as in everything
    obs = tfl.Observations.from_dense(T, mask)
    contest = Contest.on(obs, compute_facts(obs), AutoSettings(), Run(0))
    assert 1300 < contest.part.nnz <= 1500
    assert contest.part.shape[1] == 20
    assert contest.part_facts.observed == contest.part.nnz
    taken = np.flatnonzero(np.isin(T[:, 0], contest.part.values) | np.isin(T[:, 1], contest.part.values))
    assert (np.ptp(taken) < 1.2 * len(taken)) == ordered
    with pytest.warns(tfl.DataWarning, match="has no observed entry"):
        done, again = (tfl.complete(T, mask=mask, candidates=["means", "gaussian"]) for _ in range(2))
    assert done.estimate.shape == T.shape
    np.testing.assert_array_equal(done.estimate, again.estimate)
    np.testing.assert_array_equal(done.completed[mask], T[mask])
    known = mask.any(axis=0)
    assert np.std((done.estimate - T)[:, known][~mask[:, known]]) < 0.5 * T.std()


def test_the_contest_of_a_video_is_held_on_a_window_of_all_frames():
    rng = np.random.default_rng(0)
    f, y, x = np.mgrid[:8, :160, :48]
    T = np.stack([120 + 60 * np.sin((x + f + c) / 15) + 50 * np.cos(y / 20) for c in range(3)], axis=-1).astype(int)
    obs = tfl.Observations.from_dense(T, rng.random(T.shape) < 0.3)
    contest = Contest.on(obs, compute_facts(obs), AutoSettings(), Run(0))
    assert contest.part.shape == contest.part_facts.shape == (8, 80, 48, 3)


def test_interrupted_contest_on_a_part_gives_the_best_so_far(monkeypatch):
    """What a part was fitted to is no answer for all: the best that can be fitted to everything at once is."""
    monkeypatch.setattr(sample, "PART", 1500)
    rng = np.random.default_rng(0)
    T = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 20)) + 0.1 * rng.normal(size=(200, 20))
    obs = tfl.Observations.from_dense(T, rng.random(T.shape) < 0.7)

    def ctrl_c(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Bayes, "fit", ctrl_c)
    done = Auto(candidates=("means", "gaussian", "bayes")).fit(obs, Run(0))
    assert done.status is Status.INTERRUPTED
    assert "bayes" not in {row.method for row in done.tried if np.isfinite(row.error)}
    assert np.isfinite(done.estimate).all()


def test_interrupted_contest_on_a_part_says_so(monkeypatch):
    """With the reason why it ended, and an answer for all."""
    monkeypatch.setattr(sample, "PART", 1500)
    rng = np.random.default_rng(0)
    T = rng.normal(size=(150, 20))
    obs = tfl.Observations.from_dense(T, rng.random(T.shape) < 0.7)
    done = Auto(candidates=("bayes",)).fit(obs, Run(0, callback=lambda *_: True))
    assert done.status is Status.CALLBACK
    assert done.estimate.shape == T.shape
