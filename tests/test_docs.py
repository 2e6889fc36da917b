"""Every code block of README.md and docs/*.md runs: Python as it stands, commands of the program where their files are.

A page's blocks run in order, in one namespace, in a temporary folder that holds `photo.png`, `mask.png` (white = known)
and `table.csv` (columns station, day, value; rows missing). A command of the program runs if its input is there, and is
otherwise checked word by word against `--help`; other commands must name what exists.
"""

import functools
import importlib.util
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
import types
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tensorfill
from tensorfill.cli.main import main
from tensorfill.methods.base import METHODS
from tensorfill.registry import Registry
from tensorfill_benchmarks.cli import app as benchmarks

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TASKS = "ten-tasks"  # its blocks are run, and judged, by tests/test_first_tasks.py
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)


def name(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """[(language, first line number, text)] of a page, in order."""
    text = page.read_text()
    out = []
    for found in FENCE.finditer(text):
        body = re.sub(rf"^{found['indent']}", "", found["body"], flags=re.MULTILINE)
        out.append((found["info"].strip(), text.count("\n", 0, found.start()) + 2, body))
    return out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that pages may speak of."""
    from PIL import Image

    from tensorfill.data import samples

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    photo = samples.photograph()[::20, ::20]
    Image.fromarray(photo).save("photo.png")
    Image.fromarray(np.uint8(255) * (rng.random(photo.shape[:2]) < 0.5)).save("mask.png")
    rows = [(s, d, 3 * s + d) for s in range(6) for d in range(7) if rng.random() < 0.8]
    Path("table.csv").write_text("station,day,value\n" + "".join(f"{s},{d},{v}\n" for s, d, v in rows))
    return tmp_path


@pytest.fixture
def registered():
    """What a page registers is forgotten afterwards: other tests run over all methods."""
    before = dict(METHODS._items)
    yield
    METHODS._items = before


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_only_kinds_of_blocks_that_are_tested(page):
    for info, line, body in blocks(page):
        where = f"{name(page)}:{line}"
        assert info in ("python", "{ .python }", "sh", "console", "text", ""), (
            f"{where}: ```{info} is not run by any test"
        )
        if info == "{ .python }":  # the source of an example, which tests/test_examples.py runs
            included = re.fullmatch(r'--8<-- "(examples/\w+\.py)"\n', body)
            assert included, f"{where}: that is for the source of an example; use ```python"
            assert (ROOT / included[1]).exists(), where
        if info == "":
            assert "import tensorfill" not in body, f"{where}: say ```python, so that it is run"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_is_seen_whole_on_a_laptop(page):
    long = {line + k: text for _, line, body in blocks(page) for k, text in enumerate(body.splitlines())}
    assert {line: text for line, text in long.items() if len(text) > 90} == {}


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if any(b[0] in ("python", "sh", "console") for b in blocks(p)) and p.stem != TASKS],
    ids=name,
)
@pytest.mark.filterwarnings("ignore:.*have no value at any time:tensorfill.DataWarning")  # pages tell of this one
def test_blocks_run(page, folder, registered, monkeypatch):
    pytest.importorskip("xarray")
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    script = types.ModuleType("__main__")  # what a page defines can be pickled, as in a script
    monkeypatch.setitem(sys.modules, "__main__", script)
    for info, line, body in blocks(page):
        if info == "python":
            exec(compile("\n" * (line - 1) + body, str(page), "exec"), vars(script))
        elif info in ("sh", "console"):
            for k, command in enumerate(commands(body)):
                check_command(command, f"{name(page)}:{line + k}")


def commands(body):
    """The commands of a block: its lines, after `$ ` if any has that; comments and output left out."""
    lines = body.replace("\\\n", " ").splitlines()
    prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    words = [shlex.split(line, comments=True) for line in prompted or lines]
    return [w for w in words if w]


def check_command(words, where):
    """Run a command of the program, or see that it could be run."""
    if words[0] == "tensorfill":
        runnable = words[1:2] == ["list"] or (words[1:2] == ["complete"] and Path(words[2]).exists())
        if runnable and "|" not in words:
            code, told = program(*words[1:])
            assert code == 0, f"{where}: {told}"
        else:
            check_options(words, where)
    elif words[0] == "make":
        text = (ROOT / "Makefile").read_text()
        targets = re.findall(r"^([\w-]+):", text, re.MULTILINE)
        given = [word.partition("=") for word in words[1:]]
        assert {word for word, equals, _ in given if not equals} <= set(targets), f"{where}: make knows {targets}"
        for variable, equals, _ in given:
            assert not equals or f"$({variable})" in text, f"{where}: the Makefile has no variable {variable}"
    elif words[0] in ("python", "python3") and words[1] not in ("-m", "-c"):
        assert (ROOT / words[1]).exists(), f"{where}: no file {words[1]}"
    elif words[0] == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for word in words:
            asked = re.findall(r"\[(.*)\]", word)
            assert set(",".join(asked).split(",")) <= {*extras, ""}, f"{where}: extras are {list(extras)}"
    else:
        assert words[0] in ("git", "cd", "open", "xdg-open", "ls", "cat"), (
            f"{where}: {words[0]} is not known to this test"
        )


def check_options(words, where):
    """Every subcommand and option of a command is one that --help shows."""
    path, help_text = [], program_help()
    for word in words[1:]:
        if word == "|":
            break
        if word.startswith("-") and word != "-" and not re.fullmatch(r"-[\d.]+", word):
            option = word.split("=")[0]
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_text), f"{where}: no option {option}"
        elif re.search(rf"^  {re.escape(word)}  ", help_text, re.MULTILINE) and "Commands:" in help_text:
            path.append(word)
            help_text = program_help(*path)
    assert path or len(words) == 1 or words[1].startswith("-"), f"{where}: no command {' '.join(words[:2])}"


def program(*words):
    """(exit code, what was printed) of a command, run in this process: quick, and with the short contests of tests."""
    told = io.StringIO()
    with redirect_stdout(told), redirect_stderr(told), pytest.raises(SystemExit) as end:
        main(list(words))
    return end.value.code, told.getvalue()


@functools.cache
def program_help(*path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        if path[:1] == ("bench",):  # also where the package of benchmarks is not installed
            return CliRunner().invoke(benchmarks, [*path[1:], "--help"]).stdout
        code, told = program(*path, "--help")
    assert code == 0, told
    return told


def test_a_wrong_option_is_found():
    with pytest.raises(AssertionError, match="no option --rang"):
        check_options(["tensorfill", "complete", "IN", "-o", "OUT", "--rang", "3"], "here")
    with pytest.raises(AssertionError, match="no command tensorfill fill"):
        check_options(["tensorfill", "fill", "IN"], "here")
    check_options(["tensorfill", "complete", "IN", "-o", "OUT", "--missing-value", "-999"], "here")


# --- what pages say of the code ---------------------------------------------------------------------------------------


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_tables_say_what_the_code_says(page):
    text = page.read_text()
    tables = load(ROOT / "docs" / "tables.py")
    assert tables.updated(text) == text, "run: python docs/tables.py"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_measured_tables_are_those_of_the_files(page):
    text = page.read_text()
    measured = load(ROOT / "docs" / "measured.py")
    assert measured.updated(text) == text, "run: python docs/measured.py"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[\w-]+)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_public_name_is_on_the_page_of_the_api():
    shown = set(re.findall(r"^::: ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE))
    for word in tensorfill.__all__:
        thing = getattr(tensorfill, word)
        home = getattr(thing, "__module__", "")
        registry = isinstance(thing, Registry)  # what it holds is listed by `tensorfill list`
        assert registry or shown & {f"tensorfill.{word}", home, f"{home}.{word}"}, word


def test_every_page_is_in_the_table_of_contents():
    listed = set(re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {p.name for p in PAGES[1:]}


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="the site is built by mkdocs: pip install 'tensorfill[docs]'")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    api = (tmp_path / "site" / "api" / "index.html").read_text()
    rows = re.findall(r"<code>([*\w]+)</code>\s*</td>\s*<td>\s*<code>(.*?)</code>\s*</td>", api, re.DOTALL)
    types = {name: re.sub("<.*?>", "", kind) for name, kind in reversed(rows)}  # the first of a name: of `complete`
    assert [name.strip("*") for name, _ in rows][:16] == list(inspect.signature(tensorfill.complete).parameters)
    assert [types[name] for name in ("dims", "value", "weights")] == [
        "Sequence[str] | None",
        "str | None",
        "ArrayLike | str | None",
    ]
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= 8
    for page in pages:  # nothing is fetched from elsewhere when a page is opened
        assert not re.findall(
            r'<(?:script|img)[^>]*src="http|<link[^>]*rel="stylesheet"[^>]*href="http', page.read_text()
        )


def test_files_named_for_contributors_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for path in re.findall(r"tests/[\w/]+(?:\.py)?", text):
        assert (ROOT / path).exists(), path
    tree = text[text.index("    src/tensorfill/") : text.index("    tests/")]
    tree = re.sub(r"tests/[\w/]+\.py", "", tree)  # looked for above
    named = {word for line in tree.splitlines()[1:] for word in re.findall(r"[\w]+(?:/|\.py)", line)}
    for name in named:
        assert (ROOT / "src" / "tensorfill" / name).exists() or any(
            (ROOT / "src/tensorfill").rglob(name.rstrip("/"))
        ), name
    parts = {p.name for p in (ROOT / "src" / "tensorfill").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert {f"{p}/" for p in parts if (ROOT / "src" / "tensorfill" / p / "__init__.py").exists()} <= named
