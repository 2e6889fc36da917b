"""The Gibbs sampler: does it draw from the posterior it names, in the same bits every time?"""

import os
import signal
import time

import numpy as np
import pytest

from tensorfill.data.observations import Observations
from tensorfill.kernels import _gibbs as loops
from tensorfill.kernels import _polyagamma
from tensorfill.kernels._augment import Hyper
from tensorfill.kernels.compiled import compiled
from tensorfill.result.record import Status
from tensorfill.solvers.entries import entries
from tensorfill.solvers.gibbs import sampler as gibbs
from tensorfill.solvers.gibbs.likelihoods import Likelihood
from tensorfill.solvers.gibbs.posterior import convergence, effective_size, split_rhat
from tensorfill.solvers.gibbs.sampler import FIELDS, RATIOS, Gibbs, frequencies
from tensorfill.solvers.loop import Stopping, run
from tensorfill.solvers.threads import in_threads


def observations(shape, share=0.7, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random(shape) < share
    mask.reshape(-1)[:2] = True
    return Observations.from_dense(rng.normal(size=shape), mask)


def sampler(obs, threads=1, kind="normal", burn=5, draws=10, smooth=(0,), **kw):
    likelihood = Likelihood(kind, np.array(obs.values, dtype=float))
    return Gibbs(entries(obs, threads), (likelihood,), 3, frozenset(smooth), burn, draws, 10, **kw)


def sweep(model, chain, rng, count=1, likelihood=None):
    """Sweep, with the chain changed; returns what it leaves."""
    record = model._record(0, count, len(chain["numbers"]) - 1)
    model.sweep(chain, likelihood or model.likelihoods[0], record, rng)
    return record


# --- the prior ------------------------------------------------------------------------------------------------------


def basis(length, ring=False):
    """Eigenvectors of the second differences, in columns, (I, I)."""
    i, k = np.arange(length), np.arange(length)
    if ring:  # 1, then cosine and sine of each frequency; of an even length the last cosine is alone
        turns = 2 * np.pi * np.outer(i, (k + 1) // 2) / length
        out = np.where((k % 2 == 1) | (k == 0), np.cos(turns), np.sin(turns))
    else:
        out = np.cos(np.pi * np.outer(i + 0.5, k) / length)
    return out / np.linalg.norm(out, axis=0)


def sample_prior(model, rng, parameter=1.0):
    """A chain drawn from the prior, before any data."""
    hyper, (N, C), R = Hyper(**(model.hyper or {})), model.free.shape, model.rank
    held = rng.standard_gamma(hyper.global_shape) / hyper.global_rate
    hold = rng.standard_gamma(hyper.local, R) / (hyper.local * held)
    size = rng.standard_normal(R) / np.sqrt(hold)
    ridge, ratio, middle = np.ones((N, C)), np.zeros((N, C)), np.zeros((N, C))
    F = np.ones((int(model.entries.first[-1]), C))
    Z, energy = model._features
    width = np.count_nonzero(energy, axis=1)
    rate = rng.standard_gamma(hyper.effect_shape, (N, C)) / hyper.effect_rate
    stiff = np.where(width[:, None] > 0, rng.standard_gamma(hyper.effect_shape, (N, C)) / rate, 1.0)
    slope = rng.standard_normal((N, Z.shape[1], C)) / np.sqrt(stiff)[:, None]
    lean = np.zeros((len(F) if Z.shape[1] else 0, C))
    for n, length in enumerate(model.entries.shape):
        free = np.flatnonzero(model.free[n])
        ridge[n, free] = rng.standard_gamma(hyper.shape, len(free)) / hyper.rate
        for effect in free[model.free[:, free].sum(axis=0) == 1]:
            rate = rng.standard_gamma(hyper.effect_shape) / hyper.effect_rate
            ridge[n, effect] = rng.standard_gamma(hyper.effect_shape) / rate
        if n in model.smooth:
            ratio[n, free] = rng.choice(RATIOS, len(free))
        middle[n, free] = np.where(model.moves[n, free], rng.standard_normal(len(free)), 0.0)
        waves = frequencies(length, ring=n in model.rings)
        sd = 1 / np.sqrt(ridge[n, free] * (1 + np.outer(waves, ratio[n, free])))
        noise = basis(length, n in model.rings) @ (sd * rng.standard_normal((length, len(free))))
        around = Z[model.entries.part(n), : width[n]] @ slope[n, : width[n]]
        F[model.entries.part(n), free] = middle[n, free] + around[:, free] + noise
        if len(lean):
            lean[model.entries.part(n)] = around
    F[model.entries.part(model.sequence[0]), C - R :] *= size
    numbers = np.array([held, parameter])
    return dict(zip(FIELDS, (F, ridge, ratio, middle, size, hold, numbers, lean, slope, stiff), strict=True))


# --- the draws of rows -----------------------------------------------------------------------------------------------


def dense_system(rng, loose=(), rows=7, K=4):
    """Random normal equations, and the precision matrix and right-hand side that they stand for."""
    B = rng.normal(size=(rows, K, 6))
    G, h = B @ B.transpose(0, 2, 1), rng.normal(size=(rows, K))
    ridge, rho, middle = rng.random(K) + 0.5, 3 * rng.random(K), rng.normal(size=K)
    rho[list(loose)] = 0
    D = np.diff(np.eye(rows), axis=0)
    P = np.kron(D.T @ D, np.diag(rho))
    for i in range(rows):
        P[i * K : (i + 1) * K, i * K : (i + 1) * K] += G[i] + np.diag(ridge)
    return G, h, ridge, rho, middle, P, (h + ridge * middle).reshape(-1)


@pytest.mark.parametrize("loose", [(), (0,), (1,), (0, 2), (0, 1, 2, 3)])
def test_chain_draws_have_the_mean_and_covariance_of_the_block_tridiagonal_system(loose):
    """Also where some columns are not tied to their neighbours."""
    G, h, ridge, rho, middle, P, v = dense_system(np.random.default_rng(0), loose)
    mean, out = np.empty_like(h), np.empty_like(h)
    columns = []
    for k in range(h.size):  # the draw is linear in its normals: unit vectors give a root of the covariance
        normals = np.zeros(h.size)
        normals[k] = 1
        loops.draw_chain(G.copy(), h.copy(), ridge, rho, middle, normals.reshape(h.shape), mean, out)
        columns.append((out - mean).reshape(-1))
    root = np.array(columns).T
    np.testing.assert_allclose(mean.reshape(-1), np.linalg.solve(P, v), atol=1e-12)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(P), atol=1e-12)


@pytest.mark.parametrize("shape", [(6, 5), (5, 4, 3), (4, 3, 3, 2)])
def test_normal_equations_against_plain_sums(shape):
    obs = observations(shape)
    table, rng = entries(obs, 1), np.random.default_rng(3)
    C, D = 5, 2
    F = rng.normal(size=(sum(shape), C))
    z, w = rng.normal(size=obs.nnz), rng.random(obs.nnz) + 0.5
    for n, mode in enumerate(table.modes):
        G, h = np.empty((shape[n], C - D, C - D)), np.empty((shape[n], C - D))
        free, fixed = np.ascontiguousarray(F[:, D:]), np.ascontiguousarray(F[:, :D])
        loops.systems(free, fixed, mode.others, mode.order, mode.starts, z, w, G, h)
        k = np.prod([F[table.rows[:, m]] for m in range(len(shape)) if m != n], axis=0)
        for i in range(shape[n]):
            of = obs.indices[:, n] == i
            own, offset = k[of, D:], k[of, :D].sum(axis=1)
            np.testing.assert_allclose(np.tril(G[i]), np.tril(own.T @ (w[of, None] * own)), atol=1e-12)
            np.testing.assert_allclose(h[i], own.T @ (w[of] * (z[of] - offset)), atol=1e-12)


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("length", [3, 6, 7])
def test_frequencies_are_those_of_the_neighbours(length, ring):
    differences = np.diff(np.eye(length), axis=0)
    if ring:
        differences = np.vstack([differences, np.eye(length)[-1] - np.eye(length)[0]])
    Q, U = differences.T @ differences, basis(length, ring)
    np.testing.assert_allclose(Q @ U, U * frequencies(length, ring=ring), atol=1e-12)
    np.testing.assert_allclose(U.T @ U, np.eye(length), atol=1e-12)


def test_smoothness_is_found_where_it_is():
    """Of the main effects of two modes, both may be smooth: one is a walk, the other noise."""
    rng = np.random.default_rng(4)
    walk = np.cumsum(rng.normal(size=(80, 1)), axis=0)
    T = (walk - walk.mean()) / walk.std() + rng.normal(size=(1, 60))
    obs = Observations.from_dense(T + 0.01 * rng.normal(size=T.shape))
    model = Gibbs(entries(obs, 1), (Likelihood("normal", np.array(obs.values)),), 0, frozenset([0, 1]), 0, 1, 1)
    chain = model._first(rng, model.likelihoods[0])
    sweep(model, chain, rng, 20)
    drawn = []
    for _ in range(50):
        sweep(model, chain, rng)
        drawn.append(np.diag(chain["ratio"]).copy())
    assert np.median(drawn, axis=0)[0] >= 16
    assert np.median(drawn, axis=0)[1] <= 0.25


# --- Polya-Gamma -----------------------------------------------------------------------------------------------------


@compiled()
def polya_gamma(b, c, out, rng):
    for i in range(len(out)):
        out[i] = _polyagamma.polya_gamma(b, c, rng)


@pytest.mark.parametrize("b", [0.6, 1.0, 3.5, 8.0, 40.0])
@pytest.mark.parametrize("c", [0.0, 0.7, 1.0, 4.0, 15.0])
def test_polya_gamma_moments(b, c):
    n = 40_000
    x = np.empty(n)
    polya_gamma(b, c, x, np.random.default_rng(5))
    k = np.arange(200_000) + 0.5
    d = 2 * np.pi**2 * k**2 + 0.5 * c * c
    variance = b * np.sum(d**-2.0)
    mean = b * 0.25 if c == 0 else b * np.tanh(c / 2) / (2 * c)
    np.testing.assert_allclose(b * np.array(_polyagamma.power_sums(c)[:2]), [mean, variance], rtol=1e-6)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / n)
    np.testing.assert_allclose(x.var(), variance, rtol=0.08)
    # the transform that defines it: E exp(-omega s) = (cosh(c / 2) / cosh(sqrt(c^2 / 4 + s / 2)))^b
    s = 1 / mean
    defined = (np.cosh(c / 2) / np.cosh(np.sqrt(c * c / 4 + s / 2))) ** b
    assert abs(np.exp(-s * x).mean() - defined) < 5 * np.exp(-s * x).std() / np.sqrt(n)


# --- the joint distribution (Geweke 2004) ----------------------------------------------------------------------------

TIGHT = {"local": 3.0, "global_shape": 4.0, "global_rate": 40.0, "shape": 4.0, "rate": 0.6}
TIGHT |= {"effect_shape": 4.0, "effect_rate": 6.0}
TIGHT |= {"noise_shape": 4.0, "noise_rate": 4.0, "own": 3.0, "dispersion": 1.5, "dispersion_sd": 0.5}
# of each likelihood its settings, and data around x given its parameter
FAMILIES = {
    "normal": ({}, lambda x, p, rng: x + rng.normal(size=len(x)) * p**-0.5),
    "weighted": ({}, lambda x, p, rng: x + rng.normal(size=len(x)) * (p * weights(len(x))) ** -0.5),
    "features": ({}, lambda x, p, rng: x + rng.normal(size=len(x)) * p**-0.5),
    "own noise": ({}, lambda x, p, rng: x + rng.normal(size=len(x)) * p**-0.5),
    "own noise, student-t": ({"degrees": 3.0}, lambda x, p, rng: x + rng.standard_t(3.0, size=len(x)) * p**-0.5),
    "student-t": ({"degrees": 3.0}, lambda x, p, rng: x + rng.standard_t(3.0, size=len(x)) * p**-0.5),
    "ordinal": (
        {"cuts": (-0.5, 0.7)},
        lambda x, p, rng: np.digitize(x + rng.normal(size=len(x)) * p**-0.5, (-0.5, 0.7)),
    ),
    "bernoulli": ({"level": 0.3}, lambda x, p, rng: rng.binomial(1, 1 / (1 + np.exp(-x - 0.3)))),
    "binomial": ({"trials": 9, "level": -0.3}, lambda x, p, rng: rng.binomial(9, 1 / (1 + np.exp(0.3 - x)))),
    "negative-binomial": (
        {"level": 0.5},
        lambda x, p, rng: rng.poisson(np.exp(x + 0.5) * rng.standard_gamma(p, len(x)) / p),
    ),
}


def weights(n):
    return 0.5 + np.arange(n) % 3


def first_parameter(name, rng):
    if name == "negative-binomial":
        return np.exp(TIGHT["dispersion"] + TIGHT["dispersion_sd"] * rng.normal())
    return 1.0 if name in ("bernoulli", "binomial") else rng.gamma(TIGHT["noise_shape"]) / TIGHT["noise_rate"]


def features(chain, x, name):
    x = np.sign(x) * np.log1p(np.abs(x))
    return np.array(
        [
            *np.log(np.abs(chain["size"])),
            *np.log(chain["numbers"][: 1 if name in ("bernoulli", "binomial") else None]),
            *np.log(chain["ridge"][:, -1]),
            *np.log(np.diag(chain["ridge"])),
            *(chain["ratio"][-1, -2:] > 1),
            *chain["middle"][:, -1],
            *np.arctan([*chain["slope"][[0, 1], :, [0, 1]].ravel(), *chain["slope"][:, :, -1].ravel()]),
            *(np.log(chain["stiff"][:, -1]) if chain["slope"].size else ()),
            *x[:4],
            *x[:4] ** 2,
            x[0] * x[1],
        ]
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_successive_conditional_draws_have_the_prior_distribution(name):
    """Data from the model, the model from the sampler, in turn: what remains must be distributed as the prior."""
    rng = np.random.default_rng(6)
    settings, data = FAMILIES[name]
    kind = {"weighted": "normal", "features": "normal", "bernoulli": "binomial", "own noise": "normal"}.get(name, name)
    kind, obs = kind.removeprefix("own noise, "), observations((3, 6))
    table = entries(obs, 1)
    w = weights(table.nnz) if name == "weighted" else None
    rings = frozenset([1] if name == "weighted" else [])  # the hours of a day
    about = {n: rng.normal(size=(table.shape[n], 2)) for n in (0, 1) if name == "features"}
    smooth = frozenset({1} - about.keys())
    model = Gibbs(table, (), 2, smooth, 0, 1, 1, rings=rings, features=about, hyper=TIGHT)
    own = name.startswith("own noise")

    def likelihood(y):
        found = Likelihood(kind, y, w, **settings)
        return found.by_slice(obs, 0) if own else found

    def start():
        chain = sample_prior(model, rng, first_parameter(name, rng))
        if own:
            relative = rng.gamma(TIGHT["own"], size=obs.shape[0]) / TIGHT["own"]
            chain["numbers"] = np.concatenate([chain["numbers"], relative])
        return chain, table.predict(chain["F"])

    prior = np.array([features(chain, x, name) for chain, x in (start() for _ in range(1500))])
    chain, x = start()
    sampled = []
    for _ in range(3000):
        precision = chain["numbers"][1] * (chain["numbers"][2:][obs.indices[:, 0]] if own else 1.0)
        y = data(x, precision, rng).astype(float)
        sweep(model, chain, rng, likelihood=likelihood(y))
        x = table.predict(chain["F"])
        sampled.append(features(chain, x, name))
    varies = prior.std(axis=0) > 0  # rows with features have no neighbours
    prior, sampled = prior[:, varies], np.array(sampled)[:, varies]
    size = effective_size(sampled[None])
    assert size.min() > 15
    off = (prior.mean(axis=0) - sampled.mean(axis=0)) / np.sqrt(prior.var(axis=0) / 1500 + sampled.var(axis=0) / size)
    assert np.abs(off).max() < 4.5, off


# --- the whole -------------------------------------------------------------------------------------------------------


def go(procedure, **kw):
    options = {"stopping": Stopping(max_iter=1000, tol=0.0), "rng": np.random.default_rng(0)} | kw
    return run(procedure, **options)


def same(a, b):
    return a.arrays.keys() == b.arrays.keys() and all(np.array_equal(a.arrays[k], b.arrays[k]) for k in a.arrays)


def test_main_effects_alone_have_the_exact_conjugate_mean():
    """With precisions held by their priors, main effects have a normal posterior: the draws' mean must be its mean."""
    obs = observations((4, 3), share=0.9)
    held = {"effect_shape": 2e6, "effect_rate": 2.0, "noise_shape": 4e6, "noise_rate": 1e6}
    likelihood = Likelihood("normal", np.array(obs.values, dtype=float))
    model = Gibbs(entries(obs, 1), (likelihood,), 0, frozenset(), 100, 4000, 4000, hyper=held)
    rng = np.random.default_rng(7)
    chain = model._first(rng, likelihood)
    record = model._record(0, 4100)
    model.sweep(chain, likelihood, record, rng)
    B = np.zeros((obs.nnz, 7))
    B[np.arange(obs.nnz), obs.indices[:, 0]] = 1
    B[np.arange(obs.nnz), 4 + obs.indices[:, 1]] = 1
    prior = np.linalg.inv(0.5 * np.eye(7) + np.outer(*[np.arange(7) < 4] * 2))  # the rows' middle is drawn, too
    exact = B @ np.linalg.solve(4 * B.T @ B + prior, 4 * B.T @ likelihood.y)
    np.testing.assert_allclose(record.trace[100:].mean(axis=0), exact, atol=0.05)


def same_draws(model, a, b):
    return all(np.array_equal(np.array(x), np.array(y)) for x, y in zip(model.kept(a), model.kept(b), strict=True))


@pytest.mark.parametrize("kind", ["normal", "student-t"])
def test_same_bits_by_seed_and_for_any_number_of_threads(kind, monkeypatch):
    obs = observations((30, 20, 10))
    model = sampler(obs, 1, kind, chains=3)
    one, again = go(model).state, go(model).state
    assert same(one, again)
    monkeypatch.setattr(gibbs, "WORTH", 1)  # threads even for so little work
    two, short = go(sampler(obs, 2, kind, chains=3)).state, go(sampler(obs, 2, kind, chains=3, burst=2)).state
    for other in (two, short):
        assert same_draws(model, one, other)
        assert np.array_equal(model.trace(one), model.trace(other))
    assert not same_draws(model, one, go(model, rng=np.random.default_rng(1)).state)


@pytest.mark.parametrize("cut", [8, 15, 19])
def test_resumes_to_the_bit(tmp_path, cut):
    """Within a chain, between two, and early in the second."""
    obs = observations((12, 9, 5))
    straight = go(sampler(obs, chains=2, burst=1))
    path = tmp_path / "run.npz"
    go(sampler(obs, chains=2, burst=1), checkpoint=path, stopping=Stopping(max_iter=cut, tol=0.0))
    rest = go(sampler(obs, chains=2, burst=1), checkpoint=path, resume=True, rng=np.random.default_rng(9))
    assert straight.status is rest.status is Status.FINISHED
    assert same(straight.state, rest.state)


def test_interrupting_keeps_the_draws_so_far():
    model = sampler(observations((12, 9, 5)), burn=4, draws=20, means=True, burst=1)

    def stop(state, history):
        if state.numbers["k"] == 11:
            raise KeyboardInterrupt

    outcome = go(model, callback=stop)
    assert outcome.status is Status.INTERRUPTED
    draws, means, parameters, _ = model.kept(outcome.state)
    assert len(draws) == len(means) == len(parameters) == 3  # every second of 7 steps after 4
    early = go(model, stopping=Stopping(max_iter=2, tol=0.0))
    assert len(model.kept(early.state)[0]) == 1


def test_trace_summaries():
    rng = np.random.default_rng(8)
    noise = rng.normal(size=(4000, 3))
    walk = np.cumsum(noise, axis=0)
    slow = np.zeros((4000, 1))
    for k in range(1, 4000):
        slow[k] = 0.9 * slow[k - 1] + noise[k, :1]
    np.testing.assert_allclose(split_rhat(noise[None]), 1.0, atol=0.01)
    assert split_rhat(walk[None]).max() > 1.2
    assert split_rhat(np.stack([noise, noise + 3])).min() > 1.5
    np.testing.assert_allclose(effective_size(noise[None]), 4000, rtol=0.2)
    np.testing.assert_allclose(effective_size(noise.reshape(4, 1000, 3)), 4000, rtol=0.2)
    np.testing.assert_allclose(effective_size(slow[None]), 4000 / 19, rtol=0.4)
    assert effective_size(np.stack([noise, noise + 3])).max() < 100
    assert np.isnan(split_rhat(noise[None, :3])).all()
    assert convergence(noise[None]).keys() == {"rhat", "ess"}
    assert convergence(noise[None, :2]).keys() == {"ess"}


def test_threads_serve_again_also_in_a_process_forked_off():
    seen = []
    for _ in range(2):
        in_threads(lambda a, b: seen.append((a, b)), [0, 3, 5])
    assert sorted(seen) == [(0, 3), (0, 3), (3, 5), (3, 5)]
    if not hasattr(os, "fork"):
        return
    child = os.fork()
    if child == 0:  # its parent's threads are not there
        in_threads(lambda a, b: seen.append((a, b)), [0, 3, 5])
        os._exit(0 if len(seen) == 6 else 1)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child waits for threads that it does not have")
