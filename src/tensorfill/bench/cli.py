"""`tensorfill bench ...`: one command per benchmark. Each calls its module's `run`, imported only then."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Measure: every figure goes to a CSV file first.", no_args_is_help=False)

Out = Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="Directory for the results.")]


@app.callback()
def _bench() -> None:
    """Keeps each benchmark a command of its own, however few there are."""


@app.command()
def speed(
    out: Out = "out/bench",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see that it works.")] = False,
) -> None:
    """Speed, as ratios measured side by side in one run: OUT/speed.csv."""
    from tensorfill.bench.speed import run

    for row in run(out, quick=quick):
        typer.echo(f"{'ok    ' if row.ok else 'MISSED'}  {row.name}: {row.ratio:.3g} (target {row.target})")
    typer.echo(f"written: {out}/speed.csv")
