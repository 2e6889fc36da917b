"""Holes of pictures filled with texture."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import tensorfill as tfl
from tensorfill.methods.image.patchmatch import fill_texture, seamless

pytestmark = pytest.mark.filterwarnings("ignore:the deepest gap")


def gravel(H=96, W=90):
    """Grains of two or three pixels, 0..255 uint8, and where they are known: not in a hole."""
    X = gaussian_filter(np.random.default_rng(0).normal(size=(H, W)), 1.2, mode="wrap")
    known = np.ones((H, W), dtype=bool)
    known[36:66, 30:62] = False
    return np.clip(np.rint(128 + 35 * X / X.std()), 0, 255).astype(np.uint8), known


def grain(X):
    """Mean square of differences of neighbours."""
    return float(np.mean(np.diff(X.astype(float), axis=0) ** 2))


ANY_SEED = [("sharp", seed) for seed in range(3)]  # one hole in one run is .5 to .9 times as rough


def test_a_hole_is_as_rough_as_what_is_around_it():
    T, known = gravel()
    smooth, *sharp = (tfl.complete(T, mask=known, texture=t, seed=s) for t, s in (("smooth", 0), *ANY_SEED))
    hole = np.s_[40:62, 34:58]
    assert grain(smooth.estimate[hole]) < 0.5 * grain(T[hole])
    assert 0.6 * grain(T[hole]) < np.mean([grain(done.estimate[hole]) for done in sharp]) < 1.6 * grain(T[hole])
    np.testing.assert_array_equal(sharp[0].completed[known], T[known])
    np.testing.assert_array_equal(smooth.estimate, tfl.complete(T, mask=known).estimate)


@pytest.mark.parametrize("seed", range(2))
def test_patches_without_detail_do_not_spread_into_texture(seed):
    """A picture that is half gravel, half mist: a hole in the gravel is filled with gravel."""
    T, known = gravel(96, 180)
    X = T.astype(float)[..., None]
    X[:, 95:] = 128 + np.random.default_rng(1).normal(0, 2, (96, 85, 1))
    hole = ~known
    X[hole] = 128.0  # a smooth answer
    found = fill_texture(X, known, np.random.default_rng(seed))[..., 0]
    assert grain(found[40:62, 34:58]) > 0.5 * grain(T[40:62, 34:58])


def test_what_is_under_the_mask_changes_no_bit_and_a_seed_gives_one_answer():
    T, known = gravel()
    runs = [
        tfl.complete(np.where(known, T, fill).astype(np.uint8), mask=known, method="continuation", texture="sharp")
        for fill in (0, 255, 0)
    ]
    np.testing.assert_array_equal(runs[0].estimate, runs[1].estimate)
    np.testing.assert_array_equal(runs[0].estimate, runs[2].estimate)


def test_a_picture_without_a_whole_patch_stays_as_it_is():
    X = np.arange(30.0).reshape(5, 6, 1)
    known = np.ones((5, 6), dtype=bool)
    known[2, 3] = False
    np.testing.assert_array_equal(fill_texture(X, known, np.random.default_rng(0)), X)


def test_differences_of_one_place_are_taken_over_without_a_seam():
    """A plane continued by another part of it is the plane, whatever its level."""
    y, x = np.mgrid[:20, :20]
    X = (2.0 * y + 3.0 * x)[..., None]
    known = np.ones((20, 20), dtype=bool)
    known[8:12, 8:12] = False
    near = np.stack([y, x], axis=-1)
    near[~known] -= 5
    found = seamless(np.where(known[..., None], X, 0.0), known, near)
    np.testing.assert_allclose(found[5:15, 5:15], X[5:15, 5:15], atol=1e-9)


@pytest.mark.parametrize("method", ["auto", "continuation"])
def test_an_unknown_texture_is_a_sentence(method):
    T, known = gravel()
    with pytest.raises(ValueError, match=r"texture must be one of smooth, sharp; got 'rough'\."):
        tfl.complete(T, mask=known, method=method, texture="rough")


def test_texture_is_for_holes():
    T, _ = gravel()
    with pytest.raises(ValueError, match=r'texture="sharp" is for holes in pictures, and the gaps are no holes'):
        tfl.complete(T, mask=np.random.default_rng(0).random(T.shape) < 0.5, texture="sharp")
