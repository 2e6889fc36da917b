"""Commands of `tensorfill bench` that repeat the paper."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorfill_benchmarks.cli_options import Again, Images, Methods, Names, Observed, Out, Quick, Rates, Seeds


def table1(
    images: Images,
    out: Out = "out/table1",
    names: Names = None,
    rates: Rates = "60,70,80,90,95,99",
    methods: Methods = None,
    seeds: Seeds = "0",
    observed: Observed = None,
    again: Again = False,
) -> None:
    """Table 1 of the paper, ours next to the printed numbers: OUT/table1.csv, table1.md, table1.html.

    A cell that is in the CSV is not run again, so a stopped run goes on, and methods and seeds can be added later.
    """
    from tensorfill_benchmarks import console, layout
    from tensorfill_benchmarks.table1 import csv_file, run

    at, each = console.numbers("--rates", rates, float), console.numbers("--seeds", seeds, int)
    report = console.carry_out(
        "table 1",
        out,
        lambda bar: run(
            images, console.words(names), at, console.words(methods), each, out, bar, observed=observed, again=again
        ),
    )
    rows = csv_file(out).rows()
    if rows:
        console.show("Average PSNR in dB (the paper's)", *layout.averages(layout.arrange(rows)))
    console.end(report, [f"{out}/table1.{ending}" for ending in ("csv", "md", "html")] if rows else [])


def figures(
    images: Images,
    out: Out = "out/figures",
    only: Annotated[str | None, typer.Option(metavar="a,b", help="Only these: fig2, fig3, fig4.")] = None,
    methods: Methods = None,
    names: Names = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Gives the mask and the start.")] = 0,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="Time of each run of Figure 3 (b); by default 120."),
    ] = None,
    observed: Observed = None,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """Figures 2, 3 and 4 of the paper: a CSV each, then PNGs."""
    from tensorfill_benchmarks import console
    from tensorfill_benchmarks.figures import run

    report, drawn = console.carry_out(
        "figures",
        out,
        lambda bar: run(
            images,
            out,
            console.words(only),
            console.words(methods),
            bar,
            names=console.words(names),
            seed=seed,
            seconds=seconds,
            observed=observed,
            quick=quick,
            again=again,
        ),
    )
    console.end(report, drawn)


def ablation(
    images: Images,
    out: Out = "out/ablation",
    names: Names = None,
    rates: Rates = "60,90",
    seeds: Seeds = "0",
    observed: Observed = None,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """The method sptc with Poisson and with Normal, and auto without each of its parts: OUT/ablation.csv, ablation.md.

    Without --names: house and tree, or the first two pictures.
    """
    from tensorfill_benchmarks import console
    from tensorfill_benchmarks.ablation import run
    from tensorfill_benchmarks.plans import QUICK

    at, each = console.numbers("--rates", rates, float), console.numbers("--seeds", seeds, int)
    limit = QUICK.limit if quick else None
    report, tables = console.carry_out(
        "ablation",
        out,
        lambda bar: run(images, out, console.words(names), at, each, bar, limit=limit, observed=observed, again=again),
    )
    for table in tables:
        console.show(table.title, table.head, table.rows)
    console.end(report, [f"{out}/ablation.{ending}" for ending in ("csv", "md")])


def paper(
    images: Images,
    out: Out = "out/paper",
    names: Names = None,
    rates: Annotated[str, typer.Option(metavar="60,90", help="Percent missing, in Table 1.")] = "60,70,80,90,95,99",
    methods: Methods = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Seeds of the paper's ten methods.")] = "0",
    seeds_of_ours: Annotated[str, typer.Option(metavar="0,1", help="Seeds of auto.")] = "0,1,2",
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Time of each run of Figure 3 (b); by default 120.")
    ] = None,
    observed: Observed = None,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """All of the paper: Table 1, Figures 2, 3, 4, the ablation, and OUT/paper.html that sets each beside print.

    Cells that are finished are not run again, so a stopped run goes on; the page shows what there is.
    """
    from tensorfill_benchmarks import console
    from tensorfill_benchmarks.whole import run

    at = console.numbers("--rates", rates, float)
    each, ours = console.numbers("--seeds", seeds, int), console.numbers("--seeds-of-ours", seeds_of_ours, int)
    asked, some = console.words(names), console.words(methods)
    report, page = console.carry_out(
        "paper",
        out,
        lambda bar: run(
            images,
            out,
            asked,
            at,
            some,
            each,
            ours,
            bar,
            seconds=seconds,
            observed=observed,
            quick=quick,
            again=again,
        ),
    )
    console.end(report, [page])
