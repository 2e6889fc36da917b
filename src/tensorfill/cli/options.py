"""The options of the commands: how they are typed, and what --help says of them."""

from __future__ import annotations

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
    numbers = [whole(part.strip()) for part in text.split(",")] if "," in text else whole(text)
    return tuple(numbers) if isinstance(numbers, list) else numbers


def real(text: str) -> float:
    """A number; the sentence goes on from the name of the option."""
    try:
        return float(text)
    except ValueError as error:
        msg = f"must be a number, like 2.5; got {text!r}."
        raise typer.BadParameter(msg) from error


Seed = Annotated[
    int, typer.Option(metavar="S", parser=whole, help="Seed of everything random: same seed, same answer.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="A", help="Keep the data with the workers of this Dask scheduler: its address or file."),
]
Effort = Annotated[
    str,
    typer.Option(metavar="quick|normal|best", help="How much is tried: quick for a look, best takes longest."),
]
Folding = Annotated[
    str | None,
    typer.Option(
        metavar="D=u,v",
        help="Split a dimension of dates into several for the fit: time=day,hour; or every 24 steps: t=24.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(metavar="a,b", help="Dimensions that are one time axis, from the outer to the inner: day,hour."),
]
FillUnseen = Annotated[
    bool, typer.Option("--fill-unseen", help="Fill cells without a value at any time (land in a sea cube), too.")
]
MaxGap = Annotated[
    int | None, typer.Option(metavar="N", parser=whole, help="Leave gaps of more than N steps along time unfilled.")
]
Horizon = Annotated[int | None, typer.Option(metavar="N", parser=whole, help="Predict N steps after the last, too.")]
MaxIter = Annotated[int | None, typer.Option(metavar="N", parser=whole, help="Stop after N iterations.")]
Seconds = Annotated[float | None, typer.Option(metavar="S", parser=real, help="Stop after S seconds.")]
Report = Annotated[str | None, typer.Option(metavar="R.html", help="Write a report: one page that explains itself.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no summary, no notes.")]
ErrorBars = Annotated[
    str | None,
    typer.Option(metavar="F", help="Also write how far off each filled entry may be: 90 % are nearer. Twice the time."),
]
Smooth = Annotated[
    list[str],
    typer.Option(metavar="MODE=RHO", help="Smoothness along a mode, by name or number; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")]


Source = Annotated[str, typer.Argument(metavar="IN", help="File, or 'parts/*.parquet'; - for standard input.")]
Out = Annotated[
    str,
    typer.Option(
        "--out", "-o", metavar="OUT", help="File to write; its ending says the format. - for standard output."
    ),
]
Mask = Annotated[
    str | None, typer.Option(metavar="F", help="Picture or array: zero (black) = missing, else (white) = known.")
]
Prior = Annotated[
    str | None,
    typer.Option(metavar="P", help="What kind of numbers these are, e.g. poisson, binomial(4); see: list priors."),
]
ModelName = Annotated[
    str | None, typer.Option(metavar="M", help="Low-rank form: cp, tucker, tt, tr or tubal; see: list models.")
]
Rank = Annotated[
    str | None, typer.Option(metavar="R", parser=ranks, help="Rank of the model; 8,8,3 where it has several.")
]
Texture = Annotated[
    str | None, typer.Option(metavar="T", help="Holes in pictures: smooth (least error) or sharp (looks real).")
]
MethodName = Annotated[str, typer.Option(metavar="M", help="Which method; see: list methods.")]
Unrounded = Annotated[
    bool,
    typer.Option("--unrounded", help="Do not round, also where the data are whole numbers."),
]
MissingValue = Annotated[
    str | None,
    typer.Option(metavar="V", help="Missing besides NaN: a number, e.g. -999; in tables also a text."),
]
Dims = Annotated[
    str | None, typer.Option(metavar="a,b,c", help="Table: its dimension columns. Array: names of its modes.")
]
Value = Annotated[str | None, typer.Option(metavar="v", help="Table: its value column.")]
Variable = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which array of a file with several (.npz .mat .nc .zarr).")
]
AlphaMissing = Annotated[bool, typer.Option("--alpha-missing", help="Transparent pixels are missing.")]
FormatName = Annotated[
    str | None,
    typer.Option(metavar="F", help="Format, where a file name does not say it; see: list formats."),
]
At = Annotated[
    str | None, typer.Option(metavar="F", help="Write only the entries listed there (.tns, or a table like IN).")
]
MaxMemory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Most memory to take, e.g. 4GB; by default half of what is free.")
]
Save = Annotated[
    str | None,
    typer.Option(metavar="RUN.npz", help="Also save the run: for tensorfill extend, or Completion.load."),
]
Checkpoint = Annotated[str | None, typer.Option(metavar="F", help="Save the run to this file as it goes.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")]
