"""Eleven defects found in other libraries; each must be impossible here."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from problems import make_problem

import tensorfill as tfl
from tensorfill.models.init import INITS, initial_factors, unit
from tensorfill.numerical.base import PRIORS
from tensorfill.solvers.base import SOLVERS
from tensorfill.solvers.lbfgsb import FIRST_STEP


def slope(f, x, h=1e-5):
    """Central difference with one Richardson step."""
    wide, narrow = (f(x + h) - f(x - h)) / (2 * h), (f(x + h / 2) - f(x - h / 2)) / h
    return (4 * narrow - wide) / 3


def test_1_negative_binomial_gradient_uses_the_datum():
    prior = tfl.NegativeBinomial(r=3.0)
    t, x = (g.ravel() for g in np.meshgrid([0.0, 1.0, 4.0, 25.0], [0.3, 1.0, 7.0]))
    assert np.allclose(prior.grad(t, x), slope(lambda z: prior.nll(t, z), x), rtol=1e-7, atol=1e-7)


def test_2_huber_gradient_in_both_branches_with_delta_not_one():
    prior = tfl.Huber(delta=0.25)
    t = np.array([-3.0, -3.0, 2.0, 2.0, 50.0])
    x = t + np.array([0.1, -0.2, 4.0, -4.0, 9.0])
    assert np.allclose(prior.grad(t, x), slope(lambda z: prior.nll(t, z), x), atol=1e-9)
    assert np.abs(prior.grad(t, x)).max() == 0.25


@pytest.mark.parametrize("name", PRIORS)
def test_3_masked_gradient_of_every_loss(name):
    """Against differences of the loss summed over observed entries by hand, with nonsense under the mask."""
    problem, factors = make_problem(name, shape=(5, 4, 3))
    obs, prior = problem.observations, problem.prior
    T = np.where(obs.mask, obs.dense(), 1e6)
    masked = tfl.Problem(tfl.Observations.from_dense(T, obs.mask), rank=2, prior=prior, quiet=True)
    rng = np.random.default_rng(1)
    directions = [rng.standard_normal(A.shape) for A in factors]

    def along(h):
        X = tfl.CP([A + h * D for A, D in zip(factors, directions, strict=True)]).full()
        return prior.nll(T[obs.mask], X[obs.mask]).sum()

    _, grads = masked.value_and_grad(factors)
    got = sum(np.vdot(G, D) for G, D in zip(grads, directions, strict=True))
    assert got == pytest.approx(slope(along, 0.0, 1e-4), rel=1e-6, abs=1e-6)


def test_4_lbfgsb_default_tolerance_is_really_used(monkeypatch):
    problem, factors = make_problem("normal", shape=(6, 5, 4), interelement={n: tfl.Ridge(0.1) for n in range(3)})
    seen = []
    minimize = scipy.optimize.minimize

    def listening(*args, **kw):
        seen.append(kw["options"]["gtol"])
        return minimize(*args, **kw)

    monkeypatch.setattr(scipy.optimize, "minimize", listening)
    first = max(np.abs(G).max() for G in problem.value_and_grad(factors)[1])
    ends = {}
    for solver in (tfl.LBFGSB(burst=500), tfl.LBFGSB(burst=500, gtol=1e-2)):
        done = tfl.solve(problem, solver, init=factors, stopping=tfl.Stopping(max_iter=1))
        ends[solver.gtol] = max(np.abs(G).max() for G in problem.value_and_grad(done.factors)[1])
        assert seen[-1] == pytest.approx(solver.gtol * first * FIRST_STEP * unit(problem))  # its variables' unit
    assert tfl.LBFGSB().gtol == 1e-8
    assert ends[1e-8] <= 1e-6 * first < ends[1e-2] <= 1e-2 * first


class Steady(tfl.Problem):
    """A problem whose gradient never changes: every bias-corrected step must then have the same length."""

    slope = 1.0

    def value_and_grad(self, factors):
        return 1.0, [np.full_like(A, self.slope) for A in factors]


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e9])
def test_5_adam_bias_correction_from_the_first_step(size, rng):
    problem, factors = make_problem("normal")
    steady = Steady(problem.observations, rank=2, quiet=True)
    object.__setattr__(steady, "slope", size)
    solver = tfl.Adam(rate=0.01, schedule="constant")
    state = solver.init(steady, factors, rng)
    for _ in range(5):
        new = solver.step(steady, state, rng)
        for A, B in zip(state.factors, new.factors, strict=True):
            assert np.allclose(A - B, 0.01 * unit(steady), rtol=1e-9)
        state = new


def test_5_adam_moments_are_part_of_the_checkpoint(tmp_path):
    problem, _ = make_problem("poisson")
    tfl.solve(problem, "adam", checkpoint=tmp_path / "run.npz", stopping=tfl.Stopping(max_iter=3))
    with np.load(tmp_path / "run.npz") as file:
        kept = {f"state/{letter}{n}" for letter in "AGMV" for n in range(3)}
        found = {name.rsplit("|", 1)[-1]: file[name] for name in file.files}
        assert kept <= set(found)
        assert all(found[name].any() for name in kept)


@pytest.mark.parametrize("name", [n for n in PRIORS if PRIORS[n]().x_domain.low >= 0])
def test_6_zeros_under_the_mask_and_observed_zeros(name):
    prior = PRIORS[name]()
    T = np.array([[0.5, 1.0, 0.0], [1.0, 0.0, 0.5]])
    low = prior.t_domain.low
    T[T > 0] += low
    factors = [np.ones((2, 1)), np.full((3, 1), 0.6)]
    assert np.isfinite(tfl.Problem(tfl.Observations.from_dense(T, T > 0), rank=1, prior=prior).value(factors))
    everything = tfl.Observations.from_dense(T)
    if name in ("lognormal", "zero-truncated-poisson"):  # the only ones under which a zero is impossible
        sentence = rf"values must be {prior.t_domain.phrase} for {type(prior).__name__}; got 0.0 at index \(0, 2\)"
        with pytest.raises(ValueError, match=sentence):
            tfl.Problem(everything, rank=1, prior=prior)
    else:
        assert np.isfinite(tfl.Problem(everything, rank=1, prior=prior).value(factors))


@pytest.mark.parametrize("kind", [bool, int, float, "numpy.ma", "list"])
def test_7_any_kind_of_mask_hides_placeholders_from_the_start(kind, rng):
    T, mask = rng.uniform(0.5, 1.5, (8, 7, 6)), rng.random((8, 7, 6)) < 0.5
    filled = np.where(mask, T, 1e6)
    if kind == "numpy.ma":
        obs = tfl.Observations.from_dense(np.ma.masked_array(filled, mask=~mask))
    else:
        obs = tfl.Observations.from_dense(filled, mask.tolist() if kind == "list" else mask.astype(kind))
    clean = tfl.Problem(tfl.Observations.from_dense(np.where(mask, T, np.nan)), rank=3, quiet=True)
    for init in INITS:
        ours = initial_factors(tfl.Problem(obs, rank=3, quiet=True), init, np.random.default_rng(0))
        for A, B in zip(ours, initial_factors(clean, init, np.random.default_rng(0)), strict=True):
            assert np.array_equal(A, B)
            assert np.abs(A).max() < 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("prior", [tfl.BernoulliLogit(), tfl.Binomial(n=5)])
def test_8_logit_links_at_800(prior, dtype):
    n = prior.t_domain.high
    t, x = np.array([0, n, 0, n], dtype=dtype), np.array([800, 800, -800, -800], dtype=dtype)
    value, grad = prior.nll_and_grad(t, x)
    assert np.array_equal(value, [800 * n, 0, 0, 800 * n])
    assert np.array_equal(grad, [n, 0, 0, -n])
    assert np.array_equal(prior.nll(t, x), value)
    assert np.array_equal(prior.grad(t, x), grad)
    assert np.array_equal(prior.mean(x), [n, n, 0, 0])


@pytest.mark.parametrize("name", SOLVERS)
def test_9_no_placeholder_leaks_into_the_first_sweep(name):
    rng = np.random.default_rng(4)
    T, mask = rng.uniform(0.5, 1.5, (8, 7, 6)), rng.random((8, 7, 6)) < 0.6
    fits = []
    for placeholder in (0.0, 1e6):
        problem = tfl.Problem(tfl.Observations.from_dense(np.where(mask, T, placeholder), mask), rank=2, quiet=True)
        fits.append(tfl.solve(problem, name, stopping=tfl.Stopping(max_iter=1), seed=1).factors)
    assert all(np.array_equal(A, B) for A, B in zip(*fits, strict=True))
    assert np.abs(tfl.CP(fits[1]).full()).max() < 10


@pytest.mark.parametrize("order", [1, 2])
def test_10_smoothness_has_free_ends_and_no_dense_matrix(order):
    prior = tfl.QuadraticVariation(50.0, order=order)
    flat = np.full((40, 2), 3.0)
    assert prior.value(flat) == 0
    assert not prior.grad(flat).any()  # fixed (Dirichlet) ends would be drawn to zero
    assert prior.grad(np.arange(40.0)[:, None]).any() == (order == 1)
    assert prior.matrix(10_000).nnz <= (2 * order + 1) * 10_000


def test_11_true_zeros_are_data():
    rng = np.random.default_rng(0)
    T = rng.poisson(0.3, (12, 10, 4)).astype(float)
    T[3] = 0.0
    mask = rng.random(T.shape) < 0.7
    obs = tfl.Observations.from_dense(T, mask)
    assert obs.nnz == mask.sum()
    done = tfl.complete(T, mask)
    assert np.array_equal(done.completed[mask], T[mask])
    assert done.estimate[3].mean() < 0.5 * T[mask].mean()  # twenty-eight zeros say something about the others there
    assert done.estimate.mean() == pytest.approx(T[mask].mean(), rel=0.2)


def test_11_no_name_that_numpy_has_dropped():
    source = Path(tfl.__file__).parent
    for path in source.rglob("*.py"):
        assert not re.search(r"\bnp\.(int|float|bool|object|str|complex)\b", path.read_text()), path.name
