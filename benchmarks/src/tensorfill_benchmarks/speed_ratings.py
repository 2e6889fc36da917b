"""Ratings beside what was written for them alone: time to the same held-out error, in one run.

Theirs are alternating least squares for a matrix in sixty lines of Numba, given the same start, and the packages cmfrec
(its own alternating least squares) and Surprise (stochastic gradients) where they are there. All have the same rank,
all but the last the same ridge. Seconds are processor time of one thread, so that a busy machine slows none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tensorfill.blocks.draw import Draw
from tensorfill.blocks.memory import MemoryPartitions, in_memory
from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import penalties
from tensorfill.numerical.continuous import Normal
from tensorfill.partitioned import Partitioned
from tensorfill.solvers.newton import Newton
from tensorfill_benchmarks.speed_rows import Row, at_most

Array = NDArray[Any]
Curve = list[tuple[float, float]]  # (seconds, held-out error) after every sweep
Rival = Callable[[MemoryPartitions, int], Curve]

NOISE, TRUE_RANK = 0.6, 10
RIDGE = 4.0  # of 1, 4 and 10 the one with the least held-out error, for ours and cmfrec alike, on 300,000 such ratings
SWEEPS = 25  # at most; a run ends when the last WAIT of them gained less than ENOUGH of the error
ENOUGH, WAIT = 1e-3, 4
SAME = 1.002  # errors that close are the same
THEIR_SWEEPS = (6, 12, 24, 48)  # of packages that show their answer at the end alone: a run for each


def measure(quick: bool, skipped: list[str]) -> Iterator[Row]:
    """Rows for speed.csv; what is not installed goes to `skipped` as a sentence."""
    rivals = (("cmfrec", "cmfrec", cmfrec_on), ("Surprise SVD", "surprise", surprise_on))
    skipped += [f"{name} is not installed: {INSTALL[module]}" for name, module, _ in rivals if not find_spec(module)]
    there = [(name, rival) for name, module, rival in rivals if find_spec(module)]
    if quick:
        yield from beside(30_000, (600, 300), 8, there)
        return
    yield from beside(1_000_000, (30_000, 6_000), 50, there)
    yield from beside(10_000_000, (100_000, 20_000), 50, there)


def beside(count: int, shape: tuple[int, int], rank: int, rivals: Sequence[tuple[str, Rival]]) -> Iterator[Row]:
    """So many ratings, on one thread."""
    parts = replace(ratings(count, shape, TRUE_RANK), threads=1)
    ours, title = ours_on(parts, rank), f"{count:,} ratings, rank {rank}: time to the same error"
    a, b = to_same(ours, single_purpose(parts, rank))
    yield at_most(f"{title} / ALS for that alone", 1.5, a / b, a, b)
    for name, rival in rivals:
        a, b = to_same(ours, rival(parts, rank))
        yield at_most(f"{title} / {name}", 1.0, a / b, a, b)


INSTALL = {"cmfrec": "pip install cmfrec (it is compiled on the way)", "surprise": "pip install ./benchmarks"}


def over(curve: Curve, wait: int = WAIT) -> bool:
    """Have the last sweeps gained next to nothing? The first ones may not either."""
    errors = [e for _, e in curve]
    return len(errors) > wait and not min(errors[-wait:]) < (1 - ENOUGH) * min(errors[:-wait])


def ratings(count: int, shape: tuple[int, int], true_rank: int, seed: int = 0) -> MemoryPartitions:
    """Synthetic ratings, a tenth (or 2^18) of them set aside."""
    rng = np.random.default_rng(seed)
    flat = np.unique(rng.integers(shape[0] * shape[1], size=int(1.2 * count)))
    flat = np.sort(rng.choice(flat, count, replace=False))
    where = np.stack(np.unravel_index(flat, shape), axis=1).astype(np.int32)
    A, B = (rng.normal(size=(n, true_rank)) / true_rank**0.25 for n in shape)
    t = np.empty(count, dtype=np.float32)
    for start in range(0, count, 2**20):
        part = where[start : start + 2**20]
        t[start : start + 2**20] = np.einsum("ir,ir->i", A[part[:, 0]], B[part[:, 1]])
    t += NOISE * rng.standard_normal(count, dtype=np.float32)
    return in_memory(Observations(shape, where, t), Draw(seed))


def start_of(parts: MemoryPartitions, rank: int) -> list[Array]:
    """The same for both sides."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=(n, rank)) / rank**0.25 for n in parts.shape]


def error(parts: MemoryPartitions, A: Array, B: Array) -> float:
    """Root mean square error on the entries set aside."""
    held = parts.held
    assert held is not None
    x = np.einsum("ir,ir->i", A[held.indices[:, 0]], B[held.indices[:, 1]])
    return float(np.sqrt(np.mean((x - held.values) ** 2)))


def ours_on(parts: MemoryPartitions, rank: int) -> Curve:
    """Newton over blocks: for Normal alternating least squares."""
    problem = Partitioned.on_blocks(
        parts, rank, prior=Normal(), interelement=penalties(2, {}, RIDGE), dtype=np.float64, quiet=True
    )
    solver, rng = Newton(), np.random.default_rng(0)
    solver.step(problem, solver.init(problem, start_of(parts, rank), rng), rng)  # compiled, sorted
    began = process_time()
    state = solver.init(problem, start_of(parts, rank), rng)
    out: Curve = []
    for _ in range(SWEEPS):
        state = solver.step(problem, state, rng)
        seconds = process_time() - began
        out.append((seconds, error(parts, *state.factors)))
        if over(out):
            break
        began += process_time() - began - seconds  # looking at it does not count
    return out


@njit(fastmath=True, cache=True)
def _half_sweep(starts: Array, others: Array, values: Array, B: Array, ridge: float, A: Array) -> None:
    """Every row of A by its own least squares, given B."""
    R = B.shape[1]
    for i in range(len(starts) - 1):
        G, h = np.zeros((R, R)), np.zeros(R)
        for e in range(starts[i], starts[i + 1]):
            b, t = others[e], values[e]
            for r in range(R):
                k = B[b, r]
                h[r] += t * k
                for s in range(r + 1):
                    G[r, s] += k * B[b, s]
        for r in range(R):
            G[r, r] += ridge
            for s in range(r):
                G[s, r] = G[r, s]
        A[i] = np.linalg.solve(G, h)


def single_purpose(parts: MemoryPartitions, rank: int) -> Curve:
    """What one writes for a matrix under squared loss, and for nothing else."""
    indices, values, _ = parts.copies[0]
    views = []
    for mode in (0, 1):
        order = np.argsort(indices[:, mode], kind="stable")
        starts = np.searchsorted(indices[order, mode], np.arange(parts.shape[mode] + 1))
        views.append((starts, indices[order, 1 - mode].copy(), values[order].astype(np.float64)))
    A, B = start_of(parts, rank)
    _half_sweep(*views[0], B, RIDGE, A.copy())  # compiled
    began, out = process_time(), []
    for _ in range(SWEEPS):
        _half_sweep(*views[0], B, RIDGE, A)
        _half_sweep(*views[1], A, RIDGE, B)
        seconds = process_time() - began
        out.append((seconds, error(parts, A, B)))
        if over(out):
            break
        began += process_time() - began - seconds
    return out


def cmfrec_on(parts: MemoryPartitions, rank: int) -> Curve:
    """Alternating least squares of cmfrec with its own settings (conjugate gradients), without main effects: these data
    have none.
    """
    from cmfrec import CMF
    from scipy.sparse import coo_matrix

    indices, values, _ = parts.copies[0]
    held = parts.held
    assert held is not None
    matrix = coo_matrix((values.astype(np.float64), (indices[:, 0], indices[:, 1])), shape=parts.shape)
    out: Curve = []
    for sweeps in THEIR_SWEEPS:
        model = CMF(k=rank, lambda_=RIDGE, niter=sweeps, user_bias=False, item_bias=False, nthreads=1, verbose=False)
        began = process_time()
        model.fit(matrix)
        seconds = process_time() - began
        got = model.predict(held.indices[:, 0], held.indices[:, 1])
        out.append((seconds, float(np.sqrt(np.mean((got - held.values) ** 2)))))
        if over(out, wait=1):  # twice as many each time
            break
    return out


def surprise_on(parts: MemoryPartitions, rank: int) -> Curve:
    """Surprise's SVD with its own settings, 20 epochs of stochastic gradients."""
    import pandas as pd
    from surprise import SVD, Dataset, Reader

    indices, values, _ = parts.copies[0]
    held = parts.held
    assert held is not None
    table = pd.DataFrame({"u": indices[:, 0], "i": indices[:, 1], "t": values})
    ends = Reader(rating_scale=(float(values.min()), float(values.max())))
    train = Dataset.load_from_df(table, ends).build_full_trainset()
    began = process_time()
    model = SVD(n_factors=rank, random_state=0).fit(train)
    seconds = process_time() - began
    some = slice(0, 20_000)  # its predictions are made one by one
    got = [model.predict(u, i).est for u, i in held.indices[some].tolist()]
    return [(seconds, float(np.sqrt(np.mean((np.array(got) - held.values[some]) ** 2))))]


def to_same(ours: Curve, theirs: Curve) -> tuple[float, float]:
    """Seconds of either to the error that both reach."""
    goal = SAME * max(min(e for _, e in ours), min(e for _, e in theirs))
    a, b = (next(s for s, e in curve if e <= goal) for curve in (ours, theirs))
    return a, b
