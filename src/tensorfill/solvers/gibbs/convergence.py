"""Has a sampler converged? Split R-hat and effective sample size of traced values (Vehtari and others 2021)."""

from __future__ import annotations

import numpy as np

from tensorfill.typing import Array


def split_rhat(chains: Array) -> Array:
    """Split R-hat of every value of chains (chains, steps, values): halves count as chains; NaN below 4 steps."""
    half = chains.shape[1] // 2
    if half < 2:
        return np.full(chains.shape[2], np.nan)
    parts = np.concatenate([chains[:, :half], chains[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = half * parts.mean(axis=1).var(axis=0, ddof=1)
    total = (half - 1) / half * within + between / half
    return np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))


def effective_size(chains: Array) -> Array:
    """Effective number of independent draws of every value of chains (chains, steps, values).

    By Geyer's initial sequence; chains that disagree count for less.
    """
    m, steps = chains.shape[:2]
    if steps < 4:
        return np.full(chains.shape[2], float(m * steps))
    waves = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), 2 * steps, axis=1)
    power = np.fft.irfft(np.abs(waves) ** 2, axis=1)[:, :steps].mean(axis=0) / steps
    within = power[0] * steps / (steps - 1)
    total = power[0] + (chains.mean(axis=1).var(axis=0, ddof=1) if m > 1 else 0.0)
    lost = within - power
    rho = 1 - np.divide(lost, total, out=np.ones_like(lost), where=total > 0)
    rho[0] = 1
    pairs = rho[: steps // 2 * 2].reshape(-1, 2, chains.shape[2]).sum(axis=1)
    positive = np.minimum.accumulate(np.maximum(pairs, 0), axis=0) * np.logical_and.accumulate(pairs > 0, axis=0)
    return m * steps / np.maximum(2 * positive.sum(axis=0) - 1, 1 / (m * steps))


def summary(chains: Array) -> dict[str, float]:
    """{"rhat": the 95 % point over the values of chains (chains, steps, values), "ess": their median}; without what
    cannot be told.
    """
    out = {"rhat": float(np.quantile(split_rhat(chains), 0.95)), "ess": float(np.median(effective_size(chains)))}
    return {k: round(v, 4) for k, v in out.items() if np.isfinite(v)}
