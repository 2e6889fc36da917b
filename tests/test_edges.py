"""Corners: data and moments at which a solver, the loop or a recipe could go wrong without a word."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from problems import make_problem

import tensorfill as tfl
from tensorfill.interelement.quadratic import Quadratic
from tensorfill.methods.defaults import default_prior, prior_for
from tensorfill.numerical.base import PRIORS
from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, State
from tensorfill.solvers.fit import Fit
from tensorfill.solvers.loop import Stopping, run
from tensorfill.solvers.multiplicative import GROW, Multiplicative


def digest(state, *arrays):
    total = hashlib.sha256(json.dumps(dict(state.numbers), sort_keys=True).encode())
    for array in (*state.arrays.values(), *arrays):
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_step_changes_nothing_it_is_given(name, dtype):
    problem, factors = make_problem("poisson", shape=(6, 5, 4), rank=3, weighted=True)
    problem = tfl.Problem(
        problem.observations,
        rank=3,
        prior="poisson",
        dtype=dtype,
        interelement={0: tfl.QuadraticVariation(0.3), 1: tfl.Ridge(0.1)},
        quiet=True,
    )
    solver = tfl.Adam(batch=20) if name == "adam" else SOLVERS[name]()
    rng = np.random.default_rng(0)
    start = [A.astype(dtype) for A in factors]
    given = [A.tobytes() for A in start]
    state = solver.init(problem, start, rng)
    assert [A.tobytes() for A in start] == given
    data = [problem.observations.values, problem.t, problem.w]
    for _ in range(3):
        before = digest(state, *data)
        new = solver.step(problem, state, rng)
        assert digest(state, *data) == before
        assert digest(new) != digest(state)
        state = new


# --- the multiplicative step ------------------------------------------------------------------------------------------

MULTIPLICATIVE = [n for n in PRIORS if PRIORS[n]().majoriser is not None]


def hard_problem(name, seed):
    """Entries near zero, x below the prior's floor, size-1 modes, weights, and every kind of coupling."""
    rng = np.random.default_rng(seed)
    prior = tfl.BetaDivergence(beta=float(rng.choice([-1, 0, 0.5, 1, 1.5, 2, 3]))) if "beta" in name else PRIORS[name]()
    shape = [(6, 5), (5, 4, 3), (4, 3, 2, 2), (5, 1, 4)][rng.integers(4)]
    factors = [rng.uniform(0, 1, (n, 2)) * 10.0 ** rng.uniform(-3, 0.2, (n, 2)) for n in shape]
    factors[0][rng.random(factors[0].shape) < 0.2] = 0.0
    T = rng.poisson(rng.choice([0.2, 2.0, 20.0]), shape).astype(float)
    T = prior.t_domain.clip(T)
    mask = rng.random(shape) < 0.7
    mask.flat[0] = True
    penalties = [
        None,
        tfl.QuadraticVariation(10 ** rng.uniform(-2, 2), int(rng.integers(1, 3)), bool(rng.integers(2))),
        tfl.Ridge(0.1) + tfl.QuadraticVariation(1.0, 2),
        tfl.GraphLaplacian(1.0, edges=[(0, 1), (0, 2), (1, 3)], n=shape[0]),
    ]
    chosen = penalties[rng.integers(4)]
    obs = tfl.Observations.from_dense(T, mask, weights=rng.uniform(0.1, 5, shape))
    between = {} if chosen is None else {0: chosen}
    return tfl.Problem(obs, rank=2, prior=prior, interelement=between, dtype=np.float64, quiet=True), factors


@pytest.mark.parametrize("name", MULTIPLICATIVE)
def test_the_majoriser_lies_above_the_objective_everywhere(name):
    """So the objective falls in every single mode, without looking at its value, also below the floor."""
    solver = Multiplicative(extrapolate=0.0)
    below = 0
    for seed in range(25):
        problem, factors = hard_problem(name, seed)
        state = solver.init(problem, factors, np.random.default_rng(0))
        A, value = state.factors, state.value
        for _ in range(3):
            for n in range(len(A)):
                below += (problem.kernel.predict(A) < getattr(problem.prior, "floor", 0)).sum()
                A = [solver._mode(problem, A, n, least=1.0) if m == n else B for m, B in enumerate(A)]
                new = problem.value(A)
                assert new <= value + 1e-9 * max(1, abs(value)), seed
                value = new
    assert below > 100 or name == "normal"


@pytest.mark.parametrize("name", ["poisson", "negative-binomial"])
@pytest.mark.parametrize("seed", [2, 25, 29, 36])
def test_the_multiplicative_solver_does_not_freeze_below_the_floor(name, seed):
    """The usual step overshoots there and is not taken; a shorter one must be, or the run stands still for ever."""
    problem, factors = hard_problem(name, seed)
    solver = Multiplicative()
    state = solver.init(problem, factors, np.random.default_rng(0))
    for _ in range(30):
        new = solver.step(problem, state, np.random.default_rng(0))
        assert new.value < state.value
        state = new


def test_rows_without_data_stay_where_they_started():
    T = np.ones((4, 5))
    T[2] = np.nan
    problem = tfl.Problem(tfl.Observations.from_dense(T), rank=1, prior="poisson", quiet=True)
    start = [np.full((4, 1), 0.7), np.full((5, 1), 0.7)]
    done = tfl.solve(problem, tfl.Multiplicative(extrapolate=0.0), init=start, stopping=Stopping(max_iter=5))
    assert done.factors[0][2, 0] == 0.7


class Uneven(Quadratic):
    """Positive definite, with a negative row sum: what is not a Laplacian is concave there."""

    def matrix(self, n):
        from scipy.sparse import csr_array

        Q = np.eye(n)
        Q[0, 1] = Q[1, 0] = -2.0
        Q[1, 1] = 5.0
        return csr_array(self.rho * Q)


def test_any_quadratic_prior_in_the_multiplicative_step():
    problem, factors = make_problem("poisson", shape=(5, 4, 3), rank=2, interelement={0: Uneven(3.0)})
    solver = Multiplicative(extrapolate=0.0)
    A, value = [np.abs(B) for B in factors], problem.value(factors)
    for _ in range(300):
        A = [solver._mode(problem, A, 0), *A[1:]]
        assert problem.value(A) <= value + 1e-10
        value = problem.value(A)
    G = problem.value_and_grad(A)[1][0]
    assert np.abs(np.minimum(A[0], G)).max() < 1e-3  # a stationary point, or a bound


# --- the loop ---------------------------------------------------------------------------------------------------------


def test_an_interrupted_step_draws_its_random_numbers_again(tmp_path, monkeypatch):
    problem, _ = make_problem("poisson", shape=(8, 6, 4), rank=2)
    kw = {"solver": tfl.Adam(batch=20, steps=9), "seed": 4}
    whole = tfl.solve(problem, stopping=Stopping(max_iter=9, tol=0.0), **kw)
    calls = []
    on = tfl.Problem.on

    def interrupted(self, observations):  # the batch has been drawn by now
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return on(self, observations)

    monkeypatch.setattr(tfl.Problem, "on", interrupted)
    kw |= {"checkpoint": tmp_path / "run.npz", "stopping": Stopping(max_iter=9, tol=0.0)}
    first = tfl.solve(problem, **kw)
    assert first.status is Status.INTERRUPTED
    assert first.iterations == 3
    again = tfl.solve(problem, resume=True, **kw)
    assert np.array_equal(again.history["value"], whole.history["value"])
    assert all(np.array_equal(A, B) for A, B in zip(again.factors, whole.factors, strict=True))


@pytest.mark.parametrize("stop", ["callback", "ctrl-c"])
def test_a_run_that_was_over_is_not_resumed(stop, tmp_path):
    """Stopped from outside in the very iteration in which it ended by itself: resuming adds nothing."""
    problem, _ = make_problem("poisson")
    kw = {"solver": tfl.Adam(steps=4), "checkpoint": tmp_path / "run.npz", "stopping": Stopping(max_iter=9, tol=0.0)}

    def callback(state, history):
        if history.rows[-1].iteration == 4:
            if stop == "ctrl-c":
                raise KeyboardInterrupt
            return True

    tfl.solve(problem, callback=callback, **kw)
    again = tfl.solve(problem, resume=True, **kw)
    assert again.iterations == 4
    assert again.status in (Status.FINISHED, Status.SCHEDULE)


def test_a_start_that_cannot_be_scored_does_not_end_the_search_for_the_best():
    class Late:
        def init(self, rng):
            return State({"k": np.zeros(1)}, {}, 1.0)

        def step(self, state, rng):
            return State({"k": state.arrays["k"] + 1}, {}, 1.0)

        def score(self, state):
            k = int(state.arrays["k"][0])
            return np.nan if k == 0 else abs(k - 3) + 1.0

        def done(self, state, previous):
            return None

    outcome = run(Late(), rng=np.random.default_rng(0), stopping=Stopping(tol=0, max_iter=20, patience=4))
    assert outcome.status is Status.HELD_OUT
    assert outcome.best_iteration == 3


def test_callback_and_time_end_all_starts(monkeypatch, clock):
    problem, _ = make_problem("poisson")
    seen = []

    def callback(state, history):
        seen.append(history.rows[-1])
        return len(seen) == 3

    done = tfl.solve(problem, "adam", starts=5, callback=callback, stopping=Stopping(tol=0))
    assert done.status is Status.CALLBACK
    assert len(seen) == 3
    step = Fit.step
    monkeypatch.setattr(Fit, "step", lambda *args: (clock.sleep(0.02), step(*args))[1])
    began = clock.now
    done = tfl.solve(problem, "adam", starts=50, stopping=Stopping(tol=0, max_iter=5, seconds=0.3))
    assert done.status is Status.TIME
    assert clock.now - began < 0.35  # fifty starts, each with its own limit, would take five seconds


def test_a_start_without_a_finite_objective_never_wins(monkeypatch):
    problem, factors = make_problem("normal")
    import tensorfill.solvers.fit as fit_module

    given = iter([[np.full_like(A, 1e200) for A in factors], factors])
    monkeypatch.setattr(fit_module, "initial_factors", lambda *args: next(given))
    with np.errstate(all="ignore"):
        done = tfl.solve(problem, tfl.Adam(steps=2), starts=2)
    assert np.isfinite(done.estimate).all()
    assert np.abs(done.estimate).max() < 100


@pytest.mark.parametrize("c", [1e-22, 1e22])
def test_lbfgsb_does_not_depend_on_the_unit(c, rng):
    T = tfl.CP([rng.normal(size=(n, 2)) for n in (9, 8, 7)]).full()
    ends = []
    for scale in (1.0, c):
        obs = tfl.Observations.from_dense(T * scale)
        problem = tfl.Problem(obs, rank=2, prior=tfl.Normal(sigma=scale), quiet=True)
        ends.append(tfl.solve(problem, tfl.LBFGSB(burst=5), stopping=Stopping(max_iter=8, tol=0)).history["value"])
    assert ends[1][-1] < 0.2 * ends[1][0]
    assert np.allclose(ends[0][:3], ends[1][:3], rtol=1e-3)


def test_constant_start_at_mean_zero_can_move():
    T = np.array([[1.0, -1.0], [-1.0, 1.0]])
    problem = tfl.Problem(tfl.Observations.from_dense(T), rank=1, quiet=True)
    assert np.allclose(tfl.solve(problem, "lbfgsb", init="constant").estimate, T, atol=1e-3)


def test_onestep_refuses_what_its_projection_would_ignore():
    for penalty in (tfl.L1(5.0) + tfl.NonNegative(), tfl.TotalVariation(5.0) + tfl.NonNegative()):
        problem, _ = make_problem("poisson", interelement={0: penalty})
        assert "has no gradient" in tfl.OneStep(project=True).refuses(problem)
    problem, _ = make_problem("poisson", interelement={0: tfl.NonNegative() + tfl.Ridge(1.0)})
    assert tfl.OneStep(project=True).refuses(problem) is None


def test_fingerprints_tell_problems_apart():
    obs = tfl.Observations.from_dense(np.arange(16.0).reshape(4, 4))
    others = [
        {"interelement": {0: tfl.GraphLaplacian(1.0, edges=[(0, 1)], n=4)}},
        {"interelement": {0: tfl.GraphLaplacian(1.0, edges=[(2, 3)], n=4)}},
        {"prior": tfl.Custom("(x - t)**2", x_domain=(-100, None), floor=1e-3)},
        {"prior": tfl.Custom("(x - t)**2", x_domain=(-100, None), floor=1e-2)},
    ]
    assert len({tfl.Problem(obs, rank=1, quiet=True, **kw).fingerprint() for kw in others}) == 4


# --- data in ----------------------------------------------------------------------------------------------------------


def test_negative_coordinates_are_refused():
    with pytest.raises(ValueError, match=r"must lie inside shape \(2, 3\); got \(0, -1\)"):
        tfl.Observations.from_coo([[0, -1], [1, 2]], [1.0, 2.0])


def test_masks_and_weights_of_xarray_go_by_name():
    da = xr.DataArray(np.arange(9.0).reshape(3, 3), dims=("a", "b"))
    along_b = xr.DataArray([1.0, 2.0, 4.0], dims="b")
    assert np.array_equal(tfl.observe(da, along_b != 2).mask, [[1, 0, 1]] * 3)
    assert np.array_equal(tfl.observe(da, weights=along_b).weights, [1, 2, 4] * 3)
    full = xr.DataArray(np.arange(9).reshape(3, 3) % 2 == 0, dims=("b", "a"))
    assert np.array_equal(tfl.observe(da, full).mask, full.values.T)
    with pytest.raises(ValueError, match="mask must have dims and lengths among"):
        tfl.observe(da, xr.DataArray([True] * 3, dims="c"))
    with pytest.raises(ValueError, match="dims must be left out"):
        tfl.observe(da, dims=("x", "y"))


def test_weights_of_the_first_modes_serve_the_others():
    weights = np.arange(6.0).reshape(2, 3) + 1
    obs = tfl.Observations.from_dense(np.ones((2, 3, 4)), weights=weights)
    assert np.array_equal(obs.weights, np.repeat(weights, 4))
    with pytest.raises(ValueError, match=r"weights must have the shape of the data, \(2, 3, 4\)"):
        tfl.Observations.from_dense(np.ones((2, 3, 4)), weights=np.ones(4))


def test_a_series_comes_back_as_a_series():
    index = pd.MultiIndex.from_product([list("xyz"), [2020, 2021], ["p", "q"]], names=["site", "year", "kind"])
    series = pd.Series(np.arange(12.0), index=index, name="load")
    series.iloc[5] = np.nan
    done = tfl.complete(series.sample(frac=1, random_state=0))
    out = done.completed
    assert isinstance(out, pd.Series)
    assert out.name == "load"
    assert out.index.names == index.names
    assert not out.isna().any()
    assert (out[series.dropna().index] == series.dropna()).all()
    with pytest.raises(ValueError, match="must be left out for a Series"):
        tfl.observe(series, weights=np.ones(12))


def test_a_numpy_matrix_is_an_array():
    with pytest.warns(PendingDeprecationWarning):
        given = np.matrix([[1.0, 2.0], [np.nan, 3.0]])
    assert tfl.Observations.from_dense(given).values.tolist() == [1, 2, 3]


def test_arrays_given_stay_writable():
    values, indices = np.ones(2), np.array([[0, 0], [1, 1]])
    obs = tfl.Observations((2, 2), indices, values)
    assert values.flags.writeable
    assert indices.flags.writeable
    assert not obs.values.flags.writeable


# --- results on disk --------------------------------------------------------------------------------------------------


def test_every_field_survives_the_disk(tmp_path):
    rng = np.random.default_rng(0)
    T, mask = rng.integers(0, 200, (7, 6, 3)).astype(np.uint8), rng.random((7, 6, 3)) < 0.7
    weights = rng.uniform(0.5, 2, T.shape)
    for kw in ({}, {"method": "halrtc", "max_iter": 5}):
        weighted = {} if kw else {"weights": weights}
        done = tfl.complete(T, mask=mask, dims=("a", "b", "c"), seed=np.int64(3), **kw, **weighted)
        done.save(tmp_path / "run.npz")
        again = tfl.Completion.load(tmp_path / "run.npz")
        assert again.completed.dtype == np.uint8
        assert np.array_equal(again.completed, done.completed)
        assert np.array_equal(again.estimate, done.estimate)
        for name in ("method", "status", "settings", "prior", "rank", "iterations", "seconds"):
            assert getattr(again, name) == getattr(done, name), name
        for name in ("held_out", "error"):
            assert np.array_equal(getattr(again, name), getattr(done, name), equal_nan=True)
        obs, was = again.observations, done.observations
        assert (obs.shape, obs.dims) == (was.shape, was.dims)
        assert np.array_equal(obs.indices, was.indices)
        assert np.array_equal(obs.values, was.values)
        assert obs.weights is was.weights is None or np.array_equal(obs.weights, was.weights)
        assert repr(again) == repr(done)


def test_large_integers_survive_the_disk_bit_for_bit(tmp_path):
    T = np.array([[2**62 + 1, 5], [7, 0]])
    done = tfl.complete(T, mask=[[1, 1], [1, 0]])
    done.save(tmp_path / "run.npz")
    assert tfl.Completion.load(tmp_path / "run.npz").completed[0, 0] == 2**62 + 1


@pytest.mark.parametrize("content", [b"junk", b"", b"PK\x03\x04 cut off"])
def test_a_file_that_is_none_of_ours_gets_a_sentence(content, tmp_path):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"must be a file written by Completion\.save"):
        tfl.Completion.load(tmp_path / "x.npz")


# --- the front door ---------------------------------------------------------------------------------------------------


def table(seed=0, shape=(14, 12, 10)):
    rng = np.random.default_rng(seed)
    mean = tfl.CP([rng.uniform(0.2, 1.0, (n, 2)) for n in shape]).full()
    return mean * rng.gamma(20.0, 1 / 20.0, shape), rng.random(shape) < 0.5


@pytest.mark.parametrize("c", [1e-22, 1e22])
def test_the_unit_of_the_data_does_not_matter(c):
    T, mask = table(shape=(10, 9, 8))
    y, x = np.mgrid[0:30, 0:28] / 28
    field = np.stack([2 + np.sin(5 * x + k) * np.cos(4 * y - k) for k in range(3)], axis=2)
    seen = np.random.default_rng(1).random(field.shape) < 0.4
    for data, known, kw in (
        (T, mask, {"rank": 2, "starts": 1, "max_iter": 40}),
        (field, seen, {"rank": 6, "max_iter": 60}),
    ):
        for level in (0.0, data.mean()):  # positive numbers, then real ones
            plain = tfl.complete(data - level, mask=known, **kw)
            scaled = tfl.complete(c * (data - level), mask=known, **kw)
            assert type(plain.prior) is type(scaled.prior)
            assert np.std(scaled.estimate / c - plain.estimate) < 0.1 * np.std(plain.estimate)


def test_priors_made_from_a_name_fit_the_data():
    obs = tfl.Observations.from_dense(np.array([[1e-12, 2e-12], [3e-12, np.nan]]))
    assert prior_for(obs, "gamma").floor == pytest.approx(2e-15)
    assert prior_for(obs, "Normal") == prior_for(obs, "normal") == tfl.Normal(sigma=float(obs.values.std()))
    large = np.array([[1.5, 2.0], [3.0, np.nan]]) * 1e22  # every float of this size is a whole number
    assert default_prior(tfl.Observations.from_dense(large)).name == "gamma"


def test_a_resumed_contest_ends_with_the_same_bits(tmp_path):
    T, mask = table(shape=(8, 7, 6))
    kw = {"mask": mask, "max_iter": 12, "starts": 2}
    whole = tfl.complete(T, **kw)
    for cut in (3, 40):  # in the first fit, and further on
        seen = []
        path = tmp_path / f"run{cut}.npz"

        def stop(state, history, seen=seen, cut=cut):
            seen.append(1)
            return len(seen) > cut

        early = tfl.complete(T, callback=stop, checkpoint=path, **kw)
        assert early.status is Status.CALLBACK
        again = tfl.complete(T, checkpoint=path, resume=True, **kw)
        assert again.status is whole.status
        assert np.array_equal(again.estimate, whole.estimate)
        assert again.held_out == whole.held_out


def test_the_time_limit_is_that_of_the_whole_contest(monkeypatch, clock):
    T, mask = table()
    step = Fit.step
    monkeypatch.setattr(Fit, "step", lambda *args: (clock.sleep(0.03), step(*args))[1])
    began = clock.now
    done = tfl.complete(T, mask=mask, rank=2, seconds=0.5)
    assert done.status is Status.TIME
    assert clock.now - began < 0.6
    assert np.isfinite(done.estimate).all()


def test_limits_of_zero_iterations_and_few_observations():
    T, mask = table()
    assert tfl.complete(T, mask=mask, max_iter=0).iterations == 0
    few = tfl.complete(np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]]))
    assert few.status is Status.FINISHED
    assert few.status.ok


def test_methods_without_weights_say_so():
    T, mask = table()
    with pytest.raises(ValueError, match="method 'halrtc' has no weights"):
        tfl.complete(T, mask=mask, weights=np.full(T.shape, 2.0), method="halrtc", max_iter=2)


def test_entries_grow_by_a_limited_factor():
    """Where x is almost zero the gradient's positive part is lost to rounding and its minimum lies anywhere."""
    problem = tfl.Problem(tfl.Observations.from_dense(np.ones((2, 2))), rank=1, prior="gamma", quiet=True)
    tiny = [np.array([[1e-20], [1.0]]), np.ones((2, 1))]
    with np.errstate(over="ignore"):
        A = Multiplicative()._mode(problem, tiny, 0)
    assert A[0, 0] == pytest.approx(GROW * 1e-20)
