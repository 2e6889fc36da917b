"""Every registered inter-element prior keeps its promises; sums, multiples and refusals."""

import json
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest
from prior_examples import interelement_examples, star

from tensorfill.interelement.base import INTERELEMENT, InterElementPrior, Scaled, Sum, interelement_from_settings
from tensorfill.interelement.check import check_interelement_prior
from tensorfill.interelement.graph import GraphLaplacian
from tensorfill.interelement.nonsmooth import L1, Box, NonNegative, TotalVariation
from tensorfill.interelement.quadratic import Quadratic, QuadraticVariation, Ridge

N = 7
PARTS = ("grad", "prox", "matrix")
EXAMPLES = [example for name in INTERELEMENT for example in interelement_examples(name, N)]
SUMS = [
    QuadraticVariation(2.0) + Ridge(0.1),
    QuadraticVariation(2.0, order=2) + QuadraticVariation(1.0, periodic=True) + Ridge(0.1),
    QuadraticVariation(2.0) + star(N),
    L1(0.3) + NonNegative(),
    L1(0.3) + Box(-0.4, 0.5),
    L1(0.3) + Box(0.2, 0.5),
    TotalVariation(0.4) + L1(0.3),
    TotalVariation(0.4) + NonNegative(),
    TotalVariation(0.4) + Box(-0.4, 0.5),
    Box(-0.4, 0.5) + TotalVariation(0.2) + L1(0.3) + TotalVariation(0.2) + L1(0.1) + Box(-0.3, 2.0),
    Ridge(0.5) + NonNegative(),
    Ridge(0.5) + TotalVariation(0.4) + L1(0.3) + NonNegative() + Ridge(0.2),
    QuadraticVariation(2.0) + NonNegative(),
    QuadraticVariation(2.0) + Ridge(0.1) + TotalVariation(0.3) + L1(0.2),
]


def factor(shape=(N, 3), seed=0):
    return np.random.default_rng(seed).normal(size=shape)


# --- every prior ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", EXAMPLES + SUMS, ids=repr)
def test_keeps_its_promises(prior):
    check_interelement_prior(prior, shape=(N, 3))


@pytest.mark.parametrize("prior", EXAMPLES + SUMS, ids=repr)
def test_multiples_of_any_prior(prior):
    """(c p)(A) = c p(A), and so for grad, prox and matrix."""
    A = factor()
    inside = np.clip(A, *prior.bounds)
    for scaled in (2.5 * prior, prior * np.float64(2.5), Scaled(2.5, prior)):
        assert [scaled.has(what) for what in PARTS] == [prior.has(what) for what in PARTS]
        assert scaled.value(inside) == pytest.approx(2.5 * prior.value(inside), rel=1e-9, abs=1e-9)
        assert scaled.bounds == prior.bounds
        if prior.has("grad"):
            np.testing.assert_allclose(scaled.grad(A), 2.5 * prior.grad(A), rtol=1e-9, atol=1e-9)
        if prior.has("prox"):
            np.testing.assert_allclose(scaled.prox(A, 0.4), prior.prox(A, 1.0), rtol=1e-9, atol=1e-9)
        if prior.has("matrix"):
            Q = prior.matrix(N).toarray()
            np.testing.assert_allclose(scaled.matrix(N).toarray(), 2.5 * Q, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("prior", EXAMPLES + SUMS, ids=repr)
def test_any_prior_plus_ridge(prior):
    """Values add; the smooth part has both gradients or the ridge's; the prox goes with the rest."""
    A, ridge = factor(), Ridge(0.3)
    inside, both = np.clip(A, *prior.bounds), prior + ridge
    assert both.value(inside) == pytest.approx(prior.value(inside) + ridge.value(inside), rel=1e-9)
    assert both.bounds == prior.bounds
    expected = ridge.grad(A) if prior.smooth is None else prior.smooth.grad(A) + ridge.grad(A)
    np.testing.assert_allclose(both.smooth.grad(A), expected, rtol=1e-9, atol=1e-9)
    assert (both.nonsmooth is None) == (prior.nonsmooth is None)
    if both.nonsmooth is not None:
        np.testing.assert_allclose(both.nonsmooth.prox(A, 0.7), prior.nonsmooth.prox(A, 0.7), rtol=1e-9, atol=1e-9)
    check_interelement_prior(both, shape=(N, 3), seed=1)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("name", list(INTERELEMENT))
def test_any_number_of_rows(name, n):
    for prior in interelement_examples(name, n) if n > 1 or name != "graph-laplacian" else ():
        check_interelement_prior(prior, shape=(n, 2), seed=n)


def test_the_registered_names():
    assert set(INTERELEMENT) >= {
        "quadratic-variation", "ridge", "graph-laplacian", "total-variation", "l1", "nonnegative", "box",
    }  # fmt: skip


def test_nothing_heavy_is_imported():
    code = (
        "import sys, tensorfill.interelement as ie; ie.QuadraticVariation().grad(__import__('numpy').ones((3, 2)));"
        "print([m for m in ('numba', 'scipy.sparse', 'scipy.linalg') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


# --- quadratic variation --------------------------------------------------------------------------------------------


def test_quadratic_variation_by_hand():
    """The paper's L_2 and Eq. (scalc) on three rows, worked out on paper."""
    prior, A = QuadraticVariation(2.0), np.array([[1.0], [4.0], [2.0]])
    assert prior.value(A) == 0.5 * 2.0 * (9.0 + 4.0)
    np.testing.assert_array_equal(prior.grad(A), [[-6.0], [10.0], [-4.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_constant_columns_are_left_alone(order, periodic, dtype):
    """Free ends: a constant costs nothing, nor are its ends pulled towards 0 (as fixed ends would be)."""
    prior, A = QuadraticVariation(10.0, order, periodic), np.full((20, 2), 3.0, dtype=dtype)
    assert prior.value(A) == 0.0
    assert not prior.grad(A).any()


def test_second_order_leaves_straight_lines_alone():
    A = np.stack([np.arange(9.0), 5.0 - 2.0 * np.arange(9.0)], axis=1)
    prior = QuadraticVariation(10.0, order=2)
    assert prior.value(A) == 0.0
    assert not prior.grad(A).any()
    assert QuadraticVariation(10.0).value(A) > 0.0


def test_periodic_means_first_and_last_are_neighbours():
    prior = QuadraticVariation(1.0, periodic=True)
    A = factor()
    assert prior.value(np.roll(A, 3, axis=0)) == pytest.approx(prior.value(A))
    assert prior.value(A) == pytest.approx(QuadraticVariation().value(A) + 0.5 * np.sum((A[0] - A[-1]) ** 2))


def test_a_path_graph_is_quadratic_variation():
    path = GraphLaplacian(1.7, [[i, i + 1] for i in range(N - 1)])
    A = factor()
    assert path.value(A) == pytest.approx(QuadraticVariation(1.7).value(A))
    np.testing.assert_allclose(path.grad(A), QuadraticVariation(1.7).grad(A))


def test_a_new_quadratic_needs_its_matrix_only():
    @dataclass(frozen=True)
    class Tied(Quadratic):
        other: tuple[float, ...] = (1.0,) * N

        def matrix(self, n):
            from scipy.sparse import csr_array

            return csr_array(self.rho * np.outer(self.other, self.other))

    check_interelement_prior(Tied(0.3), shape=(N, 2))
    unhashable = Tied(0.3, np.ones(N))  # nothing is cached for it, and it works
    np.testing.assert_allclose(unhashable.grad(factor()), Tied(0.3).grad(factor()))


# --- graphs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, lambda W: __import__("scipy.sparse").sparse.coo_matrix(W)])
def test_graph_from_matrix(make):
    W = np.array([[9.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    graph = GraphLaplacian.from_matrix(make(W), rho=0.5)
    assert graph == GraphLaplacian(0.5, [[0, 1], [1, 2]], [1.0, 2.0])
    assert graph != GraphLaplacian(0.5, [[0, 1], [1, 2]])
    degrees = np.diag([1.0, 3.0, 2.0])
    np.testing.assert_allclose(graph.matrix(3).toarray(), 0.5 * (degrees - (W - np.diag(np.diag(W)))))


def test_graph_does_not_follow_the_array_it_was_made_from():
    edges, weights = np.array([[0, 1], [1, 2]]), np.ones(2)
    graph = GraphLaplacian(1.0, edges, weights)
    edges[:], weights[:] = 0, -1.0
    assert graph == GraphLaplacian(1.0, [[0, 1], [1, 2]])
    assert not graph.weights.flags.writeable


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GraphLaplacian(), r"edges of GraphLaplacian must be pairs"),
        (lambda: GraphLaplacian(1.0, [[0, 1, 2]]), r"got shape \(1, 3\)"),
        (lambda: GraphLaplacian(1.0, [[0.0, 1.0]]), "integers"),
        (lambda: GraphLaplacian(1.0, [[0, 1], [2, 2]]), r"two different rows; got \(2, 2\) at position 1"),
        (lambda: GraphLaplacian(1.0, [[0, 1], [1, 0]]), r"given once.*got \(1, 0\) at position 1"),
        (lambda: GraphLaplacian(1.0, [[0, -1]]), "begin at 0"),
        (lambda: GraphLaplacian(1.0, [[0, 1]], [-2.0]), r"got -2 for edge \(0, 1\)"),
        (lambda: GraphLaplacian(1.0, [[0, 1]], [1.0, 2.0]), "one per edge"),
        (lambda: GraphLaplacian(1.0, [[0, 5]], n=4), "whole number >= 6"),
        (lambda: GraphLaplacian.from_matrix(np.ones((2, 3))), "square"),
        (lambda: GraphLaplacian.from_matrix([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
        (lambda: GraphLaplacian.from_matrix([[0.0, np.nan], [np.nan, 0.0]]), "finite"),
        (lambda: GraphLaplacian.from_matrix([[0.0, -1.0], [-1.0, 0.0]]), ">= 0"),
        (lambda: GraphLaplacian(1.0, [[0, 1]]).grad(np.ones((3, 2))), "one row per vertex.*2; got 3 rows"),
        (lambda: QuadraticVariation(-1.0), "rho of QuadraticVariation must be a finite number >= 0; got -1.0"),
        (lambda: Ridge(np.nan), "rho of Ridge"),
        (lambda: L1("much"), "rho of L1"),
        (lambda: QuadraticVariation(1.0, order=3), "order .* must be 1"),
        (lambda: Box(1.0, 0.0), "low <= high"),
        (lambda: -1.0 * Ridge(), "factor in front"),
        (lambda: 0.0 * NonNegative(), "Leave the constraint out"),
        (lambda: NonNegative() + Box(-2.0, -1.0), "leave nothing"),
        (lambda: INTERELEMENT["rigde"], "Did you mean 'ridge'"),
        (lambda: interelement_from_settings({"rho": 1.0}), "must have a 'name'"),
        (lambda: Sum(()), "at least one term"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- total variation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 10, 60])
@pytest.mark.parametrize("step", [0.01, 0.5, 3.0])
def test_tv_prox_solves_the_dual(n, step):
    """Z = A - D'u with u the bounded least squares solution of the dual, found by SciPy."""
    from scipy.optimize import lsq_linear

    A = np.cumsum(factor((n, 3), n), axis=0)
    D = np.diff(np.eye(n), axis=0)
    Z = TotalVariation(1.5).prox(A, step)
    for a, z in zip(A.T, Z.T, strict=True):
        u = lsq_linear(D.T, a, bounds=(-1.5 * step, 1.5 * step), tol=1e-14, max_iter=500).x
        np.testing.assert_allclose(z, a - D.T @ u, atol=1e-6)


def test_tv_prox_limits():
    A = factor((30, 4))
    prior = TotalVariation(1.0)
    np.testing.assert_allclose(prior.prox(A, 1e6), np.broadcast_to(A.mean(axis=0), A.shape), atol=1e-9)
    np.testing.assert_array_equal(prior.prox(A, 0.0), A)
    np.testing.assert_allclose(prior.prox(A, 1e-12), A, atol=1e-11)
    constant = np.full((30, 2), 0.1)
    np.testing.assert_allclose(prior.prox(constant, 0.3), constant, rtol=1e-14)
    for scale, shift in ((1e-8, 0.0), (1e8, 0.0), (1.0, 1e6)):  # shifts and scales go through
        expected = scale * prior.prox(A, 0.3) + shift
        np.testing.assert_allclose(prior.prox(scale * A + shift, 0.3 * scale), expected, rtol=1e-9, atol=1e-9 * scale)


def test_tv_prox_passes_nan_on_to_its_own_column_only():
    A = factor((12, 3))
    A[4, 1] = np.nan
    Z = TotalVariation(1.0).prox(A, 0.2)
    assert np.isnan(Z[:, 1]).any()
    np.testing.assert_array_equal(Z[:, [0, 2]], TotalVariation(1.0).prox(A[:, [0, 2]], 0.2))


def by_dykstra(f, g, A, step, sweeps=3000):
    """The prox of f + g from the proxes of f and g alone (Bauschke and Combettes 2008)."""
    X, P, Q = A, np.zeros_like(A), np.zeros_like(A)
    for _ in range(sweeps):
        Y = g.prox(X + P, step)
        P = X + P - Y
        X = f.prox(Y + Q, step)
        Q = Y + Q - X
    return X


@pytest.mark.parametrize(
    ("f", "g"),
    [
        (TotalVariation(0.6), L1(0.4)),
        (TotalVariation(0.6), Box(-0.3, 0.4)),
        (TotalVariation(0.6), NonNegative()),
        (L1(0.6), Box(0.2, 0.9)),
        (TotalVariation(0.6) + L1(0.2), Box(-0.3, 0.4)),
        (TotalVariation(0.6) + L1(0.2), Box(0.1, 0.4)),
    ],
    ids=repr,
)
def test_pairs_that_compose(f, g):
    A = factor((12, 3))
    expected = by_dykstra(f, g, A, 0.8)
    for both in (f + g, g + f):
        np.testing.assert_allclose(both.prox(A, 0.8), expected, atol=1e-4)
    assert not np.allclose(f.prox(A, 0.8), expected, atol=1e-2)  # the second term did something


# --- sums, multiples, settings --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupLasso(InterElementPrior):
    """A user's own: sum over rows of |a_i|; unweighted, non-smooth, not known to compose."""

    def value(self, A):
        return float(np.linalg.norm(A, axis=1).sum())

    def prox(self, A, step):
        norm = np.linalg.norm(A, axis=1, keepdims=True)
        return A * (np.maximum(norm - step, 0.0) / np.maximum(norm, 1e-30)).astype(A.dtype)


def test_a_users_own_prior():
    check_interelement_prior(GroupLasso())
    check_interelement_prior(0.5 * (3.0 * GroupLasso()) + QuadraticVariation())
    assert 2.0 * (3.0 * GroupLasso()) == Scaled(6.0, GroupLasso())
    assert GroupLasso().settings() == {"name": "GroupLasso"}
    assert FixedEnds(1.0).name == "FixedEnds"  # not the name of the registered prior it derives from


@pytest.mark.parametrize("other", [L1(), TotalVariation(), NonNegative(), GroupLasso()])
def test_two_nonsmooth_ones_are_refused(other):
    with pytest.raises(ValueError, match=r"GroupLasso cannot be added to .*prox of a sum"):
        GroupLasso() + other
    with pytest.raises(ValueError, match="cannot be added"):
        other + Ridge() + GroupLasso()


def test_sums_are_flat_and_sum_works():
    a, b, c, d = Ridge(1.0), L1(2.0), NonNegative(), QuadraticVariation(3.0)
    assert ((a + b) + (c + d)).terms == (a, b, c, d)
    assert sum([a, b, c]) == a + b + c
    assert 2.0 * (a + b + c) == Ridge(2.0) + L1(4.0) + NonNegative()
    assert np.float64(2.0) * a == a * 2 == Ridge(2.0)
    with pytest.raises(TypeError):
        a + 1.0
    with pytest.raises(TypeError):
        a * a


def test_how_a_sum_splits():
    both = QuadraticVariation(2.0) + NonNegative() + Ridge(0.1) + L1(0.3)
    assert both.smooth == QuadraticVariation(2.0) + Ridge(0.1)
    assert both.nonsmooth == NonNegative() + L1(0.3)
    assert both.bounds == (0.0, np.inf)
    assert not any(both.has(what) for what in ("grad", "prox", "matrix"))
    assert (Ridge(0.1) + L1(0.3)).smooth == Ridge(0.1)
    assert (Ridge(0.1) + L1(0.3)).nonsmooth == L1(0.3)
    assert (Ridge(0.1) + QuadraticVariation()).nonsmooth is None
    assert (NonNegative() + L1()).smooth is None


@pytest.mark.parametrize("prior", [*SUMS, Scaled(2.0, QuadraticVariation()) + L1()], ids=repr)
def test_settings_round_trip(prior):
    again = interelement_from_settings(json.loads(json.dumps(prior.settings(), allow_nan=False)))
    assert again == prior
    assert again.value(factor()) == prior.value(factor())


# --- the checker catches what it should -----------------------------------------------------------------------------


@dataclass(frozen=True)
class FixedEnds(QuadraticVariation):
    def grad(self, A):
        G = super().grad(A)
        G[0] += self.rho * A[0]
        return G

    def value_and_grad(self, A):
        return self.value(A), self.grad(A)


@dataclass(frozen=True)
class FixedEndsProx(QuadraticVariation):
    def prox(self, A, step):
        n = len(A)
        Q = self.rho * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
        return np.linalg.solve(np.eye(n) + step * Q, A)

    matrix = None


@dataclass(frozen=True)
class TooLittle(L1):
    def prox(self, A, step):
        return super().prox(A, 0.999 * step)


@dataclass(frozen=True)
class Upcast(Ridge):
    def grad(self, A):
        return np.float64(self.rho) * A


@dataclass(frozen=True)
class InPlace(L1):
    def prox(self, A, step):
        Z = super().prox(A, step)
        if A.flags.writeable:
            A[0, 0] += 1e-3
        return Z


@dataclass(frozen=True)
class Reused(NonNegative):
    def prox(self, A, step):
        return A if np.all(A >= 0.0) else super().prox(A, step)


@dataclass(frozen=True)
class Remembered(Ridge):
    memory: dict = field(default_factory=dict, compare=False)

    def grad(self, A):
        key = (A.dtype.str, A.tobytes())
        return self.memory.setdefault(key, super().grad(A))


@dataclass(frozen=True)
class Doubled(Ridge):
    def matrix(self, n):
        return 2.0 * super().matrix(n)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (FixedEnds(1.0), "finite differences"),
        (FixedEndsProx(1.0), "must be a minimiser"),
        (TooLittle(1.0), "must be a minimiser"),
        (Upcast(1.0), "must keep float32"),
        (InPlace(1.0), "minimiser|agree|non-expansive"),
        (Doubled(1.0), "1/2 tr"),
        (Reused(), "not its input"),
        (Remembered(1.0), "new array at every call|must agree"),
    ],
    ids=lambda wrong: type(wrong).__name__,
)
def test_the_checker_catches(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_interelement_prior(wrong)
