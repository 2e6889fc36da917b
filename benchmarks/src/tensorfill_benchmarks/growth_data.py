"""Data of any size for `bench growth`, written to Parquet a few rows at a time: counts around a positive CP model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.io.optional import attempt_import

Array = NDArray[Any]

ROWS = 2**20
TRUE_RANK = 4


def names(order: int) -> list[str]:
    """Columns of a table of so many modes."""
    return ["user", "item", "week", "shop", "hour"][:order]


def coordinates(count: int, shape: Sequence[int], start: int, stop: int) -> Array:
    """Rows start ... stop of `count` different coordinates, (n, N), all over the tensor: multiples of one number modulo
    the size, which has no factor in common with it.
    """
    size = math.prod(shape)
    step = min(int(0.6180339887 * size), (2**63 - 1) // max(count, 1)) | 1
    while math.gcd(step, size) > 1:
        step -= 2
    flat = (np.arange(start, stop, dtype=np.uint64) * np.uint64(step)) % np.uint64(size)
    return np.stack(np.unravel_index(flat.astype(np.int64), tuple(shape)), axis=1).astype(np.int32)


def factors(shape: Sequence[int], seed: int = 0) -> list[Array]:
    """Positive; along the third mode they change slowly."""
    rng = np.random.default_rng(seed)
    out = [rng.gamma(1.0, 1.0, (n, TRUE_RANK)) for n in shape]
    if len(shape) > 2:
        phase = 2 * np.pi * (np.arange(shape[2])[:, None] / shape[2] + rng.random(TRUE_RANK))
        out[2] = 1 + 0.8 * np.sin(phase)
    return out


def write(folder: Path, count: int, shape: Sequence[int], seed: int = 0) -> None:
    """`count` rows as Parquet files in `folder`."""
    pa = attempt_import("pyarrow", "bench growth", "pandas")
    parquet = attempt_import("pyarrow.parquet", "bench growth", "pandas")
    A, rng = factors(shape, seed), np.random.default_rng([seed, 1])
    for k, start in enumerate(range(0, count, ROWS)):
        where = coordinates(count, shape, start, min(start + ROWS, count))
        x = A[0][where[:, 0]]
        for n in range(1, len(shape)):
            x = x * A[n][where[:, n]]
        table = {d: where[:, n] for n, d in enumerate(names(len(shape)))}
        table["n"] = rng.poisson(x.sum(axis=1) / TRUE_RANK * 2).astype(np.int32)
        parquet.write_table(pa.table(table), folder / f"{k:04d}.parquet")
