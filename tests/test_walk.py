"""docs/architecture.md: the drawing shows the imports of the source, and the walk is the one that is taken."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.data import samples

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "architecture.md").read_text()
STEPS = [f"{file}:{name}" for name, file in re.findall(r"^\d+\. `([\w.]+)` in `([\w/]+\.py)`", PAGE, re.MULTILINE)]
SOURCE = Path(tfl.__file__).parent


@pytest.fixture(scope="module")
def drawing():
    spec = importlib.util.spec_from_file_location("architecture", DOCS / "architecture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drawing_is_of_the_source_as_it_is(drawing):
    now = set(drawing.reduced(drawing.edges()))
    assert drawing.drawn(drawing.DRAWING.read_text()) == now, "run: python docs/architecture.py"


def test_every_folder_is_drawn_and_described(drawing):
    boxes = {box for edge in drawing.edges() for box in edge}
    folders = {p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()}
    assert folders <= boxes
    described = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    assert described == {box for box in boxes if "/" not in box}


def test_an_arrow_that_follows_from_others_is_left_out(drawing):
    found = {("a", "b"): False, ("b", "c"): True, ("a", "c"): False}
    assert drawing.reduced(found) == {("a", "b"): False, ("b", "c"): True}
    assert drawing.rows(found) == [["c"], ["b"], ["a"]]


def followed(*args, **settings):
    """The functions of the walk in the order in which they were first called."""
    seen = []

    def listen(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            path = Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix()
            step = f"{path}:{frame.f_code.co_qualname}"
            if step in STEPS and step not in seen:
                seen.append(step)

    sys.setprofile(listen)
    try:
        done = tfl.complete(*args, effort="quick", **settings)
    finally:
        sys.setprofile(None)
    assert done.tried
    return seen


def test_photograph_table_and_parquet_take_the_same_way(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    photo = samples.photograph()[100:132, 180:212]
    assert len(STEPS) == 9
    assert followed(photo, mask=rng.random(photo.shape[:2]) < 0.6) == STEPS
    table = pd.DataFrame(np.outer(rng.normal(size=40), [1, 2, 3.0]) + rng.normal(size=(40, 3)), columns=list("abc"))
    assert followed(table.mask(rng.random(table.shape) < 0.1)) == STEPS
    user, item = np.nonzero(rng.random((20, 10)) < 0.6)
    stars = rng.normal(size=20)[user] * rng.normal(size=10)[item]
    pd.DataFrame({"user": user, "item": item, "stars": stars}).to_parquet(tmp_path / "ratings.parquet")
    assert followed(tmp_path / "ratings.parquet", dims=["user", "item"], value="stars") == STEPS


def test_functions_named_on_the_page_are_there():
    for name, file in re.findall(r"`([\w.]+)` in `([\w/]+\.py)`", PAGE):
        assert re.search(rf"def {name.split('.')[-1]}\b", (SOURCE / file).read_text()), f"{name} in {file}"
