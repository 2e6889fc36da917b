"""A line on standard error that moves: iteration, held-out error or objective, time. Silent unless on a terminal."""

from __future__ import annotations

import math
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from tensorfill.api import complete
from tensorfill.result.completion import Completion
from tensorfill.result.record import History
from tensorfill.terminal import INTERRUPTED, UserError, format_duration


class Progress:
    """A callback for `complete`, and the line it moves; `limit` is that of the run in seconds."""

    def __init__(self, what: str, *, limit: float | None = None, show: bool = True) -> None:
        console = Console(stderr=True)
        self.shown = show and console.is_terminal
        self.limit, self.fits = limit, 0
        self.bar = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TextColumn("{task.fields[iteration]}"),
            TextColumn("[dim]{task.fields[error]}"),
            TextColumn("[cyan]{task.fields[left]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not self.shown,
        )
        self.what, self.during = what, ExitStack()
        self.task = self.bar.add_task(what, total=None, iteration="starting", error="", left="")

    def __enter__(self) -> Progress:
        if self.shown:
            from tensorfill.kernels.compiled import watch_compilation  # Numba is slow to import

            self.bar.start()
            self.during.enter_context(watch_compilation(self.compiling))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.shown:
            self.during.close()
            self.bar.stop()

    def __call__(self, state: Any, history: History) -> None:
        """After every iteration."""
        if not self.shown:
            return
        row = history.rows[-1]
        if row.iteration == 0:  # some methods fit more than once, and the count begins anew
            self.fits += 1
        self.bar.update(
            self.task,
            description=self.what + (f", fit {self.fits}" if self.fits > 1 else ""),
            iteration=f"iteration {row.iteration}",
            error=self._error(row.value, row.held_out),
            left="" if self.limit is None else f"at most {format_duration(self.limit - row.seconds)} left",
            refresh=row.iteration < 2,  # a fit may be shorter than the time between two drawings
        )

    def complete(self, data: Any, **settings: Any) -> Completion:
        """`complete` under this bar; Ctrl-C before there is an answer is a sentence."""
        try:
            return complete(data, callback=self if self.shown else None, seconds=self.limit, **settings)
        except KeyboardInterrupt as error:
            msg = "interrupted before there was anything to write."
            raise UserError(msg, INTERRUPTED) from error

    def compiling(self) -> None:
        """News of loops that are compiled, which is kept on disk."""
        self.bar.update(self.task, iteration="compiling, once after installation", error="", left="")

    def reading(self, what: str, rows: int) -> None:
        """News of data that are read in pieces."""
        self.bar.update(self.task, description=f"{self.what}, {what}", iteration=f"{rows:,} rows", error="", left="")

    def tried(self, name: str, error: float, share: float) -> None:
        """Show news of a contest: what was tried and its error in standard deviations; NaN while it is being tried."""
        self.bar.update(
            self.task,
            description=f"{self.what}, trying",
            iteration=name,
            error=f"error {error:.2g} SD" if math.isfinite(error) else "",
            left=f"{share:.0%} of the time" if share > 0 else "",
        )

    @staticmethod
    def _error(value: float, held_out: float) -> str:
        if math.isfinite(held_out):
            return f"held-out error {held_out:.4g}"
        return f"objective {value:.5g}" if math.isfinite(value) else ""
