"""How a command ends: signals, closed and full streams, drawings that fail."""

import os
import signal
import subprocess
import sys
import time
from subprocess import PIPE

import numpy as np
import pytest
from test_cli import run

from tensorfill._command import is_command

TENSORFILL = (sys.executable, "-m", "tensorfill")
ENV = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    T = np.einsum("ir,jr,kr->ijk", *(rng.uniform(0, 1, (n, 5)) for n in (90, 80, 3)))
    T[rng.random(T.shape) < 0.5] = np.nan
    np.save("in.npy", T)
    return tmp_path


LONG = ("complete", "in.npy", "-o", "out.npy", "--method", "sptc", "--prior", "normal", "--max-iter", "1000000")
SHORT = ("complete", "in.npy", "--method", "halrtc", "--max-iter", "2")


def _heard(number):
    """Also where the tests run in the background, whose signals are ignored."""
    signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=["TERM", "HUP", "INT"]
)
def test_a_signal_writes_the_best_so_far(folder, number, code):
    command = (*TENSORFILL, *LONG, "--checkpoint", "run.npz", "--seconds", "90")
    with subprocess.Popen(
        command, env=ENV, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: _heard(number)
    ) as process:
        for _ in range(600):  # the first checkpoint says that it is on its way
            if os.path.exists("run.npz") or process.poll() is not None:
                break
            time.sleep(0.1)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert said == "tensorfill: interrupted; the best so far is in out.npy.\n"
    assert np.isfinite(np.load("out.npy")).all()


def test_ctrl_c_while_loading_is_one_sentence():
    """At moments from the first import of the package on; the sentence is the same whether the command runs already."""
    slow = "import time, tensorfill._command, builtins; time.sleep(30)"
    code = f"import sys; sys.orig_argv = ['python', '-m', 'tensorfill']; print(flush=True)\n{slow}"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=PIPE, stderr=PIPE, text=True, preexec_fn=lambda: _heard(signal.SIGINT)
    ) as process:
        process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "tensorfill: interrupted.\n")


def test_only_the_command_is_ended_at_once():
    assert is_command(["python", "-m", "tensorfill", "complete"])
    assert is_command(["python", "-X", "importtime", "-m", "tensorfill"])
    assert is_command(["python", "/usr/bin/tensorfill", "list"])
    assert not is_command(["python", "-m", "pytest", "tensorfill"])
    assert not is_command(["python", "fit.py", "tensorfill"])
    assert not is_command(["python", "-c", "import tensorfill"])
    assert not is_command(["python"])


def shell(line):
    return subprocess.run(["sh", "-c", line], env=ENV, capture_output=True, text=True, timeout=120, check=False)


def command(*arguments):
    return " ".join((*TENSORFILL, *arguments))


def test_closed_streams(folder):
    done = shell(command(*SHORT, "-o", "out.npy") + " >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert np.isfinite(np.load("out.npy")).all()
    done = shell(command(*SHORT, "-o", "json.npy", "--json") + " >&- 2>&-")
    assert done.returncode == 0
    done = shell(command(*SHORT, "-o", "-") + " >&-")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tensorfill: cannot write standard output")


@pytest.mark.parametrize("what", [("list", "priors"), (*SHORT, "-o", "out.npy", "--json")])
def test_a_reader_that_goes_away(folder, what):
    done = shell(command(*what) + " | true")
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "what", [("list", "priors"), ("--help",), (*SHORT, "-o", "out.npy", "--json"), (*SHORT, "-o", "-")]
)
def test_a_full_disk_behind_standard_output(folder, what):
    done = shell(command(*what) + " > /dev/full")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tensorfill: cannot write standard output: ")


def test_a_report_that_cannot_be_drawn_does_not_fail_the_run(folder, monkeypatch, capsys):
    def fails(*arguments, **options):
        raise ValueError("no such glyph\nand more")

    monkeypatch.setattr("tensorfill.show.report.page", fails)
    assert run(*SHORT, "-o", "out.npy", "--report", "r.html") == 0
    assert (
        capsys.readouterr().err == "tensorfill: the report could not be drawn (no such glyph); the answer is written.\n"
    )
    assert np.isfinite(np.load("out.npy")).all()
    assert not os.path.exists("r.html")


@pytest.mark.parametrize("error", [MemoryError(), ImportError("x.so: failed to map segment from shared object")])
def test_no_memory_while_modules_load_is_one_sentence(error, monkeypatch, capfd):
    from tensorfill.cli import main as command

    def app(**given):
        raise error

    monkeypatch.setattr(command, "app", app)
    with pytest.raises(SystemExit) as end:
        command.main(["complete", "x.npy"])
    assert end.value.code == 1
    assert capfd.readouterr().err == "tensorfill: there is not enough memory to begin.\n"
    error = ImportError("No module named 'numpy'")  # another: a broken installation shows where it is
    with pytest.raises(ImportError, match="numpy"):
        command.main(["complete", "x.npy"])


def test_an_interrupt_in_code_made_from_text_has_the_usual_exit_code():
    """Of dataclasses while modules load: Python would end itself by SIGINT, whatever sys.exit says."""
    code = "import sys\nfrom tensorfill.cli import main\nsys.argv[1:] = ['list', 'methods']\n"
    code += "main._run = lambda job: exec('raise KeyboardInterrupt')\nmain.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
