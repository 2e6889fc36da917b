"""TensorImputer: scikit-learn's own checks, and what an imputer that keeps its factors must hold."""

import pickle

import numpy as np
import pandas as pd
import pytest
from problems import make_problem

from tensorfill.data import samples

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tensorfill.sklearn import TensorImputer

QUICK = {"rank": 2, "prior": "normal", "smooth": {}, "max_iter": 20}


@parametrize_with_checks(
    [TensorImputer(rank=1, smooth={}, max_iter=2), TensorImputer(effort="quick")]
)  # none is expected to fail
@pytest.mark.filterwarnings("ignore:Skipping check check_array_api_input")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def matrix():
    """(samples, features) of rank 2, a little noise: (complete, with NaN)."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0.5, 1.5, (60, 2)) @ rng.uniform(0.5, 1.5, (2, 8)) + 0.01 * rng.standard_normal((60, 8))
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.2] = np.nan
    return X, gaps


@pytest.fixture(scope="module")
def fitted(matrix):
    return TensorImputer(**QUICK).fit(matrix[1][:40])


def test_gaps_are_filled_and_known_entries_kept(matrix, fitted):
    X, gaps = matrix
    before = gaps.copy()
    filled = fitted.transform(gaps)
    np.testing.assert_array_equal(gaps, before)
    known = ~np.isnan(gaps)
    np.testing.assert_array_equal(filled[known], X[known])
    new = ~known[40:]  # samples never seen in fit
    assert np.sqrt(np.mean((filled[40:] - X[40:])[new] ** 2)) < 0.1 * X.std()


def test_rows_of_the_training_data_are_recovered(matrix):
    X, gaps = matrix
    fit = TensorImputer(**QUICK)
    together = fit.fit_transform(gaps)
    np.testing.assert_array_equal(together, fit.transform(gaps))
    gap = np.isnan(gaps)
    for other in (X, fit.completion_.completed):
        assert np.sqrt(np.mean((together - other)[gap] ** 2)) < 0.15 * X.std()


def test_the_answer_for_a_sample_does_not_depend_on_the_others(matrix, fitted):
    gaps = matrix[1]
    whole = fitted.transform(gaps)
    np.testing.assert_array_equal(fitted.transform(gaps[::-1])[::-1], whole)
    for i in (0, 17, 59):
        np.testing.assert_array_equal(fitted.transform(gaps[i : i + 1])[0], whole[i])


def test_rows_may_be_folded_into_tensors_or_given_as_tensors():
    counts, mask = samples.metro((8, 7, 8), seed=2, missing=0.1)
    T = np.where(mask, counts, np.nan)
    options = {"rank": 2, "prior": "poisson", "smooth": {2: 1.0}, "max_iter": 6}
    folded = TensorImputer(shape=(7, 8), **options).fit(T.reshape(8, -1))
    plain = TensorImputer(**options).fit(T)
    assert folded.sample_shape_ == plain.sample_shape_ == (7, 8)
    assert folded.n_features_in_ == plain.n_features_in_ == 56
    wide = folded.transform(T.reshape(8, -1))
    assert wide.shape == (8, 56)
    np.testing.assert_array_equal(plain.transform(T), wide.reshape(T.shape))
    np.testing.assert_array_equal(folded.transform(T.tolist()), wide.reshape(T.shape))
    with pytest.raises(ValueError, match=r"each sample must have shape \(7, 8\), or 56 features; got \(8, 7\)"):
        plain.transform(np.swapaxes(T, 1, 2))


def test_stacked_pictures_use_smoothness():
    T = samples.cube((10, 12, 12), seed=3)
    gaps = T.copy()
    gaps[:, 3:6, 4:7] = np.nan
    gaps[np.random.default_rng(0).random(T.shape) < 0.3] = np.nan
    imputer = TensorImputer(rank=4, prior="normal", max_iter=100).fit(gaps[:8])
    assert set(imputer.completion_.settings["smooth"]) == {"1", "2"}  # found, and never along the samples
    hole = np.isnan(gaps[8:])
    assert np.abs(imputer.transform(gaps[8:]) - T[8:])[hole].mean() < 0.5 * np.abs(imputer.means_ - T[8:])[hole].mean()


def test_three_pictures_are_not_three_colours():
    gaps = samples.cube((4, 12, 12), seed=3)
    gaps[np.random.default_rng(0).random(gaps.shape) < 0.3] = np.nan
    imputer = TensorImputer(rank=2, prior="normal", smooth={1: 0.1, 2: 0.1}, max_iter=5).fit(gaps[:3])
    assert np.isfinite(imputer.transform(gaps)).all()


def test_a_sample_of_which_nothing_is_known_is_the_average_one(fitted):
    filled = fitted.transform(np.full((1, 8), np.nan))
    average = fitted.completion_.estimate.mean(axis=0)
    np.testing.assert_allclose(filled[0], average, rtol=1e-10)


def test_score_is_deterministic_and_higher_for_the_better_model(matrix):
    gaps = matrix[1]
    good, poor = TensorImputer(**QUICK).fit(gaps[:40]), TensorImputer(**QUICK | {"rank": 1}).fit(gaps[:40])
    first = good.score(gaps[40:])
    assert first == good.score(gaps[40:])
    assert 1 > first > poor.score(gaps[40:])
    assert first > 0.9


def test_score_of_the_feature_means_is_zero_and_hidden_entries_are_not_seen(matrix, fitted, monkeypatch):
    gaps = matrix[1][40:]
    seen = []

    def means(T):
        seen.append(np.isnan(T))
        return np.where(np.isnan(T), fitted.means_, T)

    monkeypatch.setattr(fitted, "_fill", means)
    assert fitted.score(gaps) == pytest.approx(0.0, abs=1e-12)
    hidden = seen[0] & ~np.isnan(gaps)
    assert (hidden.sum(axis=1) >= 1).all()
    assert not seen[0].all(axis=1).any()


def test_grid_search_over_rank_and_smoothness(matrix):
    grid = {"rank": [1, 2], "smooth": [{}, {1: 0.3}]}
    search = GridSearchCV(TensorImputer(prior="normal", max_iter=6, ridge=1e-3), grid, cv=2, error_score="raise").fit(
        matrix[1][:30]
    )
    assert search.best_params_["rank"] == 2
    assert search.best_score_ > 0.9
    assert len(set(search.cv_results_["mean_test_score"])) >= 3  # at rank 1 smoothness may change nothing


def test_one_number_for_smooth_serves_all_modes_but_the_first(matrix):
    fit = TensorImputer(**QUICK | {"smooth": 0.5}).fit(matrix[1][:10])
    assert fit.completion_.settings["smooth"] == {"1": 0.5}


def test_in_a_pipeline_clone_and_pickle(matrix):
    X, gaps = matrix
    pipe = make_pipeline(StandardScaler(), TensorImputer(**QUICK)).set_output(transform="default")
    filled = pipe.fit_transform(gaps)
    back = pipe[0].inverse_transform(filled)
    assert np.sqrt(np.mean((back - X)[np.isnan(gaps)] ** 2)) < 0.2 * X.std()
    again = clone(pipe[1])
    assert again.get_params() == pipe[1].get_params()
    assert not hasattr(again, "completion_")
    loaded = pickle.loads(pickle.dumps(pipe))
    np.testing.assert_array_equal(loaded.transform(gaps), pipe.transform(gaps))


def test_a_table_keeps_its_column_names(matrix):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(matrix[1], columns=[f"sensor {k}" for k in range(8)])
    filled = TensorImputer(**QUICK).set_output(transform="pandas").fit_transform(frame)
    assert list(filled.columns) == list(frame.columns)
    assert not filled.isna().any(axis=None)


def test_random_state_decides_and_none_is_zero(matrix):
    gaps = matrix[1][:10]

    def fill(state):
        return TensorImputer(**QUICK | {"random_state": state, "rank": 3, "max_iter": 2}).fit_transform(gaps)

    np.testing.assert_array_equal(fill(0), fill(None))
    np.testing.assert_array_equal(fill(np.random.RandomState(4)), fill(np.random.RandomState(4)))
    assert not np.array_equal(fill(0), fill(7))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"smooth": {0: 1.0}}, "smooth must not name mode 0: its samples have no order"),
        ({"shape": (3, 5)}, r"each sample must have shape \(3, 5\), or 15 features; got \(8,\)"),
        ({"prior": "poison"}, "Did you mean 'poisson'"),
        ({"rank": 0}, "rank must be a whole number >= 1"),
        ({"sample_posterior": True}, "sample_posterior is for matrices completed by the contest"),
    ],
)
def test_wrong_settings_get_a_sentence(matrix, settings, message):
    with pytest.raises(ValueError, match=message):
        TensorImputer(**QUICK | settings).fit(matrix[1])


def test_wrong_use_gets_a_sentence(fitted, matrix):
    with pytest.raises(NotFittedError):
        TensorImputer().transform(matrix[1])
    with pytest.raises(ValueError, match="held_out must be between 0 and 1; got 1"):
        TensorImputer(**QUICK, held_out=1).fit(matrix[1]).score(matrix[1])
    lonely = np.full((2, 8), np.nan)
    lonely[:, 0] = 1.0
    with pytest.raises(ValueError, match="at least 2 known entries"):
        fitted.score(lonely)


def test_columns_may_have_units_of_their_own():
    """Four related columns in metres, kelvin, pascal and as shares: as good as if standardised by hand."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(120, 1)) @ rng.uniform(0.7, 1.0, (1, 4)) + 0.3 * rng.normal(size=(120, 4))
    unit, zero = np.array([1e-3, 10.0, 500.0, 0.05]), np.array([0.01, 290.0, 1e5, 0.5])
    gone = rng.random(Z.shape) < 0.2
    X = Z * unit + zero
    found = TensorImputer().fit_transform(np.where(gone, np.nan, X))
    assert np.array_equal(found[~gone], X[~gone])
    off = ((found - X) / unit)[gone]
    assert np.sqrt(np.mean(off**2)) < 0.7 * Z[gone].std()
    new = TensorImputer().fit(np.where(gone, np.nan, X)[:80]).transform(np.where(gone, np.nan, X)[80:])
    assert np.sqrt(np.mean(((new - X[80:]) / unit)[gone[80:]] ** 2)) < 0.7 * Z[gone].std()


@pytest.mark.parametrize("name", ["poisson", "gamma", "binomial"])
def test_a_prior_that_is_given_is_used(name):
    problem, _ = make_problem(name, shape=(12, 6), share=0.9)
    T = problem.observations.dense()
    for prior in (problem.prior,) if name == "binomial" else (name, problem.prior):  # Binomial needs its n
        made = TensorImputer(prior=prior, rank=1, max_iter=5).fit(T)
        assert made.completion_.prior.name == name
        known = ~np.isnan(T)
        assert np.array_equal(made.transform(T)[known], T[known])


def test_a_prior_that_cannot_have_made_the_data_is_refused():
    with pytest.raises(ValueError, match=r"values must be >= 0 for Gamma; got -1\.0 at index \(0, 1\)"):
        TensorImputer(prior="gamma").fit([[1.0, -1.0], [2.0, np.nan], [3.0, 1.0]])


# --- the contest ----------------------------------------------------------------------------------------------------


def questionnaire(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=(2, rows))
    return pd.DataFrame(
        {
            "age": 40 + 12 * z + 3 * rng.normal(size=rows),
            "income": np.exp(8 + z + 0.3 * rng.normal(size=rows)),
            "city": np.where(z > 0.5, "Rome", np.where(z < -0.5, "Oslo", "Bern")),
            "score": 5 * u + rng.normal(size=rows),
            "grade": (u > 0).astype(int) + (u > 1),
        }
    )


@pytest.fixture(scope="module")
def asked():
    truth = questionnaire()
    return truth, truth.mask(np.random.default_rng(1).random(truth.shape) < 0.2)


@pytest.fixture(scope="module")
def by_contest(asked):
    _, gaps = asked
    return TensorImputer(effort="quick").fit(gaps[["age", "income", "score", "grade"]].iloc[:150])


def test_a_contest_is_held_in_fit_and_new_rows_are_served(asked, by_contest):
    truth, gaps = asked
    names = ["age", "income", "score", "grade"]
    assert len(by_contest.completion_.tried) > 3
    new = gaps[names].iloc[150:]
    out = by_contest.transform(new)
    known = new.notna().to_numpy()
    np.testing.assert_array_equal(out[known], new.to_numpy(dtype=float)[known])
    sd = truth[names].std().to_numpy()
    off = ((out - truth[names].iloc[150:].to_numpy()) / sd)[~known]
    means = ((by_contest.means_ - truth[names].iloc[150:].to_numpy()) / sd)[~known]
    assert np.sqrt(np.mean(off**2)) < 0.85 * np.sqrt(np.mean(means**2))
    assert (out[:, 1] > 0).all()
    assert by_contest.score(new) > 0.1


def test_categories_are_filled_with_their_levels(asked):
    truth, gaps = asked
    imputer = TensorImputer(effort="quick", categorical_features=["city"]).set_output(transform="pandas")
    out = imputer.fit(gaps.iloc[:150]).transform(gaps)
    assert list(out.columns) == list(gaps.columns)
    assert set(out["city"]) <= {"Rome", "Oslo", "Bern"}
    missing = gaps["city"].isna()
    assert (out["city"] == truth["city"])[missing].mean() > 0.6
    codes = gaps.assign(city=gaps["city"].map({"Rome": 3.0, "Oslo": 1.0, "Bern": 2.0}))
    array = TensorImputer(effort="quick", categorical_features=[2]).fit_transform(codes.to_numpy(dtype=float))
    assert array.dtype == float
    assert set(array[:, 2]) <= {1.0, 2.0, 3.0}
    with pytest.raises(ValueError, match=r"categorical_features must be among the 5 features age, .*; got 'town'"):
        TensorImputer(categorical_features=["town"]).fit(gaps)
    with pytest.raises(ValueError, match=r"feature 'city' must hold numbers; .* Name it in categorical_features"):
        TensorImputer().fit(gaps)


def test_draws_instead_of_means(asked):
    _, gaps = asked
    draw = TensorImputer(effort="quick", sample_posterior=True, categorical_features=["city"]).fit(gaps)
    mean = TensorImputer(effort="quick", categorical_features=["city"]).fit(gaps)
    a, b, again = draw.transform(gaps), mean.transform(gaps), draw.transform(gaps)
    assert (a == again).all()
    missing = gaps.isna().to_numpy()
    assert (a[~missing] == b[~missing]).all()
    score = missing[:, 3]
    assert np.std((a[score, 3] - b[score, 3]).astype(float)) > 0.1 * gaps["score"].std()
    assert (a[:, 1].astype(float) > 0).all()
    numbers = gaps[["age", "income", "score"]]
    plain = TensorImputer(effort="quick", sample_posterior=True).fit_transform(numbers)
    other = TensorImputer(effort="quick").fit_transform(numbers)
    assert (plain != other)[numbers.isna().to_numpy()].mean() > 0.9  # both may lie at the end of a domain


def test_what_marks_a_gap_indicators_and_empty_features(asked):
    numbers = asked[1][["age", "income", "score"]].assign(full=1.0 * np.arange(200) % 7)
    plain = TensorImputer(effort="quick").fit_transform(numbers)
    marked = TensorImputer(effort="quick", missing_values=-999).fit_transform(numbers.fillna(-999))
    np.testing.assert_array_equal(plain, marked)
    both = TensorImputer(effort="quick", add_indicator=True).fit(numbers)
    out = both.transform(numbers)
    np.testing.assert_array_equal(out[:, 4:], numbers.iloc[:, :3].isna())
    assert list(both.get_feature_names_out()[4:]) == [f"missingindicator_{n}" for n in ("age", "income", "score")]
    empty = numbers.assign(empty=np.nan)
    dropped = TensorImputer(effort="quick").fit(empty)
    np.testing.assert_allclose(dropped.transform(empty), plain)
    assert list(dropped.get_feature_names_out()) == list(numbers.columns)
    kept = TensorImputer(effort="quick", keep_empty_features=True).fit_transform(empty)
    np.testing.assert_allclose(kept[:, :4], plain)
    assert (kept[:, 4] == 0).all()


def test_in_a_column_transformer(asked):
    from sklearn.compose import make_column_transformer

    _, gaps = asked
    both = make_column_transformer(
        (TensorImputer(effort="quick"), ["age", "income", "score"]), remainder="drop"
    ).set_output(transform="pandas")
    out = both.fit_transform(gaps)
    assert out.notna().all(axis=None)
    assert list(out.columns) == [f"tensorimputer__{n}" for n in ("age", "income", "score")]
