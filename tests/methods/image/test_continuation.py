"""Holes in pictures: edges go on inside them, only they change, and pictures with scattered gaps are left to fields."""

import time

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.auto.portfolio import Portfolio
from tensorfill.data.facts import compute_facts
from tensorfill.data.gaps import depth
from tensorfill.methods.base import Run
from tensorfill.methods.image import diffusion
from tensorfill.methods.image.continuation import Continuation, around
from tensorfill.methods.image.diffusion import continued
from tensorfill.methods.image.field import is_clean
from tensorfill.methods.image.validate_holes import Evidence, enlarged, places, validate_holes
from tensorfill.methods.image.validate_scratches import moved, validate_scratches
from tensorfill.problem import DataWarning


def stripes(H=72, W=64):
    """Slanted stripes with soft edges, in three colours, 8 bit."""
    y, x = np.mgrid[0:H, 0:W]
    wave = np.tanh(3 * np.sin((x + 0.6 * y) / 5.0))
    return np.rint(128 + 90 * wave[..., None] * np.array([1.0, 0.7, -0.5])).astype(np.uint8)


def hole(shape, side=18, corner=(26, 22)):
    """True = known."""
    known = np.ones(shape[:2], dtype=bool)
    known[corner[0] : corner[0] + side, corner[1] : corner[1] + side] = False
    return known


def rms(X, T, known):
    return float(np.sqrt(np.mean((X.astype(float) - T)[~known] ** 2)))


def test_edges_go_on_where_smooth_filling_gives_grey():
    T = stripes()
    known = hole(T.shape)
    directed = rms(continued(T, known), T, known)
    for how in ("flat", "stiff"):
        assert directed < 0.5 * rms(continued(T, known, how), T, known)


def test_what_lies_under_the_hole_is_not_read_and_a_plane_is_exact():
    T = stripes()
    known = hole(T.shape)
    other = T.copy()
    other[~known] = 255 - other[~known]
    np.testing.assert_array_equal(continued(T, known), continued(other, known))
    flat = np.full((40, 40, 1), 7.0)
    np.testing.assert_allclose(continued(flat, hole(flat.shape, 12, (28, 0))), flat, rtol=1e-9)


def test_a_deep_hole_goes_over_smaller_pictures(monkeypatch):
    y, x = np.mgrid[0:96, 0:90]
    T = 50 + 100 * np.tanh((x - 0.5 * y - 20) / 6.0)[..., None]
    known = hole(T.shape, 40, (30, 25))
    at_once = rms(continued(T, known), T, known)
    monkeypatch.setattr(diffusion, "DEEPEST", 8)
    assert rms(continued(T, known), T, known) < max(2 * at_once, 10)


def test_depth_tells_holes_from_chance():
    T = stripes()
    mask = np.broadcast_to(hole(T.shape)[..., None], T.shape)
    assert depth(tfl.observe(T, mask=mask)) == 9
    line = np.ones(T.shape, dtype=bool)
    line[30:32] = False
    assert depth(tfl.observe(T, mask=line)) == 1
    rng = np.random.default_rng(0)
    for share in (0.01, 0.2, 0.6, 0.95, 0.99):
        pixels = np.broadcast_to(rng.random(T.shape[:2])[..., None] >= share, T.shape)
        for known in (pixels, rng.random(T.shape) >= share):
            assert depth(tfl.observe(T, mask=known)) == 0
    both = mask & np.broadcast_to(rng.random(T.shape[:2])[..., None] >= 0.1, T.shape)
    assert depth(tfl.observe(T, mask=both)) >= 8  # a hole among dead pixels


def test_auto_continues_a_hole_and_says_that_it_is_a_guess():
    T = stripes()
    known = hole(T.shape)
    mask = np.broadcast_to(known[..., None], T.shape)
    with pytest.warns(DataWarning, match="9 pixels from any known one"):
        done = tfl.complete(T, mask=mask, passes=2)
    assert done.settings["candidate"].startswith("continuation")
    assert rms(done.estimate, T, known) < 12  # stripes spread by 80
    assert np.isfinite(done.error)
    np.testing.assert_array_equal(done.completed[known], T[known])
    with pytest.warns(DataWarning, match="guess"):
        field = tfl.complete(T, mask=mask, candidates=["field"], max_iter=2)
    assert not str(field.settings.get("candidate", "")).startswith("continuation")


def test_the_candidate_takes_pixels_known_in_part_and_grey_pictures():
    T = stripes()
    mask = np.broadcast_to(hole(T.shape)[..., None], T.shape).copy()
    mask[5, 5, 1] = False
    for values, known in ((T, mask), (T[..., 0], mask[..., 0])):
        obs = tfl.observe(values, mask=known)
        X = Continuation(1, noise=0.0).fit(obs, Run(0)).answer.full()
        assert X.shape == values.shape
        assert np.isfinite(X).all()
        np.testing.assert_array_equal(X[known], values[known])
    nowhere = mask.copy()
    nowhere[..., 0] = False  # no pixel is known in whole
    obs = tfl.observe(T, mask=nowhere)
    assert np.isfinite(Continuation(1, noise=0.0).fit(obs, Run(0)).answer.full()).all()
    assert isinstance(Continuation().suits(compute_facts(obs)), str)
    assert around(~hole((50, 40), 4, (10, 30)), 8) == (slice(2, 22), slice(22, 42))


def test_holes_are_cut_where_all_is_known():
    known = hole((72, 64))
    cut = list(places(known))
    assert len(cut) >= 3
    for window, hidden in cut:
        assert (known[window] | ~hidden).all()
        assert hidden.sum() == 18**2
    wide = list(places(hole((72, 64), 40, (28, 12))))  # there is no room for another of this size
    assert {int(hidden.sum()) for _, hidden in wide} == {20**2}
    assert not list(places(np.eye(9, dtype=bool)))


def test_texture_is_filled_smoothly_and_edges_are_not():
    T = stripes().astype(float)
    known = hole(T.shape)
    edges = validate_holes(T, known)
    assert edges.flat + edges.stiff <= 0.2
    noise = np.random.default_rng(0).normal(0, 20, T.shape)
    texture = validate_holes(noise, known)
    assert texture.flat > 0.5
    assert texture.error == pytest.approx(20, rel=0.2)
    hidden = np.where(known[..., None], T, 1e6)
    assert validate_holes(hidden, known) == edges


def test_a_smooth_picture_keeps_its_slope():
    y, x = np.mgrid[0:72, 0:64]
    T = (100 + 60 * np.sin(y / 25.0) * np.cos(x / 30.0))[..., None]
    known = hole(T.shape)
    told = validate_holes(T, known)
    assert told.stiff >= 0.8
    X = told.softened(continued(T, known), known)
    assert rms(X, T, known) < 0.5 * rms(continued(T, known), T, known)
    assert told.error < 1


def test_the_candidate_softens_texture_and_tells_its_error():
    rng = np.random.default_rng(1)
    T = np.clip(128 + rng.normal(0, 25, (72, 64, 3)), 0, 255).astype(np.uint8)
    known = hole(T.shape)
    obs = tfl.observe(T, mask=known)
    fitted = Continuation(0, noise=0.0).fit(obs, Run(0))
    assert fitted.error == pytest.approx(25, rel=0.3)
    X = fitted.answer.full()
    assert rms(X, T, known) < rms(continued(T.astype(float), known), T, known)
    np.testing.assert_array_equal(X[known], T[known])


def test_who_watches_sees_the_whole_picture():
    T = stripes()
    known, seen = hole(T.shape, side=9), []
    obs = tfl.observe(T, known)
    Continuation(2, noise=0.0).fit(obs, Run(0, lambda state, history: seen.append(state.arrays["X"])))
    assert [X.shape for X in seen] == [T.shape] * 3
    assert all((X[known] == T[known]).all() for X in seen)


def test_thin_gaps_are_moved_a_little_and_tell_their_error():
    y, x = np.mgrid[0:60, 0:60]
    smooth = np.stack([x * x, x * y, y * y], axis=-1) / 16.0
    known = np.ones((60, 60), dtype=bool)
    known[20:23, 5:50] = False
    ((window, hidden),) = moved(known)
    assert not (hidden & ~known[window]).any()
    assert hidden.sum() >= 0.9 * (~known).sum()
    bad = validate_scratches(smooth, known, lambda C, kept: np.where(kept[..., None], C, 0.0))  # passes that do harm
    assert bad.stiff == 1.0
    assert bad.error < 0.5
    T = stripes(60, 60).astype(float)
    good = validate_scratches(T, known, lambda C, kept: T)
    assert (good.stiff, good.error) == (0.0, 0.0)
    known[:] = True
    known[3:5, 3:5] = False  # too few to judge by
    assert np.isnan(validate_scratches(T, known, lambda C, kept: T).error)


def test_the_start_and_the_error_are_those_of_all_windows():
    """Gaps over a smooth half and a rough one: passes are tried in two windows, the error is that of both halves."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:96, 0:384]
    T = (100 + 60 * np.sin(y / 25.0) * np.cos(x / 30.0))[..., None].repeat(3, axis=2)
    T[:, 192:] += rng.normal(0, 20, (96, 192, 3))
    known = np.ones((96, 384), dtype=bool)
    known[20:23, 5:370] = False
    known[40:42, 200:300] = False  # the most to fill is where it is rough
    told = validate_scratches(T, known, lambda C, kept: C)
    assert 0 < told.start < 1
    X = told.begun(np.where(known[..., None], T, 1e6), known)
    assert all(rms(X, T, known) < rms(continued(T, known, how), T, known) for how in ("edges", "stiff"))
    assert told.error == pytest.approx(rms(X, T, known), rel=0.2)


def test_without_passes_thin_gaps_get_the_best_mixture_and_an_error():
    y, x = np.mgrid[0:60, 0:60]
    T = np.stack([x * x, x * y, y * y], axis=-1) / 16.0
    known = np.ones((60, 60), dtype=bool)
    known[20:23, 5:50] = False
    obs = tfl.observe(T, mask=np.broadcast_to(known[..., None], T.shape), dims=("row", "column", "channel"))
    fitted = Continuation(0, noise=0.0).fit(obs, Run(0))
    off = rms(fitted.answer.full(), T, known)
    assert off < 0.1 * rms(continued(T, known), T, known)
    assert fitted.error == pytest.approx(off, rel=1.0)


def test_no_passes_are_made_where_nothing_of_them_would_remain(monkeypatch):
    y, x = np.mgrid[0:60, 0:60]
    T = np.rint(np.stack([x * x, x * y, y * y], axis=-1) / 16.0).astype(np.uint8)
    known = np.ones((60, 60), dtype=bool)
    known[20:23, 5:50] = False
    monkeypatch.setattr(
        "tensorfill.methods.image.continuation.validate_scratches",
        lambda *given: Evidence(stiff=1.0, error=0.5, over=1, start=0.4),
    )
    obs, seen = tfl.observe(T, mask=np.broadcast_to(known[..., None], T.shape)), []
    fitted = Continuation(2, noise=0.0).fit(obs, Run(0, lambda state, history: seen.append(state)))
    assert (fitted.settings["passes"], fitted.error, seen) == (0, 0.5, [])
    np.testing.assert_array_equal(fitted.answer.full(), continued(T.astype(float), known, "stiff"))


def test_the_hole_made_larger_hides_what_is_next_to_it():
    known = hole((72, 64), side=18)
    for window, hidden in enlarged(known):
        assert not (hidden & ~known[window]).any()
        assert hidden.sum() == 18 * 6
    assert len(list(enlarged(known))) == 4
    corner = hole((72, 64), side=18, corner=(0, 0))
    assert len(list(enlarged(corner))) == 2


def test_a_last_window_narrower_than_the_gaps_are_deep():
    known = np.ones((103, 200), dtype=bool)
    known[40:60, 40:60] = known[98:103, 20:40] = known[90:103, 190:200] = False
    places = moved(known)
    assert places
    assert all((hidden & known[window]).sum() == hidden.sum() > 0 for window, hidden in places)


def test_the_time_limit_binds_where_there_are_many_gaps(rng):
    """Half of 600 x 600 pixels missing at random took 10 s for a limit of 1: nothing looked at the clock."""
    y, x = np.mgrid[0:600, 0:600]
    T = 100 + 50 * np.sin(x / 40) * np.cos(y / 30)
    M = rng.random(T.shape) < 0.5
    began = time.process_time()
    done = tfl.complete(T, mask=M, method="continuation", seconds=0.5)
    assert time.process_time() - began < 3.0
    assert done.status is tfl.Status.TIME
    assert np.abs(done.estimate - T)[~M].max() < 25


def test_a_time_limit_that_is_far_away_changes_nothing(rng):
    y, x = np.mgrid[0:60, 0:60]
    T = 100 + 50 * np.sin(x / 9) * np.cos(y / 7)
    M = rng.random(T.shape) < 0.7
    one, two = (tfl.complete(T, mask=M, method="continuation", passes=0, seconds=s) for s in (None, 900.0))
    assert np.array_equal(one.estimate, two.estimate)


@pytest.mark.parametrize("noise", [0.0, 40.0])
def test_holes_in_a_noisy_picture_are_continued_like_others(noise):
    y, x = np.mgrid[:64, :64]
    T = 128 + 60 * np.sin(x / 9) * np.cos(y / 11) + noise * np.random.default_rng(0).normal(size=(64, 64))
    known = np.ones((64, 64), dtype=bool)
    known[20:44, 20:44] = False
    facts = compute_facts(tfl.Observations.from_dense(np.clip(np.rint(T), 0, 255).astype(np.uint8), mask=known))
    assert is_clean(facts) == (noise == 0)
    assert "continuation" in Portfolio.load().names(facts)
