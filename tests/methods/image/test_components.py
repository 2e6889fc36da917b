"""Few components x smooth pictures: found in a cube, wherever its modes are; a run stops and goes on."""

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.data.facts import compute_facts
from tensorfill.methods.base import Run
from tensorfill.methods.image import spatial_factors
from tensorfill.methods.image.components import SmoothComponents, planes
from tensorfill.methods.image.spatial_factors import Components, Graph, Sorted, band_levels, neighbours
from tensorfill.result.record import Status

NOISE = 0.02


def cube(H=20, W=22, B=16):
    """Three smooth pictures with an edge, times smooth spectra; the level of each band is its own."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0 : 1 : H * 1j, 0 : 1 : W * 1j]
    A = np.stack([np.sin(5 * x + 2 * y), np.where(x + 0.3 * y > 0.7, 1.0, -0.5), np.cos(4 * y * x)], axis=2)
    F = np.stack([np.exp(-(((np.arange(B) - m) / 5) ** 2)) for m in (3, 8, 13)])
    return A @ F + np.linspace(5, 9, B) + NOISE * rng.normal(size=(H, W, B))


def holes(shape, missing=0.85, seed=1):
    return np.random.default_rng(seed).random(shape) >= missing


def fit(T, M, candidate, run=Run(0)):  # noqa: B008 - frozen
    obs = tfl.Observations.from_dense(T, M)
    return candidate.fit(obs, run)


CANDIDATE = SmoothComponents(rank=5, modes=(0, 1), smooth=(0, 1, 2))


def test_few_components_are_found():
    T = cube()
    M = holes(T.shape)
    X = fit(T, M, CANDIDATE).answer.full()
    off = np.sqrt(np.mean((X - T)[~M] ** 2))
    level = T.mean(axis=(0, 1))
    assert off < 5 * NOISE < 0.25 * np.sqrt(np.mean((T - level)[~M] ** 2))
    np.testing.assert_array_equal(fit(np.where(M, T, 1e30), M, CANDIDATE).answer.full(), X)
    moved = SmoothComponents(rank=5, modes=(1, 2), smooth=(0, 1, 2))
    there = fit(np.moveaxis(T, 2, 0), np.moveaxis(M, 2, 0), moved).answer.full()
    np.testing.assert_allclose(np.moveaxis(there, 0, 2), X, rtol=1e-8)


def test_smoothness_and_edges_are_what_helps(monkeypatch):
    T = cube()
    M = holes(T.shape, 0.9)

    def error():
        return np.sqrt(np.mean((fit(T, M, CANDIDATE).answer.full() - T)[~M] ** 2))

    best = error()
    monkeypatch.setattr(spatial_factors, "_edges", lambda graph, A, V: graph)
    assert best < error()
    monkeypatch.setattr(spatial_factors, "_stiffness", lambda graph, X, V: np.zeros(X.shape[1]))
    assert 2 * best < error()


def test_the_system_is_solved():
    rng = np.random.default_rng(0)
    n, R = 12, 3
    graph = Graph.of(neighbours((3, 4), (0, 1), diagonals=True), n)
    P = rng.normal(size=(n, R, R))
    P = P @ P.transpose(0, 2, 1)
    h, stiff, ridge = rng.normal(size=(n, R)), rng.random(R), rng.random(R)
    L = np.diag(graph.degree)
    L[np.repeat(np.arange(n), np.diff(graph.ptr)), graph.near] = -1
    whole = np.kron(L, np.diag(stiff)) + np.kron(np.eye(n), np.diag(ridge))
    for i in range(n):
        whole[i * R : i * R + R, i * R : i * R + R] += P[i]
    C = np.linalg.inv(P + np.eye(R) * (graph.degree[:, None] * stiff + ridge)[:, None])
    X = np.zeros((n, R))
    for _ in range(3):
        X = spatial_factors._conjugate_gradients(P, h, stiff, ridge, graph, X, C)
    np.testing.assert_allclose(X.ravel(), np.linalg.solve(whole, h.ravel()), rtol=1e-4, atol=1e-6)


def test_equations_of_a_row_hold_its_data():
    rng = np.random.default_rng(1)
    p, b, t = np.array([0, 0, 2, 2, 2]), np.array([1, 0, 0, 1, 1]), rng.normal(size=5)
    F, C = rng.normal(size=(2, 3)), np.stack([np.eye(3), 2 * np.eye(3)])
    data = Sorted.by(p, b, t, 3)
    now = {"A": np.zeros((3, 3)), "stiff": np.zeros((2, 3)), "ridge": np.ones((2, 3))}
    none = Graph.of(np.zeros((2, 0), dtype=np.int64), 3)
    X, cov = spatial_factors._solved(data, np.full(5, 2.0), F, C, now, 0, none)
    for i in range(3):
        mine = p == i
        A = np.eye(3) + 2 * (F[b[mine]].T @ F[b[mine]] + C[b[mine]].sum(axis=0))
        np.testing.assert_allclose(cov[i], np.linalg.inv(A), rtol=1e-10)
        np.testing.assert_allclose(X[i], np.linalg.solve(A, 2 * F[b[mine]].T @ t[mine]), rtol=1e-8, atol=1e-12)


def test_neighbours_and_levels():
    assert neighbours((2, 2), (0, 1), diagonals=True).shape == (2, 6)
    np.testing.assert_array_equal(neighbours((2, 3), (1,)), [[0, 1, 3, 4], [1, 2, 4, 5]])
    assert neighbours((4,), ()).shape == (2, 0)
    np.testing.assert_allclose(band_levels(np.array([1.0, 3.0, 8.0]), np.array([0, 0, 2]), 4), [2, 5, 8, 8])


def test_a_run_stops_and_goes_on(tmp_path):
    T = cube(8, 9, 10)
    M = holes(T.shape, 0.5)
    want = fit(T, M, CANDIDATE).answer.full()
    cut = fit(T, M, CANDIDATE, Run(0, callback=lambda s, h: s.numbers["k"] == 3, checkpoint=tmp_path / "c.npz"))
    assert cut.status is Status.CALLBACK
    assert np.isfinite(cut.answer.full()).all()
    done = fit(T, M, CANDIDATE, Run(0, checkpoint=tmp_path / "c.npz", resume=True))
    np.testing.assert_array_equal(done.answer.full(), want)


def test_it_takes_part_where_there_are_many_bands():
    T = cube()
    facts = compute_facts(tfl.Observations.from_dense(T, holes(T.shape, 0.5)))
    assert planes(facts)[0] == (0, 1)
    few = compute_facts(tfl.Observations.from_dense(T[..., :4], holes((20, 22, 4), 0.5)))
    assert "bands" in SmoothComponents().suits(few)
    flat = compute_facts(tfl.Observations.from_dense(T[..., 0], holes((20, 22), 0.5)))
    assert "bands" in SmoothComponents().suits(flat)


@pytest.mark.parametrize("unseen", [0, 2])
def test_slices_never_seen_lie_between_their_neighbours(unseen):
    T = cube()
    M = holes(T.shape, 0.6)
    at = [slice(None)] * 3
    at[unseen] = 7
    M[tuple(at)] = False
    X = fit(T, M, CANDIDATE).answer.full()
    assert np.sqrt(np.mean((X - T)[tuple(at)] ** 2)) < 0.3
    assert CANDIDATE.knows_unseen(unseen)


def test_components_of_nothing_but_noise_are_harmless():
    T = 3.0 + np.random.default_rng(0).normal(size=(9, 9, 9))
    M = holes(T.shape, 0.5)
    X = Components.of(tfl.Observations.from_dense(T, M), (0, 1), (), 4)
    state = X.init(np.random.default_rng(0))
    for _ in range(4):
        state = X.step(state, np.random.default_rng(0))
    assert np.abs(X.full(state) - 3.0).max() < 4.0
