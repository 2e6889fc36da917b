"""No estimate, no end of an interval and no draw lies outside what a column can hold, whatever kind it is."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.data.observations import DataWarning

ROWS, DRAWS = 160, 300
INFINITE = np.inf
# of every kind of column its least, its largest, and whether it is whole
DOMAINS = {
    "amount": (1e-300, INFINITE, False),
    "small": (1e-300, 1.0, False),
    "debt": (-INFINITE, -1e-300, False),
    "share": (0.0, 1.0, False),
    "percent": (0.0, 100.0, False),
    "whole percent": (0.0, 100.0, True),
    "count": (0.0, INFINITE, True),
    "rare": (0.0, INFINITE, True),
    "stars": (1.0, 5.0, True),
    "marks": (0.0, 10.0, True),
    "points": (0.0, 20.0, True),
    "yes": (0.0, 1.0, True),
    "one or two": (1.0, 2.0, True),
    "change": (-INFINITE, INFINITE, True),
    "took": (0.0, INFINITE, True),
}


def everything(seed):
    """A table with a column of every kind, that hang together; the tails of the second one are heavy."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=ROWS) if seed == 0 else np.clip(rng.standard_t(2, size=ROWS), -8, 8)
    y = z + 0.4 * rng.normal(size=ROWS)
    logistic = 1 / (1 + np.exp(-3 * y))
    return pd.DataFrame(
        {
            "amount": np.exp(y),
            "small": 1e-5 * np.exp(np.minimum(y, 4)),
            "debt": -np.exp(y),
            "share": logistic,
            "percent": np.round(100 * logistic, 1),
            "whole percent": np.round(100 * logistic),
            "count": rng.poisson(np.exp(np.clip(y, -5, 5))).astype(float),
            "rare": rng.poisson(np.exp(np.clip(2 * y - 2, -9, 3))).astype(float),
            "stars": np.clip(np.round(3 + 2 * y), 1, 5),
            "marks": np.clip(np.round(5 + 4 * y), 0, 10),
            "points": np.clip(np.round(10 + 8 * y), 0, 20),
            "yes": (y > 0) * 1.0,
            "one or two": 1.0 + (y > 0),
            "change": np.round(10 * y),
            "took": pd.to_timedelta(np.round(60 * np.exp(np.clip(y, -4, 9))), unit="s"),
            "city": np.where(z > 0.5, "Rome", np.where(z < -0.5, "Oslo", "Bern")),
            "grade": pd.Categorical(np.where(z > 0, "high", "low"), categories=["low", "high"], ordered=True),
        }
    )


def numbers(frame, name):
    column = frame[name]
    return column.dt.total_seconds().to_numpy() if column.dtype.kind == "m" else column.to_numpy(dtype=float)


def count_outside(frame, gaps, *, ends=False):
    """How many numbers in the gaps are outside; an end of an interval may be 0."""
    total = 0
    for name, (low, high, whole) in DOMAINS.items():
        x = numbers(frame, name)[gaps[name]]
        slack = 1e-300 if ends else 0.0
        inside = (x >= low - slack) & (x <= high + slack) & (not whole or x == np.round(x))
        total += int(np.count_nonzero(~inside))
    return total


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("method", ["auto", "bayes", "gaussian"])
def test_nothing_is_outside_the_domain_of_its_column(method, seed):
    frame = everything(seed)
    gaps = pd.DataFrame(np.random.default_rng(5).random(frame.shape) < 0.3, columns=frame.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        settings = {"effort": "quick"} if method == "auto" else {"method": method}
        done = tfl.complete(frame.mask(gaps), error_bars=0.9, **settings)
    assert count_outside(done.completed, gaps) == 0
    low, high = done.interval
    assert count_outside(low, gaps, ends=True) == count_outside(high, gaps, ends=True) == 0
    for name in DOMAINS:
        x, a, b = (numbers(part, name)[gaps[name]] for part in (done.completed, low, high))
        assert ((a <= x) & (x <= b)).all(), name
    shares = done.probabilities("city").to_numpy()
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_no_draw_is_outside_the_domain_of_its_column():
    """Of a hundred thousand and more."""
    frame = everything(1)
    gaps = pd.DataFrame(np.random.default_rng(5).random(frame.shape) < 0.3, columns=frame.columns)
    done = tfl.complete(frame.mask(gaps), method="bayes")
    checked = 0
    for draw in done.sample(DRAWS):
        assert count_outside(draw, gaps, ends=True) == 0
        checked += int(gaps[list(DOMAINS)].to_numpy().sum())
    assert checked > 100_000
