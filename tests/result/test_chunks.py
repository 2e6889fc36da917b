"""The estimate chunk by chunk is the estimate."""

import numpy as np
import pytest

import tensorfill as tfl


@pytest.fixture
def done(rng):
    T = np.where(rng.random((9, 7, 5)) < 0.6, rng.normal(3, 1, (9, 7, 5)), np.nan)
    obs = tfl.Observations.from_dense(T)
    return tfl.solve(tfl.Problem(obs, 2, quiet=True), "newton", stopping=tfl.Stopping(max_iter=3))


def test_as_a_dask_array(done):
    pytest.importorskip("dask.array")
    array = done.to_dask(chunks=(4, 7, 2))
    assert array.chunks == ((4, 4, 1), (7,), (2, 2, 1))
    np.testing.assert_allclose(array.compute(), done.full, rtol=1e-12)
    np.testing.assert_allclose(done.to_dask()[3:5, 2].compute(), done.full[3:5, 2], rtol=1e-12)


def test_as_a_zarr_store(done, tmp_path):
    zarr = pytest.importorskip("zarr")
    done.to_zarr(tmp_path / "x.zarr", chunks=(4, 7, 2))
    np.testing.assert_allclose(zarr.open(str(tmp_path / "x.zarr"), mode="r")[:], done.full, rtol=1e-12)
    with pytest.raises(ValueError, match="for each of the 3 modes"):
        done.to_zarr(tmp_path / "y.zarr", chunks=(4, 7))
    assert not (tmp_path / "y.zarr").exists()


def test_an_answer_that_is_no_cp_model_too(rng):
    pytest.importorskip("dask.array")
    T = np.where(rng.random((8, 6)) < 0.7, rng.normal(size=(8, 6)), np.nan)
    done = tfl.complete(T, method="halrtc", max_iter=3)
    np.testing.assert_allclose(done.to_dask(chunks=3).compute(), done.full)
