"""The command line. Heavy imports are inside the commands, so that --help is quick."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Annotated, Any, NoReturn

import typer

from tensorfill import __version__
from tensorfill._cli.lists import What
from tensorfill._cli.problem import BAD_USAGE, INTERRUPTED, Problem
from tensorfill.bench.cli import app as bench_app

app = typer.Typer(
    name="tensorfill",
    help="Fill the gaps in pictures, video, tables and other multiway data.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: half as long, and quicker
    invoke_without_command=True,
)
app.add_typer(bench_app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tensorfill {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(BAD_USAGE)


def _run(job: Any) -> NoReturn:
    """Run it and end with its exit code; a Problem is one sentence on standard error."""
    try:
        code = job.run()
    except Problem as problem:
        typer.echo(f"tensorfill: {problem.sentence}", err=True)
        code = problem.code
    except KeyboardInterrupt:
        typer.echo("tensorfill: interrupted.", err=True)
        code = INTERRUPTED
    raise typer.Exit(code)


# Options that more than one command has
Seed = Annotated[int, typer.Option(metavar="S", help="Everything random follows from it.")]
Effort = Annotated[str, typer.Option(metavar="normal|best", help="best: pictures and video take a few times longer.")]
MaxIter = Annotated[int | None, typer.Option(metavar="N", help="Stop after so many iterations.")]
Seconds = Annotated[float | None, typer.Option(metavar="S", help="Stop after so many seconds.")]
Report = Annotated[str | None, typer.Option(metavar="R.html", help="Write a report: one page that explains itself.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no summary.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")]


@app.command()
def complete(
    source: Annotated[str, typer.Argument(metavar="IN", help="File to complete; - for standard input.")],
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="OUT", help="Where to; its ending says the format. - for standard output."),
    ],
    mask: Annotated[
        str | None, typer.Option(metavar="F", help="Picture or array: zero = missing, anything else = known.")
    ] = None,
    prior: Annotated[
        str | None, typer.Option(metavar="P", help="What kind of numbers these are; see: tensorfill list priors.")
    ] = None,
    rank: Annotated[int | None, typer.Option(metavar="R", help="Rank of the model.")] = None,
    smooth: Annotated[
        list[str] | None,
        typer.Option(metavar="MODE=RHO", help="Smoothness along a mode, by name or number; may be repeated."),
    ] = None,
    method: Annotated[str, typer.Option(metavar="M", help="See: tensorfill list methods.")] = "auto",
    effort: Effort = "normal",
    seed: Seed = 0,
    report: Report = None,
    error_bars: Annotated[
        str | None,
        typer.Option(
            metavar="F", help="Write there how far off each filled entry may be: 90 % are nearer. Twice the time."
        ),
    ] = None,
    missing_value: Annotated[
        float | None, typer.Option(metavar="V", help="This number means missing, e.g. -999; besides NaN.")
    ] = None,
    dims: Annotated[
        str | None, typer.Option(metavar="a,b,c", help="Table: its dimension columns. Array: names of its modes.")
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="v", help="Table: its value column.")] = None,
    variable: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which array of a file with several (.npz .mat .nc .zarr).")
    ] = None,
    alpha_missing: Annotated[bool, typer.Option("--alpha-missing", help="Transparent pixels are missing.")] = False,
    format: Annotated[
        str | None,
        typer.Option(metavar="F", help="Format, where a name does not say it; see: tensorfill list formats."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="F", help="Write only the entries listed there (.tns, or a table like IN).")
    ] = None,
    checkpoint: Annotated[str | None, typer.Option(metavar="F", help="Save the run there as it goes.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    max_iter: MaxIter = None,
    seconds: Seconds = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fill the gaps in a file. NaN, blank cells and absent rows are gaps; so is what --mask or --missing-value says.

    Ctrl-C stops the run and writes the best so far.
    """
    from tensorfill._cli.job import Job

    given = {k: v for k, v in locals().items() if k not in ("Job", "smooth")}
    _run(Job(**given, smooth=tuple(smooth or ()), command=shlex.join(["tensorfill", *sys.argv[1:]])))


@app.command()
def demo(
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="The picture to write.")] = "out/demo.png",
    missing: Annotated[float, typer.Option(metavar="P", help="Percent of the numbers to take away.")] = 80,
    effort: Effort = "normal",
    seed: Seed = 0,
    report: Report = None,
    max_iter: MaxIter = None,
    seconds: Seconds = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Complete a photograph most of which is missing, and show what came out."""
    from tensorfill._cli.demo import Demo

    given = {k: v for k, v in locals().items() if k != "Demo"}
    _run(Demo(**given, command=shlex.join(["tensorfill", *sys.argv[1:]])))


@app.command("list")
def list_(what: Annotated[What, typer.Argument(help="What to list.")]) -> None:
    """Show what there is to choose from."""
    from tensorfill._cli.lists import rows
    from tensorfill._cli.show import listing

    listing(*rows(what))


# typer brings its own copy of click, or uses click itself, depending on its version
ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main(arguments: list[str] | None = None) -> NoReturn:
    """The command `tensorfill`: runs and exits."""
    try:
        code = app(args=arguments, prog_name="tensorfill", standalone_mode=False)
        sys.stdout.flush()
    except ClickException as error:  # a mistake on the command line
        path = getattr(getattr(error, "ctx", None), "command_path", None) or "tensorfill"
        print(f"tensorfill: {error.format_message()} Try: {path} --help", file=sys.stderr)
        code = BAD_USAGE
    except (KeyboardInterrupt, typer.Abort):
        print("tensorfill: interrupted.", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its exit
        code = 1
    sys.exit(code or 0)
