"""Tables (CSV, Parquet), labelled arrays (NetCDF, Zarr), MATLAB files: forms, labels, types, other contents."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.data.coordinates import first_duplicate, match_rows
from tensorfill.io.files import FileError, read, write
from tensorfill.io.formats.long import encode_labels
from tensorfill.io.formats.steps import step_note

LONG = {"dims": ["site", "day"], "value": "count"}


def dense(loaded):
    out = np.full(loaded.shape, np.nan)
    out[tuple(loaded.indices.T)] = loaded.values_coo
    return out


def csv_round_trip(tmp_path, text, completed=None, **options):
    """The text that comes out, with gaps filled by 1000.25 unless something else is given."""
    (tmp_path / "a.csv").write_bytes(text.encode())
    loaded = read(tmp_path / "a.csv", **options)
    if completed is None or np.ndim(completed) == 0:
        values = np.where(loaded.observed(), loaded.values, np.nan) if not loaded.coordinate else dense(loaded)
        completed = np.where(np.isnan(values), 1000.25 if completed is None else completed, values)
    write(tmp_path / "b.csv", completed, loaded)
    return loaded, (tmp_path / "b.csv").read_bytes().decode()


# --- CSV, long form -----------------------------------------------------------------------------------------------


def test_numbers_with_a_nan_among_them_are_labels_in_the_order_in_which_they_come():
    assert encode_labels(["3", "1", "2"]).labels == ["1", "2", "3"]
    assert encode_labels(["3", "1", "nan", "2", "0"]).labels == ["3", "1", "nan", "2", "0"]


def test_long_form_keeps_text_columns_and_order(tmp_path):
    text = 'site,note,day,count\nb,first,2,1.50\na,"x, y",1,2e0\nb,,1,3\n'
    loaded, out = csv_round_trip(tmp_path, text, **LONG)
    assert loaded.labels == {"site": ["b", "a"], "day": ["1", "2"]}  # days are numbers: in their order
    assert loaded.dtype == np.float64
    # rows as they were, to the character; every combination; sites and days in the order of first appearance
    assert out == 'site,note,day,count\nb,first,2,1.50\nb,,1,3\na,,2,1000.25\na,"x, y",1,2e0\n'


def test_long_form_of_integers_gives_integers(tmp_path):
    big = 2**53 + 1
    loaded, out = csv_round_trip(tmp_path, f"site,day,count\na,1,{big}\na,2,\nb,1,007\n", **LONG)
    assert loaded.dtype == np.int64
    assert loaded.values_coo.tolist() == [big, 7]
    assert out == f"site,day,count\na,1,{big}\na,2,1000\nb,1,007\nb,2,1000\n"


def test_long_form_orders_dates_and_numbers(tmp_path):
    text = "site,day,count\n10,2024-03-02,1\n9,2024-03-01,2\n"
    loaded, _ = csv_round_trip(tmp_path, text, **LONG)
    assert loaded.labels == {"site": ["9", "10"], "day": ["2024-03-01", "2024-03-02"]}
    np.testing.assert_array_equal(dense(loaded), [[2, np.nan], [np.nan, 1]])


@pytest.mark.parametrize(
    ("first_seen", "order"),
    [
        ("23:30 04:00 9:15", "04:00 9:15 23:30"),
        ("7:05:10 07:05 06:59:59.5", "06:59:59.5 07:05 7:05:10"),
        ("23:30 noon 04:00", "23:30 noon 04:00"),  # one is no time: as they appear
        ("23:70 04:00", "23:70 04:00"),
    ],
)
def test_long_form_orders_clock_times(first_seen, order, tmp_path):
    rows = "".join(f"a,{label},{n}\n" for n, label in enumerate(first_seen.split()))
    loaded, _ = csv_round_trip(tmp_path, f"site,day,count\n{rows}", **LONG)
    assert loaded.labels["day"] == order.split()
    assert dense(loaded)[0].tolist() == [first_seen.split().index(label) for label in order.split()]


def test_long_form_with_dims_or_value_alone(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,v\n1,1,5\n1,2,6\n")
    for options in ({"dims": ["x", "y"]}, {"value": "v"}):
        loaded = read(tmp_path / "a.csv", **options)
        assert loaded.dims == ("x", "y")
        assert loaded.values_coo.tolist() == [5, 6]


@pytest.mark.parametrize("text", ["x;y;v\r\n1;1;5\r\n1;2;6\r\n", "x\ty\tv\n1\t1\t5\n1\t2\t6\n"])
def test_separators_and_line_ends_are_kept(text, tmp_path):
    assert csv_round_trip(tmp_path, text, dims=["x", "y"])[1] == text


# --- CSV, wide form -----------------------------------------------------------------------------------------------


WIDE = {  # text: (shape, row labels, column labels)
    "1,2\n3,4\n": ((2, 2), None, None),
    "a,b\n1,2\n3,4\n": ((2, 2), None, ["a", "b"]),
    "x,1,2\ny,3,4\n": ((2, 2), ["x", "y"], ["1", "2"]),
    "name,2001,2002\nx,1,2\ny,3,4\n": ((2, 2), ["x", "y"], ["2001", "2002"]),
    ",a,b\n0,1,2\n1,3,4\n": ((2, 2), ["0", "1"], ["a", "b"]),
    "1,NA\nnan,4\n,2\n": ((3, 2), None, None),
    "2020_01,2020_02\n1,2\n": ((1, 2), None, ["2020_01", "2020_02"]),
}


@pytest.mark.parametrize("text", WIDE)
def test_wide_form_header_and_labels(text, tmp_path):
    shape, rows, columns = WIDE[text]
    if text.startswith("x,1,2"):  # the first row has a cell that is no number: a header, as documented
        shape, rows = (1, 2), ["y"]
    loaded, _ = csv_round_trip(tmp_path, text)
    assert loaded.shape == shape
    assert (loaded.labels or {}).get(loaded.dims[0]) == rows
    assert (loaded.labels or {}).get("column") == columns
    assert loaded.notes == ()


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("0,1,2\n1.5,,2\n4,5,6\n", (2, 3)),
        ("1,2,3\n1.5,,2\n", (1, 3)),
        (",0,1,2\n0,1.5,,2\n1,4,5,6\n", (2, 3)),
        ("2005,2006,2007,2008\n1.5,,2,3\n4,5,6,9\n", (2, 4)),
        ("30,20,10\n1.5,,2\n", (1, 3)),
        ("0,2,3\n1.5,,2\n", (2, 3)),  # does not count: a row like the other
        ("0,1\n5,\n", (2, 2)),  # two cells may count by chance
        ("5,5,5\n5,,4\n", (2, 3)),
        ("0,1,2,3\n4,5,6,7\n8,9,,11\n", (3, 4)),  # so does the row below
    ],
)
def test_a_first_row_that_counts_is_a_header(text, shape, tmp_path):
    loaded, out = csv_round_trip(tmp_path, text)
    assert loaded.shape == shape
    assert out.splitlines()[0] == text.splitlines()[0]
    rows = len(text.splitlines())
    noted = any("is taken as the header, not as data" in note for note in loaded.notes)
    assert noted == (shape[0] < rows and not text.startswith(","))


@pytest.mark.parametrize(
    ("first", "name", "labels"),
    [
        (("minute", "0", "1", "2", "3"), "minute", True),
        (("year", "2020", "2015", "2010", "2005"), "year", True),
        (("t", "0.0", "1.0", "2.0", "3.0"), "t", True),
        (("patient_id", "100001", "100000", "100007", "100002"), "patient_id", True),
        (("PatientID", "4", "1", "7", "2"), "PatientID", True),
        (("Unnamed: 0", "4", "1", "7", "2"), "row", True),
        (("", "4", "1", "7", "2"), "row", True),
        (("column", "1", "2", "3", "4"), "row", True),
        (("id", "4", "1", "4", "2"), "row", False),  # the same twice: they tell no rows apart
        (("humid", "4", "1", "7", "2"), "row", False),
        (("a", "4", "1", "7", "2"), "row", False),
        (("a", "1", "2", "", "4"), "row", False),
        (("a", "5", "5", "5", "5"), "row", False),
        (("a", "0.5", "1.5", "2.5", "3.5"), "row", False),
    ],
)
def test_a_first_column_that_counts_or_numbers_the_rows_is_labels(first, name, labels, tmp_path):
    rest = ["x,y", "1.5,", ",4", "2.5,3", "2,1"]
    text = "".join(f"{a},{b}\n" for a, b in zip(first, rest, strict=True))
    loaded, out = csv_round_trip(tmp_path, text)
    assert loaded.shape == (4, 2 if labels else 3)
    assert loaded.dims == (name, "column")
    if labels:
        assert loaded.labels[name] == list(first[1:])
        assert [line.split(",")[0] for line in out.splitlines()] == list(first)
    named = f", {first[0]!r}," if first[0] else ""
    noted = [n for n in loaded.notes if n.startswith(f"the first column{named} ") and "taken as labels, not as" in n]
    assert len(noted) == (labels and first[0] != "")


def test_a_matrix_in_which_every_column_counts_is_data(tmp_path):
    assert csv_round_trip(tmp_path, "1,2,\n3,4,9\n5,6,1\n")[0].shape == (3, 3)
    assert csv_round_trip(tmp_path, "0,7,\n1,4,9\n2,6,1\n")[0].shape == (3, 2)  # without a header, too


def test_words_for_yes_and_no(tmp_path):
    loaded, out = csv_round_trip(
        tmp_path, "name,a,b\nx,Yes,\ny,No,?\nz,yes,NO\n", np.array([[1, 0.7], [0, 0.2], [1, 0]])
    )
    assert loaded.dtype == bool
    np.testing.assert_array_equal(loaded.observations().values, [1, 0, 1, 0])
    assert out == "name,a,b\nx,Yes,Yes\ny,No,No\nz,yes,NO\n"
    _, out = csv_round_trip(tmp_path, "TRUE,\n,TRUE\n", np.array([[1, 0.7], [0.2, 1]]))  # no header, one of two words
    assert out == "TRUE,TRUE\nFALSE,TRUE\n"
    text = "site,day,count\na,1,true\na,2,false\nb,1,\n"
    loaded, out = csv_round_trip(tmp_path, text, np.array([[1, 0], [0.9, 0.1]]), **LONG)
    assert loaded.dtype == bool
    assert out == text.replace("b,1,", "b,1,true") + "b,2,false\n"
    (tmp_path / "a.csv").write_text("name,a,b\nx,yes,1\ny,0,2\n")
    with pytest.raises(FileError, match=r"'yes' in row 2, column 2 is not a number"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize("blank", ["-", "--", "?", "\u2014", "\u2013", " - ", "N/A"])
def test_texts_for_missing(blank, tmp_path):
    loaded, out = csv_round_trip(tmp_path, f"a,b\n1.5,{blank}\n{blank},-2\n")
    np.testing.assert_array_equal(loaded.values, [[1.5, np.nan], [np.nan, -2]])
    assert out == "a,b\n1.5,1000\n1000.2,-2\n"  # as many digits as their column


def test_a_text_of_ones_own_for_missing(tmp_path):
    loaded, out = csv_round_trip(tmp_path, "a,b\n1,lost\nLost,2\n", missing_value="lost")
    assert loaded.observations().nnz == 2
    assert out == "a,b\n1,1000\n1000,2\n"
    loaded, _ = csv_round_trip(tmp_path, "site,day,count\nlost,1,1\nlost,2,lost\n", missing_value="lost", **LONG)
    assert (loaded.labels["site"], loaded.values_coo.tolist()) == (["lost"], [1])
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    with pytest.raises(FileError, match=r"--missing-value must be a number for a NumPy array; got 'lost'\.$"):
        read(tmp_path / "a.npy", missing_value="lost")


def test_wide_form_keeps_text(tmp_path):
    _, out = csv_round_trip(tmp_path, "name,a,b\nx,1.50,\ny,NA,4e1\n")
    assert out == "name,a,b\nx,1.50,1000.25\ny,1000.25,4e1\n"
    _, out = csv_round_trip(tmp_path, "a,b\n1,\n-3,+4\n")
    assert out == "a,b\n1,1000\n-3,+4\n"


def test_wide_form_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf1,2\n3,4\n")
    assert read(tmp_path / "a.csv").shape == (2, 2)


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        (
            "1T00 1T01 1T02 1T05 1T06",
            "time: 2 steps, 2024-03-01 03:00:00",
        ),
        (
            "1 2 3 5 6 9 10 11",
            "time: 3 steps, 2024-03-04 00:00:00",
        ),
        ("1 2 3 4 5", None),
        ("1T00:00 1T00:15 1T00:30 1T01:10 1T01:25", None),  # not a whole number of steps: an uneven series
        ("1 3 2 4 5", None),
    ],
)
def test_moments_that_are_absent_are_told(labels, note, tmp_path):
    moments = [f"2024-03-{label.partition('T')[0]:0>2}{label.lstrip('0123456789')}" for label in labels.split()]
    text = "time,a,b\n" + "".join(f"{m},{k % 3},{'' if k == 1 else k * k % 5}\n" for k, m in enumerate(moments))
    loaded, _ = csv_round_trip(tmp_path, text)
    more = " and others, have no row; absent rows are not filled. Add them (empty) to have them filled."
    assert loaded.notes == (() if note is None else (note + more,))
    if note is not None:
        long = "site,time,count\n" + "".join(f"a,{m},1\nb,{m},2\n" for m in moments)
        (tmp_path / "a.csv").write_text(long)
        assert read(tmp_path / "a.csv", dims=["site", "time"], value="count").notes == loaded.notes


def test_moments_of_other_kinds():
    days = np.array([1, 2, 3, 7, 8]).astype("datetime64[D]")
    for labels in (list(days), list(days.astype("datetime64[ns]")), days.tolist(), [f"{d}T00:00Z" for d in days]):
        assert step_note("t", labels).startswith("t: 3 steps, 1970-01-05 00:00:00 and others, have no row;")
    for labels in (["20240301", "20240302", "20240303", "20240305"], [1, 2, 3, 5], ["a", "b", "c", "d"]):
        assert step_note("t", labels) is None


def test_moments_with_an_offset_are_named_on_their_own_clock():
    labels = [f"2024-03-31 0{h}:00:00+0{z}:00" for h, z in ((0, 1), (1, 1), (3, 2), (4, 2), (6, 2), (7, 2))]
    assert step_note("t", labels).startswith("t: step 2024-03-31 05:00:00+02:00 has no row;")


# --- Parquet ------------------------------------------------------------------------------------------------------


pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def test_parquet_long_form_keeps_types(tmp_path):
    days = pa.array([19001, 19000, 19001], pa.date32())
    table = pa.table(
        {
            "site": pa.array(["b", "a", "a"]).dictionary_encode(),
            "day": days,
            "count": pa.array([2**53 + 1, None, 7], pa.int64()),
            "note": ["p", "q", "r"],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    loaded = read(tmp_path / "a.parquet", **LONG)
    assert loaded.shape == (2, 2)
    assert sorted(loaded.values_coo.tolist()) == [7, 2**53 + 1]
    write(tmp_path / "b.parquet", np.where(np.isnan(dense(loaded)), 3.6, dense(loaded)), loaded)
    out = pq.read_table(tmp_path / "b.parquet")
    assert out.schema.types == table.schema.types
    assert [tuple(row.values()) for row in out.to_pylist()] == [
        ("b", days[0].as_py(), 2**53 + 1, "p"),
        ("b", days[1].as_py(), 4, None),
        ("a", days[0].as_py(), 7, "r"),
        ("a", days[1].as_py(), 4, "q"),
    ]


def test_parquet_wide_form_keeps_types_per_column_and_the_rest(tmp_path):
    table = pa.table(
        {
            "name": ["x", "y"],
            "small": pa.array([250, None], pa.uint8()),
            "real": pa.array([0.5, None]),
            "flag": [True, False],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    loaded = read(tmp_path / "a.parquet")
    assert loaded.labels == {"name": ["x", "y"], "column": ["small", "real", "flag"]}
    assert loaded.observations().nnz == 4
    completed = np.array([[250, 0.5, 1], [300, 2.25, 0]])
    write(tmp_path / "b.parquet", completed, loaded)
    out = pq.read_table(tmp_path / "b.parquet")
    assert out.schema == table.schema
    assert out.to_pydict() == {"name": ["x", "y"], "small": [250, 255], "real": [0.5, 2.25], "flag": [True, False]}


def test_parquet_with_a_column_that_counts(tmp_path):
    given = {"minute": [5, 6, 7], "a": [1.5, None, 2.0], "b": [4, 9, None]}
    pq.write_table(pa.table(given), tmp_path / "a.parquet")
    loaded = read(tmp_path / "a.parquet")
    assert (loaded.shape, loaded.dims, loaded.labels["minute"]) == ((3, 2), ("minute", "column"), [5, 6, 7])
    assert "the first column, 'minute', counts 5, 6, 7: it is taken as labels" in loaded.notes[0]
    write(tmp_path / "b.parquet", np.where(np.isnan(loaded.values), 3, loaded.values), loaded)
    assert pq.read_table(tmp_path / "b.parquet").to_pydict() == {**given, "a": [1.5, 3, 2], "b": [4, 9, 3]}


def test_parquet_of_a_pandas_table(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [3.0, 4.0]}, index=[10, 20])
    frame.to_parquet(tmp_path / "a.parquet")
    loaded = read(tmp_path / "a.parquet")
    assert loaded.shape == (2, 2)  # the index is not data
    write(tmp_path / "b.parquet", np.array([[1.0, 3.0], [9.0, 4.0]]), loaded)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "b.parquet"), frame.fillna(9.0))
    long = pd.DataFrame({"site": ["a", "b"], "day": [1, 2], "count": [1, 2]})
    long.to_parquet(tmp_path / "c.parquet")
    loaded = read(tmp_path / "c.parquet", **LONG)
    write(tmp_path / "d.parquet", np.arange(4.0).reshape(2, 2), loaded)
    assert pd.read_parquet(tmp_path / "d.parquet")["count"].tolist() == [0, 1, 2, 3]


def test_parquet_refuses_text_values_and_repeated_keys(tmp_path):
    pq.write_table(pa.table({"site": [1, 1], "day": [1, 2], "count": ["x", "y"]}), tmp_path / "a.parquet")
    with pytest.raises(FileError, match=r"its value column 'count' must hold numbers; got string\. Choose another"):
        read(tmp_path / "a.parquet", **LONG)
    pq.write_table(pa.table({"site": [1, 1], "day": [2, 2], "count": [3, 4]}), tmp_path / "b.parquet")
    with pytest.raises(FileError, match=r"the entry \(site=1, day=2\) appears twice \(rows 1 and 2\)"):
        read(tmp_path / "b.parquet", **LONG)


# --- NetCDF and Zarr ----------------------------------------------------------------------------------------------


xr = pytest.importorskip("xarray")
STORES = ["scipy", "h5netcdf", "zarr2", "zarr3"]


def store(kind, dataset, folder, **encoding):
    if kind.startswith("zarr"):
        path = folder / "a.zarr"
        version = int(kind[-1])
        dataset.to_zarr(path, zarr_format=version, consolidated=version == 2, encoding=encoding)
        return path, folder / "b.zarr", {"engine": "zarr", "consolidated": version == 2}
    if kind == "h5netcdf":
        pytest.importorskip("h5py")
    dataset.to_netcdf(folder / "a.nc", engine=kind, encoding=encoding)
    return folder / "a.nc", folder / "b.nc", {"engine": kind}


@pytest.mark.parametrize("kind", STORES)
def test_packed_integers_stay_packed(kind, tmp_path):
    values = np.array([[1.5, np.nan, 2.0], [0.0, np.nan, np.nan]])
    dataset = xr.Dataset({"t": (("y", "x"), values)}, coords={"y": [1, 2]})
    packing = {"dtype": "int16", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": np.int16(4)}
    path, out, options = store(kind, dataset, tmp_path, t=packing)
    loaded = read(path)
    np.testing.assert_array_equal(loaded.values, values)
    # out of range, exactly the number that means missing (4 * 0.5 + 10), between two packed numbers
    completed = np.array([[1.5, 1e9, 2.0], [0.0, 12.0, 3.3]])
    write(out, completed, loaded)
    with xr.open_dataset(out, **options) as found:
        np.testing.assert_array_equal(found.t.values, [[1.5, 32767 * 0.5 + 10, 2.0], [0.0, 12.5, 3.5]])
    with xr.open_dataset(out, mask_and_scale=False, **options) as raw:
        assert raw.t.dtype == np.int16
        assert raw.t.attrs["_FillValue"] == 4
        assert raw.t.attrs["scale_factor"] == 0.5


@pytest.mark.parametrize("kind", STORES)
def test_everything_else_in_the_dataset_is_kept(kind, tmp_path):
    dataset = xr.Dataset(
        {"t": (("y", "x"), np.array([[1.0, np.nan], [3.0, 4.0]], np.float32), {"units": "K"}), "u": ("x", [1.5, 2.5])},
        coords={"y": ("y", [5.0, 6.0], {"axis": "Y"}), "height": 2.0},
        attrs={"title": "test"},
    )
    path, out, options = store(kind, dataset, tmp_path)
    with pytest.raises(
        FileError, match=r"it holds several variables \(t \(y: 2, x: 2\), u \(x: 2\)\); choose one with"
    ):
        read(path)
    loaded = read(path, variable="t")
    assert loaded.dims == ("y", "x")
    assert loaded.labels == {"y": [5.0, 6.0]}
    write(out, np.array([[1.0, 2.0], [3.0, 4.0]]), loaded)
    with xr.open_dataset(out, **options) as found:
        xr.testing.assert_identical(found.load(), dataset.fillna({"t": 2.0}))
        assert found.t.dtype == np.float32
    write(out, np.array([[1.0, 7.0], [3.0, 4.0]]), loaded)  # over the first one
    assert read(out, variable="t").values[0, 1] == 7.0


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_without_names_of_dimensions_is_read(tmp_path, version):
    zarr = pytest.importorskip("zarr")
    values = np.where(np.eye(3, 4) > 0, np.nan, np.arange(12.0).reshape(3, 4))
    single = zarr.create_array(tmp_path / "a.zarr", shape=values.shape, dtype="f8", zarr_format=version)
    single[...] = values
    group = zarr.open_group(tmp_path / "g.zarr", mode="w", zarr_format=version)
    group.create_array("x", shape=values.shape, dtype="f8")[...] = values
    group.create_array("y", shape=(5,), dtype="i4")[...] = 7
    for name, chosen in (("a.zarr", {}), ("g.zarr", {"variable": "x"})):
        loaded = read(tmp_path / name, **chosen)
        assert (loaded.dims, loaded.observations().nnz) == (None, 9)
        write(tmp_path / "out.zarr", np.nan_to_num(values, nan=3.5), loaded)
        again = zarr.open(tmp_path / "out.zarr", mode="r")
        np.testing.assert_array_equal(again[chosen.get("variable", "values")][...], np.nan_to_num(values, nan=3.5))
        assert chosen == {} or (again["y"][...] == 7).all()
    with pytest.raises(FileError, match="several variables"):
        read(tmp_path / "g.zarr")


# --- MATLAB -------------------------------------------------------------------------------------------------------


def test_mat_types_and_other_variables(tmp_path):
    from scipy.io import loadmat, savemat

    given = {
        "x": np.arange(6, dtype=np.int16).reshape(2, 3),
        "k": 5.0,
        "s": {"field": 1.0},
        "yes": np.array([[True, False]]),
    }
    savemat(tmp_path / "a.mat", given)
    with pytest.raises(FileError, match=r"it holds several variables \(x \(2, 3\), yes \(1, 2\)\)"):
        read(tmp_path / "a.mat")
    loaded = read(tmp_path / "a.mat", variable="x")
    assert loaded.dtype == np.int16
    write(tmp_path / "b.mat", given["x"] + 0.4, loaded)
    out = loadmat(tmp_path / "b.mat", mat_dtype=True)
    np.testing.assert_array_equal(out["x"], given["x"])
    assert out["x"].dtype == np.int16
    assert out["k"] == 5.0
    assert out["s"]["field"][0, 0] == 1.0
    assert out["yes"].dtype == bool


# --- rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 6, 7), (2**40, 2**40)])
def test_match_rows(shape):
    rng = np.random.default_rng(0)
    known = np.unique(rng.integers(0, 5, (20, len(shape))), axis=0)
    known = known[rng.permutation(len(known))]
    wanted = np.concatenate([known[::-2], np.full((1, len(shape)), 4) + 0 * known[:1]])
    rows = match_rows(known, wanted, shape)
    for row, want in zip(rows, wanted, strict=True):
        same = np.flatnonzero((known == want).all(axis=1))
        assert row == (same[0] if len(same) else -1)
    assert match_rows(known[:0], wanted, shape).tolist() == [-1] * len(wanted)


def test_first_duplicate():
    assert first_duplicate(np.array([[1, 2], [2, 1], [1, 1]])) is None
    assert first_duplicate(np.array([[3, 3], [1, 2], [1, 2], [3, 3], [1, 2]])) == (1, 2)
    assert first_duplicate(np.array([[3, 3], [1, 2], [3, 3], [1, 2]])) == (0, 2)


# --- letters of other encodings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_letters_come_back_as_they_were_encoded(tmp_path, encoding):
    text = "Tag;Köln;Zürich\r\nMo;0,5;\r\nDi;1,5;2,5\r\n"
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    loaded = read(tmp_path / "a.csv")
    assert loaded.labels["column"] == ["Köln", "Zürich"]
    assert sum("Windows-1252" in note for note in loaded.notes) == (encoding == "cp1252")
    write(tmp_path / "b.csv", np.array([[0.5, 3.5], [1.5, 2.5]]), loaded)
    assert (tmp_path / "b.csv").read_bytes() == text.replace("0,5;", "0,5;3,5").encode(encoding)


# --- tables as people have them -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("a|b|c\n1|2|3\n4||6\n", "a|b|c\n1|2|3\n4|1000|6\n"),
        ("x y z\n1.5 2 3\n4 NaN 6\n", "x y z\n1.5 2 3\n4 1000 6\n"),
        ("  1.5   2\n  4   NaN\n", "1.5 2\n4 1000\n"),
        ("a,b,c,\n1,2,3,\n4,,6,\n", "a,b,c\n1,2,3\n4,1000,6\n"),  # each row ends with a comma
        ("# stations\n# 2024, May\nx,y,z\n1,2,3\n4,,6\n", "# stations\n# 2024, May\nx,y,z\n1,2,3\n4,1000,6\n"),
        ("#id,y,z\n1,2,3\n2,,6\n", "#id,y,z\n1,2,3\n2,1000,6\n"),  # a header
        ("a,b\n1.5,#N/A\n2,#DIV/0!\n3,<NA>\n4,4\n", "a,b\n1.5,1000\n2,1000\n3,1000\n4,4\n"),
    ],
)
def test_tables_as_people_have_them(tmp_path, text, out):
    assert csv_round_trip(tmp_path, text)[1] == out


def test_columns_of_numbers_in_a_text_file(tmp_path):
    (tmp_path / "a.dat").write_text("1.0\t2.0\t3.0\n4.0\tnan\t6.0\n")
    assert read(tmp_path / "a.dat").shape == (2, 3)
    (tmp_path / "b.dat").write_text("1 1 1 2.5\n2 1 3 1e3\n")  # places and a number
    assert read(tmp_path / "b.dat").format == "tns"


MIXED = """site,day,rain,open,wind,note
A,2024-03-01,1.5,yes,3,
A,2024-03-02,,no,4,late
B,2024-03-03,2.5,yes,,
B,2024-03-04,3.25,yes,6,"a, b"
"""


def test_columns_of_text_beside_numbers_are_carried_along(tmp_path):
    """Dates that rise are the labels of the rows, though the first column is text too."""
    (tmp_path / "a.csv").write_text(MIXED)
    loaded = read(tmp_path / "a.csv")
    assert loaded.dims == ("day", "column")
    assert loaded.labels["column"] == ["rain", "wind"]
    assert loaded.labels["day"][1] == "2024-03-02"
    np.testing.assert_array_equal(loaded.values, [[1.5, 3], [np.nan, 4], [2.5, np.nan], [3.25, 6]])
    sentence = "columns 'site', 'open', 'note' hold no numbers and are left as they are, 2 of their cells empty."
    assert sentence in loaded.notes
    write(tmp_path / "b.csv", np.nan_to_num(loaded.values, nan=2.0), loaded)
    expected = MIXED.replace("02,,no", "02,2,no").replace("yes,,", "yes,2,")
    assert (tmp_path / "b.csv").read_text() == expected
    with pytest.warns(tfl.DataWarning, match="the first being day = '2024-03-02'|free numbers"):
        tfl.Problem(replace(loaded, values=loaded.values * [1, np.nan]).observations(), rank=1)


@pytest.mark.parametrize("first", ["xlsx", "parquet", "feather", "tsv"])
def test_columns_of_text_go_along_into_tables_of_other_formats(tmp_path, first):
    """Parquet once came out of a CSV table with the numbers and one column of labels alone."""
    (tmp_path / "a.csv").write_text(MIXED)
    loaded = read(tmp_path / "a.csv")
    write(tmp_path / f"b.{first}", np.nan_to_num(loaded.values, nan=2.0), loaded)
    again = read(tmp_path / f"b.{first}")
    np.testing.assert_array_equal(again.values, np.nan_to_num(loaded.values, nan=2.0))
    write(tmp_path / "c.csv", again.values, again)
    found = pd.read_csv(tmp_path / "c.csv")
    expected = pd.read_csv(io.StringIO(MIXED)).fillna({"rain": 2, "wind": 2})
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


@pytest.mark.parametrize("ending", ["xlsx", "parquet"])
def test_columns_of_text_of_other_tables_are_carried_along(tmp_path, ending):
    frame = pd.read_csv(io.StringIO(MIXED), parse_dates=["day"])
    path, out = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    frame.to_excel(path, index=False) if ending == "xlsx" else frame.drop(columns="open").to_parquet(path)
    loaded = read(path)
    assert loaded.dims == ("day", "column")
    assert loaded.labels["column"] == ["rain", "wind"]
    write(out, np.nan_to_num(loaded.values, nan=2.0), loaded)
    again = pd.read_excel(out) if ending == "xlsx" else pd.read_parquet(out)
    assert again["note"].tolist()[3] == "a, b"
    assert again["rain"].tolist() == [1.5, 2.0, 2.5, 3.25]
    assert again["day"].tolist() == frame["day"].tolist()


def test_decimal_commas_beside_text(tmp_path):
    (tmp_path / "a.csv").write_text("tag;regen;ort\n1;2,5;Ulm\n2;;Ulm\n4;0,25;Bonn\n")
    loaded = read(tmp_path / "a.csv")
    assert loaded.labels["column"] == ["tag", "regen"]
    np.testing.assert_array_equal(loaded.values[:, 1], [2.5, np.nan, 0.25])


def test_yes_and_no_are_the_data_where_there_are_no_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("who,p,q,why\nx,yes,no,ill\ny,,yes,away\nz,no,no,ill\n")
    loaded = read(tmp_path / "a.csv")
    assert loaded.dtype == bool
    assert loaded.labels["column"] == ["p", "q"]


@pytest.mark.parametrize(
    ("cells", "fill", "expected"),
    [
        (["1.50", "2.25"], 1.70321, "1.70"),  # prices
        (["1.5", "2.25"], 1.70321, "1.7"),
        (["1.5", "2.25"], -0.001, "0"),
        (["20.5", "19.0"], 19.96, "20.0"),
        (["1e-7", "2.5"], 1 / 3, "0.3333333333333333"),
    ],
)
def test_answers_have_the_digits_of_their_column(tmp_path, cells, fill, expected):
    other = "0.123456,"
    text = "a,b\n" + "".join(f"{other}{cell}\n" for cell in [*cells, ""])
    _, out = csv_round_trip(tmp_path, text, fill)
    assert out.splitlines()[-1] == other + expected
    long = "site,day,count\n" + "".join(f"x,{k},{cell}\n" for k, cell in enumerate([*cells, ""]))
    _, out = csv_round_trip(tmp_path, long, fill, **LONG)
    assert out.splitlines()[-1].rpartition(",")[2] == expected


def test_columns_of_arrow_that_are_left_out_are_named_and_encoded_numbers_are_numbers(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather

    given = pa.table(
        {
            "site": list("abcd"),
            "level": pa.array([1.5, 2.5, None, 1.5]).dictionary_encode(),
            "rain": [1.0, 2.0, 3.0, None],
            "tags": [[1], [2], [3], None],
            "took": pa.array([1, 2, 3, 4], pa.duration("s")),
            "when": pa.array([4, 3, 2, 1], pa.timestamp("s")),
        }
    )
    feather.write_feather(given, tmp_path / "a.feather")
    loaded = read(tmp_path / "a.feather")
    assert loaded.labels["column"] == ["level", "rain"]
    (note,) = loaded.notes
    assert all(word in note for word in ("'tags' (list", "'took' (duration[s])", "'when' (timestamp[s])", "1 of their"))
    write(tmp_path / "b.feather", np.nan_to_num(loaded.values, nan=9.5), loaded)
    again = feather.read_table(tmp_path / "b.feather")
    assert again.schema == given.schema
    assert again["level"].to_pylist() == [1.5, 2.5, 9.5, 1.5]
    assert again.drop(["level", "rain"]) == given.drop(["level", "rain"])


def test_a_json_key_that_is_no_text_is_a_sentence(tmp_path):
    (tmp_path / "a.json").write_text('[{"\\ud800": 1, "b": 2}, {"\\ud800": 3, "b": null}]')
    with pytest.raises(FileError, match=r"keys and labels must be text; got half a character, '\\ud800'"):
        read(tmp_path / "a.json")
    (tmp_path / "b.json").write_text('[{"\\ud83d\\ude00": 1, "b": 2}, {"\\ud83d\\ude00": 3, "b": null}]')
    assert read(tmp_path / "b.json").labels["column"] == ["\U0001f600", "b"]
