"""Every registered tensor-space prior keeps its promises; isotropic total variation in particular."""

from dataclasses import dataclass

import numpy as np
import pytest
from prior_examples import tensorspace_examples

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


def slow(X, modes, corner, weight, M=None, t=None):
    """Value and gradient, by whole arrays."""
    along = (lambda A, B: B) if M is None else (lambda A, B: np.moveaxis(np.moveaxis(B, t, -1) @ A.T, -1, t))
    but_last = lambda B, m: np.moveaxis(np.moveaxis(B, m, 0)[:-1], 0, m)  # noqa: E731  a view
    Y = along(M, X)
    size = np.full(Y.shape, corner**2)
    differences = [(m, np.diff(Y, axis=m)) for m in modes]
    for m, d in differences:
        but_last(size, m)[...] += d * d
    size, G = np.sqrt(size), np.zeros_like(Y)
    for m, d in differences:
        flux = d / but_last(size, m)
        but_last(G, m)[...] -= flux
        np.moveaxis(G, m, 0)[1:] += np.moveaxis(flux, m, 0)
    return weight * float((size - corner).sum()), along(None if M is None else M.T, weight * G)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("matrix", [None, opponent(), np.ones((1, 3)), np.arange(12.0).reshape(4, 3)])
@pytest.mark.parametrize("rows", [1, 2, 63, 133])
def test_compiled_equals_numpy(rows, matrix, dtype):
    """For more and fewer channels than colours."""
    X = picture((rows, 11, 3), dtype=dtype)
    value, G = IsotropicTV(0.3, transform=matrix).value_and_grad(X)
    expected, expected_G = slow(X.astype(np.float64), (0, 1), 1.0, 0.3, matrix, 2)
    assert G.dtype == dtype
    assert value == pytest.approx(expected, rel=1e-5 if dtype == np.float32 else 1e-12)
    # A channel is rounded by eps times its size; over the corner, 1, that is the error of a unit difference.
    M = np.eye(3) if matrix is None else matrix
    rounding = np.finfo(dtype).eps * np.abs(X @ M.T).max() * 0.3 * np.abs(M).sum(axis=0).max()
    assert rounding < 1e-2  # far below what a lost difference would change
    np.testing.assert_allclose(G, expected_G, rtol=0.0, atol=2.0 * rounding)


@pytest.mark.parametrize(("modes", "t"), [((0, 1), 3), ((3, 1), 0), ((2, 0), 1), ((1, 2), None), ((0, 3), None)])
def test_any_order_of_modes(modes, t):
    X = picture((3, 3, 3, 3))
    M = None if t is None else opponent()
    value, G = IsotropicTV(1.0, modes, 1.0, M, t).value_and_grad(X)
    expected, expected_G = slow(X, modes, 1.0, 1.0, M, t)
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(G, expected_G, atol=1e-10)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_bad_numbers_show_in_the_value(bad):
    X = picture((8, 8, 3))
    X[3, 4, 1] = bad
    value, G = IsotropicTV().value_and_grad(X)
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
        (lambda: IsotropicTV(1.0, ()), "must name two modes"),
        (lambda: IsotropicTV(1.0, (0, 1, 2)), "must name two modes"),
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
    """A row forgets what flows in from above."""

    def value_and_grad(self, X):
        value, G = super().value_and_grad(X)
        G[2] *= 1.001
        return value, G


@dataclass(frozen=True)
class Upcast(IsotropicTV):
    def value_and_grad(self, X):
        return super().value_and_grad(X.astype(np.float64))


@pytest.mark.parametrize(("wrong", "message"), [(NoHalo(), "finite differences"), (Upcast(), "must keep float32")])
def test_the_checker_catches(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_tensorspace_prior(wrong)
