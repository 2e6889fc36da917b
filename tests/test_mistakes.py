"""Twenty mistakes that newcomers make: each gets one sentence, in Python, on the command line and on the page."""

import json
import warnings
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tensorfill as tfl
from tensorfill.cli import main as cli
from tensorfill.io.files import FileError, read
from tensorfill.terminal import BAD_DATA, UserError, as_user_error

T = np.outer(np.arange(1.0, 9.0), np.arange(2.0, 8.0))
GAPS = np.ones(T.shape, dtype=bool)
GAPS[1, 2] = GAPS[4, 4] = GAPS[6, 0] = False
HOLEY = np.where(GAPS, T, np.nan)


def photo():
    y, x = np.mgrid[0:20, 0:20]
    out = np.stack([5 * x + 40, 4 * y + 60, 3 * (x + y) + 50], axis=-1).astype(np.uint8)
    out[5:9, 5:9] = 0  # the hole
    return out


HOLE = (photo() == 0).all(axis=2)


@dataclass
class Mistake:
    """A file, what is done with it in each of the three places, and words that the sentence must have."""

    name: str
    words: str
    data: Any  # saved as in.npy, in.png or, if it is text, in.csv
    python: dict[str, Any] = field(default_factory=dict)
    cli: list[str] = field(default_factory=list)
    page: dict[str, Any] = field(default_factory=dict)
    mask: Any = None
    elsewhere: str = ""  # words on the command line and on the page, where they are others

    @property
    def file(self) -> str:
        text = isinstance(self.data, str)
        return "in.csv" if text else "in.png" if self.data.dtype == np.uint8 else "in.npy"


def save(path, data):
    if isinstance(data, str):
        path.write_text(data)
    elif data.dtype == np.uint8:
        Image.fromarray(data).save(path)
    else:
        np.save(path, data)


def constant(value, shape=(8, 6)):
    return np.full(shape, value)


CSV = "day,a,b,c\n" + "".join(f"d{k},{k},{2 * k},{3 * k}\n" for k in range(6))
MISTAKES = [
    Mistake("a typo in an option", "Did you mean 'rank'?", HOLEY, {"ranks": 3}, ["--ranks", "3"], {"ranks": 3},
            elsewhere="rank"),
    Mistake("a typo in a method", "Did you mean 'halrtc'?", HOLEY, {"method": "halrct"}, ["--method", "halrct"],
            {"method": "halrct"}),
    Mistake("a typo in a prior", "Did you mean 'poisson'?", HOLEY, {"prior": "poison"}, ["--prior", "poison"],
            {"prior": "poison"}),
    Mistake("a mask that has known and missing swapped", "mask inverted", HOLEY, {}, ["--mask", "mask.npy"],
            mask=~GAPS, elsewhere="leaves no known entry"),
    Mistake("the same over a photograph", "is the mask inverted", photo(), {},
            ["--mask", "mask.png", "--max-iter", "3"], {"effort": "quick"},
            mask=np.where(HOLE, 255, 0).astype(np.uint8)),
    Mistake("strings in a column of numbers", "numbers", CSV.replace("d3,3,6,9", "d3,3,many,9").replace("d5,5", "d5,")),
    Mistake("a sentinel that was not told", "3 values are -999: missing?",
            np.where(GAPS, T, -999.0)),
    Mistake("one observed value", "only 1 entry is known", np.where(np.arange(48).reshape(8, 6) == 9, 7.0, np.nan)),
    Mistake("one number", "a single ndarray", np.array(3.0), elsewhere="at least two modes"),
    Mistake("an empty file", "empty", "", elsewhere="it is empty"),
    Mistake("infinite values", "must be finite; got inf at index (0, 0)",
            np.where(np.arange(48).reshape(8, 6) == 0, np.inf, HOLEY)),
    Mistake("nothing known", "observed", constant(np.nan), elsewhere="everything is missing"),
    Mistake("nothing missing", "Nothing was missing", T, elsewhere="no missing entry"),
    Mistake("negative numbers as counts", "must be >= 0 for Poisson", -HOLEY, {"prior": "poisson"},
            ["--prior", "poisson"], {"prior": "poisson"}),
    Mistake("a mask of another shape", "mask must have", HOLEY, {}, ["--mask", "mask.npy"], mask=np.ones((3, 3), bool)),
    Mistake("a rank of zero", "rank must be", HOLEY, {"rank": 0}, ["--rank", "0"], {"rank": 0}),
    Mistake("an effort there is not", "quick, normal", HOLEY, {"effort": "maximum"}, ["--effort", "maximum"],
            {"effort": "maximum"}),
    Mistake("complex numbers", "complex", HOLEY + 1j),
    Mistake("rows of different lengths", "rows of one length", "a,b,c\n1,2,3\n4,5\n", elsewhere="row 3 has 2 cells"),
    Mistake("error bars of a handful", "error bars need at least 100", HOLEY, {"error_bars": 0.9},
            ["--error-bars", "bars.npy"], {"error_bars": True}),
    Mistake("a seed that is none", "seed must be", HOLEY, {"seed": -1}, ["--seed", "-1"], {"seed": -1}),
]  # fmt: skip


PYTHON = [  # further ones, that can be made in Python alone: (settings or data, words)
    ({"prior": "gaussian"}, "Did you mean 'normal'?"),
    ({"prior": tfl.Normal}, "got the class Normal; write Normal()."),
    ({"iterations": 5}, "Did you mean 'max_iter'?"),
    ({"n_components": 3}, "Did you mean 'rank'?"),
    ({"random_state": 0}, "Did you mean 'seed'?"),
    ({"rank": "3"}, "rank must be a whole number"),
    ({"error_bars": 90}, "error_bars must lie between 0 and 1, like 0.9; got 90."),
    ({"smooth": 3.0}, 'smooth must be {mode: weight}, e.g. {"hour": 1.0}'),
    ({"mask": 255 * GAPS.astype(np.uint8)}, "got uint8, up to 255. Give mask > 0."),
    ({"missing": ~GAPS}, "Did you mean 'mask'? True = observed."),
    ({"timeout": 5}, "Did you mean 'seconds'?"),
    ({"smooth": {"hour": 1.0}}, "dimension must be one of mode0, mode1; got 'hour'. Name the modes: dims=."),
    ({"data": np.array([["1", "2"], ["3", "x"]])}, "got text, 'x' at index (1, 1). Mark what is missing by None"),
    ({"data": np.array([["2024-01-01", "NaT"]] * 2, "M8[D]")}, "got dtype datetime64[D]. Count from a start"),
    ({"data": HOLEY + 1j}, "got dtype complex128. Give both parts, with one more mode: numpy.stack("),
    ({"data": None}, "got None. Did reading it fail?"),
    ({"data": {"a": [1, 2]}}, "got a dictionary. Of columns: pandas.DataFrame(data)."),
    ({"data": (x for x in "ab")}, "got a generator. Make a list of it first."),
    ({"data": [[1, 2], [3]]}, "rows of one length; these have 1, 2 entries. Fill short ones up with None."),
]


@pytest.mark.parametrize(("given", "words"), PYTHON, ids=lambda x: x if isinstance(x, str) else "")
def test_a_mistake_in_python_gets_one_sentence(given, words):
    with pytest.raises((ValueError, TypeError)) as refused:
        tfl.complete(**{"data": HOLEY, **given})
    one_sentence(str(refused.value), words)


def test_a_table_with_dates_among_its_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(HOLEY).assign(day="2024-01-01")
    assert (tfl.complete(frame, effort="quick").completed["day"] == frame["day"]).all()
    frame["day"] = ["2024-01-01", 5.0, *["2024-01-03"] * 6]
    with pytest.raises(TypeError, match=r"column 'day' must be numbers; got '2024-01-01'\. Correct it"):
        tfl.complete(frame)


def test_sums_of_money_are_numbers():
    """What a data base gives: Decimal, which is no Real."""
    done = tfl.complete([[Decimal("1.5"), None], [Decimal(2), Decimal("3.25")]]).completed
    assert done[0, 0] == 1.5
    assert done[1, 1] == 3.25


def test_data_of_several_variables_and_places_that_are_not_there(tmp_path):
    xr = pytest.importorskip("xarray")
    two = xr.Dataset({"temperature": (("x", "y"), HOLEY), "rain": (("x", "z"), HOLEY)})
    with pytest.raises(ValueError, match=r"same dims; got temperature \(x, y\), rain \(x, z\)\. .* one by one"):
        tfl.complete(two)
    done = tfl.complete(HOLEY, effort="quick", candidates=["means"])
    with pytest.raises(FileNotFoundError, match=r"the directory .*nowhere does not exist: .*nowhere.run\.npz"):
        done.save(tmp_path / "nowhere" / "run.npz")
    done.report(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()[:200]


def test_rows_that_are_entries_are_told_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("user,item,stars\n1,1,5\n1,2,3\n2,1,4\n")
    with pytest.raises(SystemExit):
        cli.main(["complete", "in.csv", "-o", "out.csv"])
    assert capsys.readouterr().err.endswith("If each row is one entry: --dims user,item --value stars.\n")


def test_a_file_where_a_command_is_wanted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my data.csv").write_text("a,b\n1,\n")
    with pytest.raises(SystemExit):
        cli.main(["my data.csv"])
    assert "Did you mean: tensorfill complete 'my data.csv' -o OUT?" in capsys.readouterr().err


def one_sentence(text, words):
    assert words.lower() in text.lower(), text
    assert "\n" not in text.strip()
    assert "Traceback" not in text
    assert text.strip().endswith((".", "?", ")", "--help"))


def in_python(mistake, folder):
    """What Python says: an error, a warning, or the status."""
    if mistake.file != "in.csv":
        given = mistake.data
    elif mistake.name.startswith("rows"):
        given = [[1.0, 2.0, 3.0], [4.0, 5.0]]
    elif mistake.data:
        given = pytest.importorskip("pandas").read_csv(folder / "in.csv", index_col=0)
    else:
        given = np.empty((0, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quick = {} if "method" in mistake.python else {"effort": "quick"}
        quick |= {"max_iter": 3} if mistake.file == "in.png" else {}
        mask = mistake.mask if mistake.mask is None or mistake.mask.dtype == bool else mistake.mask > 0
        try:
            done = tfl.complete(given, mask, **{**quick, **mistake.python})
        except (ValueError, TypeError) as error:
            return [str(error)]
    return [str(w.message) for w in caught] + [done.status.sentence]


def on_the_command_line(mistake, capsys):
    """What it says: on standard error, or as a note."""
    out = f"out{mistake.file[2:]}"
    with pytest.raises(SystemExit) as end:
        cli.main(["complete", mistake.file, "-o", out, "--json", "--effort", "quick", *mistake.cli])
    said = capsys.readouterr()
    if end.value.code == 0:
        return json.loads(said.out)["notes"]
    assert said.err.startswith("tensorfill: ")
    return [said.err.removeprefix("tensorfill: ").strip()]


def on_the_page(mistake, folder):
    """What it says: a refusal, a question, a note."""
    pytest.importorskip("starlette", reason="the extra [app] is not installed")
    from tensorfill.app.workspace import Workspace

    workspace = Workspace(lambda event, **news: None)
    said = []
    try:
        with as_user_error(BAD_DATA):
            seen = workspace.open(str(folder / mistake.file), str(folder))
            if mistake.mask is not None:
                name = "mask.png" if mistake.mask.dtype == np.uint8 else "mask.npy"
                seen = workspace.mask(str(folder / name), name)
            said = [q["text"] for q in seen["questions"]] + seen["notes"]
            workspace.check(mistake.page)
            workspace.fit()
    except UserError as error:
        return [*said, error.sentence]
    return said + workspace.summary()["notes"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
@pytest.mark.parametrize("place", ["python", "command line", "page"])
def test_a_mistake_gets_one_sentence(mistake, place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(tmp_path / mistake.file, mistake.data)
    if mistake.mask is not None:
        save(tmp_path / ("mask.png" if mistake.mask.dtype == np.uint8 else "mask.npy"), mistake.mask)
    if place == "python":
        said, words = in_python(mistake, tmp_path), mistake.words
    elif place == "page":
        said, words = on_the_page(mistake, tmp_path), mistake.elsewhere or mistake.words
    else:
        said, words = on_the_command_line(mistake, capsys), mistake.elsewhere or mistake.words
    meant = [text for text in said if words.lower() in text.lower()]
    assert meant, said
    one_sentence(meant[0], words)


def test_there_are_twenty_of_them():
    assert len({m.name for m in MISTAKES}) >= 20


def test_the_result_is_an_array_where_one_is_wanted():
    done = tfl.complete(HOLEY, effort="quick", candidates=["means"])
    np.testing.assert_array_equal(np.asarray(done), done.completed)
    assert np.asarray(done, dtype=np.float32).dtype == np.float32


def test_a_name_instead_of_data(tmp_path):
    with pytest.raises(FileError, match=r"cannot read photo.png: there is no such file"):
        tfl.complete("photo.png")
    with pytest.raises(FileError, match="cannot read"):
        read(tmp_path / "photo.png")
