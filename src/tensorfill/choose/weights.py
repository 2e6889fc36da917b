"""Weights of a blend: convex, fitted to held-out predictions, for all entries alike or for each slice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SMALLEST = 0.04  # weights below are dropped: a part costs a fit
HALVES = 4  # cross-fits by which a blend must prove itself
# Weights are drawn to even ones, of those as good as the best, as if by so many held-out entries more. On the half of
# the sets of `bench choose` that constants are set on and on 30 further small ones (two draws of gaps each, 134 cells),
# error over that of the best alone: 1.031 with 500, 1.027 with 200; with hardly any, one in two dozen is far off.
DRAW = 200


@dataclass(frozen=True, eq=False)
class Held:
    """What weights are fitted to: predictions (k, parts), truths, weights of the loss, and the slice each is in, (k,).

    With slices, losses are compared slice by slice: a loss that falls from 0.5 to 0.001 in one column is a great gain,
    however large the losses of others are.
    """

    P: Array
    t: Array
    w: Array
    slices: Array | None = None
    count: int = 1  # of slices
    own: bool = False  # does each slice have weights of its own?

    def at(self, here: Array) -> Held:
        """The entries `here`."""
        slices = None if self.slices is None else self.slices[here]
        return replace(self, P=self.P[here], t=self.t[here], w=self.w[here], slices=slices)

    def of(self, parts: list[int]) -> Held:
        """Some of the parts."""
        return replace(self, P=self.P[:, parts])

    def loss(self, x: Array) -> float:
        """Mean loss of predictions, (k,); with slices, the geometric mean, over entries, of that of their slice."""
        losses = self.w * (x - self.t) ** 2
        if self.slices is None:
            return float(losses.mean())
        count = np.bincount(self.slices, minlength=self.count)
        mean = np.bincount(self.slices, losses, self.count) / np.maximum(count, 1)
        return float(np.exp(np.average(np.log(np.maximum(mean, np.finfo(np.float64).tiny)), weights=count)))


def crossfitted(held: Held, even: Array, here: Array | None = None) -> float:
    """Mean loss (of the entries `here`, or all) under weights fitted to the other half, over a few ways to halve.

    Halves of entries, though entries of one gap are alike: with halves of gaps fewer blends seem worth while, and on
    28 cells of `bench choose` whose gaps are long answers were 1 % worse.
    """
    losses = []
    for k in range(HALVES):
        half = np.random.default_rng([k, 5]).permutation(len(held.t)) % 2 == 0
        for fit in (half, ~half):
            judge = ~fit if here is None else ~fit & here
            if fit.any() and judge.any():
                losses.append(_loss_of_weights(held.at(fit), held.at(judge), even))
    return float(np.mean(losses)) if losses else np.inf


def _loss_of_weights(fit: Held, judge: Held, even: Array) -> float:
    """Mean loss at the one, under weights fitted to the other."""
    weights = convex(fit, even)
    if not judge.own:
        return judge.loss(judge.P @ weights)
    return judge.loss(np.einsum("kp,kp->k", judge.P, by_slice(fit, weights)[judge.slices]))


def by_slice(held: Held, weights: Array) -> Array:
    """Weights for each slice, drawn towards those of all, (slices, parts)."""
    assert held.slices is not None
    out = np.tile(weights, (held.count, 1))
    for s in np.unique(held.slices):
        out[s] = convex(held.at(held.slices == s), weights)
    return out


def convex(held: Held, even: Array) -> Array:
    """Weights >= 0 that sum to 1 and minimise the weighted squares of P @ weights - t, drawn towards the weights
    `even`; tiny ones left out: (parts,).
    """
    from scipy.optimize import nnls

    P, t, root = held.P, held.t, np.sqrt(held.w)
    even = even / even.sum() if even.any() else np.full(len(even), 1 / len(even))
    used = np.arange(P.shape[1])
    pull = np.sqrt(DRAW * min(float(np.mean(held.w * (p - t) ** 2)) for p in P.T))
    for _ in range(P.shape[1]):
        # the last row asks for the sum 1, heavy enough to be met to many digits
        heavy = 1e4 * max(float(np.linalg.norm(t * root)), 1e-300)
        A = np.vstack([P[:, used] * root[:, None], pull * np.eye(len(used)), np.full((1, len(used)), heavy)])
        found = nnls(A, np.concatenate([t * root, pull * even[used], [heavy]]))[0]
        found = found / found.sum() if found.sum() > 0 else np.full(len(used), 1 / len(used))
        if (found >= SMALLEST).all() or len(used) == 1:
            break
        used = used[found >= SMALLEST]
    out = np.zeros(P.shape[1])
    out[used] = found
    return out
