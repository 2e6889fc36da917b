"""Which modes have neighbours to be smooth with: one rule for the methods that smooth along modes."""

from __future__ import annotations

from collections.abc import Sequence

SHORT = 4  # up to four indices are taken for channels (grey, alpha, RGB, CMYK), not for places or times


def long_modes(shape: Sequence[int]) -> list[int]:
    """The modes longer than 4; all modes if none is."""
    return [n for n, length in enumerate(shape) if length > SHORT] or list(range(len(shape)))
