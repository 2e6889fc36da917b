"""Facts: what the observations say about themselves."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data import autocorrelation
from tensorfill.data.autocorrelation import period
from tensorfill.data.facts import Facts, compute_facts, is_picture, kind_of_numbers, unit_mode
from tensorfill.data.gaps import GAPS, STEPS, kinds_at, slice_modes, steps_to_known
from tensorfill.io.files import read


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 1, 0], "yes/no"),
        ([0, 1, 7, 2], "counts"),
        ([0.5, 1.2, 3.0, 2.2], "amounts"),
        ([-1.0, 0.3, 2.0, 0.0], "reals"),
        ([290.0, 291.5, 288.2, 290.1], "reals"),
        ([4.0] * 15 + [5.0] * 60 + [1.0] * 10, "scale"),
    ],
)
def test_kinds_of_numbers(values, kind):
    assert kind_of_numbers(np.array(values, dtype=float)) == kind


def hourly(days=20, noise=0.3, missing=0.3, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(24 * days)
    T = np.sin(2 * np.pi * t / 24)[:, None] * [1.0, 2.0, 0.5] + noise * rng.normal(size=(len(t), 3))
    T[rng.random(T.shape) < missing] = np.nan
    return T


def gap_kinds(observed, ordered):
    """The kind of gap of each entry, full shape, from distances: what `kinds_at` is compared with."""
    kinds = np.zeros(observed.shape, dtype=np.uint8)
    if ordered:
        distance = np.full(observed.shape, np.iinfo(np.int32).max, dtype=np.int32)
        for n in ordered:
            np.minimum(distance, steps_to_known(observed, n), out=distance)
        kinds = np.searchsorted(STEPS, distance, side="left").astype(np.uint8)
    for n in slice_modes(observed.shape):
        others = tuple(m for m in range(observed.ndim) if m != n)
        unseen = ~observed.any(axis=others, keepdims=True)
        kinds[np.broadcast_to(unseen, observed.shape)] = len(GAPS) - 1
    return kinds


def test_a_day_is_found():
    assert period(tfl.observe(hourly()), 0) == 24


@pytest.mark.parametrize("seed", range(5))
def test_noise_and_wandering_have_no_period(seed):
    rng = np.random.default_rng(seed)
    assert period(tfl.observe(rng.normal(size=(200, 5))), 0) is None
    assert period(tfl.observe(np.cumsum(rng.normal(size=(200, 5)), axis=0)), 0) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_year_is_found_where_half_is_missing(seed):
    rng, steps = np.random.default_rng(seed), np.arange(240)
    T = np.sin(2 * np.pi * steps / 12) + rng.normal(0, 0.3, 240)
    assert period(tfl.observe(np.where(rng.random(240) < 0.5, np.nan, T)), 0) == 12


@pytest.mark.parametrize("seed", range(4))
def test_halves_of_a_year_that_are_alike_are_no_period(seed):
    """Electrical equipment, monthly: half-years correlate by .66 and years by .91, and six months were taken."""
    half, other = np.random.default_rng(3).normal(size=(2, 6))
    year = np.concatenate([half + 0.35 * other, half - 0.35 * other])
    T = np.tile(year, 20) + 0.1 * np.random.default_rng(seed).normal(size=240)
    assert period(tfl.observe(T), 0) == 12
    assert period(tfl.observe(np.tile(half, 40) + 0.1 * np.random.default_rng(seed).normal(size=240)), 0) == 6


@pytest.mark.parametrize("seed", range(5))
def test_noise_of_which_half_is_missing_has_no_period(seed):
    rng = np.random.default_rng(seed)
    noise = np.where(rng.random((100, 2)) < 0.5, np.nan, rng.normal(size=(100, 2)))
    assert period(tfl.observe(noise), 0) is None


def test_gaps_are_told_by_how_far_a_known_entry_is():
    known = np.ones((10, 3), dtype=bool)
    known[3, 0] = False
    known[2:9, 1] = False
    kinds = gap_kinds(known, (0,))
    assert kinds[3, 0] == 0
    np.testing.assert_array_equal(kinds[2:9, 1], [0, 1, 1, 2, 1, 1, 0])
    assert not gap_kinds(known, ()).any()
    known[:, 2] = False
    assert (gap_kinds(known, (0,))[:, 2] == len(GAPS) - 1).all()


def test_kinds_of_some_gaps_are_those_of_all():
    rng = np.random.default_rng(0)
    for share in (0.05, 0.4):
        known = rng.random((7, 9, 4)) < share
        known[:, 0, 0] = False
        known[2] = False
        for ordered in ((), (1,), (0, 2)):
            want = gap_kinds(known, ordered)[~known]
            np.testing.assert_array_equal(kinds_at(known, np.flatnonzero(~known), ordered), want)


def test_steps_to_the_nearest_known_entry_against_all_distances():
    rng = np.random.default_rng(0)
    known = rng.random((7, 9, 4)) < 0.4
    known[:, 0, 0] = False
    for mode in range(3):
        steps = np.moveaxis(steps_to_known(known, mode), mode, -1)
        for fibre, found in zip(
            np.moveaxis(known, mode, -1).reshape(-1, known.shape[mode]),
            steps.reshape(-1, known.shape[mode]),
            strict=True,
        ):
            at = np.flatnonzero(fibre)
            for i in range(len(fibre)):
                assert found[i] == np.abs(at - i).min() if len(at) else found[i] > 1000


def test_facts_of_a_table_over_time():
    T = hourly()
    facts = compute_facts(tfl.observe(T, dims=("hour", "sensor")))
    assert facts.modes[0].period == 24
    assert facts.modes[0].smooth
    assert facts.modes[1].channels
    assert facts.numbers == "reals"
    assert facts.smooth == facts.ordered == (0,)
    assert sum(facts.gaps.values()) == pytest.approx(1.0)
    words = str(facts)
    assert "repeats every 24" in words
    assert "hour 480 x sensor 3" in words
    assert Facts.from_settings(facts.settings()).modes == facts.modes


def test_moments_are_no_variables():
    """Where a variable is missing for a while, the moments without it spread less: that is no unit of theirs."""
    rng = np.random.default_rng(0)
    T = rng.normal(size=(300, 12)) * np.where(np.arange(12) == 0, 1000.0, 1.0)
    T[50:150, 0] = np.nan
    facts = compute_facts(tfl.observe(T))
    assert facts.uneven == 1
    assert facts.units == unit_mode(tfl.observe(T)) != 0  # they once were the units in which the error was told


def test_pictures_are_known_by_their_type_and_names():
    rng = np.random.default_rng(0)
    photo = rng.integers(0, 256, (40, 50, 3)).astype(np.uint8)
    assert is_picture(tfl.observe(photo))
    assert not is_picture(tfl.observe(photo.astype(float)))
    assert is_picture(tfl.observe(photo.astype(float), dims=("row", "column", "channel")))
    assert not is_picture(tfl.observe(rng.integers(1, 6, (40, 50)).astype(np.uint8)))  # stars
    assert not is_picture(tfl.observe(photo[:8, :8]))


@pytest.mark.parametrize("unit", [1.0, 1 / 255, np.float32(1 / 255)])
def test_pixels_as_floats_are_a_picture(unit):
    """Whatever the type of the numbers, with gaps as NaN."""
    rng = np.random.default_rng(0)
    grey = np.round(np.cumsum(rng.normal(size=(60, 50)), axis=0).cumsum(axis=1))
    grey = np.round(255 * (grey - grey.min()) / np.ptp(grey))
    T = (grey * unit).astype(np.result_type(unit))
    T[rng.random(T.shape) < 0.9] = np.nan
    assert is_picture(tfl.observe(T))
    assert not is_picture(tfl.observe(T, dims=("station", "hour")))
    assert not is_picture(tfl.observe(T * 1.001))  # may be of low rank
    assert not is_picture(tfl.observe(T - T.dtype.type(300 * unit)))
    assert not is_picture(tfl.observe(T[:, :24]))  # days x hours
    assert not is_picture(tfl.observe(rng.permutation(T.reshape(-1)).reshape(T.shape)))


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv", "parquet", "xlsx"])
def test_a_table_is_no_picture(kind, tmp_path):
    """Its modes are called row and column, as those of a picture are."""
    T = np.random.default_rng(0).normal(size=(40, 30))
    names = [f"x{n}" for n in range(T.shape[1])]
    table = pytest.importorskip("pandas").DataFrame(T, columns=names)
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame(T, schema=names)
    if kind in ("pandas", "polars"):
        obs = tfl.observe(table)
    else:
        pytest.importorskip({"csv": "csv", "parquet": "pyarrow", "xlsx": "openpyxl"}[kind])
        path = tmp_path / f"table.{kind}"
        getattr(table, {"csv": "to_csv", "parquet": "to_parquet", "xlsx": "to_excel"}[kind])(path, index=False)
        obs = read(path).observations()
    assert obs.dims == ("row", "column")
    assert not is_picture(obs)
    assert not is_picture(obs.subset(np.arange(obs.nnz) % 2 == 0))


def test_what_lies_under_the_mask_changes_no_fact():
    T = hourly()
    known = ~np.isnan(T)
    a, b = (compute_facts(tfl.observe(np.where(known, T, fill), mask=known)) for fill in (0.0, 1e30))
    assert str(a) == str(b)


def test_a_long_series_is_looked_through_where_it_is_known_best(monkeypatch):
    """Of 10^7 steps, all were: half a minute for a period of 24."""
    monkeypatch.setattr(autocorrelation, "STRETCH", 240)
    T = np.sin(np.arange(1000) * 2 * np.pi / 24)[:, None]
    T[:700] = np.nan
    obs = tfl.Observations.from_dense(T)
    assert len(autocorrelation._best_fibres(obs, 0)[0]) == 240
    assert autocorrelation.period(obs, 0) == 24
