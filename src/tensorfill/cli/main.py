"""The command line. Heavy imports are inside the commands, so that --help is quick."""

from __future__ import annotations

import atexit
import os
import shlex
import sys
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer

from tensorfill import __version__
from tensorfill.bench.cli import app as bench_app
from tensorfill.cli.lists import What
from tensorfill.terminal import BAD_USAGE, INTERRUPTED, UserError, ended, stoppable

SIGNALLED = 128  # exit codes above are this and the number of a signal

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
    """Run it and end with its exit code; a UserError is one sentence on standard error."""
    try:
        code = job.run()
    except UserError as error:
        typer.echo(f"tensorfill: {error.sentence}", err=True)
        code = error.code
    except KeyboardInterrupt:
        typer.echo("tensorfill: interrupted.", err=True)
        code = INTERRUPTED
    raise typer.Exit(code)


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


# Options that more than one command has, or that are long
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
MaxGap = Annotated[
    int | None, typer.Option(metavar="N", parser=whole, help="Leave gaps of more than N steps along time unfilled.")
]
Horizon = Annotated[int | None, typer.Option(metavar="N", parser=whole, help="Predict N steps after the last, too.")]
MaxIter = Annotated[int | None, typer.Option(metavar="N", parser=whole, help="Stop after N iterations.")]
Seconds = Annotated[float | None, typer.Option(metavar="S", parser=real, help="Stop after S seconds.")]
Report = Annotated[str | None, typer.Option(metavar="R.html", help="Write a report: one page that explains itself.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no summary.")]
ErrorBars = Annotated[
    str | None,
    typer.Option(metavar="F", help="Also write how far off each filled entry may be: 90 % are nearer. Twice the time."),
]
Smooth = Annotated[
    list[str],
    typer.Option(metavar="MODE=RHO", help="Smoothness along a mode, by name or number; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")]


def _asked(context: typer.Context) -> dict[str, Any]:
    """What was typed, by the names of the command's parameters, which are the fields of its job; and the command."""
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in context.params.items()}
    return {**given, "command": shlex.join(["tensorfill", *sys.argv[1:]])}


@app.command()
def complete(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="IN", help="File, or 'parts/*.parquet'; - for standard input.")],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="OUT", help="File to write; its ending says the format. - for standard output."
        ),
    ],
    mask: Annotated[
        str | None, typer.Option(metavar="F", help="Picture or array: zero (black) = missing, else (white) = known.")
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(metavar="P", help="What kind of numbers these are, e.g. poisson, binomial(4); see: list priors."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="M", help="Low-rank form: cp, tucker, tt, tr or tubal; see: list models.")
    ] = None,
    rank: Annotated[
        str | None, typer.Option(metavar="R", parser=ranks, help="Rank of the model; 8,8,3 where it has several.")
    ] = None,
    smooth: Smooth = [],  # noqa: B006  typer's form of an option that may be repeated; never changed
    method: Annotated[str, typer.Option(metavar="M", help="Which method; see: list methods.")] = "auto",
    effort: Effort = "normal",
    seed: Seed = 0,
    report: Report = None,
    error_bars: ErrorBars = None,
    unrounded: Annotated[
        bool,
        typer.Option("--unrounded", help="Do not round, also where the data are whole numbers."),
    ] = False,
    missing_value: Annotated[
        str | None,
        typer.Option(metavar="V", help="Missing besides NaN: a number, e.g. -999; in tables also a text."),
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
        typer.Option(metavar="F", help="Format, where a file name does not say it; see: list formats."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="F", help="Write only the entries listed there (.tns, or a table like IN).")
    ] = None,
    fold: Folding = None,
    time: Time = None,
    max_gap: MaxGap = None,
    horizon: Horizon = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Most memory to take, e.g. 4GB; by default half of what is free.")
    ] = None,
    scheduler: Scheduler = None,
    checkpoint: Annotated[str | None, typer.Option(metavar="F", help="Save the run to this file as it goes.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    max_iter: MaxIter = None,
    seconds: Seconds = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fill the gaps in a file. NaN, blank cells and absent rows are gaps; so is what --mask or --missing-value says.

    Ctrl-C stops the run and writes the best so far.
    """
    from tensorfill.cli.job import Job

    _run(Job(**_asked(context)))


@app.command()
def demo(
    context: typer.Context,
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="The picture to write.")] = "out/demo.png",
    missing: Annotated[float, typer.Option(metavar="P", parser=real, help="Percent of the numbers to take away.")] = 80,
    effort: Effort = "normal",
    seed: Seed = 0,
    report: Report = None,
    max_iter: MaxIter = None,
    seconds: Seconds = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Complete a photograph most of which is missing, and show what came out."""
    from tensorfill.cli.demo import Demo

    _run(Demo(**_asked(context)))


@app.command("app")
def app_(
    context: typer.Context,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=whole, help="Port to serve at; 0: any free one. By default 8765, or any free one."
        ),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address, open no browser.")] = False,
) -> None:
    """Serve a page on this computer: drop a file, paint a mask, watch, compare, download."""
    from tensorfill.app.serve import App

    _run(App(**_asked(context)))


@app.command("list")
def list_(what: Annotated[str, typer.Argument(metavar="|".join(What), help="What to list.")] = "") -> None:
    """Show what there is to choose from."""
    from tensorfill.cli.lists import List

    _run(List(what))


# typer brings its own copy of click, or uses click itself, depending on its version
ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _sentence(error: Any) -> str:
    """What is wrong with an option: our own words after its name, or else typer's."""
    names: list[str] = getattr(getattr(error, "param", None), "opts", [])
    if names and error.message.startswith("must be "):
        return f"{names[0]} {error.message}"
    said = str(error.format_message())
    file = said.removeprefix("No such command '").removesuffix("'.")
    if file != said and os.path.exists(file):
        return f"{said} Did you mean: tensorfill complete {shlex.quote(file)} -o OUT?"
    return said


def main(arguments: list[str] | None = None) -> NoReturn:
    """The command `tensorfill`: runs and exits."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: >&-
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  for as long as the process lives
    code = INTERRUPTED
    with suppress(KeyboardInterrupt), stoppable():  # of a signal in the moment before or after what it could stop
        code = _called(arguments)
    code = ended(code)
    if arguments is None and code > SIGNALLED:
        _end(code)
    sys.exit(code)


def _end(code: int) -> NoReturn:
    """End the process with the exit code of a signal. `sys.exit` does not where the interrupt went through code made
    from text, as that of dataclasses is while modules load: Python then ends itself by SIGINT, whatever the code.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _called(arguments: list[str] | None) -> int:
    """Run the command: its exit code. What goes wrong is one sentence on standard error; a closed pipe is silent."""
    try:
        code = app(args=arguments, prog_name="tensorfill", standalone_mode=False)
        sys.stdout.flush()
    except ClickException as error:  # a mistake on the command line
        path = getattr(getattr(error, "ctx", None), "command_path", None) or "tensorfill"
        print(f"tensorfill: {_sentence(error)} Try: {path} --help", file=sys.stderr)
        return BAD_USAGE
    except (KeyboardInterrupt, typer.Abort):
        print("tensorfill: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except (MemoryError, ImportError) as error:  # while modules were loading: all others are a UserError
        if isinstance(error, ImportError) and "map segment" not in str(error):
            raise
        os.write(2, b"tensorfill: there is not enough memory to begin.\n")  # print would need some
        return 1
    except OSError as error:  # of standard output: all others are a UserError
        if not isinstance(error, BrokenPipeError):
            print(f"tensorfill: cannot write standard output: {error.strerror or error}.", file=sys.stderr)
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its exit
        return 1
    return code or 0
