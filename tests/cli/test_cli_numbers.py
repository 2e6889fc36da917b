"""The command line on tables and arrays: what is data and what is not, which numbers are written, and what is noted."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from test_cli import QUICK, run

import tensorfill as tfl
from tensorfill.cli.checks import prior_of
from tensorfill.io.files import read

RNG = np.random.default_rng(3)
STARS = RNG.integers(1, 6, (20, 9))
KNOWN = RNG.random(STARS.shape) < 0.7


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_csv(name, table, header=None, labels=None, known=KNOWN):
    """A matrix with blanks where nothing is known."""
    rows = [[str(v) if k else "" for v, k in zip(*pair, strict=True)] for pair in zip(table, known, strict=True)]
    if labels is not None:
        rows = [[str(label), *row] for label, row in zip(labels, rows, strict=True)]
    Path(name).write_text("".join(",".join(map(str, row)) + "\n" for row in ([header] if header else []) + rows))


def cells(name):
    with open(name, newline="") as file:
        return list(csv.reader(file))


def notes(capsys):
    return json.loads(capsys.readouterr().out)["notes"]


HEADER = [f"s{k}" for k in range(9)]


def test_a_column_that_counts_is_named_and_written_back(capsys):
    write_csv("a.csv", STARS, ["minute", *HEADER], range(20))
    assert run("complete", "a.csv", "-o", "b.csv", "--smooth", "minute=1", "--json", *QUICK) == 0
    assert "the first column, 'minute', counts 0, 1, 2, ...: it is taken as labels" in notes(capsys)[0]
    assert [row[0] for row in cells("b.csv")] == ["minute", *map(str, range(20))]
    numbers = np.array([row[1:] for row in cells("b.csv")[1:]], dtype=float)
    assert numbers.max() <= 6
    assert run("complete", "a.csv", "-o", "b.csv", "--smooth", "minut=1") == 2
    err = "tensorfill: dimension must be one of minute, column; got 'minut'. Did you mean 'minute'?\n"
    assert capsys.readouterr().err == err


def test_a_hint_does_not_mind_capitals(capsys):
    write_csv("a.csv", STARS, ["Time", *HEADER], range(20))
    assert run("complete", "a.csv", "-o", "b.csv", "--smooth", "tim=1") == 2
    assert capsys.readouterr().err.endswith("got 'tim'. Did you mean 'Time'?\n")


def test_a_mask_with_soft_edges_is_noted(capsys):
    grey = np.rint(255 * np.add.outer(np.linspace(0, 0.5, 20), np.linspace(0, 0.5, 20))).astype(np.uint8)
    Image.fromarray(grey).save("a.png")
    soft = np.full((20, 20), 255, dtype=np.uint8)
    soft[5:9, 5:9], soft[6:8, 6:8] = 128, 0
    Image.fromarray(soft).save("m.png")
    assert run("complete", "a.png", "--mask", "m.png", "-o", "b.png", "--json", *QUICK) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["filled"] == 16
    assert told["notes"][0].startswith("mask m.png has 3 grey levels; only the brightest, 255, counts as known, 96.0%")


def test_a_filled_npz_is_full():
    np.savez("a.npz", values=STARS.astype(float), mask=KNOWN)
    assert run("complete", "a.npz", "-o", "b.npz", *QUICK) == 0
    assert read("b.npz").observed().all()


# --- error bars ---------------------------------------------------------------------------------------------------


def test_error_bars_are_fractions_within_the_domain():
    bits = (STARS > 2).astype(int)
    write_csv("a.csv", bits, HEADER)
    assert run("complete", "a.csv", "-o", "b.csv", "--error-bars", "bars.csv", *QUICK) == 0
    bars = np.array(cells("bars.csv")[1:], dtype=float)
    done = tfl.complete(pd.DataFrame(np.where(KNOWN, bits, np.nan), columns=HEADER), error_bars=0.9, max_iter=20)
    (low, high), middle = done.bounds, np.where(KNOWN, bits, done.full)
    np.testing.assert_allclose(bars, np.maximum(high - middle, middle - low), rtol=1e-6)
    assert bars.max() <= 1
    assert (bars[KNOWN] == 0).all()
    assert (bars != np.rint(bars)).any()


NEEDS = {"tif": "tifffile", "parquet": "pyarrow", "nc": "xarray"}


@pytest.mark.parametrize("ending", ["npy", "csv", "tif", "tns", "parquet"])
def test_error_bars_of_a_picture(ending):
    pytest.importorskip(NEEDS.get(ending, "numpy"))
    grey = np.rint(120 + 90 * np.sin(np.add.outer(np.arange(20) / 4, np.arange(20) / 5))).astype(np.uint8)
    Image.fromarray(grey).save("a.png")
    known = RNG.random(grey.shape) < 0.6
    Image.fromarray(known).save("m.png")
    name = f"bars.{ending}"
    assert run("complete", "a.png", "--mask", "m.png", "-o", "b.png", "--error-bars", name, *QUICK) == 0
    bars = np.load(name) if ending == "npy" else read(name).observations().dense()
    assert bars.shape == grey.shape
    assert bars.dtype.kind == "f"
    assert (bars != np.rint(bars)).any()
    assert (bars[known] == 0).all()


# --- numbers that are not rounded ---------------------------------------------------------------------------------


def parquet(path, columns):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), path)


def make_wide_parquet(path):
    columns = np.where(KNOWN, STARS.astype(object), None).T.tolist()
    parquet(path, dict(zip(HEADER, columns, strict=True)))


def make_long_parquet(path):
    i, j = np.nonzero(KNOWN)
    parquet(path, {"i": i, "j": j, "v": STARS[KNOWN].astype(np.int16)})


def make_long_csv(path):
    Path(path).write_text("i,j,v\n" + "".join(f"{i},{j},{STARS[i, j]}\n" for i, j in np.argwhere(KNOWN)))


def make_netcdf(path):
    xr = pytest.importorskip("xarray")
    packing = {"dtype": "int16", "_FillValue": np.int16(-1)}
    table = np.where(KNOWN, STARS, np.nan)
    xr.Dataset({"v": (("i", "j"), table)}).to_netcdf(path, engine="scipy", encoding={"v": packing})


LONG = ("--dims", "i,j", "--value", "v")
WHOLE = {  # name: (make, options)
    "wide.csv": (lambda p: write_csv(p, STARS, HEADER), ()),
    "long.csv": (make_long_csv, LONG),
    "wide.parquet": (make_wide_parquet, ()),
    "long.parquet": (make_long_parquet, LONG),
    "a.npy": (lambda p: np.save(p, np.where(KNOWN, STARS, 99).astype(np.uint8)), ("--missing-value", 99)),
    "a.npz": (lambda p: np.savez(p, values=STARS, mask=KNOWN), ()),
    "a.nc": (make_netcdf, ()),
    "a.tns": (
        lambda p: Path(p).write_text("".join(f"{i + 1} {j + 1} {STARS[i, j]}\n" for i, j in np.argwhere(KNOWN))),
        (),
    ),
}


def dense(name, options):
    named = {"dims": ("i", "j"), "value": "v"} if options == LONG else {}
    return read(name, **named).observations().dense(dtype=np.float64)


@pytest.mark.parametrize("name", WHOLE)
def test_unrounded(name):
    make, options = WHOLE[name]
    make(name)
    out = f"out{Path(name).suffix}"
    how = ("--prior", "binomial(5)") if name == "wide.csv" else ("--method", "halrtc")  # the formats are the subject
    for more in ((), ("--unrounded",)):
        assert run("complete", name, "-o", out, *options, *more, *how, *QUICK) == 0
        after = dense(out, options)
        np.testing.assert_array_equal(after[KNOWN], STARS[KNOWN])
        assert np.isfinite(after).all()
        assert (after == np.rint(after)).all() == (not more)
    if name == "wide.csv":  # the characters of what is known stay
        assert cells(out)[1][np.flatnonzero(KNOWN[0])[0]] == str(STARS[0][KNOWN[0]][0])


def test_unrounded_is_the_mean_of_the_model():
    write_csv("a.csv", STARS, HEADER)
    assert run("complete", "a.csv", "-o", "b.npy", "--unrounded", *QUICK) == 0
    done = tfl.complete(pd.DataFrame(np.where(KNOWN, STARS, np.nan), columns=HEADER), max_iter=20)
    np.testing.assert_allclose(np.load("b.npy"), np.where(KNOWN, STARS, done.estimate))


def test_words_come_back_as_words_or_as_probabilities():
    words = np.where(STARS > 2, "Yes", "No")
    write_csv("a.csv", words, HEADER)
    assert run("complete", "a.csv", "-o", "b.csv", *QUICK) == 0
    after = np.array(cells("b.csv")[1:])
    np.testing.assert_array_equal(after[KNOWN], words[KNOWN])
    assert set(after.ravel()) == {"Yes", "No"}
    assert run("complete", "a.csv", "-o", "b.csv", "--unrounded", *QUICK) == 0
    numbers = np.array(cells("b.csv")[1:], dtype=float)  # no words among them
    np.testing.assert_array_equal(numbers[KNOWN], words[KNOWN] == "Yes")
    assert ((numbers >= 0) & (numbers <= 1)).all()
    assert (numbers != np.rint(numbers)).any()


def test_a_text_that_means_missing():
    write_csv("a.csv", np.where(KNOWN, STARS, "lost"), HEADER, known=np.ones_like(KNOWN))
    assert run("complete", "a.csv", "-o", "b.csv", "--missing-value", "lost", *QUICK) == 0
    assert "lost" not in Path("b.csv").read_text()


# --- single entries -----------------------------------------------------------------------------------------------


def test_entries_to_write_need_no_values():
    make_long_csv("a.csv")
    i, j = map(int, np.argwhere(~KNOWN)[0])
    Path("at.csv").write_text(f"j,i\n{j},{i}\n")
    assert run("complete", "a.csv", "-o", "b.csv", *LONG, "--at", "at.csv", "--unrounded", *QUICK) == 0
    head, row = cells("b.csv")
    assert (head, row[:2]) == (["i", "j", "v"], [str(i), str(j)])
    assert float(row[2]) != round(float(row[2]))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_entries_to_write_are_named_by_their_labels_in_any_order(ending):
    make_long_csv("a.csv")
    (i, j), (k, m) = map(tuple, np.argwhere(KNOWN)[[0, -1]])
    wanted = pd.DataFrame({"j": [j, m], "i": [i, k]})
    (wanted.to_csv if ending == "csv" else wanted.to_parquet)(f"at.{ending}", index=False)
    assert run("complete", "a.csv", "-o", f"b.{ending}", *LONG, "--at", f"at.{ending}", *QUICK) == 0
    got = (pd.read_csv if ending == "csv" else pd.read_parquet)(f"b.{ending}")
    assert list(got.columns) == ["i", "j", "v"]
    assert got["v"].tolist() == [STARS[i, j], STARS[k, m]]
    wanted.assign(j=99).to_csv("at.csv", index=False)
    assert run("complete", "a.csv", "-o", "b.csv", *LONG, "--at", "at.csv", *QUICK) == 1


def test_entries_to_write_by_number_where_there_are_no_labels():
    table = STARS + 0.5
    write_csv("a.csv", table)
    i, j = map(int, np.argwhere(KNOWN)[-1])
    Path("at.csv").write_text(f"row,column\n{i},{j}\n")
    assert run("complete", "a.csv", "-o", "b.csv", "--at", "at.csv", *QUICK) == 0
    assert cells("b.csv") == [["row", "column", "value"], [str(i), str(j), str(table[i, j])]]


# --- priors with numbers ------------------------------------------------------------------------------------------


def test_priors_with_numbers():
    assert prior_of("poisson") == prior_of("poisson()") == "poisson"
    assert prior_of("binomial(4)") == tfl.Binomial(4)
    assert prior_of("Student-T( nu = 3 )") == tfl.StudentT(nu=3)
    assert prior_of("student-t(2, scale=1e-1)") == tfl.StudentT(2, scale=0.1)
    assert prior_of("beta-divergence(-0.5)") == tfl.BetaDivergence(-0.5)


def test_numbers_that_a_prior_is_not_given_follow_the_data():
    small, large = (prior_of("student-t(nu=3)", tfl.observe(STARS * unit, KNOWN)) for unit in (1.0, 1000.0))
    assert small.nu == large.nu == 3
    assert large.scale == pytest.approx(1000 * small.scale)
    assert prior_of("student-t(3, 2)", tfl.observe(STARS * 9.0, KNOWN)) == tfl.StudentT(3, 2)


@pytest.mark.parametrize("ending", ["nc", "parquet", "tsv"])
def test_any_name_of_the_first_column_goes_into_any_format(ending):
    pytest.importorskip(NEEDS.get(ending, "numpy"))
    write_csv("a.csv", STARS, ["date/time", *HEADER], [f"2024-03-{k + 1:02}" for k in range(len(STARS))])
    assert run("complete", "a.csv", "-o", f"b.{ending}", *QUICK) == 0
    assert read(f"b.{ending}").shape == STARS.shape


def test_a_code_for_missing_is_asked_about(capsys):
    T = np.round(np.outer(np.arange(1, 13), np.arange(1.0, 11.0)), 1)
    T[::4, ::3] = -999
    T[1, 1] = np.nan
    np.savetxt("in.csv", T, delimiter=",", fmt="%g")
    assert run("complete", "in.csv", "-o", "out.csv", "--json", *QUICK) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [n for n in notes if "--missing-value -999" in n] == notes
    assert run("complete", "in.csv", "-o", "out.csv", "--json", "--missing-value", "-999", *QUICK) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []
