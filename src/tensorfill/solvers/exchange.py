"""Components that only follow the noise make way for better ones.

In three and more modes a component that starts at random first fits the noise it meets, and steps from there are slow
to find what the data share: they cross a plateau, or end in a valley with a component wasted. So now and then trial
components grow beside the model, each by itself on what the model leaves: a step of theirs needs no square of the rank.
Those that would lower a quadratic model of the objective by more than the weakest components do take their places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorfill.kernels.loops import gibbs, newton
from tensorfill.problem import Problem
from tensorfill.solvers.curvature import expand
from tensorfill.solvers.entries import SLAB
from tensorfill.solvers.rows import Rows
from tensorfill.solvers.threads import in_threads
from tensorfill.typing import Array

# On the yes/no tables of `bench solvers`, seeds 0 to 4: five sweeps of growth instead of eight are slower to the same
# loss, half as many trials are about as good, and so are trials aimed at where an unfolding varies most. Longer growth
# was not measured.
TRIALS = 2  # for each component
GROWTH = 8  # sweeps over the trials; those not taken grow on from there the next time


def may_exchange(problem: Problem) -> bool:
    """In matrices sweeps find their way; within bounds a trial that grows alone is no guide."""
    ends = [end for n in range(len(problem.shape)) for end in problem.bounds(n)]
    return len(problem.shape) > 2 and bool(np.isinf(ends).all())


def exchange_components(
    problem: Problem, rows: Rows, factors: Sequence[Array], trials: Sequence[Array], rng: np.random.Generator
) -> tuple[list[Array] | None, list[Array]]:
    """(the factors with their weakest components replaced by trials that promise more, None where none does; the trials
    as they have grown, new ones in place of those taken). The first time `trials` are none.
    """
    A = [np.array(a, dtype=np.float64) for a in factors]
    with np.errstate(all="ignore"):
        g, c = expand(problem, rows.entries.predict(np.concatenate(A)), rows.entries.threads)
        c = np.maximum(c, c.mean())  # where a loss is all but flat its parabola promises anything
        Q, h = _sums(rows, A, -g, c)
        worth = h + 0.5 * np.diag(Q) - _penalty(rows, A)
        if not trials:
            trials = [rng.standard_normal((len(a), TRIALS * a.shape[1])) for a in A]
        trials = _grow(rows, trials, -g, c)
        places, chosen = _pairs(worth, *_sums(rows, trials, -g, c), _penalty(rows, trials))
    for a, new in zip(A, trials, strict=True):
        a[:, places] = new[:, chosen]
    lost = np.any([~np.isfinite(new).all(axis=0) for new in trials], axis=0)
    for new in trials:
        fresh = np.union1d(chosen, np.flatnonzero(lost)).astype(int)
        new[:, fresh] = rng.standard_normal((len(new), len(fresh)))
    return A if places else None, trials


def _pairs(worth: Array, Q: Array, h: Array, penalty: Array) -> tuple[list[int], list[int]]:
    """Which components, the one worth least first, go for which trials, the best first; each trial is judged beside
    those already taken.
    """
    places, chosen, left = [], [], h - 0.5 * np.diag(Q) - penalty
    for r in np.argsort(worth):
        best = int(np.argmax(np.where(np.isfinite(left), left, -np.inf)))
        if not left[best] > max(worth[r], 0.0):
            break
        places.append(int(r))
        chosen.append(best)
        left = left - Q[best]
        left[best] = -np.inf
    return places, chosen


def _penalty(rows: Rows, factors: Sequence[Array]) -> Array:
    """Of every component, (R,)."""
    each = [np.einsum("ir,ir->r", A, t.Q @ A) for A, t in zip(factors, rows.ties, strict=True)]
    return 0.5 * np.sum(each, axis=0)


def _sums(rows: Rows, factors: Sequence[Array], pull: Array, c: Array) -> tuple[Array, Array]:
    """sum c k k' (R, R) and sum pull k (R,) over the observations, k (R,) the components there."""
    n, R = int(np.argmin(rows.entries.shape)), factors[0].shape[1]
    F, z, slab = np.concatenate(factors), pull / c, max(1, SLAB // R**2)
    Q, h = np.zeros((R, R)), np.zeros(R)
    for start in range(0, len(factors[n]), slab):
        part = slice(start, min(start + slab, len(factors[n])))
        gibbs.shares(*rows.systems(F, n, z, c, part), factors[n][part], Q, h)
    return np.tril(Q) + np.tril(Q, -1).T, h


def _grow(rows: Rows, trials: Sequence[Array], pull: Array, c: Array) -> list[Array]:
    """The trials, each led by alternating steps by itself to fit pull / c with weights c."""
    out = list(trials)
    for _ in range(GROWTH):
        for n in sorted(range(len(out)), key=lambda n: -len(out[n])):
            out[n] = _alone(rows, out, n, pull, c)
        out = rows.balance(out)
    return out


def _alone(rows: Rows, trials: Sequence[Array], n: int, pull: Array, c: Array) -> Array:
    """Every trial at its minimum along mode n, all other trials left out."""
    mode, F, q = rows.entries.modes[n], np.concatenate(trials), rows.ties[n].diagonal
    out = np.empty(trials[n].shape)

    def work(a: int, b: int) -> None:
        newton.lone_rows(F, mode.others, mode.order, mode.starts[a : b + 1], pull, c, q[a:b], out[a:b])

    in_threads(work, rows.shares(n))
    return out
