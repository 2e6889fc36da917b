"""The ten tasks of docs/ten-tasks.md: each takes at most ten lines and gives the right result."""

import re
from pathlib import Path

import first_tasks
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from test_docs import blocks, check_command, commands

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ten-tasks.md"
TASKS = re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE)
pytestmark = pytest.mark.filterwarnings("ignore:.*have no value at any time:tensorfill.DataWarning")


@pytest.fixture
def do(tmp_path, monkeypatch):
    """do(task, files): makes the files, runs what the page says, and returns (what files returned, names defined)."""
    monkeypatch.chdir(tmp_path)

    def run(task, files):
        truth = files(tmp_path, np.random.default_rng(0))
        names = {"__name__": "__main__"}
        start = PAGE.read_text()[: PAGE.read_text().index(f"## {task}\n")].count("\n")
        kind, line, body = next(b for b in blocks(PAGE) if b[1] > start)
        if kind == "python":
            exec(compile("\n" * (line - 1) + body, str(PAGE), "exec"), names)
        else:
            for words in commands(body):
                check_command(words, f"{PAGE.name}:{line}")
        return truth, names

    return run


def rmse(a, b):
    return float(np.sqrt(np.mean((np.asarray(a, float) - np.asarray(b, float)) ** 2)))


def test_there_are_ten_one_click_away_and_short():
    assert len(TASKS) == 10
    assert "(ten-tasks.md)" in (PAGE.parent / "index.md").read_text()
    assert "(docs/ten-tasks.md)" in (PAGE.parents[1] / "README.md").read_text()
    typed = [[line for line in body.splitlines() if line.strip()] for _, _, body in blocks(PAGE)]
    assert len(typed) == 10
    assert max(map(len, typed)) <= 10
    parts = PAGE.read_text().split("\n## ")[1:]
    assert all(re.search(r"More: \[.+\]\([\w-]+\.md\)", part) for part in parts)


def test_photograph(do):
    (photo, known), _ = do("A photograph with a painted hole", first_tasks.photograph)
    filled = np.asarray(Image.open("filled.png"))
    np.testing.assert_array_equal(filled[known], photo[known])
    around = photo[known].mean(axis=0)
    assert rmse(filled[~known], photo[~known]) < 0.5 * rmse(np.broadcast_to(around, photo.shape)[~known], photo[~known])


def test_table_with_categories(do):
    truth, _ = do("A CSV table with categories", first_tasks.people)
    gaps, filled = pd.read_csv("people.csv"), pd.read_csv("filled.csv")
    assert not filled.isna().any(axis=None)
    assert (filled == gaps).where(gaps.notna(), True).all(axis=None)
    lost = gaps["size"].isna()
    assert (filled["size"] == truth["size"])[lost].mean() > 0.6
    lost = gaps["height"].isna()
    assert rmse(filled["height"][lost], truth["height"][lost]) < 0.5 * truth["height"].std()


def test_sensor_outage(do):
    truth, names = do("A sensor outage", first_tasks.sensors)
    gaps = names["readings"]
    lost = gaps.isna().to_numpy()
    filled = pd.read_csv("filled.csv", index_col="time").to_numpy()
    assert rmse(filled[lost], truth.to_numpy()[lost]) < 0.5 * rmse(
        gaps.interpolate().to_numpy()[lost], truth.to_numpy()[lost]
    )


def test_sea_with_land(do):
    xr = pytest.importorskip("xarray")
    truth, names = do("A sea cube with land", first_tasks.sea)
    filled = xr.open_dataarray("filled.nc")
    assert (filled.isnull() == truth.isnull()).all()
    cloud = (names["sst"].isnull() & truth.notnull()).to_numpy()
    assert rmse(filled.to_numpy()[cloud], truth.to_numpy()[cloud]) < 1


def test_forecast(do):
    truth, _ = do("A forecast", first_tasks.load)
    told = pd.read_csv("forecast.csv", index_col="time", parse_dates=True).tail(24)
    assert list(told.index) == list(truth.index[-24:])
    last = np.broadcast_to(truth.iloc[-25], (24, 2))
    assert rmse(told, truth.tail(24)) < 0.3 * rmse(last, truth.tail(24))


def test_best_five(do):
    stars, names = do("Ratings: the best five", first_tasks.ratings)
    best, known = names["best"], names["ratings"].pivot(index="user", columns="film", values="stars")
    assert list(best.columns) == ["user", "place", "film", "estimate"]
    assert (best.groupby("user").size() == 5).all()
    assert known.stack().dropna().index.intersection(pd.MultiIndex.from_frame(best[["user", "film"]])).empty
    assert best.groupby("user")["estimate"].apply(lambda e: e.is_monotonic_decreasing).all()
    told = np.mean([stars.loc[user, film] for user, film in zip(best["user"], best["film"], strict=True)])
    unseen = stars.where(known.reindex_like(stars).isna())
    assert told > unseen.mean(axis=1).mean() + 0.5


def test_pooled_regression(do):
    slope, names = do("A pooled regression", first_tasks.survey)
    known = pd.read_csv("survey.csv").dropna()
    assert abs(names["slope"] - slope) < 3 * names["error"]
    alone = np.polyfit(known["age"], known["income"], 1, cov=True)[1][0, 0] ** 0.5
    whole = np.polyfit(names["sets"][0]["age"], names["sets"][0]["income"], 1, cov=True)[1][0, 0] ** 0.5
    assert whole < names["error"] < 2 * alone  # more than of one completed set, which takes guesses for answers


def test_excel_with_sentinels(do):
    pytest.importorskip("openpyxl")
    truth, _ = do("An Excel sheet with -999", first_tasks.stations)
    gaps, filled = pd.read_excel("stations.xlsx"), pd.read_excel("filled.xlsx")
    lost = (gaps == -999).to_numpy()
    assert (filled.to_numpy()[~lost] == gaps.to_numpy()[~lost]).all()
    assert rmse(filled.to_numpy()[lost], truth.to_numpy()[lost]) < 1


def test_dropped_frames(do):
    whole, names = do("Dropped frames", first_tasks.film)
    filled, there = np.load("filled.npy"), names["there"]
    np.testing.assert_array_equal(filled[there], whole[there])
    before = whole[[4, 10, 10]]
    assert rmse(filled[~there], whole[~there]) < 0.7 * rmse(before, whole[~there])


def test_netcdf_round_trip(do):
    xr = pytest.importorskip("xarray")
    truth, _ = do("NetCDF in, NetCDF out", first_tasks.sea)
    given, back = xr.open_dataarray("sst.nc"), xr.open_dataset("round.nc")["sst"]
    assert back.attrs["units"] == "degC"
    assert back.dtype == given.dtype
    for name in ("time", "lat", "lon"):
        assert back[name].equals(given[name])
    assert (back == given).where(given.notnull(), True).all()
    assert (back.isnull() == truth.isnull()).all()
