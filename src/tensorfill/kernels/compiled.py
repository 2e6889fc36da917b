"""One decorator for compiled loops. Imports Numba: import it from kernel modules only, which load on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile with these options of `numba.njit`; keep the result on disk where there is a place to keep it.

    A read-only installation under a home that cannot be written to has none: Numba then refuses to cache, at import,
    and the function is compiled anew in each process.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # "cannot cache function": no directory to write to
            return numba.njit(**options)(function)

    return decorate
