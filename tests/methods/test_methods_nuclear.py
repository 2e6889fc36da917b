"""Nuclear-norm and total-variation baselines: their kernels, and what each method must reach."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from tensorfill.data.observations import Observations
from tensorfill.methods.arrays import Dense
from tensorfill.methods.base import METHODS, Run
from tensorfill.methods.classical.falrtc import FaLRTC, smooth_norms, smooth_norms_value
from tensorfill.methods.classical.halrtc import LRTCTNN, HaLRTC
from tensorfill.methods.classical.lrtv_pds import LRTVPDS, clip_lengths, reflected_adjoint, reflected_difference
from tensorfill.methods.classical.nuclear import mode_weights
from tensorfill.methods.classical.silrtc import SiLRTC
from tensorfill.methods.classical.tctv import TCTV, circular_adjoint, circular_difference, circular_spectrum
from tensorfill.methods.classical.thresholding import (
    flatten,
    fold,
    prox_tubal,
    safe_eigh,
    safe_svd,
    slicewise_svt,
    spectral_norm,
    svt,
    threshold_values,
    truncate,
    unflatten,
    unfold,
)
from tensorfill.methods.classical.tsvd import TSVD
from tensorfill.result.record import Status

NAMES = ["falrtc", "halrtc", "silrtc", "t-svd", "lrtc-tnn", "t-ctv", "lrtv-pds"]


def singular_values(M):
    """By the full SVD, largest first."""
    return np.linalg.svd(M, compute_uv=False)


def svt_full(M, t, keep=0):
    """SVT by the full SVD: the exact and slow form; the first `keep` singular values stay."""
    U, s, Vh = safe_svd(M)
    lowered = np.maximum(s - t, 0.0)
    lowered[:keep] = s[:keep]
    return (U * lowered) @ Vh


def normal(shape, seed=0, *, complex_=False):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal(shape)
    return M + 1j * rng.standard_normal(shape) if complex_ else M


def observed(shape, missing, seed=0):
    return np.random.default_rng(seed).random(shape) >= missing


def complete(method, T, mask, **run):
    return method.fit(Observations.from_dense(T, mask=mask), Run(**run))


def relative(estimate, T):
    return np.linalg.norm(np.asarray(estimate) - T) / np.linalg.norm(T)


def tucker(shape, ranks, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(ranks)
    for n, (size, r) in enumerate(zip(shape, ranks, strict=True)):
        X = np.moveaxis(np.tensordot(rng.standard_normal((size, r)), X, axes=(1, n)), 0, n)
    return X


def tubal(rows, columns, K, r, seed=0):
    rng = np.random.default_rng(seed)
    A, B = (np.fft.fft(rng.standard_normal(s), axis=2) for s in ((rows, r, K), (r, columns, K)))
    return np.fft.ifft(np.einsum("irk,rjk->ijk", A, B), axis=2).real


def scene(size=32):
    """A smooth picture with an edge, 0..255."""
    y, x = np.mgrid[:size, :size] / size
    base = 90 + 70 * np.sin(3 * x + 2 * y) + 60 * (x + y > 1.1)
    return np.clip(base[..., None] * np.array([1.0, 0.8, 0.6]) + np.array([0, 15, 30]), 0, 255)


def psnr(T, X, mask):
    X = np.where(mask, T, np.clip(np.asarray(X), 0, 255))
    return 10 * np.log10(255**2 / np.mean((X - T) ** 2))


class TestThresholding:
    @pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (2, 3, 4, 5)])
    def test_fold_undoes_unfold(self, shape):
        X = normal(shape)
        for n in range(len(shape)):
            M = unfold(X, n)
            assert M.shape[0] == shape[n]
            np.testing.assert_array_equal(fold(M, n, shape), X)

    def test_known_answer(self):
        expected = np.diag([3.0, 1.0, 0.0])
        out, s = svt(np.diag([5.0, 3.0, 1.0]), 2.0)
        np.testing.assert_allclose(out, expected, atol=1e-12)
        np.testing.assert_allclose(s, [3.0, 1.0])
        np.testing.assert_allclose(svt_full(np.diag([5.0, 3.0, 1.0]), 2.0), expected, atol=1e-12)
        rest = truncate(np.diag([5.0, 3.0, 1.0]), 2.0, keep=1)[0]
        np.testing.assert_allclose(rest, np.diag([0.0, 2.0, 1.0]), atol=1e-12)

    @pytest.mark.parametrize("complex_", [False, True])
    @pytest.mark.parametrize("shape", [(3, 40), (40, 3), (70, 90), (90, 70), (8, 8)])
    def test_gram_form_equals_full_svd(self, shape, complex_):
        M = normal(shape, complex_=complex_)
        s = singular_values(M)
        for t in (0.0, float(np.median(s) * 1.01), float(s[0] * 0.9), float(s[0] * 1.1)):
            out, lowered = svt(M, t)
            np.testing.assert_allclose(out, svt_full(M, t), atol=1e-10 * s[0])
            np.testing.assert_allclose(lowered, (s - t)[s > t], atol=1e-9 * s[0])
            np.testing.assert_allclose(threshold_values(M, t), lowered, atol=1e-9 * s[0])
            np.testing.assert_allclose(out + truncate(M, t)[0], M, atol=1e-10 * s[0])
        np.testing.assert_allclose(svt(M, 0.0)[0], M, atol=1e-10 * s[0])
        kept = M - truncate(M, s[0] * 0.9, keep=2)[0]
        np.testing.assert_allclose(kept, svt_full(M, s[0] * 0.9, keep=2), atol=1e-10 * s[0])
        np.testing.assert_allclose(spectral_norm(M), s[0])

    def test_rank_deficient(self):
        M = normal((80, 3)) @ normal((3, 100))
        np.testing.assert_allclose(svt(M, 0.0)[0], M, atol=1e-9)
        np.testing.assert_allclose(svt(np.zeros((5, 7)), 1.0)[0], np.zeros((5, 7)))
        np.testing.assert_allclose(svt(np.zeros((80, 90)), 0.0)[0], np.zeros((80, 90)))

    @pytest.mark.parametrize("n", [0, 1, 2, 3])
    def test_flatten_is_an_unfolding_or_its_transpose(self, n):
        X = normal((4, 5, 6, 3))
        M = flatten(X, n)
        np.testing.assert_array_equal(M.T if n == 3 else M, unfold(X, n))
        np.testing.assert_array_equal(unflatten(M.reshape(-1), n, X.shape), X)

    def test_truncate_caps(self):
        M = np.diag([5.0, 3.0, 1.0])
        np.testing.assert_allclose(truncate(M, 2.0)[0], np.diag([2.0, 2.0, 1.0]), atol=1e-12)
        out = np.empty_like(M)
        capped, lowered = truncate(M, 2.0, keep=1, out=out)
        assert capped is out
        np.testing.assert_allclose(out, np.diag([0.0, 2.0, 1.0]), atol=1e-12)
        np.testing.assert_allclose(lowered, [5.0, 1.0])

    @pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
    def test_survives_drivers_that_do_not_converge(self, monkeypatch, shape):
        def fail(*args, **settings):
            raise np.linalg.LinAlgError

        M = normal(shape)
        expected = singular_values(M)
        monkeypatch.setattr(np.linalg, "svd", fail)
        U, s, Vh = safe_svd(M)
        np.testing.assert_allclose((U * s) @ Vh, M, atol=1e-10)
        np.testing.assert_allclose(s, expected)
        np.testing.assert_allclose(Vh @ Vh.T, np.eye(len(s)), atol=1e-10)
        G = normal((2, 70, 70))
        G = G @ G.swapaxes(1, 2)
        values = np.linalg.eigvalsh(G)
        monkeypatch.setattr(np.linalg, "eigh", fail)
        np.testing.assert_allclose(safe_eigh(G)[0], values, atol=1e-8)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    @pytest.mark.parametrize("size", [6, 80])
    def test_broken_input_gives_nan_not_an_error(self, size, bad):
        M = normal((size, size + 1))
        M[2, 3] = bad
        for out in (svt(M, 1.0)[0], truncate(M, 1.0, keep=1)[0], svt_full(M, 1.0), truncate(M, 1.0)[0]):
            assert out.shape == M.shape
            assert np.isnan(out).any()
        assert np.isnan(threshold_values(M, 1.0)).any()
        assert np.isnan(spectral_norm(M))
        assert np.isnan(prox_tubal(np.stack([M, M], axis=2), 1.0)[0]).any()

    def test_mode_weights(self):
        np.testing.assert_allclose(mode_weights((20, 30, 3)), np.array([1, 1, 1e-3]) / 2.001)
        np.testing.assert_allclose(mode_weights((20, 30, 9)), [1 / 3] * 3)
        np.testing.assert_allclose(mode_weights((20, 3)), [0.5, 0.5])
        np.testing.assert_allclose(mode_weights((5, 5, 3), (2, 0, 2)), [0.5, 0, 0.5])
        with pytest.raises(ValueError, match="one weight >= 0 for each of the 3 modes"):
            mode_weights((5, 5, 3), (1, 1))


class TestTubal:
    @pytest.mark.parametrize("transform", ["dft", "dct"])
    @pytest.mark.parametrize("shape", [(7, 5), (7, 5, 1), (5, 7, 2), (7, 5, 4), (7, 5, 5), (4, 5, 3, 4), (70, 72, 3)])
    def test_threshold_zero_is_the_identity(self, shape, transform):
        Y = normal(shape)
        np.testing.assert_allclose(prox_tubal(Y, 0.0, transform)[0], Y, atol=1e-9)

    @pytest.mark.parametrize("depth", [3, 4])
    def test_constant_tubes_are_one_matrix(self, depth):
        M = normal((6, 8))
        out, norm = prox_tubal(np.repeat(M[..., None], depth, axis=2), 2.0)
        expected = svt_full(M, 2.0 / depth)
        np.testing.assert_allclose(out, np.repeat(expected[..., None], depth, axis=2), atol=1e-10)
        np.testing.assert_allclose(norm, singular_values(expected).sum())

    @pytest.mark.parametrize("transform", ["dft", "dct"])
    @pytest.mark.parametrize("shape", [(5, 6, 4), (5, 6, 3), (4, 5, 3, 2)])
    def test_is_a_minimiser(self, shape, transform):
        """prox(Y) minimises t ||X|| + 0.5 ||X - Y||^2; the norm is read off a prox with a vanishing threshold."""
        Y, t = normal(shape), 1.5
        X, norm = prox_tubal(Y, t, transform)

        def objective(Z, value):
            return t * value + 0.5 * np.sum((Z - Y) ** 2)

        best = objective(X, norm)
        np.testing.assert_allclose(prox_tubal(X, 0.0, transform)[1], norm)
        for seed in range(40):
            other = X + 10.0 ** -(seed % 4) * normal(shape, seed=seed + 1)
            assert objective(other, prox_tubal(other, 0.0, transform)[1]) >= best - 1e-9

    def test_half_of_the_slices_equals_all(self):
        for depth in (1, 2, 3, 6):
            Y = normal((6, 5, depth))
            F = np.fft.fft(Y, axis=2)
            full = np.stack([svt_full(F[..., k], 1.0) for k in range(depth)], axis=2)
            back = np.fft.ifft(full, axis=2)
            assert np.abs(back.imag).max() < 1e-12
            np.testing.assert_allclose(prox_tubal(Y, 1.0)[0], back.real, atol=1e-10)

    def test_stack_equals_one_by_one(self):
        S = normal((4, 9, 6), complex_=True)
        out, norms = slicewise_svt(S, 1.3)
        for k in range(4):
            expected = svt_full(S[k], 1.3)
            np.testing.assert_allclose(out[k], expected, atol=1e-10)
            np.testing.assert_allclose(norms[k], singular_values(expected).sum())


class TestDifferences:
    @pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
    @pytest.mark.parametrize("kind", ["reflected", "circular"])
    @pytest.mark.parametrize("n", [0, 1, 2])
    def test_adjoint(self, kind, size, n):
        shape = [3, 4, 2]
        shape[n] = size
        forward, adjoint = {
            "reflected": (lambda X, n: reflected_difference(X, n, np.empty_like(X)), reflected_adjoint),
            "circular": (circular_difference, circular_adjoint),
        }[kind]
        x, y = normal(shape), normal(shape, seed=1)
        np.testing.assert_allclose(np.vdot(forward(x, n), y), np.vdot(x, adjoint(y, n)), atol=1e-12)

    def test_reflected_by_hand(self):
        line = np.array([1.0, 4.0, 9.0])
        np.testing.assert_array_equal(reflected_difference(line, 0, np.empty(3)), [3, 5, -5])
        D = np.stack([reflected_difference(e, 0, np.empty(50)) for e in np.eye(50)], axis=1)
        assert singular_values(D)[0] ** 2 <= 4.83
        np.testing.assert_array_equal(circular_difference(line, 0), [3, 5, -8])

    @pytest.mark.parametrize("modes", [(0, 1), (1, 0), (2,), (0, 1, 2)])
    def test_spectrum_diagonalises(self, modes):
        X = normal((4, 5, 6))
        direct = sum(circular_adjoint(circular_difference(X, n), n) for n in modes)
        F = np.fft.rfftn(X, axes=modes) * circular_spectrum(X.shape, modes)
        np.testing.assert_allclose(np.fft.irfftn(F, s=[X.shape[n] for n in modes], axes=modes), direct, atol=1e-12)


class TestFaLRTC:
    def test_gradient_by_finite_differences(self):
        X, alpha, mu = normal((5, 6, 3)), np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.5, 0.8])
        value, G = smooth_norms(X, alpha, mu)
        np.testing.assert_allclose(smooth_norms_value(X, alpha, mu), value)
        for seed in range(5):
            d, h = normal(X.shape, seed=seed + 1), 1e-5
            slope = (smooth_norms_value(X + h * d, alpha, mu) - smooth_norms_value(X - h * d, alpha, mu)) / (4 * h)
            np.testing.assert_allclose(np.vdot(G, d), slope, rtol=1e-6)

    def test_smoothing_runs_from_its_start_to_its_end(self):
        method, first = FaLRTC(max_iter=60), np.array([40.0, 30.0, 1.0])
        mu, end = method.mu((16, 16, 3), first, 1)
        np.testing.assert_allclose(mu, first)
        np.testing.assert_allclose(method.mu((16, 16, 3), first, 45)[0], end)
        np.testing.assert_allclose(method.mu((16, 16, 3), first, 60)[0], end)

    def test_observed_entries_never_move(self):
        T, mask = scene(12), observed((12, 12, 3), 0.5)
        method, data = FaLRTC(), Dense(T * mask, mask)
        state = method.start(data, np.random.default_rng(0))
        for _ in range(5):
            state = method.step(data, state, np.random.default_rng(0))
        np.testing.assert_allclose(method.answer(data, state)[mask], T[mask], atol=1e-9)

    def test_agrees_with_halrtc(self):
        T = scene()
        mask = observed(T.shape, 0.6)
        scores = [psnr(T, complete(method, T, mask).estimate, mask) for method in (FaLRTC(max_iter=200), HaLRTC())]
        assert abs(scores[0] - scores[1]) < 0.1
        assert min(scores) > 25


class TestHaLRTC:
    def test_recovers_low_tucker_rank(self):
        T = tucker((30, 30, 30), (2, 2, 2))
        done = complete(HaLRTC(eps=1e-8, min_iter=100), T, observed(T.shape, 0.7))
        assert done.status is Status.CONVERGED
        assert relative(done.estimate, T) < 1e-6

    def test_all_methods_of_the_norm_reach_its_minimum(self):
        """HaLRTC's answer has the least sum of nuclear norms among the fillings tried; SiLRTC comes close to it."""
        T = scene(16)
        mask = observed(T.shape, 0.4)
        alpha = mode_weights(T.shape)

        def norm(X):
            return sum(a * singular_values(unfold(np.where(mask, T, X), n)).sum() for n, a in enumerate(alpha))

        best = norm(np.asarray(complete(HaLRTC(eps=1e-7, max_iter=2000, growth=1.02), T, mask).estimate))
        assert best <= norm(T) + 1e-6
        assert norm(np.asarray(complete(SiLRTC(gamma=10.0), T, mask).estimate)) < best * 1.02
        pds = LRTVPDS(a=0.0, b=1.0, lam=alpha, box=(-np.inf, np.inf), tol=1e-10, max_iter=4000)
        np.testing.assert_allclose(norm(np.asarray(complete(pds, T, mask).estimate)), best, rtol=2e-3)

    def test_weight_zero_is_left_out(self):
        T = scene(12)
        mask = observed(T.shape, 0.3)
        done = complete(HaLRTC(alpha=(1, 0, 0)), T, mask)
        matrix = complete(HaLRTC(alpha=(1, 0)), unfold(T, 0), unfold(mask, 0))
        np.testing.assert_allclose(unfold(np.asarray(done.estimate), 0), np.asarray(matrix.estimate), atol=1e-6)


class TestTruncated:
    def test_leading_values_go_unshrunk(self):
        data = Dense(np.ones((20, 10, 3)), np.ones((20, 10, 3), dtype=bool))
        assert LRTCTNN(theta=0.1).keep(data) == [2, 1, 1]
        assert LRTCTNN(theta=5.0).keep(data) == [19, 9, 2]
        assert LRTCTNN().keep(data) == [7, 4, 2]

    def test_beats_the_plain_norm_on_strong_patterns(self):
        rng = np.random.default_rng(0)
        T = 50 + 10 * tucker((20, 15, 24), (2, 2, 2)) + rng.standard_normal((20, 15, 24))
        mask = observed(T.shape, 0.7)
        truncated, plain = (relative(complete(m, T, mask).estimate, T) for m in (LRTCTNN(), HaLRTC()))
        assert truncated < plain


class TestTSVD:
    @pytest.mark.parametrize(
        ("settings", "limit"),
        [({"tol": 1e-5}, 1e-3), ({"rho": 0.01, "tol": 1e-4}, 1e-3)],
    )
    def test_recovers_low_tubal_rank(self, settings, limit):
        T = tubal(30, 30, 10, 3)
        done = complete(TSVD(**settings), T, observed(T.shape, 0.5))
        assert relative(done.estimate, T) < limit


class TestTCTV:
    def test_constant_is_exact(self):
        T = np.full((12, 10, 3), 7.0)
        done = complete(TCTV(tol=1e-7), T, observed(T.shape, 0.9))
        np.testing.assert_allclose(np.asarray(done.estimate), T, rtol=1e-4)

    def test_smooth_scene_at_90_percent(self):
        T = scene()
        mask = observed(T.shape, 0.9)
        scores = {
            name: psnr(T, complete(METHODS[name](), T, mask).estimate, mask) for name in ("t-ctv", "halrtc", "t-svd")
        }
        assert scores["t-ctv"] > max(scores["halrtc"], scores["t-svd"]) + 2

    def test_directions_are_checked(self):
        with pytest.raises(ValueError, match="each once"):
            TCTV(directions=(0, 0))
        with pytest.raises(ValueError, match=r"modes 0 .. 1; got \(0, 2\)"):
            complete(TCTV(directions=(0, 2)), normal((4, 4)), np.ones((4, 4), dtype=bool))


class TestLRTVPDS:
    def test_constant_picture(self):
        T = np.full((16, 16, 3), 0.6)
        done = complete(LRTVPDS(tol=1e-8, box=(0.0, 1 / 0.6)), T, observed(T.shape, 0.5))
        assert np.abs(np.asarray(done.estimate) - T).max() < 1e-3

    @pytest.mark.parametrize("adaptive", [True, False])
    def test_ball_holds_at_every_iterate(self, adaptive):
        T = scene(12) / 255 + 0.05 * normal((12, 12, 3))
        mask = observed(T.shape, 0.3)
        method = LRTVPDS(delta=0.8 * mask.sum() * 0.05**2, adaptive=adaptive)
        data = Dense(T * mask, mask)
        state, rng = method.start(data, np.random.default_rng(0)), np.random.default_rng(0)
        for _ in range(40):
            state = method.step(data, state, rng)
            assert np.sum((state.arrays["X"] - T)[mask] ** 2) <= method.delta * (1 + 1e-9)

    def test_fixed_and_adaptive_steps_meet(self):
        T = scene(12)
        mask = observed(T.shape, 0.5)
        answers = [
            np.asarray(complete(LRTVPDS(adaptive=a, tol=1e-9, max_iter=6000), T, mask).estimate) for a in (True, False)
        ]
        assert relative(answers[0], answers[1]) < 5e-3

    def test_projection_on_balls(self):
        P = np.array([[3.0, 0.0, 0.1], [4.0, 0.0, 0.0]])
        clip_lengths(P, 1.0)
        np.testing.assert_allclose(P, [[0.6, 0, 0.1], [0.8, 0, 0]])
        clip_lengths(P, 0.0)
        np.testing.assert_array_equal(P, np.zeros_like(P))

    def test_weights_are_checked(self):
        with pytest.raises(ValueError, match="one weight >= 0 for each of its 3 modes"):
            complete(LRTVPDS(w=(1.0,)), scene(8), np.ones((8, 8, 3), dtype=bool))


@pytest.mark.parametrize("name", NAMES)
class TestEvery:
    def test_registered_with_its_facts(self, name):
        cls = METHODS[name]
        assert cls.name == name
        assert all(getattr(cls, fact) for fact in ("reference", "assumes", "use_when"))

    @pytest.mark.parametrize("missing", [0.95, 0.99])
    def test_sparse_data_are_not_zero_filled(self, name, missing):
        T = scene(24)
        mask = observed(T.shape, missing)
        score = psnr(T, complete(METHODS[name](), T, mask).estimate, mask)
        assert score > psnr(T, np.zeros_like(T), mask) + 5

    def test_step_changes_nothing_it_is_given(self, name):
        T = scene(10)
        mask = observed(T.shape, 0.5)
        method, data = METHODS[name](), Dense(T * mask / 255, mask)
        rng = np.random.default_rng(0)
        state = method.step(data, method.start(data, rng), rng)
        before = {key: value.copy() for key, value in state.arrays.items()} | {"T": data.T.copy()}
        for array in (*state.arrays.values(), data.T):
            array.flags.writeable = False
        method.step(data, state, rng)
        for key, value in {**state.arrays, "T": data.T}.items():
            np.testing.assert_array_equal(value, before[key])

    @pytest.mark.parametrize("shape", [(9, 7), (9, 7, 1), (6, 7, 5), (5, 4, 3, 6)])
    def test_any_number_of_modes(self, name, shape):
        rng = np.random.default_rng(0)
        T = np.ones(shape)
        for n, size in enumerate(shape):
            T = T * (1.5 + np.sin(np.linspace(0, 2, size) + rng.random())).reshape(
                [-1 if k == n else 1 for k in range(len(shape))]
            )
        mask = observed(shape, 0.4)
        estimate = np.asarray(complete(METHODS[name](), T, mask).estimate)
        assert estimate.shape == shape
        flat = np.where(mask, T, T[mask].mean())
        assert relative(np.where(mask, T, estimate), T) < relative(flat, T)

    def test_all_observed_and_all_zero(self, name):
        T = scene(8)
        done = complete(METHODS[name](), T, np.ones(T.shape, dtype=bool))
        np.testing.assert_allclose(np.asarray(done.completed), T)
        done = complete(METHODS[name](), np.zeros((6, 5, 3)), observed((6, 5, 3), 0.5))
        np.testing.assert_array_equal(np.asarray(done.completed), 0.0)

    def test_bad_settings_are_named(self, name):
        cls = METHODS[name]
        setting = "tol" if hasattr(cls, "tol") else "eps"
        with pytest.raises(ValueError, match=f"{setting} of method '{name}' must be a number > 0; got -1"):
            cls(**{setting: -1})

    def test_settings_are_plain(self, name):
        """Arrays given as weights become tuples: the settings go into JSON, and cannot change under the method."""
        given = {"alpha": np.ones(3), "w": np.ones(3), "lam": np.ones(3), "directions": np.arange(2)}
        fields = {f.name for f in dataclasses.fields(METHODS[name])}
        method = METHODS[name](**{key: value for key, value in given.items() if key in fields})
        assert json.loads(json.dumps(method.settings()))
        assert hash(method) == hash(dataclasses.replace(method))
