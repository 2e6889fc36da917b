"""The command line: in process where that shows the same, and the installed command for what only it can show."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_files import EXAMPLES
from typer.testing import CliRunner

import tensorfill as tfl
from tensorfill.cli import main as cli
from tensorfill.io.files import FORMATS

COMMAND = shutil.which("tensorfill", path=str(Path(sys.executable).parent)) or "tensorfill"
RNG = np.random.default_rng(8)


def picture(height=24, width=24):
    """A smooth colour picture, uint8."""
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    return np.rint(255 * np.stack([x * y, 0.5 + 0.4 * np.sin(4 * x + y), 1 - y], axis=-1)).astype(np.uint8)


PICTURE = picture()
HOLES = RNG.random((24, 24)) < 0.6  # True = known


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A temporary folder to work in, with a picture and its mask."""
    monkeypatch.chdir(tmp_path)
    Image.fromarray(PICTURE).save("in.png")
    Image.fromarray(HOLES.astype(np.uint8) * 255).save("mask.png")
    return tmp_path


def run(*arguments):
    """The command in this process: its exit code."""
    with pytest.raises(SystemExit) as error:
        cli.main([str(a) for a in arguments])
    return error.value.code


def installed(*arguments, **options):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, timeout=120, check=False, **options)


QUICK = ("--max-iter", 20)
INSTALLED = ("csv", "mat")  # read there; and read in a process of its own


# --- every format, two of them through the installed command --------------------------------------------------------


def test_every_format_is_here():
    assert set(EXAMPLES) == set(FORMATS)


def here(arguments, capfd):
    """As `installed`, in this process, whose libraries are loaded: what it and they print is caught all the same."""
    code = run(*arguments)
    return subprocess.CompletedProcess(arguments, code, *(text.encode() for text in capfd.readouterr()))


@pytest.mark.parametrize("name", [name for name in EXAMPLES if FORMATS[name].writes])
def test_end_to_end(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    ending, make, _, get, options = EXAMPLES[name]
    make(tmp_path / f"in{ending}")
    before = get(tmp_path / f"in{ending}")
    mask = np.random.default_rng(7).random(before.shape) < 0.7
    np.save(tmp_path / "mask.npy", mask)
    named = [
        a for k, v in options.items() for a in (f"--{k}", ",".join(v) if isinstance(v, list) else v)
    ]  # --dims a,b --value v
    quick = ("--method", "halrtc", "--max-iter", 3)
    words = ("complete", f"in{ending}", "-o", f"out{ending}", "--mask", "mask.npy", *named, *quick, "--json")
    capfd.readouterr()
    done = installed(*words) if name in INSTALLED else here(words, capfd)
    assert done.returncode == 0, done.stderr.decode()
    notes = json.loads(done.stdout)["notes"]
    assert done.stderr.decode().splitlines() == [f"tensorfill: {note.rstrip('.')}." for note in notes]
    told = json.loads(done.stdout)
    assert told["observed"] == mask.sum()
    assert told["filled"] == (~mask).sum()
    after = get(tmp_path / f"out{ending}")
    assert (after.shape, after.dtype) == (before.shape, before.dtype)
    if FORMATS[name].note:
        assert told["notes"] == [FORMATS[name].note]
        assert np.abs(after[mask].astype(float) - before[mask]).mean() < 16  # lossy, and half of the colours in a film
    else:
        assert told["notes"] == []
        np.testing.assert_array_equal(after[mask], before[mask])
    assert np.isfinite(after).all()
    assert (after[~mask] != before[~mask]).any()  # what the mask hid was not simply handed back


def test_streams_carry_data_and_nothing_else(tmp_path):
    array = np.where(RNG.random((9, 8)) < 0.8, np.add.outer(np.arange(9.0), np.arange(8.0)) + 1, np.nan)
    np.save(tmp_path / "a.npy", array)
    done = installed("complete", "-", "-o", "-", "--method", "halrtc", input=(tmp_path / "a.npy").read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    (tmp_path / "b.npy").write_bytes(done.stdout)
    after = np.load(tmp_path / "b.npy")
    np.testing.assert_array_equal(after[~np.isnan(array)], array[~np.isnan(array)])
    assert np.isfinite(after).all()


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "tensorfill", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tensorfill {tfl.__version__}\n"


def test_a_reader_that_goes_away_is_no_accident():
    done = subprocess.run(
        f"'{COMMAND}' list methods | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable=shutil.which("bash"),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1)  # whether the reader was gone before the writer wrote
    assert done.stderr == b""


def test_help_stays_quick():
    heavy = ("numba", "scipy", "matplotlib", "pandas", "xarray", "PIL")
    code = f"import sys, tensorfill.cli.main; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- on a terminal ------------------------------------------------------------------------------------------------


def on_a_terminal(arguments, cwd, *, until=None, send=None):
    """Run with both outputs on one terminal; once `until` was printed, send the signal. (exit code, text)."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        stdout=theirs,
        stderr=theirs,
        stdin=theirs,
        cwd=cwd,
        env=environment,
        # in the background of a shell Ctrl-C is ignored, and children would ignore it too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            new = os.read(ours, 4096)
        except OSError:  # the terminal is closed: the command has ended
            break
        if not new:
            break
        text += new
        if until is not None and until in text:
            process.send_signal(send)
            until = None
    os.close(ours)
    return process.wait(timeout=60), text.decode()


def test_a_terminal_shows_progress_and_a_summary(folder):
    arguments = ("complete", "in.png", "--mask", "mask.png", "-o", "out.png", "--method", "sptc", "--seconds", 60)
    arguments = (*arguments, "--max-iter", 1000)
    code, text = on_a_terminal(arguments, folder)
    assert code == 0
    assert "completing in.png" in text
    assert "iteration" in text
    assert "objective" in text
    assert " left" in text
    assert "in.png → out.png" in text
    for word in ("status", "data", "known", "method", "how good", "written"):
        assert word in text
    code, text = on_a_terminal((*arguments[:-1], 2, "--quiet"), folder)
    assert (code, text.replace("\x1b[0m", "")) == (0, "")  # numba's colorama resets the terminal at its exit


def test_control_c_writes_the_best_so_far(folder):
    large, known = picture(160, 160), RNG.random((160, 160)) < 0.6  # too much to be done before the signal comes
    Image.fromarray(large).save("large.png")
    Image.fromarray(255 * known.astype(np.uint8)).save("known.png")
    arguments = ("complete", "large.png", "--mask", "known.png", "-o", "out.png", "--max-iter", 10**6)
    sptc = ("--method", "sptc", "--rank", 30)
    code, text = on_a_terminal((*arguments, *sptc), folder, until=b"iteration ", send=signal.SIGINT)
    assert code == 130
    assert "tensorfill: interrupted; the best so far is in out.png." in text
    assert "Traceback" not in text
    after = np.array(Image.open("out.png"))
    np.testing.assert_array_equal(after[known], large[known])


# --- what comes out -----------------------------------------------------------------------------------------------


def test_in_a_pipe_nothing_is_said(folder, capfd):
    assert run("complete", "in.png", "--mask", "mask.png", "-o", "out.png", *QUICK) == 0
    assert capfd.readouterr() == ("", "")


def test_json_says_it_all(folder, capsys):
    arguments = ("--rank", 3, "--smooth", "row=2", "--smooth", "1=3", "--seed", 4, "--report", "r.html")
    assert run("complete", "in.png", "--mask", "mask.png", "-o", "out.png", *QUICK, *arguments, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "iterations"
    assert told["sentence"] == tfl.Status.ITERATIONS.sentence
    assert not told["ok"]
    assert (told["rank"], told["iterations"], told["method"]) == (3, 20, "auto")
    assert (told["shape"], told["dims"]) == ([24, 24, 3], ["row", "column", "channel"])
    assert told["settings"]["seed"] == 4
    assert told["settings"]["smooth"] == {"0": 2.0, "1": 3.0}
    assert (told["input"], told["output"], told["report"]) == ("in.png", "out.png", "r.html")
    assert "tensorfill complete" not in told
    assert Path("r.html").read_text().startswith("<!doctype html>")


def test_same_answer_as_from_python(folder):
    assert run("complete", "in.png", "--mask", "mask.png", "-o", "out.npy", *QUICK, "--seed", 3) == 0
    done = tfl.complete(PICTURE, HOLES, dims=("row", "column", "channel"), max_iter=20, seed=3)
    np.testing.assert_array_equal(np.load("out.npy"), done.completed)


def test_missing_value(folder):
    np.save("a.npy", np.where(HOLES, PICTURE[..., 1].astype(np.int16), -999).astype(np.int16))
    assert run("complete", "a.npy", "-o", "b.npy", "--missing-value", -999, *QUICK) == 0
    after = np.load("b.npy")
    assert after.dtype == np.int16
    np.testing.assert_array_equal(after[HOLES], PICTURE[..., 1][HOLES])
    assert after.min() >= 0


def test_a_run_cut_in_two_is_the_same_run(folder):
    base = ("complete", "in.png", "--mask", "mask.png")
    assert run(*base, "-o", "whole.npy", "--max-iter", 12) == 0
    assert run(*base, "-o", "half.npy", "--max-iter", 5, "--checkpoint", "run.npz") == 0
    assert run(*base, "-o", "rest.npy", "--max-iter", 12, "--checkpoint", "run.npz", "--resume") == 0
    np.testing.assert_array_equal(np.load("rest.npy"), np.load("whole.npy"))
    assert (np.load("half.npy") != np.load("whole.npy")).any()


def test_format_is_for_the_name_that_does_not_say_it(folder):
    shutil.copy("in.png", "photo.dat")
    assert run("complete", "photo.dat", "-o", "out.npy", "--mask", "mask.png", "--format", "png", *QUICK) == 0
    assert run("complete", "in.png", "-o", "/dev/null", "--mask", "mask.png", "--format", "npy", *QUICK) == 0
    shutil.copy("in.png", "wrong.jpg")
    assert run("complete", "wrong.jpg", "-o", "out.png", "--mask", "mask.png", "--format", "png", *QUICK) == 0
    assert np.load("out.npy").shape == np.array(Image.open("out.png")).shape == (24, 24, 3)


def test_single_entries_of_a_tensor_too_large_to_be_dense(folder, capsys):
    where = np.unique(RNG.integers(1, 2001, (400, 4)), axis=0)
    where[0] = 2000
    Path("a.tns").write_text("".join(f"{' '.join(map(str, row))} {k % 5 + 1}\n" for k, row in enumerate(where)))
    known = ",".join(map(str, where[7] - 1))  # a table counts from 0
    Path("at.csv").write_text(f"mode0,mode1,mode2,mode3\n{known}\n4,4,4,4\n")
    arguments = ("complete", "a.tns", "-o", "b.csv", "--rank", 2, *QUICK, "--report", "r.html")
    assert run(*arguments, "--at", "at.csv") == 0
    head, first, second = Path("b.csv").read_text().splitlines()
    assert (head, first) == ("mode0,mode1,mode2,mode3,value", f"{known},{7 % 5 + 1}")
    assert second.startswith("4,4,4,4,")
    assert run(*arguments) == 1
    assert "name the entries you want with --at F" in capsys.readouterr().err
    Path("at.csv").write_text("mode0,mode1,mode2,mode3\n4,4,4,2000\n")
    assert run(*arguments, "--at", "at.csv") == 1
    assert "the list of --at" in capsys.readouterr().err


def test_single_entries_by_their_labels(folder):
    rows = [f"s{i},2024-01-{j:02},{i * j}" for i in range(1, 7) for j in range(1, 8) if (i + j) % 4]
    Path("a.csv").write_text("\n".join(["site,day,n", *rows]) + "\n")
    Path("at.csv").write_text("site,day,n\ns3,2024-01-05,0\ns2,2024-01-02,0\n")
    arguments = ("--dims", "site,day", "--value", "n", *QUICK)
    assert run("complete", "a.csv", "-o", "b.csv", *arguments, "--at", "at.csv") == 0
    head, filled, known = Path("b.csv").read_text().splitlines()
    assert head == "site,day,n"
    assert filled.startswith("s3,2024-01-05,")
    assert known == "s2,2024-01-02,4" if (2 + 2) % 4 else known.startswith("s2,2024-01-02,")


def test_notes_of_the_library_reach_the_user(folder, capsys):
    array = RNG.uniform(1, 5, (6, 12))
    array[3] = np.nan
    np.save("a.npy", array)
    assert (
        run("complete", "a.npy", "-o", "b.npy", "--json", "--method", "sptc", "--rank", 2, "--smooth", "1=10", *QUICK)
        == 0
    )
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert "mode0 = 3" in note


# --- what goes wrong ----------------------------------------------------------------------------------------------


def write_bad_files():
    Path("empty.png").touch()
    Path("text.png").write_text("hello")
    Path("cut.png").write_bytes(Path("in.png").read_bytes()[:400])
    Path("odd.csv").write_text("a,b\n1,x\n2,3\n")
    Path("table.csv").write_text("site,day,n\na,1,4\na,2,5\nb,1,6\n")
    Path("folder").mkdir()
    Image.fromarray(HOLES[:20]).save("small.png")
    Image.fromarray(np.zeros((24, 24), dtype=np.uint8)).save("black.png")
    np.save("complex.npy", np.zeros((3, 4), dtype=complex))
    np.save("negative.npy", np.array([[1.0, -3.0], [2.0, np.nan]]))
    np.save("nothing.npy", np.full((3, 3), np.nan))
    np.save("deep.npy", np.full((9, 9), 300, dtype=np.uint16))
    Path("run.npz").write_text("not a checkpoint")
    Path("old.png").write_bytes(b"old")


IN = ("in.png", "--mask", "mask.png")
OUT = ("-o", "old.png")
TRY = "Try: tensorfill complete --help"
BAD = {  # what: (arguments of complete, exit code, the sentence)
    "no file": (("no.png", *OUT), 1, "cannot read no.png: there is no such file."),
    "a directory": (
        ("folder", *OUT),
        1,
        "cannot read folder: it is a directory, and no Zarr store.",
    ),
    "an empty file": (("empty.png", *OUT), 1, "cannot read empty.png: it is empty."),
    "another kind of file": (("text.png", *OUT), 1, "cannot read text.png: it is not a PNG picture."),
    "complex numbers": (
        ("complex.npy", *OUT),
        1,
        "cannot read complex.npy: it holds complex numbers; only real numbers can be completed.",
    ),
    "all missing": (
        ("nothing.npy", *OUT),
        1,
        "cannot read nothing.npy: it holds no observed value: everything is missing.",
    ),
    "text in a matrix": (
        ("odd.csv", *OUT),
        1,
        "cannot read odd.csv: 'x' in row 2, column 2 is not a number, and a matrix holds numbers only; for one row per "
        "entry name its columns: --dims a,b,c --value v.",
    ),
    "a column that is not there": (
        ("table.csv", *OUT, "--dims", "site,dya", "--value", "n"),
        1,
        "cannot read table.csv: it has no column 'dya'; its columns are site, day, n. Did you mean 'day'?",
    ),
    "a small mask": (
        ("in.png", *OUT, "--mask", "small.png"),
        1,
        "cannot read mask small.png: it has shape (20, 24), but the data have (24, 24, 3); a mask must have that "
        "shape, or (24, 24) to serve all of the last mode.",
    ),
    "a black mask": (
        ("in.png", *OUT, "--mask", "black.png"),
        1,
        "cannot read mask black.png: it marks no entry as observed; non-zero must mean observed.",
    ),
    "no mask file": (
        ("in.png", *OUT, "--mask", "no.png"),
        1,
        "cannot read mask no.png: there is no such file.",
    ),
    "a mask that leaves nothing": (
        ("negative.npy", "-o", "x.npy", "--mask", "corner.npy"),
        1,
        "corner.npy leaves no known entry of negative.npy.",
    ),
    "an impossible missing value": (
        ("in.png", *OUT, "--missing-value", "-999"),
        1,
        "cannot read in.png: --missing-value -999 cannot occur in uint8 data; leave it out.",
    ),
    "no directory": ((*IN, "-o", "no/out.png"), 1, "cannot write no/out.png: the directory {cwd}/no does not exist."),
    "an output directory": ((*IN, "-o", "folder"), 1, "cannot write folder: it is a directory."),
    "an unknown ending": (
        (*IN, "-o", "out.xyz"),
        1,
        "cannot write out.xyz: the ending .xyz is not known; use one of {endings}, or --format.",
    ),
    "a full disk": ((*IN, "-o", "/dev/full", "--max-iter", "1"), 1, "cannot write /dev/full: the disk is full."),
    "nothing missing": (
        ("in.png", *OUT),
        1,
        "in.png has no missing entry: nothing to fill. Mark what is missing by NaN, --mask F or --missing-value V.",
    ),
    "what a format cannot hold": (
        ("deep.npy", "-o", "x.jpg"),
        1,
        "cannot write x.jpg: JPEG holds 8 bits per sample and these values have 16; write .png or .tif instead.",
    ),
    "no directory for the report": (
        (*IN, *OUT, "--report", "no/r.html"),
        1,
        "cannot write no/r.html: the directory {cwd}/no does not exist.",
    ),
    "values against the prior": (
        ("negative.npy", "-o", "x.npy", "--prior", "poisson"),
        1,
        'values must be >= 0 for Poisson; got -3.0 at index (0, 1). Use prior="normal", or mask that entry.',
    ),
    "a damaged checkpoint": (
        (*IN, *OUT, "--checkpoint", "run.npz", "--resume"),
        1,
        "checkpoint run.npz is a file that is not a checkpoint, or a damaged one; it is left as it is. "
        "Name another file, or delete it if nobody needs it.",
    ),
    "a misspelt prior": (
        (*IN, *OUT, "--prior", "poison"),
        2,
        "prior must be one of {priors}; got 'poison'. Did you mean 'poisson'?",
    ),
    "a misspelt method": (
        (*IN, *OUT, "--method", "atuo"),
        2,
        "method must be one of {methods}; got 'atuo'. Did you mean 'auto'?",
    ),
    "half a smoothness": (
        (*IN, *OUT, "--smooth", "row"),
        2,
        "--smooth must be MODE=RHO with RHO >= 0, e.g. row=10 or 0=10; got 'row'.",
    ),
    "smoothness along nothing": (
        (*IN, *OUT, "--smooth", "rwo=1"),
        2,
        "dimension must be one of row, column, channel; got 'rwo'. Did you mean 'row'?",
    ),
    "a mode too many": (
        (*IN, *OUT, "--smooth", "3=1"),
        2,
        "mode must be between 0 and 2 for shape (24, 24, 3); got 3.",
    ),
    "an effort": ((*IN, *OUT, "--effort", "some"), 2, "--effort must be quick, normal or best; got 'some'."),
    "effort elsewhere": (
        (*IN, *OUT, "--effort", "best", "--method", "sptc"),
        2,
        "--effort best belongs to --method auto; got --method sptc.",
    ),
    "resume from nowhere": ((*IN, *OUT, "--resume"), 2, "--resume needs --checkpoint F, the file to go on from."),
    "no time": ((*IN, *OUT, "--seconds", "0"), 2, "seconds must be > 0, or None for no limit; got 0.0."),
    "two on one stream": ((*IN, "-o", "-", "--json"), 2, "-o - and --json both write to standard output; choose one."),
    "one stream for two": (
        ("-", *OUT, "--mask", "-"),
        2,
        'only one of IN and --mask can be "-", standard input.',
    ),
    "no input": ((), 2, f"Missing argument 'IN'. {TRY}"),
    "no output": (("in.png",), 2, f"Missing option '--out' / '-o'. {TRY}"),
    "an unknown option": ((*IN, *OUT, "--rnak", "3"), 2, "No such option: --rnak ("),
    "a rank in words": ((*IN, *OUT, "--rank", "ten"), 2, f"--rank must be a whole number, like 10; got 'ten'. {TRY}"),
    "a time in words": ((*IN, *OUT, "--seconds=x"), 2, f"--seconds must be a number, like 2.5; got 'x'. {TRY}"),
    "a missing value in words": (
        (*IN, *OUT, "--missing-value", "abc"),
        1,
        "cannot read in.png: --missing-value must be a number for a PNG picture; got 'abc'.",
    ),
    "a prior's number of another name": (
        (*IN, *OUT, "--prior", "student-t(mu=3)"),
        2,
        "--prior student-t takes nu and scale; got 'student-t(mu=3)'.",
    ),
    "too many numbers for a prior": (
        (*IN, *OUT, "--prior", "binomial(4, 5)"),
        2,
        "--prior binomial takes n; got 'binomial(4, 5)'.",
    ),
    "a prior's number in words": (
        (*IN, *OUT, "--prior", "binomial(four)"),
        2,
        "--prior must be a name, or a name and numbers like binomial(n=2); got 'binomial(four)'.",
    ),
    "a bracket that does not end": (
        (*IN, *OUT, "--prior", "binomial(4"),
        2,
        "--prior must be a name, or a name and numbers like binomial(n=2); got 'binomial(4'.",
    ),
    "a prior's number out of range": (
        (*IN, *OUT, "--prior", "binomial(4.5)"),
        2,
        "n must be a whole number >= 1 for Binomial; got 4.5.",
    ),
    "a prior with a function": (
        (*IN, *OUT, "--prior", "custom"),
        2,
        "--prior custom must be made in Python; choose one of {priors}.",
    ),
    "fractions in a picture": (
        (*IN, *OUT, "--unrounded"),
        1,
        "cannot write old.png: a PNG picture holds whole numbers, and --unrounded makes fractions; write .npy, .csv or "
        ".tif.",
    ),
    "error bars in a picture": (
        (*IN, *OUT, "--error-bars", "bars.png"),
        1,
        "cannot write bars.png: a PNG picture holds whole numbers, and error bars are fractions; write .npy, .csv or "
        ".tif.",
    ),
    "rank 0": ((*IN, *OUT, "--rank", "0"), 2, "rank must be a whole number >= 1; got 0."),
}


@pytest.mark.parametrize("what", BAD)
def test_each_mistake_gets_one_sentence(what, folder, capsys):
    write_bad_files()
    np.save("corner.npy", np.array([[False, False], [False, True]]))
    arguments, code, sentence = BAD[what]
    sentence = sentence.replace("{cwd}", os.path.realpath(folder))
    sentence = sentence.replace(
        "{endings}", " ".join(e for _, kind in FORMATS.items() if kind.writes for e in kind.endings)
    )
    sentence = sentence.replace("{priors}", ", ".join(tfl.PRIORS)).replace("{methods}", ", ".join(tfl.METHODS))
    assert run("complete", *arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    if sentence.endswith("("):  # the rest is a library's own word
        assert err.startswith(f"tensorfill: {sentence}")
        assert err.count("\n") == 1
    else:
        assert err == f"tensorfill: {sentence}\n"
    assert Path("old.png").read_bytes() == b"old"
    assert not list(folder.glob(".*.part"))


def test_a_damaged_file_gets_one_sentence(folder, capsys):
    write_bad_files()
    assert run("complete", "cut.png", *OUT) == 1
    err = capsys.readouterr().err
    assert err.startswith("tensorfill: cannot read cut.png: ")
    assert err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_closed_to_us(folder, capsys):
    Path("closed").mkdir(mode=0o500)
    assert run("complete", *IN, "-o", "closed/out.png") == 1
    assert capsys.readouterr().err == "tensorfill: cannot write closed/out.png: permission denied.\n"


def test_settings_that_a_method_does_not_have(folder, capsys):
    without = [n for n, cls in tfl.METHODS.items() if "rank" not in cls.__dataclass_fields__]
    if not without:
        pytest.skip("every method has a rank")
    assert run("complete", *IN, *OUT, "--method", without[0], "--rank", 3) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tensorfill: --rank means nothing for method {without[0]}; it does for auto, ")


def test_interrupted_before_the_first_iteration(folder, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tensorfill.cli.progress.complete", interrupted)
    assert run("complete", *IN, "-o", "out.png") == 130
    assert capsys.readouterr().err == "tensorfill: interrupted before there was anything to write.\n"
    assert not Path("out.png").exists()
    monkeypatch.setattr("tensorfill.cli.job.read", interrupted)
    assert run("complete", *IN, "-o", "out.png") == 130
    assert capsys.readouterr().err == "tensorfill: interrupted.\n"


# --- the other commands -------------------------------------------------------------------------------------------

REGISTRIES = {
    "priors": tfl.PRIORS,
    "interelement": tfl.INTERELEMENT,
    "solvers": tfl.SOLVERS,
    "methods": tfl.METHODS,
    "models": tfl.MODELS,
    "candidates": [name for name, cls in tfl.METHODS.items() if cls.competes],
    "formats": FORMATS,
}


@pytest.mark.parametrize("what", REGISTRIES)
def test_list_names_everything_on_a_line_of_its_own(what):
    result = CliRunner().invoke(cli.app, ["list", what])
    assert result.exit_code == 0
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == list(REGISTRIES[what])
    assert all(cell.strip() for row in rows for cell in row)
    assert len({len(row) for row in rows}) == 1


def test_list_methods_says_what_they_are_for():
    rows = CliRunner().invoke(cli.app, ["list", "methods"]).stdout.splitlines()
    for row, (name, cls) in zip(rows, tfl.METHODS.items(), strict=True):
        assert row.split("\t") == [name, cls.reference, cls.assumes, cls.use_when]


def test_list_without_a_name_or_with_another(capsys):
    must = f"tensorfill: what to list must be one of {', '.join(REGISTRIES)}; got"
    assert run("list") == 2
    assert capsys.readouterr().err == f"{must} nothing. Try: list priors\n"
    assert run("list", "methds") == 2
    assert capsys.readouterr().err == f"{must} 'methds'. Did you mean 'methods'?\n"


def test_list_draws_a_table_on_a_terminal(tmp_path):
    code, text = on_a_terminal(("list", "solvers"), tmp_path)
    assert code == 0
    assert "\t" not in text
    assert "objective" in text


def test_help_version_and_nothing():
    runner = CliRunner()
    result = runner.invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    for command in ("complete", "demo", "list", "bench"):
        assert command in result.stdout
    assert runner.invoke(cli.app, ["--version"]).stdout == f"tensorfill {tfl.__version__}\n"
    nothing = runner.invoke(cli.app, [])
    assert nothing.exit_code == 2
    assert nothing.stdout == result.stdout


@pytest.fixture
def small_photograph(monkeypatch):
    monkeypatch.setattr("tensorfill.cli.demo.photograph", lambda: PICTURE)


@pytest.mark.parametrize("more", [(), ("--json",), ("--quiet",)])
def test_warnings_are_seen_in_a_pipe(folder, more, capsys):
    heights = np.random.default_rng(0).normal(170, 5, (60, 4))
    heights[::2, 1] = -999
    heights[3, 2] = np.nan
    np.save("heights.npy", heights)
    assert run("complete", "heights.npy", "-o", "out.npy", "--method", "halrtc", *QUICK, *more) == 0
    err = capsys.readouterr().err
    assert ("-999" in err) == (more != ("--quiet",))
    assert all(line.startswith("tensorfill: ") for line in err.splitlines())


def test_demo(folder, capsys, small_photograph):
    assert run("demo", "--max-iter", 60, "--report", "new/r.html") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("A photograph with 80 % of its numbers missing\n")
    assert "row 24 x column 24 x channel 3" in out
    assert "PSNR" in out
    assert "out/demo.png" in out
    assert len(out.splitlines()) < 24
    with Image.open("out/demo.png") as image:
        assert image.width > image.height
    assert "The truth" not in Path("new/r.html").read_text()
    assert "Difference to the truth" in Path("new/r.html").read_text()


def test_demo_for_machines_and_in_silence(folder, capsys, small_photograph):
    assert run("demo", "--max-iter", 2, "--missing", 50, "-o", "d.png", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["observed"] == 864
    assert 5 < told["psnr"] < 60
    assert run("demo", "--max-iter", 2, "-o", "d.png", "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_demo_says_what_is_wrong(folder, capsys, small_photograph):
    Path("file").touch()
    assert run("demo", "-o", "file/d.png", "--max-iter", 1) == 1
    err = capsys.readouterr().err
    assert err.startswith("tensorfill: cannot write file/d.png: ")
    assert err.count("\n") == 1


def test_bench_speed(tmp_path, monkeypatch):
    from tensorfill_benchmarks import speed
    from tensorfill_benchmarks.cli import app as benchmarks

    asked = []

    def measured(out_dir, quick=False, skipped=None):
        asked.append((out_dir, quick))
        skipped.append("a rival is not installed")
        return [speed.at_most("start", 1.0, 0.5), speed.at_least("ratio", 6.0, 5.0)]

    monkeypatch.setattr(speed, "run", measured)
    result = CliRunner().invoke(benchmarks, ["speed", "-o", str(tmp_path), "--quick"])
    assert result.exit_code == 0
    assert asked == [(str(tmp_path), True)]
    assert "ok      start: 0.5" in result.stdout
    assert "MISSED  ratio: 5" in result.stdout
    assert "left out: a rival is not installed" in result.stdout


# --- the progress bar ---------------------------------------------------------------------------------------------


def test_the_bar_says_what_is_tried():
    from tensorfill.cli.progress import Progress

    bar = Progress("completing it")
    bar.reading("sorting along user", 5)
    for error, words in ((np.nan, ""), (0.5, "error 0.5 SD")):
        bar.tried("low rank 4", error, 0.0)
        task = bar.bar.tasks[0]
        assert task.description == "completing it, trying"
        assert (task.fields["iteration"], task.fields["error"]) == ("low rank 4", words)
    bar.compiling()
    assert bar.bar.tasks[0].fields["iteration"] == "compiling, once after installation"


def test_the_bar_of_a_terminal_says_that_loops_are_compiled(monkeypatch):
    import numba

    from tensorfill.cli.progress import Progress

    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich takes it for a terminal
    bar = Progress("completing it")
    monkeypatch.setattr(bar.bar, "start", lambda: None)  # nothing is drawn, and standard output stays what it is
    with bar:
        assert bar.shown
        numba.njit(lambda x: x + 1)(1)  # not kept on disk
        assert bar.bar.tasks[0].fields["iteration"].startswith("compiling")


def test_durations_as_people_read_them():
    from tensorfill.terminal import format_duration

    assert [format_duration(s) for s in (0, 6.2, 750, 3723)] == ["0:00", "0:07", "12:30", "1:02:03"]
