"""Speed of the models besides CP: against the bare matrix products of each, and against loops written for it alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.kernels.compiled import compiled
from tensorfill.models import MODELS
from tensorfill.numerical.continuous import Normal
from tensorfill.problem import Problem
from tensorfill_benchmarks.speed_rows import Row, at_most, side_by_side

Array = NDArray[Any]


def problem_of(model: str, shape: Sequence[int], rank: Any, flat: Array, layout: str) -> tuple[Problem, list[Array]]:
    """Standard normal numbers at the entries `flat`, and random parameters; all float32."""
    rng = np.random.default_rng(1)
    indices = np.stack(np.unravel_index(flat, tuple(shape)), axis=1).astype(np.int32)
    obs = Observations(tuple(shape), indices, rng.standard_normal(len(flat), dtype=np.float32))
    problem = Problem(obs, rank=rank, prior=Normal(), model=model, layout=layout, quiet=True)
    return problem, [0.3 * rng.standard_normal(s, dtype=np.float32) for s in MODELS[model].shapes(shape, rank)]


# --- bare matrix products --------------------------------------------------------------------------------------------


def products(sizes: Sequence[tuple[int, int, int]]) -> Callable[[], Any]:
    """Matrix products (rows, inner, cols) of random numbers, every operand laid out at its best."""
    rng = np.random.default_rng(0)
    pairs = []
    for rows, inner, cols in sizes:
        A = rng.random((rows, inner), dtype=np.float32)
        B = rng.random((inner, cols), dtype=np.float32)
        pairs.append((A, B, np.empty((rows, cols), dtype=np.float32)))
    return lambda: [np.matmul(A, B, out=C) for A, B, C in pairs]


def there_and_back(rows: int, inner: int, cols: int) -> list[tuple[int, int, int]]:
    """X = L R', and of its gradient Y those of both: Y R and Y' L."""
    return [(rows, inner, cols), (rows, cols, inner), (cols, rows, inner)]


def bare_train(shape: Sequence[int], r: Sequence[int]) -> Callable[[], Any]:
    """X = G_1 (G_2 G_3) or (G_1 G_2) G_3, whichever takes fewer steps, and the way back."""
    i, j, k = shape
    after_first = there_and_back(i, r[0], j * k) + there_and_back(r[0] * j, r[1], k)
    before_last = there_and_back(i * j, r[1], k) + there_and_back(i, r[0], j * r[1])
    return products(min((after_first, before_last), key=lambda ways: sum(a * b * c for a, b, c in ways)))


def bare_tucker(shape: Sequence[int], R: Sequence[int]) -> Callable[[], Any]:
    """The core times the factors one by one, the first or the last mode at the end, and the way back."""
    i, j, k = shape
    after_first = (
        there_and_back(i, R[0], j * k) + there_and_back(j, R[1], k * R[0]) + there_and_back(k, R[2], R[1] * R[0])
    )
    before_last = (
        there_and_back(i * j, R[2], k) + there_and_back(i, R[0], j * R[2]) + there_and_back(j, R[1], R[0] * R[2])
    )
    return products(min((after_first, before_last), key=lambda ways: sum(a * b * c for a, b, c in ways)))


# --- loops for one model, three modes and least squares alone --------------------------------------------------------


jit = compiled(fastmath={"reassoc", "contract", "nsz"})


@jit
def train(A, B, C, indices, t, G_A, G_B, G_C):
    """Of a tensor train."""
    value, p, q = 0.0, A.shape[1], C.shape[1]
    u, v = np.empty(p, A.dtype), np.empty(q, A.dtype)
    for n in range(len(t)):
        i, j, k = indices[n, 0], indices[n, 1], indices[n, 2]
        v[:] = 0
        for a in range(p):
            for b in range(q):
                v[b] += A[i, a] * B[j, a * q + b]
        x = A.dtype.type(0)
        for b in range(q):
            x += v[b] * C[k, b]
        g = x - t[n]
        value += 0.5 * g * g
        for a in range(p):
            u[a] = 0
            for b in range(q):
                u[a] += B[j, a * q + b] * C[k, b]
                G_B[j, a * q + b] += g * A[i, a] * C[k, b]
        for a in range(p):
            G_A[i, a] += g * u[a]
        for b in range(q):
            G_C[k, b] += g * v[b]
    return value


@jit
def tucker(A, B, C, core, indices, t, G_A, G_B, G_C, G_core):
    """Of a Tucker model."""
    value, p, q, s = 0.0, A.shape[1], B.shape[1], C.shape[1]
    v, w = np.empty(s, A.dtype), np.empty(q * s, A.dtype)
    for n in range(len(t)):
        i, j, k = indices[n, 0], indices[n, 1], indices[n, 2]
        w[:] = 0
        for a in range(p):
            for m in range(q * s):
                w[m] += A[i, a] * core[a, m]
        v[:] = 0
        for b in range(q):
            for c in range(s):
                v[c] += B[j, b] * w[b * s + c]
        x = A.dtype.type(0)
        for c in range(s):
            x += v[c] * C[k, c]
        g = x - t[n]
        value += 0.5 * g * g
        for c in range(s):
            G_C[k, c] += g * v[c]
        for b in range(q):
            total = A.dtype.type(0)
            for c in range(s):
                total += w[b * s + c] * C[k, c]
            G_B[j, b] += g * total
        for b in range(q):
            for c in range(s):
                w[b * s + c] = g * B[j, b] * C[k, c]
        for a in range(p):
            total = A.dtype.type(0)
            for m in range(q * s):
                total += core[a, m] * w[m]
                G_core[a, m] += A[i, a] * w[m]
            G_A[i, a] += total
    return value


# loss and gradient in one pass over the observations: {model: function}
SINGLE_PURPOSE: dict[str, Callable[..., float]] = {"tt": train, "tucker": tucker}


def by_one_loop(
    function: Callable[..., float], problem: Problem, factors: Sequence[Array]
) -> tuple[float, list[Array]]:
    """Value and gradient by a loop of `SINGLE_PURPOSE`."""
    G = [np.zeros_like(A) for A in factors]
    return function(*factors, problem.observations.indices, problem.t, *G), G


def measure(quick: bool) -> list[Row]:
    """A spectral cube of the size of Indian Pines with 70 % missing, against its matrix products; a sparse tensor, on
    one thread, against loops of its own.
    """
    shape, side, nnz, repeats = ((20, 20, 24), 40, 4_000, 2) if quick else ((145, 145, 200), 500, 400_000, 15)
    rng = np.random.default_rng(0)
    cube = np.flatnonzero(rng.random(np.prod(shape)) < 0.3)
    few = np.unique(rng.integers(0, side**3, size=nnz))
    alone, rows = SINGLE_PURPOSE, []
    for model, ranks, bare in (("tt", (20, 20), bare_train), ("tucker", (20, 20, 20), bare_tucker)):
        problem, factors = problem_of(model, shape, ranks, cube, "dense")
        evaluate = partial(problem.value_and_grad, factors)
        ours, theirs = side_by_side([evaluate, bare(shape, ranks)], repeats)
        rows.append(at_most(f"{model}: value and gradient vs bare products", 2.0, ours / theirs, ours, theirs))
    for model, small in (("tt", (6, 6)), ("tucker", (5, 5, 5))):
        problem, factors = problem_of(model, (side,) * 3, small, few, "sampled")
        problem.kernel.threads = 1  # type: ignore[attr-defined]  # the sampled layout
        loop = partial(by_one_loop, alone[model], problem, factors)
        ours, theirs = side_by_side([partial(problem.value_and_grad, factors), loop], repeats)
        rows.append(at_most(f"{model}: sampled vs a loop for it alone", 2.0, ours / theirs, ours, theirs))
    return rows
