"""Few components x smooth pictures: spectral cubes, frames of a camera that stands still, maps over time.

    t[p, b] = level[b] + sum over k of A[p, k] F[b, k] + noise of its own in each band b

A is smooth over neighbouring pixels p save at edges, F over neighbouring bands. Nothing is tuned: how smooth each
component is, how noisy each band, and where edges are is estimated anew in every round, by expectation maximisation
in which every pixel has a covariance of its own. A component that the data do not speak for is smoothed away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.typing import Array

# Set on two made cubes of 96 x 96 x 80 (mixtures of 8 spectra over photographs of scikit-image; a patchwork of fields),
# 80, 95 and 99 % missing.
ROUNDS = 16  # by then errors fall by less than 1 % a round
EDGE = 4.0  # degrees of freedom of differences between pixels: none (all Gaussian) is worse by up to 30 %, 1 at 99 %
RIDGE = 0.1  # of what the size of a component would ask for: smoothness does the rest
KNOWN = 20.0  # data by which the noise of a band is drawn to that of all
STEPS, CLOSE = 20, 1e-3  # of conjugate gradients in a round, which begins where the last one ended


@dataclass(frozen=True, eq=False)
class Sorted:
    """Data sorted along one side."""

    ptr: Array
    other: Array
    t: Array

    @staticmethod
    def by(rows: Array, other: Array, t: Array, length: int) -> Sorted:
        order = np.lexsort((other, rows))
        return Sorted(np.searchsorted(rows[order], np.arange(length + 1)), other[order], t[order])


@dataclass(frozen=True, eq=False)
class Graph:
    """Neighbours of every row, both ways, with weights."""

    ptr: Array
    near: Array
    w: Array

    @staticmethod
    def of(pairs: Array, length: int) -> Graph:
        """From pairs (2, k), each once."""
        a, b = np.concatenate([pairs, pairs[::-1]], axis=1)
        order = np.lexsort((b, a))
        return Graph(np.searchsorted(a[order], np.arange(length + 1)), b[order], np.ones(len(a)))

    @property
    def degree(self) -> Array:
        sums = np.r_[0.0, np.cumsum(self.w)]
        return sums[self.ptr[1:]] - sums[self.ptr[:-1]]


def neighbours(lengths: Sequence[int], along: Sequence[int], *, diagonals: bool = False) -> Array:
    """Pairs (2, k) of neighbours of a grid, flat indices; along two axes also across, if asked for."""
    at = np.arange(int(np.prod(lengths))).reshape(lengths)
    pairs = [(at.take(range(n - 1), axis=m), at.take(range(1, n), axis=m)) for m, n in enumerate(lengths) if m in along]
    if diagonals:
        pairs += [(at[:-1, :-1], at[1:, 1:]), (at[:-1, 1:], at[1:, :-1])]
    empty = np.zeros((2, 0), dtype=np.int64)
    return np.concatenate([empty, *(np.stack([a.ravel(), b.ravel()]) for a, b in pairs)], axis=1)


@dataclass(frozen=True, eq=False)
class Components:
    """What the loop drives: one round after the other over observations read as pixels x bands."""

    pixels: Sorted
    bands: Sorted
    grid: Graph
    chain: Graph
    level: Array  # of each band
    unit: float
    rank: int
    order: tuple[int, ...]  # modes: the two of the pixels, then those of the bands
    shape: tuple[int, ...]
    rounds: int = ROUNDS

    @staticmethod
    def of(obs: Observations, modes: tuple[int, int], smooth: Sequence[int], rank: int) -> Components:
        """Of a tensor whose pixels lie along `modes`; neighbouring bands are alike along those of its modes that are
        `smooth`.
        """
        others = [n for n in range(obs.ndim) if n not in modes]
        plane, depth = ([obs.shape[n] for n in group] for group in (modes, others))
        at = obs.indices.T
        p, b = np.ravel_multi_index(at[list(modes)], plane), np.ravel_multi_index(at[others], depth)
        P, B = int(np.prod(plane)), int(np.prod(depth))
        level = band_levels(obs.values, b, B)
        t = obs.values.astype(np.float64) - level[b]
        unit = float(t.std()) or 1.0
        chain = neighbours(depth, [k for k, n in enumerate(others) if n in smooth])
        return Components(
            Sorted.by(p, b, t / unit, P),
            Sorted.by(b, p, t / unit, B),
            Graph.of(neighbours(plane, (0, 1), diagonals=True), P),
            Graph.of(chain, B),
            level,
            unit,
            rank,
            (*modes, *others),
            obs.shape,
        )

    def init(self, rng: np.random.Generator) -> State:
        P, B, R = len(self.pixels.ptr) - 1, len(self.level), self.rank
        arrays = {
            "A": np.zeros((P, R)),
            "F": 0.1 * rng.standard_normal((B, R)),
            "noise": np.full(B, 0.1),  # of the variance
            "edges": self.grid.w,
            "stiff": np.ones((2, R)),
            "ridge": np.full((2, R), 0.01),
        }
        return State(arrays, {"k": 0})

    def step(self, state: State, rng: np.random.Generator) -> State:
        """A given F, F given A, and then what is known of noise, sizes, smoothness and edges."""
        from tensorfill.kernels._components import squares

        now = state.arrays
        grid = Graph(self.grid.ptr, self.grid.near, now["edges"])
        none = np.empty((0, 0, 0))
        A, CA = _solved(self.pixels, 1 / now["noise"][self.pixels.other], now["F"], none, now, 0, grid)
        weight = np.repeat(1 / now["noise"], np.diff(self.bands.ptr))
        F, CF = _solved(self.bands, weight, A, CA, now, 1, self.chain)
        total, count = np.zeros(len(F)), np.diff(self.bands.ptr)
        squares(self.pixels.ptr, self.pixels.other, self.pixels.t, A, CA, F, total)
        noise = (total + KNOWN * total.sum() / count.sum()) / (count + KNOWN)
        # to principal axes, in units of the noise: components are smooth each in its own way
        Q = np.linalg.qr(F / np.sqrt(noise)[:, None])[1]
        U = np.linalg.eigh(Q @ (A.T @ A + CA.sum(axis=0)) @ Q.T)[1][:, ::-1]
        turn = Q.T @ U
        back = np.linalg.pinv(turn).T
        A, F, VA, VF = A @ turn, F @ back, _variances(CA, turn), _variances(CF, back)
        ridge = [RIDGE * len(X) / ((X * X).sum(axis=0) + V.sum(axis=0)) for X, V in ((A, VA), (F, VF))]
        grid = _edges(grid, A, VA)
        stiff = [_stiffness(graph, X, V) for graph, X, V in ((grid, A, VA), (self.chain, F, VF))]
        arrays = {"A": A, "F": F, "noise": noise, "edges": grid.w, "stiff": np.array(stiff), "ridge": np.array(ridge)}
        return State(arrays, {"k": int(state.numbers["k"]) + 1})

    def full(self, state: State) -> Array:
        """The tensor that a state says, full shape."""
        X = self.level + self.unit * (state.arrays["A"] @ state.arrays["F"].T)
        return np.ascontiguousarray(X.reshape([self.shape[n] for n in self.order]).transpose(np.argsort(self.order)))

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["k"] >= self.rounds else None


def band_levels(values: Array, band: Array, count: int) -> Array:
    """The mean of each band; of one without data, that between those around it."""
    known = np.bincount(band, minlength=count)
    sums = np.bincount(band, weights=values, minlength=count)
    seen = np.flatnonzero(known)
    return np.interp(np.arange(count), seen, sums[seen] / known[seen])


def _solved(data: Sorted, weight: Array, F: Array, C: Array, now: Any, side: int, graph: Graph) -> tuple[Array, Array]:
    """The factor of one side given the other, F with covariances C, and its covariances, each row by itself."""
    from tensorfill.kernels._components import inverses, normal_equations

    X, stiff, ridge = now["AF"[side]], now["stiff"][side], now["ridge"][side]
    P, h = np.empty((*X.shape, X.shape[1])), np.empty_like(X)
    normal_equations(data.ptr, data.other, data.t, weight, F, C, P, h)
    C = np.empty_like(P)
    inverses(P, graph.degree, stiff, ridge, C)
    return _conjugate_gradients(P, h, stiff, ridge, graph, X, C), C


def _conjugate_gradients(P: Array, h: Array, stiff: Array, ridge: Array, graph: Graph, X: Array, C: Array) -> Array:
    """(P + ridge + stiff L) X = h, from X on, each row's own inverse C as preconditioner."""
    from tensorfill.kernels._components import each_by, multiply

    out, z = np.empty_like(X), np.empty_like(X)
    multiply(P, stiff, ridge, graph.ptr, graph.near, graph.w, X, out)
    r = h - out
    each_by(C, r, z)
    p, size = z.copy(), float((r * z).sum())
    enough = CLOSE**2 * size
    for _ in range(STEPS):
        if size <= enough:
            break
        multiply(P, stiff, ridge, graph.ptr, graph.near, graph.w, p, out)
        step = size / float((p * out).sum())
        X, r = X + step * p, r - step * out
        each_by(C, r, z)
        before, size = size, float((r * z).sum())
        p = z + size / before * p
    return X


def _variances(C: Array, turn: Array) -> Array:
    """Diagonals of turn' C turn, (rows, R)."""
    return np.asarray(((C @ turn) * turn).sum(axis=1))


def _stiffness(graph: Graph, X: Array, V: Array) -> Array:
    """Of each component: one over the mean squared difference of neighbours, a pixel counted once."""
    from tensorfill.kernels._components import differences

    total = np.zeros(X.shape[1])
    differences(graph.ptr, graph.near, graph.w, X, V, total)
    return np.divide(2.0 * len(X), total, out=np.zeros_like(total), where=total > 0)


def _edges(graph: Graph, A: Array, V: Array) -> Graph:
    """The graph with less weight where neighbours differ more than they usually do: differences as Student's t has."""
    from tensorfill.kernels._components import distances

    apart = np.empty(len(graph.w))
    distances(graph.ptr, graph.near, A, _stiffness(graph, A, V), apart)
    usual = float(np.median(apart)) if len(apart) else 0.0
    w = (EDGE + 1) / (EDGE + apart / usual) if usual > 0 else np.ones(len(apart))
    return Graph(graph.ptr, graph.near, w)
