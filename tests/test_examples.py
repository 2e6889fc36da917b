"""Every example runs, makes its picture and does better than the simple fill it compares itself with."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(p for p in FOLDER.glob("*.py") if p.stem != "make_gallery" and not p.stem.startswith("_"))
SCORE = re.compile(r": ([\d.e-]+) \(tensorfill\), ([\d.e-]+) \([^)]*\), -?\d+% less$", re.MULTILINE)
NEEDS = {"sensors": ["xarray"], "imputer": ["sklearn"]}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, tmp_path):
    for library in NEEDS.get(path.stem, []):
        pytest.importorskip(library)
    command = [sys.executable, "-W", "error", str(path), str(tmp_path), "--quick"]
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    ours, other = map(float, SCORE.search(done.stdout).groups())
    assert 0 < ours < other
    with Image.open(tmp_path / f"{path.stem}.png") as picture:
        assert picture.width >= 600
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 20  # something is drawn


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_and_says_what_it_teaches(path):
    text = path.read_text()
    assert text.count("\n") <= 75
    assert re.match(r'"""[^\n]+\n\n', text)
