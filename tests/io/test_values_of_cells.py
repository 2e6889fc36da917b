"""Names stay text and numbers stay what they are: Excel, JSON and Parquet, and Decimals of pandas."""

import csv
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.io.files import FileError, read, write

pd = pytest.importorskip("pandas")
openpyxl = pytest.importorskip("openpyxl")

LONG = "site,hour,v\n007,0,1.5\n007,1,2.5\n7,0,3.5\n7,1,\n"


def book(path, rows):
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for row in made.active:
        for cell in row:
            if isinstance(cell.value, str):
                cell.data_type = "s"
    made.save(path)


def cells(path):
    return [[(c.value, c.data_type) for c in row] for row in openpyxl.load_workbook(path).active]


def filled(path, out, **how):
    loaded = read(path, **how)
    whole = loaded.observations().dense(9.0)
    write(out, loaded.restore(whole), loaded)


def test_names_of_a_csv_table_stay_text_in_excel(tmp_path):
    (tmp_path / "a.csv").write_text(LONG)
    filled(tmp_path / "a.csv", tmp_path / "b.xlsx", dims=["site", "hour"], value="v")
    found = [[value for value, _ in row] for row in cells(tmp_path / "b.xlsx")]
    assert found[1:] == [["007", 0, 1.5], ["007", 1, 2.5], ["7", 0, 3.5], ["7", 1, 9]]
    filled(tmp_path / "b.xlsx", tmp_path / "c.csv", dims=["site", "hour"], value="v")
    assert read(tmp_path / "c.csv", dims=["site", "hour"], value="v").labels["site"] == ["007", "7"]


@pytest.mark.parametrize("bad", ['=HYPERLINK("http://x.example","y")', "=1+1", "+1", "@a"])
def test_text_that_starts_like_a_formula_is_text(tmp_path, bad):
    (tmp_path / "a.csv").write_text(f'name,p,q\n"{bad.replace(chr(34), chr(34) * 2)}",1,2\nb,,5\n')
    filled(tmp_path / "a.csv", tmp_path / "b.xlsx")
    assert cells(tmp_path / "b.xlsx")[1][0] == (bad, "s")
    filled(tmp_path / "b.xlsx", tmp_path / "c.xlsx")
    assert cells(tmp_path / "c.xlsx")[1][0] == (bad, "s")
    filled(tmp_path / "c.xlsx", tmp_path / "d.csv")
    with open(tmp_path / "d.csv", newline="") as file:
        assert list(csv.reader(file))[1] == [bad, "1", "2"]  # to the letter


def test_merged_cells_are_a_sentence(tmp_path):
    book(tmp_path / "a.xlsx", [["day", "north", "south"], [1, 2.5, 3], [2, None, 4]])
    made = openpyxl.load_workbook(tmp_path / "a.xlsx")
    made.active.merge_cells("B1:C1")
    made.save(tmp_path / "a.xlsx")
    with pytest.raises(FileError, match=r"cells B1:C1 of its sheet 'Sheet' are merged.* Unmerge them"):
        read(tmp_path / "a.xlsx")


def test_a_label_as_number_and_as_text_is_a_sentence(tmp_path):
    book(tmp_path / "a.xlsx", [["site", "hour", "v"], [7, 0, 1.5], ["7", 1, 2.5], [8, 0, 3.0]])
    with pytest.raises(FileError, match="column 'site' holds 7 as a number and as text; write it in one way"):
        read(tmp_path / "a.xlsx", dims=["site", "hour"], value="v")


def test_rows_that_move_leave_nothing_of_others_behind(tmp_path):
    """The answer of a long table has a row for every entry: cells that are blank in a new row are blank."""
    book(tmp_path / "a.xlsx", [["site", "hour", "v", "note"], ["a", 0, 1.0, "x"], ["b", 1, 2.0, "y"]])
    filled(tmp_path / "a.xlsx", tmp_path / "b.xlsx", dims=["site", "hour"], value="v")
    found = [[value for value, _ in row] for row in cells(tmp_path / "b.xlsx")]
    assert found[1:] == [["a", 0, 1, "x"], ["a", 1, 9, None], ["b", 0, 9, None], ["b", 1, 2, "y"]]


def test_formulas_in_a_table_stay_where_nothing_was_filled(tmp_path):
    book(tmp_path / "a.xlsx", [["day", "p", "q"], ["x", 1.5, 2.5], ["y", None, 4.5]])
    made = openpyxl.load_workbook(tmp_path / "a.xlsx")
    loaded = read(tmp_path / "a.xlsx")
    made.active["C2"] = "=1+1.5"  # whose value, 2.5, was read
    made.save(tmp_path / "with.xlsx")
    loaded.extra["book"] = (tmp_path / "with.xlsx").read_bytes()
    write(tmp_path / "b.xlsx", np.array([[1.5, 2.5], [9.0, 4.5]]), loaded)
    assert cells(tmp_path / "b.xlsx")[1][2] == ("=1+1.5", "f")
    assert cells(tmp_path / "b.xlsx")[2][1][0] == 9.0


def test_names_of_columns_that_are_dates_or_come_twice_in_json(tmp_path):
    from datetime import datetime

    book(tmp_path / "a.xlsx", [["site", datetime(2024, 1, 1), datetime(2024, 1, 2)], ["a", 1.5, 2.5], ["b", None, 4.5]])
    loaded = read(tmp_path / "a.xlsx")
    write(tmp_path / "b.json", np.array([[1.5, 2.5], [9.0, 4.5]]), loaded)
    assert "2024-01-01" in (tmp_path / "b.json").read_text()
    book(tmp_path / "c.xlsx", [["s", "h", "v", "n", "n"], ["a", 0, 1.0, "x", "y"], ["b", 1, 2.0, "x", "y"]])
    (tmp_path / "a.json").write_text('[{"s": "a", "h": 0, "v": 1.5}, {"s": "b", "h": 1, "v": 2.5}]')
    like = read(tmp_path / "a.json", dims=["s", "h"], value="v")
    loaded = read(tmp_path / "c.xlsx", dims=["s", "h"], value="v")
    loaded = replace(loaded, format="json", extra={**loaded.extra, "records": like.extra["records"]})
    with pytest.raises(FileError, match="'n' is there twice; rename one"):
        write(tmp_path / "b.json", np.ones((2, 2)), loaded)


@pytest.mark.parametrize("long", [False, True])
def test_decimals_of_parquet_are_kept_to_the_last_digit(tmp_path, long):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    exact = [Decimal("1.0000000000000000001"), None, Decimal("3.0000000000000000003"), Decimal("2.5000000000000000000")]
    numbers = pa.array(exact, pa.decimal128(30, 19))
    names = (
        {"s": ["a", "a", "b", "b"], "h": [0, 1, 0, 1], "v": numbers} if long else {"p": numbers, "q": [1.0, 2, 3, 4]}
    )
    pq.write_table(pa.table(names), tmp_path / "a.parquet")
    how = {"dims": ["s", "h"], "value": "v"} if long else {}
    filled(tmp_path / "a.parquet", tmp_path / "b.parquet", **how)
    again = pq.read_table(tmp_path / "b.parquet").column("v" if long else "p").to_pylist()
    assert again == [exact[0], Decimal(9), *exact[2:]]


@pytest.mark.parametrize("long", [False, True])
def test_decimals_of_pandas_come_back_as_decimals(long):
    rng = np.random.default_rng(0)
    whole = np.add.outer(np.arange(8.0), np.arange(3.0)) + rng.normal(size=(8, 3)) / 10
    exact = np.array([Decimal(f"{x:.2f}") for x in whole.ravel()], dtype=object)
    exact[4] = None
    if long:
        rows, columns = np.divmod(np.arange(24), 3)
        given = pd.DataFrame({"r": rows, "c": columns, "v": exact})
        back = tfl.complete(given, dims=["r", "c"], value="v", method="halrtc").completed["v"]
    else:
        given = pd.DataFrame(exact.reshape(8, 3), columns=list("abc"))
        back = pd.Series(tfl.complete(given, method="halrtc").completed.to_numpy().ravel())
    assert {type(x) for x in back} == {Decimal}
    assert [x for k, x in enumerate(back) if k != 4] == [x for k, x in enumerate(exact) if k != 4]
    assert back[4].as_tuple().exponent == -2  # as fine as those that are known


def test_a_decimal_of_parquet_is_the_number_next_to_it(tmp_path):
    """3.30 was read as 3.3000000000000003."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    prices = [Decimal("1.10"), None, Decimal("3.30"), Decimal("2.20")]
    pq.write_table(pa.table({"a": pa.array(prices, pa.decimal128(10, 2)), "b": [1.0, 2, 3, 4]}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").values[[0, 2, 3], 0].tolist() == [1.1, 3.3, 2.2]
