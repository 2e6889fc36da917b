"""The command line. Heavy imports are inside the commands, so that --help is quick."""

from __future__ import annotations

import atexit
import inspect
import os
import shlex
import sys
from contextlib import suppress
from dataclasses import MISSING, fields
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any, NoReturn, get_type_hints

import typer

from tensorfill import __version__
from tensorfill.cli.lists import What
from tensorfill.cli.options import AppOptions, CompleteOptions, DemoOptions, ExtendOptions
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


def _add_command(name: str, options: type, job: str) -> None:
    """Add a command that takes the fields of the dataclass `options` and runs a `job`, "module:Class", made of them."""

    def run(**given: Any) -> None:
        module, _, cls = job.partition(":")
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        _run(getattr(import_module(module), cls)(**settings, command=shlex.join(["tensorfill", *sys.argv[1:]])))

    hints = get_type_hints(options, include_extras=True)
    taken = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(options)
    ]
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]  # from which typer makes the options
    run.__annotations__ = hints
    app.command(name, help=options.__doc__)(run)


_add_command("complete", CompleteOptions, "tensorfill.cli.job:Job")
_add_command("extend", ExtendOptions, "tensorfill.cli.mixed:Extend")
_add_command("demo", DemoOptions, "tensorfill.cli.demo:Demo")
_add_command("app", AppOptions, "tensorfill.app.serve:App")


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


def _call(arguments: list[str] | None) -> int:
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
