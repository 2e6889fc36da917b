"""The CP model as a whole tensor."""

import tracemalloc

import numpy as np
import pytest

import tensorfill as tfl

SHAPES = [(4, 3), (1, 5), (5, 1, 4), (2, 3, 4, 5), (3, 1, 2, 2, 3)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_full_is_the_sum_of_outer_products(shape, dtype, rng):
    factors = [rng.normal(size=(n, 3)).astype(dtype) for n in shape]
    letters = "abcde"[: len(shape)]
    expected = np.einsum(",".join(f"{c}z" for c in letters) + "->" + letters, *factors)
    full = tfl.CP(factors).full()
    assert full.dtype == dtype
    np.testing.assert_allclose(full, expected, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 500, 400), (500, 3, 400), (500, 400, 3), (2, 400, 3, 300)], ids=str)
def test_full_takes_little_more_than_the_tensor(shape, rng):
    """The Khatri-Rao product of two long modes alone would be `rank / 3` times as large."""
    model = tfl.CP([rng.normal(size=(n, 60)) for n in shape])
    tracemalloc.start()
    X = model.full()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * X.nbytes + 2**24
    where = np.stack([rng.integers(n, size=50) for n in shape], axis=1)
    np.testing.assert_allclose(X[tuple(where.T)], model.at(where), rtol=1e-9, atol=1e-9)
