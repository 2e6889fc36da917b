"""Do the chains agree, and is it said?"""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.cli.show import lines_about
from tensorfill.show import summary
from tensorfill.show.convergence import AGREE, Convergence, convergence
from tensorfill.show.report import write_report


@pytest.fixture(scope="module")
def done():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(12, 1)) + rng.normal(size=(1, 10)) + 0.1 * rng.normal(size=(12, 10))
    T[rng.random(T.shape) < 0.3] = np.nan
    return tfl.complete(T, method="bayes", rank=1, draws=120, burn=80, smooth=())


def everywhere(done, tmp_path):
    """All that is said about a run, by all who say it."""
    write_report(done, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    return [repr(done), done._repr_html_(), page, " ".join(text for _, text in lines_about(done))]


def test_numbers_are_in_summary_card_and_report(done, tmp_path):
    found = convergence(done)
    assert found.chains == 2
    assert found.draws == 60
    assert 0.9 < found.rhat < 1.5
    for text in everywhere(done, tmp_path):
        assert found.words in text
        assert "disagree" not in text or not found.ok
    facts = summary.facts(done)
    assert facts["rhat"] == found.rhat
    assert facts["effective_draws"] == found.ess


def test_chains_that_disagree_are_told_of_with_what_to_do(done, tmp_path, monkeypatch):
    monkeypatch.setitem(done.answer.numbers, "rhat", 1.87)
    for text in everywhere(done, tmp_path):
        assert "The chains disagree (R-hat 1.87, should be below 1.1)" in text
        assert "draws=, burn=" in text
    assert "disagree" in summary.facts(done)["doubt"]


@pytest.mark.parametrize(
    ("rhat", "ess", "ok", "word"),
    [(1.01, 200.0, True, ""), (AGREE, 200.0, False, "disagree"), (1.0, 3.0, False, "correlated"),
     (np.nan, np.nan, False, "stopped before")],
)  # fmt: skip
def test_what_is_doubted(rhat, ess, ok, word):
    found = Convergence(rhat, ess, 1, 5)
    assert found.ok is ok
    assert word in found.doubt
    assert bool(found.doubt) is not ok
    assert "chains," not in found.words


def test_the_report_lists_the_widest_intervals_of_the_posterior(done, tmp_path):
    assert "by the posterior" in everywhere(done, tmp_path)[2]


def test_other_methods_have_no_draws(rng):
    T = rng.normal(size=(6, 5))
    T[0, 0] = np.nan
    done = tfl.complete(T, method="halrtc", max_iter=2)
    assert convergence(done) is None
    assert "R-hat" not in repr(done)
    assert summary.facts(done)["rhat"] is None
