"""The speed figures, as ratios measured side by side in one run: only ratios survive a change of machine.

Every figure goes to speed.csv. `ratio` is seconds / reference_seconds where the target is an upper limit, and the
other way round (a speed-up) where it is a lower one; figures without a reference are compared by themselves.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.io.atomic import replace_file
from tensorfill.methods.arrays import ArrayMethod, Dense
from tensorfill.methods.classical.halrtc import HaLRTC
from tensorfill.methods.classical.thresholding import flatten, gram
from tensorfill.methods.classical.tsvd import TSVD
from tensorfill.numerical.discrete import Poisson
from tensorfill.problem import Problem
from tensorfill.solvers.base import State
from tensorfill_benchmarks.speed_rows import Row, at_least, at_most, side_by_side

Array = NDArray[Any]


def run(out_dir: str | Path, quick: bool = False, skipped: list[str] | None = None) -> list[Row]:
    """Measure everything, write out_dir/speed.csv, return its rows; `quick`: small sizes, to see that it works.

    What is not installed is left out, with a sentence in `skipped`.
    """
    from tensorfill_benchmarks import speed_fused, speed_models, speed_peers, speed_ratings  # these import Numba

    skipped = [] if skipped is None else skipped
    rows = [*picture(quick), *sparse(quick), *speed_models.measure(quick), *decompositions(quick), *start_up(quick)]
    rows += [*speed_fused.measure(quick), *speed_peers.measure(quick, skipped), *speed_ratings.measure(quick, skipped)]
    target = Path(out_dir) / "speed.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(target, "w") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in asdict(row).items()} for row in rows)
    return rows


def poisson_problem(shape: Sequence[int], flat: Array, rank: int, mean: float) -> tuple[Problem, list[Array]]:
    """Counts around `mean` at the entries `flat`, and positive factors whose model has that mean; all float32."""
    rng = np.random.default_rng(1)
    indices = np.stack(np.unravel_index(flat, tuple(shape)), axis=1).astype(np.int32)
    obs = Observations(tuple(shape), indices, rng.poisson(mean, len(flat)).astype(np.float32))
    scale = (mean / rank) ** (1 / len(shape))
    factors = [(scale * rng.uniform(0.5, 1.5, (size, rank))).astype(np.float32) for size in shape]
    return Problem(obs, rank=rank, prior=Poisson(), quiet=True), factors


def picture(quick: bool) -> list[Row]:
    """A colour picture with 60 % missing at rank 300, against its three matrix products alone."""
    shape, rank = ((64, 64, 3), 60) if quick else ((256, 256, 3), 300)
    rng = np.random.default_rng(0)
    flat = np.flatnonzero(rng.random(np.prod(shape)) < 0.4)
    problem, factors = poisson_problem(shape, flat, rank, mean=100.0)
    rows, cols = shape[0], shape[1] * shape[2]
    # the products, with every operand laid out at its best: X = A B', G_A = Y B, G_B = Y' A
    A, B, Y = (rng.random(size, dtype=np.float32) for size in ((rows, rank), (cols, rank), (rows, cols)))
    B_t, Y_t = np.ascontiguousarray(B.T), np.ascontiguousarray(Y.T)
    ours, bare = side_by_side(
        [lambda: problem.value_and_grad(factors), lambda: (A @ B_t, Y @ B, Y_t @ A)], repeats=5 if quick else 200
    )
    return [
        at_most(f"picture: value and gradient vs bare products ({problem.kernel.name})", 1.5, ours / bare, ours, bare)
    ]


def sparse(quick: bool) -> list[Row]:
    """1000 x 1000 x 1000 with 5 million observed at rank 16, against NumPy."""
    side, nnz, rank = (50, 20_000, 4) if quick else (1000, 5_000_000, 16)
    rng = np.random.default_rng(0)
    flat = np.unique(rng.integers(0, side**3, size=nnz))
    problem, factors = poisson_problem((side,) * 3, flat, rank, mean=3.0)
    t = problem.observations.values
    columns = [np.ascontiguousarray(column, dtype=np.intp) for column in problem.observations.indices.T]

    def numpy_on(part: slice, scatter: Scatter, block: int) -> Callable[[], Any]:
        return lambda: numpy_value_and_grad(t[part], [column[part] for column in columns], factors, scatter, block)

    candidates = [(scatter, block) for scatter in SCATTERS for block in (2**15, len(t))]
    trial = side_by_side([numpy_on(slice(len(t) // 20), *choice) for choice in candidates], repeats=1)
    best = candidates[int(np.argmin(trial))]
    ours, plain = side_by_side(
        [lambda: problem.value_and_grad(factors), numpy_on(slice(None), *best)], repeats=1 if quick else 5
    )
    name = f"{best[0].__name__}, {'whole' if best[1] == len(t) else 'in blocks'}"
    peak = peak_memory(lambda: problem.value_and_grad(factors))
    needed = sum(A.nbytes for A in factors) + t.nbytes
    return [
        at_least(f"sparse: speed-up over NumPy ({name})", 6.0, plain / ours, ours, plain),
        at_most("sparse: peak memory / (factors + one value per observation)", 3.0, peak / needed),
    ]


def peak_memory(function: Callable[[], Any]) -> int:
    """Bytes allocated at the peak of a call, beyond what was there before."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- what a good engineer would write in NumPy alone -----------------------------------------------------------------

Scatter = Callable[[Array, Array, int], Array]


def add_at(W: Array, rows: Array, length: int) -> Array:
    """Sum the rows of W (nnz, R) that belong to the same row of G (length, R): by ufunc.at."""
    G = np.zeros((length, W.shape[1]), dtype=W.dtype)
    np.add.at(G, rows, W)
    return G


def flat_add_at(W: Array, rows: Array, length: int) -> Array:
    """The same on single numbers, for which ufunc.at has a fast path."""
    R = W.shape[1]
    G = np.zeros(length * R, dtype=W.dtype)
    np.add.at(G, (rows[:, None] * R + np.arange(R)).reshape(-1), W.reshape(-1))
    return G.reshape(length, R)


def bincount(W: Array, rows: Array, length: int) -> Array:
    """The same column by column."""
    return np.stack([np.bincount(rows, w, length) for w in W.T], axis=1).astype(W.dtype)


def flat_bincount(W: Array, rows: Array, length: int) -> Array:
    """The same in one call."""
    R = W.shape[1]
    where = (rows[:, None] * R + np.arange(R)).reshape(-1)
    return np.bincount(where, W.reshape(-1), length * R).reshape(length, R).astype(W.dtype)


SCATTERS: tuple[Scatter, ...] = (add_at, flat_add_at, bincount, flat_bincount)


def numpy_value_and_grad(
    t: Array, columns: Sequence[Array], factors: Sequence[Array], scatter: Scatter, block: int
) -> tuple[float, list[Array]]:
    """Poisson loss and gradient of a three-way CP model at the observed entries, `block` of them at a time."""
    value, total = 0.0, [np.zeros_like(A) for A in factors]
    for start in range(0, len(t), block):
        i, j, k = (column[start : start + block] for column in columns)
        part = t[start : start + block]
        a, b, c = factors[0][i], factors[1][j], factors[2][k]
        ab = a * b
        x = np.einsum("ir,ir->i", ab, c)
        value += float((x - part * np.log(x)).sum(dtype=np.float64))
        g = (1 - part / x)[:, None]
        c *= g
        for G, W, rows in zip(total, (b * c, a * c, ab * g), (i, j, k), strict=True):
            G += scatter(W, rows, len(G))
    return value, total


# --- baselines -------------------------------------------------------------------------------------------------------


def decompositions(quick: bool) -> list[Row]:
    """One iteration of HaLRTC and of t-SVD on a picture, against the decompositions alone that it cannot avoid."""
    side, reached = (48, 10) if quick else (256, 60)
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:side, 0:side] / side
    waves = [np.sin(9 * x + k) * np.cos(7 * y - k) + np.sin(30 * x * y + k) for k in range(3)]
    truth = 128 + 50 * np.stack(waves, axis=2) + 8 * rng.standard_normal((side, side, 3))
    rows = []
    for missing in (0.6, 0.9):
        seen = rng.random(truth.shape) >= missing
        data = Dense(truth / 255 * seen, seen)
        for method, matrices, decompose, what in DECOMPOSED:
            state = state_after(method, data, reached)
            step = partial(method.step, data, state, rng)
            alone = partial(each, decompose, [np.ascontiguousarray(M) for M in matrices(state)])
            ours, bare = side_by_side([step, alone], repeats=3 if quick else 30)
            name = f"{method.name}, {missing:.0%} missing: iteration vs bare {what}"
            rows.append(at_most(name, 1.5, ours / bare, ours, bare))
    return rows


def state_after(method: ArrayMethod, data: Dense, reached: int) -> State:
    """Where the method is after `reached` iterations."""
    rng = np.random.default_rng(0)
    state = method.start(data, rng)
    for _ in range(reached):
        state = method.step(data, state, rng)
    return state


def each(function: Callable[[Array], Any], matrices: Sequence[Array]) -> list[Any]:
    """The function of every matrix."""
    return [function(M) for M in matrices]


def unfoldings(state: State) -> list[Array]:
    """What HaLRTC decomposes."""
    E, D = state.arrays["E"], state.arrays["D"]
    return [(V := flatten(E, n)) + D[n].reshape(V.shape) for n in range(E.ndim)]


def slices(state: State) -> list[Array]:
    """What t-SVD decomposes, or much alike: the half of the Fourier slices that the others mirror."""
    return list(np.moveaxis(np.fft.rfft(state.arrays["X"], axis=2), 2, 0))


DECOMPOSED: tuple[tuple[ArrayMethod, Callable[[State], list[Array]], Callable[[Array], Any], str], ...] = (
    (HaLRTC(), unfoldings, partial(np.linalg.svd, full_matrices=False), "SVDs of the unfoldings M"),
    (HaLRTC(), unfoldings, lambda M: np.linalg.eigh(gram(M)), "eigen-decompositions of M M'"),
    (TSVD(), slices, np.linalg.svd, "SVDs of the slices"),
)


# --- starting up -----------------------------------------------------------------------------------------------------

IMPORT = """
from time import perf_counter
start = perf_counter()
import tensorfill
print(perf_counter() - start)
"""

FIRST_FIT = """
from time import perf_counter
import numpy as np
import tensorfill as tfl
rng = np.random.default_rng(0)
indices = np.argwhere(rng.random((60, 50, 40)) < 0.1)
obs = tfl.Observations.from_coo(indices, rng.poisson(5.0, len(indices)).astype(np.float32), (60, 50, 40))
problem = tfl.Problem(obs, rank=5, prior="poisson", layout="sampled")
seconds = []
for _ in range(2):
    start = perf_counter()
    tfl.solve(problem, tfl.Adam(), seed=0, stopping=tfl.Stopping(max_iter=20))
    seconds.append(perf_counter() - start)
print(seconds[0] - seconds[1])
"""


def in_fresh_process(code: str) -> float:
    """The number that `code` prints, run by a new interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def start_up(quick: bool) -> list[Row]:
    """What a user waits for once per process; the best of a few, as waiting for other programs is not ours."""
    importing = min(in_fresh_process(IMPORT) for _ in range(1 if quick else 7))
    in_fresh_process(FIRST_FIT)  # fills the cache of compiled code, where it is not there yet
    fitting = min(in_fresh_process(FIRST_FIT) for _ in range(1 if quick else 5))
    return [
        at_most("import tensorfill, seconds", 0.5, importing, importing),
        at_most("first fit in a process, added seconds", 1.0, fitting, fitting),
    ]
