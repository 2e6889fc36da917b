"""complete(T): works on anything from the first call, and is never worse than the per-mode means."""

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.data.autocorrelation import noise_level, roughness
from tensorfill.data.facts import smooth_modes
from tensorfill.methods.defaults import default_prior, default_rank
from tensorfill.methods.image.field import CLEAN


def mode_means_fill(T):
    """Overall mean plus the deviation of each slice's mean, mode by mode."""
    overall = np.nanmean(T)
    fill = np.full(T.shape, overall)
    for n in range(T.ndim):
        axes = tuple(m for m in range(T.ndim) if m != n)
        with np.errstate(invalid="ignore"):
            means = np.nanmean(T, axis=axes, keepdims=True)
        fill = fill + np.nan_to_num(means - overall)
    return fill


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([0, 1, 1, 0], "bernoulli-logit"),
        ([0, 1, 7, 2], "poisson"),
        ([0.5, 1.2, 3.0, 2.2], "gamma"),
        ([-1.0, 0.3, 2.0, 0.0], "normal"),
        ([0.0, 0.3, 2.0, 1.0], "normal"),
    ],
)
def test_prior_by_simple_rules(values, name):
    assert default_prior(tfl.Observations.from_dense(np.reshape(values, (2, 2)).astype(float))).name == name


def test_counts_and_ratings_are_told_apart():
    rng = np.random.default_rng(0)
    for mean in (0.7, 3.0, 40.0):
        counts = rng.poisson(mean, (30, 20)).astype(float)
        assert default_prior(tfl.Observations.from_dense(counts)).name == "poisson"
    stars = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], (30, 20), p=[0.05, 0.1, 0.2, 0.4, 0.25])
    assert default_prior(tfl.Observations.from_dense(stars)).name == "normal"
    marks = np.minimum(rng.poisson(9.0, (30, 20)), 12).astype(float)  # full marks are common
    marks[rng.random(marks.shape) < 0.3] = 0.0
    assert marks.var() > marks.mean()
    assert default_prior(tfl.Observations.from_dense(marks)).name == "normal"
    few = tfl.Observations.from_dense(stars[:3, :3])  # nine numbers tell nothing
    assert default_prior(few).name == "poisson"
    constant = tfl.Observations.from_dense(np.full((30, 20), 4.0))
    assert default_prior(constant).name == "poisson"


def test_smooth_modes_are_found():
    x = np.linspace(0, 3, 40)
    rng = np.random.default_rng(0)
    T = (
        np.sin(x)[:, None, None] * rng.normal(size=(1, 30, 1))
        + np.cos(x)[None, None, :]
        + 0.01 * rng.normal(size=(40, 30, 40))
    )
    T[rng.random(T.shape) < 0.8] = np.nan
    obs = tfl.Observations.from_dense(T)
    assert smooth_modes(obs) == (0, 2)
    assert roughness(obs, 1)[0] > 0.6
    assert default_rank(obs.nnz, obs.shape, (0, 2)) > default_rank(obs.nnz, obs.shape)


def kinds(seed):
    """(name, data, mean): the mean is what an oracle would fill in, None where only the data are known."""
    rng = np.random.default_rng(seed)
    mean = tfl.CP([rng.uniform(0.2, 1.0, (n, 2)) for n in (14, 12, 10)]).full()
    yield "counts", rng.poisson(20 * mean).astype(float), 20 * mean
    yield "reals", rng.normal(mean - mean.mean(), 0.05), mean - mean.mean()
    yield "positive", mean * rng.gamma(20.0, 1 / 20.0, mean.shape), mean
    yield "yes/no", (rng.random(mean.shape) < mean / mean.max()).astype(float), None
    yield "pure noise", rng.normal(size=(14, 12, 10)), None
    yield "noise counts", rng.poisson(3.0, (14, 12, 10)).astype(float), None
    main = rng.normal(size=(14, 1, 1)) + rng.normal(size=(1, 12, 1)) + np.zeros((14, 12, 10))
    yield "additive", main + 0.1 * rng.normal(size=main.shape), None
    yield "huge unit", 1e9 * rng.normal(mean, 0.05), 1e9 * mean
    yield "tiny unit", 1e-9 * rng.normal(mean, 0.05), 1e-9 * mean


@pytest.mark.parametrize("seed", [0])
def test_never_worse_than_the_per_mode_means(seed, monkeypatch):
    for kind, truth, mean in kinds(seed):
        T = truth.copy()
        T[np.random.default_rng(seed + 50).random(T.shape) < 0.5] = np.nan
        gaps = np.isnan(T)
        done = tfl.complete(T, seed=seed)
        ours, means = done.estimate[gaps], mode_means_fill(T)[gaps]
        assert rmse(ours, truth[gaps]) <= 1.04 * rmse(means, truth[gaps]), kind
        if mean is not None:
            assert rmse(ours, mean[gaps]) < 0.85 * rmse(means, mean[gaps]), kind


def waves(noise, seed=0, shape=(60, 70, 4)):
    """A smooth field, and the same with noise."""
    y, x = (np.linspace(0, 1, n) for n in shape[:2])
    clean = np.sin(5 * y[:, None] + 3 * x**2)[:, :, None] * np.linspace(0.5, 1.5, shape[2])
    return clean, clean + noise * np.random.default_rng(seed).standard_normal(shape)


def test_grain_is_the_noise_of_a_field():
    for noise, share in [(0.2, 0.5), (0.5, 0.3), (1.0, 0.06)]:
        T = waves(noise)[1]
        T[np.random.default_rng(1).random(T.shape) >= share] = np.nan
        ratio, sigma = noise_level(tfl.Observations.from_dense(T), (0, 1))
        assert ratio > CLEAN
        assert sigma == pytest.approx(noise, rel=0.15)
    T = waves(0.0)[1]
    T[np.random.default_rng(1).random(T.shape) >= 0.3] = np.nan
    ratio, sigma = noise_level(tfl.Observations.from_dense(T), (0, 1))
    assert ratio < 0.2
    assert sigma < 0.02
    few = tfl.Observations.from_coo(np.array([[0, 0], [5, 5], [9, 2]]), np.array([1.0, 2.0, 3.0]), (10, 10))
    assert np.isnan(noise_level(few, (0, 1))[0])


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5])
def test_a_noisy_field_is_not_followed_into_its_noise(noise, monkeypatch):
    clean, T = waves(noise)
    known = np.random.default_rng(1).random(T.shape) < 0.3
    done = tfl.complete(np.where(known, T, np.nan))
    assert rmse(done.estimate[~known], clean[~known]) < 0.4 * noise
    assert done.error == pytest.approx(noise, rel=0.15)  # what it says of itself


@pytest.mark.parametrize(("noise", "seed"), [(0.3, 0), (0.4, 1), (1.0, 2)])
def test_additive_ramps_are_filled_no_worse_than_by_the_means(noise, seed):
    rng = np.random.default_rng(seed)
    ramps = np.linspace(0, 1, 60)[:, None, None] + np.linspace(0, 2, 50)[:, None] + np.array([0, 0.3, 0.6])
    T = ramps + noise * rng.standard_normal(ramps.shape)
    known = rng.random(T.shape) < 0.3
    holes = np.where(known, T, np.nan)
    done = tfl.complete(holes)
    assert rmse(done.estimate[~known], T[~known]) <= 1.005 * rmse(mode_means_fill(holes)[~known], T[~known])


def test_a_clean_picture_is_compared_with_the_means_and_fitted_with_all_its_entries():
    clean, _ = waves(0.0, shape=(40, 44, 3))
    picture = (127 + 60 * clean).astype(np.uint8)
    known = np.random.default_rng(1).random(clean.shape) < 0.3
    plain = tfl.complete(picture, mask=known)
    assert plain.error < 5  # from a fit of its own
    assert {row.method for row in plain.tried if np.isfinite(row.error)} == {"means", "field"}
    np.testing.assert_array_equal(plain.estimate, tfl.complete(picture, mask=known, method="field").estimate)
    assert np.isnan(tfl.complete(clean, mask=known, held_out=0.0, passes=0).error)


@pytest.mark.parametrize(
    ("T", "kw", "sentence"),
    [
        (np.random.default_rng(0).normal(size=(9, 8, 7)), {"tv": 0.1}, "tv is for fields, and fewer than two modes"),
        (np.random.default_rng(0).normal(size=(9, 8, 7)), {"passes": 3}, "passes is for fields"),
    ],
)
def test_what_would_not_be_used_is_refused(T, kw, sentence):
    with pytest.raises(ValueError, match=sentence):
        tfl.complete(T, **kw)


def test_a_noisy_field_stops_in_time_and_resumes_to_the_bit(tmp_path):
    T = waves(0.3)[1]
    known = np.random.default_rng(1).random(T.shape) < 0.3
    holes = np.where(known, T, np.nan)
    whole = tfl.complete(holes)
    calls = 0

    def stop(state, history):
        nonlocal calls
        calls += 1
        return calls > 150  # in the midst of a fit

    cut = tfl.complete(holes, checkpoint=tmp_path / "run.npz", callback=stop)
    assert cut.status.name == "CALLBACK"
    assert np.isfinite(cut.estimate).all()
    assert np.array_equal(cut.completed[known], T[known])
    again = tfl.complete(holes, checkpoint=tmp_path / "run.npz", resume=True)
    assert np.array_equal(again.estimate, whole.estimate)
    short = tfl.complete(holes, seconds=0.2)
    assert short.status.name == "TIME"


def rmse(a, b):
    return np.sqrt(np.mean((a - b) ** 2))


@pytest.mark.parametrize("shape", [(20, 15), (8, 6, 5, 4), (4, 4, 4, 3, 3)])
def test_any_order(shape):
    rng = np.random.default_rng(1)
    T = tfl.CP([rng.uniform(0.5, 1.5, (n, 2)) for n in shape]).full()
    holes = np.where(rng.random(shape) < 0.7, T, np.nan)
    done = tfl.complete(holes)
    gaps = np.isnan(holes)
    assert np.sqrt(np.mean((done.completed - T)[gaps] ** 2)) < 0.5 * T[gaps].std()


@pytest.mark.parametrize("T", [[[1.0, np.nan], [2.0, 3.0]], [[5.0, 5.0], [5.0, np.nan]], [[np.nan, 0.0], [0.0, 0.0]]])
def test_tiny_and_constant_data(T):
    done = tfl.complete(np.array(T))
    assert np.isfinite(done.completed).all()
    low, high = np.nanmin(T), np.nanmax(T)
    assert low - 1 <= done.completed.min() <= done.completed.max() <= high + 1


def test_same_seed_same_bits():
    rng = np.random.default_rng(0)
    T = rng.poisson(5.0, (10, 9, 8)).astype(float)
    T[rng.random(T.shape) < 0.5] = np.nan
    assert np.array_equal(tfl.complete(T, seed=3).estimate, tfl.complete(T, seed=3).estimate)


def test_placeholder_invariance_through_the_front_door():
    rng = np.random.default_rng(0)
    T, mask = rng.poisson(5.0, (10, 9, 8)).astype(float), rng.random((10, 9, 8)) < 0.5
    a, b = (tfl.complete(np.where(mask, T, p), mask=mask).estimate for p in (0.0, 1e30))
    assert np.array_equal(a, b)


def test_picture_by_default():
    """A smooth synthetic picture with 70 % of its voxels missing comes back far better than by linear interpolation."""
    y, x = np.mgrid[0:48, 0:40] / 40
    picture = np.stack([np.sin(5 * x + k) * np.cos(4 * y - k) * 90 + 128 for k in range(3)], axis=2).astype(np.uint8)
    mask = np.random.default_rng(0).random(picture.shape) < 0.3
    done = tfl.complete(picture, mask=mask, rank=30, max_iter=300)
    assert done.completed.dtype == np.uint8
    error = (done.completed.astype(float) - picture)[~mask]
    assert np.sqrt(np.mean(error**2)) < 6.0


@pytest.mark.parametrize(
    ("kw", "sentence"),
    [
        ({"method": "halrct"}, "method must be one of auto"),
        ({"rnak": 3}, "Did you mean 'rank'"),
        ({"effort": "extreme"}, "effort must be one of quick, normal, best"),
        ({"prior": "gama"}, "Did you mean 'gamma'"),
        ({"smooth": {"hour": 1.0}}, "dimension must be one of mode0"),
        ({"method": "sptc", "effort": "best"}, "belongs to method"),
    ],
)
def test_bad_arguments_get_a_sentence(kw, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        tfl.complete(np.ones((4, 5)), **kw)


@pytest.mark.parametrize("prior", ["poisson", "bernoulli-logit", "gamma", "negative-binomial"])
def test_matching_prior_beats_normal_on_held_out_deviance(prior):
    """Data sampled from the prior around a low-rank mean: the matching prior must win over Normal, seed after seed."""
    from problems import make_prior

    own = make_prior(prior)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shape = (30, 25, 12)
        if prior == "bernoulli-logit":
            X = tfl.CP([rng.normal(0, 1.1, (n, 2)) for n in shape]).full()
        else:
            X = tfl.CP([rng.gamma(1.5, 1.0, (n, 2)) + 0.05 for n in shape]).full()
        T = own.sample(X, rng)
        mask = rng.random(shape) < 0.5
        obs = tfl.Observations.from_dense(T, mask)
        penalties = {n: tfl.Ridge(0.05) for n in range(3)}
        solver = tfl.LBFGSB(burst=5)  # short bursts: fifty steps may run past the best model unseen
        kw = {"solver": solver, "seed": seed, "held_out": 0.1, "stopping": tfl.Stopping(max_iter=100, patience=10)}
        fits = {}
        for name, p in (("own", own), ("normal", tfl.Normal(sigma=float(T[mask].std())))):
            fits[name] = tfl.solve(tfl.Problem(obs, rank=2, prior=p, interelement=penalties, quiet=True), **kw)
        deviance = {}
        for name, done in fits.items():
            mean = done.estimate[~mask].astype(float)
            x = np.array([own.start(m) for m in _legal(own, mean, T[mask])])
            deviance[name] = own.nll(T[~mask].astype(float), x).mean()
        assert deviance["own"] < deviance["normal"], seed


def _legal(prior, mean, seen):
    """Means moved to where the prior's link is defined: Normal may predict a negative count or a probability of 1.1."""
    low = 0.01 if prior.t_domain.low >= 0 else -np.inf
    high = 0.99 if prior.t_domain.high == 1 else np.inf
    return np.clip(mean, low, high)


def test_a_slice_without_data_is_filled_like_the_others():
    rng = np.random.default_rng(0)
    mean = 50 * tfl.CP([rng.uniform(0.5, 1.0, (n, 1)) for n in (12, 10, 8)]).full()
    T = rng.poisson(mean).astype(float)
    T[rng.random(T.shape) < 0.3] = np.nan
    T[4] = np.nan
    with pytest.warns(tfl.DataWarning, match="mode0 = 4"):
        done = tfl.complete(T)
    assert done.completed[4].mean() == pytest.approx(np.nanmean(T), rel=0.2)


@pytest.mark.parametrize(
    ("kw", "sentence"),
    [
        ({"smooth": True}, r"smooth must be \{mode: weight\}.*; got True\."),
        ({"smooth": 2.0, "method": "sptc"}, r"smooth must be \{mode: weight\}.*; got 2\.0\."),
        ({"seed": None}, "seed must be a whole number >= 0; got None"),
        ({"seed": -1}, "seed must be a whole number >= 0; got -1"),
        ({"seed": "a"}, "seed must be a whole number >= 0; got 'a'"),
        ({"seed": 1.5}, "seed must be a whole number >= 0; got 1.5"),
        ({"name": "x"}, "settings of method 'auto' must be among .*; got 'name'"),
    ],
)
def test_bad_seeds_and_settings_get_a_sentence(kw, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        tfl.complete(np.ones((4, 5)), **kw)


@pytest.mark.parametrize("method", list(tfl.METHODS))
def test_only_real_settings_are_listed(method):
    with pytest.raises(TypeError, match=f"settings of method '{method}' must be") as error:
        tfl.complete(np.ones((4, 5)), method=method, nonsense=1)
    listed = str(error.value).split(";")[0].replace(",", "").split()
    assert not {"name", "reference", "assumes", "use_when", "default_passes", "default_starts", "peak"} & set(listed)


def test_a_seed_may_be_an_integer_of_numpy():
    T = np.arange(20.0).reshape(4, 5)
    T[1, 2] = np.nan
    done = tfl.complete(T, seed=np.int64(3), max_iter=2)
    assert type(done.settings["seed"]) is int


def test_warning_points_at_the_line_of_the_caller():
    one = np.full((1, 2), np.nan)
    one[0, 0] = 1.0
    with pytest.warns(tfl.DataWarning) as caught:
        tfl.complete(one)
    assert {warning.filename for warning in caught} == {__file__}


def coded(values):
    """A table with a code for missing, a gap, and a row of text beside the numbers."""
    values = values.copy()
    values[[3, 8], 0] = -999.0
    values[5, 1] = np.nan
    return values


WAYS_IN = {
    "array": lambda values: tfl.complete(values),
    "pandas": lambda values: tfl.complete(pd.DataFrame(values, columns=["a", "b", "c"])),
    "text beside": lambda values: tfl.complete(pd.DataFrame(values).assign(note=["x", None] * 10)),
    "observations": lambda values: tfl.complete(tfl.observe(values)),
    "problem": lambda values: tfl.Problem(tfl.observe(np.vstack([values, values[:1] * np.nan])), rank=2),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_every_warning_about_data_points_at_the_line_of_the_caller(way, rng):
    with pytest.warns(tfl.DataWarning, match="-999|no numbers|no observed") as caught:
        WAYS_IN[way](coded(rng.normal(20, 3, (20, 3))))
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("name", ["missing_value", "missing_values", "na_values"])
def test_a_number_that_means_missing_is_marked_by_a_mask(name):
    with pytest.raises(TypeError, match=r"mask=data != -999 \(True = observed\)"):
        tfl.complete(np.eye(3), **{name: -999})


def test_an_empty_slice_is_named_by_its_label(rng):
    table = pd.DataFrame(rng.normal(20, 3, (20, 3)), columns=["rain", "wind", "sun"])
    table["sun"] = np.nan
    with pytest.warns(tfl.DataWarning, match="column 'sun' has no value: left empty"):
        tfl.complete(table)
    days = table[["rain", "wind"]].set_axis(pd.date_range("2024-03-01", periods=20), axis=0)
    days.iloc[4:6] = np.nan
    with pytest.warns(tfl.DataWarning, match="2 slices have .* the first being row = 2024-03-05: .* Leave them out"):
        tfl.complete(days)


def test_a_mask_that_lies_on_its_side_is_told():
    with pytest.raises(ValueError, match=r"got \(6, 4\). Transpose it: mask=numpy.transpose\(mask\)"):
        tfl.complete(np.ones((4, 6, 3)), mask=np.ones((6, 4), dtype=bool))


def test_why_there_are_no_draws_is_said_in_words():
    """Of a series folded by its period it said: its answer is of kind 'refolded'."""
    t = np.arange(240.0)
    t = 0.05 * t + np.sin(2 * np.pi * t / 12) + np.random.default_rng(0).normal(0, 0.1, 240)
    t[50:60] = np.nan
    done = tfl.complete(t, fold={"step": 12}, candidates=["means", "gaussian", "knn"])
    with pytest.raises(
        AttributeError, match=r"its answer is (an array|an ensemble of methods|one fit of a low-rank model)\. Use"
    ):
        done.sample(2)
