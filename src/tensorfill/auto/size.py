"""Data too large for a contest of all candidates: which way is taken, and the memory it needs."""

from __future__ import annotations

from tensorfill.blocks.opening import is_large
from tensorfill.data.facts import is_picture
from tensorfill.data.observations import Observations
from tensorfill.methods.image.large import many_pixels

PER_ENTRY, PER_KNOWN = 80.0, 60.0  # bytes of memory that a large picture takes, by its resident size at 12 megapixels


def in_windows(obs: Observations) -> bool:
    """Is this a picture so large that it is completed window by window?"""
    return is_picture(obs) and many_pixels(obs.shape)


def in_blocks(obs: Observations) -> bool:
    """Is this a table so large that it is fitted block by block?"""
    return is_large(obs) and not in_windows(obs)


def memory(obs: Observations) -> float | None:
    """Bytes that windows or blocks take; None for data that need neither."""
    if in_blocks(obs):
        copies = obs.ndim + 2  # one sorted along each mode, what was given, what is not set aside
        return copies * (4.0 * obs.ndim + 8.0) * obs.nnz + 1300.0 * sum(obs.shape)
    return PER_ENTRY * obs.size + PER_KNOWN * obs.nnz if in_windows(obs) else None
