"""Commands that other packages add: loaded by entry points, explained where they are not there."""

from importlib.metadata import EntryPoint, PackageNotFoundError, distribution

import pytest
import typer
from typer.testing import CliRunner

from tensorfill.cli.plugins import BENCHMARKS, GROUP, add_commands


def commands(*found):
    app = typer.Typer()
    app.command("own")(lambda: None)
    add_commands(app, [EntryPoint(name, value, GROUP) for name, value in found])
    return lambda *words: CliRunner().invoke(app, words)


def test_an_entry_point_becomes_a_command():
    run = commands(("bench", "tensorfill_benchmarks.cli:app"))
    done = run("bench", "speed", "--help")
    assert done.exit_code == 0
    assert "--quick" in done.stdout


@pytest.mark.parametrize("words", [(), ("--help",), ("speed", "-o", "out", "--quick")])
def test_without_the_package_one_sentence_says_how_to_install_it(words):
    done = commands()("bench", *words)
    assert done.exit_code == 2
    assert done.stderr == f"tensorfill: {BENCHMARKS}\n"
    assert "pip install . ./benchmarks" in done.stderr


def test_a_command_that_cannot_be_loaded_leaves_the_others():
    run = commands(("broken", "no_such_package:app"))
    assert run("own").exit_code == 0
    done = run("broken", "--anything")
    assert done.exit_code == 2
    assert (
        done.stderr
        == "tensorfill: cannot load this command of no_such_package:app: No module named 'no_such_package'.\n"
    )


def test_the_benchmarks_name_their_command():
    try:
        installed = distribution("tensorfill-benchmarks")
    except PackageNotFoundError:
        pytest.skip("tensorfill-benchmarks is not installed: pip install ./benchmarks")
    (point,) = installed.entry_points.select(group=GROUP)
    assert (point.name, point.value) == ("bench", "tensorfill_benchmarks.cli:app")
