"""Slices in units of their own, and data far from zero."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data import samples
from tensorfill.data.facts import unit_mode
from tensorfill.data.units import Units

UNIT, ZERO = np.array([1e-3, 10.0, 500.0, 0.05]), np.array([0.01, 290.0, 1e5, 0.5])


def related(seed=0, missing=0.2):
    """Four related columns, standardised, and what is known of them: (150, 4) each."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(150, 1)) @ rng.uniform(0.7, 1.0, (1, 4)) + 0.3 * rng.normal(size=(150, 4))
    known = rng.random(Z.shape) >= missing
    known[~known.any(axis=1), 0] = True
    return Z, known


def rms(values):
    return float(np.sqrt(np.mean(values**2)))


def test_columns_with_units_of_their_own():
    """Metres, kelvin, pascal and shares are filled as well as if standardised by hand."""
    Z, known = related()
    X = Z * UNIT + ZERO
    obs = tfl.observe(np.where(known, X, np.nan))
    assert unit_mode(obs) == 1
    done = tfl.complete(obs)
    off = ((done.estimate - X) / UNIT)[~known]
    assert rms(off) < 0.7 * Z[~known].std()
    by_hand = tfl.complete(np.where(known, Z, np.nan), prior="normal")
    assert rms(off) < 1.2 * rms((by_hand.estimate - Z)[~known])
    assert "SD (standard deviation of each mode1)" in done.quality
    assert rms(off) / 2 < done.error < 2 * rms(off)  # in the units in which it is said
    assert np.array_equal(done.completed[known], X[known])


def test_a_column_without_an_entry_does_not_hide_that_the_others_have_units():
    Z, known = related()
    X = np.where(known, Z * UNIT + ZERO, np.nan)
    assert unit_mode(tfl.observe(np.column_stack([X, np.full(len(X), np.nan)]))) == 1


def test_a_national_product_and_a_rate_of_interest_have_units_of_their_own():
    """They spread very differently, though neither lies far from zero."""
    rng = np.random.default_rng(0)
    growing = np.outer(np.linspace(1, 4, 60), [3000.0, 2000.0]) + rng.normal(0, 30, (60, 2))
    X = np.column_stack([growing, rng.normal(0.5, 1.5, (60, 2))])
    assert unit_mode(tfl.observe(X[rng.permutation(60)])) == 1


@pytest.mark.parametrize(("seed", "apart"), [(2, 1e-2), (1, 0.1)])
def test_another_unit_changes_nothing_else(seed, apart):
    """Of the second table means and regression are equally good: which share each has may turn on a third candidate
    that knows nothing of units, and all that the answer may change by is a tenth of its error.
    """
    Z, known = related(seed)
    X = Z * UNIT + ZERO
    factor = np.array([1e3, 1.8, 1e-2, 100.0])
    a, b = (tfl.complete(np.where(known, T, np.nan)) for T in (X, X * factor))
    changed = (b.estimate / factor - a.estimate) / UNIT
    assert rms(changed[~known]) < apart * rms(((a.estimate - X) / UNIT)[~known])


def test_variables_as_one_mode_of_three():
    rng = np.random.default_rng(0)
    days = np.arange(120)
    season = np.sin(days / 19)[None, :] * rng.uniform(0.6, 1.2, (10, 1))
    Z = np.stack([season, -season, 0.5 * season], axis=1) + 0.2 * rng.normal(size=(10, 3, 120))
    unit, zero = np.array([8.0, 6.0, 0.1])[:, None], np.array([15.0, 1013.0, 0.7])[:, None]
    known = rng.random(Z.shape) >= 0.4
    X = Z * unit + zero
    done = tfl.complete(np.where(known, X, np.nan))
    assert done.facts.uneven == 1
    assert done.error_units.mode == 1
    for v in range(3):
        assert rms(((done.estimate - X) / unit)[:, v][~known[:, v]]) < 0.6 * Z[:, v].std() + 0.1


def test_error_bars_hold_in_every_column():
    Z, known = related(2, missing=0.3)
    X = Z * UNIT + ZERO
    done = tfl.complete(np.where(known, X, np.nan), error_bars=0.9)
    low, high = done.interval
    inside = (low <= X) & (high >= X)
    for c in range(4):
        assert inside[:, c][~known[:, c]].mean() > 0.75
        assert np.median(done.bars.half[:, c][~known[:, c]]) < 3 * UNIT[c]
    assert done.error < 1


def test_saved_and_loaded(tmp_path):
    Z, known = related()
    done = tfl.complete(np.where(known, Z * UNIT + ZERO, np.nan), error_bars=0.9)
    done.save(tmp_path / "run.npz")
    again = tfl.Completion.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.error_units.scale, done.error_units.scale)
    assert str(again.tried) == str(done.tried)
    assert str(again.facts) == str(done.facts)
    assert again.quality == done.quality
    np.testing.assert_array_equal(again.estimate, done.estimate)


@pytest.mark.parametrize(
    "T",
    [
        samples.metro(shape=(12, 7, 10))[0],  # busy and quiet stations, all of which begin at zero
        samples.ratings((40, 30, 4), seed=0)[0],
        np.random.default_rng(0).normal(size=(40, 30)) + 50.0,
        np.random.default_rng(0).normal(size=(3, 4)) * UNIT + ZERO,  # too few to tell
        np.full((20, 5), 3.0),
        np.outer(np.geomspace(1, 30, 12), np.random.default_rng(0).gamma(6.0, 1.0, 80)),
    ],
    ids=["stations", "ratings", "one unit", "few", "constant", "sizes"],
)
def test_one_unit_for_all(T):
    assert unit_mode(tfl.observe(T.astype(float))) is None


def test_slices_never_seen_or_constant():
    T = np.random.default_rng(0).normal(size=(30, 5)) * [1, 2, 30, 400, 1] + 5000
    T[:, 4] = 7.0
    T[:, 0] = np.nan
    units = Units.of_slices(tfl.observe(T), 1)
    assert np.isfinite(units.level).all()
    assert units.level[4] == 7.0
    assert units.scale[0] == units.scale[4] == np.median(np.nanstd(T[:, 1:4], axis=0))
