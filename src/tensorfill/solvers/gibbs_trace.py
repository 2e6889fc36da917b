"""Has a sampler converged? Split R-hat and effective sample size of traced values (Vehtari and others 2021)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def split_rhat(trace: Array) -> Array:
    """Split R-hat of every column of trace (steps, values): the two halves as two chains; NaN below 4 steps."""
    half = len(trace) // 2
    if half < 2:
        return np.full(trace.shape[1], np.nan)
    parts = np.stack([trace[:half], trace[-half:]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = half * parts.mean(axis=1).var(axis=0, ddof=1)
    total = (half - 1) / half * within + between / half
    return np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))


def effective_size(trace: Array) -> Array:
    """Effective number of independent draws of every column of trace (steps, values), by Geyer's initial sequence."""
    steps = len(trace)
    if steps < 4:
        return np.full(trace.shape[1], float(steps))
    centred = trace - trace.mean(axis=0)
    waves = np.fft.rfft(centred, 2 * steps, axis=0)
    power = np.fft.irfft(np.abs(waves) ** 2, axis=0)[:steps]
    rho = np.divide(power, power[0], out=np.zeros_like(power), where=power[0] > 0)
    pairs = rho[: steps // 2 * 2].reshape(-1, 2, trace.shape[1]).sum(axis=1)
    positive = np.minimum.accumulate(np.maximum(pairs, 0), axis=0) * np.logical_and.accumulate(pairs > 0, axis=0)
    return steps / np.maximum(2 * positive.sum(axis=0) - 1, 1 / steps)


def summary(trace: Array) -> dict[str, float]:
    """{"rhat": the 95 % point over the traced values, "ess": their median}, what cannot be told left out."""
    out = {"rhat": float(np.quantile(split_rhat(trace), 0.95)), "ess": float(np.median(effective_size(trace)))}
    return {k: round(v, 4) for k, v in out.items() if np.isfinite(v)}
