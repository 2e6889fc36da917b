"""Commands of `tensorfill bench` that measure time and memory."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorfill_benchmarks.cli_options import Again, Out, Quick


def speed(
    out: Out = "out/bench",
    quick: Quick = False,
) -> None:
    """Speed, as ratios measured side by side in one run: OUT/speed.csv."""
    from tensorfill_benchmarks.speed import run

    skipped: list[str] = []
    for row in run(out, quick=quick, skipped=skipped):
        typer.echo(f"{'ok    ' if row.ok else 'MISSED'}  {row.name}: {row.ratio:.3g} (target {row.target})")
    for sentence in skipped:
        typer.echo(f"left out: {sentence}")
    typer.echo(f"written: {out}/speed.csv")


def solvers(
    out: Out = "out/solvers",
    tables: Annotated[
        str | None,
        typer.Option(metavar="a,b", help="Which tables: normal, poisson, bernoulli, or one with -even behind it."),
    ] = None,
    only: Annotated[str | None, typer.Option("--solvers", metavar="a,b", help="Which solvers; by default all.")] = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Each draws its own tables.")] = "0,1,2",
    seconds: Annotated[float, typer.Option(metavar="S", help="Processor time of each run.")] = 6.0,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """Solvers on tables: objective and held-out loss against seconds. OUT/solvers.csv, then solvers.png."""
    from tensorfill_benchmarks import console
    from tensorfill_benchmarks import solvers as bench

    each, some = console.numbers("--seeds", seeds, int), console.words(only)
    report = console.carry_out(
        "solvers",
        out,
        lambda bar: bench.run(out, console.words(tables), some, each, bar, seconds=seconds, quick=quick, again=again),
    )
    file = bench.csv_file(out)
    console.show("To the same held-out loss, medians over seeds", *bench.summary(file.rows()))
    drawn = bench.draw(out)
    console.end(report, [file.path] if drawn is None else [file.path, drawn])


def growth(
    out: Out = "out/growth",
    most: Annotated[float, typer.Option(metavar="N", help="Observations of the largest data set.")] = 2e7,
    rank: Annotated[int, typer.Option(metavar="R", help="Rank along the axis of observations.")] = 32,
    axes: Annotated[str, typer.Option(metavar="a,b", help="Which axes.")] = "observations,rank,length,order,workers",
    workers: Annotated[str, typer.Option(metavar="1,2", help="Processes of a Dask cluster on this machine.")] = "1,2",
    again: Again = False,
) -> None:
    """Time and memory against observations, rank, length, order and workers: OUT/growth.csv, growth.png.

    Stop it at any time: the next run goes on from there.
    """
    from importlib.util import find_spec

    from tensorfill_benchmarks import console
    from tensorfill_benchmarks.growth import FROM, TIMES, Point, points, run, slope

    asked = console.words(axes) or []
    if "workers" in asked and find_spec("distributed") is None:
        typer.echo("left out: workers, which need distributed; install it with: pip install 'tensorfill[dask]'")
        asked.remove("workers")
    wanted = points(most, rank, asked, console.numbers("--workers", workers, int))

    def tell(p: Point) -> None:
        typer.echo(f"{p.axis} {p.x:g}: {p.sweep_seconds:.3g} s a sweep, {p.peak_gb:.2f} GB")

    done = run(out, wanted, tell, again=again)
    for axis in dict.fromkeys(p.axis for p in done):
        some = [p for p in done if p.axis == axis]
        least = FROM if axis == "observations" else 0.0
        words = ", ".join(f"{what.split('_')[0]} {slope(some, what, least):.2f}" for what in (*TIMES, "peak_gb"))
        typer.echo(f"slopes along {axis}: {words}")
    typer.echo(f"written: {out}/growth.csv, {out}/growth.png")
