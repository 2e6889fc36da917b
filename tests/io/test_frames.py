"""Tables as people have them: labels in order, text and dates beside the numbers, mistakes told in their words."""

import warnings

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.observations import DataWarning
from tensorfill.io.formats.steps import step_note

pd = pytest.importorskip("pandas")

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug"]


def sales(kind="pandas"):
    rows = [(m, s, 100 + 30 * i + k) for k, m in enumerate(MONTHS) for i, s in enumerate("xyz") if (k + i) % 5]
    table = pd.DataFrame(rows, columns=["month", "shop", "sales"])
    return table if kind == "pandas" else pytest.importorskip("polars").from_pandas(table)


def weather():
    """Dates and a text beside two columns of numbers."""
    wave = np.arange(40) / 5
    table = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=40), "a": np.sin(wave), "sky": "grey"})
    table["b"] = np.cos(wave)
    table.loc[10:13, "a"] = np.nan
    table.loc[20, "b"] = np.nan
    return table


def quick(data, **given):
    return tfl.complete(data, effort="quick", **given)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_words_stay_in_the_order_in_which_they_come(kind):
    """They were sorted: April, August, December."""
    done = quick(sales(kind), dims=["month", "shop"], value="sales").completed
    assert list(dict.fromkeys(done["month"])) == MONTHS


def test_categories_keep_their_order_and_their_type():
    shuffled = sales().astype({"month": pd.CategoricalDtype(MONTHS, ordered=True)}).sample(frac=1, random_state=0)
    done = quick(shuffled, dims=["month", "shop"], value="sales").completed
    assert list(dict.fromkeys(done["month"])) == MONTHS
    assert done["month"].dtype == shuffled["month"].dtype


def test_numbers_written_as_text_are_in_their_order():
    table = pd.DataFrame({"k": ["10", "9", "8", "10", "9"], "m": list("aabbb"), "v": [1.0, 2, 3, 4, 5]})
    assert list(dict.fromkeys(quick(table, dims=["k", "m"], value="v").completed["k"])) == ["8", "9", "10"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_mistakes_in_a_long_table(kind):
    table = sales(kind)
    again = pd.concat([sales(), sales().head(1)])
    again = again if kind == "pandas" else pytest.importorskip("polars").from_pandas(again)
    with pytest.raises(ValueError, match=r"columns of this table are month, shop, sales; got 'months'\. Did you mean"):
        tfl.complete(table, dims=["months", "shop"], value="sales")
    with pytest.raises(ValueError, match=r"one row; \(month=Jan, shop=y\) has several, 0 and 20.*mean first: .*group"):
        tfl.complete(again, dims=["month", "shop"], value="sales")


def test_a_number_that_means_missing_is_asked_about_in_a_long_table():
    table = sales().assign(sales=lambda t: np.where(t.index % 6 == 0, -999, t["sales"]))
    with pytest.warns(DataWarning, match="4 values are -999: missing"):
        quick(table, dims=["month", "shop"], value="sales")


def test_text_and_dates_beside_numbers_are_carried_along():
    table = weather()
    done = quick(table)
    assert done.observations.dims == ("date", "column")
    out = done.completed
    assert list(out.columns) == list(table.columns)
    assert (out[["date", "sky"]] == table[["date", "sky"]]).all(axis=None)
    assert out.notna().all(axis=None)
    assert abs(out["a"] - np.sin(np.arange(40) / 5)).max() < 0.2
    assert quick(table, max_gap=2).completed.isna().sum().to_dict() == {"date": 0, "a": 4, "sky": 0, "b": 0}
    with pytest.raises(TypeError, match=r"horizon cannot continue.*set_index\('date'\)"):
        quick(table, horizon=2)


def test_a_name_that_looks_like_a_number_is_a_name():
    """Codes of airports, 0E8 among them, ended in "must be numbers; got '00M'"."""
    codes = [f"{n:02}{letter}" for n in range(10) for letter in "ABCE"]
    table = weather().assign(iata=[code.replace("07E", "0E8") for code in codes])
    assert list(quick(table).completed["iata"]) == list(table["iata"])


def test_cells_without_a_text_are_told():
    with pytest.warns(DataWarning, match="column 'sky' holds no numbers and is left as it is, 1 of its cells empty"):
        quick(weather().assign(sky=["grey"] * 39 + [None]))


def test_dates_as_text_are_told_how_to_become_dates():
    """A file read by pandas has them as text: their gaps stayed, and the note said nothing of dates."""
    n = np.arange(40)
    table = pd.DataFrame({"x": np.where(n == 7, np.nan, n % 7), "y": n % 5, "kind": list("ab") * 20})
    table["when"] = pd.Series(pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")).mask(n % 9 == 4)
    advice = r"holds dates as text .* 4 of .* Make them dates: frame\['when'\] = pandas\.to_datetime"
    with pytest.warns(DataWarning, match=advice):
        quick(table)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (lambda: sales(), r"If each row is one entry: complete\(frame, dims=\['month', 'shop'\], value='sales'\)"),
        (lambda: pd.DataFrame({"a": [1, "n/a", 3], "b": [1.0, 2, 3]}), "column 'a' must be numbers; got 'n/a'"),
        (lambda: pd.DataFrame({"a": ["1", "2"], "b": [1.0, 2]}), "column 'a' must be numbers; got '1'"),
        (lambda: pd.DataFrame({"a": ["no", "yes"], "b": ["so", "so"]}), "none of the columns holds numbers"),
    ],
)
def test_tables_that_are_no_matrix(table, words):
    with pytest.raises((TypeError, ValueError), match=words):
        tfl.complete(table())


def test_a_column_with_index_levels_is_a_tensor():
    """As a matrix of one column nothing of it was missing."""
    given = sales().set_index(["month", "shop"])
    done = quick(given).completed
    assert list(done.columns) == ["sales"]
    assert done.index.names == ["month", "shop"]
    assert len(done) == 24


def test_nothing_missing_is_told():
    with pytest.warns(DataWarning, match="nothing is missing: .*NaN, or give mask="):
        tfl.complete(np.arange(12.0).reshape(3, 4) ** 2)
    table = pd.DataFrame({"shop": list("aabbcc"), "week": [1, 2, 1, 2, 1, 3], "sold": [3, 5, 2, 4, 6, 7]})
    with pytest.warns(DataWarning, match=r"each row is one entry: dims=\['shop', 'week'\], value='sold'"):
        tfl.complete(table)


def test_absent_rows_are_told_but_not_weekends():
    table = weather().set_index("date").drop(columns="sky")
    with pytest.warns(DataWarning, match="date: 5 steps, .* and others, have no row; absent rows"):
        quick(table.drop(table.index[20:25]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(table.set_axis(pd.bdate_range("2024-01-01", periods=40)))
    days = pd.bdate_range("2024-01-01", periods=20)
    assert step_note("day", [str(d.date()) for d in days]) is None
    assert step_note("day", [str(d.date()) for d in days.delete(7)]) is not None


@pytest.mark.parametrize("word", ["2.5", "N/A"])
def test_numbers_as_text_are_told_how_to_become_numbers(word):
    """It said to correct '-0.66', or to mark it as missing."""
    table = pd.DataFrame({"a": [1.0, None, 3.0], "b": [4.0, 5.0, 6.0], "s": [word, "-0.66", "1"]})
    hint = r"frame\['s'\] = pandas.to_numeric\(frame\['s'\], errors='coerce'\)"
    with pytest.raises(TypeError, match=hint):
        tfl.complete(table)
    with pytest.raises(TypeError, match=hint):
        tfl.complete(table.assign(a=[1, 2, 3]), dims=["a", "b"], value="s")
