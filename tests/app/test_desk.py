"""What a child does with a file, in this process: look, mask, fill, write, and the same by command and by Python."""

import contextlib
import shlex

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette", reason="the extra [app] is not installed")
from tensorfill.app.choice import Choice, command, python, stem
from tensorfill.app.describe import peek
from tensorfill.app.desk import Desk
from tensorfill.cli import main as cli
from tensorfill.data.files import read
from tensorfill.data.formats.long import guess_columns
from tensorfill.terminal import UserError

RNG = np.random.default_rng(3)


def picture(height=20, width=24):
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    return np.rint(40 + 180 * np.stack([x * y, 0.5 + 0.4 * np.sin(4 * x + y), 1 - y], axis=-1)).astype(np.uint8)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heard = []
    made = Desk(lambda **news: heard.append(news))
    made.heard = heard
    return made


def table(path, gaps=True):
    T = np.outer(np.arange(1, 11), np.linspace(1, 3, 6)) + RNG.normal(0, 0.1, (10, 6))
    rows = [["day", *"abcdef"]] + [[f"d{k}", *(f"{v:.2f}" for v in row)] for k, row in enumerate(T)]
    if gaps:
        for k, j in ((2, 3), (5, 1), (7, 6)):
            rows[k][j] = ""
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")


def test_what_a_table_is(desk, tmp_path):
    table(tmp_path / "t.csv")
    seen = desk.look(str(tmp_path / "t.csv"), "t.csv")
    assert (seen["shape"], seen["missing"], seen["paint"]) == ([10, 6], 3, False)
    assert seen["kind"] == "a CSV table"
    assert seen["peek"]["columns"] == list("abcdef")
    assert seen["peek"]["cells"][1][2] is None
    assert (tmp_path / "given.png").exists()


def test_hours_in_the_margin_are_told_apart(tmp_path):
    """They were shortened in their middle: 2024-01-01…00:00, all of them."""
    rows = "".join(f"2024-01-01 {hour:02d}:00:00,{hour},{2 * hour}\n" for hour in range(8))
    (tmp_path / "hours.csv").write_text("time,a,b\n" + rows)
    assert peek(read(tmp_path / "hours.csv"))["rows"][:2] == ["2024-01-01 00:00", "2024-01-01 01:00"]


def test_what_may_mean_missing_is_asked(desk, tmp_path):
    T = 5 + RNG.random((9, 7))
    T[RNG.random(T.shape) < 0.2] = -999
    np.save(tmp_path / "depths.npy", T)
    (question,) = desk.look(str(tmp_path / "depths.npy"), "depths.npy")["questions"]
    assert question["text"] == f"{(T == -999).sum()} values are -999: missing?"
    again = desk.look(str(tmp_path / "depths.npy"), "depths.npy", question["set"])
    assert again["missing"] == (T == -999).sum()
    assert again["questions"] == []

    P = picture()
    P[5:9, 5:15] = 0
    Image.fromarray(P).save(tmp_path / "p.png")
    (question,) = desk.look(str(tmp_path / "p.png"), "p.png")["questions"]
    assert question == {"text": "8.3% of the pixels are pure black: missing?", "mask": "black"}
    assert desk.hole(0)["missing"] == 3 * 40
    alpha = np.full(P.shape[:2], 255, np.uint8)
    alpha[:3] = 0
    Image.fromarray(np.dstack([picture(), alpha])).save(tmp_path / "a.png")
    (question,) = desk.look(str(tmp_path / "a.png"), "a.png")["questions"]
    assert question["set"] == {"alpha_missing": True}
    assert desk.look(str(tmp_path / "a.png"), "a.png", question["set"])["missing"] == 3 * 3 * 24


def test_a_photograph_has_no_such_questions(desk, tmp_path):
    Image.fromarray(picture()).save(tmp_path / "p.png")
    assert desk.look(str(tmp_path / "p.png"), "p.png")["questions"] == []


def test_a_table_with_one_row_for_each_entry(desk, tmp_path):
    rows = [f"{s},{d},{h},{RNG.poisson(9)},x" for s in "AB" for d in range(3) for h in range(4) if RNG.random() < 0.8]
    (tmp_path / "c.csv").write_text("station,day,hour,n,note\n" + "\n".join(rows) + "\n")
    seen = desk.look(str(tmp_path / "c.csv"), "c.csv")
    assert seen["read_as"] == {"dims": ["station", "day", "hour"], "value": "n"}
    assert seen["columns"] == ["station", "day", "hour", "n", "note"]
    assert seen["missing"] == 24 - len(rows)


def test_numbers_in_all_but_one_column_may_be_one_row_for_each_entry(desk, tmp_path):
    places = [(s, d, h) for s in range(3) for d in range(3) for h in range(4) if (s, d, h) != (1, 1, 2)]
    rows = [f"S{s},{d},{h},{RNG.poisson(9)}" for s, d, h in places]
    (tmp_path / "c.csv").write_text("station,day,hour,n\n" + "\n".join(rows) + "\n")
    seen = desk.look(str(tmp_path / "c.csv"), "c.csv")
    assert seen["read_as"] == {"dims": ["station", "day", "hour"], "value": "n"}
    assert seen["missing"] == 1
    seen = desk.look(str(tmp_path / "c.csv"), "c.csv", {})  # asked for as a matrix
    assert (seen["read_as"], seen["shape"], seen["missing"]) == (None, [35, 3], 0)


def test_a_matrix_without_a_gap_stays_one(desk, tmp_path):
    (tmp_path / "c.csv").write_text("a,b,c\n1,1,5\n1,2,6\n2,1,7\n2,2,8\n")  # every pair of a and b is there
    seen = desk.look(str(tmp_path / "c.csv"), "c.csv")
    assert (seen["read_as"], seen["shape"]) == (None, [4, 3])


@pytest.mark.parametrize(
    ("table", "guess"),
    [
        ({"a": "xxyy", "b": "1212", "v": "5678"}, (["a", "b"], "v")),
        ({"id": "1234", "a": "xxyy", "b": "1212", "v": "5678", "w": "1111"}, (["a", "b"], "v")),
        ({"a": "xxxx", "b": "1122", "v": "5678"}, None),  # no two columns name each row but once
        ({"a": "xxyy", "b": "1212", "v": "pqrs"}, None),
        ({}, None),
    ],
)
def test_columns_are_guessed_only_where_they_are_plain(table, guess):
    assert guess_columns({name: list(cells) for name, cells in table.items()}) == guess


def test_the_command_and_the_lines_give_the_very_same_file(desk, tmp_path):
    P, M = picture(), np.ones((20, 24), dtype=np.uint8) * 255
    M[4:9, 6:10] = 0
    Image.fromarray(P).save(tmp_path / "my photo.png")
    Image.fromarray(M).save(tmp_path / "mask.png")
    desk.look(str(tmp_path / "my photo.png"), "my photo.png")
    desk.mask(str(tmp_path / "mask.png"), "painted.png", painted=True)
    desk.check({"method": "halrtc", "seed": 3, "effort": "normal"})
    desk.fit()
    told = desk.told()
    own = desk.write("png", str(tmp_path))
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
    choice = Choice.of({**given, "effort": "best", "seed": 2, "variable": "x"})
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


def test_a_result_in_every_format_it_fits(desk, tmp_path):
    table(tmp_path / "t.csv")
    desk.look(str(tmp_path / "t.csv"), "t.csv")
    desk.check({"method": "halrtc"})
    desk.fit()
    assert [f["name"] for f in desk.told()["formats"]] == ["csv"]
    formats = [f["name"] for f in desk.formats()["formats"]]
    assert formats[0] == "csv"
    assert {"npy", "tsv", "mat", "tns"} <= set(formats)
    for name in formats:
        written = desk.write(name, str(tmp_path))
        assert (tmp_path / written["name"]).stat().st_size > 0
    assert "<details" in (tmp_path / desk.details(str(tmp_path))["path"]).read_text()
    with pytest.raises(UserError, match="no error bars"):
        desk.write("error-bars", str(tmp_path))


def test_a_stop_before_any_model_still_gives_an_answer(desk, tmp_path, monkeypatch):
    table(tmp_path / "t.csv")
    desk.look(str(tmp_path / "t.csv"), "t.csv")
    desk.check({})

    def interrupted(*data, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tensorfill.app.desk.look", interrupted)
        patch.setattr("tensorfill.app.desk.complete", interrupted)
        with pytest.raises(KeyboardInterrupt):
            desk.fit()
    desk.fit_in_a_hurry()
    assert desk.told()["stopped"]


def test_a_stop_in_a_contest_keeps_its_best(desk, tmp_path, monkeypatch):
    """Also in a candidate that has no loop of its own to catch it."""
    from tensorfill.choose.candidates.posterior import PosteriorMean

    table(tmp_path / "t.csv")
    desk.look(str(tmp_path / "t.csv"), "t.csv")
    desk.check({})

    def interrupted(*data, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(PosteriorMean, "fit", interrupted)
    desk.fit()
    assert desk.told()["stopped"]
    assert desk.done.tried
    assert [news for news in desk.heard if news.get("tries")]  # the leaderboard as it grew
