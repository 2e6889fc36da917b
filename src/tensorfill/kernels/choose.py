"""Which layout: a cost model of one value-and-gradient evaluation, in time and in memory.

Design: both layouts give the same numbers, so the choice is only about speed. The constants are nanoseconds
measured in float32 on one thread of a 2.5 GHz AVX2 core; only their ratios matter, and those move little with
dtype and number of threads.
"""

from __future__ import annotations

import os
from math import expm1, prod

from tensorfill.kernels.base import Array, Layout
from tensorfill.kernels.contraction import Contraction
from tensorfill.kernels.dense import PRODUCT_ROWS, SLAB_ENTRIES, DenseLayout, choose_split
from tensorfill.kernels.sampled import BLOCK, SampledLayout
from tensorfill.registry import Registry, did_you_mean

LAYOUTS: Registry[Layout] = Registry("layout")
LAYOUTS.register("dense")(DenseLayout)
LAYOUTS.register("sampled")(SampledLayout)

STARTUP = 2e6  # ns: importing Numba takes about a second, spread over the few hundred evaluations of a run


def estimate_time(nnz: int, contraction: Contraction, layout: str) -> float:
    """Nanoseconds of one evaluation of all modes on one thread, without the prior."""
    size, prefixes = prod(contraction.shape), prod(contraction.shape[:-1])
    if layout == "dense":
        # per entry: three matrix products and passes over X; per observation: gather and scatter
        return size * (1.1 + 0.072 * contraction.costs()[0]) + 3.0 * nnz
    per_observation, per_fibre = contraction.times()
    fibres = -prefixes * expm1(-nnz / prefixes)  # how many are hit, were the observations spread evenly
    return STARTUP + nnz * per_observation + fibres * per_fibre


def estimate_memory(nnz: int, contraction: Contraction, layout: str, itemsize: int = 4) -> int:
    """Bytes that a layout keeps and needs at its peak besides the data and the prior's own (nnz,) vectors."""
    shape, columns = contraction.shape, max(columns for _, columns in contraction.shapes)
    factors = sum(shape) * columns * itemsize
    if layout == "dense":
        cols = prod(shape[choose_split(shape) :])
        slab = max(SLAB_ENTRIES, min(columns, PRODUCT_ROWS) * cols)
        right = 2 * cols * columns  # R and G_R
        return 8 * nnz + (3 * slab + right) * itemsize + factors
    threads = os.cpu_count() or 1
    return 4 * len(shape) * nnz + (1 + threads) * factors + 8 * threads * BLOCK * itemsize


def choose_layout(nnz: int, contraction: Contraction, memory: int | None = None) -> str:
    """Name of the faster layout among those that fit in `memory` bytes (default: half of what is installed)."""
    limit = installed_memory() // 2 if memory is None else memory
    fitting = [name for name in LAYOUTS if estimate_memory(nnz, contraction, name) <= limit]
    return min(fitting or ["sampled"], key=lambda name: estimate_time(nnz, contraction, name))


def installed_memory() -> int:
    """Bytes of physical memory; 8 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**33


def make_layout(indices: Array, contraction: Contraction, layout: str = "auto") -> Layout:
    """The layout `layout` ("auto", "dense" or "sampled") of observations at `indices` (nnz, N), in C order."""
    if layout not in ("auto", *LAYOUTS):
        names = ["auto", *LAYOUTS]
        msg = f"layout must be one of {', '.join(names)}; got {layout!r}.{did_you_mean(layout, names)}"
        raise ValueError(msg)
    name = choose_layout(len(indices), contraction) if layout == "auto" else layout
    return LAYOUTS[name](indices, contraction)  # type: ignore[call-arg]  # of the concrete layouts
