"""Commands of `tensorfill bench` for what is large or has many bands; `cli` puts them with the others."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorfill.bench.cli import Again, Images, Names, Out, app


@app.command()
def large(images: Images, out: Out = "out/large", names: Names = None, again: Again = False) -> None:
    """A mosaic of 12 megapixels from a folder of pictures, and a part of it also as a whole: OUT/large.csv.

    It takes long, and wants an idle machine. A cell that is in the CSV is not run again.
    """
    from tensorfill.bench import console
    from tensorfill.bench.large import csv_file, run, table

    report = console.carry_out("large", out, lambda bar: run(images, out, console.words(names), bar, again=again))
    console.show("Large pictures", *table(csv_file(out).rows()))
    console.end(report, [f"{out}/large.csv"])


@app.command()
def cubes(
    out: Out = "out/cubes",
    names: Annotated[str | None, typer.Option(metavar="a,b", help="indian pines, carphone.")] = None,
    rates: Annotated[str | None, typer.Option(metavar="80,95", help="Percentages missing.")] = None,
    methods: Annotated[str | None, typer.Option(metavar="a,b", help="Methods; auto-best and five others.")] = None,
    again: Again = False,
) -> None:
    """A whole spectral cube and a colour video, by several methods: OUT/cubes.csv, cubes.md.

    What is not installed is left out with a sentence. A cell that is in the CSV is not run again.
    """
    from tensorfill.bench import console
    from tensorfill.bench.cubes import csv_file, run, table

    shares = None if rates is None else console.numbers("--rates", rates, float)
    given = (console.words(names), shares, console.words(methods))
    report, left_out = console.carry_out("cubes", out, lambda bar: run(out, *given, bar, again=again))
    console.show("PSNR over the missing entries, dB", *table(csv_file(out).rows()))
    console.end(report, [f"{out}/cubes.csv", f"{out}/cubes.md"], left_out)
