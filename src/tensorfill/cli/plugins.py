"""Commands that packages installed beside this one add, as tensorfill-benchmarks adds `tensorfill bench`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint

import typer

from tensorfill.terminal import BAD_USAGE

GROUP = "tensorfill.commands"  # of entry points; each names a typer.Typer
BENCHMARKS = (
    "the benchmarks are a package of their own; install it in a clone of "
    "https://github.com/tensorfill/tensorfill with: pip install . ./benchmarks"
)


def add_commands(app: typer.Typer, found: Iterable[EntryPoint]) -> None:
    """Add the command of every entry point; a command that cannot be loaded says why when it is called."""
    names = set()
    for point in found:
        names.add(point.name)
        try:
            app.add_typer(point.load(), name=point.name)
        except Exception as error:  # of any kind: someone else's code must not keep the other commands from running
            package = point.dist.name if point.dist else point.value
            told = f"cannot load this command of {package}: {error}."
            _explain(app, point.name, "Not available: call it to see why.", told)
    if "bench" not in names:
        _explain(app, "bench", "Benchmarks: a package of their own, not installed.", BENCHMARKS)


def _explain(app: typer.Typer, name: str, help: str, sentence: str) -> None:
    """Add a command that prints `sentence`, whatever its arguments."""
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}

    @app.command(name, help=help, context_settings=anything, add_help_option=False)
    def explain() -> None:
        typer.echo(f"tensorfill: {sentence}", err=True)
        raise typer.Exit(BAD_USAGE)
