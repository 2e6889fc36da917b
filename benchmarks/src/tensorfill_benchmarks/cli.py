"""`tensorfill bench ...`: one command per benchmark. Each calls its module's `run`, imported only then."""

from __future__ import annotations

from collections.abc import Callable

import typer

from tensorfill_benchmarks.cli_paper import ablation, figures, paper, table1
from tensorfill_benchmarks.cli_pictures import cubes, holes, large
from tensorfill_benchmarks.cli_speed import growth, solvers, speed
from tensorfill_benchmarks.cli_tables import choose, mixed, models, tables

app = typer.Typer(
    name="bench",
    help="Benchmarks; every figure goes to a CSV file first.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
)

# In the order of `tensorfill bench --help`; a command has the name of its function, with "-" for "_".
COMMANDS: list[Callable[..., None]] = [speed, solvers, table1, figures, ablation, paper]
COMMANDS += [holes, choose, models, tables, mixed, growth, large, cubes]

for command in COMMANDS:
    app.command()(command)
