"""Baselines with factors (STDC, FBCP, FBCP-MP, SPC-TV, SPC-QV): their pieces, and what each method must reach."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conftest import SHARED

import tensorfill as tfl
from tensorfill.data.observations import Observations
from tensorfill.methods import defaults
from tensorfill.methods.arrays import Dense
from tensorfill.methods.base import METHODS, Run
from tensorfill.methods.classical import _spc_kernels as kernels
from tensorfill.methods.classical import fbcp, stdc
from tensorfill.methods.classical.fbcp import FBCP, FBCPMP
from tensorfill.methods.classical.spc import SPCQV, SPCTV
from tensorfill.methods.classical.stdc import STDC
from tensorfill.models.cp import CP
from tensorfill.result.record import Status

NAMES = ["stdc", "fbcp", "fbcp-mp", "spc-tv", "spc-qv"]
SHAPES = [(12, 9), (10, 8, 3), (7, 6, 5, 4)]


def masked(X, missing, seed=0):
    O = np.random.default_rng(seed).random(X.shape) >= missing  # noqa: E741
    return Dense(np.where(O, X, 0.0), O)


def drive(method, data, iterations, seed=0):
    """All states of a run without the loop."""
    rng = np.random.default_rng(seed)
    states = [method.start(data, rng)]
    while len(states) <= iterations and method.done(data, states[-1], None) is None:
        states.append(method.step(data, states[-1], rng))
    return states


def relative(estimate, truth):
    return np.linalg.norm(estimate - truth) / np.linalg.norm(truth)


def smooth_rank_one(side=20, peak=100.0):
    t = np.linspace(0, 1, side)
    a, b, c = np.exp(-((t - 0.4) ** 2) / 0.1), 1 + 0.5 * np.sin(3 * t), 0.5 + t
    X = CP([a[:, None], b[:, None], c[:, None]]).full()
    return X * peak / X.max()


def picture(height=40, width=36):
    """A smooth colour picture with a few edges, 0 .. 255."""
    y, x = np.mgrid[:height, :width] / max(height, width)
    grey = 120 + 60 * np.sin(5 * x + 2 * y) + 50 * (x > 0.5) - 40 * (y > 0.6)
    return np.clip(np.stack([grey, 0.8 * grey + 20 * y, 0.6 * grey + 50 * x], axis=-1), 0, 255)


# --- all of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_step_changes_nothing_it_is_given(name, shape, rng):
    data = masked(255 * rng.random(shape), 0.4)
    method = METHODS[name]()
    for state in drive(method, data, 2):
        before = {k: v.copy() for k, v in state.arrays.items()}
        T, O = data.T.copy(), data.O.copy()  # noqa: E741
        once = method.step(data, state, np.random.default_rng(1))
        again = method.step(data, state, np.random.default_rng(1))
        for k, v in before.items():
            np.testing.assert_array_equal(state.arrays[k], v)
        np.testing.assert_array_equal(data.T, T)
        np.testing.assert_array_equal(data.O, O)
        for k, v in once.arrays.items():
            np.testing.assert_array_equal(v, again.arrays[k])
        assert method.answer(data, once).shape == shape


@pytest.mark.parametrize("name", NAMES)
def test_a_smooth_picture_is_completed_better_than_by_its_mean(name):
    X = picture()
    O = np.random.default_rng(1).random(X.shape) >= 0.7  # noqa: E741
    done = METHODS[name]().fit(Observations.from_dense(X, mask=O), Run(seed=0))
    error = np.asarray(done.estimate)[~O] - X[~O]
    assert np.sqrt(np.mean(error**2)) < 0.35 * X[~O].std()
    assert done.status.ok


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_checked(name):
    for setting in ("max_iter", {"stdc": "tau", "fbcp": "precision", "fbcp-mp": "precision"}.get(name, "sweep")):
        with pytest.raises(ValueError, match=f"{setting} of method '{name}' must be a number > 0"):
            METHODS[name](**{setting: 0})


def test_long_modes():
    assert defaults.long_modes((256, 256, 3)) == [0, 1]
    assert defaults.long_modes((4, 30, 5)) == [1, 2]
    assert defaults.long_modes((2, 3, 4)) == [0, 1, 2]


# --- STDC -----------------------------------------------------------------------------------------------------------


def test_stdc_does_not_see_the_scale():
    X = picture(16, 14)
    method = STDC(omega=1.0)
    data = masked(X, 0.5)
    plain = drive(method, data, 30)[-1].arrays["X"]
    scaled = drive(method, Dense(7 * data.T, data.O), 30)[-1].arrays["X"]
    np.testing.assert_allclose(scaled, 7 * plain, rtol=0, atol=1e-12 * np.abs(scaled).max())


def test_stdc_keeps_what_is_observed_and_its_multiplier_lives_there():
    full = masked(picture(12, 10), 0.0)
    for state in drive(STDC(), full, 10):
        np.testing.assert_array_equal(state.arrays["X"], full.T)
    data = masked(picture(12, 10), 0.6)
    for state in drive(STDC(), data, 10)[1:]:
        np.testing.assert_array_equal(state.arrays["X"][data.O], data.T[data.O])
        assert not state.arrays["Y"][~data.O].any()
        assert state.arrays["Y"][data.O].any()


@pytest.mark.parametrize("shape", [(4, 5, 2), (5, 6), (3, 4, 2, 3)], ids=str)
def test_stdc_core_solves_its_linear_system(shape, rng):
    """(mu K K' + 2 gamma I) z = K t with K the Kronecker product of the factors, by a dense solve."""
    target, data = rng.standard_normal(shape), Dense(rng.standard_normal(shape), np.ones(shape, dtype=bool))
    V = {}
    for n in stdc.long_modes(shape):
        U, s, Wt = np.linalg.svd(rng.standard_normal((shape[n], shape[n])))
        rank = max(1, shape[n] - 1)  # a factor that has lost rank
        V[n] = (U[:, :rank], s[:rank], Wt[:rank].T)
    K = np.eye(1)
    for n, length in enumerate(shape):
        K = np.kron(K, (V[n][0] * V[n][1]) @ V[n][2].T if n in V else np.eye(length))
    method, mu = STDC(omega=0.7), 0.3
    gamma = 0.7 / method.tau / np.sum(data.T**2)
    Z, Xt = method.core(data, target, V, mu)
    z = np.linalg.solve(mu * K @ K.T + 2 * gamma * np.eye(len(K)), K @ target.ravel())
    np.testing.assert_allclose(Z.ravel(), z, atol=1e-10 * np.abs(z).max())
    np.testing.assert_allclose(Xt.ravel(), K.T @ z, atol=1e-10 * np.abs(K.T @ z).max())


def test_stdc_factor_step_lowers_its_objective(rng):
    """||V||_* + trace(V A V') + mu/2 ||V'B - X - Y/mu||^2, the part of the Lagrangian that V_k sees."""
    method, side, mu = STDC(), 9, 0.2
    data = masked(picture(9, 8), 0.5)
    B, target = rng.standard_normal((side, 20)), rng.standard_normal((side, 20))
    A = method_weight(method, data) * stdc.neighbour_laplacian(side)

    def objective(V):
        fit = 0.5 * mu * np.sum((V.T @ B - target / mu) ** 2)
        return np.linalg.norm(V, "nuc") + np.trace(V @ A @ V.T) + fit

    V = (np.eye(side), np.ones(side), np.eye(side))
    values = [objective(np.eye(side))]
    for _ in range(20):
        V = method.factor_step(data, V, B, target, mu)
        values.append(objective((V[0] * V[1]) @ V[2].T))
    assert np.all(np.diff(values) <= 1e-9 * abs(values[0]))
    assert values[-1] < 0.9 * values[0]


def method_weight(method, data):
    return stdc.default_kappa(data.share) ** 2 / (2 * method.tau)


def test_stdc_does_not_stay_at_the_zero_fill_when_little_is_observed():
    X = picture(60, 60)
    for missing in (0.95, 0.98):
        data = masked(X, missing)
        estimate = drive(STDC(), data, 50)[-1].arrays["X"]
        assert relative(estimate, X) < 0.5 * relative(data.T, X)


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "data/sipi/lenna.png").exists(), reason="needs the test pictures")
def test_stdc_on_lenna():
    from PIL import Image

    X = np.asarray(Image.open(SHARED / "data/sipi/lenna.png").convert("RGB"), dtype=float)
    X = X.reshape(256, 2, 256, 2, 3).mean(axis=(1, 3))
    data = masked(X, 0.9)
    estimate = np.clip(drive(STDC(omega=1.0), data, 50)[-1].arrays["X"], 0, 255)
    assert 24.0 < 10 * np.log10(255**2 / np.mean((estimate - X) ** 2)) < 25.5


def test_stdc_refuses_a_mode_too_long_for_a_square_factor():
    obs = Observations.from_coo(np.array([[0, 0], [4999, 1]]), np.array([1.0, 2.0]), (5000, 6), dims=("day", "place"))
    with pytest.raises(ValueError, match="mode day has length 5000, and its square factor is limited to 4096"):
        STDC().check(obs)


# --- FBCP -----------------------------------------------------------------------------------------------------------


def packed(Z, S=0.0):
    """Upper triangles of z z' + S for every row of Z."""
    rows, columns = np.triu_indices(Z.shape[1])
    return Z[:, rows] * Z[:, columns] + S


@pytest.mark.parametrize("shape", [(6, 5), (4, 5, 3), (3, 4, 2, 5)], ids=str)
@pytest.mark.parametrize("block", [1, 40, 2**22])
def test_contract_sums_over_all_other_modes(shape, block, rng, monkeypatch):
    monkeypatch.setattr(fbcp, "CONTRACTED", block)
    X, matrices = rng.standard_normal(shape), [rng.standard_normal((length, 4)) for length in shape]
    for n in range(len(shape)):
        terms = [matrices[m] for m in range(len(shape)) if m != n]
        letters = "abcd"[: len(shape)]
        others = ",".join(f"{letter}r" for m, letter in enumerate(letters) if m != n)
        expected = np.einsum(f"{letters},{others}->{letters[n]}r", X, *terms)
        np.testing.assert_allclose(fbcp.contract(X, matrices, n), expected, atol=1e-12)


def test_fbcp_row_update_without_covariances_is_ridge_regression(rng):
    data = masked(rng.standard_normal((5, 6, 4)), 0.4)
    means = [rng.standard_normal((length, 3)) for length in data.T.shape]
    B = fbcp.contract(data.O.astype(float), [packed(Z) for Z in means], 0)
    f = fbcp.contract(data.T, means, 0)
    beta, gamma = 2.0, 0.5
    Z, S = fbcp.posterior(B, f, np.full(3, gamma), beta)
    for i in range(5):
        j, k = np.nonzero(data.O[i])
        H = means[1][j] * means[2][k]
        stacked = np.vstack([np.sqrt(beta) * H, np.sqrt(gamma) * np.eye(3)])
        z = np.linalg.lstsq(stacked, np.r_[np.sqrt(beta) * data.T[i, j, k], np.zeros(3)], rcond=None)[0]
        np.testing.assert_allclose(Z[i], z, atol=1e-10)
    assert S.shape == (5, 6)


@pytest.mark.parametrize("shape", [(6, 5), (5, 6, 3)], ids=str)
def test_fbcp_expected_squared_error_is_that_of_its_posterior(shape, rng):
    """E ||Y - X||^2 on the mask, by drawing independent rows from their means and covariances."""
    data = masked(rng.standard_normal(shape), 0.3)
    state = drive(FBCP(rank=2, precision=3.0), data, 1)[-1]
    rows, columns = np.triu_indices(2)
    draws, total = 20000, np.zeros((20000, *shape))
    product = np.ones((draws, *[1] * len(shape), 2))
    for n, Z in enumerate(state.factors):
        S = np.empty((len(Z), 2, 2))
        S[:, rows, columns] = S[:, columns, rows] = state.arrays[f"M{n}"] - packed(Z)
        drawn = np.stack([rng.multivariate_normal(z, s, size=draws) for z, s in zip(Z, S, strict=True)], axis=1)
        product = product * drawn.reshape(draws, *[len(Z) if m == n else 1 for m in range(len(shape))], 2)
    total = ((data.T - product.sum(axis=-1)) ** 2)[:, data.O].sum(axis=1)
    assert abs(state.value - total.mean()) < 5 * total.std() / np.sqrt(draws)


@pytest.mark.parametrize("seed", [0, 1])
def test_fbcp_finds_the_rank_of_the_authors_demo(seed):
    """Rank 3, 30^3, sine / cosine / square waves, 20 % observed, 10 dB noise."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    waves = np.stack([np.sin(t + 0.1), np.cos(3 * t), np.where(np.sin(2 * t + 0.05) > 0, 1.0, -1.0)], axis=1)
    waves = (waves - waves.mean(axis=0)) / waves.std(axis=0)
    X = CP([waves, waves[:, [1, 2, 0]], waves[:, [2, 0, 1]]]).full()
    noisy = X + rng.standard_normal(X.shape) * X.std() / np.sqrt(10)
    scale = noisy.std() / 3
    data = masked(noisy / scale, 0.8, seed)
    method = FBCP(rank=30, precision=1.0, max_iter=100)
    state = drive(method, data, 100, seed)[-1]
    assert relative(method.answer(data, state) * scale, X) < 0.1
    assert 3 <= state.numbers["R"] <= 5
    sd = scale / np.sqrt(state.numbers["beta"])
    assert sd == pytest.approx(X.std() / np.sqrt(10), rel=0.1)


def test_fbcp_pruning_drops_dead_components_and_keeps_the_rest_in_place(rng):
    means = [rng.standard_normal((length, 4)) for length in (6, 5, 3)]
    for Z in means:
        Z[:, 1] = 1e-12
    moments, gamma = [packed(Z) for Z in means], np.arange(1.0, 5.0)
    kept, second, weights = fbcp.prune(means, moments, gamma)
    for Z, M, old in zip(kept, second, means, strict=True):
        np.testing.assert_array_equal(Z, old[:, [0, 2, 3]])
        np.testing.assert_array_equal(M, packed(old[:, [0, 2, 3]]))
    np.testing.assert_array_equal(weights, [1.0, 3.0, 4.0])
    assert fbcp.prune([0 * Z for Z in means], moments, gamma)[2].shape == (1,)


def test_fbcp_of_few_noisy_numbers_far_from_zero_is_no_worse_than_their_mean(rng):
    stars = np.clip(np.round(3.4 + rng.normal(size=(60, 1)) * 0.5 + rng.normal(size=(60, 40)) * 0.8), 1, 5)
    known = rng.random(stars.shape) < 0.15
    T = np.where(known, stars, np.nan)
    constant = np.sqrt(np.mean((stars[known].mean() - stars)[~known] ** 2))
    off = {c: tfl.complete(T, method="fbcp", center=c).estimate - stars for c in (None, False)}
    assert np.sqrt(np.mean(off[None][~known] ** 2)) < 1.05 * constant
    assert np.sqrt(np.mean(off[False][~known] ** 2)) > 2 * constant  # the published form, on request


def test_fbcp_mp_without_mixing_is_fbcp(rng):
    data = masked(picture(12, 10), 0.5)
    plain, mixed = FBCP(rank=6), FBCPMP(rank=6, mixing=0.0)
    state = plain.start(data, rng)
    other = state
    for _ in range(4):
        state, other = plain.step(data, state, rng), mixed.step(data, other, rng)
    for name, array in state.arrays.items():
        np.testing.assert_array_equal(other.arrays[name], array)


def test_fbcp_mp_mixes_neighbours_of_the_long_modes_only(rng):
    W = fbcp.neighbour_means(np.eye(9), 0.3)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    assert not np.diag(W).any()
    np.testing.assert_allclose(W[4, 6] / W[4, 5], np.exp(-2 * 0.3 * (4 - 1)))
    data, method = masked(picture(9, 8), 0.5), FBCPMP(mixing=0.4)
    Z = rng.standard_normal((3, 2))
    assert method.smooth_rows(data, 2, Z) is Z
    Z = rng.standard_normal((9, 2))
    np.testing.assert_allclose(method.smooth_rows(data, 0, Z), Z + 2.0 * fbcp.neighbour_means(Z, data.share))


@pytest.mark.parametrize("shape", [(12, 9), (3, 10, 8), (7, 6, 8), (6, 5, 4, 7)], ids=str)
def test_fbcp_mp_gain_is_absorbed_wherever_the_short_modes_are(shape):
    """Constant data stay constant: no mode may be left with the gain of its mixing."""
    data = masked(np.full(shape, 100.0), 0.4)
    method = FBCPMP(rank=4)
    np.testing.assert_allclose(method.answer(data, drive(method, data, 30)[-1]), 100.0, rtol=0.02)


def test_fbcp_mp_keeps_its_scale_over_many_iterations():
    """The gain of the mixing must not pile up in the first mode: it grew by 6 in every iteration."""
    data = masked(picture(20, 18), 0.5)
    sizes = [np.sqrt(np.mean(Z**2)) for Z in drive(FBCPMP(rank=8, max_iter=60), data, 60)[-1].factors]
    assert max(sizes) < 1e4 * min(sizes)


def test_fbcp_refuses_more_covariances_than_fit():
    obs = Observations.from_coo(np.array([[0, 0], [89999, 1]]), np.array([1.0, 2.0]), (90000, 60))
    with pytest.raises(ValueError, match=r"covariances of 90060 rows at rank 100 .* use rank <= 54"):
        FBCP().check(obs)
    FBCP(rank=54).check(obs)


# --- SPC ------------------------------------------------------------------------------------------------------------


def difference(n):
    return np.diff(np.eye(n), axis=0)


@pytest.mark.parametrize("rho", [0.0, 0.3, 20.0])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_spc_smoothing_solves_its_system(rho, n, rng):
    y, L = rng.standard_normal(n), difference(n)
    np.testing.assert_allclose(kernels.smooth(y, rho), np.linalg.solve(np.eye(n) + rho * L.T @ L, y), atol=1e-13)
    np.testing.assert_allclose(kernels.smooth(np.full(n, 2.5), rho), 2.5, rtol=1e-14)


def phi(v, y, g, rho, tv):
    rough = np.abs(np.diff(v)).sum() if tv else np.sum(np.diff(v) ** 2)
    return 0.5 * g**2 * rho * rough - g * v @ y


@pytest.mark.parametrize("tv", [True, False])
def test_spc_direction_is_the_gradient_on_the_sphere(tv, rng):
    """On unit vectors phi + g^2 ||v||^2 / 2 has the same minimiser; the direction is its gradient over g^2."""
    v, y, g, rho, d = rng.standard_normal(8), rng.standard_normal(8), 1.7, 0.6, np.empty(8)
    kernels._direction(v, y, g, rho, tv, d)
    step = 1e-6
    for i in range(8):
        e = step * np.eye(8)[i]
        up, down = (phi(w, y, g, rho, tv) + 0.5 * g**2 * w @ w for w in (v + e, v - e))
        assert d[i] == pytest.approx((up - down) / (2 * step) / g**2, abs=1e-6)


@pytest.mark.parametrize("tv", [True, False])
def test_spc_descent_gives_a_unit_vector_below_its_start(tv, rng):
    for n, g, rho in ((9, 50.0, 0.4), (40, 3000.0, 0.05), (5, 8.0, 2.0)):
        y = g * np.abs(rng.standard_normal(n))
        v = kernels.descend(y, g, rho, tv)
        start = y / np.linalg.norm(y) if tv else kernels.smooth(y, rho)
        assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-12)
        assert phi(v, y, g, rho, tv) <= phi(start / np.linalg.norm(start), y, g, rho, tv) * (1 - 1e-12)
        assert np.abs(np.diff(v)).sum() < np.abs(np.diff(y / np.linalg.norm(y))).sum()
    y = rng.standard_normal(6)
    np.testing.assert_array_equal(kernels.descend(y, 2.0, 0.0, tv), y / np.sqrt(kernels.dot(y, y)))
    np.testing.assert_array_equal(kernels.descend(np.zeros(6), 2.0, 0.5, tv), np.zeros(6))


@pytest.mark.parametrize("method", [SPCQV(rho=0.5), SPCTV(rho=0.1), SPCQV(rho=(0.3, 0.0, 1.0))], ids=repr)
def test_spc_sweep_is_the_one_written_on_the_whole_grid(method, rng):
    """One component renewed with Y = E + g u o v o w as a full array, as the paper writes it."""
    shape, tv = (7, 6, 5), method.total_variation
    data = masked(200 * rng.random(shape), 0.4)
    before = drive(method, data, 3)[-1]
    r = int(np.argmin(before.arrays["g"]))
    u, g = np.split(before.arrays["U"][r], np.cumsum(shape)[:-1]), before.arrays["g"][r]
    E = np.zeros(shape)
    E[data.O] = before.arrays["E"]
    Y = E + g * np.einsum("i,j,k->ijk", *u)
    rho, penalty = method.rhos(shape), 1.0
    for n, contraction in enumerate(("ijk,j,k->i", "ijk,i,k->j", "ijk,i,j->k")):
        y = np.einsum(contraction, Y, *(u[m] for m in range(3) if m != n))
        u[n] = kernels.descend(y, g, rho[n], tv)
        penalty += rho[n] * (np.abs(np.diff(u[n])).sum() if tv else np.sum(np.diff(u[n]) ** 2))
    outer = np.einsum("i,j,k->ijk", *u)
    gain = np.sum(Y * outer) / penalty
    one = dataclasses.replace(method, sweep=1)
    after = one.step(data, before, rng)
    assert after.arrays["g"][r] == pytest.approx(abs(gain), rel=1e-9)
    assert after.numbers["error"] == pytest.approx(np.sum((Y - gain * outer)[data.O] ** 2), rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("method", [SPCTV(rho=0.1), SPCQV(rho=0.5)], ids=repr)
def test_spc_residual_stays_that_of_its_components(method, shape, rng):
    data = masked(200 * rng.random(shape), 0.4)
    state = drive(method, data, 25)[-1]
    assert len(state.arrays["g"]) > 1
    Z = method.answer(data, state)
    np.testing.assert_allclose(state.arrays["E"], (data.T - Z)[data.O], atol=1e-9)


@pytest.mark.parametrize("cls", [SPCTV, SPCQV])
def test_spc_without_penalty_never_raises_the_error(cls, rng):
    data = masked(100 * rng.random((9, 8, 7)), 0.5)
    errors = [s.numbers["error"] for s in drive(cls(rho=0.0, sdr=60.0), data, 60)]
    # a component fitted to the residual after the count was taken can only have lowered it further
    assert np.all(np.diff(errors) <= 1e-9 * errors[0])
    assert errors[-1] < 0.5 * errors[0]


@pytest.mark.parametrize(
    ("method", "few", "many"),
    [(SPCQV(rho=0.0), 1, 1), (SPCQV(rho=0.01), 1, 4), (SPCTV(rho=0.01), 4, 30), (SPCQV(rho=1.0), 20, 90)],
    ids=repr,
)
def test_spc_recovers_a_smooth_rank_one_tensor(method, few, many):
    """The penalty shrinks g, so the more it weighs the more components are needed."""
    X = smooth_rank_one()
    data = masked(X, 0.7)
    method = dataclasses.replace(method, sdr=50.0)
    state = drive(method, data, 1000)[-1]
    assert method.done(data, state, None) is Status.CONVERGED
    assert relative(method.answer(data, state), X) < 0.005
    assert few <= len(state.arrays["g"]) <= many


def test_spc_recovers_the_authors_blobs():
    """Four Gaussians in a cube, 80 % missing, fitted to 50 dB; rho 1 at 50^3 is about 0.2 here."""
    x = np.linspace(-1, 1, 24)
    places = np.array([(-0.4, -0.3, 0.2), (0.4, 0.3, -0.3), (0.3, -0.5, 0.4), (-0.3, 0.5, -0.2)])
    X = CP([np.exp(-((x[:, None] - places[:, n]) ** 2) / 0.15) for n in range(3)]).full()
    O = np.random.default_rng(0).random(X.shape) >= 0.8  # noqa: E741
    done = SPCQV(rho=0.2, sdr=50.0, tol=1e-7).fit(Observations.from_dense(X, mask=O), Run())
    assert done.status is Status.CONVERGED
    assert relative(np.asarray(done.estimate), X) < 0.02


def test_spc_rho_per_mode():
    assert SPCTV().rhos((30, 20, 3)).tolist() == [0.05, 0.05, 0.0]
    assert SPCQV(rho=(1.0, 0.0, 2.0)).rhos((30, 20, 3)).tolist() == [1.0, 0.0, 2.0]
    obs = Observations.from_dense(np.ones((6, 5)))
    with pytest.raises(ValueError, match="rho must be one number or 2, one per mode; got 3"):
        SPCQV(rho=(1.0, 1.0, 1.0)).check(obs)
    with pytest.raises(ValueError, match="rho of method 'spc-tv' must be >= 0"):
        SPCTV(rho=-1.0)
