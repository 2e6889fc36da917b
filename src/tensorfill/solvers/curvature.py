"""A curvature for every numerical prior that is safe to divide by.

The second derivative itself may be negative (Gamma above its datum), zero (Huber's tails) or far too small (Poisson
with t = 0). Three that are positive instead, each right where the second derivative is not:

    location priors (losses of x - t)    c = grad / (x - t): the parabola with that slope and its lowest point at t lies
                                         above the loss for Normal, Huber, Student's t, Laplace
    all others                           c = curv at t = mean(x), the expected curvature (Fisher's): for the families
                                         whose mean is x, one observation alone is then solved by one step
    outside the domain of x              c = |grad| / distance to it: one step leads back in
"""

from __future__ import annotations

import numpy as np

from tensorfill.numerical.base import NumericalPrior
from tensorfill.problem import Problem
from tensorfill.solvers.threads import in_threads
from tensorfill.typing import Array

FLAT = 1e-9  # least curvature of an entry, as a share of the mean curvature
KINK = 1e-3  # residuals below this share of 1/|grad| are on the kink of a loss that has one
STEP = 1e-4  # step of finite differences, relative to 1 + |x|, for a prior without second derivative
BLOCK = 2**15  # observations at a time: temporaries stay in a core's cache


def curvature(prior: NumericalPrior, t: Array, x: Array, g: Array) -> Array:
    """c >= 0 of each entry; g = prior.grad(t, x)."""
    if not prior.uniform:
        c = np.empty_like(x)
        for part, at in prior.groups(x.shape):
            c[at] = curvature(part, t[at], x[at], g[at])
        return c
    if prior.canonical:
        return prior.curv(t, x)
    if prior.location:
        r = x - t
        if not prior.has("curv"):
            slope = np.abs(g)
            return slope / np.maximum(np.abs(r), KINK / np.maximum(slope, np.finfo(float).tiny))
        near = np.abs(r) <= 1e-8 * (1 + np.abs(t))
        return np.where(near, prior.curv(t, t), g / np.where(near, 1.0, r))
    mean = prior.mean(x)
    if prior.has("curv"):
        c = prior.curv(mean, x)
    else:
        h = STEP * (1 + np.abs(x))
        c = (prior.grad(mean, x + h) - prior.grad(mean, x - h)) / (2 * h)
    low, high = prior.x_domain.low, prior.x_domain.high
    if np.isfinite(low) or np.isfinite(high):
        away = np.abs(x - np.clip(x, low, high))
        c = np.where(away > 0, np.abs(g) / (away + getattr(prior, "floor", STEP)), c)
    return np.maximum(c, 0)


def expand(problem: Problem, x: Array, threads: int = 1) -> tuple[Array, Array]:
    """The data term around x (nnz,): its gradient and a curvature > 0, weighted, (nnz,) float64."""
    t, w = problem.observations.values.astype(np.float64, copy=False), problem.observations.weights
    nnz = len(x)
    g, c, blocks = np.empty(nnz), np.empty(nnz), -(-nnz // BLOCK)

    def work(first: int, last: int) -> None:
        with np.errstate(all="ignore"):
            for k in range(first, last):
                part = slice(k * BLOCK, min((k + 1) * BLOCK, nnz))
                prior = problem.prior_of(part)
                g[part] = prior.grad(t[part], x[part])
                c[part] = curvature(prior, t[part], x[part], g[part])

    threads = max(1, min(threads, blocks))
    in_threads(work, [blocks * k // threads for k in range(threads + 1)])
    if w is not None:
        g, c = g * w, c * w
    floor = FLAT * float(c.mean())
    return g, np.maximum(c, floor if floor > 0 else FLAT, out=c)


def losses(problem: Problem, x: Array) -> Array:
    """The weighted loss of every entry, (nnz,) float64."""
    w = problem.observations.weights
    with np.errstate(all="ignore"):
        nll = problem.prior_of().nll(problem.observations.values.astype(np.float64, copy=False), x)
    return nll if w is None else nll * w
