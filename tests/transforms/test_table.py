"""Ordinary tables: a kind of numbers in every column, and columns that are no data."""

import re

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.observations import DataWarning

pd = pytest.importorskip("pandas")


def health(rows=150, seed=0):
    """Columns that hang together, each of its own kind, unit and domain."""
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=(2, rows))

    def noise():
        return 0.3 * rng.normal(size=rows)

    return pd.DataFrame(
        {
            "income": np.exp(9 + 1.5 * z + noise()),
            "visits": rng.poisson(np.exp(0.5 * z)).astype(float),
            "share": 1 / (1 + np.exp(-2 * (z + noise()))),
            "score %": 100 / (1 + np.exp(-3 * (u + noise()))),
            "stars": np.clip(np.rint(3 + 1.5 * z + noise()), 1, 5),
            "smoker": (u + noise() > 0).astype(float),
            "group": 1.0 + (z > 0),
            "change": 5 * u + noise(),
        }
    )


def holes(table, seed=1, share=0.25):
    return table.mask(np.random.default_rng(seed).random(table.shape) < share)


def errors(table, truth, **given):
    """Error of each column of `truth` at its gaps, in standard deviations."""
    done = tfl.complete(table, **given)
    gaps = table[truth.columns].isna()
    off = (done.estimate[truth.columns] - truth).where(gaps) / truth.std()
    return np.sqrt(np.nanmean(off.to_numpy() ** 2))


def test_columns_that_are_no_data_change_nothing():
    """An empty column took the error of the others from 0.64 to 1.81 standard deviations."""
    truth = health()
    table = holes(truth)
    plain = errors(table, truth, effort="quick")
    rng = np.random.default_rng(5)
    others = {
        "constant": 7.0,
        "customer_id": rng.permutation(len(table)) + 10_000,
        "row": np.arange(len(table)) + 1,
        "place": pd.Series(rng.permutation(len(table)) + 1.0).mask(np.arange(len(table)) % 5 == 0),
        "again": table["income"],
    }
    with pytest.warns(DataWarning, match="column 'place' holds identifiers: its gaps stay"):
        assert errors(table.assign(**others), truth, effort="quick") == pytest.approx(plain, rel=1e-9)
    with pytest.warns(DataWarning, match=r"column 'nothing' has no value: left empty"):
        with_empty = tfl.complete(table.assign(nothing=np.nan, again=table["income"]), effort="quick")
    assert with_empty.completed["nothing"].isna().all()
    assert (with_empty.completed["again"] == with_empty.completed["income"]).all()
    gaps = (with_empty.estimate[truth.columns] - truth).where(table.isna()) / truth.std()
    assert np.sqrt(np.nanmean(gaps.to_numpy() ** 2)) == pytest.approx(plain, rel=1e-9)


def test_gaps_of_an_identifier_stay_and_those_of_a_constant_get_its_value():
    table = holes(health())
    rng = np.random.default_rng(2)
    key = pd.Series(rng.permutation(len(table)) + 1000.0).mask(rng.random(len(table)) < 0.1)
    table = table.assign(user_id=key, unit=pd.Series(3.0, table.index).mask(rng.random(len(table)) < 0.1))
    with pytest.warns(DataWarning, match=r"column 'user_id' holds identifiers: its gaps stay"):
        out = tfl.complete(table, effort="quick").completed
    assert out["user_id"].equals(table["user_id"])
    assert (out["unit"] == 3.0).all()


@pytest.mark.parametrize("method", ["auto", "bayes"])
def test_nothing_leaves_the_domain_of_its_column(method):
    table = holes(health(), share=0.4)
    bars = {"error_bars": 0.9, "effort": "quick"} if method == "auto" else {}
    done = tfl.complete(table, method=method, **bars)
    tables = [done.estimate, *done.interval, done.completed, *(done.sample(3) if method == "bayes" else ())]
    for out in tables:
        assert (out["income"] >= 0).all()
        assert (out["visits"] >= 0).all()
        assert out["share"].between(0, 1).all()
        assert out["score %"].between(0, 100).all()
        assert out["stars"].between(1, 5).all()
        assert out["smoker"].between(0, 1).all()
        assert out["group"].between(1, 2).all()
    assert (done.estimate["income"] > 0).all()
    low, high = done.interval
    gaps = table.isna()
    assert ((low <= done.estimate) & (done.estimate <= high)).where(gaps, True).all(axis=None)
    for name in ("visits", "stars", "smoker", "group"):
        assert (done.completed[name] % 1 == 0).all(), name
    assert (done.estimate["stars"] % 1 != 0).any()


def test_facts_of_every_column():
    done = tfl.complete(holes(health()), effort="quick")
    kinds = {c.name: c.kind for c in done.columns}
    assert kinds == {
        "income": "amount",
        "visits": "count",
        "share": "proportion",
        "score %": "percentage",
        "stars": "integer levels",
        "smoker": "yes/no",
        "group": "integer levels",
        "change": "continuous",
    }


def test_a_run_on_a_table_is_saved_and_loaded(tmp_path):
    done = tfl.complete(holes(health()).assign(again=7.0), effort="quick")
    done.save(tmp_path / "run.npz")
    again = tfl.Completion.load(tmp_path / "run.npz")
    assert np.array_equal(again.full, done.full)
    assert np.array_equal(np.asarray(again.completed), np.asarray(done.completed))


def test_how_good_it_is_in_standard_deviations_beside_the_column_means():
    done = tfl.complete(holes(health()), effort="quick")
    assert re.search(r"typical error 0\.\d+ SD \(column means: [01](\.\d+)? SD\)", done.quality)
    assert re.search(r"income: 0\.\d+ SD \(column mean: [\d.]+ SD\)", repr(done))
    assert {c.name for c in done.by_column} == set(health().columns)


def test_an_answer_no_better_than_the_column_means_is_the_column_means():
    rng = np.random.default_rng(0)
    whole = rng.normal(size=200)
    noise = {"a": rng.normal(size=200), "b": 1e4 * rng.normal(size=200), "c": rng.poisson(9.0, 200)}
    table = holes(pd.DataFrame(noise)).assign(d=whole)
    done = tfl.complete(table, effort="quick")
    assert re.search(r"no better than the column means \([\d.]+ SD\), so the column means were used", done.quality)
    np.testing.assert_allclose(done.estimate["a"], table["a"].mean())
    assert all(c.error == c.means for c in done.by_column)
