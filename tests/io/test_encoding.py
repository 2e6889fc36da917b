"""Tables with text, categories, yes and no, dates and durations: filled, and used to fill the others."""

import datetime

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.observations import DataWarning
from tensorfill.io.encoding import TableEncoder

pd = pytest.importorskip("pandas")


def people(rows=160, seed=0):
    """What hangs together: z decides the city, the date and the numbers, u the answer and the grade."""
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=(2, rows))
    return pd.DataFrame(
        {
            "city": pd.Categorical(np.where(z > 0.5, "Rome", np.where(z < -0.5, "Oslo", "Bern"))),
            "height": 170 + 10 * z + rng.normal(size=rows),
            "answer": np.where(u > 0, "yes", "no"),
            "weight": 70 + 10 * u + rng.normal(size=rows),
            "grade": pd.Categorical(np.digitize(u, [-0.7, 0.7]), ordered=True).rename_categories(
                ["low", "mid", "high"]
            ),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.rint(100 * z + 500), "D"),
            "took": pd.to_timedelta(np.rint(np.exp(u) * 60), "s"),
            "remark": [f"remark {k}" for k in range(rows)],
        }
    )


def holes(table, share=0.2, seed=1):
    return table.mask(np.random.default_rng(seed).random(table.shape) < share)


@pytest.fixture(scope="module")
def run():
    truth = people()
    table = holes(truth)
    with pytest.warns(DataWarning, match=r"column 'remark' holds no numbers and is left as it is, \d+ of its cells"):
        return truth, table, tfl.complete(table, effort="quick")


def test_gaps_are_filled_in_the_type_of_their_column(run):
    _, table, done = run
    out = done.completed
    assert dict(out.dtypes) == dict(table.dtypes)
    assert out.index.equals(table.index)
    assert list(out.columns) == list(table.columns)
    for name in table:
        known = table[name].notna()
        assert (out[name][known] == table[name][known]).all(), name
        assert out[name].notna().all() == (name != "remark")
    assert (out["seen"] == out["seen"].dt.floor("D")).all()
    assert (out["took"] >= pd.Timedelta(0)).all()


@pytest.mark.parametrize("name", ["city", "answer", "grade"])
def test_categories_are_learnt_from_the_other_columns(run, name):
    truth, table, done = run
    gaps = table[name].isna()
    right = (done.completed[name][gaps] == truth[name][gaps]).mean()
    assert right > truth[name].value_counts(normalize=True).max() + 0.1
    shares = done.probabilities(name)
    assert list(shares.columns) == sorted(truth[name].unique(), key=str) or name == "grade"
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.loc[gaps].idxmax(axis=1).astype(str) == done.completed[name][gaps].astype(str)).all()
    assert (shares.loc[~gaps].idxmax(axis=1).astype(str) == table[name][~gaps].astype(str)).all()


def test_categories_help_to_fill_the_numbers(run):
    truth, table, done = run
    gaps = table["height"].isna()
    off = (done.completed["height"] - truth["height"])[gaps]
    assert np.sqrt((off**2).mean()) < 0.8 * truth["height"].std()


def test_probabilities_of_what_is_no_category(run):
    with pytest.raises(ValueError, match="got 'height', and the categories are city, answer, grade"):
        run[2].probabilities("height")
    numbers = tfl.complete(pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [2.0, 4.0, 6.0], "c": ["x", "y", "z"]}))
    with pytest.raises(ValueError, match="probabilities are of a column of text or categories"):
        numbers.probabilities("c")


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_probabilities_of_a_column_with_gaps_of_its_own_kind(dtype, rng):
    ward = pd.Series(rng.choice(["north", "south"], 40)).astype(dtype)
    ward[:5] = None
    table = pd.DataFrame({"ward": ward, "age": rng.normal(40, 9, 40), "pulse": rng.normal(70, 9, 40)})
    shares = tfl.complete(table, method="means").probabilities("ward")
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.iloc[5:].idxmax(axis=1).tolist()) == ward[5:].tolist()


def test_a_survey_with_a_single_column_of_numbers_is_no_long_table(rng):
    sex = rng.choice(["f", "m"], 150)
    age = np.where(sex == "f", 60.0, 30.0) + rng.normal(0, 3, 150)
    answers = {"sex": sex, "ward": rng.choice(["north", "south"], 150), "smoker": rng.choice(["yes", "no"], 150)}
    truth = pd.DataFrame({**answers, "age": age})
    table = truth.mask(rng.random(truth.shape) < 0.1)
    done = tfl.complete(table, effort="quick")
    assert not done.completed.isna().any(axis=None)
    gaps = table["sex"].isna() & table["age"].notna()
    assert (done.completed["sex"] == truth["sex"])[gaps].all()
    long = pd.DataFrame({"u": list("aabb"), "i": list("xyxy"), "stars": [1.0, 2.0, 3.0, np.nan]})
    with pytest.raises(ValueError, match=r"complete\(frame, dims=\['u', 'i'\], value='stars'\)"):
        tfl.complete(long)


def test_encoding_and_back():
    table = people().drop(columns="remark")
    encoder = TableEncoder.fit(table, numeric={1, 3}, left=set())
    numbers = encoder.transform(table)
    assert [c.kind for c in encoder.columns] == ["levels", "number", "codes", "number", "codes", "moment", "moment"]
    pd.testing.assert_frame_equal(encoder.inverse_transform(numbers, table), table)


def test_intervals_are_in_the_type_of_their_column():
    table = holes(people().drop(columns="remark"))
    done = tfl.complete(table, error_bars=0.9, effort="quick")
    low, high = done.interval
    for name, column in table.items():
        gaps = column.isna()
        assert low[name][~gaps].tolist() == high[name][~gaps].tolist() == column[~gaps].tolist()
        if column.dtype.kind in "Mm":
            assert low[name].dtype == column.dtype
            assert (low[name] <= done.completed[name]).all()
            assert (done.completed[name] <= high[name]).all()
        elif column.dtype.kind not in "biuf":
            assert low[name][gaps].isna().all()
            assert high[name][gaps].isna().all()


def test_a_level_may_look_like_a_number():
    """Front, rear and four-wheel drive are "f", "r" and "4" in a well-known table of cars."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=150)
    drive = np.where(z > 0.7, "4", np.where(z < -0.7, "f", "r"))
    table = holes(pd.DataFrame({"drive": drive, "size": z + 0.2 * rng.normal(size=150), "miles": 3 - z})).assign(
        age=1.5 + z
    )
    for given in (table, table.assign(drive=table["drive"].astype("category"))):
        out = tfl.complete(given, effort="quick").completed
        assert out["drive"].isin(["4", "f", "r"]).all()
        assert out["drive"].dtype == given["drive"].dtype
    wrong = table.assign(miles=table["miles"].astype(object).where(table.index != 3, "many"))
    with pytest.raises(TypeError, match="the values of column 'miles' must be numbers; got 'many'"):
        tfl.complete(wrong)


def kinds_of_levels(z):
    """Columns that are neither plain numbers nor plain text."""
    from datetime import date, time, timedelta

    three = np.digitize(z, [-0.4, 0.4])
    days = [date(2020, 1, 1) + timedelta(days=int(50 * x)) for x in z]
    return {
        "category of numbers": pd.Series(pd.Categorical(three + 0.5)),
        "category of dates": pd.Series(pd.Categorical(pd.Timestamp("2020-01-01") + pd.to_timedelta(three, "D"))),
        "cut": pd.Series(pd.cut(z, [-9, -0.5, 0.5, 9])),
        "dates as objects": pd.Series(days, dtype=object),
        "dates of Arrow": pd.Series(days).astype("date32[pyarrow]"),
        "moments of Arrow": pd.Series(pd.to_datetime(days)).astype("timestamp[ns][pyarrow]"),
        "months": pd.Series(pd.PeriodIndex(pd.to_datetime(days), freq="M")),
        "clock times": pd.Series([time(12 + k) for k in three], dtype=object),
        "bytes": pd.Series([[b"a", b"b", b"c"][k] for k in three], dtype=object),
    }


@pytest.mark.parametrize("name", kinds_of_levels(np.zeros(1)))
def test_levels_and_moments_of_every_type_come_back(name, tmp_path):
    rng = np.random.default_rng(0)
    z = rng.normal(size=80)
    column = kinds_of_levels(z)[name]
    gaps = rng.random(80) < 0.2
    table = pd.DataFrame({"x": z + 0.1 * rng.normal(size=80), "c": column.mask(gaps)})
    done = tfl.complete(table, effort="quick")
    filled = done.completed["c"]
    assert filled.dtype == column.dtype
    assert filled.notna().all()
    assert filled[~gaps].tolist() == column[~gaps].tolist()
    assert {type(x) for x in filled} == {type(x) for x in column}
    chance = (column[gaps] == column.mode()[0]).mean()
    if column.nunique() < 5:
        assert (filled[gaps] == column[gaps]).mean() > max(chance, 0.5)
        done.save(tmp_path / "run.npz")
        later = tfl.Completion.load(tmp_path / "run.npz").extend(table.head(9))
        assert later.completed["c"].tolist() == done.extend(table.head(9)).completed["c"].tolist()


def test_what_is_neither_number_nor_level_is_left_alone():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["x", "y"])
    table.loc[3, "y"] = np.nan
    wave = pd.Series(table["x"] * 1j).mask(rng.random(40) < 0.2)
    with pytest.warns(DataWarning, match="column 'wave' holds no numbers and is left as it is"):
        done = tfl.complete(table.assign(wave=wave), effort="quick")
    assert done.completed["wave"].equals(wave)
    assert done.completed["y"].notna().all()


def test_arrow_in_arrow_out():
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pandas(holes(people()).drop(columns="remark"), preserve_index=False)
    done = tfl.complete(table, effort="quick")
    assert done.completed.schema == table.schema
    assert all(column.null_count == 0 for column in done.completed.columns)
    assert done.extend(table.slice(0, 5)).completed.schema == table.schema


def test_arrow_columns_that_its_functions_do_not_take():
    pa = pytest.importorskip("pyarrow")
    frame = holes(people()).drop(columns="remark")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    city = pa.array(frame["city"].astype(object).where(frame["city"].notna(), None), pa.string_view())
    pairs = pa.array([None if k % 7 == 0 else [k, k] for k in range(len(frame))])
    table = table.set_column(table.column_names.index("city"), "city", city).append_column("pair", pairs)
    with pytest.warns(DataWarning, match="'pair' holds no numbers and is left as it is"):
        done = tfl.complete(table, effort="quick").completed
    assert done.schema == table.schema
    assert done["city"].null_count == 0
    assert done["pair"].combine_chunks() == table["pair"].combine_chunks()


def with_moments(moments):
    """Numbers beside these moments, the fourth of which is missing."""
    moments = pd.Series(moments, dtype=None if hasattr(moments[0], "unit") else object)
    T = np.outer(np.linspace(1, 2, len(moments)), [1.0, 2.0])
    T[5, 0] = np.nan
    return pd.DataFrame(T, columns=["x", "y"]).assign(when=moments.mask(moments.index == 3))


@pytest.mark.filterwarnings("ignore::tensorfill.DataWarning")
@pytest.mark.parametrize("unit", ["s", "us", None])
def test_dates_beyond_the_year_2262(unit):
    """31 December 9999 is what tables hold for "no end": pandas counts nanoseconds no further than 2262."""
    days = [datetime.date(9999, 12, 31), datetime.date(2024, 5, 1), datetime.date(3024, 5, 2)] * 5
    table = with_moments(days if unit is None else pd.to_datetime(pd.Series(days)).dt.as_unit(unit))
    filled = tfl.complete(table, effort="quick").completed["when"]
    assert filled.dtype == table["when"].dtype
    assert filled.drop(3).equals(table["when"].drop(3))
    assert 2024 <= filled[3].year <= 9999


def test_moments_of_several_time_zones_are_filled_and_those_with_and_without_one_are_left():
    zones = [pd.Timestamp(f"2024-01-{k + 1:02d}", tz=("UTC", "Europe/Berlin")[k % 2]) for k in range(14)]
    filled = tfl.complete(with_moments(zones), effort="quick").completed["when"]
    assert filled.drop(3).tolist() == zones[:3] + zones[4:]
    assert zones[0] <= filled[3] <= zones[-1]
    half = [x.tz_localize(None) if k % 2 else x for k, x in enumerate(zones)]
    with pytest.warns(DataWarning, match="column 'when' holds no numbers and is left as it is"):
        filled = tfl.complete(with_moments(half), effort="quick").completed["when"]
    assert filled.isna().tolist() == [k == 3 for k in range(14)]


def test_arrow_columns_of_one_name():
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_arrays([pa.array([1.0, None, 2.0])] * 2, names=["a", "a"])
    with pytest.raises(ValueError, match="columns of an Arrow table must have different names; got a, a"):
        tfl.complete(table)
