"""Second-order sweeps over observations in blocks: the rows of a mode are solved where their observations are stored.

A block along mode n owns its rows: it is sent them and the factors of all other modes, and sends the new rows back.
Where an inter-element prior ties rows together it sends their normal equations instead, which are solved here. Threads
own ranges of rows, and go through them in pieces that stay in a core's cache: predict, expand, equations, solution.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.blocks import Block
from tensorfill.blocks.base import Sized, cut_rows
from tensorfill.kernels.loops import conjugate, cp, gibbs
from tensorfill.numerical.base import NumericalPrior
from tensorfill.partitioned import Partitioned
from tensorfill.solvers.balance import balance
from tensorfill.solvers.base import made_once
from tensorfill.solvers.curvature import FLAT, curvature
from tensorfill.solvers.entries import SLAB
from tensorfill.solvers.rows import row_couplings
from tensorfill.solvers.rowsystems import SHRINK, TRIES, RowCoupling, damp_steps, solve_apart, solve_tied
from tensorfill.solvers.threads import available_threads, in_threads, row_shares
from tensorfill.typing import Array

PIECE = 2**15  # observations at a time: what is computed of them stays in a core's cache
# From this rank on rows are not set at their minimum but led towards it, by so many steps of conjugate gradients from
# where they are: R operations for an observation and step instead of R^2. Sweeps lead as far, in half of the time. 10^6
# ratings at rank 50, error after 8 sweeps: .8828 with 2 steps, .8835 with 3, .8832 with 4, .8833 with 6 and exactly.
# Fits to 2 10^6 ratings, counts, and yes or no at rank 32, held-out loss: .203, .2209, .5302 with 4 steps; exactly .205
# and the same. 5 10^5 ratings, seconds and objective of the eighth sweep, with steps and exactly: .046 and 273679, .058
# and 273620 at rank 8; .070 and 218783, .228 and 218433 at rank 24.
STEPS, STEPS_FROM = 4, 8


# --- in a block ---------------------------------------------------------------------------------------------------


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
    piece = _Piece(block, rule, Owned(np.array(own.A), own.at, np.array(own.q)))
    out: Any = (np.empty((rows, R, R)), np.empty((rows, R))) if rule.tied else np.empty((rows, R))

    def work(first: int, last: int) -> None:
        most = max(1, SLAB // R**2)
        for a, b in itertools.pairwise(cut_rows(np.diff(block.starts[first : last + 1]), PIECE)):
            for start in range(first + a, first + b, most):
                piece.solve(start, min(start + most, first + b), out)

    count = available_threads() if rule.threads is None else rule.threads
    with np.errstate(all="ignore"):  # a sweep gone wrong is not taken
        in_threads(work, row_shares(block.starts, max(1, min(count, rows, len(block.values) * R // 2**14))))
    return None, out


class _Piece:
    """Some rows of a block after the others."""

    def __init__(self, block: Block, rule: Rule, own: Owned) -> None:
        self.block, self.rule, self.own = block, rule, own
        n, lengths = block.mode, list(rule.shape)
        lengths[n] = len(own.A)
        self.first = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
        self.others = [m for m in range(len(lengths)) if m != n]
        self.F = _stack(rule.factors, own.A)
        self.F_at = self.F if rule.at is None or own.at is None else _stack(rule.at, own.at)
        self.along = self.F.copy() if rule.damped and not rule.tied else self.F

    def solve(self, a: int, b: int, out: Any) -> None:
        """Rows a ... b: their new values, or their normal equations, into `out`."""
        rule, block, R = self.rule, self.block, self.own.A.shape[1]
        part, starts = slice(*block.starts[[a, b]].tolist()), block.starts[a : b + 1] - block.starts[a]
        t = (block.values[part].astype(np.float64) - rule.shift) / rule.spread
        w = None if block.weights is None else block.weights[part]
        places = block.indices[part] + self.first
        z, c = self._expand(t, w, places)
        others = np.ascontiguousarray(places[:, self.others])
        q, A = self.own.q[a:b], self.own.A[a:b]
        bounded = bool(np.isfinite(rule.low) or np.isfinite(rule.high))
        if not rule.tied and R >= STEPS_FROM and not bounded and np.diff(starts).max() <= PIECE:
            conjugate.rows_by_steps(self.F, others, starts, z, c, q, A, STEPS, out[a:b])
        else:
            G, h = (array[a:b] for array in out) if rule.tied else (np.empty((b - a, R, R)), np.empty((b - a, R)))
            nothing, order = np.empty((len(self.F), 0)), np.arange(len(z), dtype=np.int32)
            gibbs.systems(self.F, nothing, others, order, starts, z, c, G, h)
            if rule.tied:
                return
            solve_apart(G, h, q, (rule.low, rule.high), A, out[a:b])
        if rule.damped:
            out[a:b] = self._damp(a, out[a:b], t, w, places, np.repeat(np.arange(b - a), np.diff(starts)))

    def _expand(self, t: Array, w: Array | None, places: Array) -> tuple[Array, Array]:
        """z and c of the quadratic model sum c/2 (z - x)^2 at some observations, (n,) each."""
        prior = self.rule.prior
        if prior.location and prior.canonical:  # then z = t, whatever x
            one = np.zeros(1)
            c = np.full(len(t), float(prior.curv(one, one)[0]))
            return t, c if w is None else c * w
        x = _predict(self.F_at, places)
        g = prior.grad(t, x)
        c = curvature(prior, t, x, g)
        if w is not None:
            g, c = g * w, c * w
        c = np.maximum(c, self.rule.flat)
        return x - g / c, c

    def _damp(self, a: int, new: Array, t: Array, w: Array | None, places: Array, row: Array) -> Array:
        """Rows from a on, on the way to `new`, whose own objective does not rise; `row` (n,) of each observation."""
        A, q, start = self.own.A[a : a + len(new)], self.own.q[a : a + len(new)], int(self.first[self.block.mode]) + a
        D = new - A
        self.along[start : start + len(new)] = D  # threads have rows of their own
        x, dx = _predict(self.F, places), _predict(self.along, places)

        def cost(step: Array) -> Array:
            nll = self.rule.prior.nll(t, x + step[row] * dx)
            B = A + step[:, None] * D
            data = np.bincount(row, nll if w is None else nll * w, minlength=len(new))
            return data + 0.5 * q * np.einsum("ir,ir->i", B, B)

        return A + damp_steps(cost, len(new))[:, None] * D


def _stack(factors: Sequence[Array | None], own: Array) -> Array:
    return np.concatenate([own if A is None else A for A in factors])


def _predict(F: Array, places: Array) -> Array:
    """The model with stacked factors F (sum of I_n, R) at rows `places` (n, N) of the stack: (n,)."""
    x = np.empty(len(places))
    cp.predict(F, np.zeros(places.shape[1], dtype=np.int64), places, x)
    return x


# --- over all blocks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockRows:
    """The sweeps of a problem in blocks."""

    ties: tuple[RowCoupling, ...]
    flat: float

    def objective(self, problem: Partitioned, factors: Sequence[Array]) -> float:
        """As `problem.value`."""
        with np.errstate(all="ignore"):  # a step gone wrong is not taken
            return problem.value(factors)

    def bold(self, problem: Partitioned, factors: Sequence[Array]) -> list[Array]:
        """Every mode once, under one expansion of the data term."""
        at = [np.asarray(a, dtype=np.float64) for a in factors]
        A = list(at)
        for n in range(len(A)):
            A[n] = self._solve(problem, A, None if n == 0 else at, n, damped=False)
        return [a.astype(problem.dtype) for a in balance(self.ties, A)]

    def careful(self, problem: Partitioned, factors: Sequence[Array]) -> list[Array]:
        """Every mode once, the data term expanded anew before each; no step raises the objective."""
        A = [np.asarray(a, dtype=np.float64) for a in factors]
        for n in range(len(A)):
            new = self._solve(problem, A, None, n, damped=True)
            A[n] = new if self.ties[n].apart else self._shorten(problem, A, n, new)
        return [a.astype(problem.dtype) for a in balance(self.ties, A)]

    def _solve(
        self, problem: Partitioned, A: Sequence[Array], at: Sequence[Array] | None, n: int, *, damped: bool
    ) -> Array:
        p, ties = problem.partitions, self.ties[n]
        others, there = (None if F is None else [None if m == n else B for m, B in enumerate(F)] for F in (A, at))
        assert others is not None
        ends = (ties.low, ties.high, not ties.apart, damped, self.flat)
        rule = Rule(problem.prior, problem.shape, others, there, *ends, p.shift, p.spread, p.threads)
        now, q = p.own(n, A[n]), p.own(n, ties.diagonal)
        old = [None] * len(now) if at is None else p.own(n, at[n])
        own = [Owned(*each) for each in zip(now, old, q, strict=True)]
        _, parts = p.gather(solve_block, rule, n, own)
        if ties.apart:
            return np.concatenate(parts)
        G, h = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        return solve_tied(ties, G, h, A[n])

    def _shorten(self, problem: Partitioned, A: Sequence[Array], n: int, new: Array) -> Array:
        """The way to `new`, for all rows of a tied mode together, cut until the objective does not rise."""
        before, step, there = problem.value(A), 1.0, list(A)
        for _ in range(TRIES):
            there[n] = A[n] + step * (new - A[n])
            if problem.value(there) <= before:
                return there[n]
            step *= SHRINK
        return A[n]


@made_once
def block_rows(problem: Partitioned) -> BlockRows:
    """The sweeps of this problem."""
    return BlockRows(row_couplings(problem), _flat(problem))


def _flat(problem: Partitioned) -> float:
    """A share of the curvature of the sample at its mean: no entry has less."""
    t = problem.observations.values.astype(np.float64)
    with np.errstate(all="ignore"):
        x = np.full(len(t), problem.prior.start(float(t.mean())))
        c = float(np.mean(curvature(problem.prior, t, x, problem.prior.grad(t, x))))
    return FLAT * c if np.isfinite(c) and c > 0 else FLAT
