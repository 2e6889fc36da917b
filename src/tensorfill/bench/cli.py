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

    skipped: list[str] = []
    for row in run(out, quick=quick, skipped=skipped):
        typer.echo(f"{'ok    ' if row.ok else 'MISSED'}  {row.name}: {row.ratio:.3g} (target {row.target})")
    for sentence in skipped:
        typer.echo(f"left out: {sentence}")
    typer.echo(f"written: {out}/speed.csv")


@app.command()
def solvers(
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="Directory for the results.")] = "out/solvers",
    tables: Annotated[
        str | None, typer.Option(metavar="a,b", help="Of normal, poisson, bernoulli, each also with -even.")
    ] = None,
    only: Annotated[str | None, typer.Option("--solvers", metavar="a,b", help="Which; by default all.")] = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Each draws its own tables.")] = "0,1,2",
    seconds: Annotated[float, typer.Option(metavar="S", help="Of processor time, for each run.")] = 6.0,
    quick: Annotated[bool, typer.Option("--quick", help="Small tables, to see that it works.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Run also what is finished.")] = False,
) -> None:
    """Solvers on tables: objective and held-out loss against seconds. OUT/solvers.csv, then solvers.png."""
    from tensorfill.bench import console
    from tensorfill.bench import solvers as bench

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


Images = Annotated[str, typer.Option(metavar="DIR", help="Folder of pictures, of any names and sizes.")]
Names = Annotated[str | None, typer.Option(metavar="a,b", help="Which pictures of the folder, by name.")]
Methods = Annotated[
    str | None, typer.Option(metavar="a,b", help="Which methods; by default the paper's ten, auto and auto-best.")
]
Again = Annotated[bool, typer.Option("--again", help="Run also what is finished.")]


@app.command()
def table1(
    images: Images,
    out: Out = "out/table1",
    names: Names = None,
    rates: Annotated[str, typer.Option(metavar="60,90", help="Percent missing.")] = "60,70,80,90,95,99",
    methods: Methods = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Each gives a mask and a start.")] = "0",
    again: Again = False,
) -> None:
    """Table 1 of the paper, ours next to the printed numbers: OUT/table1.csv, table1.md, table1.html.

    A cell that is in the CSV is not run again, so a stopped run goes on, and methods and seeds can be added later.
    """
    from tensorfill.bench import console, layout
    from tensorfill.bench.table1 import csv_file, run

    at, each = console.numbers("--rates", rates, float), console.numbers("--seeds", seeds, int)
    report = console.carry_out(
        "table 1",
        out,
        lambda bar: run(images, console.words(names), at, console.words(methods), each, out, bar, again=again),
    )
    rows = csv_file(out).rows()
    if rows:
        console.show("Average PSNR in dB (the paper's)", *layout.averages(layout.arrange(rows)))
    console.end(report, [f"{out}/table1.{ending}" for ending in ("csv", "md", "html")] if rows else [])


@app.command()
def figures(
    images: Images,
    out: Out = "out/figures",
    only: Annotated[str | None, typer.Option(metavar="fig2,fig3", help="Of fig2, fig3, fig4, speed.")] = None,
    methods: Methods = None,
    names: Names = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Mask and start.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Of each run of Figure 3 (b) and of each solver; 120.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few iterations, to see that it works.")] = False,
    again: Again = False,
) -> None:
    """Figures 2, 3 and 4 of the paper, and PSNR against seconds: a CSV each, then PNGs."""
    from tensorfill.bench import console
    from tensorfill.bench.figures import run

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
            quick=quick,
            again=again,
        ),
    )
    if drawn.remark:
        typer.echo(f"{drawn.remark}.")
    console.end(report, drawn.files)


@app.command()
def ablation(
    images: Images,
    out: Out = "out/ablation",
    names: Names = None,
    rates: Annotated[str, typer.Option(metavar="60,90", help="Percent missing.")] = "60,90",
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Each gives a mask and a start.")] = "0",
    quick: Annotated[bool, typer.Option("--quick", help="A few iterations, to see that it works.")] = False,
    again: Again = False,
) -> None:
    """Sptc with Poisson and with Normal, and auto without each of its parts: OUT/ablation.csv, ablation.md.

    Without --names: house and tree, or the first two pictures.
    """
    from tensorfill.bench import console
    from tensorfill.bench.ablation import run
    from tensorfill.bench.plans import QUICK

    at, each = console.numbers("--rates", rates, float), console.numbers("--seeds", seeds, int)
    limit = QUICK.limit if quick else None
    report, tables = console.carry_out(
        "ablation",
        out,
        lambda bar: run(images, out, console.words(names), at, each, bar, limit=limit, again=again),
    )
    for table in tables:
        console.show(table.title, table.head, table.rows)
    console.end(report, [f"{out}/ablation.{ending}" for ending in ("csv", "md")])


@app.command()
def paper(
    images: Images,
    out: Out = "out/paper",
    names: Names = None,
    rates: Annotated[str, typer.Option(metavar="60,90", help="Percent missing, in Table 1.")] = "60,70,80,90,95,99",
    methods: Methods = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Of the paper's ten methods.")] = "0",
    seeds_of_ours: Annotated[str, typer.Option(metavar="0,1", help="Of auto and auto-best.")] = "0,1,2",
    seconds: Annotated[float | None, typer.Option(metavar="S", help="Of each run of Figure 3 (b); 120.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few iterations, to see that it works.")] = False,
    again: Again = False,
) -> None:
    """All of the paper: Table 1, Figures 2, 3, 4, the ablation, and OUT/paper.html that sets each beside print.

    Cells that are finished are not run again, so a stopped run goes on; the page shows what there is.
    """
    from tensorfill.bench import console
    from tensorfill.bench.whole import run

    at = console.numbers("--rates", rates, float)
    each, ours = console.numbers("--seeds", seeds, int), console.numbers("--seeds-of-ours", seeds_of_ours, int)
    asked, some = console.words(names), console.words(methods)
    report, page = console.carry_out(
        "paper",
        out,
        lambda bar: run(images, out, asked, at, some, each, ours, bar, seconds=seconds, quick=quick, again=again),
    )
    console.end(report, [page])


@app.command("sptc-study")
def sptc_study(
    images: Images,
    out: Out = "out/sptc-study",
    names: Annotated[str, typer.Option(metavar="a,b", help="Which pictures of the folder, by name.")] = "house,tree",
    rates: Annotated[str, typer.Option(metavar="60,90", help="Percent missing.")] = "60,80,95",
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Each gives a mask and a start.")] = "0,1",
    only: Annotated[str | None, typer.Option(metavar="a,b", help="Of start, alpha, rho, epsilon, order.")] = None,
    iterations: Annotated[int, typer.Option(metavar="K", min=1, help="Of each run; it is scored on the way.")] = 20_000,
    again: Again = False,
) -> None:
    """Sptc with one thing changed at a time, and how far from print it is: OUT/sptc_study.csv, sptc_study.md.

    A run that is in the CSV is not run again.
    """
    from tensorfill.bench import console
    from tensorfill.bench.sptc_study import csv_file, run, summary

    at, each = console.numbers("--rates", rates, float), console.numbers("--seeds", seeds, int)
    asked, some = console.words(names), console.words(only)
    report = console.carry_out(
        "sptc-study",
        out,
        lambda bar: run(images, out, asked, at, each, some, bar, iterations=iterations, again=again),
    )
    console.show("Algorithm 3, one thing changed at a time", *summary(csv_file(out).rows()))
    console.end(report, [f"{out}/sptc_study.{ending}" for ending in ("csv", "md")])


@app.command()
def holes(
    images: Images,
    out: Out = "out/holes",
    names: Names = None,
    crop: Annotated[int | None, typer.Option(min=32, help="Only the middle so many pixels, each way.")] = None,
    again: Again = False,
) -> None:
    """Scratches, text and holes in photographs, beside scikit-image and OpenCV: OUT/holes.csv, holes.md.

    What is not installed is left out with a sentence. A cell that is in the CSV is not run again.
    """
    from tensorfill.bench import console
    from tensorfill.bench.holes import csv_file, run, table

    report, left_out = console.carry_out(
        "holes", out, lambda bar: run(images, out, console.words(names), bar, crop=crop, again=again)
    )
    console.show("PSNR inside the gaps in dB / SSIM", *table(csv_file(out).rows()))
    console.end(report, [f"{out}/holes.{ending}" for ending in ("csv", "md")], left_out)


@app.command()
def choose(
    out: Out = "out/choose",
    names: Annotated[
        str | None, typer.Option(metavar="a,b", help="Sets (wine), cells (wine/slices) or kinds of data (series).")
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Of auto; all others run with 0.")] = "0",
    images: Annotated[str | None, typer.Option(metavar="DIR", help="Folder with house and tree.")] = None,
    data: Annotated[str | None, typer.Option(metavar="DIR", help="Folder with hangzhou.mat.")] = None,
    only: Annotated[str | None, typer.Option(metavar="auto", help="Of auto, candidates, others.")] = None,
    half: Annotated[str | None, typer.Option(metavar="HALF", help="tuned or reported.")] = None,
    draws: Annotated[str, typer.Option(metavar="0,1", help="Of the gaps; the same for everyone.")] = "0",
    speed: Annotated[
        bool, typer.Option("--speed", help="Instead: processor time on table, ratings, counts, picture.")
    ] = False,
    again: Again = False,
) -> None:
    """The choice auto makes, on real data: its error over that of the best of all others. OUT/choose.csv, .md, .png.

    Others are every candidate of its contest alone, and what people use: means, interpolation, imputers. Sets whose
    package is not installed are left out with a sentence. A cell that is in the CSV is not run again.
    """
    from pathlib import Path

    from tensorfill.bench import choose_report, choose_speed, console
    from tensorfill.bench.choose import run
    from tensorfill.bench.choose_data import Places

    places = Places(Path(images) if images else None, Path(data) if data else None)
    each, drawn = console.numbers("--seeds", seeds, int), console.numbers("--draws", draws, int)
    asked, some = console.words(names), console.words(only)
    if speed:
        report, left_out = console.carry_out(
            "choose", out, lambda bar: choose_speed.run(out, asked, places, bar, again=again)
        )
        file = choose_speed.csv_file(out)
        console.show("Seconds of processor time", file.columns, [list(row.values()) for row in file.rows()])
        written: list[Path] = [file.path]
    else:
        report, left_out = console.carry_out(
            "choose",
            out,
            lambda bar: run(out, asked, each, places, bar, only=some, half=half, draws=drawn, again=again),
        )
        written = choose_report.write(out)
        lines = choose_report.arrange(choose_report.csv_file(out).rows())
        console.show("auto over the best of all others", *choose_report.summary(lines))
    console.end(report, written, left_out)


@app.command()
def models(
    out: Out = "out/models",
    names: Annotated[str | None, typer.Option(metavar="a,b", help="Which data: 'spectral cube', video, ...")] = None,
    rates: Annotated[str, typer.Option(metavar="60,90", help="Percent missing.")] = "80,95",
    data: Annotated[str | None, typer.Option(metavar="DIR", help="Folder with hangzhou.mat.")] = None,
    again: Again = False,
) -> None:
    """Every low-rank model at several ranks on real data: OUT/models.csv, models.md, models.png.

    Data whose package is not installed are left out with a sentence. A cell that is in the CSV is not run again.
    """
    from pathlib import Path

    from tensorfill.bench import console
    from tensorfill.bench.choose_data import Places
    from tensorfill.bench.models import csv_file, run, table, write

    at, asked = console.numbers("--rates", rates, float), console.words(names)
    places = Places(None, Path(data) if data else None)
    report, left_out = console.carry_out("models", out, lambda bar: run(out, asked, at, places, bar, again=again))
    written = write(out)
    console.show("Error over spread, at the rank chosen on held-out entries", *table(csv_file(out).rows()))
    console.end(report, written, left_out)


@app.command()
def tables(
    out: Out = "out/tables",
    names: Annotated[
        str | None, typer.Option(metavar="a,b", help="Data (hangzhou) or tasks ('hangzhou/A NM 40').")
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Of bayes; all others run with the first.")] = "0,1,2",
    data: Annotated[str | None, typer.Option(metavar="DIR", help="Folder with hangzhou.mat.")] = None,
    only: Annotated[str | None, typer.Option(metavar="bayes", help="Of others, bayes, auto.")] = None,
    again: Again = False,
) -> None:
    """The posterior and auto on tables, beside published figures and others. OUT/tables.csv, .md, .png.

    Counts over time, ratings, sensors, yes or no, mixed columns. What is not installed is left out with a sentence. A
    cell that is in the CSV is not run again.
    """
    from pathlib import Path

    from tensorfill.bench import console, tables_report
    from tensorfill.bench.choose_data import Places
    from tensorfill.bench.tables import run

    places, each = Places(None, Path(data) if data else None), console.numbers("--seeds", seeds, int)
    asked, some = console.words(names), console.words(only)
    report, left_out = console.carry_out(
        "tables", out, lambda bar: run(out, asked, each, places, bar, only=some, again=again)
    )
    written = tables_report.write(out)
    lines = tables_report.arrange(tables_report.csv_file(out).rows())
    for name in dict.fromkeys(line.task.data for line in lines):
        console.show(name, *tables_report.table([line for line in lines if line.task.data == name]))
    console.end(report, written, left_out)


@app.command()
def growth(
    out: Out = "out/growth",
    most: Annotated[float, typer.Option(metavar="N", help="Observations of the largest.")] = 2e7,
    rank: Annotated[int, typer.Option(metavar="R", help="Along the axis of observations.")] = 32,
    axes: Annotated[str, typer.Option(metavar="a,b", help="Which axes.")] = "observations,rank,length,order,workers",
    workers: Annotated[str, typer.Option(metavar="1,2", help="Processes of a Dask cluster on this machine.")] = "1,2",
) -> None:
    """Time and memory against observations, rank, length, order and workers: OUT/growth.csv, growth.png."""
    from importlib.util import find_spec

    from tensorfill.bench import console
    from tensorfill.bench.growth import FROM, TIMES, points, run, slope

    asked = console.words(axes) or []
    if "workers" in asked and find_spec("distributed") is None:
        typer.echo("left out: workers, which need distributed; install it with: pip install 'tensorfill[dask]'")
        asked.remove("workers")
    wanted = points(most, rank, asked, console.numbers("--workers", workers, int))
    done = run(
        out, wanted, lambda p: typer.echo(f"{p.axis} {p.x:g}: {p.sweep_seconds:.3g} s a sweep, {p.peak_gb:.2f} GB")
    )
    for axis in dict.fromkeys(p.axis for p in done):
        some = [p for p in done if p.axis == axis]
        least = FROM if axis == "observations" else 0.0
        words = ", ".join(f"{what.split('_')[0]} {slope(some, what, least):.2f}" for what in (*TIMES, "peak_gb"))
        typer.echo(f"slopes along {axis}: {words}")
    typer.echo(f"written: {out}/growth.csv, {out}/growth.png")


from tensorfill.bench import cli_pictures as _pictures  # noqa: E402, F401  its commands are put to app
