"""Observations from everything people have, and the answer back in the same type."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import tensorfill as tfl
from tensorfill.data.arrays import working_dtype
from tensorfill.data.casting import cast_like
from tensorfill.io.observe import observe


@pytest.fixture
def T(rng):
    array = rng.normal(size=(4, 5, 3))
    array[rng.random(array.shape) < 0.4] = np.nan
    return array


def same(a, b):
    assert a.shape == b.shape
    assert np.array_equal(a.indices, b.indices)
    assert np.array_equal(a.values, b.values)


def test_every_route_gives_the_same_observations(T):
    mask = ~np.isnan(T)
    dense = tfl.Observations.from_dense(T)
    same(dense, tfl.Observations.from_dense(np.where(mask, T, 1e30), mask))
    same(dense, tfl.Observations.from_dense(np.ma.masked_array(np.where(mask, T, np.inf), mask=~mask)))
    order = np.random.default_rng(0).permutation(mask.sum())
    same(dense, tfl.Observations.from_coo(np.argwhere(mask)[order], T[mask][order], T.shape))
    same(dense, tfl.Observations.from_xarray(xr.DataArray(T, dims=("a", "b", "c"))))
    where = np.argwhere(mask)
    frame = pd.DataFrame({"a": where[:, 0], "b": where[:, 1], "c": where[:, 2], "v": T[mask]})
    same(dense, tfl.Observations.from_pandas(frame.sample(frac=1, random_state=0), ["a", "b", "c"], "v"))
    same(dense, observe(frame.set_index(["a", "b", "c"])["v"]))


def test_lexicographic_order_and_flat(T):
    obs = tfl.Observations.from_dense(T)
    assert (np.diff(obs.flat) > 0).all()
    assert np.array_equal(T.ravel()[obs.flat], obs.values)
    assert np.array_equal(obs.mask, ~np.isnan(T))
    assert np.array_equal(obs.dense(), T, equal_nan=True)
    assert obs.share == (~np.isnan(T)).mean()


def test_zero_is_a_value():
    obs = tfl.Observations.from_dense(np.array([[0.0, 1.0], [np.nan, 0.0]]))
    assert obs.nnz == 3
    assert sorted(obs.values) == [0, 0, 1]


@pytest.mark.parametrize(
    ("dtype", "working"),
    [
        *((name, "float32") for name in ("uint8", "int16", "bool", "float32", "float16")),
        *((name, "float64") for name in ("int32", "int64", "float64")),
    ],
)
def test_working_precision_holds_every_value(dtype, working):
    assert working_dtype(np.dtype(dtype)) == np.dtype(working)
    obs = tfl.Observations.from_dense(np.ones((2, 3), dtype=dtype), np.array([[1, 1, 0], [0, 1, 1]]))
    assert obs.values.dtype == working


def test_pixel_mask_serves_all_channels():
    picture = np.arange(24).reshape(2, 4, 3)
    mask = np.array([[1, 0, 1, 1], [0, 1, 1, 0]], dtype=bool)
    assert np.array_equal(tfl.Observations.from_dense(picture, mask).mask, np.repeat(mask[..., None], 3, axis=2))


def test_order_two_and_five(rng):
    for shape in ((3, 4), (2, 3, 2, 2, 3)):
        obs = tfl.Observations.from_dense(rng.normal(size=shape), rng.random(shape) < 0.7)
        assert obs.indices.shape == (obs.nnz, len(shape))


def test_input_is_never_changed_and_observations_are_read_only(T):
    before = T.copy()
    obs = tfl.Observations.from_dense(T)
    assert np.array_equal(T, before, equal_nan=True)
    with pytest.raises(ValueError, match="read-only"):
        obs.values[0] = 1.0


def test_weights_follow_their_entries(T):
    weights = np.arange(T.size).reshape(T.shape) + 1.0
    obs = tfl.Observations.from_dense(T, weights=weights)
    assert np.array_equal(obs.weights, weights[~np.isnan(T)])
    by_coo = tfl.Observations.from_coo(obs.indices[::-1], obs.values[::-1], T.shape, weights=obs.weights[::-1])
    assert np.array_equal(by_coo.weights, obs.weights)


def test_split_is_a_partition(T, rng):
    obs = tfl.Observations.from_dense(T)
    kept, aside = obs.split(0.25, rng)
    assert aside.nnz == round(0.25 * obs.nnz)
    assert sorted([*kept.flat, *aside.flat]) == sorted(obs.flat)


def test_dimension_names(T):
    obs = tfl.Observations.from_dense(T, dims=("sensor", "day", "hour"))
    assert obs.mode("hour") == 2
    assert obs.mode(-1) == 2
    with pytest.raises(ValueError, match="Did you mean 'hour'"):
        obs.mode("huor")


BAD = {
    "inf": (lambda: tfl.Observations.from_dense([[1.0, np.inf]]), r"must be finite; got inf at index \(0, 1\)"),
    "nothing": (lambda: tfl.Observations.from_dense([[np.nan, np.nan]]), "at least one entry must be observed"),
    "one mode": (lambda: tfl.Observations.from_coo([[0], [1]], [1.0, 2.0]), "at least 2 modes"),
    "mask shape": (lambda: tfl.Observations.from_dense(np.ones((2, 3)), np.ones((3, 2))), r"\(2, 3\).*got \(3, 2\)"),
    "mask values": (lambda: tfl.Observations.from_dense(np.ones((2, 2)), [[0, 7], [1, 1]]), "True/False"),
    "dtype": (lambda: tfl.Observations.from_dense([["a", "b"]]), "must be numbers"),
    "duplicates": (
        lambda: tfl.Observations.from_coo([[0, 1], [1, 1], [0, 1]], [1.0, 2.0, 3.0]),
        r"unique; \(0, 1\) is there more than once",
    ),
    "outside": (lambda: tfl.Observations.from_coo([[0, 5]], [1.0], (2, 3)), r"inside shape \(2, 3\); got \(0, 5\)"),
    "index type": (lambda: tfl.Observations.from_coo([[0.5, 1.0]], [1.0]), "integer array"),
    "lengths": (lambda: tfl.Observations.from_coo([[0, 1]], [1.0, 2.0]), r"\(1,\); got shape \(2,\)"),
    "weights": (lambda: tfl.Observations.from_dense(np.ones((2, 2)), weights=-np.ones((2, 2))), "> 0"),
    "dims": (lambda: tfl.Observations.from_dense(np.ones((2, 2)), dims=("a", "a")), "2 different names"),
    "dataset": (lambda: observe(xr.Dataset({"v": ("a", ["x", "y"])})), "must have a variable of numbers; got v"),
    "column": (lambda: tfl.Observations.from_pandas(pd.DataFrame({"a": [1]}), ["a"], "v"), "got 'v'"),
    "text among objects": (
        lambda: observe([[1.0, None], ["a", 2.0]]),
        r"must be numbers; got 'a'\. Mark what is missing",
    ),
    "text column": (
        lambda: tfl.complete(pd.DataFrame({"site": ["a", 3.0], "n": [1.0, 2.0]})),
        r"column 'site' must be numbers; got 'a'\. Correct it, .* complete\(frame, dims=\[\.\.\.\], value=\.\.\.\)",
    ),
    "dates": (
        lambda: observe(pd.DataFrame({"day": pd.to_datetime(["2024-01-01"])})),
        "the first, 'day', has Timestamp",
    ),
    "text values": (
        lambda: tfl.Observations.from_pandas(pd.DataFrame({"a": [1], "b": [1], "v": ["x"]}), ["a", "b"], "v"),
        "column 'v' must be numbers; got 'x'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_a_sentence(name):
    make, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_duplicates_on_request():
    where, values = [[0, 1], [1, 1], [0, 1]], [1.0, 2.0, 4.0]
    mean = tfl.Observations.from_coo(where, values, duplicates="mean")
    assert list(mean.values) == [2.5, 2.0]
    assert list(mean.weights) == [2.0, 1.0]
    assert list(tfl.Observations.from_coo(where, values, duplicates="sum").values) == [5.0, 2.0]


def test_domain_error_names_the_first_offender():
    obs = tfl.Observations.from_dense(np.array([[1.0, 2.0], [-3.0, -4.0]]))
    sentence = (
        r"values must be >= 0 for Poisson; got -3\.0 at index \(1, 0\)\. Use prior=\"normal\", or mask that entry\."
    )
    with pytest.raises(ValueError, match=sentence):
        tfl.Problem(obs, rank=1, prior="poisson")


def test_masked_values_outside_the_domain_do_not_matter():
    """A zero or a negative number under the mask is no reason to refuse a positive prior."""
    T = np.array([[1.0, 2.0, -3.0], [0.0, 4.0, 5.0]])
    obs = tfl.Observations.from_dense(T, T > 0)
    assert tfl.Problem(obs, rank=1, prior="gamma").value([np.ones((2, 1)), np.ones((3, 1))]) > 0


def test_huge_shapes_stay_sparse():
    obs = tfl.Observations.from_coo([[0, 0, 0], [10**6, 10**6, 10**6]], [1.0, 2.0])
    assert obs.size > 10**18
    with pytest.raises(MemoryError, match="done"):
        obs.dense()


@pytest.mark.parametrize("dtype", ["uint8", "int64", "int8", "uint16", "uint64"])
def test_integers_come_back_rounded_and_clipped(dtype):
    limits = np.iinfo(dtype)
    got = cast_like(np.array([-1e30, 1e30, 2.6, 0.4]), np.dtype(dtype))
    assert got.dtype == dtype
    assert [int(v) for v in got] == [limits.min, limits.max, 3, 0]


def test_small_floats_stay_finite():
    got = cast_like(np.array([-1e30, 1e30, 0.5]), np.dtype("float16"))
    assert got.tolist() == [-65504.0, 65504.0, 0.5]


def test_answer_in_the_type_of_the_input(T):
    estimate = np.full(T.shape, 7.0)
    gaps = np.isnan(T)
    array = observe(T).source.fill(estimate)
    assert np.array_equal(array[~gaps], T[~gaps])
    assert (array[gaps] == 7).all()
    masked = observe(np.ma.masked_array(np.nan_to_num(T), gaps)).source.fill(estimate)
    assert isinstance(masked, np.ma.MaskedArray)
    assert not masked.mask.any()
    da = xr.DataArray(T, dims=("a", "b", "c"), coords={"a": list("wxyz")}, attrs={"unit": "m"}, name="v")
    out = observe(da).source.fill(estimate)
    assert out.attrs == da.attrs
    assert out.name == "v"
    assert list(out["a"].values) == list("wxyz")
    frame = pd.DataFrame(T[:, :, 0], index=list("wxyz"), columns=list("abcde"))
    wide = observe(frame).source.fill(estimate[:, :, 0])
    assert list(wide.columns) == list("abcde")
    where = np.argwhere(~gaps)
    long = pd.DataFrame({"a": where[:, 0], "b": where[:, 1], "c": where[:, 2], "v": T[~gaps]})
    out = tfl.Observations.from_pandas(long, ["a", "b", "c"], "v").source.fill(estimate)
    assert len(out) == T.size
    assert np.array_equal(out["v"].to_numpy().reshape(T.shape), array)


def test_bool_by_majority():
    flags = np.array([[True, False], [True, True]])
    obs = tfl.Observations.from_dense(flags, [[1, 1], [1, 0]])
    out = obs.source.fill(np.full((2, 2), 0.3))
    assert out.dtype == bool
    assert out.tolist() == [[True, False], [True, False]]


def test_nullable_columns_are_filled_and_keep_their_types():
    big = 2**60 + 1
    frame = pd.DataFrame(
        {
            "whole": pd.array([big, None, 3], dtype="Int64"),
            "real": pd.array([None, 0.5, 2.5], dtype="Float64"),
            "flag": pd.array([True, False, None], dtype="boolean"),
            "plain": [1, 2, 3],
        },
        index=list("xyz"),
    )
    obs = observe(frame)
    assert obs.mask.tolist() == [[True, False, True, True], [False, True, True, True], [True, True, False, True]]
    out = obs.source.fill(np.full((3, 4), 0.7))
    assert list(out.dtypes) == list(frame.dtypes)
    assert out["whole"].tolist() == [big, 1, 3]
    assert out["real"].tolist() == [0.7, 0.5, 2.5]
    assert out["flag"].tolist() == [True, False, True]
    assert list(out.index) == list("xyz")
    assert frame["whole"].isna().sum() == 1


def test_a_nullable_frame_is_completed():
    table = np.outer(np.arange(1, 7), np.arange(1, 6))
    frame = pd.DataFrame(table).astype("Int64")
    frame.iloc[2, 3] = pd.NA
    out = tfl.complete(frame, max_iter=20).completed
    assert set(map(str, out.dtypes)) == {"Int64"}
    assert not out.isna().any(axis=None)
    assert ((out == table) | frame.isna()).all(axis=None)


def test_nullable_values_of_a_long_table():
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "v": pd.array([5, None, 6, 2**60 + 1], dtype="Int64")})
    obs = tfl.Observations.from_pandas(frame, ["a", "b"], "v")
    assert obs.nnz == 3
    out = obs.source.fill(np.full((2, 2), 7.4))
    assert out["v"].dtype == "Int64"
    assert out["v"].tolist() == [5, 7, 6, 2**60 + 1]


def test_none_is_missing():
    for data in ([[1, None, 3], [4, 5, True]], pd.DataFrame([[1, None, 3], [4, 5, True]], dtype=object)):
        obs = observe(data)
        assert obs.mask.tolist() == [[True, False, True], [True, True, True]]
        assert obs.values.tolist() == [1, 3, 4, 5, 1]
    done = tfl.complete([[1.0, None, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]], max_iter=5)
    assert np.isfinite(done.completed).all()


def test_modes_of_a_table_are_called_as_its_index_and_columns_are():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2))
    assert observe(frame).dims == ("row", "column")
    assert observe(frame.rename_axis("time")).dims == ("time", "column")
    assert observe(frame.rename_axis("time").rename_axis("sensor", axis=1)).dims == ("time", "sensor")
    assert observe(frame.rename_axis("x").rename_axis("x", axis=1)).dims == ("row", "column")
    assert observe(frame.rename_axis("time"), dims=("a", "b")).dims == ("a", "b")


def test_a_single_number_is_no_table():
    with pytest.raises(ValueError, match=r"data must be an array or a table; got a single float\."):
        observe(3.0)


def everything_that_has_a_source(T):
    """(observations, the truth's own numbers from an answer of that type)."""
    flat = np.argwhere(np.ones(T.shape, dtype=bool))
    long = pd.DataFrame({"a": flat[:, 0], "b": flat[:, 1], "v": T.ravel()})
    nullable = pd.DataFrame(np.where(np.isnan(T), 0, T)).astype("Float64").mask(np.isnan(T))
    series = long.set_index(["a", "b"])["v"]
    yield observe(T), np.asarray
    yield observe(np.ma.masked_invalid(T)), np.ma.getdata
    yield observe(xr.DataArray(T, dims=("a", "b"))), np.asarray
    yield observe(pd.DataFrame(T)), np.asarray
    yield observe(nullable), lambda out: out.to_numpy(dtype=float)
    yield tfl.Observations.from_pandas(long, ["a", "b"], "v"), lambda out: out["v"].to_numpy().reshape(T.shape)
    yield observe(series), lambda out: out.to_numpy().reshape(T.shape)
    yield tfl.Observations.from_coo(flat, T.ravel(), T.shape), np.asarray


@pytest.mark.parametrize("k", range(8))
def test_what_is_held_out_does_not_come_back(T, rng, k):
    T = T[:, :, 0]
    obs, numbers = list(everything_that_has_a_source(T))[k]
    kept, aside = obs.split(0.4, rng)
    again, _ = kept.split(0.2, rng)  # a part of a part
    estimate = np.full(T.shape, 7.0)
    if obs.source is None:  # as from coordinates: nothing to give back
        assert kept.source is None
        return
    for part in (kept, again):
        out = part.source.fill(estimate)
        assert type(out) is type(obs.source.fill(estimate))
        assert np.array_equal(numbers(out), np.where(part.mask, T, 7.0))
    assert np.array_equal(numbers(obs.source.fill(estimate))[aside.mask], T[aside.mask])


def test_a_completed_part_does_not_know_the_rest(rng):
    T = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0)) + rng.normal(size=(8, 6))
    kept, aside = observe(T).split(0.4, rng)
    done = tfl.complete(kept, method="halrtc", max_iter=20)
    assert not np.isin(T[aside.mask], done.completed).any()
    assert np.array_equal(done.completed[kept.mask], T[kept.mask])
