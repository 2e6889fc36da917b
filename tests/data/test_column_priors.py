"""Priors by column, complete(frame, prior={"visits": "poisson"}): they say what a column can hold."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.data.columns import column_facts, with_column_priors
from tensorfill.data.observations import DataWarning
from tensorfill.numerical.base import PRIORS


def people(seed=0, rows=90):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    frame = pd.DataFrame(
        {
            "age": np.round(40 + 10 * z),
            "visits": rng.poisson(np.exp(1 + z / 2)).astype(float),
            "smoker": (z + 0.5 * rng.normal(size=rows) > 0) * 1.0,
            "stars": np.clip(np.round(3 + z), 1, 4),
            "share": 1 / (1 + np.exp(-z)),
            "score_id": 500 + np.round(100 * z),
            "city": np.where(z > 0.5, "Rome", np.where(z < -0.5, "Oslo", "Bern")),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


def complete(frame, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return tfl.complete(frame, effort="quick", **settings)


ALL = {"age": "normal", "visits": "poisson", "smoker": "bernoulli", "stars": "ordinal", "share": "beta"}
ALL |= {"score_id": tfl.Normal(), "city": "categorical"}


def test_a_column_holds_what_its_prior_says():
    frame = people()
    found, given = complete(frame).completed, complete(frame, prior=ALL).completed
    gaps = frame.isna()
    assert found["age"].eq(found["age"].round()).all()  # it looks like whole numbers
    assert given["age"][gaps["age"]].ne(given["age"][gaps["age"]].round()).any()  # and is none
    assert found["score_id"].isna().any()  # it looks like a key
    assert given["score_id"].notna().all()
    assert given["visits"].isin(range(100)).all()
    assert given["stars"].isin([1, 2, 3, 4]).all()
    assert given["smoker"].isin([0, 1]).all()
    assert given["share"].between(0, 1).all()
    assert given["city"].notna().all()
    for name in frame:
        known = ~gaps[name]
        assert (given[name][known] == frame[name][known]).all()


def test_other_columns_are_found_by_themselves():
    obs = tfl.observe(people()[["age", "visits", "stars"]])
    plain = column_facts(obs)
    given = column_facts(with_column_priors(obs, {"age": "normal"}))
    assert given[1:] == plain[1:]
    assert (given[0].kind, given[0].step) == ("normal", 0.0)


@pytest.mark.parametrize("name", [n for n in PRIORS if n not in ("binomial", "truncated-normal")])
def test_every_prior_says_where_a_column_lies(name):
    """Shares are in the domain of most; counts from 1 on of the others."""
    rng = np.random.default_rng(0)
    share = rng.random(60)
    column = share if PRIORS.make(name).t_domain.includes(share).all() else 1 + rng.poisson(2.0, 60).astype(float)
    frame = pd.DataFrame({"a": column, "b": rng.normal(size=60), "c": rng.normal(size=60)})
    frame.loc[::5, "a"] = np.nan
    facts = column_facts(with_column_priors(tfl.observe(frame), {"a": name}))[0]
    low, high = PRIORS.make(name).t_domain.low, PRIORS.make(name).t_domain.high
    assert facts.is_data
    if name == "ordinal":
        low, high = column.min(), np.nanmax(frame["a"])
    assert (facts.low, facts.high) == (low, high)


BAD = {
    "a name that is none": ({"agee": "normal"}, {}, "prior must name columns, .* got 'agee'. Did you mean 'age'"),
    "a prior that is none": ({"age": "norml"}, {}, "prior must be one of"),
    "outside": ({"age": "bernoulli"}, {}, "values must be >= 0 and <= 1 for Bernoulli; got .* in column 'age'"),
    "numbers as categories": ({"stars": "categorical"}, {}, "'stars' holds numbers; make them categories"),
    "an order that text lacks": ({"city": "ordinal"}, {}, r"levels of column 'city' have no order.*ordered=True"),
    "text as numbers": ({"city": "poisson"}, {}, "'city', which holds no numbers"),
    "a method": ({"age": "normal"}, {"method": "bayes"}, 'belong to method="auto"'),
}


@pytest.mark.parametrize("case", BAD)
def test_refusals_are_sentences(case):
    prior, settings, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        tfl.complete(people(), prior=prior, **settings)


def test_a_prior_that_would_change_nothing_is_refused():
    """`categorical` of free text and of ordered levels was taken, and ignored."""
    note = people().assign(note=[f"remark {n}" for n in range(90)])
    with pytest.raises(ValueError, match=r"column 'note' cannot be categorical: .*; leave it out of prior"):
        complete(note, prior={"note": "categorical"})
    sizes = pd.Categorical(np.resize(["S", "M", "L"], 90), ["S", "M", "L"], ordered=True)
    with pytest.raises(ValueError, match=r"levels of column 'size' have an order.*as_unordered"):
        complete(people().assign(size=sizes), prior={"size": "categorical"})


def test_columns_of_polars_have_priors_as_well():
    frame = pytest.importorskip("polars").from_pandas(people())
    given = complete(frame, prior=ALL).completed
    assert given["score_id"].null_count() == given["city"].null_count() == 0


def test_arrays_have_no_columns():
    T = np.random.default_rng(0).normal(size=(6, 5, 4))
    T[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="priors by column are for tables"):
        tfl.complete(T, prior={"age": "normal"})
