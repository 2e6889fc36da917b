"""Columns that say nothing (empty, constant, keys, copies) change nothing about the others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

import tensorfill as tfl
from tensorfill.data.observations import DataWarning

rng = np.random.default_rng(0)


def survey():
    """Answers from 1 to 5 that hang together."""
    z = rng.normal(size=(60, 1))
    return pd.DataFrame(np.clip(np.round(3 + z + 0.7 * rng.normal(size=(60, 6))), 1, 5)).set_axis(
        list("abcdef"), axis=1
    )


def people():
    z = rng.normal(size=80)
    city = np.where(z > 0.5, "Rome", np.where(z < -0.5, "Oslo", "Bern"))
    height = 170 + 10 * z + rng.normal(size=80)
    return pd.DataFrame({"height": height, "visits": rng.poisson(np.exp(1 + z / 2)).astype(float), "city": city})


TABLES = {
    "iris": load_iris(as_frame=True).data.iloc[::2].reset_index(drop=True),
    "wine": load_wine(as_frame=True).data.iloc[::3, :8].reset_index(drop=True),
    "survey": survey(),
    "people": people(),
}
ADDED = {
    "empty": lambda frame: np.full(len(frame), np.nan),
    "empty text": lambda frame: pd.Series([None] * len(frame), dtype=object),
    "constant": lambda frame: np.full(len(frame), 70_000.0),
    "constant text": lambda frame: ["same"] * len(frame),
    "row number": lambda frame: np.arange(len(frame)),
    "number from 1000": lambda frame: 1000 + np.random.default_rng(1).permutation(len(frame)),
    "user_id": lambda frame: pd.Series(5000 + 3 * np.arange(len(frame), dtype=float)).mask(
        np.arange(len(frame)) % 9 == 2
    ),
    "long key": lambda frame: 10**9 + 17 * np.random.default_rng(1).permutation(len(frame)),
    "longer key": lambda frame: pd.Series(2**53 + np.arange(len(frame)), dtype="Int64"),  # floats have half of them
    "text key": lambda frame: [f"k{k:05d}" for k in np.random.default_rng(1).permutation(len(frame))],
    "copy": lambda frame: frame.iloc[:, 0],
}


def complete(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return tfl.complete(frame, effort="quick", seed=0).completed


@pytest.fixture(scope="module")
def answers():
    gaps = {name: t.mask(np.random.default_rng(3).random(t.shape) < 0.2) for name, t in TABLES.items()}
    return {name: (frame, complete(frame)) for name, frame in gaps.items()}


@pytest.mark.parametrize(("added", "place"), [*((added, 0) for added in ADDED), ("row number", -1), ("text key", -1)])
@pytest.mark.parametrize("name", TABLES)
def test_columns_that_say_nothing_change_nothing(answers, name, added, place):
    """To the bit: they take no part in the fit, nor in what is decided before it."""
    frame, before = answers[name]
    wider = frame.copy()
    wider.insert(0 if place == 0 else frame.shape[1], added, ADDED[added](frame))
    after = complete(wider)
    assert list(after.columns) == list(wider.columns)
    pd.testing.assert_frame_equal(after.drop(columns=added), before, check_exact=True)


def test_amounts_larger_than_floats_have_decimals_are_no_key():
    mass = 10.0 ** np.random.default_rng(3).uniform(24, 30, size=100)
    frame = pd.DataFrame({"kg": mass, "log": np.log10(mass)})
    frame.loc[::4, "kg"] = np.nan
    assert complete(frame)["kg"].notna().all()


def test_the_days_of_a_series_are_no_key():
    """A trend that only the column of days knows: rows are shuffled."""
    day = np.random.default_rng(2).permutation(100)
    frame = pd.DataFrame({"day": day, "price": 3.0 * day + 0.5, "volume": 100.0 - day})
    frame.loc[::4, ["price", "volume"]] = np.nan
    out = complete(frame)
    assert np.abs(out["price"] - 3.0 * day - 0.5).max() < 30
