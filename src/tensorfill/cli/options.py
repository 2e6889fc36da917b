"""The options of the commands: how they are typed, and what --help says of them. A command takes the fields of one of
these classes, and the class that does the work derives from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer


def whole(text: str) -> int:
    """A whole number; the sentence goes on from the name of the option."""
    try:
        return int(text)
    except ValueError as error:
        msg = f"must be a whole number, like 10; got {text!r}."
        raise typer.BadParameter(msg) from error


def ranks(text: str) -> Any:
    """A whole number, or several: 8,8,3."""
    return tuple(whole(part.strip()) for part in text.split(",")) if "," in text else whole(text)


def real(text: str) -> float:
    """A number; the sentence goes on from the name of the option."""
    try:
        return float(text)
    except ValueError as error:
        msg = f"must be a number, like 2.5; got {text!r}."
        raise typer.BadParameter(msg) from error


def option(help: str, metavar: str | None = None, *names: str, **more: Any) -> Any:
    """An option, with what --help says of it and how its value is shown there."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


Effort = Annotated[str, option("How much is tried: quick for a look, best takes longest.", "quick|normal|best")]
Seed = Annotated[int, option("Seed of everything random: same seed, same answer.", "S", parser=whole)]
Report = Annotated[str | None, option("Write a report: one page that explains itself.", "R.html")]
MaxIter = Annotated[int | None, option("Stop after N iterations.", "N", parser=whole)]
Seconds = Annotated[float | None, option("Stop after S seconds.", "S", parser=real)]
Quiet = Annotated[bool, option("No progress bar, no summary, no notes.", None, "--quiet", "-q")]
AsJson = Annotated[bool, option("Print the summary as JSON on standard output.", None, "--json")]


@dataclass(frozen=True)
class CompleteOptions:
    """Fill the gaps in a file. NaN, blank cells and absent rows are gaps; so is what --mask or --missing-value says.

    Example: tensorfill complete photo.png --mask mask.png -o filled.png

    Ctrl-C stops the run and writes the best so far.
    """

    source: Annotated[str, typer.Argument(metavar="IN", help="File, or 'parts/*.parquet'; - for standard input.")]
    out: Annotated[
        str, option("File to write; its ending says the format. - for standard output.", "OUT", "--out", "-o")
    ]
    mask: Annotated[str | None, option("Picture or array: zero (black) = missing, else (white) = known.", "F")] = None
    prior: Annotated[
        str | None, option("What kind of numbers these are, e.g. poisson, binomial(4); see: list priors.", "P")
    ] = None
    model: Annotated[str | None, option("Low-rank form: cp, tucker, tt, tr or tubal; see: list models.", "M")] = None
    rank: Annotated[Any, option("Rank of the model; 8,8,3 where it has several.", "R", parser=ranks)] = None
    smooth: Annotated[
        list[str], option("Smoothness along a mode, by name or number; may be repeated.", "MODE=RHO")
    ] = ()  # type: ignore[assignment]  # a list cannot be a default, and what is given becomes a tuple
    texture: Annotated[str | None, option("Holes in pictures: smooth (least error) or sharp (looks real).", "T")] = None
    method: Annotated[str, option("Which method; see: list methods.", "M")] = "auto"
    effort: Effort = "normal"
    seed: Seed = 0
    report: Report = None
    error_bars: Annotated[
        str | None, option("Also write how far off each filled entry may be: 90 % are nearer. Twice the time.", "F")
    ] = None
    unrounded: Annotated[bool, option("Do not round, also where the data are whole numbers.", None, "--unrounded")] = (
        False
    )
    missing_value: Annotated[
        str | None, option("Missing besides NaN: a number, e.g. -999; in tables also a text.", "V")
    ] = None
    dims: Annotated[str | None, option("Table: its dimension columns. Array: names of its modes.", "a,b,c")] = None
    value: Annotated[str | None, option("Table: its value column.", "v")] = None
    variable: Annotated[str | None, option("Which array of a file with several (.npz .mat .nc .zarr).", "NAME")] = None
    alpha_missing: Annotated[bool, option("Transparent pixels are missing.", None, "--alpha-missing")] = False
    format: Annotated[str | None, option("Format, where a file name does not say it; see: list formats.", "F")] = None
    at: Annotated[str | None, option("Write only the entries listed in this table (.csv or .parquet).", "F")] = None
    fold: Annotated[
        str | None,
        option("Split a dimension of dates into several for the fit: time=day,hour; or every 24 steps: t=24.", "D=u,v"),
    ] = None
    time: Annotated[
        str | None, option("Dimensions that are one time axis, from the outer to the inner: day,hour.", "a,b")
    ] = None
    max_gap: Annotated[
        int | None, option("Leave gaps of more than N steps along time unfilled.", "N", parser=whole)
    ] = None
    fill_unseen: Annotated[
        bool, option("Fill cells without a value at any time (land in a sea cube), too.", None, "--fill-unseen")
    ] = False
    horizon: Annotated[int | None, option("Predict N steps after the last, too.", "N", parser=whole)] = None
    max_memory: Annotated[
        str | None, option("Most memory to take, e.g. 4GB; by default half of what is free.", "SIZE")
    ] = None
    scheduler: Annotated[
        str | None, option("Keep the data with the workers of this Dask scheduler: its address or file.", "A")
    ] = None
    save: Annotated[str | None, option("Also save the run: for tensorfill extend, or Completion.load.", "RUN.npz")] = (
        None
    )
    checkpoint: Annotated[str | None, option("Save the run to this file as it goes.", "F")] = None
    resume: Annotated[bool, option("Go on from the checkpoint.", None, "--resume")] = False
    max_iter: MaxIter = None
    seconds: Seconds = None
    quiet: Quiet = False
    as_json: AsJson = False


@dataclass(frozen=True)
class ExtendOptions:
    """Fill rows that arrived later with a saved run: no new fit."""

    run_file: Annotated[
        str, typer.Argument(metavar="RUN.npz", help="A run saved by complete --save, or Completion.save.")
    ]
    source: Annotated[str, typer.Argument(metavar="NEW", help="A table of new rows, with the columns of the first.")]
    out: Annotated[str, option("File to write; its ending says the format.", "OUT", "--out", "-o")]
    quiet: Quiet = False


@dataclass(frozen=True)
class DemoOptions:
    """Complete a photograph most of which is missing."""

    out: Annotated[str, option("The picture to write.", "OUT", "--out", "-o")] = "out/demo.png"
    missing: Annotated[float, option("Percent of the numbers to take away.", "P", parser=real)] = 80
    effort: Effort = "normal"
    seed: Seed = 0
    report: Report = None
    max_iter: MaxIter = None
    seconds: Seconds = None
    quiet: Quiet = False
    as_json: AsJson = False


@dataclass(frozen=True)
class AppOptions:
    """Open a page in the browser: drop a file, fill its gaps."""

    port: Annotated[
        int | None, option("Port to serve at; 0: any free one. By default 8765, or any free one.", "N", parser=whole)
    ] = None
    no_open: Annotated[bool, option("Only print the address, open no browser.", None, "--no-open")] = False
