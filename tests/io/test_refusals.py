"""What cannot be data gets a sentence, wherever it comes in; and what only looks odd is taken."""

import os
import stat
from types import SimpleNamespace

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.blocks.filling import fill
from tensorfill.blocks.opening import open_data
from tensorfill.blocks.paths import files_of
from tensorfill.blocks.pieces import Columns, Piece, pieces_of, rows_of
from tensorfill.data import memory
from tensorfill.data.labels import coordinates_of, plain_labels
from tensorfill.io import atomic
from tensorfill.io.files import FORMATS, Loaded
from tensorfill.io.formats import FileError
from tensorfill.io.formats.output import can_write

T = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
COO = ([[0, 0], [1, 1], [1, 1]], [1.0, 2.0, 4.0])


def refused(call, *given, **named):
    """The sentence of a refusal."""
    with pytest.raises((ValueError, TypeError, FileError)) as error:
        call(*given, **named)
    return str(error.value)


# --- arrays and coordinates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"shape": (2,)}, "one length per column of indices, 2"),
        ({"shape": (1, 1)}, r"inside shape \(1, 1\); got \(1, 1\) in row 1"),
        ({"shape": "ab"}, "shape must be a list of whole numbers"),
        ({"weights": [1.0]}, r"weights must have the shape of values, \(3,\)"),
        ({}, "is there more than once"),
        ({"duplicates": "last"}, 'must be "error", "mean" or "sum"'),
        ({"duplicates": "sum", "weights": [1.0, 1, 1]}, 'weights must be None with duplicates="sum"'),
        ({"dims": 3, "duplicates": "mean"}, "dims must be 2 different names"),
        ({"dims": ["a", "a"], "duplicates": "mean"}, "dims must be 2 different names"),
    ],
)
def test_coordinates_that_do_not_fit(given, word):
    with pytest.raises((ValueError, TypeError), match=word):
        tfl.Observations.from_coo(*COO, **{"shape": (2, 2), "duplicates": "error", **given})


def test_readings_of_one_entry_are_averaged_by_weight_or_added():
    mean = tfl.Observations.from_coo(*COO, (2, 2), weights=[1.0, 1.0, 3.0], duplicates="mean")
    np.testing.assert_array_equal(mean.values, [1.0, 3.5])
    np.testing.assert_array_equal(mean.weights, [1.0, 4.0])
    total = tfl.Observations.from_coo(*COO, (2, 2), duplicates="sum")
    np.testing.assert_array_equal(total.values, [1.0, 6.0])


def test_observations_are_made_once():
    obs = tfl.observe(T)
    assert "given when the Observations are made" in refused(tfl.observe, obs, dims=["a", "b"])
    assert "got a single float" in refused(tfl.observe, 3.0)
    assert "with rows of one length" in refused(tfl.observe, [[1.0, 2.0], [3.0]])
    assert "cannot read x.png: there is no such file" in refused(tfl.observe, "x.png")
    assert "held-out share must be between 0 and 1" in refused(obs.split, 1.0, None)
    one = tfl.observe(np.array([[1.0, np.nan]]))
    assert "needs at least 2 observations; got 1" in refused(one.split, 0.5, None)
    assert "dimension must be one of mode0, mode1" in refused(obs.mode, "mode")
    assert "mode must be between 0 and 1" in refused(obs.mode, 2)
    assert repr(tfl.observe(T, weights=np.ones(T.shape))).endswith("weighted)")
    plain = np.arange(6).reshape(2, 3)
    with pytest.warns(tfl.DataWarning, match="all 2 known values are 0: is the mask inverted"):
        tfl.observe(np.where(plain > 1, plain, 0), mask=plain < 2)


# --- tables and libraries ---------------------------------------------------------------------------------------------


def test_tables_that_are_none():
    pd = pytest.importorskip("pandas")
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]])
    series = pd.Series([1.0, 2.0, np.nan, 4.0], index=index)
    assert "must be left out for a Series" in refused(tfl.observe, series, dims=["a", "b"])
    assert tfl.observe(series).dims == ("level0", "level1")
    assert "must be a DataFrame or a Series; got Index" in refused(tfl.observe, pd.Index([1.0, 2.0]))
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2], "v": [1.0, 2.0]})
    assert "columns of this table are a, b, v; got 'c'" in refused(tfl.Observations.from_pandas, frame, ["a", "c"], "v")
    named = frame[["a", "b"]].rename_axis("x").rename_axis("x", axis=1)
    assert tfl.observe(named).dims == ("row", "column")


def test_xarray_that_does_not_fit():
    xr = pytest.importorskip("xarray")
    da = xr.DataArray(T, dims=("day", "hour"))
    assert "must have a variable of numbers" in refused(tfl.observe, (da > 1).astype(str).to_dataset(name="x"))
    assert "dims must be left out for xarray" in refused(tfl.observe, da, dims=["a", "b"])
    assert "mask must have dims and lengths among those" in refused(tfl.observe, da, mask=da.isel(hour=[0]).notnull())
    turned = tfl.observe(da, mask=(da > 1).transpose())
    assert turned.nnz == 4
    by_hour = tfl.observe(da, mask=xr.DataArray([True, True, False], dims="hour"))
    assert by_hour.nnz == 3


def test_dask_and_polars_and_sparse_that_do_not_fit():
    da, pl, dd = (pytest.importorskip(name) for name in ("dask.array", "polars", "dask.bag"))
    array = da.from_array(np.nan_to_num(T), chunks=1)
    assert "compute_chunk_sizes" in refused(tfl.observe, array[array > 1])
    assert "dask input must be an array; got Bag" in refused(tfl.observe, dd.from_sequence([1, 2]))
    frame = pl.DataFrame({"a": ["x", "y"], "b": [1.0, None]})
    assert "call .collect() first" in refused(tfl.observe, frame.lazy())
    assert "polars input must be a DataFrame" in refused(tfl.observe, pl.col("b"))
    assert "none of the columns holds numbers" in refused(tfl.observe, frame[["a"]])
    from scipy.sparse import coo_array

    table = coo_array(np.nan_to_num(T))
    assert "mask and weights must be left out" in refused(tfl.observe, table, np.ones((2, 3), bool), absent="missing")


def test_labels_of_every_kind():
    pd = pytest.importorskip("pandas")
    assert plain_labels(pd.period_range("2024-01", periods=3, freq="M")).dtype.kind == "M"
    assert plain_labels(pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin")).dtype.kind == "M"
    assert list(plain_labels(pd.to_timedelta(["65s", "1h", "2 days 1h"]))) == ["00:01:05", "01:00", "2 d 01:00"]
    assert list(plain_labels([("a", 1), ("b", 2)])) == ["a, 1", "b, 2"]
    assert list(plain_labels(["1", "2.5"])) == [1.0, 2.5]
    obs = tfl.observe(pd.DataFrame(T, index=["x", "y"]))
    assert "'column' is missing" in refused(coordinates_of, obs, {"row": ["x"]})
    assert "got 'z', which the data do not have" in refused(coordinates_of, obs, {"row": ["z"], "column": [0]})


# --- files in pieces --------------------------------------------------------------------------------------------------


def test_files_that_cannot_be_read_in_pieces(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "v": [1.0, 2.0]})
    (tmp_path / "in").mkdir()
    assert "the folder holds no .parquet file" in refused(files_of, tmp_path / "in")
    frame.to_parquet(tmp_path / "in" / "1.parquet")
    assert files_of(tmp_path / "in") == [str(tmp_path / "in" / "1.parquet")]
    assert [rows_of(file) for file in files_of(tmp_path / "in")] == [2]
    (tmp_path / "a.txt").write_text("")
    assert "must end in one of .parquet" in refused(files_of, str(tmp_path / "a.txt"))
    assert "needs to know its columns" in refused(list, pieces_of(str(tmp_path / "in" / "1.parquet"), None))
    (tmp_path / "a.csv").write_text("a,b\nx,1\n")
    assert "has no column 'v'" in refused(list, pieces_of(str(tmp_path / "a.csv"), Columns(("a", "b"), "v")))
    for name in ("a.npy", "a.zarr"):
        (tmp_path / name).write_text("")
        assert "must end in one of .parquet" in refused(files_of, str(tmp_path / name))
    for text, word in (
        ("1 2 x\n", "all numbers"),
        ("0 1 2\n", "whole numbers from 1; got (0, 1) in entry 1"),
        ("1 2\n", "at least two indices and a value"),
    ):
        (tmp_path / "a.tns").write_text(text)
        assert word in refused(list, pieces_of(str(tmp_path / "a.tns"), None))


# --- solve and places for files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"solver": 3}, "solver must be a Solver or one of"),
        ({"init": 3}, "init must be one of"),
        ({"starts": 0}, "starts must be >= 1"),
        ({"starts": 2, "checkpoint": "x.npz"}, "a checkpoint follows one run"),
        ({"stopping": 3}, "stopping must be a Stopping"),
    ],
)
def test_what_solve_cannot_be_given(given, word):
    problem = tfl.Problem(tfl.observe(T), rank=1, prior="normal", quiet=True)
    assert word in refused(tfl.solve, problem, **{"solver": "lbfgsb", **given})


def test_places_that_no_file_may_take(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="it is a pipe"), atomic.replace_file(pipe):
        pass
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    assert "must be text or a path" in refused(atomic.check_path, 3)
    assert "nor hold a zero byte" in refused(atomic.check_path, "a\0b")
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert "is IN, which would be lost" in atomic.find_overwritten({"--report": a}, {"IN": a})
    assert "--report and --checkpoint are both" in atomic.find_overwritten(
        {"--report": a, "--checkpoint": a}, {"IN": b}
    )
    assert atomic.find_overwritten({"--report": a, "-o": "-"}, {"IN": b, "--mask": None}) == ""
    assert atomic.is_running(2**40)  # no such number: nothing is removed for it


# --- stores and memory ------------------------------------------------------------------------------------------------


def test_stores_that_are_full_and_pieces_that_do_not_fit(tmp_path, monkeypatch):
    where = [(None, np.array([0, 1])), (None, np.array([0, 1]))]
    good = Piece(where, np.array([1.0, 2.0]))
    third = Piece([*where, where[0]], np.array([1.0, 2.0]))
    assert "the same modes; got 2 and 3" in refused(fill, [good, third], folder=str(tmp_path))
    assert "weights must be finite and > 0; got -1.0 in row 2" in refused(
        fill, [Piece(where, good.values, np.array([1.0, -1.0]))], folder=str(tmp_path)
    )
    assert "hold no observed value" in refused(fill, [], folder=str(tmp_path))
    told = []
    fill([good], folder=str(tmp_path), tell=lambda what, rows: told.append((what, rows))).store.remove()
    assert told == [("reading", 2)]
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=0))
    assert "is full: 268 MB more are needed. Set TMPDIR" in refused(fill, [good], folder=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_tables_whose_columns_are_not_named():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "v": [1.0, 2.0]})
    assert "columns of a Dask table must be named" in refused(open_data, dd.from_pandas(frame, npartitions=1))
    assert "value names a column of a table; got ndarray" in refused(open_data, T, dims=["a", "b"], value="v")
    assert "must be different columns; got a, b, a" in refused(open_data, frame, dims=["a", "b"], value="a")
    assert "weights of a table must be the name" in refused(open_data, frame, dims=["a", "b"], value="v", weights=[1])
    assert open_data(T) is None
    assert open_data("picture.png") is None


def test_what_is_free_where_the_system_does_not_tell(monkeypatch):
    monkeypatch.setattr(memory, "_linux", lambda: None)
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    assert 0 < memory.free() <= half
    monkeypatch.setattr("os.sysconf", lambda name: (_ for _ in ()).throw(ValueError))
    assert 0 < memory.free() <= 2**32
    monkeypatch.undo()
    monkeypatch.setattr("pathlib.Path.read_text", lambda path: (_ for _ in ()).throw(OSError))
    assert memory._linux() is None


def test_what_a_format_can_hold_is_known_before_it_is_written():
    table = Loaded("npy", (2, 3), np.dtype(float), values=np.ones((2, 3)))
    deep = Loaded("npy", (2, 3, 4, 5), np.dtype(float), values=np.ones((2, 3, 4, 5)))
    assert can_write(FORMATS["npy"](), np.ones((2, 3)), table)
    assert can_write(FORMATS["csv"](), np.ones((2, 3)), table)
    assert not can_write(FORMATS["png"](), np.ones((2, 3, 4, 5)), deep)


def test_rows_of_different_lengths_with_the_file_of_a_mask():
    """NumPy said it in its own words."""
    with pytest.raises(ValueError, match=r"rows of one length; these have 1, 2 entries"):
        tfl.observe([[1.0, 2.0], [3.0]], mask="no such file")
