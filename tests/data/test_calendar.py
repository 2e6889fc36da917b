"""Periods that dates propose before any is seen in the data."""

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.data.facts import compute_facts
from tensorfill.data.labels import calendar_period


@pytest.mark.parametrize(
    ("freq", "period"),
    [("h", 24), ("30min", 48), ("D", 7), ("7D", 52), ("MS", 12), ("QS", 4), ("YS", None), ("36h", None), ("5h", None)],
)
def test_dates_propose_a_period(freq, period):
    assert calendar_period(pd.date_range("2020-01-01", periods=200, freq=freq)) == period


def test_no_calendar_without_two_turns_of_it_or_even_steps():
    assert calendar_period(pd.date_range("2020-01-01", periods=23, freq="MS")) is None
    assert calendar_period(pd.date_range("2020-01-01", periods=24, freq="MS")) == 12
    assert calendar_period(pd.DatetimeIndex(["2020-01-01", "2020-01-02", "2020-01-09", "2020-01-10"])) is None
    assert calendar_period(pd.Index(["a", "b", "c"])) is None


def monthly(noise):
    """Four years known, two to come, of a yearly profile that changes of level and noise hide."""
    rng, at = np.random.default_rng(0), pd.date_range("2015-01-01", periods=72, freq="MS")
    profile = np.tile(rng.normal(size=12), 6)
    return pd.Series(20 + profile + noise * rng.normal(size=72), index=at)


def test_a_series_of_months_goes_on_as_its_years_did():
    truth = monthly(0.3)
    known = truth.copy()
    known[48:] = np.nan
    obs = tfl.observe(known)
    assert compute_facts(obs).modes[0].period == 12
    done = tfl.complete(known)
    years = truth[:48].to_numpy().reshape(4, 12)
    others = (np.tile(years[-1], 2), years.mean(), np.tile(years.mean(axis=0), 2))
    off, *naive = [np.sqrt(np.mean((np.asarray(x) - truth[48:]) ** 2)) for x in (done.completed[48:], *others)]
    assert off < min(0.9 * naive[0], 0.6 * naive[1], 1.1 * naive[2])  # the mean of all years is as good as can be
    assert sum(row.weight for row in done.tried if "12" in row.name) > 0.9
