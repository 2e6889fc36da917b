"""What a worker does with a file, in this process: look, mask, fill, write, and the same by command and by Python."""

import contextlib
import shlex
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette", reason="the extra [app] is not installed")
from tensorfill.app.describe import preview, slice_means
from tensorfill.app.options import Options, command, in_page_words, python, stem
from tensorfill.app.workspace import Workspace
from tensorfill.cli import main as cli
from tensorfill.data.observations import Observations
from tensorfill.io.files import read
from tensorfill.io.formats.long import guess_columns
from tensorfill.terminal import BAD_DATA, UserError, as_user_error

RNG = np.random.default_rng(3)


def picture(height=20, width=24):
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    return np.rint(40 + 180 * np.stack([x * y, 0.5 + 0.4 * np.sin(4 * x + y), 1 - y], axis=-1)).astype(np.uint8)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heard = []
    made = Workspace(lambda event, **news: heard.append(news))
    made.heard = heard
    return made


def table(path, gaps=True):
    T = np.outer(np.arange(1, 11), np.linspace(1, 3, 6)) + RNG.normal(0, 0.1, (10, 6))
    rows = [["day", *"abcdef"]] + [[f"d{k}", *(f"{v:.2f}" for v in row)] for k, row in enumerate(T)]
    if gaps:
        for k, j in ((2, 3), (5, 1), (7, 6)):
            rows[k][j] = ""
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")


def test_what_a_table_is(workspace, tmp_path):
    table(tmp_path / "t.csv")
    seen = workspace.open(str(tmp_path / "t.csv"), str(tmp_path))
    assert (seen["shape"], seen["missing"], seen["paint"]) == ([10, 6], 3, False)
    assert seen["kind"] == "a CSV table"
    assert seen["peek"]["columns"] == list("abcdef")
    assert seen["peek"]["cells"][1][2] is None
    assert (tmp_path / "given.png").exists()


def test_hours_in_the_margin_are_told_apart(tmp_path):
    """They were shortened in their middle: 2024-01-01…00:00, all of them."""
    rows = "".join(f"2024-01-01 {hour:02d}:00:00,{hour},{2 * hour}\n" for hour in range(8))
    (tmp_path / "hours.csv").write_text("time,a,b\n" + rows)
    assert preview(read(tmp_path / "hours.csv"))["rows"][:2] == ["2024-01-01 00:00", "2024-01-01 01:00"]


def test_what_may_mean_missing_is_asked(workspace, tmp_path):
    T = 5 + RNG.random((9, 7))
    T[RNG.random(T.shape) < 0.2] = -999
    np.save(tmp_path / "depths.npy", T)
    (question,) = workspace.open(str(tmp_path / "depths.npy"), str(tmp_path))["questions"]
    assert question["text"] == f"{(T == -999).sum()} values are -999: missing?"
    again = workspace.open(str(tmp_path / "depths.npy"), str(tmp_path), question["set"])
    assert again["missing"] == (T == -999).sum()
    assert again["questions"] == []

    P = picture()
    P[5:9, 5:15] = 0
    Image.fromarray(P).save(tmp_path / "p.png")
    (question,) = workspace.open(str(tmp_path / "p.png"), str(tmp_path))["questions"]
    assert question == {"text": "8.3% of the pixels are pure black: missing?", "mask": "black"}
    assert workspace.mask_colour(0)["missing"] == 3 * 40
    alpha = np.full(P.shape[:2], 255, np.uint8)
    alpha[:3] = 0
    Image.fromarray(np.dstack([picture(), alpha])).save(tmp_path / "a.png")
    (question,) = workspace.open(str(tmp_path / "a.png"), str(tmp_path))["questions"]
    assert question["set"] == {"alpha_missing": True}
    assert workspace.open(str(tmp_path / "a.png"), str(tmp_path), question["set"])["missing"] == 3 * 3 * 24


def test_a_photograph_has_no_such_questions(workspace, tmp_path):
    Image.fromarray(picture()).save(tmp_path / "p.png")
    assert workspace.open(str(tmp_path / "p.png"), str(tmp_path))["questions"] == []


def test_a_table_with_one_row_for_each_entry(workspace, tmp_path):
    rows = [f"{s},{d},{h},{RNG.poisson(9)},x" for s in "AB" for d in range(3) for h in range(4) if RNG.random() < 0.8]
    (tmp_path / "c.csv").write_text("station,day,hour,n,note\n" + "\n".join(rows) + "\n")
    seen = workspace.open(str(tmp_path / "c.csv"), str(tmp_path))
    assert seen["read_as"] == {"dims": ["station", "day", "hour"], "value": "n"}
    assert seen["columns"] == ["station", "day", "hour", "n", "note"]
    assert seen["missing"] == 24 - len(rows)


def test_numbers_in_all_but_one_column_may_be_one_row_for_each_entry(workspace, tmp_path):
    places = [(s, d, h) for s in range(3) for d in range(3) for h in range(4) if (s, d, h) != (1, 1, 2)]
    rows = [f"S{s},{d},{h},{RNG.poisson(9)}" for s, d, h in places]
    (tmp_path / "c.csv").write_text("station,day,hour,n\n" + "\n".join(rows) + "\n")
    seen = workspace.open(str(tmp_path / "c.csv"), str(tmp_path))
    assert seen["read_as"] == {"dims": ["station", "day", "hour"], "value": "n"}
    assert seen["missing"] == 1
    seen = workspace.open(str(tmp_path / "c.csv"), str(tmp_path), {})  # asked for as a matrix
    assert (seen["read_as"], seen["shape"], seen["missing"]) == (None, [35, 3], 0)


def test_a_matrix_without_a_gap_stays_one(workspace, tmp_path):
    (tmp_path / "c.csv").write_text("a,b,c\n1,1,5\n1,2,6\n2,1,7\n2,2,8\n")  # every pair of a and b is there
    seen = workspace.open(str(tmp_path / "c.csv"), str(tmp_path))
    assert (seen["read_as"], seen["shape"]) == (None, [4, 3])


@pytest.mark.parametrize(
    ("table", "guess"),
    [
        ({"a": "xxyy", "b": "1212", "v": "5678"}, (["a", "b"], "v")),
        ({"id": "1234", "a": "xxyy", "b": "1212", "v": "5678", "w": "1111"}, (["a", "b"], "v")),
        ({"a": "xxxx", "b": "1122", "v": "5678"}, None),  # no two columns name each row but once
        ({"a": "xxyy", "b": "1212", "v": "pqrs"}, None),
        ({"name": "ppqrstuv", "in": "xxxxyyyy", "lat": "12345677", "lon": "87654321"}, None),  # names are no dimension
        ({}, None),
    ],
)
def test_columns_are_guessed_only_where_they_are_plain(table, guess):
    assert guess_columns({name: list(cells) for name, cells in table.items()}) == guess


def test_the_command_and_the_lines_give_the_very_same_file(workspace, tmp_path):
    P, M = picture(), np.ones((20, 24), dtype=np.uint8) * 255
    M[4:9, 6:10] = 0
    Image.fromarray(P).save(tmp_path / "my photo.png")
    Image.fromarray(M).save(tmp_path / "mask.png")
    workspace.open(str(tmp_path / "my photo.png"), str(tmp_path))
    workspace.mask(str(tmp_path / "mask.png"), "painted.png", painted=True)
    workspace.check({"method": "halrtc", "seed": 3, "effort": "normal"})
    workspace.fit()
    told = workspace.summary()
    own = workspace.write("png", str(tmp_path))
    made = np.array(Image.open(own["path"]))
    np.testing.assert_array_equal(made[M == 255], P[M == 255])
    assert own["name"] == "my photo-filled.png"
    (tmp_path / own["name"]).unlink()
    Image.fromarray(M).save(tmp_path / told["mask"])
    with contextlib.suppress(SystemExit):
        cli.main(shlex.split(told["command"])[1:])
    np.testing.assert_array_equal(np.array(Image.open(own["name"])), made)
    (tmp_path / own["name"]).unlink()
    exec(told["python"], {})
    np.testing.assert_array_equal(np.array(Image.open(own["name"])), made)


def test_every_choice_is_in_the_command_and_in_the_lines():
    given = {"dims": ["a", "b"], "value": "v", "missing_value": "-9", "prior": "poisson", "rank": 3, "error_bars": True}
    choice = Options.of({**given, "effort": "best", "seed": 2, "variable": "x"})
    line = command(choice, "in.csv.gz", "out.csv", None)
    for words in (
        "--dims a,b", "--value v", "--missing-value -9", "--prior poisson", "--rank 3", "--effort best", "--seed 2",
        "--variable x", "--error-bars out-error-bars.npy",
    ):  # fmt: skip
        assert words in line
    lines = python(choice, "in.csv.gz", "out.csv", None)
    for words in ("dims=['a', 'b']", "missing_value=-9.0", "prior='poisson'", "rank=3", "error_bars=0.9", "seed=2"):
        assert words in lines
    assert stem("in.csv.gz") == "in"


def test_a_result_in_every_format_it_fits(workspace, tmp_path):
    table(tmp_path / "t.csv")
    workspace.open(str(tmp_path / "t.csv"), str(tmp_path))
    workspace.check({"method": "halrtc"})
    workspace.fit()
    formats = [f["name"] for f in workspace.summary()["formats"]]
    assert formats[0] == "csv"
    assert {"npy", "tsv", "mat", "tns"} <= set(formats)
    for name in formats:
        written = workspace.write(name, str(tmp_path))
        assert (tmp_path / written["name"]).stat().st_size > 0
    assert "<details" in workspace.details()["html"]
    with pytest.raises(UserError, match="no error bars"):
        workspace.write("error-bars", str(tmp_path))


@pytest.mark.parametrize(("dtype", "least", "fits"), [(np.uint8, 0, True), (np.float64, -999, False)])
def test_all_formats_that_fit_are_offered_at_once_and_quickly(workspace, tmp_path, dtype, least, fits):
    T = (np.arange(400 * 300).reshape(400, 300) % 251).astype(dtype)
    T[-1, -1] = least
    np.save(tmp_path / "t.npy", T)
    workspace.open(str(tmp_path / "t.npy"), str(tmp_path), {"missing_value": 77})
    workspace.check({})
    workspace.fit_means()
    workspace.warm_up()
    began = time.process_time()
    formats = [f["name"] for f in workspace.summary()["formats"]]
    assert time.process_time() - began < 1.0
    assert ("png" in formats) == fits
    assert {"npy", "csv", "mat", "tiff", "parquet"} <= set(formats)


def test_a_stop_before_any_model_still_gives_an_answer(workspace, tmp_path, monkeypatch):
    table(tmp_path / "t.csv")
    workspace.open(str(tmp_path / "t.csv"), str(tmp_path))
    workspace.check({})

    def interrupted(*data, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tensorfill.app.workspace.complete", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workspace.fit()
        workspace.fit_means()
    assert workspace.summary()["stopped"]
    filled = np.asarray(workspace.done.completed)
    known = workspace.file.obs.mask
    assert filled[~known].min() >= filled[known].min()
    assert abs(filled[1, 2] - 3.6) < 3  # near the others of its row and its column
    assert "<section" in workspace.details()["html"]


def test_a_stop_in_a_contest_keeps_its_best(workspace, tmp_path, monkeypatch):
    """Also in a candidate that has no loop of its own to catch it."""
    from tensorfill.methods.bayes import Bayes

    table(tmp_path / "t.csv")
    workspace.open(str(tmp_path / "t.csv"), str(tmp_path))
    workspace.check({})

    def interrupted(*data, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(Bayes, "fit", interrupted)
    workspace.fit()
    assert workspace.summary()["stopped"]
    assert workspace.done.tried
    assert [news for news in workspace.heard if news.get("tries")]  # the leaderboard as it grew


def test_a_file_with_several_variables_offers_them(workspace, tmp_path):
    T = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
    T[2, 3] = np.nan
    np.savez(tmp_path / "two.npz", sea=T, land=T[:4] * 2)
    with pytest.raises(UserError) as refused, as_user_error(BAD_DATA):
        workspace.open(str(tmp_path / "two.npz"), str(tmp_path))
    assert workspace.hints(refused.value) == {"variables": ["sea", "land"]}
    assert workspace.plain(refused.value.sentence).endswith('choose one under "Variable".')
    seen = workspace.open(str(tmp_path / "two.npz"), str(tmp_path), {"variable": "land"})
    assert (seen["shape"], seen["variables"], seen["chosen"]) == ([4, 6], ["sea", "land"], {"variable": "land"})


@pytest.mark.parametrize(
    ("said", "page"),
    [
        ("its columns: --dims a,b,c --value v", 'its columns: "Columns that name the entry" and "Column of values"'),
        ("name it with --value.", 'name it with "Column of values".'),
        ('Use prior="normal", or mask that entry.', 'Use "Kind of numbers": normal, or mask that entry.'),
        ("31 values are -999 (on the command line: --missing-value -999).", "31 values are -999."),
        ("--missing-value -1 cannot occur", "the value that means missing, -1 cannot occur"),
        ("say what it is with --format (npy, csv).", "give the file the ending of its format."),
        ("Give a mask (--mask F) to say otherwise.", "Choose a mask file to say otherwise."),
    ],
)
def test_sentences_speak_of_fields_of_the_page(said, page):
    assert in_page_words(said) == page


@pytest.mark.parametrize(
    "given", [{"horizon": 3}, {"max_gap": 2}, {"horizon": 2, "max_gap": 2, "time": "day"}, {"fold": "day=7"}]
)
def test_forecasts_and_long_gaps(workspace, tmp_path, given):
    rows = [[f"2024-01-{k + 1:02d}", f"{10 + k % 7}", f"{5 + 2 * (k % 7)}"] for k in range(28)]
    for k in (4, 12, 13, 14, 15):
        rows[k][1] = ""
    (tmp_path / "s.csv").write_text("day,a,b\n" + "\n".join(",".join(row) for row in rows) + "\n")
    workspace.open(str(tmp_path / "s.csv"), str(tmp_path))
    workspace.check({"effort": "quick", **given})
    workspace.fit()
    told = workspace.summary()
    out = tmp_path / "out"
    out.mkdir()
    made = Path(workspace.write("csv", str(out))["path"]).read_text()
    assert len(made.splitlines()) == 29 + given.get("horizon", 0)
    empty = [line.split(",")[1] in ("", "nan") for line in made.splitlines()[13:17]]
    assert any(empty) == ("max_gap" in given)
    if "horizon" in given:
        assert made.splitlines()[-1].startswith(f"2024-01-{28 + given['horizon']}")
    Path("s-filled.csv").unlink(missing_ok=True)
    with contextlib.suppress(SystemExit):
        cli.main(shlex.split(told["command"])[1:])
    assert Path("s-filled.csv").read_text() == made
    Path("s-filled.csv").unlink()
    exec(told["python"], {})
    assert Path("s-filled.csv").read_text() == made


def test_a_photograph_of_12_megapixels_opens_within_three_seconds(workspace, tmp_path):
    P = np.array(Image.fromarray(picture()).resize((4000, 3000)))
    P[1000:1300, 2000:2400] = 255
    Image.fromarray(P).save(tmp_path / "p.jpg", quality=90)
    began = time.process_time()
    seen = workspace.open(str(tmp_path / "p.jpg"), str(tmp_path))
    assert time.process_time() - began < 3
    assert (seen["shape"], seen["missing"], seen["given"]) == ([3000, 4000, 3], 0, "given.jpg")
    with Image.open(tmp_path / "given.jpg") as drawn:
        assert drawn.size == (4000, 3000)  # sharp, however close one looks
    assert any("pure white" in q["text"] for q in seen["questions"])


def test_columns_with_units_of_their_own_are_drawn_in_their_own_scales(workspace, tmp_path):
    age, income = RNG.integers(18, 80, 40), RNG.normal(50_000, 9000, 40)
    rows = [
        f"p{k},{a},{'' if k == 3 else f'{b:.0f}'},{a / 30:.2f}"
        for k, (a, b) in enumerate(zip(age, income, strict=True))
    ]
    (tmp_path / "p.csv").write_text("name,age,income,rate\n" + "\n".join(rows) + "\n")
    seen = workspace.open(str(tmp_path / "p.csv"), str(tmp_path))
    assert (seen["own_scales"], seen["strips"]) == ("column", ["age", "income", "rate"])
    with Image.open(tmp_path / "given.png") as drawn:
        strips = np.array_split(np.asarray(drawn.convert("L"), dtype=float), 3)
    assert min(strip[0].std() for strip in strips) > 20  # not one of them in a single colour
    workspace.check({"method": "halrtc"})
    workspace.fit()
    assert "<svg" in workspace.details()["html"]


def test_a_table_with_categories_is_filled_as_on_the_command_line(workspace, tmp_path):
    z = RNG.normal(size=80)
    rows = [
        [f"{170 + 9 * v:.1f}", f"{60 + 5 * v:.1f}", "Rome" if v > 0 else "Oslo", "yes" if v > 0.3 else "no"] for v in z
    ]
    for k in range(0, 80, 7):
        rows[k][k % 4] = ""
    (tmp_path / "p.csv").write_text("height,weight,city,answer\n" + "\n".join(",".join(row) for row in rows) + "\n")
    seen = workspace.open(str(tmp_path / "p.csv"), str(tmp_path))
    assert (seen["missing"], seen["shape"], seen["notes"]) == (12, [80, 4], [])
    assert seen["peek"]["cells"][1] == rows[1]
    assert (seen["kinds"], seen["strips"]) == ("2 of numbers, 2 of text", ["height", "weight", "city", "answer"])
    assert seen["lines"][0].startswith("row: ")  # not by the name of a column of text
    with Image.open(tmp_path / "given.png") as drawn:
        strips = np.array_split(np.asarray(drawn.convert("L"), dtype=float), 4)
    assert min(strip.std() for strip in strips) > 20  # each column in its own scale
    workspace.check({"effort": "quick"})
    workspace.fit()
    told = workspace.summary()
    assert (told["filled"], told["formats"][0]["name"]) == (12, "csv")
    out = tmp_path / "out"
    out.mkdir()
    made = Path(workspace.write("csv", str(out))["path"]).read_text()
    assert "" not in [cell for line in made.splitlines() for cell in line.split(",")]
    for kind in told["formats"]:
        assert Path(workspace.write(kind["name"], str(out))["path"]).stat().st_size > 0
    drawn = workspace.details()["html"]
    assert drawn.count("<b>") == 6  # one gap in each of the first rows that have any
    assert "<b>Rome</b>" in drawn or "<b>Oslo</b>" in drawn
    with contextlib.suppress(SystemExit):
        cli.main(shlex.split(told["command"])[1:])
    assert Path("p-filled.csv").read_text() == made
    Path("p-filled.csv").unlink()
    exec(told["python"], {})
    assert Path("p-filled.csv").read_text() == made
    workspace.done = None
    workspace.fit_means()  # a stop before any model
    assert workspace.summary()["stopped"]
    assert Path(workspace.write("csv", str(out))["path"]).read_text().count("\n") == 81


@pytest.mark.parametrize("text", [True, False])
def test_gaps_that_stay_are_not_counted_as_filled_and_money_has_no_exponent(workspace, tmp_path, text):
    z = RNG.normal(size=60)
    rows = [[f"{k}", f"{24000 + 900 * v:.2f}", f"{v:.3f}", "", "Rome" if v > 0 else "Oslo"] for k, v in enumerate(z)]
    rows[3][0] = rows[4][1] = rows[9][2] = ""
    lines = [",".join(row[: 5 if text else 4]) for row in (["id", "income", "score", "none", "city"], *rows)]
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n")
    workspace.open(str(tmp_path / "p.csv"), str(tmp_path))
    workspace.check({"effort": "quick"})
    workspace.fit()
    assert workspace.summary()["filled"] == 2
    assert "e+0" not in workspace.details()["html"].split("what was filled in is bold")[1].split("</table>")[0]


def test_categories_stay_with_a_value_that_means_missing_and_with_error_bars(workspace, tmp_path):
    z = RNG.normal(size=60)
    rows = [f"{170 + 9 * v:.1f},{60 + 5 * v:.1f},{'Rome' if v > 0 else 'Oslo'}" for v in z]
    rows[3], rows[8] = rows[3].rpartition(",")[0] + ",", "-999" + rows[8][rows[8].index(",") :]
    (tmp_path / "p.csv").write_text("height,weight,city\n" + "\n".join(rows) + "\n")
    workspace.open(str(tmp_path / "p.csv"), str(tmp_path))
    seen = workspace.open(str(tmp_path / "p.csv"), str(tmp_path), {"missing_value": -999})
    assert (seen["missing"], seen["kinds"]) == (2, "2 of numbers, 1 of text")
    workspace.check({"effort": "quick", "error_bars": True})
    workspace.fit()
    told = workspace.summary()
    assert (told["filled"], told["bars"]) == (2, True)
    made = Path(workspace.write("csv", str(tmp_path))["path"]).read_text()
    assert ",," not in made
    assert "-999" not in made
    bars = workspace.write("error-bars", str(tmp_path))
    assert Path(bars["path"]).read_text().startswith("height,weight\n")
    with contextlib.suppress(SystemExit):
        cli.main(shlex.split(told["command"])[1:])
    assert Path("p-filled.csv").read_text() == made


def test_the_title_counts_what_was_filled_and_what_was_forecast(workspace, tmp_path):
    days = np.datetime64("2024-01-01") + np.arange(30)
    T = np.outer(np.arange(30.0), [1, 2]) + RNG.normal(0, 0.1, (30, 2))
    lines = [f"{day},{a:.2f},{b:.2f}" for day, (a, b) in zip(days, T, strict=True)]
    lines[4] = f"{days[4]},,3.5"
    del lines[9]  # has no row
    (tmp_path / "t.csv").write_text("day,a,b\n" + "\n".join(lines) + "\n")
    workspace.open(str(tmp_path / "t.csv"), str(tmp_path))
    workspace.check({"horizon": 5, "method": "bayes", "rank": 1})
    workspace.fit()
    told = workspace.summary()
    assert (told["ahead"], told["filled"]) == (5, 3)
    assert told["notes"] == ["day: the step 2024-01-10 had no row; empty ones were added, and are filled."]


def test_the_land_is_not_counted(workspace, tmp_path):
    xr = pytest.importorskip("xarray")
    cube = np.outer(10 + np.sin(np.arange(24)), np.arange(1, 65)).reshape(24, 8, 8)
    cube[:, :3, :3] = cube[2, 5, 5] = np.nan  # land, and a cloud
    months = np.arange("2020-01", "2022-01", dtype="M8[M]").astype("M8[ns]")
    xr.Dataset({"sst": (("time", "lat", "lon"), cube)}, {"time": months}).to_netcdf(tmp_path / "c.nc")
    workspace.open(str(tmp_path / "c.nc"), str(tmp_path))
    workspace.check({"method": "bayes", "rank": 1})
    workspace.fit()
    told = workspace.summary()
    assert told["filled"] == 1
    assert "fill_unseen" not in str(told["notes"])


def test_a_forecast_needs_a_time_axis(workspace, tmp_path):
    np.save(tmp_path / "a.npy", np.where(np.arange(40).reshape(8, 5) == 7, np.nan, 1.0 + np.arange(40).reshape(8, 5)))
    workspace.open(str(tmp_path / "a.npy"), str(tmp_path))
    for given, sentence in [
        ({"horizon": 2}, '"Steps to forecast" needs to know which modes are time'),
        ({"horizon": 2}, 'choose it under "Time axis".'),
        ({"horizon": 0}, '"Steps to forecast" must be a whole number of steps'),
        ({"fold": "24"}, '"Fold an axis" must be'),
    ]:
        with pytest.raises(UserError) as refused, as_user_error(BAD_DATA):
            workspace.check(given)
        assert sentence in workspace.plain(refused.value.sentence)
    assert workspace.check({"horizon": 2, "time": "mode0"})["expected"] >= 1


def test_a_photograph_of_a_telephone_is_offered_in_formats_that_can_be_written():
    from tensorfill.app.formats import list_formats
    from tensorfill.io.files import Loaded

    values = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)
    like = Loaded("heic", values.shape, values.dtype, values, extra={"axes": "HWC", "alpha": None})
    names = [each["name"] for each in list_formats(values, like, "heic")]
    assert names[0] == "png"
    assert not {"heic"} & set(names)


def test_means_of_slices_are_those_of_the_known_entries():
    rng = np.random.default_rng(0)
    T = rng.normal(5, 1, (6, 5, 4)).astype(np.float32)
    known = rng.random(T.shape) < 0.7
    obs = Observations.from_dense(T, known)
    low, high = T[known].min(), T[known].max()
    away = np.where(known, T - T[known].mean(), np.nan)
    parts = [np.nanmean(away, axis=axes, keepdims=True) for axes in ((1, 2), (0, 2), (0, 1))]
    means = np.clip(T[known].mean() + sum(parts), low, high)
    np.testing.assert_allclose(slice_means(obs), means, rtol=1e-5)
