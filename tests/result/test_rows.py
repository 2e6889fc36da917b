"""Rows that arrive later: filled by what a run found, in the type in which they come."""

import time

import numpy as np
import pytest

import tensorfill as tfl

pd = pytest.importorskip("pandas")


def people(rows=260, seed=0):
    """Columns that hang together, of several kinds."""
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=(2, rows))
    return pd.DataFrame(
        {
            "height": 170 + 10 * z + 3 * rng.normal(size=rows),
            "weight": 70 + 8 * z + 5 * u + 3 * rng.normal(size=rows),
            "visits": rng.poisson(np.exp(0.7 * u)),
            "city": np.where(z > 0.5, "Rome", np.where(z < -0.5, "Oslo", "Bern")),
            "share": 1 / (1 + np.exp(-u - 0.3 * rng.normal(size=rows))),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.rint(100 * z + 500), "D"),
        }
    )


def holes(table, share=0.2, seed=1):
    return table.mask(np.random.default_rng(seed).random(table.shape) < share)


@pytest.fixture(scope="module")
def run():
    truth = people()
    table = holes(truth)
    return truth, table, tfl.complete(table.iloc[:200], effort="quick")


def test_new_rows_of_a_mixed_table(run):
    truth, table, done = run
    new = table.iloc[200:][["city", "seen", *[c for c in table if c not in ("city", "seen")]]]  # in another order
    more = done.extend(new)
    out = more.completed
    assert out.index.equals(new.index)
    assert dict(out.dtypes) == {name: new[name].dtype for name in out}
    assert out.notna().all(axis=None)
    for name in new:
        known = new[name].notna()
        assert (out[name][known] == new[name][known]).all()
    gap = new["city"].isna()
    assert (out["city"] == truth["city"].iloc[200:])[gap].mean() > 0.6
    assert (out["visits"] == np.rint(out["visits"])).all()
    assert out["share"].between(0, 1).all()
    shares = more.probabilities("city")
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_it_is_as_good_as_a_run_on_all_data_and_takes_less_time(run):
    truth, table, done = run
    numbers = ["height", "weight", "share"]
    gaps = table.iloc[200:][numbers].isna().to_numpy()

    def error(frame):
        off = (frame[numbers] - truth[numbers].iloc[200:]) / truth[numbers].std()
        return np.sqrt(np.mean(off.to_numpy(dtype=float)[gaps] ** 2))

    began = time.process_time()
    whole = tfl.complete(table, effort="quick").estimate.iloc[200:]
    full = time.process_time() - began
    done.extend(table.iloc[200:])  # makes the model of rows
    began = time.process_time()
    more = done.extend(table.iloc[200:])
    assert time.process_time() - began < 0.1 * full
    assert error(more.estimate) < 1.1 * error(whole)


def test_an_answer_does_not_depend_on_the_rows_beside_it(run):
    _, table, done = run
    whole = done.extend(table.iloc[200:]).completed
    one = done.extend(table.iloc[230:231]).completed
    assert one.equals(whole.loc[[230]])


def test_columns_about_as_many_as_rows():
    """Correlations were drawn to none by 2 % whatever the table, and what was filled counted as known: 0.61."""
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(170, 4)) @ rng.normal(size=(4, 40)) + rng.normal(size=(170, 40))
        gaps = rng.random(X.shape) < 0.3
        T = np.where(gaps, np.nan, X)
        off = tfl.complete(T[:70], method="gaussian", shrink=0.1).extend(T[70:]).completed - X[70:]
        errors.append(np.sqrt(np.mean(off[gaps[70:]] ** 2)) / X.std())
    assert np.mean(errors) < 0.57


def test_arrays_of_any_number_of_modes():
    rng = np.random.default_rng(0)
    T = tfl.CP([rng.uniform(0.5, 1.5, (n, 2)) for n in (60, 6, 5)]).full() + 0.01 * rng.normal(size=(60, 6, 5))
    gone = rng.random(T.shape) < 0.2
    done = tfl.complete(np.where(gone, np.nan, T)[:50], effort="quick")
    more = done.extend(np.where(gone, np.nan, T)[50:])
    assert more.completed.shape == (10, 6, 5)
    off = (more.completed - T[50:])[gone[50:]]
    assert np.sqrt(np.mean(off**2)) < 0.3 * T.std()
    np.testing.assert_array_equal(more.completed[~gone[50:]], T[50:][~gone[50:]])


def test_new_users_of_a_long_table():
    rng = np.random.default_rng(0)
    stars = np.clip(np.rint(3 + rng.normal(size=(80, 1)) * rng.normal(size=(1, 15)) + 0.3), 1, 5)
    user, film = np.nonzero(rng.random(stars.shape) < 0.6)
    table = pd.DataFrame({"user": [f"u{k}" for k in user], "film": film, "stars": stars[user, film]})
    old = table[user < 70]
    done = tfl.complete(old, dims=["user", "film"], value="stars", effort="quick")
    out = done.extend(table[user >= 70]).completed
    assert set(out["user"]) == {f"u{k}" for k in range(70, 80)}
    assert len(out) == 10 * 15
    both = out.merge(table, on=["user", "film"])
    assert (both["stars_x"] == both["stars_y"]).all()
    with pytest.raises(ValueError, match="labels of film that the run has seen; got 99"):
        done.extend(pd.DataFrame({"user": ["new"], "film": [99], "stars": [3.0]}))


def test_polars_in_polars_out():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(holes(people()[["height", "weight", "share"]], share=0.1, seed=2))
    done = tfl.complete(frame[:200], effort="quick")
    out = done.extend(frame[200:]).completed
    assert isinstance(out, pl.DataFrame)
    assert out.null_count().sum_horizontal().item() == 0


def test_after_a_run_was_saved(tmp_path):
    table = holes(people()[["height", "weight", "visits", "share"]]).assign(empty=np.nan)
    with pytest.warns(tfl.DataWarning, match="'empty' has no value"):
        done = tfl.complete(table.iloc[:200], effort="quick")
    done.save(tmp_path / "run.npz")
    again = tfl.Completion.load(tmp_path / "run.npz")
    new = table.iloc[200:]
    pd.testing.assert_frame_equal(again.extend(new).completed, done.extend(new).completed)


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (pd.DataFrame({"height": [1.0]}), "'weight' is not among theirs, which are height. Add it"),
        (np.ones((2, 3)), r"new rows must have the shape any number x \d+; got \(2, 3\)"),
    ],
)
def test_rows_of_another_form_get_a_sentence(run, new, words):
    with pytest.raises(ValueError, match=words):
        run[2].extend(new)
