"""The command line. Heavy imports are inside the commands, so that --help is quick."""

from __future__ import annotations

import atexit
import os
import shlex
import sys
from contextlib import suppress
from importlib.metadata import entry_points
from typing import Annotated, Any, NoReturn

import typer

from tensorfill import __version__
from tensorfill.cli.lists import What
from tensorfill.cli.options import (
    AlphaMissing,
    AsJson,
    At,
    Checkpoint,
    Dims,
    Effort,
    ErrorBars,
    FillUnseen,
    Folding,
    FormatName,
    Horizon,
    Mask,
    MaxGap,
    MaxIter,
    MaxMemory,
    MethodName,
    MissingValue,
    ModelName,
    Out,
    Prior,
    Quiet,
    Rank,
    Report,
    Resume,
    Save,
    Scheduler,
    Seconds,
    Seed,
    Smooth,
    Source,
    Texture,
    Time,
    Unrounded,
    Value,
    Variable,
    real,
    whole,
)
from tensorfill.cli.plugins import GROUP, add_commands
from tensorfill.terminal import BAD_USAGE, INTERRUPTED, UserError, exit_code, stoppable

SIGNALLED = 128  # exit codes above are this and the number of a signal

app = typer.Typer(
    name="tensorfill",
    help="Fill the gaps in pictures, video, tables and other multiway data.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: half as long, and quicker
    invoke_without_command=True,
)
add_commands(app, entry_points(group=GROUP))


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


def _read_options(context: typer.Context) -> dict[str, Any]:
    """What was typed, by the names of the command's parameters, which are the fields of its job; and the command."""
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in context.params.items()}
    return {**given, "command": shlex.join(["tensorfill", *sys.argv[1:]])}


@app.command()
def complete(
    context: typer.Context,
    source: Source,
    out: Out,
    mask: Mask = None,
    prior: Prior = None,
    model: ModelName = None,
    rank: Rank = None,
    smooth: Smooth = [],  # noqa: B006  typer's form of an option that may be repeated; never changed
    texture: Texture = None,
    method: MethodName = "auto",
    effort: Effort = "normal",
    seed: Seed = 0,
    report: Report = None,
    error_bars: ErrorBars = None,
    unrounded: Unrounded = False,
    missing_value: MissingValue = None,
    dims: Dims = None,
    value: Value = None,
    variable: Variable = None,
    alpha_missing: AlphaMissing = False,
    format: FormatName = None,
    at: At = None,
    fold: Folding = None,
    time: Time = None,
    max_gap: MaxGap = None,
    fill_unseen: FillUnseen = False,
    horizon: Horizon = None,
    max_memory: MaxMemory = None,
    scheduler: Scheduler = None,
    save: Save = None,
    checkpoint: Checkpoint = None,
    resume: Resume = False,
    max_iter: MaxIter = None,
    seconds: Seconds = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fill the gaps in a file. NaN, blank cells and absent rows are gaps; so is what --mask or --missing-value says.

    Ctrl-C stops the run and writes the best so far.
    """
    from tensorfill.cli.job import Job

    _run(Job(**_read_options(context)))


@app.command()
def extend(
    context: typer.Context,
    run_file: Annotated[
        str, typer.Argument(metavar="RUN.npz", help="A run saved by complete --save, or Completion.save.")
    ],
    source: Annotated[str, typer.Argument(metavar="NEW", help="A table of new rows, with the columns of the first.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="File to write; its ending says the format.")],
    quiet: Quiet = False,
) -> None:
    """Fill rows that arrived later, by a run on others: no fit, no waiting."""
    from tensorfill.cli.mixed import Extend

    _run(Extend(**_read_options(context)))


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

    _run(Demo(**_read_options(context)))


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

    _run(App(**_read_options(context)))


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
        code = _call(arguments)
    code = exit_code(code)
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


def _prefers_page(arguments: list[str] | None) -> bool:
    """Ask whoever types `tensorfill complete` on a terminal, and nothing else, whether to open the page instead."""
    given = sys.argv[1:] if arguments is None else arguments
    if given != ["complete"] or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    with suppress(typer.Abort):
        return typer.confirm("Which file? Open a page in the browser, where you can drop one?", default=True)
    return False


def _call(arguments: list[str] | None) -> int:
    """Run the command: its exit code. What goes wrong is one sentence on standard error; a closed pipe is silent."""
    try:
        code = app(args=arguments, prog_name="tensorfill", standalone_mode=False)
        sys.stdout.flush()
    except ClickException as error:  # a mistake on the command line
        if _prefers_page(arguments):
            return _call(["app"])
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
