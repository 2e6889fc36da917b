"""Where entries lie along a mode: uneven coordinates are known, and used."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.facts import compute_facts
from tensorfill.data.labels import with_positions

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")


def uneven(rng, count=60):
    return np.sort(rng.choice(np.arange(6 * count), count, replace=False))


def curves(at):
    return np.stack([np.sin(at / 40.0 + shift) for shift in (0.0, 1.0, 2.0)], axis=1)


def moments(at):
    return pd.Timestamp("2024-01-01") + pd.to_timedelta(at, unit="h")


def as_xarray(T, at):
    return xr.DataArray(T, dims=["time", "sensor"], coords={"time": moments(at)})


def as_wide(T, at):
    return pd.DataFrame(T, index=moments(at))


def as_series(T, at):
    return as_xarray(T, at).to_series()


@pytest.mark.parametrize("kind", [as_xarray, as_wide, as_series])
def test_moments_that_rise_unevenly_are_positions(kind):
    at = uneven(np.random.default_rng(0))
    obs = tfl.observe(kind(curves(at), at))
    where = obs.position(0)
    np.testing.assert_allclose(np.diff(where) / np.diff(where)[0], np.diff(at) / np.diff(at)[0])
    np.testing.assert_array_equal(obs.position(1), [0, 1, 2])
    assert compute_facts(obs).modes[0].steps > 1
    assert "uneven steps" in str(compute_facts(obs))


@pytest.mark.parametrize(
    "labels", [pd.date_range("2024-01-01", periods=24, freq="MS"), list("abcdefghijklmnopqrstuvwx")]
)
def test_months_and_names_are_even(labels):
    obs = tfl.observe(np.ones((24, 3)), dims=["time", "sensor"])
    assert with_positions(obs, {"time": labels}).positions is None


def test_gaps_are_filled_by_distance_and_not_by_count():
    rng = np.random.default_rng(1)
    at = uneven(rng)
    T = curves(at)
    hidden = rng.random(T.shape) < 0.5
    gaps = np.where(hidden, np.nan, T)
    off = [
        np.abs(tfl.complete(data, candidates=["interpolation"]).full - T)[hidden].mean()
        for data in (as_xarray(gaps, at), gaps)
    ]
    assert off[0] < 0.5 * off[1]
