"""Refining a completion by the self-similarity of its patches: half-quadratic splitting, the paper's next step.

    minimise over X, Z   L1(X on the mask) + |X - Z|^2 / (2 sigma^2) + self-similarity(Z),   sigma falling

Z by the filter, X by a data step: entry by entry, `argmin nll(t, x) + (x - z)^2 / (2 sigma^2)`, or t itself where
the data are exact. At the missing entries X = Z. The passes run in the same loop as every solver, so they stop,
checkpoint and resume like one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.interelement.selfsimilarity import SelfSimilarity
from tensorfill.numerical.base import NumericalPrior
from tensorfill.result.record import History, Status
from tensorfill.solvers.base import State
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.loop import run as run_loop

Array = NDArray[Any]

PASSES = 12
# sigma of the first and the last pass at this share of observed entries, in units of the data's range; it falls with
# the share by these powers, as a start is further off and fewer data hold it
SHARE, FIRST, LAST, POWERS = 0.15, 0.1, 0.01, (0.35, 0.6)
REMATCH = 2  # passes that share their groups
HALVINGS = 40

# (z, sigma) -> x, both (nnz,): model values at the observed entries, in C order
DataStep = Callable[[Array, float], Array]
Callback = Callable[[int, Array], object]


def default_sigmas(values: Array, passes: int = PASSES, *, share: float = SHARE) -> list[float]:
    """Falling geometrically, in units of the spread of the observed values (outliers do not count)."""
    low, high = np.quantile(values, (0.001, 0.999))
    spread = float(high - low) or float(np.ptp(values)) or 1.0
    first, last = (s * (SHARE / share) ** p for s, p in zip((FIRST, LAST), POWERS, strict=True))
    return [float(s) for s in spread * np.geomspace(min(first, 0.3), min(last, 0.06), passes)]


def default_denoiser(share: float, modes: tuple[int, int] = (0, 1)) -> SelfSimilarity:
    """The fewer entries are observed, the more look-alikes are needed to meet some."""
    if share < 0.03:
        return SelfSimilarity(patch=6, stride=4, group=96, radius=16, modes=modes)
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


@dataclass(frozen=True, eq=False)
class Refinement:
    """Passes of the filter over a completion: what the loop drives. t (nnz,) are the observed values."""

    t: Array
    mask: Array
    start: Array
    denoiser: SelfSimilarity
    sigmas: Sequence[float]
    data_step: DataStep | None = None
    noise: float | Array = 0.0
    rematch: int = REMATCH
    threads: int = 1

    def init(self, rng: np.random.Generator) -> State:
        X = np.zeros(self.start.shape)
        X[~self.mask] = self.start[~self.mask]
        X[self.mask] = self.t
        return State({"X": X}, {"k": 0})

    def step(self, state: State, rng: np.random.Generator) -> State:
        k, X = int(state.numbers["k"]), state.arrays["X"]
        again = k % self.rematch == 0
        groups = self.denoiser.match(X, threads=self.threads) if again else state.arrays["groups"]
        sigma = float(self.sigmas[k])
        T = np.zeros(X.shape)
        T[self.mask] = self.t  # X may have left noisy data; the filter weighs the data themselves by their noise
        Z = self.denoiser.denoise(
            X, sigma, observed=self.mask, data=T, noise=self.noise, groups=groups, threads=self.threads
        )
        X = np.clip(Z, self.t.min(), self.t.max())
        X[self.mask] = self.t if self.data_step is None else self.data_step(Z[self.mask], sigma)
        return State({"X": X, "groups": groups}, {"k": k + 1})

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["k"] >= len(self.sigmas) else None


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
        (z, sigma) -> x on the observed entries; None: the data are exact. See `proximal_step`. Give `noise` with it.
    sigmas
        One per pass, how far X is off, falling; `default_sigmas` if not given.
    denoiser
        `default_denoiser` for this share of observed entries if not given.
    noise
        Standard deviation of the data, one number or one per entry, for the filter: 0 where they are exact.
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
    share = float(mask.mean())
    denoiser = default_denoiser(share) if denoiser is None else denoiser
    denoiser.check(X0.shape)
    sigmas = default_sigmas(t, share=share) if sigmas is None else sigmas
    passes = Refinement(t, mask, X0, denoiser, sigmas, data_step, noise, rematch, threads)

    def tell(state: State, history: History) -> bool:
        k = int(state.numbers["k"])
        return bool(k and callback is not None and callback(k - 1, state.arrays["X"]))

    limit = 0 if mask.all() and data_step is None else len(sigmas)
    rng = np.random.default_rng(0)  # nothing here is random
    return run_loop(passes, stopping=Stopping(max_iter=limit, tol=0.0), rng=rng, callback=tell).state.arrays["X"]


def available_threads() -> int:
    """As many threads as this process may use; the answer does not depend on it."""
    limit = os.environ.get("NUMBA_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


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
