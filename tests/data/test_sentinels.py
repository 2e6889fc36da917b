"""Numbers that stand for "missing" are asked about; numbers that are values are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorfill as tfl
from tensorfill.data import samples
from tensorfill.data.sentinels import sentinels

SEEDS = st.integers(0, 2**32 - 1)
CODES = [-9.0, -99.0, -999.0, -9999.0, -99999.0, -999.9, -99.99, 9999.0, 99999.0]
CODES += [1e20, 1e30, -1e31, 9.96921e36, -32768.0]


def weather(rng, size=600):
    return np.round(rng.normal(12, 9, size), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("code", CODES)
def test_codes_are_found_in_temperatures_and_amounts(code, dtype, rng):
    cases = {"amounts": rng.gamma(0.5, 20.0, 600), "counts": rng.poisson(30.0, 600).astype(float)}
    if abs(code) >= 99:  # -9 and -32768 in temperatures: the one may be one, the other may not
        cases["temperatures"] = weather(rng)
    for name, values in cases.items():
        values = values.astype(dtype)
        values[rng.choice(600, 14, replace=False)] = code
        found = sentinels(values)
        assert [f.count for f in found] == [14], name
        assert dtype(found[0].value) == dtype(code)


def test_several_codes_at_once(rng):
    values = weather(rng)
    values[:5], values[5:9], values[9:12] = -999, -9999, 1e20
    assert {(f.value, f.count) for f in sentinels(values)} == {(-999.0, 5), (-9999.0, 4), (1e20, 3)}


def test_any_number_repeated_and_out_of_this_world_is_found(rng):
    values = weather(rng)
    values[::50] = -123456.0
    assert [f.value for f in sentinels(values)] == [-123456.0]


def test_the_sentence_says_what_to_do():
    T = np.where(np.arange(60).reshape(6, 10) % 7 == 0, -999, np.arange(60).reshape(6, 10)).astype(float)
    T[1, 1] = np.nan
    with pytest.warns(tfl.DataWarning) as caught:
        tfl.observe(T)
    assert str(caught[0].message) == (
        "9 values are -999: missing? Mark them: mask=T != -999; of a pandas table, T.replace(-999, np.nan) "
        "(on the command line: --missing-value -999)."
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tfl.observe(T, T != -999)
        tfl.observe(tfl.Observations.from_dense(T, T != -999))


def test_tables_and_labelled_arrays_are_looked_at_too(rng):
    T = weather(rng).reshape(30, 20)
    T[::9, ::7] = -9999.0
    where = np.argwhere(np.ones(T.shape, dtype=bool))
    long = pd.DataFrame({"a": where[:, 0], "b": where[:, 1], "v": T.ravel()})
    for make in (
        lambda: tfl.observe(T.astype(np.int64)),
        lambda: tfl.observe(np.ma.masked_array(T, T > 20)),
        lambda: tfl.observe(pd.DataFrame(T)),
        lambda: tfl.observe(xr.DataArray(T)),
        lambda: tfl.observe(long.set_index(["a", "b"])["v"]),
        lambda: tfl.Observations.from_pandas(long, ["a", "b"], "v"),
        lambda: tfl.complete(T, method="halrtc", max_iter=1),
    ):
        with pytest.warns(tfl.DataWarning, match="12 values are -9999: missing") as caught:
            make()
        assert len(caught) == 1


# --- what is a value ----------------------------------------------------------------------------------------------


def ordinary(kind, rng, size):
    """Data in which nothing stands for missing."""
    if kind == "picture":
        return rng.choice(np.r_[np.zeros(5), 255.0, rng.normal(90, 40, 200).clip(0, 255).round()], size)
    if kind == "dark picture":
        return np.where(rng.random(size) < 0.01, 255.0, rng.poisson(1.5, size))
    if kind == "12-bit detector":
        return np.where(rng.random(size) < 0.02, 4095.0, rng.poisson(20, size))
    if kind == "full scale 1":
        return np.where(rng.random(size) < 0.02, 1.0, rng.exponential(0.002, size).clip(0, 1))
    if kind == "counts":
        return rng.negative_binomial(0.2, 0.01, size).astype(float)
    if kind == "counts, many zeros":
        return rng.poisson(1e4, size) * (rng.random(size) < 0.5)
    if kind == "ratings":
        return rng.integers(1, 6, size).astype(float)
    if kind == "half ratings":
        return rng.integers(1, 11, size) / 2
    if kind == "yes and no":
        return rng.integers(0, 2, size).astype(float)
    if kind == "exponential":
        return rng.exponential(50.0, size).round()
    if kind == "log-normal":
        return np.exp(rng.normal(3, 2, size)).round()
    if kind == "heavy tail":
        return (rng.pareto(0.7, size) * 3).round()
    if kind == "percent":
        return rng.integers(90, 101, size).astype(float)
    if kind == "balance":
        return (rng.standard_t(2, size) * 30).round()
    if kind == "level":
        return 290 + rng.normal(0, 0.01, size).round(2)
    if kind == "few values":
        return rng.choice([-1.0, 0.0, 1.0, 50.0], size)
    assert kind == "prices"
    return np.exp(rng.normal(2, 1, size)).round() - 0.01  # 1.99, 9.99, 99.99, ...


KINDS = (
    "picture,dark picture,12-bit detector,full scale 1,counts,counts; many zeros,ratings,half ratings,yes and no,"
    "exponential,log-normal,heavy tail,percent,balance,level,few values,prices"
)


@pytest.mark.parametrize("kind", [k.replace(";", ",") for k in KINDS.split(",")])
@settings(max_examples=150, deadline=None)
@given(seed=SEEDS, size=st.integers(8, 3000))
def test_no_false_alarm(kind, seed, size):
    assert sentinels(ordinary(kind, np.random.default_rng(seed), size)) == []


@settings(max_examples=200, deadline=None)
@given(values=st.lists(st.integers(0, 30), min_size=8, max_size=60))
def test_no_false_alarm_on_small_whole_numbers(values):
    assert sentinels(np.array(values, dtype=float)) == []


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, code=st.sampled_from([-99.0, -999.0, -9999.0, 1e20]), share=st.floats(0.005, 0.45))
def test_found_whatever_the_share(seed, code, share):
    rng = np.random.default_rng(seed)
    values = rng.gamma(2.0, 3.0, 1000)
    hit = rng.random(1000) < share
    hit[:2] = True
    values[hit] = code
    assert [(f.value, f.count) for f in sentinels(values)] == [(code, int(hit.sum()))]


def test_no_false_alarm_on_the_samples_of_the_package():
    for name in ("photograph",):
        assert sentinels(np.asarray(getattr(samples, name)(), dtype=float).ravel()) == []
