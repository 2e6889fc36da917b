"""First contact: help without waiting, a question instead of an error on a terminal, types that an editor sees."""

import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tensorfill
from tensorfill._command import asks_for_help
from tensorfill.cli import main as cli

ROOT = Path(tensorfill.__file__).parents[2]
HELP_SECONDS = 0.4  # of processor time


def used(*command):
    """Seconds of processor time that a command takes, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def test_help_takes_no_time():
    seconds, told = min(used(sys.executable, "-m", "tensorfill", "--help") for _ in range(3))
    assert "complete" in told
    assert "bench" in told
    assert seconds < HELP_SECONDS


def test_help_loads_no_method_and_a_plug_in_still_finds_public_names():
    code = """
        import sys
        sys.orig_argv = ["python", "-m", "tensorfill", "--help"]
        import tensorfill
        assert "tensorfill.methods" not in sys.modules
        assert not hasattr(tensorfill, "nothing")
        assert tensorfill.Poisson().name == "poisson"
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_only_the_command_asks_for_help():
    assert asks_for_help(["python", "/bin/tensorfill", "complete", "--help"])
    assert asks_for_help(["python", "-m", "tensorfill", "--version"])
    assert not asks_for_help(["python", "-m", "tensorfill", "complete", "x"])
    assert not asks_for_help(["python", "script.py", "--help"])


def test_complete_alone_says_what_it_lacks(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["complete"])
    assert end.value.code == 2
    assert "Missing argument" in capsys.readouterr().err


def test_types_are_seen_from_outside(tmp_path):
    """py.typed: a checker knows what `complete` takes and returns."""
    pytest.importorskip("mypy")
    script = tmp_path / "user.py"
    script.write_text(
        "import numpy as np\n"
        "import tensorfill as tfl\n"
        "done = tfl.complete(np.eye(3), rank=2, prior=tfl.Poisson())\n"
        "reveal_type(done)\n"
        "reveal_type(done.error)\n"
        'tfl.complete(np.eye(3), rank="two")\n'
        "tfl.nothing\n"
    )
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--follow-imports=silent", str(script)]
    environment = os.environ | {"MYPYPATH": "" if "site-packages" in str(ROOT) else str(ROOT / "src")}
    told = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment).stdout
    assert 'user.py:4: note: Revealed type is "tensorfill.result.completion.Completion"' in told
    assert 'user.py:5: note: Revealed type is "float"' in told
    assert "user.py:6: error" in told
    assert 'user.py:7: error: Module has no attribute "nothing"' in told
    assert told.count("error:") == 2
    assert (Path(tensorfill.__file__).parent / "py.typed").exists()
