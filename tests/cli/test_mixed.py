"""Tables with text, categories and dates in files, and rows that arrive later, on the command line."""

import csv
import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from test_cli import run

import tensorfill as tfl


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def people(rows=160, seed=0):
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=(2, rows))
    return pd.DataFrame(
        {
            "height": (170 + 10 * z + rng.normal(size=rows)).round(1),
            "city": np.where(z > 0.5, "Rome", np.where(z < -0.5, "Oslo", "Bern")),
            "visits": rng.poisson(np.exp(0.7 * u)),
            "answer": np.where(u > 0, "yes", "no"),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.rint(100 * z + 500), "D"),
        }
    )


def holes(table, share=0.2, seed=1):
    return table.mask(np.random.default_rng(seed).random(table.shape) < share)


def cells(name):
    with open(name, newline="") as file:
        return list(csv.reader(file))


def test_categories_are_filled_with_a_report_error_bars_and_a_value_that_means_missing():
    """What is asked beside the answer does not change what is filled."""
    table = holes(people())
    table.assign(seen=table["seen"].dt.strftime("%Y-%m-%d")).fillna({"height": -999, "visits": -999}).to_csv(
        "a.csv", index=False
    )
    extra = ("--report", "r.html", "--error-bars", "bars.csv", "--missing-value", "-999")
    assert run("complete", "a.csv", "-o", "b.csv", "--effort", "quick", *extra) == 0
    out, bars = pd.read_csv("b.csv"), pd.read_csv("bars.csv")
    assert out.notna().all(axis=None)
    assert (out["city"] == people()["city"])[table["city"].isna()].mean() > 0.6
    assert out["height"].min() > 100
    assert list(bars.columns) == ["height", "visits"]
    gap = table["height"].isna()
    assert (bars["height"] > 0)[gap].all()
    assert (bars["height"] == 0)[~gap].all()
    with open("r.html") as file:
        assert "city = Rome" in file.read()


def test_a_mixed_table_by_its_name_is_filled_in_python_as_well():
    holes(people()).to_csv("a.csv", index=False)
    out = tfl.complete("a.csv", effort="quick").completed
    assert list(out.columns) == list(people().columns)
    assert out.notna().all(axis=None)
    assert out["seen"].dtype.kind == "M"


def test_a_mixed_csv_comes_back_with_every_known_cell_as_it_was(capsys):
    table = holes(people())
    text = table.assign(visits=table["visits"].astype("Int64")).to_csv(index=False, date_format="%Y-%m-%d")
    with open("a.csv", "w") as file:
        file.write(text)
    assert run("complete", "a.csv", "-o", "b.csv", "--effort", "quick", "--save", "run.npz", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    before, after = cells("a.csv"), cells("b.csv")
    assert after[0] == before[0]
    assert all(not old or old == new for x, y in zip(before, after, strict=True) for old, new in zip(x, y, strict=True))
    assert all(cell for row in after for cell in row)
    out = pd.read_csv("b.csv", parse_dates=["seen"])
    assert set(out["city"]) == {"Rome", "Oslo", "Bern"}
    assert (out["visits"] == out["visits"].round()).all()
    assert out["seen"].dtype.kind == "M"
    assert {c["name"] for c in told["columns"]} >= {"height", "city = Rome", "answer = yes"}
    truth = people()
    gap = table["city"].isna()
    assert (out["city"] == truth["city"])[gap].mean() > 0.6


def test_columns_that_stay_as_they_are_are_named(capsys):
    """The notes were dropped: gaps stayed without a word."""
    table = holes(people()).assign(note=[f"remark {n}" if n % 3 else None for n in range(160)])
    table.to_csv("a.csv", index=False)
    assert run("complete", "a.csv", "-o", "b.csv", "--effort", "quick", "--report", "r.html") == 0
    assert "column 'note'" in capsys.readouterr().err
    with open("r.html") as file:
        assert "column &#x27;note&#x27;" in file.read()
    assert pd.read_csv("b.csv")["note"].isna().sum() == table["note"].isna().sum()


def test_the_same_table_from_every_kind_of_file():
    table = holes(people())
    want = tfl.complete(table, effort="quick").completed
    for name in ("a.csv", "a.xlsx", "a.parquet"):
        {"csv": table.to_csv, "xlsx": table.to_excel, "parquet": table.to_parquet}[name[2:]](name, index=False)
        assert run("complete", name, "-o", f"out_{name}", "--effort", "quick", "-q") == 0
    out = {
        "csv": pd.read_csv("out_a.csv", parse_dates=["seen"]),
        "xlsx": pd.read_excel("out_a.xlsx"),
        "parquet": pd.read_parquet("out_a.parquet"),
    }
    for kind, got in out.items():
        assert (got["city"] == want["city"]).all(), kind
        assert (got["answer"] == want["answer"]).all(), kind
        assert (got["seen"] == want["seen"]).all(), kind
        np.testing.assert_allclose(got["height"], want["height"], atol=0.06)


def test_rows_that_arrive_later(capsys):
    table = holes(people(200))
    table.iloc[:160].to_csv("old.csv", index=False)
    table.iloc[160:].to_csv("new.csv", index=False)
    assert run("complete", "old.csv", "-o", "b.csv", "--effort", "quick", "-q", "--save", "run.npz") == 0
    assert run("extend", "run.npz", "new.csv", "-o", "c.csv") == 0
    assert "40 rows filled by run.npz, in c.csv" in capsys.readouterr().out
    before, after = cells("new.csv"), cells("c.csv")
    assert all(not old or old == new for x, y in zip(before, after, strict=True) for old, new in zip(x, y, strict=True))
    assert all(cell for row in after for cell in row)
    assert run("extend", "run.npz", "new.csv", "-o", "new.csv") == 2
    assert run("extend", "b.csv", "new.csv", "-o", "d.csv") == 1
    pd.DataFrame({"height": [170.0]}).to_csv("few.csv", index=False)
    capsys.readouterr()
    assert run("extend", "run.npz", "few.csv", "-o", "d.csv") == 1
    assert "'city' is not among theirs, which are height. Add it" in capsys.readouterr().err


def test_a_table_of_numbers_alone_can_be_extended():
    numbers = holes(people(200))[["height", "visits"]].assign(other=np.arange(200) % 7 + 0.5)
    numbers.iloc[:160].to_csv("old.csv", index=False)
    numbers.iloc[160:].to_csv("new.csv", index=False)
    assert run("complete", "old.csv", "-o", "b.csv", "--effort", "quick", "-q", "--save", "run.npz") == 0
    assert run("extend", "run.npz", "new.csv", "-o", "c.csv", "-q") == 0
    assert pd.read_csv("c.csv").notna().all(axis=None)


def workbook(name, rows, merged=None):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for k, row in enumerate(rows, 1):
        for n, value in enumerate(row, 1):
            book.active.cell(k, n, value)
            if isinstance(value, str):
                book.active.cell(k, n).data_type = "s"
    book.create_sheet("notes")["A1"] = "kept"
    if merged:
        book.active.merge_cells(merged)
    book.save(name)


def of_colours(rows=60):
    """Text that Excel takes for formulas, and codes that begin with 0."""
    rng = np.random.default_rng(0)
    codes, kinds = ["007", "7", "12"], ["=HYPERLINK(1)", "@red", "blue"]
    table = [["code", "=kind", "a", "b"]]
    for k in range(rows):
        cells = [codes[k % 3], kinds[k // 2 % 3], *rng.normal(size=2).round(3)]
        table.append([None if n and rng.random() < 0.25 else x for n, x in enumerate(cells)])
    return table


@pytest.mark.parametrize("out", ["b.xlsx", "b.csv"])
def test_text_in_excel_stays_text(out):
    """Formulas were written live, and 007 became 7."""
    rows = of_colours()
    rows[5][0] = None
    workbook("a.xlsx", rows)
    assert run("complete", "a.xlsx", "-o", out, "--effort", "quick", "-q") == 0
    if out == "b.csv":
        found = cells(out)
    else:
        book = pytest.importorskip("openpyxl").load_workbook(out)
        assert all(cell.data_type != "f" for row in book.active for cell in row)
        assert book["notes"]["A1"].value == "kept"
        found = [[cell.value for cell in row] for row in book.active]
    for old, new in zip(rows, found, strict=True):
        for a, b in zip(old, new, strict=True):
            assert b not in (None, "")
            assert a is None or b == a or b == str(a)
    assert {row[0] for row in found[1:]} == {"007", "7", "12"}
    assert {row[1] for row in found[1:]} == {"=HYPERLINK(1)", "@red", "blue"}


def test_merged_cells_of_a_mixed_table_are_a_sentence(capsys):
    workbook("a.xlsx", of_colours(), merged="A2:A4")
    assert run("complete", "a.xlsx", "-o", "b.xlsx", "--effort", "quick") == 1
    assert "cells A2:A4 of its sheet 'Sheet' are merged" in capsys.readouterr().err


def test_numbers_as_text_and_dates_of_a_sheet():
    """Numbers that Excel holds as text are numbers, as they are in CSV, and stay as they were written."""
    rows = of_colours()
    table = [[*row, k % 7 if k else "n"] for k, row in enumerate(rows)]
    for row in table[1:]:
        row[2] = None if row[2] is None else f"{row[2]:.2f}"
    workbook("a.xlsx", table)
    assert run("complete", "a.xlsx", "-o", "b.xlsx", "--effort", "quick", "-q") == 0
    found = [[c.value for c in row] for row in pytest.importorskip("openpyxl").load_workbook("b.xlsx").active]
    gaps = [new[2] for old, new in zip(table[1:], found[1:], strict=True) if old[2] is None]
    assert gaps
    assert all(isinstance(x, float) for x in gaps)
    assert all(old[2] in (None, new[2]) for old, new in zip(table, found, strict=True))


def test_a_mixed_table_as_spreadsheets_in_germany_save_it():
    """Semicolons, commas in numbers, Windows-1252 and line ends: numbers were text, and ü was an error."""
    table = holes(people()).replace({"city": {"Rome": "Zürich"}})
    heights = table["height"].map("{:.1f}".format).str.replace(".", ",").where(table["height"].notna(), "")
    text = table.assign(height=heights).to_csv(index=False, sep=";", date_format="%Y-%m-%d", lineterminator="\r\n")
    with open("a.csv", "wb") as file:
        file.write(b"# measured\r\n" + text.encode("cp1252"))
    assert run("complete", "a.csv", "-o", "b.csv", "--effort", "quick", "-q") == 0
    with open("b.csv", "rb") as file:
        lines = file.read().decode("cp1252").split("\r\n")
    assert lines[0] == "# measured"
    out = pd.read_csv(StringIO("\n".join(lines[1:])), sep=";", decimal=",")
    assert out.notna().all(axis=None)
    assert np.abs(out["height"] - people()["height"])[table["height"].isna()].mean() < 6
    assert all(old in ("", new) for old, new in zip(heights, (line.split(";")[0] for line in lines[2:]), strict=False))


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.json", "a.csv.gz"])
def test_a_mixed_table_of_every_other_format_of_tables(name):
    table = holes(people()).assign(visits=lambda t: t["visits"].astype("Int64"))
    if name == "a.json":
        table = table.assign(seen=table["seen"].dt.strftime("%Y-%m-%d"))
        table.to_json(name, orient="records")
    else:
        getattr(table, {"a.csv.gz": "to_csv"}.get(name, f"to_{name[2:]}"))(name)
    assert run("complete", name, "-o", f"out_{name}", "--effort", "quick", "-q") == 0
    if name.endswith(("parquet", "feather")):
        before, after = (getattr(pd, f"read_{name[2:]}")(x) for x in (name, f"out_{name}"))
        assert dict(after.dtypes) == dict(before.dtypes)
    else:
        after = pd.read_json(f"out_{name}") if name == "a.json" else pd.read_csv(f"out_{name}")
    assert after.notna().all(axis=None)
    assert set(after["city"]) == {"Rome", "Oslo", "Bern"}
