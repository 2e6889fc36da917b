"""The result: types, exactness, disk, other libraries."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from problems import MIXED, make_prior, make_problem

import tensorfill as tfl
from tensorfill.numerical.base import PRIORS


@pytest.fixture(scope="module")
def done():
    problem, _ = make_problem("poisson", shape=(8, 6, 4), rank=2)
    return tfl.solve(problem, "adam", held_out=0.1, stopping=tfl.Stopping(max_iter=20))


def test_observed_entries_come_back_bit_for_bit(done):
    obs = done.observations
    assert np.array_equal(done.completed.reshape(-1)[obs.flat], obs.values)
    assert np.isfinite(done.completed).all()
    gaps = ~obs.mask
    assert np.allclose(done.completed[gaps], done.estimate[gaps])


def test_at_agrees_with_estimate(done):
    where = np.argwhere(np.ones(done.observations.shape, dtype=bool))
    assert np.allclose(done.at(where), done.estimate.ravel())


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64", "bool"])
def test_type_of_the_input(dtype, rng):
    T = rng.integers(0, 2 if dtype == "bool" else 50, (9, 8, 3)).astype(dtype)
    mask = rng.random(T.shape) < 0.7
    done = tfl.complete(T, mask=mask, max_iter=5)
    assert done.completed.dtype == dtype
    assert np.array_equal(done.completed[mask], T[mask])
    assert done.estimate.dtype.kind == "f"


def test_xarray_in_xarray_out(rng):
    da = xr.DataArray(rng.poisson(4.0, (6, 5, 4)).astype(float), dims=("site", "day", "hour"), attrs={"unit": "1"})
    holes = da.where(xr.DataArray(rng.random(da.shape) < 0.7, dims=da.dims))
    done = tfl.complete(holes, smooth={"hour": 1.0}, rank=2, max_iter=5)
    assert isinstance(done.completed, xr.DataArray)
    assert done.completed.dims == da.dims
    assert done.completed.attrs == {"unit": "1"}
    assert not done.completed.isnull().any()


@pytest.mark.parametrize("name", [*PRIORS, *MIXED])
def test_save_and_load_with_every_prior(name, tmp_path):
    problem, factors = make_problem(make_prior(name))
    done = tfl.solve(problem, "lbfgsb", init=factors, stopping=tfl.Stopping(max_iter=2))
    done.save(tmp_path / "run.npz")
    again = tfl.Completion.load(tmp_path / "run.npz")
    assert again.prior == done.prior
    assert again.status is done.status
    assert np.array_equal(again.estimate, done.estimate)
    assert np.array_equal(again.completed, done.completed)
    assert np.array_equal(again.history["value"], done.history["value"])
    assert again.settings == done.settings


def test_uneven_positions_are_saved_too(tmp_path):
    obs = tfl.Observations.from_dense(np.where(np.eye(8) > 0, np.nan, np.arange(64.0).reshape(8, 8)))
    at = np.array([0, 1, 2, 3, 10, 11, 12, 20.0])
    done = tfl.complete(dataclasses.replace(obs, positions=(None, at)), method="halrtc")
    done.save(tmp_path / "run.npz")
    first, second = tfl.Completion.load(tmp_path / "run.npz").observations.positions
    assert first is None
    np.testing.assert_array_equal(second, at)


def test_load_refuses_other_files(tmp_path):
    np.savez(tmp_path / "x.npz", a=1)
    with pytest.raises(ValueError, match="written by Completion"):
        tfl.Completion.load(tmp_path / "x.npz")


def test_save_replaces_atomically(done, tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    done.save(path)
    before = path.read_bytes()

    def broken(*args, **kw):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", broken)
    with pytest.raises(OSError, match="disk full"):
        done.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_repr_fits_one_screen(done):
    lines = repr(done).splitlines()
    assert len(lines) < 20
    assert max(map(len, lines)) < 130
    assert done.status.sentence in repr(done)


def test_every_status_has_a_sentence():
    for status in tfl.Status:
        assert status.sentence.endswith(".")
        assert status.sentence[0].isupper()


def test_the_best_of_every_row_as_a_table():
    T = np.array([[1.0, np.nan, np.nan, 4.0], [2.0, 3.0, 1.0, 5.0], [np.nan, 6.0, 2.0, 9.0]])
    done = tfl.complete(T, method="means", dims=("user", "item"))
    table = done.top(2, mode="item").to_frame()
    assert list(table.columns) == ["user", "place", "item", "estimate"]
    assert list(table["user"]) == [0, 0, 2]  # the second row has nothing to choose from, the third one entry
    assert list(table["place"]) == [1, 2, 1]
    np.testing.assert_array_equal(table["estimate"], done.estimate[table["user"], table["item"]])


@pytest.mark.parametrize("kind", ["table", "dataset"])
def test_an_error_is_beside_the_standard_deviation_of_one_column(kind):
    """Of temperatures about 35 and pressures about 1013 it was `(standard deviation of the data: 462)`."""
    rng = np.random.default_rng(0)
    season = np.cumsum(rng.normal(size=(300, 1)), axis=0)
    T = season + 0.1 * rng.normal(size=(300, 3)) + [39, 30, 1013]
    T = np.where(rng.random(T.shape) < 0.1, np.nan, T)
    data = pd.DataFrame(T, columns=["temp", "dewp", "pressure"])
    if kind == "dataset":
        data = xr.Dataset({name: (("day", "place"), T[:, [n, n]]) for n, name in enumerate(data)})
    said = tfl.complete(data, effort="quick").quality
    which, spread = re.search(r"standard deviation within each (\w+): ([\d.]+)", said).groups()
    assert which == {"table": "column", "dataset": "variable"}[kind]
    assert float(spread) == pytest.approx(np.nanstd(T, axis=0).mean(), rel=0.05)
