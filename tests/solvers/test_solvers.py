"""Every solver on every problem it accepts; the paper's algorithms to the letter."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import MIXED, make_problem

import tensorfill as tfl
from tensorfill.models.init import initial_factors
from tensorfill.result.record import Status
from tensorfill.solvers import onestep
from tensorfill.solvers.base import SOLVERS

ALL = list(SOLVERS)


def unfold(T, n):
    """Mode-n unfolding in the paper's order: the remaining indices with the first varying fastest."""
    return np.moveaxis(T, n, 0).reshape(T.shape[n], -1, order="F")


def fold(M, n, shape):
    rest = [s for m, s in enumerate(shape) if m != n]
    return np.moveaxis(M.reshape([shape[n], *rest], order="F"), 0, n)


def khatri_rao(A, B):
    """Column by column Kronecker product, as printed."""
    return np.stack([np.kron(A[:, r], B[:, r]) for r in range(A.shape[1])], axis=1)


def algorithm3_sweep(T, observed, factors, alpha, rho, eps, together=False):
    """One pass through lines 3 to 10 of Algorithm 3, with explicit unfolding and Khatri-Rao products; epsilon is added
    to X. Every mode sees those before it, as printed, or all see the factors given, as in the authors' program.
    """
    new = [a.copy() for a in factors]
    N = len(new)
    for n in range(N):
        A = list(factors) if together else list(new)
        others = [A[m] for m in range(N - 1, -1, -1) if m != n]  # A_N ... A_(n+1), A_(n-1) ... A_1
        B = others[0]
        for C in others[1:]:
            B = khatri_rao(B, C)
        X = fold(A[n] @ B.T, n, T.shape) + eps  # lines 4 and 5
        Y = np.zeros(T.shape)
        Y[observed] = (X[observed] - T[observed]) / X[observed]  # line 6, Eq. (ycalc)
        S = np.zeros_like(A[n])  # line 7, Eq. (scalc)
        last = len(A[n]) - 1
        for j in range(last + 1):
            if j == 0:
                S[j] = rho[n] * (A[n][0] - A[n][1])
            elif j == last:
                S[j] = rho[n] * (A[n][last] - A[n][last - 1])
            else:
                S[j] = rho[n] * (2 * A[n][j] - A[n][j - 1] - A[n][j + 1])
        G = unfold(Y, n) @ B + S  # line 8
        new[n] = np.maximum(A[n] - alpha * G, 0)  # line 9, Eq. (acalc)
    return new


def smooth_counts(shape, rng, **given):
    """(problem of Algorithm 3, its data, which are observed, factors to start from, rho)."""
    T = rng.poisson(8.0, shape).astype(float)
    observed = rng.random(shape) < 0.6
    rho = [2.0, 3.0, 0.0, 1.0][: len(shape)]
    problem = tfl.Problem(
        tfl.Observations.from_dense(T, observed),
        rank=4,
        prior=tfl.Poisson(),
        interelement={n: tfl.QuadraticVariation(r) for n, r in enumerate(rho) if r},
        dtype=np.float64,
        quiet=True,
        **given,
    )
    return problem, T, observed, [rng.uniform(0.5, 1.5, (n, 4)) for n in shape], rho


@pytest.mark.parametrize("shape", [(6, 5, 4), (4, 3, 5, 3)])
@pytest.mark.parametrize("layout", ["dense", "sampled"])
@pytest.mark.parametrize("order", ["sequential", "together"])
def test_onestep_is_algorithm_3(shape, layout, order, rng):
    """Fifty iterates, each compared with those of a plain version of what is printed, or of the authors' order."""
    problem, T, observed, factors, rho = smooth_counts(shape, rng, layout=layout)
    solver = tfl.OneStep(alpha=3e-3, epsilon=1e-3, project=True, order=order)
    expected, state = factors, solver.init(problem, factors, rng)
    for _ in range(50):
        expected = algorithm3_sweep(T, observed, expected, 3e-3, rho, 1e-3, order == "together")
        state = solver.step(problem, state, rng)
        for A, E in zip(state.factors, expected, strict=True):
            assert np.abs(A - E).max() < 1e-10 * max(1, np.abs(E).max())
    assert all((A[0] != 0).any() and (A[-1] != 0).any() for A in state.factors)  # end rows took part
    assert problem.value(state.factors) < problem.value(factors)


@pytest.mark.parametrize("order", ["sequential", "together"])
def test_sptc_takes_the_steps_of_its_order(order, rng):
    _, T, observed, _, _ = smooth_counts((6, 5, 4), rng)
    settings = {"rank": 4, "alpha": 3e-3, "smooth": {0: 2.0, 1: 3.0}, "order": order, "seed": 5}
    settings["prior"] = tfl.Poisson()  # by name, the data would be brought to the range of the paper first
    done = tfl.complete(T, mask=observed, method="sptc", max_iter=50, tol=0.0, **settings)
    first = tfl.complete(T, mask=observed, method="sptc", max_iter=0, tol=0.0, **settings)
    expected = [A.astype(float) for A in first.factors]
    for _ in range(50):
        expected = algorithm3_sweep(T, observed, expected, 3e-3, [2.0, 3.0, 0.0], 1e-3, together=order == "together")
    for A, E in zip(done.factors, expected, strict=True):
        np.testing.assert_allclose(A, E, rtol=1e-3, atol=1e-4)  # float32
    with pytest.raises(ValueError, match='order must be "sequential" or "together"'):
        tfl.complete(T, mask=observed, method="sptc", order="random")


def test_exact_steps_are_alternating_least_squares(rng):
    shape = (6, 5, 4)
    T, observed = rng.standard_normal(shape), rng.random(shape) < 0.8
    penalty = {0: tfl.QuadraticVariation(0.5), 1: tfl.Ridge(0.1), 2: tfl.Ridge(0.2)}
    problem = tfl.Problem(
        tfl.Observations.from_dense(T, observed), rank=2, interelement=penalty, dtype=np.float64, quiet=True
    )
    solver, factors = tfl.OneStep(inner="exact"), [rng.standard_normal((n, 2)) for n in shape]
    state = solver.step(problem, solver.init(problem, factors, rng), rng)
    for n in range(3):  # the last mode was solved with the others as they now are; the first, with those of the start
        at = [A if m <= n else B for m, (A, B) in enumerate(zip(state.factors, factors, strict=True))]
        G = problem.value_and_grad(at)[1][n]
        assert np.abs(G).max() < 1e-6 * np.abs(problem.value_and_grad(factors)[1][n]).max()
    problem, _ = make_problem("poisson")
    assert "Poisson is not least squares" in solver.refuses(problem)
    with pytest.raises(ValueError, match='belong to inner="gradient"'):
        tfl.OneStep(inner="exact", alpha=0.1)


def test_algorithm_2_has_neither_epsilon_nor_projection(rng):
    problem, factors = make_problem("normal", shape=(5, 4, 3))
    new = tfl.OneStep(alpha=1e-2).step(problem, tfl.OneStep(alpha=1e-2).init(problem, factors, rng), rng).factors
    A = factors
    for n in range(3):
        G = problem.value_and_grad(A)[1][n]
        A = [a - 1e-2 * G if m == n else a for m, a in enumerate(A)]
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(new, A, strict=True))


def test_alpha_too_large_collapses_and_auto_recovers(rng):
    T = rng.poisson(20.0, (12, 10, 3)).astype(float)
    problem = tfl.Problem(
        tfl.Observations.from_dense(T, rng.random(T.shape) < 0.5), rank=5, prior="poisson", quiet=True
    )
    fixed = tfl.solve(problem, tfl.OneStep(alpha=0.1, epsilon=1e-3, project=True), init="uniform")
    assert fixed.status is tfl.Status.COLLAPSED
    auto = tfl.solve(
        problem,
        tfl.OneStep(alpha="auto", epsilon=1e-3, project=True),
        init="uniform",
        stopping=tfl.Stopping(max_iter=200),
    )
    values = auto.history["value"]
    gained = values[0] - values.min()
    late = values[onestep.TRIAL :]  # the first sweeps may rise, as those of the paper do; then a rise is taken back
    assert (np.diff(late) <= 2 * onestep.SLACK * gained).all()
    assert values[-1] < values[0]
    assert auto.estimate.mean() == pytest.approx(T.mean(), rel=0.15)


def test_a_model_without_a_living_component_has_collapsed(rng):
    problem, _, _, factors, _ = smooth_counts((6, 5, 4), rng)
    solver = tfl.OneStep(alpha=1e-3, epsilon=1e-3, project=True)
    assert solver.done(solver.init(problem, factors, rng), None) is None
    dead = [A.copy() for A in factors]
    dead[0][:, :2] = dead[1][:, 2:] = 0  # no factor is 0, but every product of columns is
    assert solver.done(solver.init(problem, dead, rng), None) is tfl.Status.COLLAPSED


def test_auto_alpha_is_the_best_below_the_last_that_works(rng):
    T = rng.poisson(20.0, (12, 10, 3)).astype(float)
    problem = tfl.Problem(
        tfl.Observations.from_dense(T, rng.random(T.shape) < 0.5), rank=5, prior="poisson", quiet=True
    )
    start = [rng.random((n, 5)) for n in T.shape]
    state = tfl.OneStep(epsilon=1e-3, project=True).init(problem, start, rng)

    def end(alpha):
        solver = tfl.OneStep(alpha=alpha, epsilon=1e-3, project=True)
        done = tfl.solve(problem, solver, init=start, stopping=tfl.Stopping(max_iter=onestep.TRIAL, tol=0.0))
        return done.history["value"][-1] if done.status is tfl.Status.ITERATIONS else np.inf

    found = end(state.numbers["alpha"])
    assert found < state.value
    shares = onestep.SHARE ** np.arange(-onestep.COMPARED, onestep.COMPARED)
    ends = [end(share * state.numbers["alpha"]) for share in shares]
    assert not max(ends) < state.value  # an alpha that does not work is within reach
    assert found <= min(e for share, e in zip(shares, ends, strict=True) if share <= 1) + 1e-9 * abs(found)


def test_an_alpha_that_nearly_collapses_is_not_taken():
    """Where the last alphas before the collapse gain less, the search takes one further below."""

    class Toy:
        def value(self, factors):
            return float(factors[0][0, 0])

    def sweep(factors, alpha):  # falls by alpha / 100 a sweep, but not as far where alpha is above 0.7; collapses at 1
        rate = alpha if alpha < 0.7 else 0.5 * alpha
        return [factors[0] - rate / 100] if alpha < 1 else [np.zeros((1, 1))]

    alpha = onestep.best_step(Toy(), sweep, [np.ones((1, 1))], np.ones((1, 1)))
    assert 0.6 < alpha < 0.7


def accepted(solver, **others):
    names = ("normal", "poisson", "gamma", "negative-binomial", "bernoulli-odds", "bernoulli-logit", "huber", *MIXED)
    for prior in names:
        problem, factors = make_problem(prior, shape=(6, 5, 4), rank=2, **others)
        if solver.refuses(problem) is None:
            yield prior, problem, factors


@pytest.mark.parametrize("name", ALL)
def test_objective_goes_down_on_everything_accepted(name):
    solver = SOLVERS[name]()
    seen = 0
    for prior, problem, _ in accepted(solver, interelement={0: tfl.QuadraticVariation(0.1), 1: tfl.Ridge(0.05)}):
        limit = 3 if name == "lbfgsb" else 60  # one step there is a burst of fifty
        done = tfl.solve(problem, solver, init="scaled", stopping=tfl.Stopping(max_iter=limit), seed=1)
        values = done.history["value"]
        assert values[-1] < values[0], prior
        if solver.monotone:
            assert (np.diff(values) <= 0).all(), prior
        seen += 1
    assert seen >= 3


@pytest.mark.parametrize("name", [n for n in ALL if SOLVERS[n].monotone])
@given(seed=st.integers(0, 10_000), rho=st.sampled_from([0.0, 0.01, 1.0, 100.0]), order=st.sampled_from([1, 2]))
@settings(max_examples=12, deadline=None)
def test_monotone_solvers_never_rise(name, seed, rho, order):
    prior = ("poisson", "normal", "gamma", "rayleigh", "negative-binomial", "beta-divergence")[seed % 6]
    penalties = {0: tfl.QuadraticVariation(rho, order=order), 2: tfl.Ridge(0.1)} if rho else {}
    problem, _ = make_problem(prior, shape=(5, 4, 4), rank=3, seed=seed, interelement=penalties)
    solver = SOLVERS[name]()
    if solver.refuses(problem) is None:
        limit = 3 if name == "lbfgsb" else 15
        done = tfl.solve(problem, solver, init="scaled", seed=seed, stopping=tfl.Stopping(max_iter=limit))
        assert (np.diff(done.history["value"]) <= 0).all()


@pytest.mark.parametrize("name", ALL)
def test_all_reach_the_same_optimum(name):
    """Rank 1, least squares, fully determined: one minimum up to scale, whichever way one goes down."""
    rng = np.random.default_rng(3)
    truth = tfl.CP([rng.uniform(0.5, 1.5, (n, 1)) for n in (6, 5, 4)]).full()
    T = truth + 0.05 * rng.standard_normal(truth.shape)
    obs = tfl.Observations.from_dense(T, rng.random(T.shape) < 0.7)
    problem = tfl.Problem(obs, rank=1, quiet=True, interelement={n: tfl.Ridge(1e-2) for n in range(3)})
    best = tfl.solve(problem, tfl.LBFGSB(gtol=1e-10), stopping=tfl.Stopping(tol=0)).history["value"][-1]
    solver = tfl.Adam(rate=0.02, steps=2000) if name == "adam" else SOLVERS[name]()
    tol = 1e-9 if name in ("newton", "admm") else 1e-13  # the last digits are the scale between modes, slow
    done = tfl.solve(problem, solver, stopping=tfl.Stopping(max_iter=4000, tol=tol))
    assert done.history["value"][-1] == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_placeholder_invariance_and_same_seed_same_bits(name):
    rng = np.random.default_rng(5)
    T = rng.poisson(6.0, (7, 6, 3)).astype(float)
    mask = rng.random(T.shape) < 0.6
    results = []
    for placeholder in (0.0, 1e30, np.nan):
        obs = tfl.Observations.from_dense(np.where(mask, T, placeholder), mask)
        problem = tfl.Problem(obs, rank=3, prior="poisson", interelement={0: tfl.QuadraticVariation(1.0)}, quiet=True)
        results.append(tfl.solve(problem, name, seed=2, held_out=0.2, stopping=tfl.Stopping(max_iter=5)))
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0].factors, other.factors, strict=True))
    assert not np.array_equal(
        results[0].factors[0], tfl.solve(problem, name, seed=3, stopping=tfl.Stopping(max_iter=5)).factors[0]
    )


def test_independent_cp_code_finds_the_same_optimum():
    """Normal, no inter-element prior: TensorLy's masked ALS is an independent implementation of the same objective."""
    tl = pytest.importorskip("tensorly", reason="install ./benchmarks to compare with TensorLy")
    from tensorly.decomposition import parafac

    rng = np.random.default_rng(11)
    truth = tfl.CP([rng.uniform(0.3, 1.0, (n, 2)) for n in (8, 7, 6)]).full()
    T = truth + 0.02 * rng.standard_normal(truth.shape)
    mask = rng.random(T.shape) < 0.7
    cp = parafac(
        tl.tensor(np.where(mask, T, T[mask].mean())),
        rank=2,
        mask=tl.tensor(mask.astype(float)),
        init="random",
        random_state=0,
        n_iter_max=5000,
        tol=1e-12,
    )
    theirs = 0.5 * np.sum((T - tl.to_numpy(tl.cp_to_tensor(cp)))[mask] ** 2)
    problem = tfl.Problem(tfl.Observations.from_dense(T, mask), rank=2)
    ours = min(
        tfl.solve(problem, "lbfgsb", seed=s, stopping=tfl.Stopping(tol=1e-14)).history["value"][-1] for s in range(3)
    )
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_stochastic_adam_gets_close_to_full_batch():
    problem, _ = make_problem(
        "poisson", shape=(20, 15, 10), rank=2, interelement={n: tfl.Ridge(0.01) for n in range(3)}
    )
    full = tfl.solve(problem, tfl.Adam(rate=0.02, steps=400))
    few = tfl.solve(problem, tfl.Adam(rate=0.02, steps=1500, batch=200))
    assert problem.value(few.factors) == pytest.approx(problem.value(full.factors), rel=5e-3)


def test_best_of_several_starts_is_no_worse():
    problem, _ = make_problem("normal", shape=(8, 7, 6), rank=4)
    kw = {"solver": "lbfgsb", "stopping": tfl.Stopping(max_iter=5)}
    many = tfl.solve(problem, starts=4, seed=7, **kw)
    assert many.history["value"][-1] <= tfl.solve(problem, starts=1, seed=7, **kw).history["value"][-1]


REFUSALS = {
    "multiplicative": ({"prior": "bernoulli-logit"}, "BernoulliLogit has no multiplicative form"),
    "lbfgsb": ({"interelement": {0: tfl.TotalVariation(1.0)}}, "mode 0 has TotalVariation, which has no gradient"),
    "adam": ({"interelement": {1: tfl.L1(1.0)}}, "mode 1 has L1, which has no gradient"),
    "onestep": ({"interelement": {0: tfl.L1(1.0)}}, "mode 0 has L1, which has no gradient"),
    "newton": ({"interelement": {0: tfl.L1(1.0)}}, "mode 0 has L1, which has no gradient"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_name_what_would_work(name):
    change, sentence = REFUSALS[name]
    problem, _ = make_problem(**{"prior": "poisson"} | change)
    with pytest.raises(
        ValueError, match=rf"solver '{name}' cannot solve this problem: {sentence}. These would: .*admm"
    ):
        tfl.solve(problem, name)


def test_bounds_are_kept():
    problem, _ = make_problem("normal", interelement={0: tfl.NonNegative(), 1: tfl.Box(-0.1, 0.6)})
    for name in ("lbfgsb", "adam", "newton", "admm"):
        A, B, _ = tfl.solve(problem, name, stopping=tfl.Stopping(max_iter=30)).factors
        assert A.min() >= 0
        assert B.min() >= -0.1 - 1e-12
        assert B.max() <= 0.6 + 1e-12


@pytest.mark.parametrize("name", ["lbfgsb", "adam", "newton", "admm"])
def test_the_sum_of_two_bounds_is_what_both_allow(name):
    both = tfl.NonNegative() + tfl.Box(-0.1, 0.6)
    made = []
    for bound in (both, tfl.Ridge(0.1) + both, tfl.Box(0.0, 0.6), tfl.Ridge(0.1) + tfl.Box(0.0, 0.6)):
        problem, _ = make_problem("normal", interelement={1: bound})
        made.append(tfl.solve(problem, name, stopping=tfl.Stopping(max_iter=30)).factors)
        assert made[-1][1].min() >= 0
        assert made[-1][1].max() <= 0.6 + 1e-12
    for n in range(3):
        assert np.array_equal(made[0][n], made[2][n])
        np.testing.assert_allclose(made[1][n], made[3][n], rtol=1e-9)


def test_multiplicative_takes_any_form_of_nonnegative():
    for bound in (tfl.NonNegative() + tfl.NonNegative(), tfl.Box(0.0, None), tfl.Box(0, None) + tfl.NonNegative()):
        problem, _ = make_problem("poisson", interelement={1: bound})
        assert tfl.Multiplicative().refuses(problem) is None


def test_settings_are_frozen_and_checked():
    with pytest.raises(dataclasses.FrozenInstanceError):
        tfl.Adam().rate = 1.0
    for make in (lambda: tfl.OneStep(alpha=-1), lambda: tfl.Adam(schedule="x"), lambda: tfl.LBFGSB(burst=0)):
        with pytest.raises(ValueError, match="must be"):
            make()


def test_a_schedule_that_ends_too_early_says_so():
    """Far above the minimum it is not called finished, however small the last steps were; at the minimum it is."""
    problem, _ = make_problem("normal", shape=(12, 10, 8), rank=3)
    problem = tfl.Problem(problem.observations, rank=3, interelement={n: tfl.Ridge(0.1) for n in range(3)}, quiet=True)
    least = tfl.solve(problem, "lbfgsb").history["value"][-1]
    far = tfl.Stopping(max_iter=5000)
    short, whole = (tfl.solve(problem, tfl.Adam(rate=0.02, steps=steps), stopping=far) for steps in (12, 600))
    assert short.history["value"][-1] > 1.05 * least
    assert short.status is Status.SCHEDULE
    assert "still falling" in short.status.sentence
    assert whole.history["value"][-1] < 1.001 * least
    assert whole.status is Status.FINISHED


def test_a_start_that_leads_astray_is_followed_by_another(monkeypatch):
    """Worse than a constant at entries held out: not an end to be proud of."""
    problem, _ = make_problem("normal", shape=(10, 9, 8), rank=2)
    made = []

    def start(problem, init, rng):
        made.append(1)
        factors = initial_factors(problem, init, rng)
        return [1e4 * A for A in factors] if len(made) == 1 else factors

    monkeypatch.setattr("tensorfill.solvers.fit.initial_factors", start)
    stopping = tfl.Stopping(max_iter=30, tol=1e30, steady=1)  # the first one "converges" where it stands
    done = tfl.solve(problem, tfl.OneStep(), held_out=0.2, stopping=stopping)
    assert len(made) == 2
    assert done.error < problem.observations.values.std() * 3
    made.clear()
    tfl.solve(problem, "lbfgsb", held_out=0.2, init="scaled", stopping=tfl.Stopping(max_iter=0), starts=2)
    assert len(made) == 2
