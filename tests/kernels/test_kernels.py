"""Both layouts against the slow truth, the adjoint identity, and what they promise about memory and threads."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import reference_kernels as reference

from tensorfill.kernels import dense, sampled
from tensorfill.kernels.choose import LAYOUTS, choose_layout, estimate_memory, estimate_time, make_layout
from tensorfill.kernels.dense import DenseLayout, choose_split, left_slabs
from tensorfill.kernels.khatrirao import CPContraction, KhatriRao
from tensorfill.kernels.sampled import SampledLayout, default_threads

RTOL = {np.float32: 2e-5, np.float64: 1e-12}


def every(shape):
    """Coordinates of all entries, in C order."""
    return np.indices(shape).reshape(len(shape), -1).T


def pick(shape, share, seed=0):
    """A random share of the coordinates."""
    rng = np.random.default_rng(seed)
    return every(shape)[rng.random(np.prod(shape)) < share]


def doubled(indices):
    """Every third coordinate twice, every ninth three times."""
    times = 1 + (np.arange(len(indices)) % 3 == 0) + (np.arange(len(indices)) % 9 == 0)
    return np.repeat(indices, times, axis=0)


def without_row(indices, mode, row):
    return indices[indices[:, mode] != row]


CASES = {
    "matrix": ((7, 9), pick((7, 9), 0.4)),
    "order 3": ((5, 6, 4), pick((5, 6, 4), 0.4)),
    "order 4": ((4, 3, 5, 2), pick((4, 3, 5, 2), 0.4)),
    "order 5": ((3, 4, 2, 3, 5), pick((3, 4, 2, 3, 5), 0.3)),
    "order 7": ((2, 3, 2, 1, 2, 3, 2), pick((2, 3, 2, 1, 2, 3, 2), 0.5)),
    "short first": ((2, 8, 30), pick((2, 8, 30), 0.4)),
    "short last": ((12, 11, 3), pick((12, 11, 3), 0.4)),
    "empty rows": ((6, 5, 4), without_row(without_row(pick((6, 5, 4), 0.6), 0, 0), 2, 3)),
    "repeats": ((6, 5, 4), doubled(pick((6, 5, 4), 0.5))),
    "repeats of all": ((3, 4, 2), doubled(every((3, 4, 2)))),
    "as many repeats as holes": ((2, 3), np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 2], [1, 2]])),
    "one entry, thrice": ((2, 3), np.array([[1, 2], [1, 2], [1, 2]])),
    "size one": ((1, 5, 1, 6), pick((1, 5, 1, 6), 0.5)),
    "one observation": ((4, 5, 3), np.array([[2, 0, 1]])),
    "one entry": ((1, 1), np.array([[0, 0]])),
    "complete": ((5, 4, 3), every((5, 4, 3))),
    "complete matrix": ((6, 7), every((6, 7))),
}


@pytest.fixture(params=["whole", "cut"])
def cut(request, monkeypatch):
    """Once with everything in one slab and one block, once with slabs and blocks far smaller than the data."""
    if request.param == "cut":
        monkeypatch.setattr(dense, "SLAB_ENTRIES", 7)
        monkeypatch.setattr(sampled, "BLOCK", 11)
    return request.param


def problem(case, layout, dtype=np.float64, rank=3, threads=None):
    shape, indices = CASES[case]
    rng = np.random.default_rng(1)
    factors = [rng.normal(size=(size, rank)).astype(dtype) for size in shape]
    g = rng.normal(size=len(indices)).astype(dtype)
    made = LAYOUTS[layout](indices.astype(np.int32), CPContraction(shape, rank))
    if threads:
        made.threads = threads
    return made, indices, factors, g


def close(got, truth, dtype):
    assert got.dtype == dtype
    assert got.shape == truth.shape
    np.testing.assert_allclose(got, truth, rtol=RTOL[dtype], atol=RTOL[dtype] * max(1.0, np.abs(truth).max()))


everywhere = pytest.mark.parametrize("layout", LAYOUTS)
every_case = pytest.mark.parametrize("case", CASES)
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@everywhere
@every_case
@both_dtypes
def test_predict_is_the_reference(layout, case, dtype, cut):
    made, indices, factors, _ = problem(case, layout, dtype)
    close(made.predict(factors), reference.predict(indices, factors), dtype)


@everywhere
@every_case
@both_dtypes
def test_every_pullback_is_the_reference(layout, case, dtype, cut):
    made, indices, factors, g = problem(case, layout, dtype)
    seen = []

    def entrywise(start, stop, x):
        seen.append((start, stop, x.copy()))
        return float(x.sum()), g[start:stop]

    value, fused = made.value_and_pullback(entrywise, factors)
    together = reference.pullback_all(made, g, factors)
    assert len(fused) == len(together) == len(factors)
    for n in range(len(factors)):
        truth = reference.pullback(g, indices, factors, n)
        close(made.pullback(g, factors, n), truth, dtype)
        close(together[n], truth, dtype)
        close(fused[n], truth, dtype)
    seen.sort(key=lambda block: block[0])
    x = reference.predict(indices, factors)
    assert [a for a, _, _ in seen] == [0, *[b for _, b, _ in seen][:-1]]  # the blocks are all there, once
    close(np.concatenate([x for _, _, x in seen]), x, dtype)
    assert value == pytest.approx(x.sum(), rel=1e-4, abs=1e-4)


@everywhere
@every_case
def test_pullback_is_the_adjoint_of_the_derivative(layout, case):
    made, _, factors, g = problem(case, layout)
    rng = np.random.default_rng(2)
    for n, G in enumerate(reference.pullback_all(made, g, factors)):
        step = rng.normal(size=factors[n].shape)
        moved = [A if m != n else step for m, A in enumerate(factors)]  # x is linear in each factor
        assert made.predict(moved) @ g == pytest.approx(np.sum(step * G), rel=1e-10, abs=1e-10)


@everywhere
@pytest.mark.parametrize("rank", [1, 8, 37])
def test_any_rank(layout, rank):
    made, indices, factors, g = problem("order 4", layout, rank=rank)
    close(made.predict(factors), reference.predict(indices, factors), np.float64)
    for n, G in enumerate(reference.pullback_all(made, g, factors)):
        close(G, reference.pullback(g, indices, factors, n), np.float64)


@everywhere
def test_nothing_given_is_changed(layout):
    made, indices, factors, g = problem("repeats", layout)
    before = [A.copy() for A in factors], g.copy(), indices.copy()
    for array in (*factors, g):
        array.setflags(write=False)
    made.predict(factors)
    made.pullback(g, factors, 1)
    reference.pullback_all(made, g, factors)[0][:] = 5.0  # what comes back belongs to the caller
    made.value_and_pullback(lambda a, b, x: (0.0, g[a:b]), factors)[1][0][:] = 5.0
    assert all(np.array_equal(A, old) for A, old in zip(factors, before[0], strict=True))
    assert np.array_equal(g, before[1])
    assert np.array_equal(CASES["repeats"][1], before[2])


@everywhere
def test_any_kind_of_array_will_do(layout):
    """Strided factors, 64-bit coordinates, a derivative in another precision."""
    made, indices, factors, g = problem("order 3", layout)
    odd = LAYOUTS[layout](np.asfortranarray(indices.astype(np.int64)), made.contraction)
    fortran = [np.asfortranarray(A) for A in factors]
    wide = np.stack([g, g], axis=1)[:, 0]
    for n, G in enumerate(reference.pullback_all(odd, wide, fortran)):
        np.testing.assert_array_equal(G, reference.pullback_all(made, g, factors)[n])
    single = [A.astype(np.float32) for A in factors]
    assert reference.pullback_all(made, g, single)[0].dtype == np.float32
    assert made.predict([np.ones((size, 2), dtype=int) for size in made.shape]).dtype == np.float64


@everywhere
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_shows(layout, bad):
    """Reordered sums must not lose the NaN or infinity that tells a solver to stop."""
    made, indices, factors, g = problem("order 4", layout, rank=8)
    factors[1][2, 3] = bad
    hit = indices[:, 1] == 2
    assert not np.isfinite(made.predict(factors)[hit]).any()
    assert np.isfinite(made.predict(factors)[~hit]).all()
    assert not np.isfinite(reference.pullback_all(made, g, factors)[0]).all()


@everywhere
def test_what_lies_outside_is_refused(layout):
    with pytest.raises(ValueError, match=r"mode 1 must be in 0\.\.3; got 4 in row 1"):
        LAYOUTS[layout](np.array([[0, 0], [1, 4]]), CPContraction((2, 4)))
    with pytest.raises(ValueError, match=r"mode 0 must be in 0\.\.1; got -1"):
        LAYOUTS[layout](np.array([[-1, 0]]), CPContraction((2, 4)))
    with pytest.raises(ValueError, match="one row per observation"):
        LAYOUTS[layout](np.array([[0.0, 1.0]]), CPContraction((2, 4)))
    made, _, factors, _ = problem("order 3", layout)
    with pytest.raises(ValueError, match="factors must have shapes"):
        made.predict([factors[0][:-1], *factors[1:]])


def test_dense_wants_order():
    with pytest.raises(ValueError, match="lexicographic"):
        DenseLayout(np.array([[1, 0], [0, 1]]), CPContraction((2, 2)))


# Dense ------------------------------------------------------------------------------------------------------------


@every_case
@both_dtypes
def test_full_and_back(case, dtype, cut):
    made, indices, factors, g = problem(case, "dense", dtype)
    shape = CASES[case][0]
    X = made.full(factors)
    assert X.shape == shape
    close(X.reshape(-1), reference.predict(every(shape), factors), dtype)
    Y = np.zeros(shape)
    np.add.at(Y, tuple(indices.T), g)
    for n, G in enumerate(made.pullback_full(Y, factors)):
        close(G, reference.pullback(g, indices, factors, n), dtype)


@pytest.mark.parametrize(
    ("shape", "split"),
    [((256, 256, 3), 1), ((3, 256, 256), 2), ((1000, 1000, 1000), 2), ((100, 100, 100, 100), 2), ((10, 10**6), 1)],
)
def test_the_right_side_stays_small(shape, split):
    assert choose_split(shape) == split
    assert np.prod(shape[split:]) <= 10**6


@pytest.mark.parametrize("most_rows", [1, 2, 5, 12, 100])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_slabs_cover_every_row_once_in_order(shape, most_rows):
    rows = np.arange(np.prod(shape)).reshape(shape)
    cuts = [rows[cut].reshape(-1) for cut in left_slabs(shape, most_rows)]
    assert max(len(cut) for cut in cuts) <= most_rows
    assert np.array_equal(np.concatenate(cuts), np.arange(rows.size))


def test_dense_holds_one_slab_at_a_time():
    shape, rank = (120, 120, 120), 4
    made = DenseLayout(pick(shape, 0.05), CPContraction(shape))
    factors = [np.ones((size, rank), dtype=np.float32) for size in shape]
    g = np.ones(made.nnz, dtype=np.float32)
    reference.pullback_all(made, g, factors)
    peak = peak_memory(lambda: made.value_and_pullback(lambda a, b, x: (0.0, g[a:b]), factors))
    assert peak < 4 * np.prod(shape)  # all of X in float32 would be this much alone


def test_khatri_rao_is_a_product_of_rows():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 4)) for n in (2, 3, 5)]
    product = KhatriRao(parts)
    rows = reference.rows(every((2, 3, 5)), parts)
    np.testing.assert_allclose(product.matrix, rows, rtol=1e-14)
    G = rng.normal(size=product.matrix.shape)
    for n, back in enumerate(product.pullback(G)):
        step = rng.normal(size=parts[n].shape)
        moved = KhatriRao([U if m != n else step for m, U in enumerate(parts)]).matrix
        assert np.sum(moved * G) == pytest.approx(np.sum(step * back), rel=1e-12)


# Sampled ----------------------------------------------------------------------------------------------------------


def peak_memory(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("threads", [2, 3, 50])
def test_threads_change_nothing_but_rounding(threads):
    made, indices, factors, g = problem("order 4", "sampled", threads=threads)
    close(made.predict(factors), reference.predict(indices, factors), np.float64)
    for n, G in enumerate(reference.pullback_all(made, g, factors)):
        close(G, reference.pullback(g, indices, factors, n), np.float64)
        close(made.pullback(g, factors, n), reference.pullback(g, indices, factors, n), np.float64)


def test_same_bits_with_two_threads():
    shape, rank = (90, 80, 70), 6
    made = SampledLayout(pick(shape, 0.3), CPContraction(shape), threads=2)
    rng = np.random.default_rng(0)
    factors = [rng.normal(size=(size, rank)).astype(np.float32) for size in shape]

    def evaluate():
        return made.value_and_pullback(lambda a, b, x: (float(np.square(x).sum()), 2 * x), factors)

    value, gradients = evaluate()
    for _ in range(5):
        again, others = evaluate()
        assert again == value
        assert all(np.array_equal(G, H) for G, H in zip(gradients, others, strict=True))


def test_an_error_in_the_prior_comes_through_from_a_thread():
    made, _, factors, _ = problem("order 3", "sampled", threads=2)

    def entrywise(start, stop, x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        made.value_and_pullback(entrywise, factors)


def test_threads_follow_the_callers_errstate():
    made, _, factors, _ = problem("order 3", "sampled", threads=2)

    def entrywise(start, stop, x):
        return 0.0, x / 0

    with np.errstate(divide="ignore", invalid="ignore"):
        made.value_and_pullback(entrywise, factors)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        made.value_and_pullback(entrywise, factors)


def test_sampled_keeps_no_vector_over_the_observations():
    shape, rank = (300, 200, 100), 5
    made = SampledLayout(pick(shape, 0.1), CPContraction(shape), threads=2)
    factors = [np.ones((size, rank), dtype=np.float32) for size in shape]
    t = np.ones(made.nnz, dtype=np.float32)

    def evaluate():
        made.value_and_pullback(lambda a, b, x: (0.0, x - t[a:b]), factors)

    evaluate()
    blocks = 2 * 2 * 4 * sampled.BLOCK  # x and g, in two threads
    totals = 2 * 8 * sum(shape) * rank  # float64 sums of the short modes, in two threads
    peak = peak_memory(evaluate)
    assert peak < 3 * 4 * sum(shape) * rank + totals + blocks + 60_000
    assert peak < 4 * made.nnz


def test_float32_sums_over_a_short_mode_do_not_drift():
    """Two million terms of one size in one row: added one by one in float32 their sum is off by 1 %."""
    nnz = 2_000_000
    indices = np.zeros((nnz, 2), dtype=np.int32)
    made = SampledLayout(indices, CPContraction((1, 1)), threads=1)
    factors = [np.full((1, 1), 1.1, dtype=np.float32)] * 2
    g = np.ones(nnz, dtype=np.float32)
    truth = nnz * float(np.float32(1.1))
    assert reference.pullback_all(made, g, factors)[0][0, 0] == pytest.approx(truth, rel=5e-4)
    assert made.pullback(g, factors, 1)[0, 0] == pytest.approx(truth, rel=5e-4)


def test_threads_are_used_only_where_they_pay():
    assert default_threads(nnz=1000, rows=30, rank=5) == 1
    assert default_threads(nnz=10**6, rows=10**6, rank=50) == 1


# Choice -----------------------------------------------------------------------------------------------------------


def test_the_choice_follows_the_share_of_observed_entries():
    shape, size = (256, 256, 3), 256 * 256 * 3
    assert choose_layout(int(0.4 * size), CPContraction(shape, 300)) == "dense"
    assert choose_layout(int(0.01 * size), CPContraction(shape, 300)) == "sampled"
    assert choose_layout(5_000_000, CPContraction((1000, 1000, 1000), 16)) == "sampled"
    assert choose_layout(100, CPContraction((20, 20, 20), 5)) == "dense"  # not worth waiting for Numba


def test_the_choice_respects_memory():
    nnz, cp = 400_000, CPContraction((100, 100, 100), 10)
    need = {name: estimate_memory(nnz, cp, name) for name in LAYOUTS}
    assert choose_layout(nnz, cp) == "dense"
    assert need["sampled"] < need["dense"]
    assert choose_layout(nnz, cp, memory=need["dense"] - 1) == "sampled"
    assert choose_layout(nnz, cp, memory=1) == "sampled"


@everywhere
def test_costs_grow_with_the_work(layout):
    nnz, (small, large) = 10_000_000, [CPContraction((1000, 1000, 1000), rank) for rank in (10, 20)]
    assert estimate_time(2 * nnz, small, layout) > estimate_time(nnz, small, layout)
    assert estimate_time(nnz, large, layout) > estimate_time(nnz, small, layout)


@everywhere
def test_estimated_memory_covers_what_is_used(layout):
    shape, rank = (150, 140, 130), 20
    indices = pick(shape, 0.1).astype(np.int32)
    factors = [np.ones((size, rank), dtype=np.float32) for size in shape]
    cp = CPContraction(shape, rank)
    reference.pullback_all(make_layout(indices[:1], cp, layout), np.ones(1, dtype=np.float32), factors)
    peak = peak_memory(lambda: make_layout(indices, cp, layout).value_and_pullback(lambda a, b, x: (0.0, x), factors))
    assert peak < 1.5 * estimate_memory(len(indices), cp, layout)


def test_make_layout_by_name():
    indices, cp = pick((5, 6), 0.5), CPContraction((5, 6), 2)
    assert [type(make_layout(indices, cp, name)) for name in LAYOUTS] == [DenseLayout, SampledLayout]
    assert make_layout(indices, cp).name == "dense"
    with pytest.raises(ValueError, match=r"auto, dense, sampled; got 'sample'\. Did you mean 'sampled'"):
        make_layout(indices, cp, "sample")


def test_the_choice_does_not_import_numba():
    code = "import sys, tensorfill.kernels.choose; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
