"""Dates as people write them, and a mode of dates folded into days and hours."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.cli.main import main
from tensorfill.data.dates import parse_dates
from tensorfill.data.fold import fold_of
from tensorfill.io.files import read
from tensorfill.io.horizon import add_steps

RNG = np.random.default_rng(8)
HOURS = np.arange("2024-03-01T05", "2024-03-09T17", dtype="M8[h]")  # neither day is whole
DAY = 10 + 5 * np.sin(2 * np.pi * np.arange(24) / 24)


def rhythm(count=4):
    """Series with a rhythm of the day, and a level of each day."""
    hour = HOURS.astype(np.int64) % 24
    level = RNG.uniform(0.5, 2, 9)[(HOURS.astype("M8[D]") - HOURS[0].astype("M8[D]")).astype(int)]
    return level[:, None] * DAY[hour, None] * RNG.uniform(0.5, 2, count)


DATES = {
    "points": (["3.2.2024", "4.2.2024"], ["2024-02-03", "2024-02-04"]),
    "day above 12": (["1/2/2024", "13/2/2024"], ["2024-02-01", "2024-02-13"]),
    "month second": (["2/1/2024 4:05 pm", "2/13/2024 12:00 am"], ["2024-02-01T16:05", "2024-02-13"]),
    "even steps tell": (["1/1/2024", "2/1/2024", "3/1/2024", "4/1/2024"], None),  # days or months: both are even
    "rising tells": (["30.1.2024", "31.1.2024", "1.2.2024"], ["2024-01-30", "2024-01-31", "2024-02-01"]),
    "slashes": (["2024/02/03 14:00", "2024/02/03 15:00"], ["2024-02-03T14", "2024-02-03T15"]),
    "names": (["3 Feb 2024", "4 March 2024"], ["2024-02-03", "2024-03-04"]),
    "american names": (["Feb 3, 2024", "Mar 4, 2024"], ["2024-02-03", "2024-03-04"]),
    "months": (["Jan 2024", "Feb 2024"], ["2024-01-01", "2024-02-01"]),
    "year and month": (["2024-01", "2024-02"], ["2024-01-01", "2024-02-01"]),
    "zone": (["2024-01-01T00:00Z", "2024-01-01T01:00Z"], ["2024-01-01T00", "2024-01-01T01"]),
    "short names with a full stop": (["Aug. 2023", "Sept. 2023"], ["2023-08-01", "2023-09-01"]),
    "quarters": (["1959Q1", "1959Q2"], ["1959-01-01", "1959-04-01"]),
    "quarters first": (["Q3 2023", "Q4 2023"], ["2023-07-01", "2023-10-01"]),
    "five quarters": (["1959Q5", "1960Q1"], None),
    "words that begin like months": (["Marathon 2023", "Augsburg 2023"], None),
    "one word that begins like a month": (["Jan 2024", "Feb 2024", "Mayor 2024"], None),
    "no date": (["a1", "b2"], None),
    "30 February": (["30.2.2024", "1.3.2024"], None),
    "numbers": (["12", "13"], None),
    "dashes, day first": (["30-01-2024", "31-01-2024", "01-02-2024"], ["2024-01-30", "2024-01-31", "2024-02-01"]),
    "other languages": (["1. März 2024", "1. April 2024"], None),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_as_people_write_them(name):
    labels, expected = DATES[name]
    found = parse_dates(labels)
    if expected is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, np.array(expected, dtype="M8[us]"))


GO_ON = {
    "names": (["Oct 2024", "Nov 2024"], ["Dec 2024", "Jan 2025"]),
    "capitals": (["NOVEMBER 2024", "DECEMBER 2024"], ["JANUARY 2025", "FEBRUARY 2025"]),
    "mixed lengths": (["Mar 2024", "April 2024"], ["May 2024", "June 2024"]),
    "American": (["Feb 27, 2024", "Feb 28, 2024"], ["Feb 29, 2024", "Mar 1, 2024"]),
    "points, two digits": (["30.01.2024", "31.01.2024"], ["01.02.2024", "02.02.2024"]),
    "points, as short as can be": (["8.1.2024", "9.1.2024"], ["10.1.2024", "11.1.2024"]),
    "month first, halves of a day": (
        ["2/13/2024 10:00 AM", "2/13/2024 11:00 AM"],
        ["2/13/2024 12:00 PM", "2/13/2024 1:00 PM"],
    ),
    "slashes": (["2024/02/03 22:00", "2024/02/03 23:00"], ["2024/02/04 00:00", "2024/02/04 01:00"]),
    "year and month": (["2024-11", "2024-12"], ["2025-01", "2025-02"]),
    "quarters": (["1959Q2", "1959Q3"], ["1959Q4", "1960Q1"]),
    "zone": (["2024-01-01T22:00Z", "2024-01-01T23:00Z"], ["2024-01-02T00:00Z", "2024-01-02T01:00Z"]),
    "ISO": (["2024-02-28 06:30:00", "2024-02-29 06:30:00"], ["2024-03-01 06:30:00", "2024-03-02 06:30:00"]),
}


@pytest.mark.parametrize("name", GO_ON)
def test_dates_after_the_last_are_written_as_those_before(name, tmp_path):
    """Of `Feb 3, 2024` a forecast went on with `2024-02-05400:00:00.000000`."""
    labels, expected = GO_ON[name]
    (tmp_path / "a.csv").write_text("when;v\n" + "".join(f"{label};{k}.5\n" for k, label in enumerate(labels)))
    longer = add_steps(read(tmp_path / "a.csv"), 0, 2)
    assert longer.labels["when"] == [*labels, *expected]


def test_dates_of_a_table_are_put_in_order(tmp_path):
    rows = ["site,day,v", *(f"s{i},{d},{i}.5" for i in range(2) for d in ("2.3.2024", "28.2.2024", "1.3.2024"))]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    loaded = read(tmp_path / "a.csv", dims=["site", "day"], value="v")
    assert loaded.labels["day"] == [
        "28.2.2024",
        "1.3.2024",
        "2.3.2024",
    ]


@pytest.mark.parametrize(
    ("units", "shape"),
    [
        (("day", "hour"), (9, 24)),
        (("week", "day", "hour"), (2, 7, 24)),
        (("month", "day", "hour"), (1, 9, 24)),
        (("week", "hour"), (2, 168)),
        (24, (9, 24)),
    ],
)
def test_every_moment_has_its_place(units, shape):
    obs = tfl.Observations.from_dense(rhythm(), dims=("time", "site"))
    fold = fold_of(obs, {"time": units}, {"time": HOURS})
    assert fold.lengths == shape
    folded = fold.apply(obs)
    assert folded.shape == (*shape, 4)
    assert folded.nnz == obs.nnz
    dense = folded.dense()
    if units == ("day", "hour"):
        assert folded.dims == ("day", "hour", "site")
        hour = HOURS.astype(np.int64) % 24
        np.testing.assert_array_equal(dense[1, hour[19:43]], rhythm_at(obs, 19, 43))
        assert np.isnan(dense[0, :5]).all()
    assert (np.diff(np.ravel_multi_index(tuple(folded.indices.T), folded.shape)) > 0).all()  # in order


def rhythm_at(obs, first, last):
    return obs.dense()[first:last]


def test_halves_of_an_hour_and_months_of_a_year():
    halves = np.arange("2024-01-01T00:00", "2024-01-04T00:00", 30, dtype="M8[m]")
    obs = tfl.Observations.from_dense(RNG.random((len(halves), 2)))
    assert fold_of(obs, {0: ("day", "hour")}, {"mode0": halves}).lengths == (3, 48)
    months = np.arange("2020-03", "2023-06", dtype="M8[M]")
    obs = tfl.Observations.from_dense(RNG.random((len(months), 2)))
    fold = fold_of(obs, {0: ("year", "month")}, {"mode0": months})
    assert fold.lengths == (4, 12)
    assert tuple(fold.codes[0]) == (0, 2)


def test_an_answer_comes_back_in_the_form_of_the_data(tmp_path):
    pd = pytest.importorskip("pandas")
    truth = rhythm()
    known = RNG.random(truth.shape) < 0.5
    frame = pd.DataFrame(np.where(known, truth, np.nan), index=pd.Index(HOURS, name="time"), columns=list("abcd"))
    settings = {"rank": 1, "prior": "normal", "smooth": {}, "held_out": 0.0, "candidates": ["low-rank"]}
    done = tfl.complete(frame, fold={"time": ("day", "hour")}, **settings)
    assert done.completed.index.equals(frame.index)
    assert list(done.completed.columns) == list("abcd")
    np.testing.assert_array_equal(done.completed.to_numpy()[known], truth[known])
    where = np.argwhere(~known)
    np.testing.assert_allclose(done.at(where), done.full[~known])
    assert np.abs(done.full - truth)[~known].mean() < 0.05 * truth.std()
    done.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(tfl.Completion.load(tmp_path / "run.npz").full, done.full)
    barred = tfl.complete(frame, fold={"time": ("day", "hour")}, method="halrtc", max_iter=5, error_bars=0.9)
    assert barred.interval[0].shape == frame.shape
    assert "Completed" in repr(done)


@pytest.mark.parametrize(
    ("fold", "sentence"),
    [
        ({"time": ("hour", "day")}, "from long to short among year, month, week, day, hour, minute"),
        ({"time": ("day",)}, "from long to short"),
        ({"time": ("day", "site")}, "from long to short"),
        ({"time": 1}, "by 2 to 203 steps; got 1"),
        ({"site": ("day", "hour")}, "needs dates or times along it"),
        ({"tme": 24}, "Did you mean 'time'"),
        ("time", "must name one mode"),
        ({"time": ("year", "month")}, "puts two of its moments into one place"),
    ],
)
def test_folds_that_cannot_be(fold, sentence):
    obs = tfl.Observations.from_dense(rhythm(), dims=("time", "site"))
    with pytest.raises(ValueError, match=sentence):
        fold_of(obs, fold, {"time": HOURS})


def test_fold_and_memory_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    values, known = rhythm() + 0.1 * RNG.normal(size=(len(HOURS), 4)), RNG.random((len(HOURS), 4)) < 0.7
    cells = [[f"{v:.3f}" if k else "" for v, k in zip(*row, strict=True)] for row in zip(values, known, strict=True)]
    rows = [f"{str(t).replace('T', ' ')}:00,{','.join(c)}" for t, c in zip(HOURS, cells, strict=True)]
    (tmp_path / "a.csv").write_text("time,a,b,c,d\n" + "\n".join(rows) + "\n")

    def run(*more):
        with pytest.raises(SystemExit) as ended:
            main(["complete", "a.csv", "-o", "b.csv", "--method", "halrtc", "--json", *more])
        return ended.value.code, capsys.readouterr()

    code, told = run("--fold", "time=day,hour")
    assert code == 0
    lines = (tmp_path / "b.csv").read_text().splitlines()
    assert len(lines) == 1 + len(HOURS)
    assert "" not in lines[5].split(",")
    assert run("--fold", "time")[0] == 2
    code, told = run("--fold", "a=day,hour")
    assert (code, told.err.count("\n")) == (2, 1)
    code, told = run("--max-memory", "9kB")
    assert code in (1, 2)
    assert "and 9 kB may be taken, the limit that was set" in told.err
    assert run("--max-memory", "much")[0] == 2
