"""Which line of the user's own code a warning is about."""

from __future__ import annotations

import sys
from types import FrameType

PACKAGE = __name__.partition(".")[0]


def find_stacklevel() -> int:
    """The `stacklevel` with which `warnings.warn`, at the place where this is called, names the first line outside
    this package.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    return level
