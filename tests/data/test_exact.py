"""No value is changed in silence: what cannot be held exactly is refused with a sentence."""

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.io.files import FileError, read, write

BIG = [2**53 + 1, -(2**53) - 1, 2**60 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**19 + 1, 10**25 + 1]
SHAPE = (4, 3)


def table(big):
    """Whole numbers, one of them large, one missing (None)."""
    cells = [[str(3 * i + j + 1) for j in range(3)] for i in range(4)]
    cells[1][2], cells[3][0] = str(big), ""
    return cells


def wide(cells):
    return "a,b,c\n" + "\n".join(",".join(row) for row in cells) + "\n"


def long(cells):
    rows = [f"{i},{j},{cell}" for i, row in enumerate(cells) for j, cell in enumerate(row) if cell]
    return "i,j,v\n" + "\n".join(rows) + "\n"


def tns(cells):
    return "\n".join(f"{i + 1} {j + 1} {c}" for i, row in enumerate(cells) for j, c in enumerate(row) if c) + "\n"


FILES = {
    "wide": (".csv", wide, {}),
    "long": (".csv", long, {"dims": ["i", "j"], "value": "v"}),
    "tns": (".tns", tns, {}),
}


@pytest.mark.parametrize("big", BIG)
@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("ending", ["same", ".npy", ".csv"])
def test_large_whole_numbers_in_text_come_back_or_are_refused(form, big, ending, tmp_path):
    own, make, options = FILES[form]
    (tmp_path / f"in{own}").write_text(make(table(big)))
    out = tmp_path / f"out{own if ending == 'same' else ending}"
    if abs(big) >= 2**64:
        with pytest.raises(FileError, match=f"{big} is a whole number beyond 64 bits"):
            read(tmp_path / f"in{own}", **options)
        return
    loaded = read(tmp_path / f"in{own}", **options)
    done = tfl.complete(loaded.observations(), method="halrtc", max_iter=2)
    assert np.isfinite(np.asarray(done.completed, dtype=float)).all()
    write(out, done.completed, loaded)
    if out.suffix == ".npy":
        assert int(np.load(out)[1, 2]) == big
    else:
        assert str(big) in out.read_text().replace(",", " ").replace("\n", " ").split(" ")


@pytest.mark.parametrize("form", FILES)
def test_numbers_written_with_a_point_are_floats_as_ever(form, tmp_path):
    own, make, options = FILES[form]
    for text in ("9007199254740993.5", "1e300"):
        (tmp_path / f"in{own}").write_text(make(table(text)))
        assert float(text) in read(tmp_path / f"in{own}", **options).observations().values


@pytest.mark.parametrize(
    "values", [np.array([1, 2, 2**53 + 1]), np.array([1, 2, 2**64 - 1], dtype=np.uint64), [1, 2, 10**25 + 1]], ids=str
)
def test_coordinates_with_large_whole_numbers_are_refused(values):
    with pytest.raises(ValueError, match=r"whole numbers must be within 2\^53 to be exact here; got \d+"):
        tfl.Observations.from_coo([[0, 0], [0, 1], [1, 0]], values, (2, 2))


def test_whole_numbers_that_floats_hold_are_taken():
    values = np.array([2**53, -(2**53), 2**60, 2**62], dtype=np.int64)
    obs = tfl.Observations.from_coo([[0, 0], [0, 1], [1, 0], [1, 1]], values, (2, 2))
    assert [int(v) for v in obs.values] == values.tolist()


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (np.array([1 + 2j, 2, 3]), "complex"),
        (np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="M8[D]"), "datetime64"),
        (np.array([1, 2, 3], dtype="m8[s]"), "timedelta64"),
        (["1", "2", "3"], "text, '1' at index (0,)"),
        ([1, 2, "x"], "text, 'x' at index (2,)"),
        (np.array([1, None, "x"], dtype=object), "'x'"),
    ],
)
def test_what_is_no_real_number_is_refused(values, word):
    with pytest.raises(TypeError, match=r"values must be .*numbers") as error:
        tfl.Observations.from_coo([[0, 0], [0, 1], [1, 0]], values, (2, 2))
    assert word in str(error.value)


def test_none_among_coordinates_is_missing():
    obs = tfl.Observations.from_coo([[0, 0], [0, 1], [1, 0]], [1.0, None, 3.0], (2, 2))
    assert obs.values.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("weights", [["a", "b", "c"], [1 + 1j, 1, 1], np.array(["2020"] * 3, dtype="M8[Y]")])
def test_weights_are_numbers_too(weights):
    with pytest.raises((TypeError, ValueError), match="weights must be"):
        tfl.Observations.from_coo([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], (2, 2), weights=weights)
    with pytest.raises((TypeError, ValueError), match="weights must be"):
        tfl.Observations.from_dense([[1.0, 2.0, 3.0]] * 2, weights=[weights] * 2)


def test_tables_keep_large_whole_numbers_or_refuse_them():
    big = 2**60 + 1
    frame = pd.DataFrame({"i": [0, 0, 1], "j": [0, 1, 0], "v": [1, 2, big]})
    done = tfl.complete(tfl.Observations.from_pandas(frame, ["i", "j"], "v"), method="halrtc", max_iter=2)
    assert big in done.completed["v"].tolist()
    wide = tfl.complete(np.array([[1, 2], [big, 4]]), [[1, 1], [1, 0]], method="halrtc", max_iter=2)
    assert int(wide.completed[1, 0]) == big


def test_complex_matlab_arrays_are_refused(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "in.mat", {"x": np.array([[1 + 2j, 2], [3, 4]])})
    with pytest.raises(FileError, match="x holds complex numbers; only real numbers can be completed"):
        read(tmp_path / "in.mat")


def test_matlab_types_are_kept(tmp_path):
    from scipy.io import savemat

    for dtype in ("f8", "f4", "?", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        values = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
        savemat(tmp_path / "in.mat", {"x": values, "z": np.array([[1 + 2j, 3], [4, 5]])})
        loaded = read(tmp_path / "in.mat")
        assert loaded.dtype == np.dtype(dtype)
        assert loaded.extra["name"] == "x"
        write(tmp_path / "out.mat", values, loaded)
        assert read(tmp_path / "out.mat").extra["variables"]["z"][0, 0] == 1 + 2j  # what is not ours stays
