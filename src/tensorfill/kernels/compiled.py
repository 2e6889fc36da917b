"""One decorator for compiled loops. Imports Numba: import it from kernel modules only, which load on first use."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event


def compiled(signature: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile with these options of `numba.njit`, at once if a signature is given; keep the result on disk.

    A division by zero gives infinity or NaN, as in NumPy: to look out for it would keep loops from vector registers.

    A read-only installation under a home that cannot be written to has no place for it: Numba then refuses to cache,
    at import, and the function is compiled anew in each process.
    """
    options.setdefault("error_model", "numpy")

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(signature, cache=True, **options)(function)
        except RuntimeError:  # "cannot cache function": no directory to write to
            return numba.njit(signature, **options)(function)

    return decorate


@contextmanager
def watch_compilation(tell: Callable[[], Any]) -> Iterator[None]:
    """Call `tell` whenever a function is compiled, which happens once after installation, within the block."""
    with event.install_listener("numba:compile", _Watch(tell)):
        yield


class _Watch(event.Listener):
    def __init__(self, tell: Callable[[], Any]) -> None:
        self.tell = tell

    def on_start(self, event: Any) -> None:
        self.tell()

    def on_end(self, event: Any) -> None:
        pass


class _WithoutCollection(event.Listener):
    """No garbage collection while Numba compiles: it goes through millions of living objects, an eighth of the time."""

    depth = 0  # functions are compiled while others are
    paused = False

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.paused = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.paused:
            gc.enable()


event.register("numba:compile", _WithoutCollection())
