"""What `complete` decides, and what must not change its mind: weights, limits, units, slices never seen, stops."""

import dataclasses
import functools

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.facts import compute_facts
from tensorfill.data.holdout import split_like_gaps
from tensorfill.methods.image.field import is_clean
from tensorfill.methods.lowrank.low_rank import LowRank
from tensorfill.models.unseen import distance_to_seen, fill_unseen
from tensorfill.solvers.fit import Fit


def low_rank(shape=(20, 16), rank=2, missing=0.3, seed=0):
    rng = np.random.default_rng(seed)
    T = tfl.CP([rng.normal(size=(n, rank)) for n in shape]).full()
    return T, rng.random(shape) >= missing


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def fill(T, known, **given):
    return tfl.complete(np.where(known, T, np.nan), **given)


# --- weights and units -------------------------------------------------------------------------------------------


@functools.cache
def usual(prior=None):
    """What `low_rank` data give as they are: what weights and units must not change."""
    return fill(*low_rank(), prior=prior, rank=2).estimate


@pytest.mark.parametrize("weight", [1e-6, 1e3])
def test_only_the_relation_of_weights_counts(weight):
    T, known = low_rank()
    plain = usual()
    weighted = fill(T, known, rank=2, weights=np.full(T.shape, weight))
    np.testing.assert_allclose(weighted.estimate, plain, atol=1e-6)
    assert weighted.observations.weights[0] == weight  # what was given is kept


@pytest.mark.parametrize("unit", [1e-9, 1e9, 1e20])
@pytest.mark.parametrize("prior", [None, "normal", "student-t", "huber"])
def test_the_unit_of_the_data_does_not_matter(unit, prior):
    T, known = low_rank()
    other = fill(T * unit, known, prior=prior, rank=2).estimate
    assert rms((other / unit - T)[~known]) < 1.5 * rms((usual(prior) - T)[~known]) + 0.01


@pytest.mark.parametrize("prior", ["huber", "student-t"])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_robust_priors_by_name_ignore_outliers_in_any_unit(prior, unit):
    T, known = low_rank(missing=0.3)
    rng = np.random.default_rng(1)
    wild = rng.random(T.shape) < 0.04
    spoilt = np.where(wild, T + 15 * rng.choice([-1, 1], T.shape), T) * unit
    robust, plain = (fill(spoilt, known, prior=p, rank=2).estimate / unit for p in (prior, "normal"))
    assert rms((robust - T)[~known]) < 0.5 * T.std()
    assert rms((robust - T)[~known]) < 0.6 * rms((plain - T)[~known])


# --- rank and the means ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [2, 4, 8])
def test_with_a_rank_given_the_means_are_still_those_of_the_modes(rank):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(25, 1)) * np.ones((1, 12))
    known = rng.random(rows.shape) >= 0.3
    done = fill(rows + 1.5 * rng.normal(size=rows.shape), known, rank=rank)
    assert rms(done.estimate - rows) < 0.7  # a constant is off by 1


def test_few_numbers_and_a_rank_are_fitted():
    T = np.outer([-2.0, 1.0, 3.0, 4.0, 0.5, 6.0], [1.0, 2.0, -1.0, 3.0])
    known = np.ones(T.shape, dtype=bool)
    known[3, 1] = known[5, 3] = False
    for seed in (0, 1):
        done = fill(T, known, rank=1, prior="normal", seed=seed)
        assert done.rank == 1
        np.testing.assert_allclose(done.estimate[~known], T[~known], rtol=0.05)


@pytest.mark.parametrize("T", [np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), np.add.outer([0, 1, 2, 5.0], [0.5, -1, 3])])
def test_a_handful_of_numbers_with_a_pattern(T):
    known = np.ones(T.shape, dtype=bool)
    known[0, 2] = False
    assert abs(fill(T, known).estimate[0, 2] - T[0, 2]) < 0.1


def test_a_handful_of_noise_has_no_pattern():
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        T, known = rng.normal(size=(6, 6)), rng.random((6, 6)) >= 0.25
        ratios.append(rms((fill(T, known).estimate - T)[~known]) / rms((T[known].mean() - T)[~known]))
    assert max(ratios) < 1.5
    assert np.mean(ratios) < 1.2


def test_best_effort_serves_tables_too():
    T, known = low_rank()
    done = fill(T, known, effort="best", rank=2)
    assert done.method == "auto-best"
    assert rms((done.estimate - T)[~known]) < 0.1


# --- limits ------------------------------------------------------------------------------------------------------


def test_a_limit_that_does_not_bind_changes_nothing():
    y, x = np.mgrid[0:1:30j, 0:1:30j]
    T = np.sin(4 * x + 2 * y) + 0.4 * np.random.default_rng(0).normal(size=x.shape)
    known = np.random.default_rng(1).random(T.shape) >= 0.5
    free, limited = fill(T, known), fill(T, known, max_iter=10**6)
    np.testing.assert_array_equal(free.estimate, limited.estimate)


def test_time_is_that_of_the_whole_run(monkeypatch, clock):
    step, began = Fit.step, clock.now
    monkeypatch.setattr(Fit, "step", lambda *given: (clock.sleep(0.5), step(*given))[1])
    monkeypatch.setattr("tensorfill.api.perf_counter", lambda: clock.now)
    done = fill(*low_rank())
    assert 5 < done.seconds == pytest.approx(clock.now - began)


def test_few_iterations_are_said_to_be_few():
    T, known = low_rank()
    assert fill(T, known, rank=2, max_iter=2).status is tfl.Status.ITERATIONS


@pytest.mark.parametrize("call", [1, 2, 5, 8])
def test_a_callback_that_says_stop_once_stops_the_run(call):
    T, known = low_rank()
    calls = []

    def callback(state, history):
        calls.append(1)
        return len(calls) == call

    assert fill(T, known, rank=2, callback=callback).status is tfl.Status.CALLBACK
    assert len(calls) == call


def test_ctrl_c_in_the_last_fit_is_reported(monkeypatch):
    T, known = low_rank()
    fit = LowRank.fit

    def interrupted(self, obs, run):
        found = fit(self, obs, run)
        whole = obs.nnz == known.sum()
        return dataclasses.replace(found, status=tfl.Status.INTERRUPTED) if whole else found

    monkeypatch.setattr(LowRank, "fit", interrupted)
    noisy = T + 0.1 * np.random.default_rng(0).normal(size=T.shape)
    assert fill(noisy, known, rank=2).status is tfl.Status.INTERRUPTED


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"ridge": -1.0}, "ridge of method 'auto' must be a number >= 0; got -1.0."),
        ({"ridge": np.nan}, "ridge must be a number or None; got nan."),
        ({"smooth": {0: -5.0}}, "smooth must hold weights >= 0; got -5.0 for mode 0."),
        ({"smooth": {0: 1.0, -2: 50.0}}, "smooth must name each mode once"),
        ({"rank": 2.9}, "rank must be a whole number, a list of whole numbers or None; got 2.9."),
        ({"rank": 0}, "rank must be a whole number >= 1; got 0."),
        ({"starts": 0}, "starts must be a whole number >= 1; got 0."),
        ({"passes": -4}, "passes must be a whole number >= 0; got -4."),
        ({"held_out": -0.1}, "held_out must be a share between 0 and 1"),
        ({"max_iter": 2.5}, "max_iter must be a whole number or None; got 2.5."),
        ({"seconds": 0}, "seconds must be > 0, or None for no limit; got 0."),
        ({"resume": True}, "resume goes on from a checkpoint; name its file"),
        ({"error_bars": 0.999}, "error bars of 0.999 need more than"),
        ({"candidates": ["seasonal"]}, "no candidate can make use of what was given (seasonal: "),
    ],
)
def test_what_cannot_be_used_is_refused(given, sentence):
    T, known = low_rank()
    with pytest.raises((ValueError, TypeError)) as caught:
        fill(T, known, **given)
    assert str(caught.value).startswith(sentence)


# --- time --------------------------------------------------------------------------------------------------------


@pytest.fixture
def usual_time(monkeypatch):
    """As much time for trials as users have."""


@pytest.mark.parametrize("gap", [slice(180, 200), slice(0, 20), slice(90, 110)], ids=["end", "start", "middle"])
@pytest.mark.usefixtures("usual_time")
def test_a_line_goes_on_and_its_error_is_told(gap):
    T = 2.0 * np.arange(200) + np.random.default_rng(0).normal(size=200)
    known = np.ones(200, dtype=bool)
    known[gap] = False
    done = fill(T, known, error_bars=0.9)
    off = rms((done.estimate - T)[gap])
    assert off < 2.0  # the last value known is off by 23
    assert off / 2 < done.error < 3 * off
    low, high = done.interval
    assert ((low <= T) & (high >= T))[gap].mean() > 0.7


@pytest.mark.usefixtures("usual_time")
def test_a_day_of_one_of_two_sensors_is_as_the_other_days():
    rng, hour = np.random.default_rng(0), np.arange(240) % 24
    sun = np.sin((hour - 6) * np.pi / 12)
    T = np.stack([10 + 4 * sun, 15 - 6 * sun], axis=1) + 0.4 * rng.normal(size=(240, 2))
    known = np.ones(T.shape, dtype=bool)
    known[96:120, 0] = False
    done = fill(T, known)
    usual = np.array([T[(hour == h) & known[:, 0], 0].mean() for h in hour[96:120]])
    off = rms((done.estimate - T)[~known])
    assert off < 1.25 * rms(usual - T[96:120, 0])
    assert off / 2 < done.error < 2 * off


@pytest.mark.usefixtures("usual_time")
def test_smooth_series_get_splines():
    t = np.arange(300)
    T = np.stack([np.sin(t / 9), np.cos(t / 14)], axis=1)
    known = np.ones(T.shape, dtype=bool)
    for start in (30, 95, 160, 250):
        known[start : start + 10, start % 2] = False
    done = fill(T, known)
    lines = np.stack([np.interp(t, t[k], x[k]) for x, k in zip(T.T, known.T, strict=True)], axis=1)
    assert rms((done.estimate - T)[~known]) < 0.2 * rms((lines - T)[~known])


# --- slices never seen -------------------------------------------------------------------------------------------


def days(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(90)
    season = 10 * np.cos(t / 15)[:, None, None] * rng.uniform(0.8, 1.2, (1, 3, 4))
    T = season + np.sin(t / 3)[:, None, None] + 0.3 * rng.normal(size=(90, 3, 4))
    known = rng.random(T.shape) >= 0.1
    known[rng.choice(88, 6, replace=False) + 1] = False
    return T, known


def test_days_without_data_lie_between_their_neighbours():
    T, known = days()
    whole = ~known.any(axis=(1, 2))
    done = fill(T, known, error_bars=0.9, rank=4)
    assert rms((done.estimate - T)[whole]) < 1.0  # the season spreads by 7
    low, high = done.interval
    inside = (low <= T) & (high >= T)
    assert inside[whole].mean() > 0.7
    assert inside[~known].mean() > 0.8


def test_whole_slices_are_set_aside_where_whole_slices_are_missing():
    T, known = days()
    obs = tfl.observe(np.where(known, T, np.nan))
    kept, aside = split_like_gaps(obs, 0.1, np.random.default_rng(0))
    assert len(kept.empty_slices()) > len(obs.empty_slices())
    assert 0.05 * obs.nnz < aside.nnz < 0.2 * obs.nnz
    assert kept.nnz + aside.nnz == obs.nnz
    part = 6 * 12 / (~known).sum()  # of what is missing
    new = set(kept.empty_slices()) - set(obs.empty_slices())
    held = np.isin(aside.indices[:, 0], [i for _, i in new]).mean()
    assert abs(held - part) < 0.25


def test_a_mode_of_length_one_leaves_something_to_fit():
    T = np.full((40, 40, 1), np.nan)
    T[5:15, 5:15] = np.random.default_rng(0).normal(size=(10, 10, 1))
    for seed in range(5):
        kept, aside = split_like_gaps(tfl.observe(T), 0.1, np.random.default_rng(seed))
        assert kept.nnz > 50
        assert aside.nnz >= 1


def test_a_channel_never_seen_is_an_average_one():
    y, x = np.mgrid[0:1:32j, 0:1:32j]
    T = 100 + 30 * np.sin(3 * x + y)[:, :, None] * np.array([1.0, 0.9, 1.1, 1.0])
    known = np.random.default_rng(0).random(T.shape) >= 0.5
    known[:, :, 2] = False
    with pytest.warns(tfl.problem.DataWarning, match="channel|mode2 = 2"):
        done = fill(T, known)
    assert abs(done.estimate[:, :, 2].mean() - T.mean()) < 5


def test_rows_never_seen():
    obs = tfl.Observations.from_coo([[1, 0], [3, 0], [1, 1]], [1.0, 2.0, 3.0], (6, 2))
    A = np.array([[9.0], [1.0], [9.0], [3.0], [9.0], [9.0]])
    B = np.ones((2, 1))
    between = fill_unseen(obs, [A, B], smooth=[0])[0][:, 0]
    np.testing.assert_allclose(between, [1, 1, 2, 3, 3, 3])
    average = fill_unseen(obs, [A, B])[0][:, 0]
    np.testing.assert_allclose(average, [2, 1, 2, 3, 2, 2])
    assert fill_unseen(obs, [A, B], leave=[0])[0] is A
    np.testing.assert_array_equal(distance_to_seen(obs, 0), [1, 0, 1, 0, 1, 2])
    one = tfl.Observations.from_coo([[1, 0]], [1.0], (3, 1))
    np.testing.assert_allclose(fill_unseen(one, [A[:3], B[:1]], smooth=[0])[0][:, 0], [1, 1, 1])


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_smooth_column_among_rough_ones_is_followed_and_its_error_told(everywhere):
    """Five columns of noise, and a sine with gaps in it alone, or in all columns."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        T = rng.normal(size=(300, 6))
        T[:, 2] = np.sin(np.arange(300) / 15 + seed) + 0.02 * rng.normal(size=300)
        gaps = rng.random(T.shape) < 0.25
        gaps[:, np.arange(6) != 2] &= everywhere
        done = tfl.complete(np.where(gaps, np.nan, T))
        off = (done.completed - T) ** 2 * gaps
        assert np.sqrt(off[:, 2].sum() / gaps[:, 2].sum()) < 0.15  # 0.7 is its spread
        assert 0.5 < done.error / np.sqrt(off.sum() / gaps.sum()) < 2


def test_a_clean_picture_is_a_field_but_a_wall_of_equal_stones_may_be_anything():
    """Neighbours in it are not alike, so that it may be anything: held-out entries decide."""
    rng = np.random.default_rng(0)
    stone = rng.integers(0, 256, (16, 16, 3))
    wall = np.tile(stone, (6, 6, 1)).astype(np.uint8)
    y, x = np.mgrid[0:96, 0:96]
    hill = np.stack([127 + 100 * np.sin(x / 20 + k) * np.cos(y / 25) for k in range(3)], axis=2).astype(np.uint8)
    for picture, clean in ((hill, True), (wall, False)):
        obs = tfl.Observations.from_dense(picture, rng.random(picture.shape) > 0.8)
        facts = compute_facts(obs)
        assert facts.picture
        assert is_clean(facts) == clean


def test_former_names_of_candidates_still_work_and_say_the_new_one():
    T, known = low_rank()
    with pytest.warns(FutureWarning, match="candidate .columns. is now called gaussian") as told:
        done = fill(T, known, candidates=["columns"])
    assert told[0].filename == __file__  # the user's line, not one of ours
    assert {row.name.split()[0] for row in done.tried if row.weight} == {"gaussian"}


def test_outliers_are_borne():
    """One entry in twenty is far off: the normal posterior follows them, Student's t does not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 20))
    T = X + 0.05 * rng.normal(size=X.shape)
    T[rng.random(X.shape) < 0.05] += 15 * X.std()
    known = rng.random(X.shape) < 0.7
    done = fill(T, known)
    assert rms((done.estimate - X)[~known]) < 0.1 * X.std()
    assert max(done.tried, key=lambda row: row.weight).name.startswith("bayes, Student's t")
