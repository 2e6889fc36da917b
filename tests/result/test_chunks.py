"""The estimate chunk by chunk is the estimate."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.units import Units
from tensorfill.models import CP
from tensorfill.result.answer import Factors
from tensorfill.result.chunks import part_of


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
    pytest.importorskip("dask.array")
    done.to_dask(chunks=(4, 7, 2)).to_zarr(tmp_path / "x.zarr")
    np.testing.assert_allclose(zarr.open(str(tmp_path / "x.zarr"), mode="r")[:], done.full, rtol=1e-12)


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0, 1.0), (1.0, 3.0, 0.5, 2.0)])
@pytest.mark.parametrize("mode", [0, 1])
def test_slices_in_units_of_their_own(rng, mode, scale):
    model = CP([rng.random((4, 2)), rng.random((4, 2)), rng.random((3, 2))])
    answer = Factors(model, tfl.Normal(), Units(mode, np.array([0.0, 100.0, 200.0, 300.0]), np.array(scale)))
    assert answer.units.own
    np.testing.assert_allclose(part_of(answer, [(1, 3), (2, 4), (0, 3)]), answer.full()[1:3, 2:4], rtol=1e-12)


def test_an_answer_that_is_no_cp_model_too(rng):
    pytest.importorskip("dask.array")
    T = np.where(rng.random((8, 6)) < 0.7, rng.normal(size=(8, 6)), np.nan)
    done = tfl.complete(T, method="halrtc", max_iter=3)
    np.testing.assert_allclose(done.to_dask(chunks=3).compute(), done.full)
