"""The recipe for fields: what is decided, what is said about it, and what the passes do."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import tensorfill as tfl
from tensorfill.data import samples
from tensorfill.data.facts import compute_facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run
from tensorfill.methods.defaults import prior_for
from tensorfill.methods.image import complete as engine
from tensorfill.methods.image.complete import complete_field
from tensorfill.methods.image.field import Field, is_video
from tensorfill.methods.image.recipe import (
    EVALUATIONS,
    PASSES,
    SPARE_EVALUATIONS,
    START_EVALUATIONS,
    field_recipe,
    has_colours,
    schedule,
    start_recipe,
    tensorspace_tv,
)
from tensorfill.result.record import Status


def facade(H=48, W=40):
    """Round windows in a coloured wall, 0..255: every 12 x 10 pixels, each row half a window further."""
    y, x = np.mgrid[:H, :W]
    window = ((y % 12 - 6) ** 2 + ((x + 5 * (y // 12)) % 10 - 5) ** 2 < 14)[..., None]
    shade = (0.6 + 0.4 * y / H)[..., None]
    return np.round(np.where(window, [40.0, 60.0, 90.0], [200.0, 150.0, 110.0]) * shade)


def holes(shape, rate=0.7, seed=0):
    return np.random.default_rng(seed).random(shape) >= rate


def recipe_of(obs, modes=(0, 1), **settings):
    given = {"smooth": None, "rank": 12, "ridge": None, "tv": None, "solver": None, "passes": 2} | settings
    return field_recipe(obs, prior_for(obs, None), prior_given=False, modes=modes, **given)


def psnr(X, T, M):
    return float(10 * np.log10(255**2 / np.mean(np.where(M, 0, X - T) ** 2)))


@pytest.fixture
def picture():
    T = facade()
    M = holes(T.shape)
    return T, M, Observations.from_dense(T, mask=M)


def test_a_fit_that_stands_alone_takes_longer(picture):
    obs = picture[2]
    assert schedule(start_recipe(obs, recipe_of(obs, passes=2)).solver) == START_EVALUATIONS
    assert schedule(recipe_of(obs, passes=0).solver) == EVALUATIONS
    assert schedule(recipe_of(obs, passes=2, noise=3.0).solver) == EVALUATIONS
    thin = Observations.from_dense(np.ones((5, 40, 3)), mask=holes((5, 40, 3)))  # no room for a patch
    assert schedule(recipe_of(thin, passes=2).solver) == EVALUATIONS


def test_a_start_is_less_than_a_fit_but_what_is_given_is_kept(picture):
    obs = picture[2]
    own = start_recipe(obs, recipe_of(obs, rank=None))
    assert 2 * own.rank == recipe_of(obs, rank=None).rank
    given = start_recipe(obs, recipe_of(obs, rank=12, tv=0.5))
    assert (given.rank, given.tv) == (12, 0.5)
    spare = obs.subset(np.arange(obs.nnz) < 0.02 * obs.size)
    assert schedule(start_recipe(spare, recipe_of(spare)).solver) == SPARE_EVALUATIONS
    alone = recipe_of(obs, solver="lbfgsb")
    assert start_recipe(obs, alone) is alone


def test_effort_is_passes():
    assert PASSES["quick"] < PASSES["normal"] <= PASSES["best"]


@pytest.mark.parametrize("passes", [0, 3])
def test_the_passes_that_ran_are_told(picture, passes):
    done = complete_field(picture[2], recipe_of(picture[2], passes=passes), Run(seed=0), "auto")
    assert done.settings["passes"] == passes
    assert len(done.history) == 1 + (START_EVALUATIONS if passes else EVALUATIONS) + passes


def test_no_passes_after_a_fit_cut_short(picture):
    done = complete_field(picture[2], recipe_of(picture[2]), Run(seed=0, max_iter=5), "auto")
    assert done.settings["passes"] == 0


def test_passes_stopped_halfway_are_counted(picture):
    obs = picture[2]
    limit = START_EVALUATIONS + 2
    seen = []

    def stop(state, history):
        seen.append("X" in state.arrays)
        return "X" in state.arrays and state.numbers["k"] == 1

    done = complete_field(obs, recipe_of(obs, passes=4), Run(seed=0, callback=stop), "auto")
    assert done.settings["passes"] == 1
    assert len(done.history) == limit


def test_passes_make_it_better(picture):
    T, M, obs = picture
    alone = complete_field(obs, recipe_of(obs, passes=0), Run(seed=0), "auto").estimate
    passed = complete_field(obs, recipe_of(obs, passes=6), Run(seed=0), "auto").estimate
    assert psnr(passed, T, M) > psnr(alone, T, M) + 2


def rough_low_rank(H=48, W=40):
    """Rank 2, and no two neighbours alike: nothing for passes to find."""
    rng = np.random.default_rng(5)
    return np.round(255 * sum(np.outer(rng.random(H), rng.random(W)) for _ in range(2)) / 2)[..., None]


def test_a_picture_without_lookalikes_gets_no_passes():
    T = rough_low_rank()
    M = holes(T.shape, 0.3)
    obs = Observations.from_dense(T, mask=M)
    alone = complete_field(obs, recipe_of(obs, passes=0), Run(seed=0), "auto")
    passed = complete_field(obs, recipe_of(obs, passes=6), Run(seed=0), "auto")
    done = tfl.complete(T.astype(np.uint8), mask=M)
    assert not done.settings.get("passes")
    assert psnr(done.estimate, T, M) > psnr(passed.estimate, T, M) + 3
    assert psnr(done.estimate, T, M) > psnr(alone.estimate, T, M) - 1


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_a_start_has_total_variation_if_given_or_unless_few_entries_are_observed(share, monkeypatch):
    T = facade(72, 64)
    obs = Observations.from_dense(T, mask=holes(T.shape, 1 - share))
    fits = []
    fit = engine.fit_field
    monkeypatch.setattr(engine, "fit_field", lambda o, r, *a: fits.append(r.tv) or fit(o, r, *a))
    own = recipe_of(obs, passes=2)
    for tv in (None, 0.003):
        fits.clear()
        done = complete_field(obs, recipe_of(obs, tv=tv, passes=2), Run(seed=0), "auto")
        assert fits == [tv or (0.0 if share == 0.1 else own.tv)]
    assert done.settings["passes"] == 2


def photograph(side=80):
    return np.asarray(Image.fromarray(samples.photograph()).resize((side, side))).astype(float)


def test_a_start_is_brought_to_what_is_observed():
    """Regular gaps, as behind the filter of a camera, lie alike in all patches of a group: what a fit misses stays."""
    T = photograph()
    M = np.zeros(T.shape, dtype=bool)
    M[::2, ::2, 0] = M[::2, 1::2, 1] = M[1::2, ::2, 1] = M[1::2, 1::2, 2] = True
    obs = Observations.from_dense(T, mask=M)
    recipe = recipe_of(obs, rank=None, passes=8)
    plain, exact = (complete_field(obs, replace(recipe, exact=e), Run(seed=0), "auto").estimate for e in (False, True))
    assert psnr(exact, T, M) > psnr(plain, T, M) + 0.5


def test_with_few_entries_a_picture_of_half_the_size_comes_first(monkeypatch):
    T = samples.photograph()[:120, 150:270].astype(float)
    M = holes(T.shape, 0.96)
    obs = Observations.from_dense(T, mask=M)
    recipe = replace(recipe_of(obs, passes=8), exact=True)
    shapes, refine = [], engine.refine
    monkeypatch.setattr(engine, "refine", lambda d, *a, **k: shapes.append(d.full.shape) or refine(d, *a, **k))
    halves = complete_field(obs, recipe, Run(seed=0), "auto").estimate
    assert shapes == [(60, 60, 3), (120, 120, 3)]
    monkeypatch.setattr(engine, "FEW", 0.0)
    at_once = complete_field(obs, recipe, Run(seed=0), "auto").estimate
    assert psnr(halves, T, M) > psnr(at_once, T, M) + 0.2
    monkeypatch.setattr(engine, "FEW", 0.08)
    cut = complete_field(obs, recipe, Run(seed=0, callback=lambda state, history: True), "auto")
    assert cut.status is Status.CALLBACK
    assert cut.full.shape == T.shape


def test_every_pass_sees_all_entries(picture, monkeypatch):
    obs, seen = picture[2], []
    refine = engine.refine
    monkeypatch.setattr(engine, "refine", lambda d, *a, **k: seen.append((d.observations.nnz, k)) or refine(d, *a, **k))
    complete_field(obs, recipe_of(obs, passes=3), Run(seed=0), "auto")
    assert seen[-1] == (obs.nnz, {})


def test_a_run_resumed_ends_with_the_same_bits(picture, tmp_path):
    obs, file = picture[2], tmp_path / "run.npz"
    recipe = recipe_of(obs, passes=3)
    want = complete_field(obs, recipe, Run(seed=0), "auto").estimate

    def stop(state, history):
        return "X" in state.arrays and state.numbers["k"] == 2

    cut = complete_field(obs, recipe, Run(seed=0, callback=stop, checkpoint=file), "auto")
    assert cut.settings["passes"] == 2
    done = complete_field(obs, recipe, Run(seed=0, checkpoint=file, resume=True), "auto")
    assert np.array_equal(done.estimate, want)
    assert done.settings["passes"] == 3


def test_a_periodic_facade_is_no_worse_than_by_t_ctv(picture):
    T, M, obs = picture
    passed = complete_field(obs, recipe_of(obs, rank=80, passes=PASSES["normal"]), Run(seed=0), "auto").estimate
    rival = tfl.complete(np.where(M, T, np.nan), method="t-ctv", seed=0).estimate
    assert psnr(passed, T, M) > psnr(rival, T, M)


@pytest.mark.parametrize("placeholder", [0.0, 1e30])
def test_what_is_under_the_mask_changes_no_bit(picture, placeholder):
    T, M, obs = picture
    other = Observations.from_dense(np.where(M, T, placeholder), mask=M)
    one, two = (complete_field(o, recipe_of(o, passes=3), Run(seed=1), "auto").estimate for o in (obs, other))
    assert np.array_equal(one, two)


def colours_of(T, modes=(0, 1)):
    obs = Observations.from_dense(T, mask=holes(T.shape, 0.2))
    tv = tensorspace_tv(obs, modes, 1.0, prior_for(obs, "normal"))
    assert tv is not None
    assert has_colours(obs, modes) == (tv.transform is not None)
    return tv.transform_mode if tv.transform is not None else None


def test_only_colours_are_turned_into_opponents():
    T = facade()
    assert colours_of(T) == 2
    assert colours_of(T - 100.0) is None  # below zero: no colours
    assert colours_of(np.moveaxis(T, 2, 0), modes=(1, 2)) is None  # three sensors over a plane
    assert colours_of(T[:, :, :2]) is None
    assert colours_of(T[:, :3, :], modes=(0, 2)) is None


@pytest.mark.parametrize(
    ("order", "dims", "rows", "frames"),
    [
        ((0, 1, 2, 3), None, (0, 1), 3),
        ((3, 0, 1, 2), None, (1, 2), 0),
        ((3, 0, 1, 2), ("frame", "row", "column", "channel"), (1, 2), 0),
        ((0, 1, 2), None, (0, 1), None),
    ],
)
def test_rows_columns_and_time_of_a_video(order, dims, rows, frames):
    y, x, c, f = np.mgrid[0:24, 0:26, 0:3, 0:9]
    video = np.rint(120 + 60 * np.sin((x + f) / 4) + 30 * np.cos(y / 5 + c)).astype(np.uint8)
    T = (video if len(order) == 4 else video[..., 0]).transpose(order)
    facts = compute_facts(tfl.observe(T, mask=np.random.default_rng(0).random(T.shape) < 0.6, dims=dims))
    field = Field().whole(facts)
    assert field.modes[:2] == rows
    assert field.frames == frames
    assert is_video(facts) == (frames is not None)


def test_passes_that_were_given_are_run():
    y, x = np.mgrid[0:24, 0:26]
    T = np.sin(x / 4) * np.cos(y / 5) + 0.1 * np.random.default_rng(0).normal(size=x.shape)
    known = np.random.default_rng(1).random(T.shape) < 0.5
    facts = compute_facts(tfl.Observations.from_dense(np.where(known, T, 0.0), known))
    for passes in (0, 2):
        search = Field(passes=passes).variants(facts)
        assert next(search).passes == search.send(1.0).passes == passes
        with pytest.raises(StopIteration):
            search.send(2.0)


def test_a_clean_video_is_a_field_and_compared_with_the_means_alone():
    y, x, c, f = np.mgrid[0:20, 0:22, 0:3, 0:6]
    T = np.rint(120 + 60 * np.sin((x + f) / 3) * np.cos((y - f) / 4) + 20 * c).astype(np.uint8)
    M = np.random.default_rng(0).random(T.shape) < 0.3
    done = tfl.complete(T, mask=M, passes=2)
    assert {row.method for row in done.tried if np.isfinite(row.error)} == {"means", "field"}
    assert done.settings["passes"] == 2
    np.testing.assert_array_equal(done.completed[M], T[M])
    assert np.sqrt(np.mean((done.estimate - T.astype(float))[~M] ** 2)) < 10


def test_the_type_of_the_pixels_does_not_matter():
    photo = np.array(Image.fromarray(samples.photograph()).resize((64, 60)))[..., :1].squeeze()
    mask = holes(photo.shape, 0.7)
    want = tfl.complete(photo, mask=mask, seed=0)
    same = tfl.complete(np.where(mask, photo, np.nan), seed=0)
    np.testing.assert_array_equal(same.estimate, want.estimate)
    parts = tfl.complete(np.where(mask, photo / 255, np.nan), seed=0)
    assert parts.settings["passes"] == want.settings["passes"]
    off, near = (float(np.std(d[~mask])) for d in (want.estimate - photo, 255 * parts.estimate - photo))
    assert near < 1.05 * off
