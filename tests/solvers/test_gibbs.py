"""The Gibbs sampler: does it draw from the posterior it names, in the same bits every time?"""

import os
import signal
import time

import numpy as np
import pytest

from tensorfill.data.observations import Observations
from tensorfill.kernels import _gibbs as loops
from tensorfill.numerical import polyagamma
from tensorfill.result.record import Status
from tensorfill.solvers import gibbs, gibbs_likelihood
from tensorfill.solvers.gibbs import Gibbs
from tensorfill.solvers.gibbs_data import entries, in_threads
from tensorfill.solvers.gibbs_likelihood import Logit, NegativeBinomialCounts, NormalNoise, StudentNoise
from tensorfill.solvers.gibbs_prior import RATIOS, ColumnPrior
from tensorfill.solvers.gibbs_trace import effective_size, split_rhat, summary
from tensorfill.solvers.loop import Stopping, run


def observations(shape, share=0.7, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random(shape) < share
    mask.reshape(-1)[:2] = True
    return Observations.from_dense(rng.normal(size=shape), mask)


def sampler(obs, threads=1, likelihood=NormalNoise, burn=5, draws=10, smooth=(0,), **kw):
    y = np.array(obs.values, dtype=float)
    return Gibbs(entries(obs, threads), likelihood(y), 3, frozenset(smooth), burn, draws, 10, **kw)


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


@pytest.mark.parametrize("loose", [(), (0,), (1,), (0, 2)])
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


def test_rows_without_neighbours_are_the_chain_without_ties():
    G, h, ridge, _, middle, _, _ = dense_system(np.random.default_rng(1))
    normals = np.random.default_rng(2).normal(size=h.shape)
    results = []
    for tied in (False, True):
        mean, out = np.empty_like(h), np.empty_like(h)
        if tied:
            loops.draw_chain(G.copy(), h.copy(), ridge, np.zeros(len(ridge)), middle, normals, mean, out)
        else:
            loops.draw_rows(G, h, ridge, middle, normals, mean, out)
        results.append((mean, out))
    np.testing.assert_allclose(results[0], results[1], atol=1e-12)


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


def test_precisions_of_a_smooth_column_find_its_smoothness():
    rng = np.random.default_rng(4)
    rough, smooth = rng.normal(size=(200, 1)), np.cumsum(rng.normal(size=(200, 1)), axis=0)
    prior = ColumnPrior(200, RATIOS, 1.0, 1.0)
    drawn = [
        prior.draw(np.hstack([rough, smooth / smooth.std()]), np.zeros(2), np.ones(2, bool), rng) for _ in range(50)
    ]
    ratio = np.median([d[1] for d in drawn], axis=0)
    assert ratio[0] <= 0.25
    assert ratio[1] >= 16
    np.testing.assert_allclose(np.mean([d[0][0] for d in drawn]), 1.0, atol=0.3)


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("length", [3, 6, 7])
def test_waves_are_those_of_the_neighbours(length, ring):
    prior = ColumnPrior(length, RATIOS, 1.0, 1.0, ring=ring)
    differences = np.diff(np.eye(length), axis=0)
    if ring:
        differences = np.vstack([differences, np.eye(length)[-1] - np.eye(length)[0]])
    Q = differences.T @ differences
    np.testing.assert_allclose(Q @ prior.basis, prior.basis * prior.waves, atol=1e-12)
    np.testing.assert_allclose(prior.basis.T @ prior.basis, np.eye(length), atol=1e-12)
    A = np.random.default_rng(0).normal(size=(length, 2))
    np.testing.assert_allclose(prior.apart(A), np.diag(A.T @ Q @ A))


# --- Polya-Gamma -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("b", [0.6, 1.0, 3.5, 8.0, 40.0])
@pytest.mark.parametrize("c", [0.0, 0.7, 1.0, 4.0, 15.0])
def test_polya_gamma_moments(b, c):
    n = 40_000
    x = polyagamma.sample(np.full(n, b), np.full(n, c), np.random.default_rng(5))
    k = np.arange(200_000) + 0.5
    d = 2 * np.pi**2 * k**2 + 0.5 * c * c
    variance = b * np.sum(d**-2.0)
    mean = b * 0.25 if c == 0 else b * np.tanh(c / 2) / (2 * c)
    np.testing.assert_allclose(polyagamma.mean(np.array([b]), np.array([c])), mean, rtol=1e-6)
    np.testing.assert_allclose(polyagamma.variance(np.array([b]), np.array([c])), variance, rtol=1e-6)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / n)
    np.testing.assert_allclose(x.var(), variance, rtol=0.08)
    # the transform that defines it: E exp(-omega s) = (cosh(c / 2) / cosh(sqrt(c^2 / 4 + s / 2)))^b
    s = 1 / mean
    defined = (np.cosh(c / 2) / np.cosh(np.sqrt(c * c / 4 + s / 2))) ** b
    assert abs(np.exp(-s * x).mean() - defined) < 5 * np.exp(-s * x).std() / np.sqrt(n)


# --- the joint distribution (Geweke 2004) ----------------------------------------------------------------------------

TIGHT = {"LOCAL": 3.0, "GLOBAL": (4.0, 40.0), "SHAPE": 4.0, "RATE": 0.6}
FAMILIES = {
    "normal": (lambda y: NormalNoise(y), lambda x, p, rng: x + rng.normal(size=len(x)) * p["noise"] ** -0.5),
    "weighted": (
        lambda y: NormalNoise(y, weights(len(y))),
        lambda x, p, rng: x + rng.normal(size=len(x)) * (p["noise"] * weights(len(x))) ** -0.5,
    ),
    "student-t": (
        lambda y: StudentNoise(y, degrees=3.0),
        lambda x, p, rng: x + rng.standard_t(3.0, size=len(x)) * p["noise"] ** -0.5,
    ),
    "bernoulli": (
        lambda y: Logit(y, level=0.3),
        lambda x, p, rng: (rng.random(len(x)) < 1 / (1 + np.exp(-x - 0.3))).astype(float),
    ),
    "binomial": (
        lambda y: Logit(y, trials=9, level=-0.3),
        lambda x, p, rng: rng.binomial(9, 1 / (1 + np.exp(0.3 - x))).astype(float),
    ),
    "negative binomial": (
        lambda y: NegativeBinomialCounts(y, level=0.5),
        lambda x, p, rng: rng.poisson(
            np.exp(x + 0.5) * rng.standard_gamma(p["dispersion"], len(x)) / p["dispersion"]
        ).astype(float),
    ),
}


def weights(n):
    return 0.5 + np.arange(n) % 3


def first_parameters(name, rng):
    if name == "negative binomial":
        middle, spread = gibbs_likelihood.DISPERSION
        return {"dispersion": float(np.exp(middle + spread * rng.normal()))}
    shape, rate = gibbs_likelihood.NOISE
    return {} if "b" in name else {"noise": float(rng.gamma(shape) / rate)}


def features(chain, x, numbers):
    x = np.sign(x) * np.log1p(np.abs(x))
    return np.array(
        [
            *np.log(np.abs(chain.size)),
            np.log(chain.held),
            *np.log(chain.ridge[:, -1]),
            *np.log(np.diag(chain.ridge)),
            *(chain.ratio[-1, -2:] > 1),
            *chain.middle[:, -1],
            *x[:4],
            *x[:4] ** 2,
            x[0] * x[1],
            *np.log(list(numbers.values())),
        ]
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_successive_conditional_draws_have_the_prior_distribution(name, monkeypatch):
    """Data from the model, the model from the sampler, in turn: what remains must be distributed as the prior."""
    for key, value in TIGHT.items():
        monkeypatch.setattr(gibbs, key, value)
    monkeypatch.setattr(gibbs_likelihood, "NOISE", (4.0, 4.0))
    monkeypatch.setattr(gibbs_likelihood, "DISPERSION", (1.5, 0.5))
    rng = np.random.default_rng(6)
    make, data = FAMILIES[name]
    table = entries(observations((3, 6)), 1)
    rings = frozenset(
        [1] if name == "weighted" else []
    )  # the hours of a day, of which the last goes over into the first
    proto = Gibbs(table, make(np.zeros(table.nnz)), 2, frozenset([1]), 0, 1, 1, rings=rings)

    def start():
        chain, numbers = proto.sample_prior(rng), first_parameters(name, rng)
        return chain, numbers, table.predict(chain.F)

    prior = np.array([features(c, x, p) for c, p, x in (start() for _ in range(1500))])
    chain, numbers, x = start()
    sampled, step = [], proto
    for _ in range(3000):
        object.__setattr__(step, "likelihood", make(data(x, numbers, rng)))
        numbers, z, w = step.likelihood.augment(x, numbers, rng)
        for n in step.sequence:
            step.draw_mode(chain, n, z, w, rng)
        x = table.predict(chain.F)
        sampled.append(features(chain, x, numbers))
    sampled = np.array(sampled)
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
    """With precisions held, the model of main effects is one normal distribution: the draws' mean must be its mean."""
    obs = observations((4, 3), share=0.9)
    table = entries(obs, 1)
    model = Gibbs(table, NormalNoise(np.array(obs.values, dtype=float)), 0, frozenset(), 0, 1, 1)
    rng = np.random.default_rng(7)
    z, w = model.likelihood.y, np.full(obs.nnz, 4.0)
    chain = model.sample_prior(rng)
    total, kept = np.zeros(obs.nnz), 2000
    for k in range(kept + 100):
        chain.ridge[...], chain.middle[...] = 2.0, 0.0
        for n in model.sequence:
            model.draw_mode(chain, n, z, w, rng)
            chain.ridge[...], chain.middle[...] = 2.0, 0.0
        total += table.predict(chain.F) * (k >= 100)
    B = np.zeros((obs.nnz, 7))
    B[np.arange(obs.nnz), obs.indices[:, 0]] = 1
    B[np.arange(obs.nnz), 4 + obs.indices[:, 1]] = 1
    exact = B @ np.linalg.solve(4 * B.T @ B + 2 * np.eye(7), 4 * B.T @ z)
    np.testing.assert_allclose(total / kept, exact, atol=0.07)


@pytest.mark.parametrize("likelihood", [NormalNoise, StudentNoise])
def test_same_bits_by_seed_and_for_any_number_of_threads(likelihood, monkeypatch):
    monkeypatch.setattr("tensorfill.solvers.gibbs_data.WORTH", 1)  # threads even for so little work
    obs = observations((30, 20, 10))
    one, again, two = (go(sampler(obs, threads, likelihood)).state for threads in (1, 1, 2))
    assert same(one, again)
    assert same(one, two)
    other = go(sampler(obs), rng=np.random.default_rng(1)).state
    assert not same(one, other)


@pytest.mark.parametrize("cut", [8, 15, 19])
def test_resumes_to_the_bit(tmp_path, cut):
    """Within a chain, between two, and early in the second."""
    obs = observations((12, 9, 5))
    straight = go(sampler(obs, chains=2))
    path = tmp_path / "run.npz"
    go(sampler(obs, chains=2), checkpoint=path, stopping=Stopping(max_iter=cut, tol=0.0))
    rest = go(sampler(obs, chains=2), checkpoint=path, resume=True, rng=np.random.default_rng(9))
    assert straight.status is rest.status is Status.FINISHED
    assert same(straight.state, rest.state)


def test_interrupting_keeps_the_draws_so_far():
    model = sampler(observations((12, 9, 5)), burn=4, draws=20, means=True)

    def stop(state, history):
        if state.numbers["k"] == 11:
            raise KeyboardInterrupt

    outcome = go(model, callback=stop)
    assert outcome.status is Status.INTERRUPTED
    draws, means, parameters = model.kept(outcome.state)
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
    assert summary(noise, 1000).keys() == {"rhat", "ess"}
    assert summary(noise[:1500], 1000) == summary(noise[:1000], 1000)


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
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child waits for threads that it does not have")
