"""Maps, and files people have: what each format keeps, beyond the numbers that the grids of `test_files` look at."""

import json
import sys
from contextlib import suppress
from datetime import datetime

import numpy as np
import pytest

from tensorfill.io.files import FORMATS, FileError, Loaded, read, write

RNG = np.random.default_rng(12)


# --- one grid: what is written is read again, with its labels and its gaps ----------------------------------------

ENDING = {name: kind.endings[0] for name, kind in FORMATS.items()}
WHOLE = [name for name, kind in FORMATS.items() if kind.whole or not kind.writes]  # pictures, which have no gaps
UNLABELLED = ("npy", "npz", "mat", "tns", "tiff", "hdf5")


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in WHOLE])
def test_what_is_written_is_read_again_with_labels_and_gaps(name, tmp_path):
    values = RNG.normal(size=(5, 4))
    values[1, 2] = values[4, 0] = np.nan
    labels = {"site": [f"s{k}" for k in range(5)], "year": [f"y{k}" for k in range(4)]}
    like = Loaded("npy", values.shape, values.dtype, values, dims=("site", "year"), labels=labels)
    path = tmp_path / f"a{ENDING[name]}"
    write(path, values, like)
    again = read(path)
    got = again.values
    if again.coordinate:
        got = np.full(again.shape, np.nan)
        got[tuple(again.indices.T)] = again.values_coo
    np.testing.assert_array_equal(got, values)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(values))
    if name not in UNLABELLED:
        assert [[str(x) for x in axis] for axis in again.labels.values()] == list(labels.values()) or {
            d: [str(x) for x in axis] for d, axis in again.labels.items()
        } == {again.dims[0]: labels["site"], again.dims[1]: labels["year"]}


# --- maps ---------------------------------------------------------------------------------------------------------

MAPS = {  # dtype: (nodata, bands)
    "float32": (-9999.0, 3),
    "float64": (np.nan, 2),
    "int16": (-32768, 3),
    "uint8": (0, 3),
    "uint16": (65535, 1),
}


def make_map(path, dtype, nodata, bands):
    rasterio = pytest.importorskip("rasterio")
    from affine import Affine

    values = RNG.integers(1, 200, (bands, 6, 7)).astype(dtype)
    gone = RNG.random(values.shape) < 0.3
    settings = {"crs": "EPSG:32633", "transform": Affine(30, 0, 500_000, 0, -20, 6e6), "nodata": nodata}
    with rasterio.open(
        path, "w", driver="GTiff", height=6, width=7, count=bands, dtype=dtype, compress="deflate", **settings
    ) as file:
        file.write(np.where(gone, np.array(nodata).astype(dtype), values))
        for k in range(bands):
            file.set_band_description(k + 1, f"band of {k}")
            file.update_tags(k + 1, gain=str(k))
        file.update_tags(satellite="S2")
    return np.moveaxis(values, 0, -1), np.moveaxis(gone, 0, -1)


@pytest.mark.parametrize("dtype", MAPS)
def test_maps_keep_where_they_lie_and_each_band_has_its_own_gaps(dtype, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    nodata, bands = MAPS[dtype]
    values, gone = make_map(tmp_path / "a.tif", dtype, nodata, bands)
    loaded = read(tmp_path / "a.tif")
    if bands == 1:
        values, gone = values[..., 0], gone[..., 0]
    np.testing.assert_array_equal(loaded.observed(), ~gone)
    np.testing.assert_array_equal(loaded.values[~gone], values[~gone])
    assert loaded.dims == ("y", "x", "band")[: values.ndim]
    assert loaded.labels["x"][:2] == [500_015.0, 500_045.0]
    assert loaded.labels["y"][:2] == [5_999_990.0, 5_999_970.0]
    write(tmp_path / "b.tif", np.where(gone, 0.0, values), loaded)  # 0 is nodata of one of them
    with rasterio.open(tmp_path / "a.tif") as old, rasterio.open(tmp_path / "b.tif") as new:
        assert {k: str(v) for k, v in new.profile.items()} == {k: str(v) for k, v in old.profile.items()}
        assert (new.crs, new.transform, new.descriptions) == (old.crs, old.transform, old.descriptions)
        assert (new.tags(), new.tags(1)) == (old.tags(), old.tags(1))
        assert (new.read_masks() != 0).all()
    again = read(tmp_path / "b.tif")
    assert again.observed().all()
    np.testing.assert_array_equal(again.values[~gone], values[~gone])


def test_a_map_without_its_library_is_a_picture_and_says_so(tmp_path, monkeypatch):
    make_map(tmp_path / "a.tif", "float32", -9999.0, 1)
    monkeypatch.setitem(sys.modules, "rasterio", None)
    loaded = read(tmp_path / "a.tif")
    assert any("needs rasterio" in note and "tensorfill[geo]" in note for note in loaded.notes)
    assert loaded.shape == (6, 7)


# --- tables -------------------------------------------------------------------------------------------------------

COMMAS = {  # text: (values, what is written)
    "zeit;a;b\n2024-01-01;1,5;\n2024-01-02;2,25;1.234,5\n": ([[1.5, np.nan], [2.25, 1234.5]], "2024-01-01;1,5;0,2"),
    "1,5;2,5;3,5\n4;;6,5\n": ([[1.5, 2.5, 3.5], [4, np.nan, 6.5]], "4;0,2;6,5"),
    "t\ta\tb\nx\t-0,5\t,25\ny\t1e3\t\n": None,  # 1e3 is no decimal comma, and -0,5 is no number otherwise
    "a;b\n1;2\n3;\n": ([[1, 2], [3, np.nan]], "3;0"),
}


@pytest.mark.parametrize("text", COMMAS)
def test_semicolons_and_decimal_commas(text, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    if COMMAS[text] is None:
        with pytest.raises(FileError, match="is not a number"):
            read(tmp_path / "a.csv")
        return
    values, line = COMMAS[text]
    loaded = read(tmp_path / "a.csv")
    np.testing.assert_array_equal(np.where(loaded.observed(), loaded.values, np.nan), values)
    write(tmp_path / "b.csv", np.where(loaded.observed(), loaded.values, 0.25), loaded)
    assert line in (tmp_path / "b.csv").read_text().splitlines()
    write(tmp_path / "b.json", np.where(loaded.observed(), loaded.values, 0.25), loaded)
    again = read(tmp_path / "b.json")
    np.testing.assert_allclose(again.values[loaded.observed()], np.array(values)[loaded.observed()])


def test_commas_inside_quotes_are_no_decimals(tmp_path):
    (tmp_path / "a.csv").write_text('t,a,b\nx,"1,5",2\ny,3,4\n')
    with pytest.raises(FileError, match="'1,5' in row 2, column 2 is not a number"):
        read(tmp_path / "a.csv")


ARRAYS = {
    '{"t": ["x", "y"], "a": [1, null], "b": [3, 4]}': (np.int64, '{"t": ["x", "y"], "a": [1, 7], "b": [3, 4]}'),
    '[{"t": "x", "a": 1, "b": 2}, {"t": "y", "b": 4}]': (
        np.int64,
        '[{"t": "x", "a": 1, "b": 2}, {"t": "y", "a": 7, "b": 4}]',
    ),
}


@pytest.mark.parametrize("text", ARRAYS)
def test_json_comes_back_as_it_was(text, tmp_path):
    dtype, expected = ARRAYS[text]
    (tmp_path / "a.json").write_text(text)
    loaded = read(tmp_path / "a.json")
    assert loaded.dtype == dtype
    write(tmp_path / "b.json", np.where(loaded.observed(), loaded.values, 7), loaded)
    assert json.loads((tmp_path / "b.json").read_text()) == json.loads(expected)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[1, 2], [3, 4]]", "it must be a table: a list of records, or lists by column; write arrays as .npy"),
        ('{"a": [1, 2], "b": [1]}', "its columns must be of one length; got 1, 2"),
        ('{"a": 3}', "it must be a table: a list of records"),
        ('[{"a": [1]}, {"a": 2}]', "'a' of record 1 is a list or an object"),
        ("[[1, 2], [3, 4]", "it is not valid JSON"),
        ("[" * 100_000, "it is not valid JSON"),
        ('{"a": [1e999999999999999999, 2], "b": [99999999999999999999999, 1]}', "must be finite"),
    ],
)
def test_json_that_is_none_gets_a_sentence(text, sentence, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises((FileError, ValueError), match=sentence):
        read(tmp_path / "a.json").observations()


def test_excel_keeps_sheets_dates_formulas_and_looks(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.active
    sheet["B2"], sheet["C2"], sheet["D2"] = "day", "north", "south"
    for k in range(4):
        sheet.cell(3 + k, 2, datetime(2024, 1, 1 + k))
        sheet.cell(3 + k, 3, 0.1 + 0.2 if k == 0 else k)
        sheet.cell(3 + k, 4, 10 * k if k != 2 else None)
    sheet["C2"].font = Font(bold=True)
    book.create_sheet("notes")["A1"] = "=1+1"
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(FileError, match=r"it has no variable 'Shet'; it has Sheet.* Did you mean"):
        read(tmp_path / "a.xlsx", variable="Shet")
    loaded = read(tmp_path / "a.xlsx")
    assert loaded.labels["day"][0] == "2024-01-01"
    np.testing.assert_array_equal(loaded.observed(), [[True, True]] * 2 + [[True, False], [True, True]])
    write(tmp_path / "b.xlsx", np.where(loaded.observed(), loaded.values, 19.5), loaded)
    again = openpyxl.load_workbook(tmp_path / "b.xlsx")
    assert again["notes"]["A1"].value == "=1+1"
    assert again.active["C2"].font.b
    assert (again.active["B3"].value, again.active["D5"].value) == (datetime(2024, 1, 1), 19.5)


def test_unknown_endings_are_named_as_such(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK\x03\x04" + bytes(22) + b"\x08\x00\x00\x00word.xml" + bytes(50))
    with pytest.raises(FileError, match=r"\.docx is not known, nor is how it starts\. Files are read that .*\.png"):
        read(tmp_path / "a.docx")
    (tmp_path / "a.txt").write_text("Dear Sir,\nplease find\n")
    with pytest.raises(FileError, match=r"the ending \.txt is not known, and it is not a CSV table either"):
        read(tmp_path / "a.txt")
    (tmp_path / "b.txt").write_text("1,2\n3,\n")
    assert read(tmp_path / "b.txt").notes[0] == "the ending .txt is not known; it was read as a CSV table"


def test_libraries_print_nothing_of_a_damaged_file(tmp_path, capfd):
    """tifffile once wrote lines of its own beside the sentence."""
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((6, 7, 3), dtype=np.float64), photometric="rgb")
    data = bytearray((tmp_path / "a.tif").read_bytes())
    data[data.index(b"\x06\x01\x03\x00") + 8] = 42  # no such photometric
    (tmp_path / "a.tif").write_bytes(data)
    with suppress(FileError):
        read(tmp_path / "a.tif")
    assert capfd.readouterr() == ("", "")


def test_other_arrays_of_an_hdf5_file_are_kept(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("runs/x", data=np.arange(12).reshape(3, 4), compression="gzip", chunks=(3, 2))
        file["runs/y"] = np.ones((2, 2), dtype=np.float32)
        file["records"] = np.zeros(3, dtype=[("a", int), ("b", float)])
    with pytest.raises(FileError, match=r"several variables \(runs/x \(3, 4\), runs/y \(2, 2\)\)"):
        read(tmp_path / "a.h5")
    loaded = read(tmp_path / "a.h5", variable="runs/x")
    write(tmp_path / "b.h5", loaded.values + 1, loaded)
    with h5py.File(tmp_path / "b.h5") as file:
        np.testing.assert_array_equal(file["runs/x"], loaded.values + 1)
        assert (file["runs/x"].dtype, file["runs/y"].dtype) == (np.int64, np.float32)
        assert sorted(file) == ["runs"]
