"""Ensemble weights: a softmax of what is known around an entry, fitted to validation predictions.

The prediction is sum_j s_j(z) p_j, with s = softmax(b + z C) of the features z of the entry: convex for every entry,
and as usual (b = prior, C = 0) where there is no evidence. b and C minimise the squared error, by its own size, plus
(|b - prior|^2 + |C|^2) / (2 TAU^2): the logarithm of a posterior under a normal prior. Entries of one gap count as one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

TAU = 1.2  # the one setting: standard deviation of the prior of b and C
MOST = 4000  # entries that weights are fitted to: more do not change them


@dataclass(frozen=True, eq=False)
class Validation:
    """What weights are fitted to.

    Attributes
    ----------
    P : (k, members) predictions
    t, w : (k,) truths, and weights of the loss
    gaps : (k,) which gap each entry is in
    Z : (k, f) features
    prior : (members,) logarithms of the weights that members usually have; None: all alike
    """

    P: Array
    t: Array
    w: Array
    gaps: Array
    Z: Array
    prior: Array | None = None

    def at(self, here: Array) -> Validation:
        """The entries `here`."""
        rows = {name: getattr(self, name)[here] for name in ("P", "t", "w", "gaps", "Z")}
        return replace(self, **rows)

    def of(self, members: list[int]) -> Validation:
        """Some of the members."""
        return replace(self, P=self.P[:, members], prior=None if self.prior is None else self.prior[members])

    def plain(self) -> Validation:
        """Without features: the same weights for all entries."""
        return replace(self, Z=self.Z[:, :0])

    def loss(self, x: Array) -> float:
        """Weighted mean square of predictions (k,)."""
        return float(np.mean(self.w * (x - self.t) ** 2))


@dataclass(frozen=True, eq=False)
class Weights:
    """b (members,) and C (f, members) of the softmax."""

    b: Array
    C: Array

    def at(self, Z: Array) -> Array:
        """Weights of entries with features Z (k, f): (k, members), each row sums to 1."""
        return _softmax(self.b + Z @ self.C)


def fit_weights(data: Validation) -> Weights:
    """The weights under which these predictions are likeliest."""
    from scipy.optimize import minimize

    if len(data.t) > MOST:
        data = data.at(np.random.default_rng(len(data.t)).permutation(len(data.t))[:MOST])
    (k, members), f = data.P.shape, data.Z.shape[1]
    best = min(float(np.mean(data.w * (p - data.t) ** 2)) for p in data.P.T)
    alike = len(np.unique(data.gaps)) / k  # entries of one gap are one piece of evidence
    scale = alike / max(best, 1e-30 * float(np.mean(data.t**2)), 1e-300)  # no fit is exact beyond rounding
    off = data.P - data.t[:, None]
    usual = np.zeros((1 + f, members))
    usual[0] = 0.0 if data.prior is None else data.prior

    def value_and_grad(v: Array) -> tuple[float, Array]:
        theta = v.reshape(1 + f, members)
        s = _softmax(theta[0] + data.Z @ theta[1:])
        r = np.einsum("kj,kj->k", s, off)
        g = (scale * data.w * r)[:, None] * s * (off - r[:, None])
        away = theta - usual
        grad = np.vstack([g.sum(axis=0), data.Z.T @ g]) + away / TAU**2
        return 0.5 * float(scale * data.w @ r**2 + (away**2).sum() / TAU**2), grad.ravel()

    found = minimize(value_and_grad, usual.ravel(), jac=True, method="L-BFGS-B")
    theta = found.x.reshape(1 + f, members)
    return Weights(theta[0], theta[1:])


def crossfit(data: Validation, gaps_apart: int = 2) -> Array:
    """Predictions (k,) of each part of the gaps by weights fitted to the others."""
    out = np.empty(len(data.t))
    part = np.random.default_rng(0).permutation(int(data.gaps.max()) + 1)[data.gaps] % gaps_apart
    for k in range(gaps_apart):
        here, rest = part == k, part != k
        if here.any():
            fitted = fit_weights(data.at(rest)) if rest.any() else _usual(data)
            out[here] = np.einsum("kj,kj->k", fitted.at(data.Z[here]), data.P[here])
    return out


def _usual(data: Validation) -> Weights:
    """The weights that members usually have, for all entries."""
    members = data.P.shape[1]
    return Weights(np.zeros(members) if data.prior is None else data.prior, np.zeros((data.Z.shape[1], members)))


def _softmax(logits: Array) -> Array:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
