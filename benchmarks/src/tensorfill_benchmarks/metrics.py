"""How good a filled picture is: PSNR as in the paper, and SSIM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.show import view

Array = NDArray[Any]

WINDOW, SIGMA = 11, 1.5  # Wang, Bovik, Sheikh and Simoncelli 2004
K1, K2 = 0.01, 0.03  # of the same paper


def peak_of(truth: Array) -> float:
    """The largest value the type of a picture can hold: 255 for 8 bit, 65535 for 16 bit."""
    dtype = np.asarray(truth).dtype
    if dtype in (np.uint8, np.uint16):
        return float(np.iinfo(dtype).max)
    msg = f"peak must be given for pictures of type {dtype}: only 8 and 16-bit ones say what white is. Use peak=1.0."
    raise ValueError(msg)


def psnr(estimate: Array, truth: Array, mask: NDArray[np.bool_], peak: float | None = None) -> float:
    """Peak signal-to-noise ratio in dB: clip to 0..peak, paste the observed, mean over all voxels, no rounding.

    Parameters
    ----------
    estimate, truth : of one shape
    mask : True = observed, of that shape
    peak : white; by default what the type of `truth` says
    """
    return view.psnr(estimate, truth, mask, peak_of(truth) if peak is None else peak)


def ssim(estimate: Array, truth: Array, mask: NDArray[np.bool_], peak: float | None = None) -> float:
    """Structural similarity with a Gaussian window of 11 and sigma 1.5, the mean over channels; clipped and pasted too.

    The mean leaves out the 5 rows and columns at each edge, where the window hangs over (unless nothing else is left).
    """
    peak = peak_of(truth) if peak is None else peak
    y = np.asarray(truth, dtype=np.float64)
    x = np.where(mask, y, np.clip(np.asarray(estimate, dtype=np.float64), 0, peak))
    planes = [(x, y)] if y.ndim == 2 else [(x[..., c], y[..., c]) for c in range(y.shape[-1])]
    return float(np.mean([_ssim_plane(a, b, peak) for a, b in planes]))


def _ssim_plane(x: Array, y: Array, peak: float) -> float:
    """SSIM of two grey pictures (H, W)."""
    from scipy.ndimage import gaussian_filter

    reach = WINDOW // 2

    def blur(a: Array) -> Array:
        return gaussian_filter(a, SIGMA, radius=reach, mode="reflect")

    mx, my = blur(x), blur(y)
    vx, vy, cov = blur(x * x) - mx * mx, blur(y * y) - my * my, blur(x * y) - mx * my
    c1, c2 = (K1 * peak) ** 2, (K2 * peak) ** 2
    s = (2 * mx * my + c1) * (2 * cov + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))
    inner = s[reach:-reach, reach:-reach]
    return float((inner if inner.size else s).mean())
