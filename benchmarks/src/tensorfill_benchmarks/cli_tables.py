"""Commands of `tensorfill bench` on real data of many kinds."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorfill_benchmarks.cli_options import Again, Data, Out, Rates


def choose(
    out: Out = "out/choose",
    names: Annotated[
        str | None,
        typer.Option(metavar="a,b", help="Which sets (wine), cells (wine/slices) or kinds of data (series)."),
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Seeds of auto; all others run with 0.")] = "0",
    images: Annotated[str | None, typer.Option(metavar="DIR", help="Folder with house and tree.")] = None,
    data: Data = None,
    only: Annotated[str | None, typer.Option(metavar="a,b", help="Run only these: auto, candidates, others.")] = None,
    half: Annotated[
        str | None, typer.Option(metavar="HALF", help="Only this half of the sets: tuned or reported.")
    ] = None,
    draws: Annotated[
        str, typer.Option(metavar="0,1", help="Draws of the gaps, which are the same for everyone.")
    ] = "0",
    speed: Annotated[
        bool, typer.Option("--speed", help="Instead: processor time on a table, ratings, counts and a picture.")
    ] = False,
    again: Again = False,
) -> None:
    """The choice auto makes, on real data: its error over that of the best of all others. OUT/choose.csv, .md, .png.

    OUT/choose_seconds.png sets errors against processor time, for auto and all others.

    Others are every candidate of its contest alone, and what people use: means, interpolation, imputers. Sets whose
    package is not installed are left out with a sentence. A cell that is in the CSV is not run again.
    """
    from pathlib import Path

    from tensorfill_benchmarks import choose_lines, choose_report, choose_speed, console
    from tensorfill_benchmarks.choose import run
    from tensorfill_benchmarks.choose_data import Places

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
        lines = choose_lines.arrange(choose_lines.csv_file(out).rows())
        console.show("Error over that of the best, and seconds of processor time", *choose_report.standings(lines))
        console.show("auto over the best of all others", *choose_report.summary(lines))
    console.end(report, written, left_out)


def mixed(
    out: Out = "out/mixed",
    names: Annotated[str | None, typer.Option(metavar="a,b", help="Which tables: iris, mpg, ...")] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="a,b", help="Which methods: tensorfill, KNNImputer, ...")
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Seeds of the gaps and of the methods.")] = "0",
    data: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of CSV files with tables without gaps.")
    ] = None,
) -> None:
    """Tables with numbers and categories beside the imputers people use: OUT/mixed.csv, mixed.md, mixed.png.

    30 % of the cells are hidden at random, by another column, by their own value, or in blocks as in questionnaires.
    A cell that is in the CSV is not run again.
    """
    from pathlib import Path

    from tensorfill_benchmarks import console
    from tensorfill_benchmarks import mixed as bench

    each = console.numbers("--seeds", seeds, int)
    rows = bench.run(out, Path(data) if data else None, console.words(names), console.words(methods), each)
    board = bench.standings(rows)
    console.show("Error over that of the best other", list(board.columns), board.to_numpy().tolist())
    for path in bench.write(out, rows):
        print(path)


def models(
    out: Out = "out/models",
    names: Annotated[str | None, typer.Option(metavar="a,b", help="Which data: 'spectral cube', video, ...")] = None,
    rates: Rates = "80,95",
    data: Data = None,
    again: Again = False,
) -> None:
    """Every low-rank model at several ranks on real data: OUT/models.csv, models.md, models.png.

    Data whose package is not installed are left out with a sentence. A cell that is in the CSV is not run again.
    """
    from pathlib import Path

    from tensorfill_benchmarks import console
    from tensorfill_benchmarks.choose_data import Places
    from tensorfill_benchmarks.models import csv_file, run, table, write

    at, asked = console.numbers("--rates", rates, float), console.words(names)
    places = Places(None, Path(data) if data else None)
    report, left_out = console.carry_out("models", out, lambda bar: run(out, asked, at, places, bar, again=again))
    written = write(out)
    console.show("Error over spread, at the rank chosen on held-out entries", *table(csv_file(out).rows()))
    console.end(report, written, left_out)


def tables(
    out: Out = "out/tables",
    names: Annotated[
        str | None, typer.Option(metavar="a,b", help="Which data (hangzhou) or tasks ('hangzhou/A NM 40').")
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="0,1", help="Seeds of bayes; all others run with the first.")] = "0,1,2",
    data: Data = None,
    only: Annotated[str | None, typer.Option(metavar="a,b", help="Run only these: others, bayes, auto.")] = None,
    again: Again = False,
) -> None:
    """The posterior and auto on tables, beside published figures and others. OUT/tables.csv, .md, .png.

    Counts over time, ratings, sensors, yes or no, mixed columns. What is not installed is left out with a sentence. A
    cell that is in the CSV is not run again.
    """
    from pathlib import Path

    from tensorfill_benchmarks import console, tables_report
    from tensorfill_benchmarks.choose_data import Places
    from tensorfill_benchmarks.tables import run

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
