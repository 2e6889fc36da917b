"""Features of users and films: found by their labels, and of use where little or nothing is observed."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.data.observations import DataWarning
from tensorfill.io.features import with_features

USERS, FILMS = 80, 40


def ratings(seed=0, share=0.2):
    """(long table with NaN for users never seen, its truth, users, films): factors follow from the features."""
    rng = np.random.default_rng(seed)
    age, job, genre = rng.normal(size=USERS), rng.integers(0, 4, USERS), rng.integers(0, 3, FILMS)
    A = np.outer(age, rng.normal(size=2)) + rng.normal(size=(4, 2))[job] + 0.2 * rng.normal(size=(USERS, 2))
    X = A @ (rng.normal(size=(3, 2))[genre] + 0.3 * rng.normal(size=(FILMS, 2))).T
    i, j = np.nonzero(rng.random(X.shape) < share)
    new = i % 8 == 3
    y = np.where(new, np.nan, X[i, j] + 0.3 * rng.normal(size=len(i)))
    table = pd.DataFrame({"user": [f"u{k}" for k in i], "film": [f"f{k}" for k in j], "stars": y})
    users = pd.DataFrame({"age": 40 + 9 * age, "job": np.array(["cook", "smith", "baker", "miller"])[job]})
    films = pd.DataFrame({"genre": np.array(["war", "love", "fun"])[genre]})
    users.index = pd.Index([f"u{k}" for k in range(USERS)], name="user")
    films.index = pd.Index([f"f{k}" for k in range(FILMS)], name="film")
    return table, X[i, j], users, films


def complete(table, features=None, method="bayes", **kw):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "|".join((r"\d+ slices? ha", r"\d+ of \d+ labels")), DataWarning)
        return tfl.complete(table, dims=["user", "film"], value="stars", features=features, method=method, **kw)


def unseen_error(done, table, truth):
    new = table["stars"].isna().to_numpy()
    return np.sqrt(np.mean((done.at(table[["user", "film"]]) - truth)[new] ** 2))


@pytest.mark.parametrize("method", ["bayes", "auto"])
def test_users_never_seen_are_predicted_by_their_features(method):
    table, truth, users, films = ratings()
    without = unseen_error(complete(table, method=method), table, truth)
    given = {"user": users, "film": films}
    assert unseen_error(complete(table, given, method), table, truth) < 0.5 * without
    assert without > 0.8 * truth.std()


def test_users_who_are_seen_gain_too_and_noise_costs_little():
    gains, costs = [], []
    for seed in range(3):
        table, truth, users, films = ratings(seed, share=0.1)
        known = table["stars"].notna().to_numpy()
        hidden = np.random.default_rng(1).random(len(table)) < 0.3
        noise = pd.DataFrame(np.random.default_rng(2).normal(size=(USERS, 5)), index=users.index)
        part, held = table.assign(stars=table["stars"].mask(hidden)), table[hidden & known][["user", "film"]]
        plain, told, noisy = (
            np.sqrt(np.mean((complete(part, features).at(held) - truth[hidden & known]) ** 2))
            for features in (None, {"user": users, "film": films}, {"user": noise})
        )
        gains.append(told / plain)
        costs.append(noisy / plain)
    assert max(gains) < 0.7
    assert np.mean(costs) < 1.05


@pytest.mark.parametrize("form", ["shuffled", "column", "polars", "dict", "numbered"])
def test_rows_are_found_by_their_labels(form):
    table, _, users, _ = ratings()
    other = {
        "shuffled": users.sample(frac=1, random_state=3),
        "column": users.reset_index(),
        "polars": pytest.importorskip("polars").from_pandas(users.reset_index()) if form == "polars" else None,
        "dict": {"user": list(users.index), "age": users["age"].to_numpy(), "job": list(users["job"])},
        "numbered": users,
    }[form]
    short = {"draws": 8, "burn": 4}
    key = 0 if form == "numbered" else "user"
    one, two = complete(table, {"user": users}, **short), complete(table, {key: other}, **short)
    np.testing.assert_array_equal(one.full, two.full)


def test_numbers_are_standardised_and_categories_have_a_column_each():
    obs = tfl.Observations.from_dense(np.random.default_rng(0).normal(size=(20, 3)))
    frame = pd.DataFrame({"size": [1.0, 3.0] * 10, "kind": list("abcb") * 5, "yes": [True, False] * 10})
    frame.loc[0, ["size", "kind"]] = [np.nan, None]
    X = with_features(obs, {0: frame}).features["mode0"]
    assert X.shape == (20, 1 + 3 + 1)
    np.testing.assert_allclose(X[0, :4], 0)
    np.testing.assert_allclose(X[1:, 0].std(), 1, rtol=0.01)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.ptp(X[1:, 1:], axis=0), 1)


def test_columns_of_a_matrix_that_are_empty_are_predicted_by_their_features():
    table, _, users, films = ratings(share=0.5)
    wide = table.pivot(index="user", columns="film", values="stars").drop(index=[u for u in users.index[3::8]])
    truth, wide["f7"] = wide["f7"].copy(), np.nan
    done = complete_matrix(wide, {"user": users, "film": films})
    known = truth.notna()
    assert np.corrcoef(done.completed["f7"][known], truth[known])[0, 1] > 0.5
    assert done.completed.columns.equals(wide.columns)


def complete_matrix(wide, features):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return tfl.complete(wide, features=features)


def test_labels_without_features_are_told_of():
    table, _, users, _ = ratings()
    with pytest.warns(DataWarning, match="3 of 80 labels of user have no features"):
        tfl.complete(table, dims=["user", "film"], value="stars", features={"user": users[3:]}, method="bayes", draws=2)


def bad(name):
    users = ratings()[2]
    return {
        "method": ({"user": users}, {"method": "means"}, "'means' has no features"),
        "candidates": ({"user": users}, {"candidates": ["means"]}, "features are used by bayes"),
        "dim": ({"usr": users}, {}, "dimension must be one of user, film; got 'usr'"),
        "twice": ({"user": users, 0: users}, {}, "each dimension once"),
        "labels": ({"user": users.set_axis([k + 5 for k in range(USERS)])}, {}, "must be of its labels, 'u0'"),
        "repeated": ({"user": users.iloc[[0, 0, 1]]}, {}, "'u0' has several"),
        "unnamed": ({"user": users.reset_index(drop=True)}, {}, "labels of user in a column 'user' or in its index"),
        "rows": ({"user": np.zeros((4, 2))}, {}, "got 4 rows"),
        "form": ({"user": np.zeros((USERS, 2, 2))}, {}, "a row for each"),
        "type": ([users], {}, "features must be"),
    }[name]


NAMES = ["method", "candidates", "dim", "twice", "labels", "repeated", "unnamed", "rows", "form", "type"]


@pytest.mark.parametrize("name", NAMES)
def test_refusals_are_sentences(name):
    features, settings, words = bad(name)
    with pytest.raises((ValueError, TypeError), match=words):
        complete(ratings()[0], features, **{"method": "auto"} | settings)


def test_only_free_text_is_refused():
    table, _, users, _ = ratings()
    names = pd.DataFrame({"name": [f"Mr {k}" for k in range(USERS)]}, index=users.index)
    with pytest.warns(DataWarning, match="'name' of user"), pytest.raises(ValueError, match="must have numbers"):
        complete(table, {"user": names})


def test_a_mode_that_is_folded_cannot_have_features():
    T = np.random.default_rng(0).normal(size=(24, 5))
    T[3, 2] = np.nan
    with pytest.raises(ValueError, match="folded cannot have features"):
        tfl.complete(T, fold={0: 6}, features={0: np.arange(24.0)})
