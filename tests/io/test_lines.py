"""One series alone: it goes in and comes out as one, and its period is its second mode."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.autocorrelation import period
from tensorfill.data.fold import fold_of_line

STEPS = np.arange(24 * 8)
DAILY = 10 + 5 * np.sin((STEPS % 24 - 6) * np.pi / 12) + np.random.default_rng(0).normal(0, 0.3, len(STEPS))
HIDDEN = np.isin(STEPS // 24, (3,)) | (STEPS % 17 == 0)  # a whole day, and single hours
GIVEN = np.where(HIDDEN, np.nan, DAILY)


def as_type(kind):
    """(the series in a type, its numbers back)."""
    if kind == "list":
        return list(GIVEN)
    if kind == "masked":
        return np.ma.masked_invalid(GIVEN)
    if kind == "pandas":
        pd = pytest.importorskip("pandas")
        return pd.Series(GIVEN, index=pd.date_range("2024-01-01", periods=len(GIVEN), freq="h"), name="temperature")
    if kind == "xarray":
        xr = pytest.importorskip("xarray")
        return xr.DataArray(GIVEN, dims="hour", coords={"hour": STEPS}, name="temperature", attrs={"units": "C"})
    if kind == "polars":
        return pytest.importorskip("polars").Series("temperature", [None if np.isnan(t) else float(t) for t in GIVEN])
    return GIVEN


@pytest.mark.parametrize("kind", ["array", "list", "masked", "pandas", "xarray", "polars"])
def test_a_series_comes_back_as_a_series(kind):
    data = as_type(kind)
    done = tfl.complete(data, method="halrtc")
    for out in (done.completed, done.estimate):
        assert isinstance(out, type(data) if kind != "list" else np.ndarray)
        assert np.asarray(out).shape == GIVEN.shape
    assert np.array_equal(np.asarray(done.completed)[~HIDDEN], DAILY[~HIDDEN])
    if kind in ("pandas", "xarray", "polars"):
        assert done.completed.name == "temperature"
    if kind == "pandas":
        assert done.completed.index.equals(data.index)
        assert done.observations.dims == ("step", "value")
    if kind == "xarray":
        assert done.completed.dims == ("hour",)
        assert done.completed.attrs == {"units": "C"}


def test_a_day_without_a_reading_is_like_the_other_days():
    """As rows x one column there was nothing but the mean and the line between its ends: an error of 3 and more."""
    done = tfl.complete(GIVEN)
    error = np.sqrt(np.mean((done.completed - DAILY)[HIDDEN] ** 2))
    assert error < 0.5
    assert "step folded into 8 x 24" in repr(tfl.complete(GIVEN, method="halrtc"))  # it has no other way
    assert (tfl.complete(DAILY, mask=~HIDDEN).completed == done.completed).all()


def test_gaps_that_stay_and_what_is_to_come():
    stays = tfl.complete(GIVEN, max_gap=5, method="halrtc").completed
    assert np.isnan(stays).sum() == 24
    pd = pytest.importorskip("pandas")
    done = tfl.complete(as_type("pandas"), horizon=24, effort="quick").completed
    assert len(done) == len(GIVEN) + 24
    assert done.index[-1] - done.index[-2] == pd.Timedelta(hours=1)
    assert np.sqrt(np.mean((done.to_numpy()[-24:] - DAILY[:24]) ** 2)) < 1.5  # the mean is off by 3.5


def test_saved_and_asked_for_single_entries(tmp_path):
    done = tfl.complete(GIVEN, method="halrtc")
    done.save(tmp_path / "run.npz")
    again = tfl.Completion.load(tmp_path / "run.npz")
    assert np.array_equal(again.completed, done.completed)
    assert again.completed.shape == GIVEN.shape
    for where in ([3, 4, 5], [[3], [4], [5]], [[3, 0], [4, 0], [5, 0]]):
        assert np.array_equal(done.at(where), done.estimate[3:6])


def test_pictures_of_a_series():
    done = tfl.complete(GIVEN, method="halrtc")
    assert done.plot(truth=DAILY).axes
    with pytest.raises(ValueError, match="truth must have the shape"):
        done.plot(truth=DAILY[:-1])


def test_refusals():
    with pytest.raises(ValueError, match=r"mask must have the shape of the data, \(192,\)"):
        tfl.complete(DAILY, mask=HIDDEN[:50])
    with pytest.raises(ValueError, match="dims must be one name"):
        tfl.complete(GIVEN, dims=("day", "hour"))
    with pytest.raises(ValueError, match="at least one entry"):
        tfl.complete([])
    assert tfl.observe(GIVEN, dims="hour").dims == ("hour", "value")


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_the_fold_does_not_depend_on_the_unit(size):
    fold = fold_of_line(tfl.observe(GIVEN * size))
    assert fold is not None
    assert fold.lengths == (8, 24)


def test_what_changes_slowly_has_no_period():
    """The changes of a slow wave are alike over a few steps, and noise makes one of them stand out: no return."""
    steps = np.arange(300)
    slow = np.where(np.random.default_rng(0).random(300) < 0.2, np.nan, 10 * np.sin(steps / 15) + steps / 30)
    assert period(tfl.observe(slow), 0) != 4


@pytest.mark.parametrize("length", [7, 12, 24])
def test_noise_does_not_move_a_period(length):
    """Of 40 draws of hourly series 12 were said to repeat every 23, 25, 48 or 72, of monthly ones 17 every 24."""
    steps = np.arange(240)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        wave = np.stack([np.sin(2 * np.pi * steps / length + k) for k in (0, 3)], axis=1)
        noise = {7: 0.3, 12: 0.3, 24: 0.08}[length]
        T = np.where(rng.random((240, 2)) < 0.1, np.nan, wave + rng.normal(0, noise, (240, 2)))
        assert period(tfl.observe(T), 0) == length
