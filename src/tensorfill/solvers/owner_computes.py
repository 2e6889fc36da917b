"""Second-order sweeps where the factor of the longest mode stays with its blocks: only those of short modes are sent.

There is one copy of the observations, along the longest mode. Its rows are solved where they are kept. Of every other
mode each block sends the normal equations that its own observations give, which are added up and solved on the client:
R (R + 3) / 2 numbers for a row, some rows at a time. Steps are those of `blockrows`, to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.blocks import Block
from tensorfill.blocks.base import Sized
from tensorfill.blocks.placed import Placed
from tensorfill.kernels.loops import gibbs
from tensorfill.partitioned import Partitioned, place_factor
from tensorfill.solvers.balance import balance_scales, may_rescale
from tensorfill.solvers.base import made_once
from tensorfill.solvers.blockpiece import PIECE, BlockPiece, Owned, Rule, solve_block, solve_rows
from tensorfill.solvers.blockrows import BlockRows
from tensorfill.solvers.curvature import FLAT, curvature
from tensorfill.solvers.rows import row_couplings
from tensorfill.solvers.rowsystems import damp_steps, solve_tied
from tensorfill.solvers.threads import available_threads, in_threads, row_shares
from tensorfill.typing import Array

AT_ONCE = 2**25  # numbers of normal equations that a block holds, 256 MB: beyond, some rows after the others


@dataclass(frozen=True, eq=False)
class Short(Sized):
    """What a block needs for its part in the equations of the rows first ... last of another mode than its own.

    `ridge` is the penalty on the rows that the block keeps; D (I_n, R) are the steps of the rows of `mode` that are
    tried, and step (I_n,) their lengths, if any.
    """

    rule: Rule
    ridge: float
    mode: int
    first: int = 0
    last: int = 0
    D: Array | None = None
    step: Array | None = None

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.rule.__sizeof__()


def solve_kept(block: Block, shared: Short, own: Sequence[Array]) -> tuple[None, Array]:
    """(nothing, the new rows of the block, which stay)."""
    return solve_block(block, shared.rule, _make_owned(shared, own))


def _make_owned(shared: Short, own: Sequence[Array]) -> Owned:
    A, at = own[0], own[1] if len(own) > 1 else None
    return Owned(A, at, np.full(len(A), shared.ridge))


def part_of_systems(block: Block, shared: Short, own: Sequence[Array]) -> tuple[list[Array], None]:
    """([G (rows, R (R + 1) / 2), lower triangles, h (rows, R)] by the block's observations, nothing)."""
    piece = BlockPiece(block, shared.rule, _make_owned(shared, own))
    places, z, c = piece.whole()
    order = np.argsort(block.indices[:, shared.mode], kind="stable").astype(np.int32)
    starts = np.searchsorted(block.indices[order, shared.mode], np.arange(shared.first, shared.last + 1))
    others = np.ascontiguousarray(np.delete(places, shared.mode, axis=1)[order])
    rows, R = shared.last - shared.first, piece.F.shape[1]
    lower = np.tril_indices(R)
    packed, h = np.empty((rows, len(lower[0]))), np.empty((rows, R))

    def work(a: int, b: int) -> None:
        most = max(1, PIECE * 8 // R**2)
        for first in range(a, b, most):
            last = min(first + most, b)
            G = np.empty((last - first, R, R))
            gibbs.systems(piece.F, piece.nothing, others, order, starts[first : last + 1], z, c, G, h[first:last])
            packed[first:last] = G[:, *lower]

    count = available_threads() if shared.rule.threads is None else shared.rule.threads
    in_threads(work, row_shares(starts, max(1, min(count, rows, len(z) * R // 2**14))))
    return [packed, h], None


def cost_of_rows(block: Block, shared: Short, own: Sequence[Array]) -> tuple[Array, None]:
    """(loss of the block's observations for every row of a short mode, a step along D, nothing): (I_n,)."""
    piece = BlockPiece(block, shared.rule, _make_owned(shared, own))
    assert shared.D is not None
    assert shared.step is not None
    first = int(piece.first[shared.mode])
    along = piece.F.copy()
    along[first : first + len(shared.D)] = shared.D
    row, total = block.indices[:, shared.mode], np.zeros(len(shared.D))
    for start in range(0, len(row), PIECE):
        part = slice(start, min(start + PIECE, len(row)))
        places = piece.places(part)
        x = piece.predict(piece.F, places) + shared.step[row[part]] * piece.predict(along, places)
        t, w = piece.data(part)
        nll = shared.rule.prior.nll(t, x)
        total += np.bincount(row[part], nll if w is None else nll * w, minlength=len(total))
    return total, None


@dataclass(frozen=True, eq=False)
class KeptRows(BlockRows):
    """The sweeps of a problem whose longest factor is kept with its blocks."""

    def _wide(self, problem: Partitioned, factors: Sequence[Array]) -> list[Array]:
        main = problem.partitions.main
        return [
            place_factor(problem, a).astype(np.float64) if n == main else np.asarray(a, dtype=np.float64)  # type: ignore[misc]
            for n, a in enumerate(factors)
        ]

    def _solve(self, problem: Partitioned, A: Sequence[Any], at: Sequence[Any] | None, n: int, *, damped: bool) -> Any:
        p, main = problem.partitions, problem.partitions.main
        if n == main:
            rule = self._rule(problem, A, at, main, damped=damped)
            return A[main].map_rows(solve_kept, Short(rule, problem.ridge, main), *([] if at is None else [at[main]]))
        ties, shape = self.ties[n], A[n].shape
        rule = self._rule(problem, A, at, main, damped=False)
        own = _parts(A, at, main)
        R, most = shape[1], max(1, AT_ONCE // shape[1] ** 2)
        if not ties.apart:
            return solve_tied(ties, *self._systems(problem, rule, n, 0, shape[0], own), A[n])
        new = np.empty(shape)
        for first in range(0, shape[0], most):
            last = min(first + most, shape[0])
            G, h = self._systems(problem, rule, n, first, last, own)
            solve_rows(ties, G, h, slice(first, last), A[n], new, max(1, min(p.threads or 1, len(G) * R**3 // 2**20)))
        return self._damp(problem, rule, n, A, own, new) if damped else new

    def _systems(
        self, problem: Partitioned, rule: Rule, n: int, first: int, last: int, own: Sequence[Any]
    ) -> tuple[Array, Array]:
        p = problem.partitions
        (packed, h), _ = p.gather(part_of_systems, Short(rule, problem.ridge, n, first, last), p.main, own)
        R = h.shape[1]
        G = np.zeros((len(h), R, R))
        G[:, *np.tril_indices(R)] = packed
        return G, np.array(h)

    def _damp(
        self, problem: Partitioned, rule: Rule, n: int, A: Sequence[Any], own: Sequence[Any], new: Array
    ) -> Array:
        """Rows on the way to `new` whose own objective does not rise, as `blockrows` finds them."""
        p, D, q = problem.partitions, new - A[n], self.ties[n].diagonal

        def cost(step: Array) -> Array:
            shared = Short(rule, problem.ridge, n, D=D, step=step)
            data, _ = p.gather(cost_of_rows, shared, p.main, own)
            B = A[n] + step[:, None] * D
            return data + 0.5 * q * np.einsum("ir,ir->i", B, B)

        return A[n] + damp_steps(cost, len(D))[:, None] * D

    def _balance(self, problem: Partitioned, A: Sequence[Any]) -> list[Array]:
        main = problem.partitions.main
        if not may_rescale(self.ties):
            y = np.ones((len(A), A[main].columns))
        else:
            q = [
                0.5 * (problem.ridge * a.squares() if n == main else np.einsum("ir,ir->r", a, self.ties[n].Q @ a))
                for n, a in enumerate(A)
            ]
            y = balance_scales(np.array(q), np.zeros((len(A), len(q[0]))))
        even = [(a * scale).astype(problem.dtype) for a, scale in zip(A, y, strict=True)]
        even[main] = even[main].secure()
        return even


def _parts(A: Sequence[Any], at: Sequence[Any] | None, main: int) -> list[tuple[Any, ...]]:
    """Of every block its rows as they are, and where the data term is expanded if that is elsewhere."""
    far: list[Placed] = [A[main]] if at is None else [A[main], at[main]]
    return list(zip(*(f.parts for f in far), strict=True))


@made_once
def block_rows(problem: Partitioned) -> BlockRows:
    """The sweeps of this problem."""
    return (KeptRows if problem.kept else BlockRows)(row_couplings(problem), _flat(problem))


def _flat(problem: Partitioned) -> float:
    """A share of the curvature of the sample at its mean: no entry has less."""
    t = problem.observations.values.astype(np.float64)
    with np.errstate(all="ignore"):
        x = np.full(len(t), problem.prior.start(float(t.mean())))
        c = float(np.mean(curvature(problem.prior, t, x, problem.prior.grad(t, x))))
    return FLAT * c if np.isfinite(c) and c > 0 else FLAT
