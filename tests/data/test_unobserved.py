"""Cells without a value at any time stay empty, are told of, and take no part in hold-outs."""

import warnings

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.holdout import split_like_gaps
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.data.unobserved import never_observed, without_unseen


def sea(seed=0, times=20, side=12, share=0.2):
    """Temperatures (time, lat, lon), a coast, and gaps at random: (data with NaN, land)."""
    rng = np.random.default_rng(seed)
    t, y, x = np.meshgrid(np.arange(times), np.arange(side), np.arange(side), indexing="ij")
    T = 15 + 5 * np.sin(t / 5) + np.cos(y / 6) * 3 + np.sin(x / 5 + t / 9)
    land = (y + x < side * 0.8)[0]
    T[:, land] = np.nan
    T[rng.random(T.shape) < share] = np.nan
    return T, land


def test_land_in_a_sea_cube_stays_empty_and_is_told_of():
    T, land = sea()
    with pytest.warns(DataWarning, match=r"^3\d% of the cells have no value at any time: left empty; fill_unseen=True"):
        done = tfl.complete(T, effort="quick")
    out = done.completed
    assert np.isnan(out[:, land]).all()
    assert np.isfinite(out[:, ~land]).all()
    np.testing.assert_array_equal(out[~np.isnan(T)], T[~np.isnan(T)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled = tfl.complete(T, effort="quick", fill_unseen=True).completed
    assert np.isfinite(filled).all()


@pytest.mark.parametrize("dims", [("time", "lat", "lon"), ("date", "y", "x")])
def test_cells_of_named_modes(dims):
    T, land = sea()
    found = never_observed(Observations.from_dense(T, dims=dims))
    np.testing.assert_array_equal(found, np.broadcast_to(land, T.shape))


def test_dates_say_which_mode_is_time():
    xr = pytest.importorskip("xarray")
    pd = pytest.importorskip("pandas")
    T, land = sea()
    when = pd.date_range("2020-01-01", periods=len(T))
    da = xr.DataArray(T.transpose(1, 2, 0), dims=("lat", "lon", "t"), coords={"t": when}, name="sst")
    with pytest.warns(DataWarning, match="have no value at any time: left empty"):
        done = tfl.complete(da, effort="quick")
    assert done.completed.isnull().values.all(axis=2).tolist() == land.tolist()
    assert done.completed.isnull().sum() == land.sum() * len(T)


def test_it_takes_no_part_in_what_is_held_out():
    T, land = sea(share=0.3)
    with pytest.warns(DataWarning, match="left empty"):
        told = without_unseen(Observations.from_dense(T, dims=("time", "lat", "lon")))
    plain = Observations.from_dense(np.where(land, 1.0, T))  # as if land were known
    assert told.gaps.sum() == plain.gaps.sum()
    kept, aside = split_like_gaps(told, 0.1, np.random.default_rng(0))
    assert not aside.outside[tuple(aside.indices.T)].any()
    whole = aside.mask.any(axis=0) & ~kept.mask.any(axis=0)
    assert not whole.any()  # no cell is hidden as a whole: none of the gaps is a cell


def test_nothing_but_land_is_missing():
    T, _ = sea(share=0.0)
    with pytest.warns(DataWarning, match="left empty"):
        done = tfl.complete(T)
    assert done.status is tfl.Status.NOTHING_MISSING
    np.testing.assert_array_equal(done.completed, T)


def holes(T, where):
    return np.where(where, np.nan, T)


CUBE = np.add.outer(np.add.outer(np.sin(np.arange(24) / 4), np.cos(np.arange(18) / 4)), np.sin(np.arange(20) / 5))
QUESTIONS = {
    "a whole frame": (("time", "y", "x"), np.arange(24)[:, None, None] == 7),
    "few times": (("y", "x", "day"), None),
    "a stripe of the detector": (None, (np.arange(18)[:, None] == 4) & (np.arange(20) > 5)),
    "a picture's hole": (("row", "column", "channel"), None),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_other_gaps_are_filled(case):
    dims, where = QUESTIONS[case]
    T = CUBE if case != "few times" else CUBE[:, :, :3]
    if where is None:
        where = np.zeros(T.shape, dtype=bool)
        where[5:9, 5:9] = True
    obs = Observations.from_dense(holes(T, np.broadcast_to(where, T.shape)), dims=dims)
    assert never_observed(obs) is None


def test_ratings_over_time_are_questions():
    rng = np.random.default_rng(0)
    where = np.unique(rng.integers(0, (40, 30, 12), (600, 3)), axis=0)
    obs = Observations.from_coo(where, rng.random(len(where)), (40, 30, 12), dims=("user", "item", "month"))
    assert never_observed(obs) is None
