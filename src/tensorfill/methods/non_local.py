"""Refining a completion by the self-similarity of its patches: half-quadratic splitting, the paper's next step.

    minimise over X, Z   L1(X on the mask) + |X - Z|^2 / (2 sigma^2) + self-similarity(Z),   sigma falling

Z by the filter, X by a data step: entry by entry, `argmin nll(t, x) + (x - z)^2 / (2 sigma^2)`, or t itself where
the data are exact. At the missing entries X = Z.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.interelement.selfsimilarity import SelfSimilarity
from tensorfill.numerical.base import NumericalPrior

Array = NDArray[Any]

PASSES = 8
FIRST, LAST = 0.1, 0.01  # sigma of the first and the last pass, in units of the data's range
REMATCH = 2  # passes that share their groups
HALVINGS = 40

# (z, sigma) -> x, both (nnz,): model values at the observed entries, in C order
DataStep = Callable[[Array, float], Array]
Callback = Callable[[int, Array], object]


def default_sigmas(values: Array, passes: int = PASSES) -> list[float]:
    """Falling geometrically, in units of the spread of the observed values (outliers do not count)."""
    low, high = np.quantile(values, (0.001, 0.999))
    spread = float(high - low) or float(np.ptp(values)) or 1.0
    return [float(s) for s in spread * np.geomspace(FIRST, LAST, passes)]


def default_denoiser(share: float, modes: tuple[int, int] = (0, 1)) -> SelfSimilarity:
    """The fewer entries are observed, the more look-alikes are needed to meet some."""
    if share < 0.03:
        return SelfSimilarity(patch=7, stride=4, group=96, radius=16, modes=modes)
    if share < 0.075:
        return SelfSimilarity(patch=6, stride=4, group=80, radius=12, modes=modes)
    return SelfSimilarity(modes=modes)


def proximal_step(prior: NumericalPrior, t: Array) -> DataStep:
    """The data step of a numerical prior whose loss is convex in x, for data t (nnz,).

    With g the loss's derivative, the root of g(x) + (x - z) / sigma^2 lies between z and z - sigma^2 g(z), as g rises.
    """
    t = np.asarray(t, dtype=np.float64)

    def step(z: Array, sigma: float) -> Array:
        z = np.asarray(z, dtype=np.float64)
        end = z - sigma**2 * prior.grad(t, z)
        low, high = np.minimum(z, end), np.maximum(z, end)
        for _ in range(HALVINGS):
            x = 0.5 * (low + high)
            above = prior.grad(t, x) + (x - z) / sigma**2 > 0
            low, high = np.where(above, low, x), np.where(above, x, high)
        return 0.5 * (low + high)

    return step


def refine(
    values: Array,
    mask: Array,
    X0: Array,
    *,
    data_step: DataStep | None = None,
    sigmas: Sequence[float] | None = None,
    denoiser: SelfSimilarity | None = None,
    noise: float | Array = 0.0,
    rematch: int = REMATCH,
    threads: int = 1,
    callback: Callback | None = None,
) -> Array:
    """A completion X0 made better by the look-alikes of its patches.

    Parameters
    ----------
    values : array of X0's shape; read on the mask only
    mask : bool array, True = observed
    X0 : the completion to start from; read off the mask only
    data_step
        (z, sigma) -> x on the observed entries; None: the data are exact. See `proximal_step`.
    sigmas
        One per pass, how far X is off, falling; `default_sigmas` if not given.
    denoiser
        `default_denoiser` for this share of observed entries if not given.
    noise
        Standard deviation of the data, for the filter: 0 where they are exact.
    rematch
        Groups are sought anew every so many passes.
    callback
        Called after each pass with its number, from 0, and X; a true answer stops.

    Returns
    -------
    X (shape of X0, float64) : observed entries as the data step leaves them, within the range of the data elsewhere.
    """
    mask = np.asarray(mask, dtype=bool)
    X0 = np.asarray(X0)
    t = _data(values, mask, X0)
    denoiser = default_denoiser(float(mask.mean())) if denoiser is None else denoiser
    denoiser.check(X0.shape)
    sigmas = default_sigmas(t) if sigmas is None else sigmas
    X = np.zeros(X0.shape)
    X[~mask] = X0[~mask]
    X[mask] = t
    if mask.all() and data_step is None:
        return X
    low, high = t.min(), t.max()
    groups = None
    for k, sigma in enumerate(sigmas):
        if groups is None or k % rematch == 0:
            groups = denoiser.match(X, threads=threads)
        Z = denoiser.denoise(X, sigma, observed=mask, noise=noise, groups=groups, threads=threads)
        X = np.clip(Z, low, high)
        X[mask] = t if data_step is None else data_step(Z[mask], float(sigma))
        if callback is not None and callback(k, X):
            break
    return X


def _data(values: Array, mask: Array, X0: Array) -> Array:
    """The observed values, (nnz,), float64; a sentence if something does not fit."""
    values = np.asarray(values)
    if values.shape != mask.shape or values.shape != X0.shape:
        msg = f"values, mask and X0 must have one shape; got {values.shape}, {mask.shape} and {X0.shape}."
        raise ValueError(msg)
    if not mask.any():
        msg = "mask must have an observed entry; got none. There is nothing to go by."
        raise ValueError(msg)
    if not np.isfinite(X0[~mask]).all():
        msg = "X0 must be finite where mask is False; got NaN or infinity. Start from a completed array."
        raise ValueError(msg)
    t = values[mask].astype(np.float64)
    if not np.isfinite(t).all():
        msg = "values must be finite where mask is True; got NaN or infinity. Mask these entries."
        raise ValueError(msg)
    return t
