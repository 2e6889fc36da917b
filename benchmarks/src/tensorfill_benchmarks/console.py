"""What the bench commands show: a bar over the cells with the time left, and their ends as sentences and exit codes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from tensorfill.terminal import BAD_USAGE, INTERRUPTED, UserError, as_user_error, format_duration
from tensorfill_benchmarks.cells import Progress, Report
from tensorfill_benchmarks.style import markdown

T = TypeVar("T")


class TimeLeft(ProgressColumn):
    """Counts down to the expected end between the cells too."""

    def render(self, task: Task) -> Text:
        end = task.fields.get("end")
        return Text("" if end is None else f"{format_duration(end - time.monotonic())} left", style="cyan")


class Bar:
    """Watches a run of cells: a bar on a terminal, a line per cell in a file."""

    def __init__(self, what: str) -> None:
        self.console = Console(stderr=True)
        self.bar = RichProgress(
            SpinnerColumn(),
            TextColumn(what),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeLeft(),
            TextColumn("[dim]{task.description}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("", total=None, end=None)

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.bar.stop()

    def __call__(self, now: Progress) -> None:
        end = None if now.seconds_left is None else time.monotonic() + now.seconds_left
        self.bar.update(self.task, completed=now.done, total=now.total, description=now.label, end=end)
        if not self.console.is_terminal and now.label:
            left = "" if now.seconds_left is None else f", about {format_duration(now.seconds_left)} left"
            typer.echo(f"{now.done + 1}/{now.total} {now.label}{left}", err=True)


def carry_out(what: str, out: str, work: Callable[[Bar], T]) -> T:
    """Run with a bar; what goes wrong is one sentence, and Ctrl-C loses nothing that was finished."""
    try:
        with as_user_error(BAD_USAGE), Bar(what) as bar:
            return work(bar)
    except UserError as error:
        typer.echo(f"tensorfill: {error.sentence}", err=True)
        raise typer.Exit(error.code) from error
    except KeyboardInterrupt:
        typer.echo(f"tensorfill: stopped. What is finished is in {out}; the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def end(report: Report, written: Sequence[object], left_out: Sequence[str] = ()) -> None:
    """Say what happened, and what was `left_out` and why; exit code 1 if a cell failed."""
    for sentence in left_out:
        typer.echo(f"left out  {sentence}", err=True)
    already = f", {report.already} were there already" if report.already else ""
    typer.echo(f"{report.ran} cells run{already}. Written: {', '.join(map(str, written)) or 'nothing'}")
    for sentence in report.failed:
        typer.echo(f"FAILED  {sentence}", err=True)
    if report.failed:
        raise typer.Exit(report.exit_code)


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal, Markdown in a pipe."""
    console = Console()
    if not console.is_terminal:
        typer.echo(f"## {title}\n\n{markdown(head, rows)}\n")
        return
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", padding=(0, 2))
    for k, name in enumerate(head):
        table.add_column(name, style="cyan" if k == 0 else "", justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def words(text: str | None) -> list[str] | None:
    """`a,b` as a list; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def numbers(option: str, text: str, kind: Callable[[str], T]) -> list[T]:
    """`60,90` as numbers, refused with a sentence."""
    try:
        out = [kind(part) for part in words(text) or []]
    except ValueError as error:
        msg = f"{option} must be numbers separated by commas; got {text!r}."
        raise typer.BadParameter(msg) from error
    if not out:
        msg = f"{option} must be numbers separated by commas; got nothing."
        raise typer.BadParameter(msg)
    return out
