"""Which modes have neighbours to be smooth with: one rule for the methods that smooth along modes."""

from __future__ import annotations

from collections.abc import Sequence

from tensorfill.data.facts import CHANNELS


def long_modes(shape: Sequence[int]) -> list[int]:
    """The modes that are more than a handful of channels; all modes if none is."""
    return [n for n, length in enumerate(shape) if length > CHANNELS] or list(range(len(shape)))
