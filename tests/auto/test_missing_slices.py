"""Volumes and films with whole slices missing: what lies on both sides tells most."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter

import tensorfill as tfl
from tensorfill.auto.portfolio import structure
from tensorfill.data.facts import compute_facts


def every_third_missing(shape, mode, noise=0.0):
    """(volume, with every third slice missing, which are)."""
    rng = np.random.default_rng(7)
    X = gaussian_filter(rng.standard_normal(shape), 2.5)
    X = X / X.std() + noise * rng.standard_normal(shape)
    lost, T = np.arange(2, shape[mode] - 1, 3), X.copy()
    T[(slice(None),) * mode + (lost,)] = np.nan
    return X, T, lost


@pytest.mark.parametrize(("mode", "noise"), [(0, 0.0), (2, 0.05)])
def test_auto_is_as_good_as_splines_across_missing_slices(mode, noise):
    X, T, lost = every_third_missing((18, 20, 21), mode, noise)
    truth, seen = np.take(X, lost, mode), np.setdiff1d(np.arange(X.shape[mode]), lost)
    plain = CubicSpline(seen, np.take(X, seen, mode), axis=mode)(lost)
    done = tfl.complete(T)
    off = np.take(done.completed, lost, mode) - truth
    assert np.sqrt(np.mean(off**2)) <= 1.05 * np.sqrt(np.mean((plain - truth) ** 2))


def test_the_mode_with_missing_slices_comes_first():
    _, T, _ = every_third_missing((18, 20, 21), 2)
    facts = compute_facts(tfl.Observations.from_dense(T))
    assert structure(facts) == "field with missing slices"
    assert [m.mode for m in tfl.METHODS["interpolation"]().variants(facts)][:2] == [2, 2]
    alone = tfl.complete(T, method="interpolation")
    assert alone.settings["mode"] == "mode2"
