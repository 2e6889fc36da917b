"""A result in words and plain numbers."""

import dataclasses
import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.result.transformed import Refolded
from tensorfill.show import summary
from tensorfill.show.report import write_report


def squares(t, x):
    return (t - x) ** 2


@pytest.mark.parametrize(
    "loss", [squares, lambda t, x: (t - x) ** 2, partial(squares)], ids=["def", "lambda", "partial"]
)
@pytest.mark.parametrize("method", ["sptc", "solve"])
def test_a_loss_made_of_functions_can_be_told_of(loss, method, tmp_path, rng):
    T = np.outer(rng.uniform(1, 2, 9), rng.uniform(1, 2, 8))
    T[2, 3] = np.nan
    prior = tfl.Custom(loss)
    if method == "sptc":
        done = tfl.complete(T, method=method, prior=prior, rank=1, max_iter=3)
    else:
        done = tfl.solve(tfl.Problem(tfl.observe(T), rank=1, prior=prior), stopping=tfl.Stopping(max_iter=3))
    facts = summary.facts(done)
    assert facts["prior"]["name"] == "custom"
    assert getattr(loss, "__name__", "function") in facts["prior"]["nll"]
    assert json.loads(json.dumps(facts)) == facts
    assert "custom" in summary.model_words(done)
    write_report(done, tmp_path / "r.html")
    assert "custom" in (tmp_path / "r.html").read_text()
    assert "custom" in repr(done)
    assert "custom" in done._repr_html_()


def test_settings_tell_of_every_prior():
    made = tfl.Custom("(x - t)**2")
    assert made.described() == {"name": "custom", **made.settings()}
    assert tfl.Normal(2.0).described() == {"name": "normal", **tfl.Normal(2.0).settings()}


@pytest.mark.parametrize("sign", [1, -1])
def test_intervals_stay_on_the_side_of_zero_where_the_data_are(sign, rng):
    T = sign * rng.poisson(0.7, (30, 20)).astype(float)
    T[rng.random(T.shape) < 0.3] = np.nan
    done = tfl.complete(T, method="halrtc", max_iter=30, error_bars=0.9)
    low, high, estimate = (end[np.isnan(T)] for end in (*done.bounds, done.full))  # which the estimate may leave
    assert (sign * low >= np.minimum(sign * estimate, 0)).all()
    assert (sign * high >= np.minimum(sign * estimate, 0)).all()
    assert (low <= high).all()
    assert (high > low).any()


@pytest.mark.parametrize(
    ("candidate", "words"), [("means", ".*means"), ("bayes", "bayes"), ("low-rank", r"normal \(.*\), rank \d+")]
)
def test_only_a_low_rank_fit_is_called_by_its_prior_and_rank(candidate, words, rng):
    """Of a series of 30 the answer was a straight line between neighbours, and the summary said: normal, rank 2."""
    T = np.outer(rng.uniform(1, 2, 12), rng.normal(size=10)) + rng.normal(0, 0.1, (12, 10))
    T[rng.random(T.shape) < 0.2] = np.nan
    assert re.match(words, summary.model_words(tfl.complete(T, candidates=[candidate])))


def test_slices_in_another_order_are_not_said_to_be_folded(rng):
    """A table of two columns was called `column folded into 2`."""
    T = rng.normal(size=(20, 2))
    T[3, 1] = np.nan
    done = tfl.complete(T, method="bayes", rank=1)
    turned = dataclasses.replace(done, answer=Refolded(done.answer, 1, np.array([[1], [0]])))
    assert "folded" not in summary.model_words(turned)


def test_a_handful_of_numbers_is_told_to_be_filled_by_their_means():
    assert "model     means" in str(tfl.complete(np.array([[1.0, 2, np.nan], [2, 4, 6]])))


def test_cells_of_a_table_are_counted_not_the_numbers_that_stand_for_them(rng):
    ward = rng.choice(["north", "south", "west"], 40).astype(object)
    ward[:5] = None
    age = rng.normal(40, 9, 40)
    age[30:] = np.nan
    done = tfl.complete(pd.DataFrame({"ward": ward, "age": age}), method="means")
    assert summary.entries(done) == ((40, 2), 65, 15)
    assert "65 of 80 entries (81.2%) known" in str(done)


def test_gaps_of_identifiers_and_empty_columns_are_not_counted_as_filled(rng):
    z = rng.normal(size=60)
    table = pd.DataFrame({"id": np.arange(60.0), "a": z, "b": z + rng.normal(size=60), "none": np.nan})
    table = table.assign(city=np.where(z > 0, "Rome", "Oslo"))
    table.iloc[5:9, :3] = np.nan
    with pytest.warns(tfl.DataWarning):
        done = tfl.complete(table, effort="quick")
    assert summary.entries(done) == ((60, 5), 4 * 60 - 12, 8)
    assert 0 <= summary.facts(done)["rmse_observed"] < np.inf  # it was null: identifiers have no estimate


def test_the_levels_of_a_category_are_one_line(rng):
    """A table of cars had a line for each of 38 models: `model = a4: 0.12 SD`."""
    z = rng.normal(size=200)
    city = np.array(["Bern", "Oslo", "Rome"])[np.digitize(z, [-0.5, 0.5])]
    table = pd.DataFrame({"height": z + 0.1 * rng.normal(size=200), "city": city, "weight": z})
    table.iloc[:40, 0] = table.iloc[40:80, 1] = table.iloc[80:120, 2] = np.nan
    done = tfl.complete(table, effort="quick")
    names = [line.split(":")[0] for line in summary.column_lines(done)]
    assert names == ["height", "city", "weight"]
    parts = [c for c in done.by_column if c.name.startswith("city = ")]
    said = float(summary.column_lines(done)[1].split()[1])
    assert min(c.error for c in parts) - 0.01 <= said <= max(c.error for c in parts) + 0.01


def test_land_is_not_counted_as_filled(rng):
    T = rng.normal(size=(12, 6, 8))
    T[:, 2:, 4:] = np.nan
    T[3, 0] = np.nan
    with pytest.warns(tfl.DataWarning, match=r"fill_unseen=True \(--fill-unseen\)"):
        done = tfl.complete(T, dims=("time", "lat", "lon"), method="means")
    assert summary.entries(done)[2] == 8
    assert summary.facts(done)["filled"] == 8
