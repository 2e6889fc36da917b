"""The estimate of a tensor too large to be held, as a Dask array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.io.optional import attempt_import
from tensorfill.models import CP
from tensorfill.result.answer import Factors
from tensorfill.result.packing import Answer
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion


CHUNK = 2**22  # entries of a chunk, about, if `chunks` is not given


def part_of(answer: Answer, ranges: Sequence[tuple[int, int]]) -> Array:
    """The estimate in a box, `ranges` = [(start, stop)] along each mode: an array of shape (stop - start, ...)."""
    if isinstance(answer, Factors) and isinstance(answer.model, CP) and answer.prior.uniform:
        cut = CP([np.asarray(A)[a:b] for A, (a, b) in zip(answer.model.factors, ranges, strict=True)])
        X = answer.prior.mean(cut.full())
        return X if answer.units is None else answer.units.part(*ranges[answer.units.mode]).inverse_transform(X)
    grid = np.meshgrid(*(np.arange(a, b) for a, b in ranges), indexing="ij")
    return answer.at(np.stack([g.ravel() for g in grid], axis=1)).reshape(grid[0].shape)


def to_dask(done: Completion, chunks: Any) -> Any:
    """See `Completion.to_dask`."""
    da = attempt_import("dask.array", "an answer as a Dask array", "dask")
    shape = done.observations.shape
    cut = da.core.normalize_chunks(_chunks(shape) if chunks is None else chunks, shape, dtype=np.float64)
    answer = done.answer

    def make(block_info: Any = None) -> Array:
        return part_of(answer, block_info[None]["array-location"])

    return da.map_blocks(make, chunks=cut, dtype=np.float64, meta=np.empty((0,) * len(shape)))


def _chunks(shape: Sequence[int]) -> tuple[int, ...]:
    """Chunks of about CHUNK entries, the last modes whole for as long as they fit."""
    left, out = CHUNK, []
    for n in reversed(shape):
        out.append(max(1, min(n, left)))
        left //= out[-1]
    return tuple(reversed(out))
