"""Second-order sweeps over observations in blocks: the rows of a mode are solved where their observations are stored.

A block along mode n owns its rows: it is sent them and the factors of all other modes, and sends the new rows back.
Where an inter-element prior ties rows together it sends their normal equations instead, which are solved here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensorfill.partitioned import Partitioned
from tensorfill.solvers.balance import balance
from tensorfill.solvers.blockpiece import Owned, Rule, solve_block
from tensorfill.solvers.rowsystems import SHRINK, TRIES, RowCoupling, solve_tied
from tensorfill.typing import Array


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
        at = self._wide(problem, factors)
        A = list(at)
        for n in range(len(A)):
            A[n] = self._solve(problem, A, None if n == 0 else at, n, damped=False)
        return self._balance(problem, A)

    def careful(self, problem: Partitioned, factors: Sequence[Array]) -> list[Array]:
        """Every mode once, the data term expanded anew before each; no step raises the objective."""
        A = self._wide(problem, factors)
        for n in range(len(A)):
            new = self._solve(problem, A, None, n, damped=True)
            A[n] = new if self.ties[n].apart else self._shorten(problem, A, n, new)
        return self._balance(problem, A)

    def _balance(self, problem: Partitioned, A: Sequence[Array]) -> list[Array]:
        return [a.astype(problem.dtype) for a in balance(self.ties, A)]

    def _wide(self, problem: Partitioned, factors: Sequence[Array]) -> list[Array]:
        """The factors in float64, in which all systems are solved."""
        return [np.asarray(a, dtype=np.float64) for a in factors]

    def _rule(
        self, problem: Partitioned, A: Sequence[Array], at: Sequence[Array] | None, mode: int, *, damped: bool
    ) -> Rule:
        """For the blocks along a mode."""
        p, ties = problem.partitions, self.ties[mode]
        return Rule(
            problem.prior,
            problem.shape,
            [None if m == mode else B for m, B in enumerate(A)],
            None if at is None else [None if m == mode else B for m, B in enumerate(at)],
            ties.low,
            ties.high,
            not ties.apart,
            damped,
            self.flat,
            p.shift,
            p.spread,
            p.threads,
        )

    def _solve(
        self, problem: Partitioned, A: Sequence[Array], at: Sequence[Array] | None, n: int, *, damped: bool
    ) -> Array:
        p, ties = problem.partitions, self.ties[n]
        rule = self._rule(problem, A, at, n, damped=damped)
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
