"""Newton, ADMM: exact where they say so, and safe where the curvature is not."""

import numpy as np
import pytest
from problems import make_prior, make_problem, model_values
from scipy.optimize import lsq_linear

import tensorfill as tfl
from tensorfill.numerical.base import PRIORS
from tensorfill.solvers import rowsystems
from tensorfill.solvers.balance import balance_scales
from tensorfill.solvers.curvature import curvature, expand
from tensorfill.solvers.newton import sweeps_of
from tensorfill.solvers.rows import Rows, rows_of

TIES = {
    "none": None,
    "ridge": tfl.Ridge(0.3),
    "differences": tfl.QuadraticVariation(0.7),
    "second differences": tfl.QuadraticVariation(0.7, order=2) + tfl.Ridge(0.1),
    "periodic": tfl.QuadraticVariation(0.7, periodic=True),
    "graph": tfl.GraphLaplacian(0.5, [(0, 4), (0, 7), (2, 5), (3, 8)], n=9),
    "autoregressive": tfl.Autoregressive(0.8, (1, 4)) + tfl.Ridge(0.2),
}


def tied_problem(prior, tie, layout="sampled", weighted=True, **others):
    interelement = {} if TIES[tie] is None else {0: TIES[tie]}
    return make_problem(
        prior, shape=(9, 6, 5), rank=3, interelement=interelement, layout=layout, weighted=weighted, **others
    )


# --- curvature --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in PRIORS if not PRIORS[n].location])
def test_curvature_is_the_expected_one_by_finite_differences(name, rng):
    prior = make_prior(name)
    x = model_values(prior, 200, rng)
    t = prior.sample(x, rng)
    h = 1e-5 * (1 + np.abs(x))
    mean = prior.mean(x)
    expected = (prior.grad(mean, x + h) - prior.grad(mean, x - h)) / (2 * h)
    got = curvature(prior, t, x, prior.grad(t, x))
    np.testing.assert_allclose(got, np.maximum(expected, 0), rtol=1e-5, atol=1e-7)
    assert (got > 0).all()


@pytest.mark.parametrize("name", [n for n in PRIORS if PRIORS[n].location])
def test_the_parabola_of_a_location_prior_lies_above_its_loss(name, rng):
    prior = make_prior(name)
    t, x = 3 * rng.standard_normal((2, 300))
    g = prior.grad(t, x)
    c = curvature(prior, t, x, g)
    for step in (-2.0, -0.3, 0.1, 1.0, 5.0):
        parabola = prior.nll(t, x) + g * step + 0.5 * c * step**2
        assert (prior.nll(t, x + step) <= parabola + 1e-9 * (1 + np.abs(parabola))).mean() > 0.99  # save on a kink


def test_outside_the_domain_one_step_leads_back():
    prior = tfl.Poisson()
    x, t = np.array([-4.0, -0.3, -1e-4]), np.array([3.0, 0.0, 7.0])
    g = prior.grad(t, x)
    step = -g / curvature(prior, t, x, g)
    assert (np.abs(x + step) <= np.abs(x) + 2e-3).all()
    assert (step > 0).all()


def test_expansion_has_the_gradient_and_no_zero(rng):
    problem, factors = make_problem("poisson", weighted=True)
    x = problem.kernel.predict(factors)
    g, c = expand(problem, x, threads=2)
    _, slope = problem.entrywise(0, len(x), x)
    np.testing.assert_allclose(g, slope)
    assert (c > 0).all()


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("layout", ["dense", "sampled"])
def test_least_squares_leave_no_gradient(tie, layout):
    """Normal: after one exact solve of a mode its gradient is zero, whatever ties its rows together."""
    problem, factors = tied_problem("normal", tie, layout)
    rows = rows_of(problem)
    c = problem.prior.curv(problem.t, problem.t) * problem.w
    for n in range(3):
        before = np.abs(problem.value_and_grad(factors)[1][n]).max()
        solved = [rows.solve(factors, n, problem.t, c) if m == n else A for m, A in enumerate(factors)]
        assert np.abs(problem.value_and_grad(solved)[1][n]).max() < 1e-7 * before


@pytest.mark.parametrize("tie", ["differences", "graph", "autoregressive"])
def test_conjugate_gradients_agree_with_bands(tie, monkeypatch):
    problem, factors = tied_problem("normal", tie)
    c = problem.prior.curv(problem.t, problem.t) * problem.w
    exact = rows_of(problem).solve(factors, 0, problem.t, c)
    monkeypatch.setattr(rowsystems, "WIDEST", -1)
    np.testing.assert_allclose(rows_of(problem).solve(factors, 0, problem.t, c), exact, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("tie", ["none", "graph"])
def test_a_row_without_observations_stays_where_it_is(tie):
    problem, factors = tied_problem("normal", tie, weighted=False)
    obs = problem.observations
    kept = problem.on(obs.subset(np.flatnonzero(obs.indices[:, 0] != 6)))  # on no edge of the graph
    A = rows_of(kept).solve(factors, 0, kept.t, np.ones_like(kept.t))
    np.testing.assert_allclose(A[6], factors[0][6])
    assert np.abs(A - factors[0]).max() > 1e-3


def test_a_periodic_mode_is_narrow_in_the_right_order():
    problem, _ = tied_problem("normal", "periodic")
    assert rows_of(problem).ties[0].bands[-1][0] == 2  # eight in the order given


def test_balance_keeps_the_model_and_lowers_the_penalty():
    interelement = {
        0: tfl.Ridge(0.3),
        1: tfl.QuadraticVariation(1.0) + tfl.Ridge(0.1),
        2: tfl.NonNegative() + tfl.Ridge(2),
    }
    problem, factors = make_problem("normal", interelement=interelement)
    even = rows_of(problem).balance(factors)
    np.testing.assert_allclose(tfl.CP(even).full(), tfl.CP(factors).full())
    assert problem.value(even) < problem.value(factors)
    again = rows_of(problem).balance(even)
    assert all(np.allclose(a, b) for a, b in zip(again, even, strict=True))


def test_even_scales_have_the_least_sum(rng):
    q, norm = rng.uniform(0.1, 3.0, (2, 3, 5))
    norm[1], q[2] = 0.0, 0.0
    y = balance_scales(q, norm)
    np.testing.assert_allclose(y.prod(axis=0), 1.0)
    least = (q * y**2 + norm * y).sum(axis=0)
    for _ in range(20):
        other = y * np.exp(0.1 * rng.standard_normal(y.shape))
        other /= other.prod(axis=0) ** (1 / 3)
        assert (least <= (q * other**2 + norm * other).sum(axis=0)).all()
    assert (balance_scales(0 * q, 0 * norm) == 1).all()


@pytest.mark.parametrize("tie", ["none", "ridge"])
def test_bounded_rows_are_bounded_least_squares(tie):
    problem, factors = tied_problem("normal", tie, weighted=False)
    ties = rows_of(problem).ties[0]
    bounded = rowsystems.RowCoupling(ties.Q, 0.0, 0.5)
    rows = Rows(rows_of(problem).entries, (bounded, *rows_of(problem).ties[1:]))
    got = rows.solve([np.clip(factors[0], 0, 0.5), *factors[1:]], 0, problem.t - 0.5, np.ones_like(problem.t))
    obs = problem.observations
    K = factors[1][obs.indices[:, 1]] * factors[2][obs.indices[:, 2]]
    q = ties.diagonal
    for i in range(9):
        mine = obs.indices[:, 0] == i
        system = np.concatenate([K[mine], np.sqrt(q[i]) * np.eye(3)])
        wanted = lsq_linear(system, np.concatenate([problem.t[mine] - 0.5, np.zeros(3)]), (0, 0.5), tol=1e-14)
        cost = 0.5 * np.sum((system @ got[i] - np.concatenate([problem.t[mine] - 0.5, np.zeros(3)])) ** 2)
        assert cost <= wanted.cost * (1 + 1e-4) + 1e-12
    assert got.min() >= 0
    assert got.max() <= 0.5


def test_tied_and_bounded_rows_get_no_worse():
    problem, factors = tied_problem("normal", "differences")
    ties = rowsystems.RowCoupling(rows_of(problem).ties[0].Q, 0.0, 0.6)
    rows = Rows(rows_of(problem).entries, (ties, *rows_of(problem).ties[1:]))
    start = [np.clip(factors[0], 0.0, 0.6), *factors[1:]]
    A = rows.solve(start, 0, problem.t, problem.prior.curv(problem.t, problem.t) * problem.w)
    assert A.min() >= 0
    assert A.max() <= 0.6
    better, (G, *_) = problem.value_and_grad([A, *factors[1:]])
    assert better < problem.value(start)
    inside = (A > 0) & (A < 0.6)
    first = np.abs(problem.value_and_grad(start)[1][0]).max()
    assert np.abs(np.where(inside | ((A == 0) & (G < 0)) | ((A == 0.6) & (G > 0)), G, 0)).max() < 0.05 * first


# --- solvers ----------------------------------------------------------------------------------------------------------


def test_newton_is_alternating_least_squares():
    """Normal with weights: one sweep is N ordinary weighted least squares problems per row, written out."""
    problem, factors = make_problem("normal", shape=(6, 5, 4), weighted=True, interelement={1: tfl.Ridge(0.2)})
    obs, A = problem.observations, [a.copy() for a in factors]
    for n in range(3):
        others = [m for m in range(3) if m != n]
        K = A[others[0]][obs.indices[:, others[0]]] * A[others[1]][obs.indices[:, others[1]]]
        for i in range(len(A[n])):
            mine = obs.indices[:, n] == i
            H = (K[mine] * problem.w[mine, None]).T @ K[mine] + (0.2 if n == 1 else 0.0) * np.eye(2)
            A[n][i] = np.linalg.lstsq(H, K[mine].T @ (problem.w[mine] * problem.t[mine]), rcond=None)[0]
    state = tfl.Newton().init(problem, factors, None)
    got = tfl.Newton().step(problem, state, None)
    assert got.value == pytest.approx(problem.value(A), rel=1e-6)
    np.testing.assert_allclose(tfl.CP(got.factors).full(), tfl.CP(A).full(), rtol=1e-5)


@pytest.mark.parametrize("prior", ["poisson", "gamma", "student-t", "laplace", "bernoulli", "lognormal"])
def test_a_careful_sweep_never_rises_even_from_far_away(prior, rng):
    problem, factors = tied_problem(prior, "ridge", weighted=False)
    for scale in (1.0, -1.0, 30.0):
        start = [scale * A * rng.uniform(0.1, 2.0, A.shape) for A in factors]
        before = problem.value(start)
        assert problem.value(sweeps_of(problem).careful(problem, start)) <= before * (1 + 1e-12)


def test_newton_needs_few_sweeps_where_first_order_steps_need_many():
    problem, _ = make_problem(
        "bernoulli-logit", shape=(12, 10, 8), rank=1, share=0.8, interelement={n: tfl.Ridge(0.5) for n in range(3)}
    )
    best = tfl.solve(problem, tfl.LBFGSB(), stopping=tfl.Stopping(max_iter=20)).history["value"][-1]
    done = tfl.solve(problem, "newton", stopping=tfl.Stopping(max_iter=40, tol=1e-9))
    assert done.history["value"][-1] <= best * (1 + 1e-3)


@pytest.mark.parametrize("name", ["newton", "admm"])
def test_threads_do_not_change_a_bit(name, monkeypatch):
    made = []
    for threads in (1, 2):
        problem, factors = make_problem("normal", shape=(20, 15, 10), rank=3)
        full = rows_of(problem)
        object.__setattr__(full.entries, "threads", threads)
        monkeypatch.setattr("tensorfill.solvers.entries.WORTH", 1)
        made.append(tfl.solve(problem, name, init=factors, stopping=tfl.Stopping(max_iter=4)).factors)
    assert all(np.array_equal(a, b) for a, b in zip(*made, strict=True))


def test_float32_gives_what_float64_gives():
    values = []
    for dtype in (np.float32, np.float64):
        problem, factors = make_problem("poisson", shape=(8, 7, 6))
        problem = tfl.Problem(
            problem.observations, 2, "poisson", {0: tfl.QuadraticVariation(0.2)}, dtype=dtype, quiet=True
        )
        done = tfl.solve(problem, "newton", init=factors, stopping=tfl.Stopping(max_iter=10))
        assert done.factors[0].dtype == dtype
        values.append(done.history["value"][-1])
    assert values[0] == pytest.approx(values[1], rel=1e-4)


def test_newton_finds_nonnegative_factors():
    rng = np.random.default_rng(1)
    T = tfl.CP([rng.uniform(0, 1, (n, 3)) for n in (12, 10, 8)]).full()
    problem = tfl.Problem(
        tfl.Observations.from_dense(T, rng.random(T.shape) < 0.7),
        rank=3,
        interelement={n: tfl.NonNegative() for n in range(3)},
    )
    done = tfl.solve(problem, "newton", stopping=tfl.Stopping(max_iter=300, tol=0))
    assert min(A.min() for A in done.factors) >= 0
    assert np.abs(done.estimate - T).max() < 0.05 * T.max()


def descend_by_prox_gradient(problem, A, tries=600):
    """The objective that plain proximal gradient steps on all factors reach: longer after one that lowers it."""
    value, step = problem.value(A), 1e-2
    rests = [p.nonsmooth for _, p in problem.modes]
    for _ in range(tries):
        ahead = [B - step * G for B, G in zip(A, problem.value_and_grad(A)[1], strict=True)]
        new = [B if p is None else p.prox(B, step) for B, p in zip(ahead, rests, strict=True)]
        lower = problem.value(new) < value
        step *= 1.2 if lower else 0.5
        A, value = (new, problem.value(new)) if lower else (A, value)
    return value


@pytest.mark.parametrize("prior", ["normal", "poisson"])
def test_admm_reaches_what_prox_gradient_steps_reach_and_has_plateaus(prior):
    problem, factors = make_problem(
        prior,
        shape=(12, 8, 4),
        interelement={0: tfl.TotalVariation(0.5) + tfl.Ridge(0.1), 1: tfl.L1(0.2), 2: tfl.Ridge(0.1)},
    )
    done = tfl.solve(problem, "admm", init=factors, stopping=tfl.Stopping(max_iter=40, tol=0))
    values = done.history["value"]
    assert (np.diff(values) <= 0).all()
    slow = descend_by_prox_gradient(problem, factors)
    assert slow < values[0]
    assert values[-1] <= slow + 1e-3 * abs(values[0] - values[-1])
    assert (np.diff(done.factors[0], axis=0) == 0).any()


def test_settings_are_checked():
    for make in (lambda: tfl.Newton(extrapolate=3.0), lambda: tfl.ADMM(inner=0)):
        with pytest.raises(ValueError, match="must be"):
            make()
