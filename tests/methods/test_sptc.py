"""`sptc` with order="together" beside a plain version of the steps of the paper's authors, at full length."""

import numpy as np
import pytest

import tensorfill as tfl

LENGTH = 4000  # iterations of the authors' program


def differences(A):
    """Derivative of half the sum of squared differences of neighbouring rows."""
    D = np.diff(A, axis=0)
    return np.pad(D, ((1, 0), (0, 0))) - np.pad(D, ((0, 1), (0, 0)))


def authors_steps(T, mask, factors, alpha, count):
    """All three gradients from the same X, then all three factors at once; double precision."""
    F = [factor.astype(float) for factor in factors]
    for k in range(count + 1):
        products = [(F[m][:, None] * F[n]).reshape(-1, F[0].shape[1]) for m, n in ((1, 2), (0, 2), (0, 1))]
        X = (F[0] @ products[0].T).reshape(T.shape)
        if k == count:
            return X
        Y = np.where(mask, 1 - T / (X + 1e-3), 0)
        G = [np.moveaxis(Y, n, 0).reshape(len(F[n]), -1) @ products[n] for n in range(3)]
        F = [np.maximum(A - alpha * (g + rho * differences(A)), 0) for A, g, rho in zip(F, G, (10, 10, 0), strict=True)]


def test_the_authors_steps_end_at_the_same_score():
    y, x = np.mgrid[:20, :24] / 8
    truth = np.stack([120 + 60 * np.sin(x + 2 * y), 90 + 50 * np.cos(3 * x - y), 140 + 70 * np.sin(2 * x)], axis=2)
    truth = np.rint(truth).astype(np.uint8)
    mask = np.random.default_rng(7).random(truth.shape) < 0.4
    given = {"mask": mask, "method": "sptc", "order": "together", "rank": 30, "alpha": 2e-3, "tol": 0.0, "seed": 3}
    start = tfl.complete(truth, max_iter=0, **given).factors
    done = tfl.complete(truth, max_iter=LENGTH, **given)
    assert done.iterations == LENGTH
    plain = authors_steps(truth.astype(float), mask, start, 2e-3, LENGTH)

    def score(X):
        gap = (np.clip(X, 0, 255) - truth)[~mask]
        return 10 * np.log10(255**2 / np.mean(gap**2))

    assert score(plain) > score(authors_steps(truth.astype(float), mask, start, 2e-3, 40)) + 1
    assert score(done.estimate) == pytest.approx(score(plain), abs=0.3)
