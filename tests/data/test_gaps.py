"""Entries set aside in the way in which others are missing."""

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt, gaussian_filter

import tensorfill as tfl
from tensorfill.data.gaps import clustering, has_clustered_gaps
from tensorfill.data.holdout import gap_numbers, split_like_gaps
from tensorfill.data.masks import random_entries, random_fibres


def clouds(shape=(60, 70), share=0.35, seed=0):
    noise = gaussian_filter(np.random.default_rng(seed).normal(size=shape), 4)
    return noise < np.quantile(noise, 1 - share)


def observed(mask):
    return tfl.Observations.from_dense(np.arange(mask.size, dtype=float).reshape(mask.shape), mask)


MASKS = {
    "entries": (random_entries((20, 18, 16), 0.6), False),
    "most entries": (random_entries((40, 40, 3), 0.97), False),
    "none": (np.ones((6, 5), dtype=bool), False),
    "days": (random_fibres((12, 30, 24), 0.3, mode=2), True),
    "pixels": (random_fibres((30, 30, 3), 0.7, mode=2), True),
    "clouds": (clouds(), True),
}


@pytest.mark.parametrize("kind", MASKS)
def test_groups_of_gaps_are_recognised(kind):
    mask, together = MASKS[kind]
    assert has_clustered_gaps(observed(mask)) is together


@pytest.mark.parametrize("kind", [k for k in MASKS if k != "none"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_parts_make_up_the_whole(kind, seed):
    obs = observed(MASKS[kind][0])
    kept, aside = split_like_gaps(obs, 0.2, np.random.default_rng(seed))
    assert 0.08 * obs.nnz < aside.nnz < 0.35 * obs.nnz
    assert sorted([*kept.values, *aside.values]) == list(obs.values)
    if has_clustered_gaps(obs):
        assert len(kept.empty_slices()) == len(obs.empty_slices())


def test_whole_days_are_set_aside_where_whole_days_are_missing():
    mask = MASKS["days"][0]
    _, aside = split_like_gaps(observed(mask), 0.1, np.random.default_rng(0))
    per_day = aside.mask.sum(axis=2)
    assert set(np.unique(per_day)) == {0, 24}
    assert (per_day > 0).any(axis=1).sum() > 6  # at most stations, not at a few


def test_runs_of_few_series_are_set_aside_as_runs():
    """Moved, the gaps of four series meet at some time; that is no reason to set single entries aside instead."""
    rng = np.random.default_rng(0)
    mask = np.ones((600, 4), dtype=bool)
    for j in range(4):
        for start in rng.integers(0, 590, 14):
            mask[start : start + 12, j] = False
    mask[~mask.any(axis=1), 0] = True
    for seed in range(3):
        kept, aside = split_like_gaps(observed(mask), 0.15, np.random.default_rng(seed))
        assert clustering(observed(~aside.mask))[0] > 0.7
        assert kept.mask.any(axis=1).all()


def lengths(mask):
    """Of the runs of False along the first mode, column by column."""
    ends = np.diff(np.pad(~mask, ((1, 1), (0, 0))).astype(int), axis=0)
    return [b - a for column in ends.T for a, b in zip(*(np.flatnonzero(column == s) for s in (1, -1)), strict=True)]


@pytest.mark.parametrize(("shape", "length"), [((240, 2), 24), ((300, 1), 15), ((20_000, 3), 50)])
def test_one_gap_is_reason_enough_to_set_such_gaps_aside(shape, length):
    """Single entries would say that any interpolation will do."""
    mask = np.ones(shape, dtype=bool)
    mask[100 : 100 + length, 0] = False
    for seed in range(3):
        kept, aside = split_like_gaps(observed(mask), 0.15, np.random.default_rng(seed))
        assert aside.nnz >= min(0.1 * mask.size, 20 * length)
        assert set(lengths(~aside.mask)) == {length}
        assert set(lengths(kept.mask)) == {length}  # they meet neither each other nor the gap
        assert kept.mask[[0, -1]].all()  # nor an end, where nothing is missing


@pytest.mark.parametrize("shape", [(200, 1), (200, 4)])
@pytest.mark.parametrize("trailing", [True, False])
def test_what_is_missing_at_an_end_is_set_aside_at_that_end(shape, trailing):
    """Inside a series any interpolation knows more than beyond its end."""
    mask = np.ones(shape, dtype=bool)
    mask[-20:, 0] = False
    for seed in range(3):
        kept, aside = split_like_gaps(observed(mask if trailing else mask[::-1]), 0.15, np.random.default_rng(seed))
        hidden, left = (a.mask if trailing else a.mask[::-1] for a in (aside, kept))
        length = hidden[:, 0].sum()
        assert 10 <= length <= 30
        assert hidden[180 - length : 180, 0].all()
        assert left[: 180 - length, 0].all()
        assert set(hidden[:, 1:].sum(axis=0)) <= {0, 20}  # another series ends there, too
        assert left[:180, 1:].all()


def test_a_forecast_is_judged_by_forecasts():
    """All series end at one time: the last of what is known of all of them is set aside."""
    mask = np.ones((120, 5), dtype=bool)
    mask[-12:] = False
    for seed in range(3):
        _, aside = split_like_gaps(observed(mask), 0.15, np.random.default_rng(seed))
        hidden = np.flatnonzero(aside.mask.all(axis=1))
        assert hidden.max() == 107
        assert np.all(np.diff(hidden) == 1)


def test_blots_are_set_aside_where_blots_are_missing():
    _, aside = split_like_gaps(observed(MASKS["clouds"][0]), 0.1, np.random.default_rng(0))
    inverse = observed(~aside.mask)
    assert min(clustering(inverse)) > 0.4


def test_a_station_by_day_by_hour_table_is_not_taken_for_a_picture():
    """Days and hours are smooth, stations are not; whole days are missing: what other stations had that day counts."""
    rng = np.random.default_rng(2)
    hour, days = np.arange(24), 30
    trend = np.cumsum(rng.normal(0, 1.5, days))
    swing = -np.cos(2 * np.pi * (hour - 3) / 24) * rng.uniform(0.4, 1.3, (days, 1))
    T = rng.normal(0, 4, (10, 1, 1)) + rng.uniform(0.7, 1.2, (10, 1, 1)) * trend[:, None]
    T = T + rng.uniform(2, 6, (10, 1, 1)) * swing + rng.normal(0, 0.4, (10, days, 24))
    known = random_fibres(T.shape, 0.2, mode=2, seed=1)
    done = tfl.complete(np.where(known, T, np.nan))
    assert np.sqrt(np.mean((done.estimate - T)[~known] ** 2)) < 1.2 * 0.4
    assert done.error == pytest.approx(0.4, rel=0.2)


def test_error_bars_hold_under_clouds():
    y, x = np.mgrid[0:60, 0:70] / 60
    T = 50 * np.sin(7 * x) * np.cos(6 * y) + 20 * np.sin(23 * x * y)
    inside = []
    for seed in range(4):
        known = clouds(seed=seed)
        done = tfl.complete(np.where(known, T, np.nan), error_bars=0.9, candidates=["means", "smoother"])
        low, high = done.interval
        inside.append(np.mean((low <= T) & (high >= T), where=~known))
        rim = done.bars.half[~known]
        assert rim.max() > 3 * rim.min()
    # a few blots are a small sample; where some entries of a blot foretell its others it would be far less
    assert np.mean(inside) > 0.85
    assert min(inside) > 0.7


@pytest.mark.parametrize("level", [1013.0, -2e5])
def test_a_constant_added_to_the_data_is_added_to_the_answer(level):
    y, x = np.mgrid[0:1:40j, 0:1:50j]
    T = 12 * np.sin(3 * x + 2 * y) - 8 * np.cos(4 * y - x) * x
    T += 0.02 * np.random.default_rng(0).normal(size=T.shape)  # else it would be met exactly, the level one rank more
    known = random_entries(T.shape, 0.6)
    plain = tfl.complete(np.where(known, T, np.nan), prior="normal")
    moved = tfl.complete(np.where(known, T + level, np.nan))
    np.testing.assert_allclose(moved.estimate - level, plain.estimate, atol=0.25)
    error = [np.sqrt(np.mean((d.estimate - T - c)[~known] ** 2)) for d, c in ((plain, 0), (moved, level))]
    assert error[1] < 1.3 * error[0]
    assert np.array_equal(moved.completed[known], (T + level)[known])


def test_series_in_columns_are_smoothed_along_time():
    rng = np.random.default_rng(0)
    T = np.cumsum(rng.normal(size=(300, 4)), axis=0)
    known = random_entries(T.shape, 0.3)
    done = tfl.complete(np.where(known, T, np.nan))
    assert np.sqrt(np.mean((done.estimate - T)[~known] ** 2)) < 1.5  # a step is 1, the whole spreads by about 8


def shares_of_lengths(off):
    """The share of the entries in runs of up to 3, of 4 to 11, and of more steps, along the first mode."""
    at = np.flatnonzero(np.diff(np.pad(off, ((1, 1), (0, 0))).astype(int), axis=0).T.reshape(-1)).reshape(-1, 2)
    runs = at[:, 1] - at[:, 0]
    share = np.array([runs[(runs > low) & (runs <= high)].sum() for low, high in ((0, 3), (3, 11), (11, 1000))])
    return share / share.sum()


def test_long_and_short_runs_are_set_aside_as_often_as_they_are_missing():
    """Most places between gaps are too narrow for long ones; what fits best would be short."""
    rng = np.random.default_rng(0)
    known = np.ones((400, 8), dtype=bool)
    for k in range(8):
        for length in (1, 1, 1, 6, 6, 6, 6, 24, 24, 24):
            start = int(rng.integers(1, 399 - length))
            known[start : start + length, k] = False
    obs = observed(known)
    held = []
    for seed in range(6):
        kept, aside = split_like_gaps(obs, 0.15, np.random.default_rng(seed))
        assert 0.1 * obs.nnz < aside.nnz < 0.2 * obs.nnz
        held.append(shares_of_lengths(~kept.mask & known))
        gaps = gap_numbers(obs, kept, aside)
        column = aside.indices[:, 1]
        assert (np.bincount(gaps) > 0).all()
        assert all(len(np.unique(column[gaps == g])) == 1 for g in range(gaps.max() + 1))
    np.testing.assert_allclose(np.mean(held, axis=0), shares_of_lengths(~known), atol=0.12)


def test_of_blots_entries_as_deep_as_those_missing_are_set_aside():
    """Where a moved blot meets those that are missing, only its rim is left to be set aside."""
    ratios = []
    for seed in range(8):
        known = clouds(seed=seed)
        kept, aside = split_like_gaps(observed(known), 0.2, np.random.default_rng(seed))
        depths = distance_transform_edt(~known)[~known], distance_transform_edt(~kept.mask)[aside.mask]
        ratios.append(depths[1].mean() / depths[0].mean())
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.05)
    assert min(ratios) > 0.85


def test_entries_each_alone_in_a_slice_are_held_out_all_the_same():
    """A long table whose every row has a key of its own ended in "at least one entry must be observed"."""
    rng = np.random.default_rng(0)
    key, group = np.arange(60), rng.integers(5, size=60)
    obs = tfl.Observations.from_coo(np.stack([key, group], axis=1), rng.normal(size=60), (60, 5))
    training, validation = split_like_gaps(obs, 0.2, np.random.default_rng(0))
    assert training.nnz + validation.nnz == 60
    assert 8 <= validation.nnz <= 16
    assert np.isfinite(tfl.complete(obs).full).all()
