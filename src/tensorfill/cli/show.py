"""What is printed: the summary of a run and the lists, for people on a terminal and for programs in a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tensorfill.show import summary
from tensorfill.show.leaderboard import leaderboard, not_tried
from tensorfill.show.summary import quality

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion


def lines_about(done: Completion) -> list[tuple[str, str]]:
    """What to say about a run: (word, text)."""
    lines = [(word, text.replace("max_iter", "--max-iter")) for word, text in summary.lines_about(done, quality(done))]
    return [*lines, *(("tried", text) for text in leaderboard_lines(done))]


def leaderboard_lines(done: Completion, most: int = 5) -> list[str]:
    """The best lines of the leaderboard, how many more there are, and how many were not tried."""
    took_part = leaderboard(done)
    parts = [f" ({part}{' of the answer' * part.endswith('%')})" if part else "" for *_, part in took_part]
    lines = [f"{row[0]}: {row[1]}{part}" for row, part in zip(took_part[:most], parts, strict=False)]
    more = len(took_part) - most
    left = sum(len(names) for names, _ in not_tried(done))
    rest = [f"{more} more"] * (more > 0) + [f"{left} not tried"] * (left > 0)
    return [*lines, f"and {', '.join(rest)}: see --report or --json"] if rest else lines


def show_summary(title: str, lines: Sequence[tuple[str, str]], *, good: bool = True) -> None:
    """One screen on standard output: a panel on a terminal, plain lines otherwise."""
    console = Console()
    if not console.is_terminal:
        print(title)
        for word, text in lines:
            print(f"  {word:<9} {text}")
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for word, text in lines:
        style = ("green" if good else "yellow") if word == "status" else ""
        grid.add_row(word, Text(text, style=style))
    console.print(Panel.fit(grid, title=Text(title, style="bold"), title_align="left", border_style="dim"))


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal; in a pipe one line each, separated by tabs, without a header."""
    console = Console()
    if not console.is_terminal:
        for row in rows:
            print("\t".join(row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2))
    for k, name in enumerate(head):
        table.add_column(name, style="cyan" if k == 0 else "", no_wrap=k == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
