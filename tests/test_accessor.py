"""The xarray accessor: one import registers it; dask-backed arrays are loaded with a note on their size."""

import subprocess
import sys

import numpy as np
import pytest

import tensorfill as tfl

pytest.importorskip("xarray")

import xarray as xr

import tensorfill.accessor

QUICK = {"rank": 1, "prior": "normal", "held_out": 0.0, "smooth": {}}


@pytest.fixture
def da():
    T = np.outer(np.linspace(1, 2, 8), np.linspace(3, 5, 6))
    T[2, 3] = T[5, 0] = np.nan
    coords = {"station": list("abcdefgh"), "hour": np.arange(6) * 4}
    return xr.DataArray(T, coords, ("station", "hour"), name="flow", attrs={"units": "m3/s"})


def test_the_answer_is_that_of_complete_in_a_dataarray(da):
    before = da.copy(deep=True)
    done = da.tensorfill.complete(seed=3, **QUICK)
    assert isinstance(done, tfl.Completion)
    xr.testing.assert_identical(done.completed, tfl.complete(da, seed=3, **QUICK).completed)
    xr.testing.assert_identical(da, before)
    assert done.completed.attrs == da.attrs
    assert done.completed.name == "flow"
    assert done.completed.indexes["station"].equals(da.indexes["station"])
    np.testing.assert_allclose(done.completed.values, np.outer(np.linspace(1, 2, 8), np.linspace(3, 5, 6)), rtol=0.02)


def test_a_dataset_has_it_too(da):
    both = da.to_dataset(name="flow").assign(level=da.fillna(1) * 2)
    done = both.tensorfill.complete(method="halrtc", max_iter=5)
    xr.testing.assert_identical(done.completed, tfl.complete(both, method="halrtc", max_iter=5).completed)
    assert not done.completed["flow"].isnull().any()


def test_dimensions_go_by_name_and_a_mask_may_be_transposed(da):
    mask = xr.DataArray(np.ones((6, 8), dtype=bool), dims=("hour", "station"))
    mask[0, 7] = False  # station h, hour 0
    done = da.tensorfill.complete(mask, rank=1, prior="normal", held_out=0.0, smooth={"hour": 0.1})
    assert done.observations.nnz == 8 * 6 - 3
    assert done.settings["smooth"] == {"1": 0.1}
    assert done.completed.sel(station="h", hour=0) != da.sel(station="h", hour=0)


@pytest.mark.parametrize("use", ["accessor", "function"])
def test_a_dask_array_is_loaded_with_a_note_on_its_size(da, use):
    pytest.importorskip("dask.array")
    lazy = da.chunk({"station": 4})
    with pytest.warns(UserWarning, match=r"DataArray 'flow' \(station: 8, hour: 6\) is backed by dask.* 0\.384 kB"):
        done = lazy.tensorfill.complete(**QUICK) if use == "accessor" else tfl.complete(lazy, **QUICK)
    xr.testing.assert_identical(done.completed, da.tensorfill.complete(**QUICK).completed)
    assert lazy.chunks is not None


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_tensorfill_alone_does_not_register_it():
    code = "import tensorfill, xarray; print(hasattr(xarray.DataArray, 'tensorfill')); import tensorfill.accessor; "
    assert run(code + "print(hasattr(xarray.DataArray, 'tensorfill'))").split() == ["False", "True"]


def test_without_xarray_one_sentence_says_what_to_install():
    code = "import sys; sys.modules['xarray'] = None\ntry:\n  import tensorfill.accessor\n"
    assert (
        run(code + "except ImportError as error: print(error)")
        == "tensorfill.accessor needs xarray; install it with: pip install 'tensorfill[xarray]'"
    )
