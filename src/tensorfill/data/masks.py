"""Random masks for experiments: bool arrays, True = observed. Shares are exact to the nearest whole number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def _check_share(missing: float) -> float:
    if not 0 <= missing < 1:
        msg = f"missing must be a share from 0 up to, but not including, 1; got {missing}. For 90 % write 0.9."
        raise ValueError(msg)
    return float(missing)


def _hide(count: int, missing: float, rng: np.random.Generator) -> Mask:
    """(count,) with round(missing * count) False, but at least one True."""
    observed = np.ones(count, dtype=bool)
    gone = min(round(_check_share(missing) * count), count - 1)
    observed[rng.choice(count, size=gone, replace=False)] = False
    return observed


def random_entries(shape: Sequence[int], missing: float, seed: int = 0) -> Mask:
    """Single entries missing, all equally likely.

    Parameters
    ----------
    shape : of the tensor
    missing : share missing, 0 <= missing < 1
    """
    rng = np.random.default_rng(seed)
    return _hide(math.prod(shape), missing, rng).reshape(tuple(shape))


def random_fibres(shape: Sequence[int], missing: float, mode: int | Sequence[int] = -1, seed: int = 0) -> Mask:
    """Whole fibres missing: all entries along `mode` together, e.g. all channels of a pixel, or a sensor's whole day.

    With several modes whole slices along them go missing.
    """
    full = tuple(int(n) for n in shape)
    modes = {m % len(full) for m in ((mode,) if isinstance(mode, int) else mode)}
    if not modes or len(modes) == len(full):
        msg = f"mode must name at least one mode of shape {full}, but not all; got {mode}."
        raise ValueError(msg)
    thin = tuple(1 if n in modes else length for n, length in enumerate(full))
    rng = np.random.default_rng(seed)
    return np.array(np.broadcast_to(_hide(math.prod(thin), missing, rng).reshape(thin), full))


def random_blocks(
    shape: Sequence[int], missing: float, block: Sequence[int], seed: int = 0, *, max_tries: int = 100_000
) -> Mask:
    """Boxes of size `block` missing, at random places, possibly overlapping, until the share is reached.

    Parameters
    ----------
    block : length along each mode; a length of the whole mode makes bars, e.g. (8, 8, 3) for a picture (H, W, 3)
    """
    full, size = tuple(int(n) for n in shape), tuple(int(b) for b in block)
    if len(size) != len(full) or any(not 1 <= b <= n for b, n in zip(size, full, strict=True)):
        msg = f"block must have one length per mode, each from 1 to that of shape {full}; got {size}."
        raise ValueError(msg)
    rng = np.random.default_rng(seed)
    observed = np.ones(full, dtype=bool)
    wanted = _check_share(missing) * observed.size
    for _ in range(max_tries):
        short = wanted - (observed.size - np.count_nonzero(observed))
        if short <= 0:
            break
        corner = [int(rng.integers(n - b + 1)) for n, b in zip(full, size, strict=True)]
        part = tuple(slice(c, c + b) for c, b in zip(corner, size, strict=True))
        # the last box only if it brings the share nearer to what was asked for
        if np.count_nonzero(observed[part]) - short > short:
            break
        observed[part] = False
    return observed
