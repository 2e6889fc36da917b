"""time=, max_gap= and horizon= of complete: what stays a gap, what is still to come, in the type of the data."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.cli.job import Job
from tensorfill.data.observations import Observations
from tensorfill.data.timeaxis import long_gaps
from tensorfill.io.horizon import next_labels
from tensorfill.methods.base import Run
from tensorfill.methods.tabular.interpolation import Interpolation
from tensorfill.show import view
from tensorfill.show.report import write_report
from tensorfill.terminal import UserError
from tensorfill.transforms import Flattened

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")

QUICK = {"method": "bayes", "rank": 2, "draws": 6, "burn": 4}
WEEKS, HOURS = 4, 6


def days(seed=0):
    """Three sensors x 28 days x 6 hours, weekends twice as strong."""
    rng = np.random.default_rng(seed)
    hour = 2 + np.sin(2 * np.pi * np.arange(HOURS) / HOURS)
    day = np.tile([1, 1, 1, 1, 1, 2, 2], WEEKS)
    T = np.einsum("s,d,h->sdh", [1.0, 2.0, 3.0], day, hour) + 0.02 * rng.normal(size=(3, 7 * WEEKS, HOURS))
    T[rng.random(T.shape) < 0.1] = np.nan
    return T


# --- gaps that stay --------------------------------------------------------------------------------------------------


def test_a_gap_goes_over_from_one_day_into_the_next():
    observed = np.ones((2, 3, 4), dtype=bool)
    observed[0, 0, 3] = observed[0, 1, :2] = False  # three steps, in two days
    observed[1, 2, 2:] = False  # two, at the end
    assert long_gaps(observed, (1, 2), 2).sum() == 3
    assert long_gaps(observed, (1, 2), 2)[0, 1, :2].all()
    assert not long_gaps(observed, (1, 2), 3).any()
    assert not long_gaps(observed, (2,), 2).any()
    np.testing.assert_array_equal(long_gaps(observed, (1, 2), 1), ~observed)
    turned = long_gaps(
        observed.transpose(2, 0, 1), (2, 0), 2
    )  # hours first: the order named counts, not that of memory
    np.testing.assert_array_equal(turned.transpose(1, 2, 0), long_gaps(observed, (1, 2), 2))


def test_long_gaps_of_an_array_stay_and_short_ones_are_filled(tmp_path):
    T = days()
    T[0, 3, 4:] = T[0, 4, :3] = np.nan
    done = tfl.complete(T, dims=("s", "day", "hour"), time=("day", "hour"), max_gap=4, **QUICK)
    gone = np.isnan(done.completed)
    assert gone[0, 3, 4:].all()
    assert gone[0, 4, :3].all()
    assert 5 <= gone.sum() < np.isnan(T).sum()
    known = ~np.isnan(T)
    np.testing.assert_array_equal(done.completed[known], T[known])
    assert np.isfinite(done.estimate).all()
    assert all(np.isnan(one[gone]).all() for one in done.sample(2))
    done.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(tfl.Completion.load(tmp_path / "run.npz").completed, done.completed)


def test_whole_numbers_are_masked_where_a_gap_stays():
    T = np.arange(40).reshape(4, 10) % 7
    mask = np.ones(T.shape, dtype=bool)
    mask[1, 2:7] = mask[2, 5] = False
    done = tfl.complete(T, mask=mask, time=1, max_gap=2, method="halrtc", max_iter=5)
    assert done.completed.dtype == T.dtype
    assert done.completed.mask.sum() == 5
    assert done.completed.mask[1, 2:7].all()


def test_pandas_and_xarray_know_which_mode_has_dates():
    frame = pd.DataFrame(
        days()[:, :, 0].T, index=pd.date_range("2024-01-01", periods=28, name="date"), columns=list("abc")
    )
    frame.iloc[5:12, 1] = np.nan
    filled = tfl.complete(frame, max_gap=5, **QUICK).completed
    assert filled.iloc[5:12, 1].isna().all()
    assert filled.isna().sum().sum() == 7
    da = xr.DataArray(frame.to_numpy(), coords={"date": frame.index, "who": list("abc")}, dims=("date", "who"))
    assert int(tfl.complete(da, max_gap=5, **QUICK).completed.isnull().sum()) == 7
    long = frame.stack(future_stack=True)
    assert tfl.complete(long, max_gap=5, time="date", **QUICK).completed.isna().sum() == 7
    table = long.rename("y").rename_axis(["date", "who"]).reset_index().dropna()
    done = tfl.complete(Observations.from_pandas(table, ["date", "who"], "y"), max_gap=5, **QUICK)
    assert done.completed["y"].isna().sum() == 7
    whole = (10 * frame).round().astype("Int64")
    assert tfl.complete(whole, max_gap=5, **QUICK).completed["b"].isna().sum() == 7


def test_a_plain_array_has_the_gaps_that_stay():
    mask = np.ones((3, 12), dtype=bool)
    mask[0, 2:7] = mask[1, 5] = False
    counts = np.arange(36).reshape(3, 12)
    done = tfl.complete(counts, mask=mask, time=1, max_gap=3, method="halrtc", max_iter=5)
    plain = np.asarray(done)
    assert plain.dtype == np.float64
    assert np.isnan(plain[0, 2:7]).all()
    assert np.isnan(plain).sum() == 5
    assert (plain[mask] == counts[mask]).all()
    assert np.asarray(done, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="gaps that stay have no value of type int64"):
        np.asarray(done, dtype=np.int64)
    mask[0, 2:6] = True
    assert np.asarray(tfl.complete(counts, mask=mask, time=1, max_gap=3, method="halrtc", max_iter=5)).dtype.kind == "i"


@pytest.mark.parametrize("shape", [(3, 40), (12, 14), (3, 9, 8)])  # lines, a matrix, slices
def test_pictures_show_the_gaps_that_stay(shape, tmp_path):
    rng = np.random.default_rng(0)
    T = rng.normal(size=shape).cumsum(axis=1)
    T[0, 2:7] = np.nan
    T[1, 1] = np.nan
    done = tfl.complete(T, time=1, max_gap=2, error_bars=0.9, **QUICK)
    for sheet in view.sheets(done, 4):
        own = done.unfilled[tuple(sheet.coordinates.T)].reshape(sheet.given.shape)
        assert (np.isnan(sheet.completed) == own).all()
        assert not sheet.filled[own].any()
        assert np.isfinite(view.colour_ranges([sheet])).all()
    assert done.unfilled.any()
    done.plot().savefig(tmp_path / "a.png")
    write_report(done, tmp_path / "a.html", truth=np.nan_to_num(T))
    assert (tmp_path / "a.html").stat().st_size > 1000


# --- what is to come -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bayes", "auto"])
def test_next_week_is_like_those_before(method):
    few = {"rank": 4, "draws": 20, "burn": 20} if method == "bayes" else {"candidates": ["means", "bayes"]}
    T = days()
    done = tfl.complete(T, dims=("s", "day", "hour"), time=("day", "hour"), horizon=7, method=method, **few)
    assert done.completed.shape == (3, 35, HOURS)
    truth = np.nanmean(T.reshape(3, WEEKS, 7, HOURS), axis=1)
    assert np.sqrt(np.mean((done.completed[:, 28:] - truth) ** 2)) < 0.15 * truth.std()
    np.testing.assert_array_equal(done.completed[:, :28][~np.isnan(T)], T[~np.isnan(T)])


def test_labels_go_on_in_the_type_of_the_data():
    index = pd.date_range("2024-01-31", periods=28, freq="ME", name="month", tz="Europe/Berlin")
    frame = pd.DataFrame(days()[:, :, 0].T, index=index.tz_localize(None), columns=list("abc"))
    done = tfl.complete(frame, horizon=2, **QUICK)
    assert done.completed.index.name == "month"
    assert [str(x.date()) for x in done.completed.index[-2:]] == ["2026-05-31", "2026-06-30"]
    low, high = done.interval
    assert (low.iloc[-2:] < high.iloc[-2:]).all().all()
    assert tfl.complete(frame.T, horizon=2, **QUICK).completed.columns[-1] == pd.Timestamp("2026-06-30")
    periods = frame.set_axis(frame.index.to_period("M"))
    assert str(tfl.complete(periods, horizon=1, time=0, **QUICK).completed.index[-1]) == "2026-05"
    daily = frame.set_axis(pd.date_range("2024-03-20", periods=28, freq="24h", tz="Europe/Berlin"))
    assert str(tfl.complete(daily, horizon=1, **QUICK).completed.index[-1].tz) == "Europe/Berlin"
    da = xr.DataArray(
        frame.to_numpy(), dims=("t", "who"), coords={"t": np.arange(28) * 0.5, "year": ("t", np.ones(28))}
    )
    out = tfl.complete(da, time="t", horizon=3, **QUICK).completed
    assert out.t.to_numpy()[-3:].tolist() == [14.0, 14.5, 15.0]
    assert "year" not in out.coords
    table = frame.stack(future_stack=True).rename("y").rename_axis(["month", "who"]).reset_index().dropna()
    done = tfl.complete(Observations.from_pandas(table, ["month", "who"], "y"), horizon=1, **QUICK)
    assert len(done.completed) == 29 * 3
    assert done.completed["month"].max() == pd.Timestamp("2026-05-31")


def test_horizon_is_no_gap_that_is_too_long():
    T = np.where(np.arange(12) > 8, np.nan, days()[:, :12, 0])
    done = tfl.complete(T, time=1, horizon=4, max_gap=2, **QUICK)
    assert np.isnan(done.completed[:, 9:12]).all()
    assert np.isfinite(done.completed[:, 12:]).all()
    T = days()[:, :12, 1]
    masked = np.ma.MaskedArray(np.nan_to_num(10 * T).astype(int), mask=np.isnan(T))
    out = tfl.complete(masked, time=1, horizon=2, **QUICK).completed
    assert isinstance(out, np.ma.MaskedArray)
    assert out.shape == (3, 14)
    assert out.dtype == masked.dtype


def test_a_folded_axis_grows_by_its_own_steps():
    T = days().reshape(3, -1)
    done = tfl.complete(T, dims=("s", "t"), time="t", fold={"t": HOURS}, horizon=HOURS, **QUICK)
    assert done.completed.shape == (3, 29 * HOURS)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(["2024-01-01", "2024-01-03"], "M8[D]"), "2024-01-05"),
        (np.array(["2024-01-01", "2024-04-01", "2024-07-01"], "M8[D]"), "2024-10-01"),
        (np.array([3, 2, 1]), "0"),
    ],
)
def test_labels_go_on_by_the_rule_that_is_seen(labels, expected):
    assert str(next_labels(pd.Index(labels), 1, "day")[0]).removesuffix(" 00:00:00") == expected


@pytest.mark.parametrize(
    "labels", [np.array(["2024-01-01", "2024-01-03", "2024-01-04"], "M8[D]"), np.array([1.0, 2.0, 4.0]), ["a", "b"]]
)
def test_labels_without_a_rule_do_not_go_on(labels):
    with pytest.raises(ValueError, match="even steps"):
        next_labels(pd.Index(labels), 1, "day")


def sensors(index):
    """Two sensors with a daily rhythm and gaps, at these moments."""
    wave = np.sin(2 * np.pi * np.arange(len(index)) / 24)
    T = np.stack([wave, 2 * wave + 1], axis=1) + 0.01 * np.random.default_rng(1).normal(size=(len(index), 2))
    T[::7, 0] = T[3::9, 1] = np.nan
    return pd.DataFrame(T, index=index, columns=["a", "b"])


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2024-03-08", periods=72, freq="h", tz="America/New_York"),  # an hour is left out in spring
        pd.date_range("2024-11-01", periods=72, freq="h", tz="America/New_York"),  # and comes twice in autumn
        pd.date_range("2024-03-01", periods=40, freq="D", tz="America/New_York"),
        pd.date_range("2024-03-01", periods=40, freq="B"),
        pd.timedelta_range("1h", periods=48, freq="30min"),
        pd.period_range("2024-01", periods=36, freq="M"),
    ],
    ids=["spring", "autumn", "days", "business days", "durations", "periods"],
)
def test_horizon_goes_on_as_people_count_time(index):
    frame = sensors(index)
    longer = index.append(type(index)([index[-1] + k * index.freq for k in (1, 2, 3)]))
    out = tfl.complete(frame, horizon=3, **QUICK).completed
    assert out.index.equals(longer)
    assert out.index.dtype == index.dtype
    assert tfl.complete(frame, max_gap=3, **QUICK).completed.notna().all(axis=None)  # it knows that this is time
    if index.inferred_type != "period":
        when = frame.rename_axis("when").reset_index()
        assert list(tfl.complete(when, horizon=3, **QUICK).completed["when"]) == list(longer)


@pytest.mark.parametrize(
    ("index", "gone", "absent"),
    [
        (pd.date_range("2024-01-01", periods=40, freq="h"), 20, "2024-01-01 20:00:00 had"),
        (pd.date_range("2024-03-09", periods=60, freq="h", tz="America/New_York"), 30, "2024-03-10 07:00"),
        (pd.date_range("2024-01-01", periods=30, freq="MS"), 25, "2026-02-01 00:00:00 had"),
        (pd.date_range("2024-01-01", periods=40), [8, 30], "2024-01-09 00:00:00 and 1 more had"),
        (pd.date_range("2024-01-01", periods=40, freq="B"), [8, 30], "2024-01-11 00:00:00 and 1 more had"),
        (pd.timedelta_range("0h", periods=40, freq="h"), 30, "1 days 06:00:00 had"),
        (pd.period_range("2024-01", periods=40, freq="M"), 30, "2026-07 had"),
    ],
    ids=["hour", "spring", "month", "days", "business days", "durations", "periods"],
)
def test_steps_without_a_row_are_added_told_and_filled(index, gone, absent):
    frame = sensors(index.delete(gone))
    whole = frame.reindex(index)
    expected = tfl.complete(whole, horizon=2, **QUICK).completed
    with pytest.warns(tfl.DataWarning, match=f"the step {absent}.* no row; empty ones were added") as told:
        out = tfl.complete(frame, horizon=2, **QUICK).completed
    assert len(told) == 1
    pd.testing.assert_frame_equal(out, expected, check_freq=False)


def test_steps_without_a_row_are_added_in_every_kind_of_data():
    index = pd.date_range("2024-01-01", periods=40, freq="h", name="when").delete([8, 30])
    frame = sensors(index)
    kinds = {
        "texts": frame.set_axis(index.astype(str)).rename_axis("when").reset_index(),
        "column": frame.reset_index(),
        "long": frame.stack(future_stack=True).rename("y").rename_axis(["when", "who"]),
        "xarray": xr.DataArray(frame, dims=("when", "who")),
        "dataset": xr.Dataset.from_dataframe(frame),
    }
    with pytest.warns(tfl.DataWarning, match="2024-01-01 08:00:00 and 1 more had no row"):
        out = {kind: tfl.complete(data, horizon=2, time="when", **QUICK).completed for kind, data in kinds.items()}
    assert list(out["texts"]["when"].iloc[[8, 31, -1]]) == [f"2024-01-{x}:00:00" for x in ("01 08", "02 07", "02 17")]
    for kind, table in out.items():
        assert np.isfinite(np.asarray(table if kind != "dataset" else table.to_array())[..., 1:].astype(float)).all()
    assert len(out["column"]) == len(out["xarray"]) == out["dataset"].sizes["when"] == len(out["long"]) / 2 == 42


def test_an_hour_that_comes_twice_can_be_folded():
    frame = sensors(pd.date_range("2024-11-01", periods=96, freq="h", tz="America/New_York"))
    assert tfl.complete(frame, fold={"row": ("day", "hour")}, **QUICK).completed.notna().all(axis=None)
    spans = frame.set_axis(pd.timedelta_range("0h", periods=96, freq="h"))
    assert tfl.complete(spans, fold={"row": ("day", "hour")}, **QUICK).completed.notna().all(axis=None)


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_polars_datetimes_are_time(zone):
    pl = pytest.importorskip("polars")
    frame = sensors(pd.date_range("2024-03-09", periods=48, freq="h", tz=zone)).rename_axis("when").reset_index()
    frame.loc[10:20, "a"] = np.nan
    moments = pl.Series("when", (frame["when"] if zone is None else frame["when"].dt.tz_convert(None)).to_numpy())
    if zone is not None:
        moments = moments.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    given = pl.DataFrame([moments, pl.Series("a", frame["a"]).fill_nan(None), pl.Series("b", frame["b"])])
    out = tfl.complete(given, horizon=2, max_gap=6, **QUICK).completed
    assert out.schema == given.schema
    assert out["when"][-2:].to_list() == [given["when"][-1] + k * (given["when"][1] - given["when"][0]) for k in (1, 2)]
    assert out["a"].null_count() == 12  # row 21 was empty before
    assert out["b"].null_count() == 0
    assert tfl.complete(given, fold={"when": ("day", "hour")}, **QUICK).completed.shape == given.shape


# --- time itself -----------------------------------------------------------------------------------------------------


def test_midnight_is_bridged_where_time_is_named():
    """A wave that is highest at midnight, and a gap around it: along the hours of one day alone nothing is known."""
    t = np.arange(20 * HOURS).reshape(20, HOURS)
    X = np.cos(2 * np.pi * t / 37)[None] * np.array([1.0, 2.0])[:, None, None]
    mask = np.ones(X.shape, dtype=bool)
    mask[0, 5, 4:] = mask[0, 6, :2] = False
    obs = Observations.from_dense(X, mask, dims=("s", "day", "hour"))
    timeline = Flattened(Interpolation(mode=1), (1, 2))
    assert timeline.apply(obs)[0].shape == (2, 20 * HOURS)
    found = timeline.fit(obs, Run()).answer.full()
    assert np.abs(found - X)[~mask].max() < 0.2
    done = tfl.complete(X, mask=mask, time=(1, 2), candidates=["means", "interpolation", "smoother"])
    assert done.tried[0].name.endswith("mode1 x mode2 as one axis")


def test_rings_change_the_draws_of_bayes():
    T = days()
    plain, ring = (tfl.complete(T, smooth=[2], **QUICK, **kw).estimate for kw in ({}, {"time": (1, 2)}))
    assert not np.array_equal(plain, ring)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"max_gap": 0}, "max_gap must be a whole number of steps >= 1; got 0"),
        ({"horizon": 2.5}, "horizon must be a whole number of steps >= 1; got 2.5"),
        ({"max_gap": 3}, "max_gap needs to know which modes are time, and no mode has dates: give time="),
        ({"horizon": 3}, "horizon needs to know which modes are time"),
        ({"time": "day"}, "time of one mode, 'day', says nothing by itself"),
        ({"time": ("day", "day")}, "time must name each mode once"),
        ({"time": ()}, "time must name modes from the outer to the inner"),
        ({"time": ("day", "hours")}, "dimension must be one of s, day, hour; got 'hours'"),
        ({"time": ("day", "hour"), "method": "halrtc"}, 'time is for method "auto" and "bayes"; got \'halrtc\''),
        ({"time": "day", "horizon": 2, "method": "halrtc"}, 'horizon is for method "auto" and "bayes"'),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(given, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(").replace(")", r"\)")):
        tfl.complete(days(), dims=("s", "day", "hour"), **given)


def test_labels_without_a_rule_are_refused():
    frame = pd.DataFrame(days()[:, :4, 0], columns=list("abdg"))
    with pytest.raises(ValueError, match=r"horizon needs labels along column that go on by even steps.* end with g"):
        tfl.complete(frame, time=1, horizon=1, **QUICK)


# --- the command line ------------------------------------------------------------------------------------------------


def test_a_forecast_is_written_as_the_file_was_read(tmp_path):
    """Across daylight saving, with semicolons, commas and two digits, in wide and in long form; an hour is absent."""
    hours = pd.date_range("2024-03-09", periods=48, freq="h", tz="America/New_York")
    table = sensors(hours).round(2).set_axis(pd.Index(hours.astype(str), name="when")).drop(index=str(hours[20]))
    for form in ("wide", "long"):
        given, out = tmp_path / f"{form}.csv", tmp_path / f"{form}-out.csv"
        long = table.reset_index().melt("when", var_name="who", value_name="y").dropna()
        (table.reset_index() if form == "wide" else long).to_csv(given, sep=";", decimal=",", index=False)
        names = {} if form == "wide" else {"dims": "when,who", "value": "y"}
        job = Job(str(given), str(out), method="bayes", rank=1, horizon=2, quiet=True, **names)
        assert job.run() == 0
        lines = out.read_text().splitlines()
        whole = {line for line in given.read_text().splitlines() if ";;" not in line and line[-1] != ";"}
        assert whole <= set(lines)
        assert len(lines) == 1 + (50 if form == "wide" else 100)
        assert lines[-1].startswith(str(hours[-1] + 2 * hours.freq) + ";")
        digits = [cell.partition(",")[2] for line in lines[1:] for cell in line.split(";")[1:] if "," in cell]
        assert max(map(len, digits)) == 2


def test_the_command_line_leaves_long_gaps_and_goes_on(tmp_path):
    T = days()[:, :, 0].T
    T[4:9, 1] = np.nan
    lines = [",".join("" if np.isnan(x) else f"{x:.2f}" for x in row) for row in T]
    dates = (np.datetime64("2024-01-01") + np.arange(28)).astype(str)
    given, out = tmp_path / "in.csv", tmp_path / "out.csv"
    given.write_text("date,a,b,c\n" + "\n".join(f"{d},{line}" for d, line in zip(dates, lines, strict=True)) + "\n")
    job = Job(str(given), str(out), method="bayes", rank=1, max_gap=4, horizon=2, quiet=True)
    assert job.run() == 0
    rows = [line.split(",") for line in out.read_text().splitlines()]
    assert [row[0] for row in rows[-2:]] == ["2024-01-29", "2024-01-30"]
    assert [row[0] for row in rows[1:] if row[2] == ""] == dates[4:9].tolist()
    assert all(x for row in rows[-2:] for x in row)
    known = [(k, n) for k, line in enumerate(lines) for n, x in enumerate(line.split(",")) if x]
    assert all(float(rows[k + 1][n + 1]) == float(lines[k].split(",")[n]) for k, n in known)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"horizon": 2, "out": "-"}, "--horizon writes a new file, whose form '-' does not say"),
        ({"max_gap": 0}, "--max-gap must be a whole number of steps >= 1; got 0"),
        ({"max_gap": 2}, "--max-gap needs to know which modes are time, and no mode has dates: give --time, of mode0"),
        ({"time": "a,b", "max_gap": 2}, "dimension must be one of mode0, mode1; got 'a'"),
        ({"time": "1", "max_gap": 2, "out": "x.png"}, "holds whole numbers, and --max-gap leaves gaps"),
    ],
)
def test_the_command_line_says_what_makes_no_sense(given, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", days()[0])
    with pytest.raises(UserError, match=sentence):
        Job(**{"source": "t.npy", "out": "o.npy", "quiet": True, **given}).run()
