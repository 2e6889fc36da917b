"""Every registered tensor-space prior keeps its promises; isotropic total variation in particular."""

from dataclasses import dataclass

import numpy as np
import pytest
from prior_examples import tensorspace_examples

from tensorfill.interelement._isotropic import ROWS_PER_TASK, Terms, any_modes, two_modes
from tensorfill.interelement.check import check_tensorspace_prior
from tensorfill.interelement.tensorspace import TENSORSPACE, IsotropicTV, opponent, tensorspace_from_settings

EXAMPLES = [example for name in TENSORSPACE for example in tensorspace_examples(name)]


def picture(shape, seed=0, dtype=np.float64):
    return (255.0 * np.random.default_rng(seed).random(shape)).astype(dtype)


@pytest.mark.parametrize(("prior", "shape"), EXAMPLES, ids=str)
def test_keeps_its_promises(prior, shape):
    check_tensorspace_prior(prior, shape=shape)


def test_the_registered_names():
    assert set(TENSORSPACE) >= {"isotropic-tv"}


# --- isotropic total variation --------------------------------------------------------------------------------------


def test_one_edge_by_hand():
    """A step of 3 across 4 rows, corner 4: each of the 4 differences costs sqrt(3^2 + 4^2) - 4 = 1."""
    X = np.zeros((4, 6, 1))
    X[:, 2:] = 3.0
    assert IsotropicTV(2.0, corner=4.0).value(X) == pytest.approx(8.0)


def test_a_corner_is_isotropic():
    """One pixel with a difference of 3 down and 4 to the right costs 5 (corner nearly 0), not 3 + 4."""
    X = np.array([[0.0, 4.0], [3.0, 0.0]])
    X[1, 1] = X[1, 0]  # leaves the differences 3, 4 at the first pixel, -1 down at the second
    assert IsotropicTV(1.0, corner=1e-9).value(X) == pytest.approx(5.0 + 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transform", [None, opponent()])
def test_flat_pictures_cost_nothing(dtype, transform):
    X = np.full((10, 9, 3), 200.0, dtype=dtype)
    value, G = IsotropicTV(1.0, transform=transform).value_and_grad(X)
    assert value == 0.0
    assert not G.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("matrix", [None, opponent(), np.ones((1, 3)), np.arange(12.0).reshape(4, 3)])
@pytest.mark.parametrize("rows", [1, ROWS_PER_TASK - 1, ROWS_PER_TASK, ROWS_PER_TASK + 1, 2 * ROWS_PER_TASK + 5])
def test_compiled_equals_numpy(rows, matrix, dtype):
    """Across the seams of slabs, for more and fewer channels than colours."""
    X = picture((rows, 11, 3), dtype=dtype)
    terms = Terms((0, 1), 1.0, 0.3, None if matrix is None else matrix.astype(dtype), None if matrix is None else 2)
    value, G = two_modes(X, terms)
    expected, expected_G = any_modes(X.astype(np.float64), terms)
    assert G.dtype == dtype
    assert value == pytest.approx(expected, rel=1e-5 if dtype == np.float32 else 1e-12)
    # A channel is rounded by eps times its size; over the corner, 1, that is the error of a unit difference.
    M = np.eye(3) if matrix is None else matrix
    rounding = np.finfo(dtype).eps * np.abs(X @ M.T).max() * terms.weight * np.abs(M).sum(axis=0).max()
    assert rounding < 1e-2  # far below what a lost difference would change
    np.testing.assert_allclose(G, expected_G, rtol=0.0, atol=2.0 * rounding)


@pytest.mark.parametrize(("modes", "t"), [((0, 1), 3), ((3, 1), 0), ((2, 0), 1), ((1, 2), None), ((0, 3), None)])
def test_any_order_of_modes(modes, t):
    X = picture((3, 3, 3, 3))
    M = None if t is None else opponent()
    value, G = two_modes(X, Terms(modes, 1.0, 1.0, M, t))
    expected, expected_G = any_modes(X, Terms(modes, 1.0, 1.0, M, t))
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(G, expected_G, atol=1e-10)


def test_threads_change_no_bit():
    X = picture((5 * ROWS_PER_TASK + 3, 20, 3), dtype=np.float32)
    prior = IsotropicTV(0.003, transform=opponent())
    value, G = prior.value_and_grad(X)
    for threads in (2, 3):
        other, other_G = prior.value_and_grad(X, threads=threads)
        assert other == value
        np.testing.assert_array_equal(other_G, G)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("modes", [(0, 1), (0, 1, 2)])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_bad_numbers_show_in_the_value(modes, bad):
    X = picture((8, 8, 3))
    X[3, 4, 1] = bad
    value, G = IsotropicTV(1.0, modes).value_and_grad(X)
    assert not np.isfinite(value)
    assert not np.isfinite(G).all()


def test_empty_and_tiny_arrays():
    assert IsotropicTV().value(np.zeros((0, 4, 3))) == 0.0
    assert IsotropicTV().grad(np.zeros((4, 5, 0))).shape == (4, 5, 0)
    assert IsotropicTV(transform=opponent()).value(picture((1, 1, 3))) == pytest.approx(0.0, abs=1e-12)


def test_opponent_is_a_rotation_with_weights():
    M = opponent(1.0)
    np.testing.assert_allclose(M @ M.T, np.eye(3), atol=1e-15)
    grey = opponent(3.0) @ [7.0, 7.0, 7.0]
    np.testing.assert_allclose(grey, [7.0 * np.sqrt(3.0), 0.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(opponent(3.0), axis=1), [1.0, 3.0, 3.0])


def test_settings_are_plain_and_comparable():
    prior = IsotropicTV(0.003, [0, 1], 1.0, opponent())
    assert prior == IsotropicTV(0.003, transform=opponent(), transform_mode=-1)
    assert tensorspace_from_settings(prior.settings()) == prior
    assert len({prior, tensorspace_from_settings(prior.settings())}) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: IsotropicTV(-1.0), "weight of IsotropicTV must be a finite number >= 0; got -1.0"),
        (lambda: IsotropicTV(1.0, corner=0.0), "corner of IsotropicTV must be > 0"),
        (lambda: IsotropicTV(1.0, ()), "at least one mode"),
        (lambda: IsotropicTV(1.0, transform_mode=2), "must go with a transform"),
        (lambda: IsotropicTV(1.0, transform=[1.0, 2.0]), r"finite matrix \(C', C\); got shape \(2,\)"),
        (lambda: IsotropicTV(1.0, (0, 3)).value(picture((4, 4, 3))), r"has 3; got \(0, 3\)"),
        (lambda: IsotropicTV(1.0, (0, -3)).value(picture((4, 4, 3))), "must differ"),
        (lambda: IsotropicTV(1.0, (0, 2), transform=opponent()).value(picture((4, 4, 3))), "must differ"),
        (lambda: IsotropicTV(1.0, transform=opponent()).value(picture((4, 4, 5))), "mode 2 of X must have 3 entries"),
        (lambda: IsotropicTV(1.0, (0, 1)).check((4,)), r"has 1; got \(0, 1\)"),
        (lambda: tensorspace_from_settings({"name": "isotropic-vt"}), "Did you mean 'isotropic-tv'"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- the checker catches what it should -----------------------------------------------------------------------------


@dataclass(frozen=True)
class NoHalo(IsotropicTV):
    """The rows of a slab forget what flows in from above."""

    def value_and_grad(self, X, *, threads=1):
        value, G = super().value_and_grad(X, threads=threads)
        G[2] *= 1.001
        return value, G


@dataclass(frozen=True)
class Upcast(IsotropicTV):
    def value_and_grad(self, X, *, threads=1):
        return super().value_and_grad(X.astype(np.float64), threads=threads)


@pytest.mark.parametrize(("wrong", "message"), [(NoHalo(), "finite differences"), (Upcast(), "must keep float32")])
def test_the_checker_catches(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_tensorspace_prior(wrong)
