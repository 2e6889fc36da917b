"""Labels along the modes: taken from the data by themselves, printed to be read, few and round on an axis."""

import datetime

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import tensorfill as tfl
from tensorfill.show import ticks, view
from tensorfill.show.card import thumbnails
from tensorfill.show.labels import format_labels, labels_of, plain_labels, shorten
from tensorfill.show.report import write_report

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(5)
LAT = np.linspace(-60, 60, 19)


def gappy(shape, dtype=float):
    rows = [RNG.random(n) + 1 for n in shape]
    T = np.einsum("i,j->ij" if len(shape) == 2 else "i,j,k->ijk", *rows).astype(dtype)
    T[RNG.random(shape) < 0.2] = np.nan
    return T


def sensors(columns=12):
    hours = pd.date_range("2024-03-01", periods=96, freq="h")
    return pd.DataFrame(gappy((96, columns)), index=hours, columns=[f"site {k}" for k in range(columns)])


def cube():
    xr = pytest.importorskip("xarray")
    months = pd.date_range("2020-01-01", periods=36, freq="MS")
    coords = {"time": months, "lat": LAT, "lon": np.arange(0.0, 360, 30)}
    return xr.DataArray(gappy((36, 19, 12)), coords, ("time", "lat", "lon"))


def quick(data):
    return tfl.complete(data, method="sptc", prior="normal", rank=1, max_iter=3)


@pytest.fixture(scope="module")
def grid():
    return quick(cube())


def texts(figure):
    figure.canvas.draw()
    return {t.get_text() for t in figure.findobj(Text)}


# --- where they come from -----------------------------------------------------------------------------------------


def test_every_source_gives_its_labels():
    table = sensors(3)
    got = labels_of(tfl.observe(table, dims=("time", "site")))
    assert format_labels(got["site"]) == ["site 0", "site 1", "site 2"]
    assert format_labels(got["time"], [1]) == ["2024-03-01 01:00"]
    long = pd.DataFrame({"user": [7, 3, 7], "film": ["b", "a", "a"], "stars": [1.0, 2, 3]})
    got = labels_of(tfl.Observations.from_pandas(long, ["user", "film"], "stars"))
    assert (format_labels(got["user"]), format_labels(got["film"])) == (["3", "7"], ["b", "a"])
    got = labels_of(tfl.observe(long.set_index(["user", "film"])["stars"]))
    assert format_labels(got["film"]) == ["b", "a"]
    got = labels_of(tfl.observe(cube()))
    assert format_labels(got["time"], [0, 13]) == ["2020-01", "2021-02"]
    assert labels_of(tfl.observe(gappy((4, 5)))) == {}


def test_labels_given_come_first_and_must_be_as_many():
    obs = tfl.observe(sensors(3))
    assert format_labels(labels_of(obs, {"column": ["x", "y", "z"]})["column"]) == ["x", "y", "z"]
    with pytest.raises(ValueError, match=r"labels of 'column' must be 3, one for each index; got 2\."):
        labels_of(obs, {"column": ["x", "y"]})


# --- how they are printed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (LAT[10:12], ["6.667", "13.33"]),
        (np.linspace(-0.3, 0.3, 7)[2:5], ["-0.1", "0", "0.1"]),
        ([445123.5, 445133.5], ["445124", "445134"]),
        ([51.5073, 51.5074], ["51.5073", "51.5074"]),
        ([123456, 7], ["123456", "7"]),
        ([1, 2.5], ["1", "2.5"]),
        (["6.66666666666", "7"], ["6.667", "7"]),
        (["007", "12"], ["007", "12"]),
        ([True, False], ["True", "False"]),
        (["2024-01-05 00:00:00", "2024-01-06 00:00:00"], ["2024-01-05", "2024-01-06"]),
        (["2024-01-05 00:00:00+01:00"], ["2024-01-05"]),
        (["2024-02-30 00:00:00"], ["2024-02-30"]),
        ([datetime.date(2024, 1, 5), datetime.date(2024, 1, 6)], ["2024-01-05", "2024-01-06"]),
        ([np.datetime64("2024-01-01", "ns")], ["2024-01-01"]),
        (np.array(["2020", "2021"], dtype="M8[ns]"), ["2020", "2021"]),
        (np.array(["2020-01-01T10:00:30", "2021"], dtype="M8[ns]"), ["2020-01-01 10:00:30", "2021-01-01 00:00:00"]),
        (np.array([90, 86400], dtype="m8[s]"), ["00:01:30", "1 d"]),
        ([("a", 1), ("b", 2)], ["a, 1", "b, 2"]),
        (pd.period_range("2024-01", periods=2, freq="M"), ["2024-01", "2024-02"]),
        (pd.date_range("2024-01-02", periods=2, tz="Asia/Tokyo"), ["2024-01-02", "2024-01-03"]),
    ],
)
def test_words(labels, expected):
    assert format_labels(plain_labels(labels)) == expected


def test_long_names_keep_their_ends():
    assert shorten("A rather long name of sensor 12") == "A rather l…or 12"
    assert shorten("short") == "short"


# --- ticks --------------------------------------------------------------------------------------------------------


def choose(labels, most):
    at, said = ticks.choose(plain_labels(labels), lambda t: len(t) <= most)
    return list(np.round(at, 6)), said


def test_ticks_are_round_and_where_they_belong():
    at, said = choose(pd.date_range("2024-03-01", periods=336, freq="h"), 7)
    assert said[:2] == ["2024-03-01", "2024-03-03"]
    assert at[:2] == [0, 48]
    at, said = choose(LAT, 5)
    assert said == ["-50", "-25", "0", "25", "50"]
    np.testing.assert_allclose(np.interp(at, np.arange(19), LAT), [float(x) for x in said])
    at, said = choose(LAT[::-1], 5)  # from north to south
    np.testing.assert_allclose(np.interp(at, np.arange(19), LAT[::-1]), [float(x) for x in said])
    assert choose(np.arange(5), 5) == ([0, 1, 2, 3, 4], ["0", "1", "2", "3", "4"])
    at, said = choose(np.arange(12), 5)
    assert [str(int(i)) for i in at] == said  # whole numbers, at themselves


def test_names_along_x_do_not_overlap():
    """Of 26 columns 16 were named, some of them side by side."""
    axes = Figure().subplots()
    ticks.along_x(axes, np.array([f"column {n}" for n in range(26)]), 3.0)
    at = axes.get_xticks()
    assert len(at) >= 9
    assert len(set(np.diff(at))) == 1


def test_ticks_of_uneven_labels_are_labels():
    ids = np.array([3, 5, 90, 91, 400, 7000, 7001, 9000])
    at, said = choose(ids, 4)
    assert [str(ids[int(i)]) for i in at] == said
    moments = np.array(["2020-01-01"] + [f"2024-01-01T00:{k:02d}" for k in range(30)], dtype="M8[s]")
    at, said = choose(moments, 4)
    assert [format_labels(moments)[int(i)] for i in at] == said


# --- on plots, page and card --------------------------------------------------------------------------------------


def test_a_table_is_drawn_with_its_dates_and_names():
    done = quick(sensors())
    figure = done.plot()
    assert {"2024-03-02", "site 0", "site 11"} <= texts(figure)
    assert all(float(x).is_integer() for x in figure.axes[0].get_xticks())
    assert {"2024-03-02", "site 0", "site 11"} <= texts(done.plot_factors())
    few = quick(sensors(3)).plot()
    assert view.kind(quick(sensors(3))) == "lines"
    assert {"2024-03-02", "site 2"} <= texts(few)


def test_bare_indices_are_whole_numbers_of_the_tensor():
    done = quick(gappy((8, 12)))
    for axes in done.plot().axes[:3]:
        assert all(float(x).is_integer() for x in axes.get_xticks())
    figure = quick(gappy((3000, 20))).plot()  # thinned out to 400 rows
    said = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert "2500" in said or "2000" in said


@pytest.mark.parametrize("dtype", ["int64", "Int64"])
def test_a_long_table_of_whole_numbers_is_shown_as_it_comes_out(dtype):
    user, film = np.nonzero(RNG.random((12, 9)) < 0.8)
    stars = pd.Series(RNG.integers(1, 6, len(user))).astype(dtype)
    obs = tfl.Observations.from_pandas(
        pd.DataFrame({"user": user, "film": film, "stars": stars}), ["user", "film"], "stars"
    )
    done = quick(obs)
    (sheet,) = view.sheets(done)
    out = done.completed.pivot(index="user", columns="film", values="stars").to_numpy(dtype=float)
    np.testing.assert_array_equal(sheet.completed, out)
    ticks = done.plot().axes[-1].get_yticks()  # of the colour bar
    assert all(float(x).is_integer() for x in ticks)


def test_a_map_is_shown_north_up(grid):
    figure = grid.plot(count=2)
    assert {"time 2020-10", "time 2022-03", "lon", "known\n(lat)"} <= texts(figure)
    assert not any(axes.yaxis.get_inverted() for axes in figure.axes[:4])
    turned = quick(cube().isel(lat=slice(None, None, -1))).plot(count=2)
    assert all(axes.yaxis.get_inverted() for axes in turned.axes[:4])


def test_the_page_says_coordinates_as_people_do(grid, tmp_path):
    write_report(grid, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "6.6666" not in page
    assert "00:00:00" not in page
    assert ">2021<" in page  # on the axis of the factors


def test_the_page_says_settings_in_four_digits(tmp_path):
    done = tfl.complete(gappy((20, 15)), method="sptc", prior=tfl.Normal(sigma=5.881271532284113), rank=1, max_iter=2)
    write_report(done, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "5.881" in page
    assert "5.8812" not in page


def test_the_card_says_which_slice(grid):
    captions = [caption for caption, _ in thumbnails(grid)]
    assert captions == ["known, time 2021-07", "completed, time 2021-07"]
    assert captions[0] in grid._repr_html_()
