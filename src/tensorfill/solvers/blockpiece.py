"""What a block does in a second-order sweep: its rows are solved where their observations are stored.

A block is sent the rows that it owns and the factors of all other modes, and sends the new rows back; where an
inter-element prior ties rows together, their normal equations. Threads own ranges of rows, and go through them in
pieces that stay in a core's cache: predict, expand, equations, solution.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.blocks import Block
from tensorfill.blocks.base import Sized, cut_rows
from tensorfill.kernels.loops import conjugate, gibbs, newton
from tensorfill.numerical.base import NumericalPrior
from tensorfill.solvers.curvature import curvature
from tensorfill.solvers.entries import SLAB
from tensorfill.solvers.rowsystems import RowTerms, damp_steps, solve_apart
from tensorfill.solvers.threads import available_threads, in_threads, row_shares
from tensorfill.typing import Array

PIECE = 2**15  # observations at a time: what is computed of them stays in a core's cache
# Share of the rank below which a row's observations are so few that a system of their number is cheaper than one of the
# rank: at rank 32 rows of 10 are solved for in a fifth of the time, of 24 in two thirds.
FEW = 0.75
# From this rank on rows are not set at their minimum but led towards it, by so many steps of conjugate gradients from
# where they are: R operations for an observation and step instead of R^2. Sweeps lead as far, in half of the time. 10^6
# ratings at rank 50, error after 8 sweeps: .8828 with 2 steps, .8835 with 3, .8832 with 4, .8833 with 6 and exactly.
# Fits to 2 10^6 ratings, counts, and yes or no at rank 32, held-out loss: .203, .2209, .5302 with 4 steps; exactly .205
# and the same.
STEPS, STEPS_FROM = 4, 32


@dataclass(frozen=True, eq=False)
class Rule(Sized):
    """What a block needs to know to solve for its rows.

    Attributes
    ----------
    factors, at : of all modes but the block's (None there): those of now, and those at which the data term is expanded
    ties : of the block's mode; Q is left behind where rows are apart
    flat : the least curvature of an entry
    damped : shorten every row's step until its objective does not rise?
    """

    prior: NumericalPrior
    shape: tuple[int, ...]
    factors: Sequence[Array | None]
    at: Sequence[Array | None] | None
    low: float
    high: float
    tied: bool
    damped: bool
    flat: float
    shift: float
    spread: float
    threads: int | None


@dataclass(frozen=True, eq=False)
class Owned(Sized):
    """Rows of a block: as they are now, where the data term is expanded (None: there), and the diagonal of Q."""

    A: Array
    at: Array | None
    q: Array


def solve_block(block: Block, rule: Rule, own: Owned) -> tuple[None, Any]:
    """(nothing, the new rows), or (nothing, (G, h)) where rows are tied."""
    rows, R = own.A.shape
    # copies: arrays that were sent are read-only, for which the loops would be compiled a second time
    own = Owned(np.array(own.A), own.at, np.array(own.q))
    piece = BlockPiece(block, rule, own)
    if rule.tied:
        G, h = np.empty((rows, R, R)), np.empty((rows, R))
    else:
        out = np.empty((rows, R))

    def work(first: int, last: int) -> None:
        counts = np.diff(block.starts[first : last + 1])
        most = max(1, SLAB // R**2)
        edges = [first + e for e in cut_rows(counts, PIECE)]
        for a0, b0 in itertools.pairwise(edges):
            for a in range(a0, b0, most):
                b = min(a + most, b0)
                if rule.tied:
                    piece.systems(a, b, G[a:b], h[a:b])
                else:
                    piece.solve(a, b, out)

    count = available_threads() if rule.threads is None else rule.threads
    with np.errstate(all="ignore"):  # a sweep gone wrong is not taken
        in_threads(work, row_shares(block.starts, max(1, min(count, rows, len(block.values) * R // 2**14))))
    return (None, (G, h)) if rule.tied else (None, out)


class BlockPiece:
    """The rows a ... b of a block, one piece after the other."""

    def __init__(self, block: Block, rule: Rule, own: Owned) -> None:
        self.block, self.rule, self.own = block, rule, own
        n, shape = block.mode, list(rule.shape)
        shape[n] = len(own.A)
        self.first = np.concatenate([[0], np.cumsum(shape)])[:-1].astype(np.int64)
        self.others = [m for m in range(len(shape)) if m != n]
        self.F = _stack(rule.factors, own.A)
        self.F_at = self.F if rule.at is None or own.at is None else _stack(rule.at, own.at)
        self.quadratic = rule.prior.location and rule.prior.canonical  # then z = t, whatever x
        self.along = self.F.copy() if rule.damped and not rule.tied else self.F
        self.nothing = np.empty((len(self.F), 0))

    def data(self, part: slice) -> tuple[Array, Array | None]:
        """(values in the unit of the fit, weights or None) of some observations, (n,) each."""
        t = (self.block.values[part].astype(np.float64) - self.rule.shift) / self.rule.spread
        return t, None if self.block.weights is None else self.block.weights[part]

    def places(self, part: slice) -> Array:
        """Rows of the stack, (n, N)."""
        return self.block.indices[part] + self.first

    def _expand(self, places: Array, part: slice) -> tuple[Array, Array]:
        """z and c of the quadratic model sum c/2 (z - x)^2 at some observations, (n,) each."""
        t, w = self.data(part)
        prior = self.rule.prior
        if self.quadratic:
            one = np.zeros(1)
            c = np.full(len(t), float(prior.curv(one, one)[0]))
            return t, c if w is None else c * w
        x = self.predict(self.F_at, places)
        g = prior.grad(t, x)
        c = curvature(prior, t, x, g)
        if w is not None:
            g, c = g * w, c * w
        c = np.maximum(c, self.rule.flat)
        return x - g / c, c

    def whole(self) -> tuple[Array, Array, Array]:
        """Places, z and c of all observations of the block."""
        count = len(self.block.values)
        places, z, c = self.places(slice(None)), np.empty(count), np.empty(count)
        for start in range(0, count, PIECE):
            part = slice(start, min(start + PIECE, count))
            z[part], c[part] = self._expand(places[part], part)
        return places, z, c

    def predict(self, F: Array, places: Array) -> Array:
        """The model with stacked factors F (sum of I_n, R) at rows `places` (n, N) of the stack: (n,)."""
        x = np.empty(len(places))
        gibbs.predict(F, places, x)
        return x

    def systems(self, a: int, b: int, G: Array, h: Array) -> None:
        """Normal equations of rows a ... b."""
        starts, _, others, z, c = self._open_rows(a, b)
        gibbs.systems(self.F, self.nothing, others, np.arange(len(z), dtype=np.int32), starts, z, c, G, h)

    def _open_rows(self, a: int, b: int) -> tuple[Array, Array, Array, Array, Array]:
        """Of the observations of rows a ... b: where each row's begin, places, those of the other modes, z and c."""
        starts = self.block.starts[a : b + 1]
        part = slice(int(starts[0]), int(starts[-1]))
        places = self.places(part)
        z, c = self._expand(places, part)
        return starts - starts[0], places, np.ascontiguousarray(places[:, self.others]), z, c

    def solve(self, a: int, b: int, out: Array) -> None:
        """New rows a ... b: those with few observations by a system of their number, the others by their equations."""
        R, rows = out.shape[1], slice(a, b)
        starts, places, others, z, c = self._open_rows(a, b)
        q, A, counts = self.own.q[rows], self.own.A[rows], np.diff(starts)
        apart = Apart(q, self.rule.low, self.rule.high)
        exact = not apart.bounded and not takes_steps(R, apart)
        few = counts < FEW * R if exact else np.zeros(b - a, dtype=bool)
        if few.any():
            newton.few_rows(self.F, others, starts, z, c, q, A, np.flatnonzero(few), out[rows])
            rest = np.repeat(~few, counts)
            others, z, c, q, A, counts = others[rest], z[rest], c[rest], q[~few], A[~few], counts[~few]
        if len(q):
            out[rows][~few] = self._by_equations(others, np.concatenate([[0], np.cumsum(counts)]), z, c, q, A)
        if self.rule.damped:
            out[rows] = self._damp(a, b, places, out[rows])

    def _by_equations(self, others: Array, starts: Array, z: Array, c: Array, q: Array, A: Array) -> Array:
        """New rows in place of A: those of least model value, or a few steps nearer."""
        new, R = np.empty(A.shape), A.shape[1]
        apart = Apart(q, self.rule.low, self.rule.high)
        if takes_steps(R, apart) and np.diff(starts).max() <= PIECE:
            conjugate.rows_by_steps(self.F, others, starts, z, c, q, A, STEPS, new)
            return new
        G, h = np.empty((len(q), R, R)), np.empty((len(q), R))
        gibbs.systems(self.F, self.nothing, others, np.arange(len(z), dtype=np.int32), starts, z, c, G, h)
        solve_rows(apart, G, h, slice(None), A, new, 1)
        return new

    def _damp(self, a: int, b: int, places: Array, new: Array) -> Array:
        """Rows on the way to `new` whose own objective does not rise."""
        starts = self.block.starts[a : b + 1]
        part = slice(int(starts[0]), int(starts[-1]))
        t, w = self.data(part)
        A, q, n = self.own.A[a:b], self.own.q[a:b], self.block.mode
        D = new - A
        self.along[int(self.first[n]) + a : int(self.first[n]) + b] = D  # threads have rows of their own
        x, dx = self.predict(self.F, places), self.predict(self.along, places)
        row = np.repeat(np.arange(b - a), np.diff(starts))

        def cost(step: Array) -> Array:
            nll = self.rule.prior.nll(t, x + step[row] * dx)
            B = A + step[:, None] * D
            data = np.bincount(row, nll if w is None else nll * w, minlength=b - a)
            return data + 0.5 * q * np.einsum("ir,ir->i", B, B)

        return A + damp_steps(cost, b - a)[:, None] * D


@dataclass(frozen=True, eq=False)
class Apart:
    """Bounds and diagonal of Q for rows that are not tied to one another: see `RowTerms`."""

    diagonal: Array
    low: float
    high: float

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.low) or np.isfinite(self.high))


def _stack(factors: Sequence[Array | None], own: Array) -> Array:
    return np.concatenate([own if A is None else A for A in factors])


def takes_steps(R: int, ties: RowTerms) -> bool:
    """Are rows of this rank moved towards their minimum by a few steps, instead of solved for exactly?"""
    return STEPS > 0 and R >= STEPS_FROM and not ties.bounded


def solve_rows(ties: RowTerms, G: Array, h: Array, part: slice, A: Array, out: Array, threads: int) -> None:
    """Solve for the rows `part` of `out` (I, R), in place, from A (I, R). Normal equations of these rows alone:
    G (rows, R, R) and h (rows, R).
    """
    if not takes_steps(A.shape[1], ties):
        solve_apart(ties, G, h, part, A, out, threads)
        return
    q, A, out = ties.diagonal[part], A[part], out[part]

    def work(a: int, b: int) -> None:
        conjugate.systems_by_steps(G[a:b], h[a:b], q[a:b], A[a:b], STEPS, out[a:b])

    in_threads(work, [len(G) * t // threads for t in range(threads + 1)])
