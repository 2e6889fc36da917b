"""Small data sets for examples, tests and trials. All but `photograph` are synthetic; the same seed, the same data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.masks import random_fibres

Float = NDArray[np.float64]
Mask = NDArray[np.bool_]


def photograph() -> NDArray[np.uint8]:
    """A colour photograph, (600, 512, 3) uint8: Grace Hopper, from Matplotlib's sample data (public domain)."""
    from matplotlib.cbook import get_sample_data
    from PIL import Image

    path = get_sample_data("grace_hopper.jpg", asfileobj=False)
    with Image.open(str(path)) as image:
        return np.array(image.convert("RGB"))


def _bumps(length: int, rank: int, rng: np.random.Generator, width: float = 0.15) -> Float:
    """(length, rank): smooth positive bumps, at random places."""
    at = np.linspace(0, 1, length)[:, None]
    centre, spread = rng.uniform(0, 1, rank), width * rng.uniform(0.5, 1.5, rank)
    return np.exp(-0.5 * ((at - centre) / spread) ** 2)


def _sum(*factors: Float) -> Float:
    """The CP tensor of factor matrices (I_n, R)."""
    out = factors[0]
    for factor in factors[1:]:
        out = out[..., None, :] * factor
    return out.sum(axis=-1)


def video(shape: tuple[int, int, int, int] = (12, 36, 48, 3), seed: int = 0) -> NDArray[np.uint8]:
    """A short colour video (frame, row, column, channel) uint8: soft discs that drift over a shaded background."""
    frames, rows, columns, channels = shape
    rng = np.random.default_rng(seed)
    time, y, x = np.ogrid[0 : 1 : frames * 1j, 0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
    shade = np.stack([60 + 80 * (a * x + (1 - a) * y) for a in rng.uniform(0, 1, channels)], axis=-1)
    out = np.broadcast_to(shade, shape).copy()
    for _ in range(3):
        start, speed = rng.uniform(0.2, 0.8, 2), rng.uniform(-0.4, 0.4, 2)
        radius, colour = rng.uniform(0.08, 0.2), rng.uniform(-100, 140, channels)
        distance = np.hypot(y - start[0] - speed[0] * time, x - start[1] - speed[1] * time)
        out += np.clip((radius - distance) / 0.04, 0, 1)[..., None] * colour
    return np.clip(np.rint(out), 0, 255).astype(np.uint8)


def cube(shape: tuple[int, int, int] = (32, 32, 24), materials: int = 4, seed: int = 0, noise: float = 0.005) -> Float:
    """A hyperspectral-like cube (row, column, band), floats in about 0..1: patches of materials with smooth spectra."""
    rows, columns, bands = shape
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
    centre = rng.uniform(0, 1, (materials, 2))
    nearness = np.stack([-((y - cy) ** 2 + (x - cx) ** 2) / 0.02 for cy, cx in centre], axis=-1)
    abundance = np.exp(nearness - nearness.max(axis=-1, keepdims=True))
    abundance /= abundance.sum(axis=-1, keepdims=True)
    spectra = _bumps(bands, 3 * materials, rng, 0.2).reshape(bands, materials, 3).mean(axis=2)
    clean = abundance @ (0.1 + 0.8 * spectra.T)
    return np.maximum(clean + noise * rng.standard_normal(shape), 0.0)


def metro(
    shape: tuple[int, int, int] = (20, 14, 24), seed: int = 0, missing: float = 0.2, peak: float = 60.0
) -> tuple[NDArray[np.int64], Mask]:
    """Passenger counts (station, day, hour) and a mask: Poisson around a rank 3 mean, whole days of stations missing.

    Returns
    -------
    counts : int64, complete
    mask : True = observed
    """
    stations, days, hours = shape
    rng = np.random.default_rng(seed)
    hour = np.arange(hours) * 24 / hours
    daily = np.stack([np.exp(-0.5 * ((hour - h) / w) ** 2) for h, w in ((8, 1.2), (18, 1.8), (14, 4.0))], axis=1)
    weekend = (np.arange(days) % 7 >= 5)[:, None]
    calendar = np.where(weekend, [0.2, 0.3, 1.2], [1.0, 0.9, 0.5]) * rng.uniform(0.85, 1.15, (days, 1))
    mean = peak * _sum(rng.gamma(2.0, 0.4, (stations, 3)), calendar, daily)
    return rng.poisson(mean), random_fibres(shape, missing, mode=2, seed=seed)


def yesno(
    shape: tuple[int, int, int] = (30, 20, 12), seed: int = 0, missing: float = 0.3
) -> tuple[NDArray[np.bool_], Mask]:
    """Answers yes or no (person, question, week) and a mask; a rank 2 log-odds decides how likely a yes is.

    Returns
    -------
    answers : bool, complete
    mask : True = observed
    """
    rng = np.random.default_rng(seed)
    people, questions = rng.standard_normal((shape[0], 2)), rng.standard_normal((shape[1], 2))
    odds = 2.0 * _sum(people, questions, 0.4 + _bumps(shape[2], 2, rng, 0.4))
    answers = rng.random(shape) < 1 / (1 + np.exp(-odds))
    return answers, rng.random(shape) >= missing


def ratings(
    shape: tuple[int, int, int] = (40, 25, 4), seed: int = 0, missing: float = 0.7
) -> tuple[NDArray[np.int64], Mask]:
    """Ratings 1..5 (user, item, context) and a mask; most are missing.

    Returns
    -------
    stars : int64 from 1 to 5, complete
    mask : True = observed
    """
    rng = np.random.default_rng(seed)
    users, items = rng.standard_normal((shape[0], 2)), rng.standard_normal((shape[1], 2))
    taste = _sum(users, items, rng.uniform(0.6, 1.2, (shape[2], 2)))
    liked = rng.normal(0, 0.5, (1, shape[1], 1))
    stars = np.clip(np.rint(3.3 + 0.8 * taste + liked + 0.3 * rng.standard_normal(shape)), 1, 5).astype(np.int64)
    return stars, rng.random(shape) >= missing


def sensors(shape: tuple[int, int, int] = (15, 30, 24), seed: int = 0, missing: float = 0.25) -> Float:
    """Temperatures (sensor, day, hour) as floats; NaN where a sensor was off for a whole day."""
    rng = np.random.default_rng(seed)
    count, days, hours = shape
    height = rng.uniform(0, 1, (count, 1, 1))
    drift = np.cumsum(rng.normal(0, 0.8, days))[None, :, None]
    sun = np.sin(2 * np.pi * (np.arange(hours) / hours - 0.35)) * rng.uniform(3, 7, (1, days, 1))
    values = 15 + drift - 6 * height + (1 - 0.4 * height) * sun + 0.2 * rng.standard_normal(shape)
    values[~random_fibres(shape, missing, mode=2, seed=seed)] = np.nan
    return values
