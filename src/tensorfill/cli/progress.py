"""A progress bar on standard error: iteration, held-out error or objective, time left. Silent unless on a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as RichProgress

from tensorfill.api import complete
from tensorfill.result.completion import Completion
from tensorfill.result.record import History
from tensorfill.terminal import INTERRUPTED, UserError, format_duration

RECENT = 20  # iterations over which the pace is taken


def plan_iterations(method: str, settings: Mapping[str, Any], max_iter: int | None) -> int | None:
    """How many iterations a fit takes at most, or None if that is not known before."""
    from tensorfill.methods import METHODS

    if max_iter is not None:
        return max_iter
    made: Any = METHODS[method](**settings)
    if hasattr(made, "limit"):
        return int(made.limit())
    return int(made.max_iter) if getattr(made, "max_iter", None) else None  # auto: several fits, of any length


def time_left(history: History, total: int | None, limit: float | None) -> float | None:
    """Seconds until the planned end, at the pace of the last iterations; the time limit may come first."""
    rows = history.rows
    last = rows[-1]
    ends = [] if limit is None else [limit - last.seconds]
    first = rows[-min(len(rows), RECENT)]
    if total is not None and last.iteration > first.iteration:
        ends.append((total - last.iteration) * (last.seconds - first.seconds) / (last.iteration - first.iteration))
    return min(ends, default=None)


class Progress:
    """A callback for `complete`, and the bar it moves."""

    def __init__(self, what: str, total: int | None, *, limit: float | None = None, show: bool = True) -> None:
        console = Console(stderr=True)
        self.shown = show and console.is_terminal
        self.total, self.limit, self.fits = total, limit, 0
        self.bar = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[iteration]}"),
            TextColumn("[dim]{task.fields[error]}"),
            TextColumn("[cyan]{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not self.shown,
        )
        self.what, self.during = what, ExitStack()
        self.task = self.bar.add_task(what, total=total, iteration="starting", error="", left="")

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
        total = self.total if self.total is not None and row.iteration <= self.total else None
        left = time_left(history, total, self.limit)
        self.bar.update(
            self.task,
            description=self.what + (f", fit {self.fits}" if self.fits > 1 else ""),
            completed=row.iteration,
            total=total,
            iteration=f"iteration {row.iteration}" + (f"/{total}" if total else ""),
            error=self._error(row.value, row.held_out),
            left="" if left is None else f"{format_duration(left)} left",
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
            error=f"error {error:.2g} standard deviations" if math.isfinite(error) else "",
            left=f"{share:.0%} of the time for trials" if share > 0 else "",
        )

    @staticmethod
    def _error(value: float, held_out: float) -> str:
        if math.isfinite(held_out):
            return f"held-out error {held_out:.4g}"
        return f"objective {value:.5g}" if math.isfinite(value) else ""
