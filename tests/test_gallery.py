"""Pictures and figures of README and docs are those that `make gallery` last made, of the scripts as they are now."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def gallery():
    """examples/make_gallery.py as a module."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        spec = importlib.util.spec_from_file_location("make_gallery", ROOT / "examples" / "make_gallery.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "examples"))
    return module


def examples():
    return [p.stem for p in (ROOT / "examples").glob("*.py") if p.stem != "make_gallery" and p.stem[0] != "_"]


def test_every_example_is_in_the_gallery(gallery):
    assert len(examples()) >= 8
    assert sorted(gallery.ORDER) == sorted(examples())
    assert sorted(gallery.read()) == sorted(["demo", *examples()])


@pytest.mark.parametrize("name", examples())
def test_a_picture_is_of_the_script_as_it_is(gallery, name):
    made, remedy = gallery.read()[name], f"run: make gallery NAMES={name}"
    picture = ROOT / "docs" / "gallery" / f"{name}.png"
    assert picture.stat().st_size < 150_000
    assert gallery.fingerprint(picture) == made["picture"], remedy
    assert gallery.fingerprint(ROOT / "examples" / f"{name}.py") == made["script"], remedy
    book = ROOT / "examples" / f"{name}.ipynb"
    assert book.read_text() == gallery.notebook(book.with_suffix(".py")), remedy


def test_the_page_shows_what_the_scripts_printed(gallery):
    assert gallery.page(gallery.read()) == (ROOT / "docs" / "gallery.md").read_text(), "run: make gallery"


def test_the_first_picture_is_the_demo(gallery):
    demo = gallery.read()["demo"]
    assert gallery.fingerprint(ROOT / "docs" / "demo.png") == demo["picture"], "run: make gallery NAMES=demo"
    for path in gallery.CAPTIONS:
        assert re.findall(r"!\[([^\]]*)\]", path.read_text())[0].count(f"completed ({demo['psnr']} dB)") == 1
        assert {found[11:-4] for found in gallery.CAPTION.findall(path.read_text())} == {demo["psnr"]}


def test_what_changed_is_noticed(gallery, tmp_path):
    script = tmp_path / "one.py"
    script.write_text("x = 1\n")
    before = gallery.fingerprint(script)
    script.write_text("x = 2\n")
    assert gallery.fingerprint(script) != before


def test_pictures_of_benchmarks_are_of_the_figures_beside_them(gallery):
    drawn = gallery._drawn
    assert {f"{name}.png" for name in [*drawn.COMMANDS, "demo"]} == {p.name for p in (ROOT / "docs").glob("*.png")}
    for name, (page, command) in drawn.COMMANDS.items():
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert f"({name}.png)" in text
        assert command in text
        then, now = drawn.read()[name], drawn.state(name)
        remedy = f"run {command}, copy what it made to docs, then: python examples/make_gallery.py --drawn {name}"
        assert now == then, remedy
