"""Commands of `tensorfill bench` on pictures, cubes and video."""

from __future__ import annotations

from typing import Annotated

import typer

from tensorfill_benchmarks.cli_options import Again, Images, Names, Out


def holes(
    images: Images,
    out: Out = "out/holes",
    names: Names = None,
    crop: Annotated[int | None, typer.Option(metavar="N", min=32, help="Only the middle N x N pixels of each.")] = None,
    again: Again = False,
) -> None:
    """Scratches, text and holes in photographs, beside scikit-image and OpenCV: OUT/holes.csv, holes.md.

    What is not installed is left out with a sentence. A cell that is in the CSV is not run again.
    """
    from tensorfill_benchmarks import console
    from tensorfill_benchmarks.holes import csv_file, run, table

    report, left_out = console.carry_out(
        "holes", out, lambda bar: run(images, out, console.words(names), bar, crop=crop, again=again)
    )
    console.show("PSNR inside the gaps in dB / SSIM", *table(csv_file(out).rows()))
    console.end(report, [f"{out}/holes.{ending}" for ending in ("csv", "md")], left_out)


def large(images: Images, out: Out = "out/large", names: Names = None, again: Again = False) -> None:
    """A mosaic of 12 megapixels from a folder of pictures, and a part of it also as a whole: OUT/large.csv.

    It takes long, and wants an idle machine. A cell that is in the CSV is not run again.
    """
    from tensorfill_benchmarks import console
    from tensorfill_benchmarks.large import csv_file, run, table

    report = console.carry_out("large", out, lambda bar: run(images, out, console.words(names), bar, again=again))
    console.show("Large pictures", *table(csv_file(out).rows()))
    console.end(report, [f"{out}/large.csv"])


def cubes(
    out: Out = "out/cubes",
    names: Annotated[str | None, typer.Option(metavar="a,b", help="Which data: 'indian pines', carphone.")] = None,
    rates: Annotated[
        str | None,
        typer.Option(metavar="60,90", help="Percent missing; by default 80,90,95,99 of the cube, 80,95 of the video."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="a,b", help="Which methods; by default auto-best and five others.")
    ] = None,
    again: Again = False,
) -> None:
    """A whole spectral cube and a colour video, by several methods: OUT/cubes.csv, cubes.md.

    What is not installed is left out with a sentence. A cell that is in the CSV is not run again.
    """
    from tensorfill_benchmarks import console
    from tensorfill_benchmarks.cubes import csv_file, run, table

    shares = None if rates is None else console.numbers("--rates", rates, float)
    given = (console.words(names), shares, console.words(methods))
    report, left_out = console.carry_out("cubes", out, lambda bar: run(out, *given, bar, again=again))
    console.show("PSNR over the missing entries, dB", *table(csv_file(out).rows()))
    console.end(report, [f"{out}/cubes.csv", f"{out}/cubes.md"], left_out)
