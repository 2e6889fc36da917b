"""The recipe for fields: what is decided, what is said about it, and what the passes do."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.choose import field
from tensorfill.choose.defaults import prior_for
from tensorfill.choose.field import (
    EVALUATIONS,
    PASSES,
    START_EVALUATIONS,
    complete_field,
    field_recipe,
    has_colours,
    schedule,
    tensorspace_tv,
)
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Run


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
    assert schedule(recipe_of(obs, passes=2).solver) == START_EVALUATIONS
    assert schedule(recipe_of(obs, passes=0).solver) == EVALUATIONS
    assert schedule(recipe_of(obs, passes=2, noise=3.0).solver) == EVALUATIONS
    thin = Observations.from_dense(np.ones((5, 40, 3)), mask=holes((5, 40, 3)))  # no room for a patch
    assert schedule(recipe_of(thin, passes=2).solver) == EVALUATIONS


def test_effort_is_passes():
    assert PASSES["quick"] < PASSES["normal"] < PASSES["best"]


@pytest.mark.parametrize("passes", [0, 3])
def test_the_passes_that_ran_are_told(picture, passes):
    done = complete_field(picture[2], recipe_of(picture[2], passes=passes), Run(seed=0), "auto")
    assert done.settings["passes"] == passes
    assert len(done.history) == 1 + schedule(recipe_of(picture[2], passes=passes).solver) + passes


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


def test_where_the_first_pass_does_not_pay_the_fit_stands_alone(picture, monkeypatch):
    obs = picture[2]
    want = complete_field(obs, recipe_of(obs, passes=0), Run(seed=0), "auto")
    monkeypatch.setattr(field, "WORTH", 0.0)
    done = complete_field(obs, recipe_of(obs, passes=6), Run(seed=0), "auto")
    assert done.settings["passes"] == 0
    assert done.observations is obs
    assert np.array_equal(done.estimate, want.estimate)


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
