"""What goes in comes out: every kind of array and table, from `completed`, `estimate` and both ends of `interval`."""

import numpy as np
import pytest

import tensorfill as tfl

RNG = np.random.default_rng(4)
TRUTH = np.outer(RNG.uniform(1, 3, 16), RNG.uniform(1, 3, 12))
KNOWN = RNG.random(TRUTH.shape) < 0.7
HOLES = np.where(KNOWN, TRUTH, np.nan)
ROWS, COLUMNS = [f"r{i:02}" for i in range(16)], [f"c{j:02}" for j in range(12)]


def masked():
    return np.ma.MaskedArray(np.where(KNOWN, TRUTH, 1e30), mask=~KNOWN)


def xarray():
    xr = pytest.importorskip("xarray")
    return xr.DataArray(HOLES, dims=("site", "hour"), coords={"site": ROWS}, name="flow", attrs={"unit": "m3"})


def pandas():
    return pytest.importorskip("pandas").DataFrame(HOLES, index=ROWS, columns=COLUMNS)


def series():
    return pandas().rename_axis("site").rename_axis("hour", axis=1).stack(future_stack=True).rename("flow")


def polars():
    pl = pytest.importorskip("polars")
    columns = {c: [None if np.isnan(v) else v for v in HOLES[:, j]] for j, c in enumerate(COLUMNS)}
    return pl.DataFrame({"site": ROWS, **columns})


def dask():
    return pytest.importorskip("dask.array").from_array(HOLES, chunks=(5, 12))


def torch():
    return pytest.importorskip("torch").from_numpy(HOLES.astype(np.float32))


def scipy_sparse(kind):
    import scipy.sparse

    return getattr(scipy.sparse, kind)((TRUTH[KNOWN], np.nonzero(KNOWN)), shape=TRUTH.shape)


def long_array(data):
    return data.unstack().reindex(index=ROWS, columns=COLUMNS).to_numpy()


KINDS = {  # name: (make, plain array of what comes out, settings)
    "numpy": (lambda: HOLES, np.asarray, {}),
    "numpy.ma": (masked, np.ma.getdata, {}),
    "xarray": (xarray, np.asarray, {}),
    "pandas": (pandas, np.asarray, {}),
    "pandas Series": (series, long_array, {}),
    "polars": (polars, lambda t: t.drop("site").to_numpy(), {}),
    "dask": (dask, lambda a: a.compute(), {}),
    "torch": (torch, lambda t: t.numpy(), {}),
    **{
        f"scipy {kind}": (lambda kind=kind: scipy_sparse(kind), lambda a: a.toarray(), {"absent": "missing"})
        for kind in ("coo_array", "csr_array", "csc_matrix")
    },
}


@pytest.fixture(scope="module")
def expected():
    return tfl.complete(HOLES, method="halrtc", error_bars=0.9, max_iter=20)


@pytest.mark.filterwarnings("ignore:the dask array:UserWarning")
@pytest.mark.parametrize("name", KINDS)
def test_what_goes_in_comes_out(name, expected):
    make, plain, settings = KINDS[name]
    data = make()
    done = tfl.complete(data, method="halrtc", error_bars=0.9, max_iter=20, **settings)
    close = {"rtol": 1e-3} if name == "torch" else {"rtol": 1e-9}
    for got, want in (
        (done.completed, expected.completed),
        (done.estimate, expected.estimate),
        *zip(done.interval, expected.interval, strict=True),
    ):
        assert type(got) is type(data)
        np.testing.assert_allclose(plain(got), want, **close)
    np.testing.assert_array_equal(plain(done.completed)[KNOWN], TRUTH[KNOWN].astype(plain(done.completed).dtype))
    if name == "xarray":
        assert done.interval[0].attrs == {"unit": "m3"}
        assert list(done.estimate.site.values) == ROWS
    if name == "polars":
        assert done.estimate["site"].to_list() == ROWS
    if name == "dask":
        assert done.completed.chunks == data.chunks
    if "scipy" in name:
        assert done.completed.nnz == TRUTH.size  # also zeros are stored, or they would be missing again


@pytest.mark.parametrize("name", [name for name, (_, _, settings) in KINDS.items() if settings])
def test_what_is_absent_is_asked_for_never_guessed(name):
    data = KINDS[name][0]()
    with pytest.raises(ValueError, match=r'give absent="missing" or absent="zero"\.$'):
        tfl.observe(data)
    zero = tfl.observe(data, absent="zero")
    assert zero.nnz == zero.size
    assert tfl.observe(data, absent="missing").nnz == KNOWN.sum()
    with pytest.raises(ValueError, match=r'absent must be "missing" or "zero"; got "?\'?none'):
        tfl.observe(data, absent="none")


def test_sparse_arrays_of_other_libraries_are_told_what_to_become():
    class COO:
        shape = (3, 4)

    COO.__module__ = "sparse._coo"
    with pytest.raises(TypeError, match=r"must be scipy's; got COO of sparse\. Give scipy\.sparse\.coo_array"):
        tfl.observe(COO(), absent="missing")


def test_zeros_of_a_sparse_array_stay_sparse():
    import scipy.sparse

    counts = scipy.sparse.random_array((20, 15), density=0.3, rng=np.random.default_rng(0), format="csr")
    mask = np.ones(counts.shape, dtype=bool)
    mask[3, 4] = False
    done = tfl.complete(counts, mask, absent="zero", method="halrtc", max_iter=5)
    assert isinstance(done.completed, scipy.sparse.csr_array)
    assert done.completed.nnz <= counts.nnz + 1


def test_absent_means_nothing_for_a_dense_array():
    with pytest.raises(ValueError, match="absent is for sparse arrays"):
        tfl.observe(HOLES, absent="zero")


def test_integers_of_polars_keep_their_type_and_their_digits():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, None, 3, 4], "b": [2, 4, 6, None], "c": [True, False, None, True]})
    out = tfl.complete(frame, method="halrtc", max_iter=5).completed
    assert out.dtypes == frame.dtypes
    assert out["a"].to_list()[2:] == [3, 4]
    assert out.null_count().sum_horizontal().item() == 0
    with pytest.raises(TypeError, match=r"call \.collect"):
        tfl.observe(frame.lazy())


def test_a_long_table_of_polars_comes_back_long():
    pl = pytest.importorskip("polars")
    big = 2**53 + 1
    at = [(r, c) for r in range(6) for c in range(4) if KNOWN[r, c]]
    frame = pl.DataFrame(
        {
            "day": [f"d{c}" for _, c in at],
            "site": [ROWS[r] for r, _ in at],
            "n": [big if k == 0 else r + c for k, (r, c) in enumerate(at)],
        }
    ).with_columns(pl.col("site").cast(pl.Categorical))
    done = tfl.complete(frame, dims=["site", "day"], value="n", method="halrtc", max_iter=5)
    out = done.completed
    assert type(out) is type(done.estimate) is pl.DataFrame
    assert (out.schema, out.height) == (frame.select("site", "day", "n").schema, 24)
    back = frame.join(out, on=["day", "site"], how="left", suffix="_out")
    assert back["n"].to_list() == back["n_out"].to_list()  # also beyond what a float can tell
    assert tfl.observe(frame.pivot("day", index="site", values="n")).shape == (6, 4)


def test_what_a_table_of_polars_must_have():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"user": ["a", "b", None], "item": ["x", "x", "y"], "stars": [1, 2, 3]})
    with pytest.raises(ValueError, match=r"one, .stars.\. If each row is one entry: complete\(frame, dims="):
        tfl.complete(frame)
    with pytest.raises(ValueError, match="every row must have a label in column 'user'; 1 have none"):
        tfl.complete(frame, dims=["user", "item"], value="stars")
    with pytest.raises(ValueError, match=r"columns of this table are user, item, stars; got 'star'"):
        tfl.complete(frame, dims=["user", "item"], value="star")
    with pytest.raises(TypeError, match="values of column 'item' must be numbers; got 'x'"):
        tfl.complete(frame.drop_nulls(), dims=["user", "stars"], value="item")


# --- a whole Dataset --------------------------------------------------------------------------------------------------


def dataset(**more):
    xr = pytest.importorskip("xarray")
    small = (20 * np.where(KNOWN, TRUTH, 1)).astype(np.int16)
    return xr.Dataset(
        {
            "flow": (("site", "hour"), HOLES, {"unit": "m3"}),
            "cars": (("hour", "site"), small.T, {"unit": "1"}),  # known everywhere, turned
            "name": ("site", ROWS),
            "area": ("site", np.arange(16.0)),
            **more,
        },
        coords={"site": ROWS},
        attrs={"title": "test"},
    )


def test_a_dataset_goes_in_and_a_dataset_comes_out():
    given = dataset()
    done = tfl.complete(given, method="halrtc", max_iter=20)
    assert list(done.completed.data_vars) == list(given.data_vars)
    assert done.completed.attrs == given.attrs
    assert done.completed["flow"].attrs == {"unit": "m3"}
    assert done.completed["cars"].identical(given["cars"])
    assert done.completed["name"].identical(given["name"])
    assert not done.completed["flow"].isnull().any()
    np.testing.assert_array_equal(done.completed["flow"].values[KNOWN], HOLES[KNOWN])
    assert done.estimate["cars"].dtype.kind == "f"
    one = tfl.complete(given[["flow", "name"]], method="halrtc", max_iter=20).completed
    alone = tfl.complete(given["flow"], method="halrtc", max_iter=20).completed
    assert one["flow"].identical(alone)


def test_variables_along_one_dimension_are_columns_of_a_table():
    xr = pytest.importorskip("xarray")
    days = np.datetime64("2024-01-01") + np.arange(16)
    columns = {c: ("day", HOLES[:, j]) for j, c in enumerate(COLUMNS)}
    given = xr.Dataset({**columns, "id": ("day", np.arange(16, dtype=np.int8))}, coords={"day": days})
    done = tfl.complete(given, method="bayes", rank=1, draws=4, burn=4, horizon=2)
    assert done.completed.sizes == {"day": 18}
    assert done.completed["id"].dtype == np.int8
    assert done.completed["day"].values[-1] == np.datetime64("2024-01-18")
    assert not done.completed["c00"].isnull().any()


def test_what_a_dataset_cannot_be_completed_by_is_said():
    odd = dataset(wind=(("site", "level"), np.full((16, 3), np.nan)))
    with pytest.raises(ValueError, match=r"same dims; got flow \(site, hour\), wind \(site, level\)"):
        tfl.complete(odd)
    with pytest.raises(ValueError, match="a variable of numbers; got name"):
        tfl.complete(dataset()[["name"]])


# --- polars -----------------------------------------------------------------------------------------------------------


def test_polars_columns_of_every_type_are_filled_or_left_and_keep_it():
    pl = pytest.importorskip("polars")
    from datetime import date, timedelta
    from decimal import Decimal

    rng, n = np.random.default_rng(0), 60
    some = [bool(x) for x in rng.random(n) < 0.15]
    gaps = lambda values: [None if gone else x for x, gone in zip(values, some, strict=True)]  # noqa: E731
    size = rng.normal(size=n)
    given = pl.DataFrame(
        {
            "size": pl.Series(gaps(size.tolist()), dtype=pl.Float32),
            "count": pl.Series(gaps([int(x) for x in np.rint(5 + 3 * size)]), dtype=pl.Int16),
            "high": pl.Series(gaps([bool(x) for x in size > 0])),
            "kind": pl.Series(gaps(["b" if x > 0 else "a" for x in size]), dtype=pl.Enum(["a", "b"])),
            "town": pl.Series(gaps(["Ulm" if x > 0.5 else "Bonn" for x in size])),
            "day": pl.Series(gaps([date(2024, 1, 1) + timedelta(days=int(9 * abs(x))) for x in size])),
            "price": pl.Series(gaps([Decimal(f"{x:.2f}") for x in size]), dtype=pl.Decimal(10, 2)),
            "tags": pl.Series([[1, 2]] * n),
            "other": size + 1,
        }
    )
    done = tfl.complete(given, method="halrtc", max_iter=5)
    assert done.completed.schema == given.schema
    assert done.completed.null_count().row(0) == (0,) * given.width
    for name in given.columns:
        known = given[name].is_not_null()
        assert done.completed[name].filter(known).to_list() == given[name].filter(known).to_list(), name
    assert done.estimate["count"].dtype == pl.Float64
    whole = given.select(pl.Series("big", [2**60 + 1, None, 3]), pl.Series("other", [1.0, 2.0, 3.0]))
    assert tfl.complete(whole, method="halrtc", max_iter=2).completed["big"][0] == 2**60 + 1
