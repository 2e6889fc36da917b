"""The contest in plain words: what answers and why, and what was not tried."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.data import samples
from tensorfill.methods.base import METHODS
from tensorfill.result.record import COLUMN_MEANS, Leaderboard, LeaderboardRow
from tensorfill.show.leaderboard import answered_by, leaderboard, not_tried, why
from tensorfill.show.summary import heading, printed

NAN = float("nan")


@pytest.fixture(scope="module")
def done():
    rng = np.random.default_rng(0)
    T = np.outer(rng.normal(size=20), rng.normal(size=6)) + 0.1 * rng.normal(size=(20, 6))
    T[rng.random(T.shape) < 0.2] = np.nan
    return tfl.complete(T, effort="quick")


def row(name, error, weight, note="", method=None):
    seconds = 0.1 if np.isfinite(error) else 0.0
    return LeaderboardRow(name, error, 0.1, seconds, weight, note, method or name)


def with_rows(done, *rows, candidate=""):
    return replace(done, tried=rows, settings={**done.settings, "candidate": candidate})


def test_one_method_an_ensemble_and_the_means_each_say_why(done):
    bayes, knn, means = row("bayes", 1.0, 1.0), row("knn", 2.0, 0.0), row("means", 3.0, 0.0)
    assert why(with_rows(done, bayes, knn, means)) == (
        "it did best on held-out entries (1 ± 0.1); the best of other methods: knn (2 ± 0.1)"
    )
    assert why(with_rows(done, bayes, row("knn", 0.9, 0.0))) == "it did best on held-out entries (1 ± 0.1)"
    both = with_rows(done, replace(bayes, weight=0.7), replace(knn, weight=0.3), means)
    assert why(both).startswith("an ensemble of 2, weighted by")
    assert answered_by(both) == "70% bayes + 30% knn"
    assert answered_by(with_rows(done, replace(bayes, weight=0.2), replace(knn, weight=0.8))) == "80% knn + 20% bayes"
    plain = with_rows(done, replace(bayes, weight=0.0), knn, replace(means, weight=1.0))
    assert why(plain) == "no model was clearly better than the means (3 ± 0.1) on held-out entries"
    nothing = with_rows(done, replace(bayes, weight=0.0), knn, candidate=COLUMN_MEANS)
    assert "than the column means" in why(nothing)
    assert why(with_rows(done)) == ""


def test_what_was_not_tried_is_one_line_for_each_reason(done):
    forms = [row(name, NAN, 0.0, "one form") for name in ("tt", "tr")]
    told = with_rows(done, row("bayes", 1.0, 1.0), *forms, row("kalman, by steps", NAN, 0.0, "no time", "kalman"))
    assert [name for name, *_ in leaderboard(told)] == ["bayes"]
    assert not_tried(told) == [(["tt", "tr"], "one form"), (["kalman, by steps"], "no time")]


def test_every_row_of_a_contest_names_its_method(done):
    assert any(not r.seconds for r in done.tried)
    assert {r.method for r in done.tried} <= set(METHODS)
    assert all(r.note and not r.note.startswith("not tried") for r in done.tried if not np.isfinite(r.error))


def test_headings_say_what_the_data_are(done):
    assert heading(done) == "Completed table"
    dates = pd.date_range("2024-01-01", periods=20, name="day")
    series = tfl.complete(pd.DataFrame(done.observations.dense(fill=np.nan), index=dates), method="means")
    assert heading(series) == "Completed series"
    assert heading(tfl.complete(np.where(np.arange(60) % 7, 1.0, np.nan).reshape(3, 4, 5), method="means")) == (
        "Completed cube"
    )
    picture = samples.photograph()[:64, :64]
    assert heading(tfl.complete(picture, mask=picture > 7, method="means")) == "Completed picture"


def test_no_iterations_are_told_of_where_there_are_none(done):
    assert "0 iterations" not in printed(replace(done, history=type(done.history)()))
    assert "why" in printed(done)


def test_the_leaderboard_prints_as_a_table(done, tmp_path):
    board = Leaderboard([row("bayes", 0.5, 0.75), row("low rank 3", 0.62, 0.25), row("tt", NAN, 0.0, "no such form")])
    assert str(board).split("\n") == [
        "method      error       weight  note",
        "bayes       0.5 ± 0.1   75%",
        "low rank 3  0.62 ± 0.1  25%",
        "tt                              no such form",
    ]
    assert list(pd.DataFrame(board)["weight"]) == [0.75, 0.25, 0.0]
    done.save(tmp_path / "run.npz")
    assert str(tfl.Completion.load(tmp_path / "run.npz").tried) == str(done.tried)
