"""CONTRIBUTING.md, followed word for word: a file dropped into its folder is registered, and passes its check."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tensorfill

GUIDE = Path(__file__).parent.parent / "CONTRIBUTING.md"
SRC = Path(tensorfill.__file__).parent

GRID = """ncols 4\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999
1 2 3 4\n2 4 6 8\n3 6 -9999 12\n4 8 12 16\n"""

USES = {
    "numerical/log_cosh.py": """
        done = tfl.complete(T, prior="log-cosh", rank=1, max_iter=20)
        assert done.prior.name == "log-cosh"
        """,
    "methods/medians.py": """
        done = tfl.complete(T, method="medians")
        assert done.method == "medians" and done.completed[2, 3] == np.nanmedian(T[:, 3])
        """,
    "io/formats/ascii_grid.py": """
        done = tfl.complete("a.asc", method="means")
        assert np.isfinite(done.completed).all() and done.completed[0, 3] == 4
        from tensorfill.io.files import read, write
        write("b.asc", np.asarray(done.completed), read("a.asc"))
        assert open("b.asc").read().startswith("ncols 4") and read("b.asc").observed().all()
        """,
}


def blocks():
    """The pieces of code of the guide, without their indentation."""
    found, lines = [], []
    for line in [*GUIDE.read_text().splitlines(), "end"]:
        if line.startswith("       ") or (not line and lines):
            lines.append(line)
        elif lines:
            found.append(textwrap.dedent("\n".join(lines)).strip() + "\n")
            lines = []
    return found


FILES = {m.group(1): code for code in blocks() if (m := re.match(r"# src/tensorfill/(\S+\.py)\n", code))}
CHECKS = [code for code in blocks() if code.startswith("from tensorfill import check_")]


def test_the_guide_has_a_prior_a_method_and_a_format():
    assert set(FILES) == set(USES)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A copy of the package with the files of the guide."""
    at = tmp_path_factory.mktemp("copy")
    shutil.copytree(SRC, at / "tensorfill", ignore=shutil.ignore_patterns("__pycache__"))
    for name, code in FILES.items():
        assert not (SRC / name).exists(), "an example must have a name of its own"
        (at / "tensorfill" / name).write_text(code)
    (at / "a.asc").write_text(GRID)
    return at


@pytest.mark.parametrize("name", USES)
def test_what_the_guide_says_works(home, name):
    stem = Path(name).stem
    check = [code for code in CHECKS if f".{stem} import" in code]
    assert check or "formats" in name
    code = "import numpy as np\nimport tensorfill as tfl\n"
    code += "T = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 7.0))\nT[2, 3] = np.nan\n"
    code += "".join(check) + textwrap.dedent(USES[name])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
